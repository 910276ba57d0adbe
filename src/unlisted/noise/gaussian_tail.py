"""Tails of the discrete Gaussian law: the series for small scales, constant-time bounds for large ones."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from unlisted.noise.normal_tail import lattice_tail_bounds, lattice_tail_up, theta_excess_up
from unlisted.noise.tails import Tails
from unlisted.privacy.rounding import exp_down, exp_up

LARGEST_SERIES_VARIANCE = 16**2
_FARTHEST_BITS = 7200
"""Nothing that anyone promises depends on a tail below 2^-7200; without a limit the precision would only grow."""


def tail_up(t: int, variance: Fraction) -> Fraction:
    """Bound P[Z >= t] from above."""
    if variance > LARGEST_SERIES_VARIANCE:
        # The law's normaliser is at least sqrt(2πs²), so the lattice sum over it bounds the tail.
        return min(Fraction(1), lattice_tail_up(t, variance))
    series = tails(variance, sharp_enough(t, variance))
    return Fraction(series.at_least(t)[1], 1 << series.precision)


def tail_bounds(t: int, variance: Fraction) -> tuple[Fraction, Fraction]:
    """Bound P[Z >= t] from both sides, closely enough to subtract one tail from another."""
    if variance <= LARGEST_SERIES_VARIANCE:
        series = tails(variance, sharp_enough(t, variance))
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
def tails(variance: Fraction, precision: int) -> Tails:
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
