"""Searching in floating point for parameters that are then proved exactly.

A search may be as careless as it likes: what it finds is only ever a suggestion, and the guarantee is computed
from the suggestion with directed rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable

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
