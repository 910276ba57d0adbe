"""The laws as the theory writes them, computed in another way than the package does: masses and tails.

Masses are floats, for frequencies; tails are numbers of 120 digits, for bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tests.privacy.high_precision import mp, real

from unlisted.noise.bernoulli import Bounds
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.law import ExactLaw

_NEGLIGIBLE = 60.0
"""Weights below e^-60 of the largest are left out of the masses."""


def masses(law: ExactLaw, at_least: int | None = None) -> dict[int, float]:
    """Return P[Z = z], or P[Z = z | Z >= at_least], for every z that could ever be drawn."""
    cost = _cost(law)
    start = 0 if at_least is None else max(0, at_least)
    found = {start: 1.0}
    for step in (1, -1):
        z = start + step
        while cost(z) - cost(start) < _NEGLIGIBLE and (at_least is None or z >= at_least):
            found[z] = math.exp(-float(cost(z) - cost(start)))
            z += step
    total = math.fsum(found.values())
    return {z: weight / total for z, weight in found.items()}


def _cost(law: ExactLaw) -> Callable[[int], Fraction]:
    """Return z -> -log of the weight of z."""
    if isinstance(law, DiscreteLaplace):
        return lambda z: abs(z) / law.scale
    assert isinstance(law, DiscreteGaussian)
    return lambda z: z * z / (2 * law.variance)


def tail(law: ExactLaw, t: int) -> Any:
    """Return P[Z >= t] to 120 digits."""
    if t <= 0:
        return 1 - tail(law, 1 - t)
    if isinstance(law, DiscreteLaplace):
        q = mp.exp(-1 / real(law.scale))
        return q**t / (1 + q)
    assert isinstance(law, DiscreteGaussian)
    return gaussian_sum(law.variance, t) / gaussian_whole(law.variance)


def mass(law: ExactLaw, z: int) -> Any:
    """Return P[Z = z] to 120 digits."""
    return mp.exp(-real(_cost(law)(z))) / (mass_whole(law))


def mass_whole(law: ExactLaw) -> Any:
    """Return the sum of all weights."""
    if isinstance(law, DiscreteLaplace):
        q = mp.exp(-1 / real(law.scale))
        return (1 + q) / (1 - q)
    assert isinstance(law, DiscreteGaussian)
    return gaussian_whole(law.variance)


def conditional_cdf(law: ExactLaw, z: int, at_least: int | None) -> Any:
    """Return P[Z <= z], or P[Z <= z | Z >= at_least], to 120 digits."""
    if at_least is None:
        return tail(law, -z)
    return mp.zero if z < at_least else 1 - tail(law, z + 1) / tail(law, at_least)


@lru_cache(maxsize=4096)
def gaussian_sum(variance: Fraction, t: int) -> Any:
    """Return the sum of e^(-z²/2v) over z >= t > 0, term by term until nothing is added."""
    v = real(variance)
    term, ratio, step = mp.exp(-(mp.mpf(t) ** 2) / (2 * v)), mp.exp(-mp.mpf(2 * t + 1) / (2 * v)), mp.exp(-1 / v)
    total, nothing = mp.zero, mp.mpf(10) ** -125
    while term > total * nothing:
        total, term, ratio = total + term, term * ratio, ratio * step
    return total


@lru_cache(maxsize=256)
def gaussian_whole(variance: Fraction) -> Any:
    """Return the sum of e^(-z²/2v) over all whole z."""
    return 1 + 2 * gaussian_sum(variance, 1)


def bounds_of(p: Fraction, slack: int = 0) -> Bounds:
    """Return bounds of a known probability, as loose as they are told to be."""

    def bounds(precision: int) -> tuple[int, int]:
        scaled = p * (1 << precision)
        return math.floor(scaled) - slack, math.ceil(scaled) + slack

    return bounds
