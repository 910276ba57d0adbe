"""Tails in floating point, for display only: how likely an item is to appear, how wide an error bar is.

Nothing private depends on these numbers. Thresholds and prices use the exact bounds; a chart may be off in its
fourth digit.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from unlisted.noise.discrete_gaussian import DiscreteGaussian
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.law import Law

_SMALL_VARIANCE = 16
_REACH = 300


def survival(law: Law, t: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return about P[Z >= t] for each t."""
    if isinstance(law, DiscreteLaplace):
        q = math.exp(-1 / law.scale)
        upper = np.exp(-np.abs(np.where(t > 0, t, 1 - t)) / float(law.scale)) / (1 + q)
        return np.where(t > 0, upper, 1 - upper)
    if isinstance(law, DiscreteGaussian) and law.variance > _SMALL_VARIANCE:
        return _normal_survival((t - 0.5) / law.stddev)
    distinct, where = np.unique(np.clip(t, -_REACH, _REACH), return_inverse=True)
    return np.array([float(law.tail(int(one))) for one in distinct])[where]


def lead_survival(law: Law, t: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return about P[Z₁ - Z₀ >= t] for each t."""
    if isinstance(law, DiscreteGaussian):
        return _normal_survival((t - 0.5) / (law.stddev * math.sqrt(2)))
    if isinstance(law, DiscreteLaplace):
        n = np.where(t > 0, t, 1 - t)
        upper = np.array([float(law.lead_tail(int(one), 1)) for one in n])
        return np.where(t > 0, upper, 1 - upper)
    raise TypeError(f"no estimate for {law}")


def half_width(law: Law, confidence: float = 0.95) -> int:
    """Return the smallest h such that the noise lies within ±h about as often as `confidence` says."""
    low, high = -1, 1
    while _outside(law, high) > 1 - confidence:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _outside(law, middle) > 1 - confidence else (low, middle)
    return high


def _outside(law: Law, h: int) -> float:
    """Return about P[|Z| > h]; the laws are symmetric."""
    return 2 * float(survival(law, np.array([h + 1]))[0])


def _normal_survival(x: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the upper tail of the standard normal law, its logarithm interpolated on a fine grid."""
    grid, logs = _normal_grid()
    found: NDArray[np.float64] = np.exp(np.interp(x, grid, logs))
    return found


@cache
def _normal_grid() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    grid = np.linspace(-10, 30, 2001)
    return grid, np.array([math.log(math.erfc(x / math.sqrt(2)) / 2) for x in grid])
