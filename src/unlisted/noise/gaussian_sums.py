"""Tails of several discrete Gaussian draws together: sums, and the lead of the best of some over one other.

A sum of discrete Gaussians is not a discrete Gaussian, but very nearly. Claim: for p independent draws of
parameter s²

    P[Z₁ + … + Z_p >= t]  <=  c^(p-1) · Σ_{d >= t} e^(-d²/2ps²) / sqrt(2πps²),     c = θ(s²/2),

where θ(v) bounds Σ_z e^(-(z-m)²/2v) / sqrt(2πv) over all m (`theta_excess_up`). Proof by induction on p: the
normaliser of one draw is at least sqrt(2πs²) by Poisson summation; adding a draw and completing the square
leaves the factor Σ_z e^(-(z-m)²/2v) with v = s²·p/(p+1) >= s²/2, at most sqrt(2πv)·c. The excess c - 1 is 1e-17
at s² = 4 and vanishes beyond. Below 4 the laws are narrow and are convolved as they are. By symmetry a
difference is a sum.

The same induction from both sides, against one discrete Gaussian draw of parameter ps²: its mass at d is
e^(-d²/2ps²) / (sqrt(2πps²)·θ₀(ps²)) with 1 <= θ₀(ps²) <= θ₀(s²) <= θ(s²), and each of the p - 1 factors lies
between 2 - c and c. So the mass of a sum is within [(2 - c)^(p-1) / θ(s²)^p, c^(p-1)] of that of the one draw, and
so are their tails: p draws together are all but one draw of p times the variance, and this says how nearly.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from unlisted.noise import gaussian_tail
from unlisted.noise.normal_tail import theta_excess_up
from unlisted.privacy.rounding import power_down, power_up, round_down, round_up

SMALLEST_SMOOTH_VARIANCE = 4
LARGEST_SHARED_VARIANCE = 5**2
_GUARD = 64


def sum_tail_up(draws: int, t: int, variance: Fraction) -> Fraction:
    """Bound P[Z₁ + … + Z_draws >= t] from above."""
    if draws == 1:
        return gaussian_tail.tail_up(t, variance)
    if variance < SMALLEST_SMOOTH_VARIANCE:
        precision = gaussian_tail.sharp_enough(t, draws * variance)
        upper = _convolved(variance, draws, precision)
        return min(Fraction(1), Fraction(_sum_from(upper, t, draws), 1 << precision))
    together = draws * variance
    lattice = theta_excess_up(together) * gaussian_tail.tail_up(t, together)
    return min(Fraction(1), round_up(theta_excess_up(variance / 2) ** (draws - 1) * lattice))


def sum_tail_bounds(draws: int, t: int, variance: Fraction) -> tuple[Fraction, Fraction]:
    """Bound P[Z₁ + … + Z_draws >= t] from both sides, by one draw of as much variance together."""
    low, high = gaussian_tail.tail_bounds(t, draws * variance)
    if draws == 1:
        return low, high
    factor = theta_excess_up(variance / 2)
    least = power_down(max(Fraction(0), 2 - factor), draws - 1) / power_up(theta_excess_up(variance), draws)
    return round_down(low * least), min(Fraction(1), round_up(high * power_up(factor, draws - 1)))


def lead_tail_up(n: int, rivals: int, variance: Fraction) -> Fraction:
    """Bound from above the chance that any of `rivals` draws exceeds one shared draw by n >= 0 or more.

    For small scales 1 - E[P[Z < Z₀ + n]^rivals], summed over the shared Z₀; for larger ones the union bound,
    which differs from it by far less than one step of the threshold.
    """
    if variance > LARGEST_SHARED_VARIANCE:
        return min(Fraction(1), rivals * sum_tail_up(2, n, variance))
    precision = gaussian_tail.sharp_enough(n, 2 * variance) + _GUARD
    tails = gaussian_tail.tails(variance, precision)
    reach = len(tails.low)
    # Z₀ beyond the table is charged in full; inside it, every factor is rounded so that the chance grows.
    total = 2 * tails.high[-1]
    for z in range(-reach, reach + 1):
        total += (tails.mass_high(z) * _any_high(tails.at_least(z + n)[1], rivals, precision) >> precision) + 1
    return min(Fraction(1), Fraction(total, 1 << precision))


def _any_high(p: int, n: int, precision: int) -> int:
    """Bound 1 - (1-p)^n from above in fixed point: the power is taken with every product rounded down."""
    one = 1 << precision
    base, kept = one - min(p, one), one
    while n:
        if n & 1:
            kept = kept * base >> precision
        base = base * base >> precision
        n >>= 1
    return one - kept


@lru_cache(maxsize=64)
def _convolved(variance: Fraction, draws: int, precision: int) -> tuple[tuple[int, ...], int, int]:
    """Return upper bounds of a sum's masses, the value of the first, and one draw's bound beyond its table."""
    tails = gaussian_tail.tails(variance, precision)
    reach = len(tails.low)
    one = np.array([tails.mass_high(z) for z in range(-reach, reach + 1)], dtype=object)
    if draws == 1:
        return tuple(one), -reach, tails.high[-1]
    before, first, beyond = _convolved(variance, draws - 1, precision)
    product = np.convolve(np.array(before, dtype=object), one)
    return tuple((int(mass) >> precision) + 1 for mass in product), first - reach, beyond


def _sum_from(upper: tuple[tuple[int, ...], int, int], t: int, draws: int) -> int:
    masses, first, beyond = upper
    # A draw outside its table has no mass above; the chance of any such draw, on either side, is added.
    return sum(masses[max(0, t - first) :]) + 2 * draws * beyond
