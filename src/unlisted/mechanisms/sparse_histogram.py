"""The exact (ε, δ) of Algorithm 1 with Gaussian noise: a label is new or it moves, never both.

The proof is in sparse_histogram.md. A label that only one neighbour has costs δ and no ε; a label that both have
costs ε and cannot fail. A user with j labels of the first kind has at most Δ0 - j of the second, so the δ of the
mechanism is the worst over j, and not the sum of two worst cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.gaussian.tails import shift_delta_about, shift_delta_up, tail_about
from unlisted.privacy.rounding import any_of_up, log_down
from unlisted.privacy.sensitivity import Sensitivity

_SLACK = Fraction(1, 256)
"""How much of δ may be given away, where the worst user is neither all new nor all moved, to look at fewer j."""

Amount = TypeVar("Amount", Fraction, float)


@lru_cache(maxsize=64)
def sparse_delta_up(
    law: DiscreteGaussian, one_failure: Fraction, sensitivity: Sensitivity, epsilon: Fraction
) -> Fraction:
    """Bound from above the δ at ε, `one_failure` being the chance that a lone user's label is released."""
    items = sensitivity.require_items("A histogram")
    any_failure = any_of_up(one_failure, items)
    if any_failure == 1:
        return Fraction(1)
    lowered = epsilon + log_down(1 - any_failure)

    def of_moved(new: int) -> Fraction:
        moved = sensitivity.sides * items - new
        return shift_delta_up(moved, sensitivity.count, law.variance, lowered)

    return min(Fraction(1), _worst(items, one_failure, lambda new: any_of_up(one_failure, new), of_moved))


def sparse_delta_about(law: DiscreteGaussian, beyond: int, sensitivity: Sensitivity, epsilon: float) -> float:
    """Return about the same where noise of `beyond` or more releases a label; to find parameters with."""
    items, variance = sensitivity.require_items("A histogram"), float(law.variance)
    one_failure = tail_about(beyond, variance)

    def of_moved(new: int) -> float:
        return shift_delta_about(sensitivity.sides * items - new, sensitivity.count, variance, lowered)

    lowered = epsilon + items * math.log1p(-one_failure)
    return _worst(items, one_failure, lambda new: _any_of_about(one_failure, new), of_moved)


def failure_about(law: DiscreteGaussian, beyond: int, sensitivity: Sensitivity) -> float:
    """Return about the chance that some label of a lone user is released."""
    return _any_of_about(tail_about(beyond, float(law.variance)), sensitivity.require_items("A histogram"))


def _any_of_about(p: float, n: int) -> float:
    return -math.expm1(n * math.log1p(-p))


def _worst(
    items: int, one_failure: Amount, of_new: Callable[[int], Amount], of_moved: Callable[[int], Amount]
) -> Amount:
    """Return at least the largest of of_new(j) + of_moved(j) over all j: the first grows, the second falls."""
    worst = bound = max(of_moved(0), of_new(items) + of_moved(items))
    new = 1
    while new < items:
        moved = of_moved(new)
        # More new labels mean fewer that move, so up to `last` of them nothing is worse than the worst so far.
        last = min(items - 1, _labels_within(worst - moved, one_failure))
        if last < new or of_new(last) + moved > worst:
            worst = max(worst, of_new(new) + moved)
            last = max(new, min(items - 1, _labels_within(worst + worst * _SLACK - moved, one_failure)))
            bound = max(bound, of_new(last) + moved)
        new = last + 1
    return max(worst, bound)


def _labels_within(room: Amount, one_failure: Amount) -> int:
    """Return about how many labels there may be for one to be released with a chance of at most `room`."""
    if float(room) >= 1 or float(one_failure) == 0:
        return 2**62
    labels = math.log1p(-max(0.0, float(room))) / math.log1p(-float(one_failure)) * (1 - 1e-9)
    return int(min(labels, 2.0**62))
