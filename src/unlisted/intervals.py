"""Error bars that stay honest after selection.

A count is shown only if its noisy value passed a threshold, so values near the threshold are flattered by their
noise. For a shown value y over a threshold T the interval holds every count c that does not make y surprising
*given that it was shown*: P[c + Z >= y | c + Z > T] and P[c + Z <= y | c + Z > T] are both above 2.5 %. Both
chances are monotone in c (the laws have monotone likelihood ratios), so the ends are found by bisection. Near
the threshold the lower end can reach all the way down: such a value says little about how small the count may
be. The interval speaks of the *bounded* count.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from unlisted.noise.estimate import half_width, survival
from unlisted.noise.law import Law

_SURPRISING = 0.025
_NEGLIGIBLE = 1e-280

Whole = NDArray[np.int64]
Condition = Callable[[Whole], NDArray[np.bool_]]


def given_shown(law: Law, threshold: int, shown: Whole, smallest: int = 1) -> tuple[Whole, Whole]:
    """Return the lower and upper ends of 95 % intervals for counts whose noisy values passed a threshold."""
    if len(shown) == 0:
        return shown, shown
    reach = 8 * half_width(law) + 8
    # Lower end: the smallest count at which so large a value is no surprise.
    lowest = np.maximum(smallest, shown - reach)
    low = _first(lowest, shown, lambda count: _at_least(law, shown, count, threshold) > _SURPRISING)
    # Upper end: the count before the first at which so small a value is a surprise.
    high = _first(shown, shown + reach, lambda count: _at_most(law, shown, count, threshold) <= _SURPRISING) - 1
    return np.maximum(low, smallest), np.maximum(high, np.maximum(low, smallest))


def plain(law: Law, shown: Whole, smallest: int = 1) -> tuple[Whole, Whole]:
    """Return the ends of 95 % intervals for counts that were shown whatever their noise."""
    half = half_width(law)
    return np.maximum(shown - half, smallest), np.maximum(shown + half, smallest)


def _at_least(law: Law, shown: Whole, count: Whole, threshold: int) -> NDArray[np.float64]:
    passed = np.maximum(survival(law, threshold + 1 - count), _NEGLIGIBLE)
    return survival(law, shown - count) / passed


def _at_most(law: Law, shown: Whole, count: Whole, threshold: int) -> NDArray[np.float64]:
    passed = np.maximum(survival(law, threshold + 1 - count), _NEGLIGIBLE)
    return (survival(law, threshold + 1 - count) - survival(law, shown + 1 - count)) / passed


def _first(low: Whole, high: Whole, holds: Condition) -> Whole:
    """Return for each row the first whole number between two ends at which a condition, once true, stays true."""
    low, high = low.copy(), high.copy()
    while np.any(low < high):
        middle = (low + high) // 2
        true = holds(middle)
        low, high = np.where(true, low, np.minimum(middle + 1, high)), np.where(true, middle, high)
    return high
