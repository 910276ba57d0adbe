"""Tails of the discrete Gaussian law: of one draw, of several together, and of counts that a user moves.

*One draw*: the series for small scales, constant-time bounds for large ones.

*Several draws together.* A sum of discrete Gaussians is not a discrete Gaussian, but very nearly. Claim: for p
independent draws of parameter s²

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

*Counts that a user moves*: the exact (ε, δ), not by way of ρ. Let p counts have independent noise of parameter s²,
and let a user move each by d. The loss of an outcome with noise z₁, …, z_p is Σ (2·d·zᵢ + d²)/2s² = (d/s²)·(Σ zᵢ +
pd/2): it depends on the sum alone. So the worst set of outcomes, those whose loss is above ε, is one where the sum
exceeds x = ε·s²/d - pd/2, and

    δ(ε) = P[Z₁ + … + Z_p > x]  -  e^ε · P[Z₁ + … + Z_p > x + pd].

Nothing is lost if fewer counts move, or by less, or some up and some down. The law is log-concave, so for one
count the best test between noise and moved noise is a threshold on it, and its power grows with d: a smaller move
is a blurred image of a larger one (Blackwell), count by count. The law is symmetric: a sign does not matter. The
sum's tails are bounds from the two sides, so the δ returned is never too small. The same in floating point, by one
draw of as much variance, is for searching.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from unlisted.noise.gaussian.normal import lattice_tail_bounds, lattice_tail_up, theta_excess_up
from unlisted.noise.table import Tails
from unlisted.privacy.rounding import exp_down, exp_up, power_down, power_up, round_down, round_up

LARGEST_SERIES_VARIANCE = 16**2
_FARTHEST_BITS = 7200
"""Nothing that anyone promises depends on a tail below 2^-7200; without a limit the precision would only grow."""


def tail_up(t: int, variance: Fraction) -> Fraction:
    """Bound P[Z >= t] from above."""
    if variance > LARGEST_SERIES_VARIANCE:
        # The law's normaliser is at least sqrt(2πs²), so the lattice sum over it bounds the tail.
        return min(Fraction(1), lattice_tail_up(t, variance))
    series = series_tails(variance, sharp_enough(t, variance))
    return Fraction(series.at_least(t)[1], 1 << series.precision)


def tail_bounds(t: int, variance: Fraction) -> tuple[Fraction, Fraction]:
    """Bound P[Z >= t] from both sides, closely enough to subtract one tail from another."""
    if variance <= LARGEST_SERIES_VARIANCE:
        series = series_tails(variance, sharp_enough(t, variance))
        low, high = series.at_least(t)
        return Fraction(low, 1 << series.precision), Fraction(high, 1 << series.precision)
    if t <= 0:
        beyond_low, beyond_high = tail_bounds(1 - t, variance)
        return 1 - beyond_high, 1 - beyond_low
    # The law is the lattice sum over a normaliser that lies between sqrt(2πs²) and θ times that.
    lattice_low, lattice_high = lattice_tail_bounds(t, variance)
    return lattice_low / theta_excess_up(variance), lattice_high


def sharp_enough(t: int, variance: Fraction) -> int:
    """Return a precision at which the tail at t keeps about 60 bits, in steps so that tables are shared."""
    size = int(max(0, t) ** 2 / (2 * variance * Fraction(693, 1000)))
    return 128 * (1 + (min(size, _FARTHEST_BITS) + 100) // 128)


@lru_cache(maxsize=64)
def series_tails(variance: Fraction, precision: int) -> Tails:
    """Sum the weights w(z) = e^(-z²/2s²), each made from the one before.

    w(z+1) = w(z)·r(z) and r(z+1) = r(z)·g with r(0) = e^(-1/2s²), g = e^(-1/s²), every product rounded down in
    fixed point. All factors are at most 1, so r(z) is short of its true value by at most z + 2 units and w(z) by
    at most Σ (z + 3) <= (z + 3)² units; adding that gives the upper bound. Weights stop where the lower bound is
    0: from there the true weights fall at least as fast as a geometric series of ratio r(z).
    """
    work = precision + 96
    one = 1 << work
    digits = work // 3 + 10
    ratio = int(exp_down(-1 / (2 * variance), digits) * one)
    step = int(exp_down(-1 / variance, digits) * one)
    weights, weight = [], one
    while weight:
        weights.append(weight)
        weight = weight * ratio >> work
        ratio = ratio * step >> work
    cut = len(weights)
    fall = 1 - exp_up(-Fraction(2 * cut + 1) / (2 * variance))
    beyond = int((cut + 3) ** 2 / fall) + 1
    return _summed(weights, beyond, precision)


def _summed(weights: list[int], beyond: int, precision: int) -> Tails:
    """Turn weights (each low by at most (z + 3)² units) and a bound on the rest into bounds of tails."""
    low_sums, high_sums = [0], [beyond]
    for z in range(len(weights) - 1, -1, -1):
        low_sums.append(low_sums[-1] + weights[z])
        high_sums.append(high_sums[-1] + weights[z] + (z + 3) ** 2)
    low_sums.reverse()
    high_sums.reverse()
    whole_low = low_sums[0] + low_sums[1]
    whole_high = high_sums[0] + high_sums[1]
    low = [(part << precision) // whole_high for part in low_sums]
    high = [-((-part << precision) // whole_low) for part in high_sums]
    return Tails(precision, low, high)


SMALLEST_SMOOTH_VARIANCE = 4
LARGEST_SHARED_VARIANCE = 5**2
_GUARD = 64


def sum_tail_up(draws: int, t: int, variance: Fraction) -> Fraction:
    """Bound P[Z₁ + … + Z_draws >= t] from above."""
    if draws == 1:
        return tail_up(t, variance)
    if variance < SMALLEST_SMOOTH_VARIANCE:
        precision = sharp_enough(t, draws * variance)
        upper = _convolved(variance, draws, precision)
        return min(Fraction(1), Fraction(_sum_from(upper, t, draws), 1 << precision))
    together = draws * variance
    lattice = theta_excess_up(together) * tail_up(t, together)
    return min(Fraction(1), round_up(theta_excess_up(variance / 2) ** (draws - 1) * lattice))


def sum_tail_bounds(draws: int, t: int, variance: Fraction) -> tuple[Fraction, Fraction]:
    """Bound P[Z₁ + … + Z_draws >= t] from both sides, by one draw of as much variance together."""
    low, high = tail_bounds(t, draws * variance)
    if draws == 1:
        return low, high
    factor = theta_excess_up(variance / 2)
    least = power_down(max(Fraction(0), 2 - factor), draws - 1) / power_up(theta_excess_up(variance), draws)
    return round_down(low * least), min(Fraction(1), round_up(high * power_up(factor, draws - 1)))


def lead_tail_up(n: int, draws: int, variance: Fraction) -> Fraction:
    """Bound from above the chance that any of so many draws exceeds one shared draw by n >= 0 or more.

    For small scales 1 - E[P[Z < Z₀ + n]^draws], summed over the shared Z₀; for larger ones the union bound,
    which differs from it by far less than one step of the threshold.
    """
    if variance > LARGEST_SHARED_VARIANCE:
        return min(Fraction(1), draws * sum_tail_up(2, n, variance))
    precision = sharp_enough(n, 2 * variance) + _GUARD
    tails = series_tails(variance, precision)
    reach = len(tails.low)
    # Z₀ beyond the table is charged in full; inside it, every factor is rounded so that the chance grows.
    total = 2 * tails.high[-1]
    for z in range(-reach, reach + 1):
        total += (tails.mass_high(z) * _any_high(tails.at_least(z + n)[1], draws, precision) >> precision) + 1
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
    tails = series_tails(variance, precision)
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
