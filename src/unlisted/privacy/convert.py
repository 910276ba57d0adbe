"""From δ-approximate ρ-zCDP to (ε, δ) and back.

Canonne, Kamath and Steinke: (ρ, d) implies (ε, d + delta_cks(ρ, ε)) where

    delta_cks(ρ, ε) = inf over a > 1 of  exp((a-1)(aρ-ε)) / (a-1) · (1-1/a)^a.

Every a > 1 gives a valid bound. So a is *searched* in floating point, where a poor choice costs accuracy and
nothing else, and the bound is *evaluated* at that a with directed rounding. Solved for ε and for ρ:

    ε ≥ aρ + log(1-1/a) + (log(1/δ) - log a)/(a-1),      ρ ≤ (ε - log(1-1/a) - (log(1/δ) - log a)/(a-1)) / a.

Both forms of approximate zCDP convert alike: the mixture form of the survey and the good-part form of
Lemma G that our proofs use.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.numbers import Number, exact, not_negative
from unlisted.privacy.rounding import exp_down, exp_up, log_down, log_up, round_down, round_up, sqrt_up
from unlisted.privacy.search import lowest_point


def delta_cks_up(rho: Number, epsilon: Number) -> Fraction:
    """Bound from above the δ at which ρ-zCDP implies (ε, δ)-DP."""
    rho_, eps = not_negative("rho", rho), not_negative("epsilon", epsilon)
    if rho_ == 0:
        return Fraction(0)
    r, e = float(rho_), float(eps)
    a = _best_order(lambda a: (a - 1) * (a * r - e + math.log1p(-1 / a)) - math.log(a))
    exponent = (a - 1) * (a * rho_ - eps + log_up(1 - 1 / a)) - log_down(a)
    return Fraction(1) if exponent >= 0 else min(Fraction(1), round_up(exp_up(exponent)))


def epsilon_cks_up(rho: Number, delta: Number) -> Fraction:
    """Bound from above the smallest ε at which ρ-zCDP implies (ε, δ)-DP."""
    rho_, d = not_negative("rho", rho), _open_unit(delta)
    if rho_ == 0:
        return Fraction(0)
    r, log_inverse = float(rho_), float(-log_down(d))
    a = _best_order(lambda a: a * r + math.log1p(-1 / a) + (log_inverse - math.log(a)) / (a - 1))
    epsilon = a * rho_ + log_up(1 - 1 / a) + (-log_down(d) - log_down(a)) / (a - 1)
    return max(Fraction(0), round_up(epsilon))


def rho_cks_down(epsilon: Number, delta: Number) -> Fraction:
    """Bound from below the largest ρ for which ρ-zCDP implies (ε, δ)-DP; 0 if none was found."""
    eps, d = not_negative("epsilon", epsilon), _open_unit(delta)
    e, log_inverse = float(eps), float(-log_down(d))
    a = _best_order(lambda a: -(e - math.log1p(-1 / a) - (log_inverse - math.log(a)) / (a - 1)) / a)
    rho = (eps - log_up(1 - 1 / a) - (-log_down(d) - log_down(a)) / (a - 1)) / a
    return max(Fraction(0), round_down(rho))


def epsilon_simple_up(rho: Number, delta: Number) -> Fraction:
    """Bound ε from above by the survey's ρ + 2·sqrt(ρ·log(1/δ)). Valid, simple, and never the tighter one."""
    rho_, d = not_negative("rho", rho), _open_unit(delta)
    return round_up(rho_ + 2 * sqrt_up(rho_ * -log_down(d)))


def rho_of_epsilon_up(epsilon: Number) -> Fraction:
    """Bound from above the ρ of an (ε, δ)-DP mechanism, which is δ-approximate ε·tanh(ε/2)-zCDP; this is tight."""
    eps = not_negative("epsilon", epsilon)
    decay = exp_down(-eps)
    return round_up(eps * (1 - decay) / (1 + decay))


def _open_unit(delta: Number) -> Fraction:
    d = exact("delta", delta)
    if not 0 < d < 1:
        raise InvalidArgumentError("delta", delta, "above 0 and below 1")
    return d


def _best_order(objective: Callable[[float], float]) -> Fraction:
    """Search the order a = 1 + e^y that minimises an objective with one valley."""
    y = lowest_point(lambda y: objective(1 + math.exp(y)), -30.0, 60.0, steps=80)
    return 1 + round_up(Fraction(math.exp(y)), 12)
