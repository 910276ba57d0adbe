"""What it costs to move several counts that have discrete Gaussian noise: the exact (ε, δ), not by way of ρ.

Let p counts have independent noise of parameter s², and let a user move each by d. The loss of an outcome with
noise z₁, …, z_p is Σ (2·d·zᵢ + d²)/2s² = (d/s²)·(Σ zᵢ + pd/2): it depends on the sum alone. So the worst set of
outcomes, those whose loss is above ε, is one where the sum exceeds x = ε·s²/d - pd/2, and

    δ(ε) = P[Z₁ + … + Z_p > x]  -  e^ε · P[Z₁ + … + Z_p > x + pd].

Nothing is lost if fewer counts move, or by less, or some up and some down. The law is log-concave, so for one
count the best test between noise and moved noise is a threshold on it, and its power grows with d: a smaller move
is a blurred image of a larger one (Blackwell), count by count. The law is symmetric: a sign does not matter.

The sum's tails are bounds from the two sides (`gaussian_sums.py`), so the δ returned is never too small. The same
in floating point, by one draw of as much variance, is for searching.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from unlisted.noise.gaussian_sums import sum_tail_bounds
from unlisted.privacy.rounding import exp_down, round_up

_SERIES_BELOW = 100.0


@lru_cache(maxsize=256)
def shift_delta_up(moved: int, shift: int, variance: Fraction, epsilon: Fraction) -> Fraction:
    """Bound from above the δ at ε, of any sign, of so many counts moved by at most `shift` each."""
    if moved == 0:
        return Fraction(0) if epsilon >= 0 else round_up(1 - exp_down(epsilon))
    beyond = epsilon * variance / shift - Fraction(moved * shift, 2)
    first = math.floor(beyond) + 1
    high = sum_tail_bounds(moved, first, variance)[1]
    low = sum_tail_bounds(moved, first + moved * shift, variance)[0]
    return min(Fraction(1), max(Fraction(0), round_up(high - exp_down(epsilon) * low)))


def shift_delta_about(moved: int, shift: int, variance: float, epsilon: float) -> float:
    """Return about the same in floating point, to find parameters with; it decides nothing."""
    if moved == 0:
        return -math.expm1(min(0.0, epsilon))
    first = math.floor(epsilon * variance / shift - moved * shift / 2) + 1
    gained = tail_about(first, moved * variance)
    lost = tail_about(first + moved * shift, moved * variance)
    return max(0.0, gained - (math.exp(epsilon + math.log(lost)) if lost > 0 else 0.0))


def tail_about(t: int, variance: float) -> float:
    """Return about P[Z >= t] of one draw, near enough to subtract one tail from another."""
    if t <= 0:
        return 1 - tail_about(1 - t, variance)
    deviation = math.sqrt(variance)
    if variance < _SERIES_BELOW:
        last = t + 2 + int(10 * deviation)
        whole = deviation * math.sqrt(2 * math.pi)
        if variance < 1:
            whole = 1 + 2 * math.fsum(math.exp(-((z / deviation) ** 2) / 2) for z in range(1, 12))
        return math.fsum(math.exp(-((z / deviation) ** 2) / 2) for z in range(t, last)) / whole
    x = (t - 0.5) / deviation
    slope = x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi) / (24 * variance)
    return math.erfc(x / math.sqrt(2)) / 2 - slope
