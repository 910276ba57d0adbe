"""What it costs to move numbers that have normal noise: the exact (ε, δ), which knows only how far they move.

Let numbers have independent normal noise of variance v, and let a user move them by a vector of length at most
√(μ²v). The loss is normal with mean μ²/2 and variance μ², so (Balle and Wang)

    δ(ε) = Q(ε/μ - μ/2)  -  e^ε · Q(ε/μ + μ/2),

and a shorter move has a smaller δ. Rounds that follow each other, in which later ones may depend on what came out
before, add their μ²: whatever was seen, the loss of the rest is that of a normal law with no more than the rest of
μ² (Dong, Roth and Su).
"""

from __future__ import annotations

import math
from fractions import Fraction

from unlisted.noise.normal_tail import normal_tail_bounds
from unlisted.privacy.rounding import exp_down, round_up


def normal_delta_up(mu_squared: Fraction, epsilon: Fraction) -> Fraction:
    """Bound from above the δ at ε, of any sign, of a move of at most μ standard deviations."""
    if mu_squared == 0:
        return Fraction(0) if epsilon >= 0 else round_up(1 - exp_down(epsilon))
    # (ε/μ ± μ/2)², without a square root.
    middle = epsilon**2 / mu_squared + mu_squared / 4
    high = _tail(middle - epsilon, epsilon >= mu_squared / 2)[1]
    low = _tail(middle + epsilon, epsilon >= -mu_squared / 2)[0]
    return min(Fraction(1), max(Fraction(0), round_up(high - exp_down(epsilon) * low)))


def normal_delta_about(mu_squared: float, epsilon: float) -> float:
    """Return about the same in floating point, to find parameters with; it decides nothing."""
    if mu_squared <= 0:
        return -math.expm1(min(0.0, epsilon))
    mu = math.sqrt(mu_squared)
    gained, lost = normal_about(epsilon / mu - mu / 2), normal_about(epsilon / mu + mu / 2)
    return max(0.0, gained - (math.exp(epsilon + math.log(lost)) if lost > 0 else 0.0))


def normal_about(x: float) -> float:
    """Return about Q(x)."""
    return math.erfc(x / math.sqrt(2)) / 2


def _tail(x_squared: Fraction, positive: bool) -> tuple[Fraction, Fraction]:
    low, high = normal_tail_bounds(x_squared)
    return (low, high) if positive else (1 - high, 1 - low)
