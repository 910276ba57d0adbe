"""The combinatorial facts behind Algorithms 2 and 3, by brute force: who leaves a top, by how far, what moves.

No noise here: every pair of neighbours over four labels, and of every pair the two tops.
"""

from __future__ import annotations

import itertools

import pytest
from tests.mechanisms.small_worlds import Histogram, by_count_then_label, neighbours

from unlisted.mechanisms.top_histogram import entering
from unlisted.privacy.sensitivity import Sensitivity

LABELS, LARGEST = 4, 2
CASES = [
    (Sensitivity(items, count, adjacency), fetched)
    for items in (1, 2, None)
    for count in (1, 2)
    for adjacency in ("add_remove", "replace")
    for fetched in (1, 2, 3)
]


def label_backwards(histogram: Histogram) -> list[int]:
    return sorted(range(len(histogram)), key=lambda label: (-histogram[label], -label))


def top(histogram: Histogram, fetched: int, order: object) -> tuple[set[int], int]:
    ranked = [label for label in order(histogram) if histogram[label] > 0]
    bottom = histogram[ranked[fetched]] if len(ranked) > fetched else 0
    return set(ranked[:fetched]), bottom


def least_distances(a: Histogram, b: Histogram, fetched: int, orders: tuple) -> tuple[int, int, int]:
    """The coordinates (common, paired, bottom) as they differ, in the pairing that moves them least."""
    (one, bottom), (other, other_bottom) = top(a, fetched, orders[0]), top(b, fetched, orders[1])
    leaving, entering = sorted(one - other), sorted(other - one)
    # A side with fewer labels is padded with labels of count 0.
    size = max(len(leaving), len(entering))
    left = [a[label] for label in leaving] + [0] * (size - len(leaving))
    right = [b[label] for label in entering] + [0] * (size - len(entering))
    fixed = [a[label] - b[label] for label in one & other] + [bottom - other_bottom]
    found = []
    for pairing in itertools.permutations(right):
        moves = [abs(d) for d in fixed + [x - y for x, y in zip(left, pairing, strict=True)]]
        found.append((sum(d * d for d in moves), sum(moves), max(moves)))
    return min(found)


@pytest.mark.parametrize(("sensitivity", "fetched"), CASES, ids=str)
def test_few_labels_leave_the_top_and_none_far_above_the_bottom(sensitivity: Sensitivity, fetched: int) -> None:
    for a, b in neighbours(LABELS, LARGEST, sensitivity):
        (one, bottom), (other, _) = (top(h, fetched, by_count_then_label) for h in (a, b))
        leaving = one - other
        assert len(leaving) <= entering(sensitivity, fetched, "label")
        for label in leaving:
            assert a[label] <= bottom + sensitivity.sides * sensitivity.count


@pytest.mark.parametrize(("sensitivity", "fetched"), CASES, ids=str)
@pytest.mark.parametrize("orders", [(by_count_then_label,) * 2, (by_count_then_label, label_backwards)])
def test_the_top_and_its_bottom_move_no_more_than_is_priced(
    sensitivity: Sensitivity, fetched: int, orders: tuple
) -> None:
    """Even where ties are broken differently on both sides: ρ does not depend on them."""
    priced = sensitivity.coordinates_within(fetched + 1)
    for a, b in neighbours(LABELS, LARGEST, sensitivity):
        squares, total, largest = least_distances(a, b, fetched, orders)
        assert squares <= priced * sensitivity.count**2
        assert total <= priced * sensitivity.count
        assert largest <= sensitivity.count


def test_the_constants_are_attained() -> None:
    """k̄ + 1 coordinates for an unbounded user, and as many labels leaving as are charged."""
    assert least_distances((2, 2, 2, 0), (1, 1, 1, 0), 2, (by_count_then_label,) * 2)[0] == 3
    one, _ = top((1, 1, 0, 0), 2, by_count_then_label)
    other, _ = top((1, 1, 2, 2), 2, by_count_then_label)
    assert len(one - other) == 2


def test_data_dependent_ties_make_more_labels_leave() -> None:
    """Four tied labels and an order that one user turns around: only ties='unknown' is charged for it."""
    one, other = (top((1, 1, 1, 1), 2, order)[0] for order in (by_count_then_label, label_backwards))
    assert len(one - other) == 2 > entering(Sensitivity(1), 2, "label")
    assert entering(Sensitivity(1), 2, "unknown") == 2
