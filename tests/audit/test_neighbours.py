"""Pairs that are tried are neighbours, and small worlds are tried completely."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from unlisted.audit.subject import Pair
from unlisted.audit.subjects.catalogue import OURS
from unlisted.audit.subjects.neighbours import (
    all_pairs,
    at_the_threshold,
    fresh_labels,
    stream_pairs,
    tied_at_the_cut,
)
from unlisted.privacy.sensitivity import Sensitivity


def changes(pair: Pair) -> list[int]:
    """Return by how much every label's count differs."""
    labels = {**pair.left, **pair.right}
    moved = [pair.right.get(label, 0) - pair.left.get(label, 0) for label in labels]
    return [by for by in moved if by]


def are_neighbours(pair: Pair, sensitivity: Sensitivity) -> bool:
    moved = changes(pair)
    up, down = sum(by > 0 for by in moved), sum(by < 0 for by in moved)
    within = all(abs(by) <= sensitivity.count for by in moved) and bool(moved)
    items = sensitivity.items if sensitivity.items is not None else len(moved)
    if sensitivity.adjacency == "add_remove":
        return within and min(up, down) == 0 and max(up, down) <= items
    return within and max(up, down) <= items


@pytest.mark.parametrize(
    "sensitivity",
    [Sensitivity(1), Sensitivity(2, count=2), Sensitivity(None), Sensitivity(1, adjacency="replace")],
    ids=str,
)
def test_every_family_has_neighbours_only(sensitivity: Sensitivity) -> None:
    pairs = [
        *all_pairs(sensitivity, "ab", largest=2),
        *fresh_labels(sensitivity, {"a": 9}),
        *at_the_threshold(sensitivity, 5),
        *tied_at_the_cut(sensitivity, fetched=2, level=3),
    ]
    assert pairs
    assert [pair.name for pair in pairs if not are_neighbours(pair, sensitivity)] == []


def test_a_small_world_is_tried_completely() -> None:
    found = {(_key(pair.left), _key(pair.right)) for pair in all_pairs(Sensitivity(1), "ab", largest=1)}
    smaller = [(a, b) for a in range(2) for b in range(2)]
    assert found == {
        *(((a, b), (a + 1, b)) for a, b in smaller),
        *(((a, b), (a, b + 1)) for a, b in smaller),
    }


def test_ties_change_who_is_in_the_top() -> None:
    pair = next(tied_at_the_cut(Sensitivity(1), fetched=2, level=3))
    assert pair.left == {"a": 3, "b": 3, "c": 3, "d": 3}
    assert pair.right == {"a": 3, "b": 3, "c": 3, "d": 4}


def test_streams_with_a_label_that_reappears() -> None:
    pairs = list(stream_pairs(Sensitivity(1), 2, [(0, 0, 5)]))
    assert len(pairs) == 3 + 3
    assert (({}, {}, {"a": 5}), ({"a": 1}, {}, {"a": 5})) in [(pair.left, pair.right) for pair in pairs]
    assert (({}, {}, {"a": 5}), ({"a": 1}, {"a": 1}, {"a": 5})) in [(pair.left, pair.right) for pair in pairs]


@pytest.mark.parametrize("name", OURS)
def test_a_subject_bears_its_own_name_and_has_pairs(name: str) -> None:
    subject = OURS[name]()
    assert subject.name == name
    assert any(True for _ in subject.pairs())


def _key(histogram: Mapping[str, int]) -> tuple[int, int]:
    return histogram.get("a", 0), histogram.get("b", 0)
