"""The chances of noise from its definition: every single value of a whole-number law, and the normal law's tail.

Written apart from the code that draws and prices noise: an auditor that read the audited code's own tables would
believe its mistakes. All that is used of a whole-number law is P[Z = z]. Values are listed from the middle outward
until what remains is negligible. The normal tail is the plain power series,

    P[N > x]  =  1/2 - (1/√2π) · Σ_k (-1)^k x^(2k+1) / (2^k · k! · (2k+1)),

which nothing that prices or draws labels sums. Its terms alternate and nearly cancel, so it is summed with many
more digits than are wanted.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Protocol, runtime_checkable

from unlisted.audit.laws.output_law import ALL, DOWN, NONE, OutputLaw, decimal_down
from unlisted.errors import InvalidArgumentError
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.truncated_laplace import TruncatedLaplace
from unlisted.privacy.rounding import exp_down, exp_up

NEGLIGIBLE = Decimal("1e-16")
"""Noise this unlikely is not listed, and so becomes part of what is missing from a law."""

_MARGIN = 4
"""How many values more are listed: a count that moved by so many must not fall out of its neighbour's list."""

_FARTHEST = 2000
_TINY = Fraction(1, 10**60)


@runtime_checkable
class SaysItsMass(Protocol):
    """A law of one's own that can be audited exactly: it knows the chance of every value."""

    def mass(self, z: int) -> Fraction:
        """Return P[Z = z]."""


@lru_cache(maxsize=64)
def noise_law(law: object) -> OutputLaw:
    """Return the law of one draw: ours from their formulas, another's from its own `mass`."""
    if isinstance(law, DiscreteLaplace):
        return _listed(_laplace(law.scale))
    if isinstance(law, DiscreteGaussian):
        return _listed(_gaussian(law.variance))
    if isinstance(law, TruncatedLaplace):
        return _listed(_truncated(law.scale, law.reach))
    if isinstance(law, SaysItsMass):
        return _listed(law.mass)
    raise InvalidArgumentError(
        "law", type(law).__name__, "a law that knows its probabilities", "Give it a method mass(z) -> Fraction."
    )


def _listed(mass: Callable[[int], Fraction]) -> OutputLaw:
    chances = {0: decimal_down(mass(0))}
    total, z, margin = chances[0], 0, _MARGIN
    while margin:
        z += 1
        if z > _FARTHEST:
            hint = "An exact audit is for small scales."
            raise InvalidArgumentError("law", f"wider than ±{_FARTHEST}", "narrow", hint)
        margin -= ALL - total <= NEGLIGIBLE
        for value in (z, -z):
            chances[value] = decimal_down(mass(value))
            total = DOWN.add(total, chances[value])
    return OutputLaw({value: chance for value, chance in sorted(chances.items()) if chance > NONE})


def _laplace(scale: Fraction) -> Callable[[int], Fraction]:
    """P[Z = z] = (1-q)/(1+q)·q^|z| with q = e^(-1/b), which falls where q grows: q is rounded up."""
    q = exp_up(-1 / scale)
    peak = (1 - q) / (1 + q)
    return lambda z: peak * exp_down(-abs(z) / scale)


def _truncated(scale: Fraction, reach: int) -> Callable[[int], Fraction]:
    """P[X = x] = q^|x|/N up to the reach, with N, the sum of all of them, rounded up."""
    normaliser = sum((exp_up(-abs(x) / scale) for x in range(-reach, reach + 1)), Fraction(0))
    return lambda x: exp_down(-abs(x) / scale) / normaliser if abs(x) <= reach else Fraction(0)


def _gaussian(variance: Fraction) -> Callable[[int], Fraction]:
    """P[Z = z] = e^(-z²/2s²)/N with N rounded up."""
    normaliser, z = Fraction(1), 0
    while True:
        z += 1
        term = exp_up(-Fraction(z * z) / (2 * variance))
        if term < _TINY and z > 2 * variance:
            # From here on each term is at most e^-2 times the one before, so all of them are below 2·term a side.
            normaliser += 4 * term
            break
        normaliser += 2 * term
    return lambda z: exp_down(-Fraction(z * z) / (2 * variance)) / normaliser


FAR = Decimal(9)
"""So many deviations out, a chance is too small to be listed."""

_BEYOND = Decimal("1.2e-19")
"""A little more than P[N > 9]."""

_DIGITS = 100
# The largest term is below e^(81/2) < 10^18, there are a few hundred, and π is known to 50 digits.
_ERROR = Decimal("1e-45")
_SMALLEST_TERM = Decimal("1e-60")
_PI = Decimal("3.14159265358979323846264338327950288419716939937510")


@lru_cache(maxsize=4096)
def chance_above(x: Decimal) -> tuple[Decimal, Decimal]:
    """Bound P[N > x] from both sides."""
    if abs(x) > FAR:
        return (NONE, _BEYOND) if x > 0 else (DOWN.subtract(ALL, _BEYOND), ALL)
    with decimal.localcontext(decimal.Context(prec=_DIGITS)):
        half, power, total, k = x * x / 2, x, x, 0
        # From where terms fall, what is left of an alternating series is less than its next term.
        while k < half or abs(power) > _SMALLEST_TERM:
            k += 1
            power = -power * half / k
            total += power / (2 * k + 1)
        chance = Decimal("0.5") - total / (2 * _PI).sqrt()
        return max(NONE, chance - _ERROR), min(ALL, chance + _ERROR)
