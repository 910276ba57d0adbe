"""How sure one can be of a chance after so many runs: Clopper-Pearson bounds, rounded outward.

An event came k times in n runs. `chance_low` is the largest p at which k or more successes are still at most α
likely; whatever the true chance is, it lies below that bound with probability at most α. `chance_high` is the same
for k or fewer. Both are found by halving, and every comparison uses a proved upper bound of the binomial tail, so
the interval is never too narrow:

* the tail is its first term times 1 + r₁ + r₁r₂ + …, where each ratio is below 1 and below the one before, so what
  is cut off is at most a geometric series. All terms are positive: in floating point a product of j ratios is off
  by less than a relative 4j·2⁻⁵³, which is added;
* the first term is computed by logarithms of exact numbers, and log n! by Stirling's series: the true value lies
  between its partial sums with one and with two corrections.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.numbers import Number, exact, whole
from unlisted.privacy.rounding import exp_up, log_down, log_up

_HALVINGS = 60
_DIGITS = 30
_SMALL = 64
_TWO_PI_DOWN = Fraction("6.2831853071795864769252867665590057683")
_TWO_PI_UP = Fraction("6.2831853071795864769252867665590057684")
_BLOCK = 4096
_ENOUGH = 1e-9


def chance_low(successes: int, runs: int, alpha: Number) -> Fraction:
    """Bound a chance from below; wrong with probability at most α."""
    k, n, a = _read(successes, runs, alpha)
    if k == 0:
        return Fraction(0)
    log_ways = _log_choose_up(n, k)
    low, high = Fraction(0), Fraction(k, n)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _tail_up(k, n, middle, log_ways) <= a else (low, middle)
    return low


def chance_high(successes: int, runs: int, alpha: Number) -> Fraction:
    """Bound a chance from above; wrong with probability at most α."""
    k, n, a = _read(successes, runs, alpha)
    if k == n:
        return Fraction(1)
    log_ways = _log_choose_up(n, k)
    low, high = Fraction(k, n), Fraction(1)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        # k successes or fewer are n - k failures or more.
        low, high = (low, middle) if _tail_up(n - k, n, 1 - middle, log_ways) <= a else (middle, high)
    return high


def _read(successes: int, runs: int, alpha: Number) -> tuple[int, int, Fraction]:
    k, n = whole("successes", successes, at_least=0), whole("runs", runs)
    if k > n:
        raise InvalidArgumentError("successes", k, f"at most {n}, the number of runs")
    a = exact("alpha", alpha)
    if not 0 < a < Fraction(1, 2):
        raise InvalidArgumentError("alpha", alpha, "above 0 and below 1/2")
    return k, n, a


def _tail_up(k: int, n: int, p: Fraction, log_ways: Fraction) -> Fraction:
    """Bound P[Bin(n, p) >= k] from above, for p below k/n."""
    first = log_ways + k * log_up(p, _DIGITS) + (n - k) * log_up(1 - p, _DIGITS)
    return exp_up(first, _DIGITS) * Fraction(_terms_up(k, n, float(p / (1 - p))))


def _log_choose_up(n: int, k: int) -> Fraction:
    return _log_factorial_up(n) - _log_factorial_down(k) - _log_factorial_down(n - k)


def _terms_up(k: int, n: int, odds: float) -> float:
    """Bound 1 + r₁ + r₁r₂ + … from above, where r_j = odds·(n-k-j+1)/(k+j)."""
    total, term, done, block = 1.0, 1.0, 0, min(_BLOCK, n - k + 1)
    while True:
        j = np.arange(done + 1, done + 1 + block, dtype=np.float64)
        ratios = odds * np.maximum(n - k - j + 1, 0.0) / (k + j)
        terms = term * np.cumprod(ratios)
        total, term, done = total + float(terms.sum()), float(terms[-1]), done + block
        ratio = float(ratios[-1])
        beyond = term * ratio / (1 - ratio)
        if beyond <= _ENOUGH * total:
            return (total + beyond) * (1 + 4 * done * 2.0**-53 + 2.0**-40)


def _log_factorial_up(n: int) -> Fraction:
    return log_up(Fraction(math.factorial(n)), _DIGITS) if n < _SMALL else _stirling(n, log_up, _TWO_PI_UP)


def _log_factorial_down(n: int) -> Fraction:
    if n < _SMALL:
        return log_down(Fraction(math.factorial(n)), _DIGITS)
    return _stirling(n, log_down, _TWO_PI_DOWN) - Fraction(1, 360 * n**3)


def _stirling(n: int, log: Callable[..., Fraction], two_pi: Fraction) -> Fraction:
    """Return (n + 1/2)·log n - n + log(2π)/2 + 1/12n, each logarithm rounded to the side of `log`."""
    return (n + Fraction(1, 2)) * log(Fraction(n), _DIGITS) - n + log(two_pi, _DIGITS) / 2 + Fraction(1, 12 * n)
