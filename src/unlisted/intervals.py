"""Error bars that stay honest after selection.

A count is shown only if its noisy value passed a threshold, so values near the threshold are flattered by their
noise. For a shown value y over a threshold T the interval holds every count c that does not make y surprising
*given that it was shown*: P[c + Z >= y | c + Z > T] and P[c + Z <= y | c + Z > T] are both above 2.5 %. Both
chances are monotone in c (the laws have monotone likelihood ratios), so the ends are found by bisection. Near
the threshold the lower end can reach all the way down: such a value says little about how small the count may
be. The interval speaks of the *bounded* count, and always holds the shown value if a count can have it.

Far below the threshold both chances in the first ratio are too small for a float, while the ratio is not; so
tails are carried as logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unlisted.mechanisms.truncated_laplace import TruncatedHistogram
from unlisted.noise.discrete_gaussian import DiscreteGaussian
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.estimate import half_width, survival
from unlisted.noise.law import Law

_SURPRISING = 0.025
_SMALL_VARIANCE = 16
_FAR = 6.0
"""Beyond so many standard deviations the area under a Gaussian is taken from its continued fraction."""
_LEAST = 1e-300

Whole = NDArray[np.int64]
Logs = NDArray[np.float64]
Condition = Callable[[Whole], NDArray[np.bool_]]


def given_shown(
    law: Law, threshold: int, shown: Whole, smallest: int = 1, lowered: float = 0.0
) -> tuple[Whole, Whole]:
    """Return the lower and upper ends of 95 % intervals for counts whose noisy values passed a threshold.

    With a share `lowered` of coins that make it one lower, a value at the threshold may be shown too.
    """

    def log_shown(count: Whole, value: Whole) -> Logs:
        """Return about log P[shown, and at least as this value]."""
        passed = _log_tail(law, np.maximum(value, threshold + 1) - count)
        if not lowered:
            return passed
        by_coin = _log_tail(law, np.maximum(value, threshold) - count)
        logs: Logs = np.logaddexp(math.log1p(-lowered) + passed, math.log(lowered) + by_coin)
        return logs

    return _given_shown(log_shown, _Shown(threshold, 8 * half_width(law) + 8, smallest), shown)


def given_shown_truncated(mechanism: TruncatedHistogram, shown: Whole) -> tuple[Whole, Whole]:
    """Return the ends of such intervals for noise that ends, whose reach and threshold a coin makes one less.

    The noise, a mean of two laws around one centre, is log-concave, and the one value that only one side of the
    coin can show is the smallest: so chances are monotone in the count here too.
    """
    # From twice the reach on every count is shown, and no interval is wider than the noise.
    reach = mechanism.reach
    at = _Shown(mechanism.threshold, 3 * reach + 8, mechanism.minimum_count)
    return _given_shown(mechanism.log_shown, at, shown)


class _Shown(NamedTuple):
    """Where values are shown: over a threshold, from `far` over it as if unselected, of counts from `smallest`."""

    threshold: int
    far: int
    smallest: int


def _given_shown(log_shown: Callable[[Whole, Whole], Logs], at: _Shown, shown: Whole) -> tuple[Whole, Whole]:
    # Far over the threshold being shown is no selection, and all intervals are equally wide.
    leads, row = np.unique(np.minimum(shown - at.threshold, at.far), return_inverse=True)
    values = at.threshold + leads
    low, high = _ends(log_shown, at, values)
    return shown - (values - low)[row], _raised(shown, (high - values)[row])


def _ends(log_shown: Callable[[Whole, Whole], Logs], at: _Shown, shown: Whole) -> tuple[Whole, Whole]:
    highest = np.maximum(shown, at.smallest)
    any_value = np.full_like(shown, at.threshold)

    def log_at_least(count: Whole) -> Logs:
        return log_shown(count, shown) - log_shown(count, any_value)

    def log_above(count: Whole) -> Logs:
        return log_shown(count, shown + 1) - log_shown(count, any_value)

    # Lower end: the smallest count at which so large a value is no surprise.
    lowest = np.full_like(shown, at.smallest)
    low = _first(lowest, highest, lambda count: log_at_least(count) > math.log(_SURPRISING))
    # Upper end: the count before the first at which so small a value is a surprise.
    high = _first(highest, highest + at.far, lambda count: log_above(count) >= math.log1p(-_SURPRISING)) - 1
    return low, np.maximum(high, highest)


def plain(law: Law, shown: Whole, smallest: int = 1) -> tuple[Whole, Whole]:
    """Return the ends of 95 % intervals for counts that were shown whatever their noise."""
    half = half_width(law)
    return np.maximum(shown - half, smallest), np.maximum(_raised(shown, np.full_like(shown, half)), smallest)


def _raised(shown: Whole, by: Whole) -> Whole:
    """Add what is not negative; a sum too large for 64 bits saturates, as the counts themselves do."""
    room: Whole = np.iinfo(np.int64).max - by
    return np.minimum(shown, room) + by


def _log_tail(law: Law, t: Whole) -> Logs:
    """Return about log P[Z >= t] for each t; accurate however small the chance is."""
    if isinstance(law, DiscreteLaplace):
        b = float(law.scale)
        upper = -np.maximum(t, 1) / b - math.log1p(math.exp(-1 / b))
    elif isinstance(law, DiscreteGaussian):
        far = np.maximum(t, 1).astype(np.float64)
        upper = _log_sum(law, far) if law.variance <= _SMALL_VARIANCE else _log_area(law, far)
    else:
        return np.log(np.maximum(survival(law, t), _LEAST))
    return np.where(t > 0, upper, np.log(survival(law, np.minimum(t, 0))))


def _log_sum(law: DiscreteGaussian, t: Logs) -> Logs:
    """Add up the masses of a narrow Gaussian from t on: a few dozen terms are all of them."""
    twice, steps = 2 * float(law.variance), range(48)
    norm = 2 * math.fsum(math.exp(-(z**2) / twice) for z in steps) - 1
    masses = np.sum([np.exp(-(2 * t * z + z**2) / twice) for z in steps], axis=0)
    logs: Logs = np.log(masses / norm) - t**2 / twice
    return logs


def _log_area(law: DiscreteGaussian, t: Logs) -> Logs:
    """Take the masses of a wide Gaussian from t on as an area, less what that is too large by on a steep slope."""
    x = (t - 0.5) / law.stddev
    half_slope = t / (2 * float(law.variance))
    # log(sinh(h) / h), which equal steps down a slope of 2h each make; written so as not to overflow.
    too_large = half_slope + np.log(-np.expm1(-2 * half_slope)) - np.log(2 * half_slope)
    far = np.maximum(x, _FAR)
    fraction = far
    for n in range(12, 0, -1):
        fraction = far + n / fraction
    beyond = -(far**2) / 2 - np.log(fraction) - math.log(2 * math.pi) / 2
    closer = np.log(survival(law, np.minimum(t, _FAR * law.stddev + 1).astype(np.int64)))
    return np.where(x > _FAR, beyond, closer) - too_large


def _first(low: Whole, high: Whole, holds: Condition) -> Whole:
    """Return for each row the first whole number between two ends at which a condition, once true, stays true."""
    low, high = low.copy(), high.copy()
    while np.any(low < high):
        middle = low + (high - low) // 2
        true = holds(middle)
        low, high = np.where(true, low, np.minimum(middle + 1, high)), np.where(true, middle, high)
    return high
