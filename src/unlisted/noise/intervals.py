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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unlisted.noise.law import Law

_SURPRISING = 0.025

Whole = NDArray[np.int64]
Logs = NDArray[np.float64]
Condition = Callable[[Whole], NDArray[np.bool_]]


def given_shown(
    law: Law,
    threshold: int,
    shown: Whole,
    *,
    smallest: int = 1,
    lowered: float = 0.0,
    surprising: float = _SURPRISING,
) -> tuple[Whole, Whole]:
    """Return the lower and upper ends of 95 % intervals for counts whose noisy values passed a threshold.

    With a share `lowered` of labels where it is one lower, a value at the threshold may be shown too. A smaller
    chance that is `surprising` at either end makes them wider.
    """

    def log_shown(count: Whole, value: Whole) -> Logs:
        """Return about log P[shown, and at least as this value]."""
        passed = law.log_survival(np.maximum(value, threshold + 1) - count)
        if not lowered:
            return passed
        by_draw = law.log_survival(np.maximum(value, threshold) - count)
        logs: Logs = np.logaddexp(math.log1p(-lowered) + passed, math.log(lowered) + by_draw)
        return logs

    far = 8 * law.half_width() + 8
    return given_log_shown(log_shown, Shown(threshold, far, smallest, surprising), shown)


class Shown(NamedTuple):
    """Where values are shown: over a threshold, from `far` over it as if unselected, of counts from `smallest`."""

    threshold: int
    far: int
    smallest: int
    surprising: float = _SURPRISING


def given_log_shown(log_shown: Callable[[Whole, Whole], Logs], at: Shown, shown: Whole) -> tuple[Whole, Whole]:
    """Return the ends of such intervals for any noise.

    `log_shown(count, value)` is about log P[shown, and at least as this value], monotone in the count.
    """
    # Far over the threshold being shown is no selection, and all intervals are equally wide.
    leads, row = np.unique(np.minimum(shown - at.threshold, at.far), return_inverse=True)
    values = at.threshold + leads
    low, high = _ends(log_shown, at, values)
    return shown - (values - low)[row], _raised(shown, (high - values)[row])


def _ends(log_shown: Callable[[Whole, Whole], Logs], at: Shown, shown: Whole) -> tuple[Whole, Whole]:
    highest = np.maximum(shown, at.smallest)
    any_value = np.full_like(shown, at.threshold)

    def log_at_least(count: Whole) -> Logs:
        return log_shown(count, shown) - log_shown(count, any_value)

    def log_above(count: Whole) -> Logs:
        return log_shown(count, shown + 1) - log_shown(count, any_value)

    # Lower end: the smallest count at which so large a value is no surprise.
    lowest = np.full_like(shown, at.smallest)
    low = _first(lowest, highest, lambda count: log_at_least(count) > math.log(at.surprising))
    # Upper end: the count before the first at which so small a value is a surprise.
    high = _first(highest, highest + at.far, lambda count: log_above(count) >= math.log1p(-at.surprising)) - 1
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
