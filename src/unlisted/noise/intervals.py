"""Error bars that stay honest after selection.

A count is shown only if its noisy value passed a threshold, so values near the threshold are flattered by their
noise. For a shown value y over a threshold T the interval holds every count c that does not make y surprising
*given that it was shown*: P[c + Z >= y | c + Z > T] and P[c + Z <= y | c + Z > T] are both above 2.5 %. Both
chances are monotone in c (the laws have monotone likelihood ratios), so the ends are found by bisection. Near
the threshold the lower end can reach all the way down: such a value says little about how small the count may
be. The interval speaks of the *bounded* count, and always holds the shown value if a count can have it.

Far below the threshold both chances in the first ratio are too small for a float, while the ratio is not; so
tails are carried as logarithms (`Law.log_survival`).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from unlisted.noise.law import Law

_SURPRISING = 0.025

Whole = NDArray[np.int64]
Logs = NDArray[np.float64]
Condition = Callable[[Whole], NDArray[np.bool_]]


def given_shown(law: Law, threshold: int, shown: Whole, smallest: int = 1) -> tuple[Whole, Whole]:
    """Return the lower and upper ends of 95 % intervals for counts whose noisy values passed a threshold."""
    # Far over the threshold being shown is no selection, and all intervals are equally wide.
    far = 8 * law.half_width() + 8
    leads, row = np.unique(np.minimum(shown - threshold, far), return_inverse=True)
    values = threshold + leads
    low, high = _ends(law, threshold, values, smallest)
    return shown - (values - low)[row], _raised(shown, (high - values)[row])


def _ends(law: Law, threshold: int, shown: Whole, smallest: int) -> tuple[Whole, Whole]:
    highest = np.maximum(shown, smallest)

    def log_at_least(count: Whole) -> Logs:
        return law.log_survival(shown - count) - law.log_survival(threshold + 1 - count)

    def log_above(count: Whole) -> Logs:
        return law.log_survival(shown + 1 - count) - law.log_survival(threshold + 1 - count)

    # Lower end: the smallest count at which so large a value is no surprise.
    lowest = np.full_like(shown, smallest)
    low = _first(lowest, highest, lambda count: log_at_least(count) > math.log(_SURPRISING))
    # Upper end: the count before the first at which so small a value is a surprise.
    beyond = highest + 8 * law.half_width() + 8
    high = _first(highest, beyond, lambda count: log_above(count) >= math.log1p(-_SURPRISING)) - 1
    return low, np.maximum(high, highest)


def plain(law: Law, shown: Whole, smallest: int = 1) -> tuple[Whole, Whole]:
    """Return the ends of 95 % intervals for counts that were shown whatever their noise."""
    half = law.half_width()
    return np.maximum(shown - half, smallest), np.maximum(_raised(shown, np.full_like(shown, half)), smallest)


def _raised(shown: Whole, by: Whole) -> Whole:
    """Add what is not negative; a sum too large for 64 bits saturates, as the counts themselves do."""
    room: Whole = np.iinfo(np.int64).max - by
    return np.minimum(shown, room) + by


def _first(low: Whole, high: Whole, holds: Condition) -> Whole:
    """Return for each row the first whole number between two ends at which a condition, once true, stays true."""
    low, high = low.copy(), high.copy()
    while np.any(low < high):
        middle = low + (high - low) // 2
        true = holds(middle)
        low, high = np.where(true, low, np.minimum(middle + 1, high)), np.where(true, middle, high)
    return high
