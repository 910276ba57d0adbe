"""Counts that another system made: what is declared is carried, what is impossible is refused."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.tables.declared import declared_counts


def test_declared_bounds_are_carried_with_the_counts() -> None:
    counts = declared_counts(
        ["b", "a", "c"],
        [5, 5, 9],
        items_per_user=3,
        count_per_item=2,
        fetch=10,
        minimum_count=4,
        ties="unknown",
        adjacency="replace",
    )
    assert counts.sensitivity == Sensitivity(3, 2, "replace")
    assert (counts.fetched, counts.minimum_count, counts.ties) == (10, 4, "unknown")
    assert counts.labels.to_pylist() == ["c", "a", "b"]


def test_counts_without_more_are_all_counts_with_ties_by_label() -> None:
    counts = declared_counts(pa.array(["a"]), pa.array([1]), items_per_user=None, count_per_item=1)
    assert counts.sensitivity == Sensitivity(None, 1)
    assert (counts.fetched, counts.minimum_count, counts.ties) == (None, 1, "label")


@pytest.mark.parametrize(
    ("declared", "argument"),
    [
        ({"items_per_user": 0}, "items_per_user"),
        ({"count_per_item": 0}, "count_per_item"),
        ({"fetch": 0}, "fetch"),
        ({"minimum_count": 0}, "minimum_count"),
        ({"ties": "random"}, "ties"),
        ({"adjacency": "neighbour"}, "adjacency"),
    ],
)
def test_bounds_that_make_no_sense_are_refused_by_their_own_name(declared: dict[str, Any], argument: str) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        declared_counts(["a"], [1], **({"items_per_user": 1, "count_per_item": 1} | declared))
    assert refused.value.argument == argument


def test_nan_labels_are_refused() -> None:
    with pytest.raises(InvalidCountsError, match="NaN"):
        declared_counts([float("nan")], [1], items_per_user=1, count_per_item=1)
