"""Labels and columns that only grow: what was there before stays as it was."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unlisted.errors import InvalidCountsError
from unlisted.mechanisms.continual.label_table import LabelTable
from unlisted.mechanisms.continual.tag_table import Column

PARTS = st.lists(st.lists(st.integers(0, 99), max_size=9), max_size=9)


@given(PARTS, st.integers(0, 8), st.lists(st.integers(0, 99), max_size=9))
def test_a_column_grows_like_a_list_and_can_grow_in_two_ways(
    parts: list[list[int]], fork: int, other: list[int]
) -> None:
    column, plain, kept = Column(np.zeros(0, np.int64)), [], []
    for part in parts:
        column, plain = column.appended(np.array(part, dtype=np.int64)), plain + part
        kept.append((column, list(plain)))
    if fork < len(kept):
        branch, before = kept[fork]
        assert branch.appended(np.array(other, dtype=np.int64)).values.tolist() == before + other
    for grown, expected in kept:
        assert grown.values.tolist() == expected
        assert len(grown) == len(expected)


def test_a_column_of_rows() -> None:
    tags = Column(np.zeros((0, 3), np.uint8))
    for _ in range(5):
        tags = tags.appended(np.ones((2, 3), np.uint8))
    assert tags.values.shape == (10, 3)


@given(st.lists(st.sets(st.sampled_from("abcdefghij"), max_size=5), max_size=8))
def test_labels_get_rows_in_the_order_of_their_appearance(rounds: list[set[str]]) -> None:
    table, seen, kept = LabelTable(), [], []
    for labels in rounds:
        fresh = sorted(labels - set(seen))
        assert (table.rows_of(pa.array(fresh, pa.string())) == -1).all()
        table, seen = table.appended(pa.array(fresh, pa.string())), seen + fresh
        kept.append((table, list(seen)))
    for grown, expected in kept:
        assert grown.take(np.arange(len(grown))).to_pylist() == expected
        rows = grown.rows_of(pa.array(list("abcdefghij")))
        assert rows.tolist() == [expected.index(one) if one in expected else -1 for one in "abcdefghij"]


def test_two_tables_that_grew_from_one_do_not_meet() -> None:
    start = LabelTable().appended(pa.array(["a"]))
    one, other = start.appended(pa.array(["b", "c"])), start.appended(pa.array(["c", "d"]))
    asked = pa.array(["a", "b", "c", "d"])
    assert start.rows_of(asked).tolist() == [0, -1, -1, -1]
    assert one.rows_of(asked).tolist() == [0, 1, 2, -1]
    assert other.rows_of(asked).tolist() == [0, -1, 1, 2]


def test_labels_that_python_holds_for_equal_have_rows_of_their_own() -> None:
    table = LabelTable().appended(pa.array([0.0, -0.0]))
    assert table.rows_of(pa.array([-0.0, 0.0])).tolist() == [1, 0]
    times = LabelTable().appended(pa.array([1, 2], pa.time64("ns")))
    assert times.rows_of(pa.array([2], pa.time64("ns"))).tolist() == [1]


def test_one_type_and_no_other() -> None:
    table = LabelTable()
    assert table.type is None
    assert table.take(np.zeros(0, np.int64)).to_pylist() == []
    table = table.appended(pa.array(["a"]))
    assert table.type == pa.string()
    for labels in (pa.array([1]), pa.array([b"a"])):
        with pytest.raises(InvalidCountsError, match="another type"):
            table.rows_of(labels)
        with pytest.raises(InvalidCountsError, match="another type"):
            table.appended(labels)
    assert table.rows_of(pa.array([], pa.int64())).tolist() == []
