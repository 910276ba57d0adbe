"""Searching for parameters that are then proved exactly, and for the worst of very many cases.

A search in floating point may be as careless as it likes: what it finds is only ever a suggestion, and the
guarantee is computed from the suggestion with directed rounding. The worst of many cases is a proved bound: it
comes from bounds that hold for all cases between two of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

_GOLDEN = (math.sqrt(5) - 1) / 2


def lowest_point(objective: Callable[[float], float], low: float, high: float, steps: int) -> float:
    """Return about where an objective with one valley is lowest between two points, by golden section."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = objective(left), objective(right)
    for _ in range(steps):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = objective(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = objective(right)
    return (low + high) / 2


def where_falling(f: Callable[[float], float], low: float, high: float, within: float) -> float:
    """Return a point where a falling function is at most 0, near where it crosses, if it does between two points.

    A false-position search that halves the weight of an end that stays (the Illinois rule), so that a smooth
    function takes a handful of looks; every third look halves the interval, so that no function takes many. Where
    the function is above 0 even at `high`, that is `high`.
    """
    at_low, at_high = f(low), f(high)
    kept = looks = 0
    while at_low > 0 > at_high and high - low > within:
        looks += 1
        slope = (high - low) / (at_low - at_high) if math.isfinite(at_low - at_high) else 0.0
        middle = low + slope * at_low if looks % 3 and slope else (low + high) / 2
        # Not closer to an end than what is asked for: an end that is right must still be found out to be.
        middle = min(max(middle, low + within / 2), high - within / 2)
        at_middle = f(middle)
        if at_middle > 0:
            low, at_low, at_high, kept = middle, at_middle, at_high / 2 if kept > 0 else at_high, 1
        else:
            high, at_high, at_low, kept = middle, at_middle, at_low / 2 if kept < 0 else at_low, -1
    return low if at_low <= 0 else high


def smallest(holds: Callable[[int], bool], at_least: int) -> int:
    """Return the smallest whole number from `at_least` for which a condition, once true, stays true."""
    if holds(at_least):
        return at_least
    step = 1
    while not holds(at_least + step):
        step *= 2
    low, high = at_least + step // 2, at_least + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


_SLACK = Fraction(257, 256)
"""How much may be given away, above the worst case that was looked at, to look at fewer."""


def worst_case_up(first: int, last: int, bound: Callable[[int, int], Fraction]) -> Fraction:
    """Bound from above all cases from `first` to `last`, given a bound of those from one to another.

    A range whose bound is no more than a hair above the worst single case is left whole; others are halved.
    """
    worst = accepted = bound(first, first)
    ranges = [(first, last)]
    while ranges:
        low, high = ranges.pop()
        worst = max(worst, bound(high, high))
        of_all = bound(low, high)
        if low < high and of_all > worst * _SLACK:
            middle = (low + high) // 2
            ranges += [(low, middle), (middle + 1, high)]
        else:
            accepted = max(accepted, of_all)
    return max(worst, accepted)
