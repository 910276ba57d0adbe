"""The worst of very many cases, from a bound that holds for all cases between two of them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

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
