"""Normal tails in floating point, for display only: how likely an item is to appear, how wide an interval is.

Nothing private depends on these numbers. Thresholds and prices use the exact bounds; a chart may be off in its
fourth digit.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

SMALL_VARIANCE = 16
"""Up to this variance a discrete Gaussian is added up term by term; above it, it is taken as an area."""

_FAR = 6.0
"""Beyond so many standard deviations the area under a Gaussian is taken from its continued fraction."""

Logs = NDArray[np.float64]


def normal_survival(x: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the upper tail of the standard normal law, its logarithm interpolated on a fine grid."""
    grid, logs = _normal_grid()
    found: NDArray[np.float64] = np.exp(np.interp(x, grid, logs))
    return found


@cache
def _normal_grid() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    grid = np.linspace(-10, 30, 2001)
    return grid, np.array([math.log(math.erfc(x / math.sqrt(2)) / 2) for x in grid])


def log_gaussian_sum(variance: float, t: Logs) -> Logs:
    """Add up the masses of a narrow discrete Gaussian from t on: a few dozen terms are all of them."""
    twice, steps = 2 * variance, range(48)
    norm = 2 * math.fsum(math.exp(-(z**2) / twice) for z in steps) - 1
    masses = np.sum([np.exp(-(2 * t * z + z**2) / twice) for z in steps], axis=0)
    logs: Logs = np.log(masses / norm) - t**2 / twice
    return logs


def log_gaussian_area(variance: float, t: Logs) -> Logs:
    """Take the masses of a wide Gaussian from t on as an area, less what that is too large by on a steep slope."""
    deviation = math.sqrt(variance)
    x = (t - 0.5) / deviation
    half_slope = t / (2 * variance)
    # log(sinh(h) / h), which equal steps down a slope of 2h each make; written so as not to overflow.
    too_large = half_slope + np.log(-np.expm1(-2 * half_slope)) - np.log(2 * half_slope)
    far = np.maximum(x, _FAR)
    fraction = far
    for n in range(12, 0, -1):
        fraction = far + n / fraction
    beyond = -(far**2) / 2 - np.log(fraction) - math.log(2 * math.pi) / 2
    closer = np.log(normal_survival((np.floor(np.minimum(t, _FAR * deviation + 1)) - 0.5) / deviation))
    return np.where(x > _FAR, beyond, closer) - too_large
