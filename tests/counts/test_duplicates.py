"""Duplicates are found by fingerprints, exactly: as a table of everything seen would find them."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unlisted.counts import duplicates, labels
from unlisted.counts.duplicates import fingerprints, has_equal_rows

COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), ["", "a", "a\0", "\0", "é", "ab", "ba", "a" * 70]),
    "large text": (pa.large_string(), ["", "a", "ab", "ba"]),
    "bytes": (pa.binary(), [b"", b"\0", b"\0\0", b"\xff"]),
    "small whole numbers": (pa.int8(), [-128, -1, 0, 1, 127]),
    "whole numbers": (pa.int64(), [-(2**63), -1, 0, 1, 2**63 - 1]),
    "large whole numbers": (pa.uint64(), [0, 2**64 - 1]),
    "decimals": (pa.decimal128(30, 2), [Decimal("1.00"), Decimal("-1.00"), Decimal("1e20")]),
    "days": (pa.date32(), [date(2024, 2, 29), date(1969, 12, 31)]),
    "fixed bytes": (pa.binary(3), [b"abc", b"abd", b"cba"]),
    "truth": (pa.bool_(), [True, False]),
    "floats": (pa.float64(), [0.0, -0.0, 1.5, float("inf")]),
}


@pytest.mark.parametrize(("kind", "values"), COLUMNS.values(), ids=COLUMNS.keys())
def test_values_of_every_kind_are_told_apart_and_found_again(kind: pa.DataType, values: list[Any]) -> None:
    different = pa.array(values, kind)
    assert not labels.has_duplicates(different)
    for value in values:
        assert labels.has_duplicates(pa.array([*values, value], kind))
    # A part of a larger array begins somewhere inside its buffers.
    assert not labels.has_duplicates(pa.array([values[1], *values], kind)[1:])
    assert labels.has_duplicates(pa.array([values[0], *values, values[-1]], kind)[1:])


@given(st.lists(st.text(max_size=4), max_size=30), st.integers(1, 9))
def test_texts_read_in_pieces_of_any_size_give_the_same_verdict(texts: list[str], at_once: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "BYTES_AT_ONCE", at_once)
        assert has_equal_rows([pa.array(texts, pa.string())]) == (len(set(texts)) < len(texts))


@given(st.lists(st.tuples(st.text("ab", max_size=2), st.integers(0, 3)), max_size=12))
def test_rows_of_several_columns_are_compared_as_rows(rows: list[tuple[str, int]]) -> None:
    columns = [pa.array([text for text, _ in rows], pa.string()), pa.array([n for _, n in rows], pa.int64())]
    assert has_equal_rows(columns) == (len(set(rows)) < len(rows))


def test_a_collision_of_fingerprints_is_no_duplicate(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = pa.array(["a", "b", "c", "d"])
    monkeypatch.setattr(duplicates, "fingerprints", lambda _: np.array([7, 7, 8, 9], dtype=np.uint64))
    assert not has_equal_rows([texts])
    assert has_equal_rows([pa.array(["a", "a", "c", "d"])])


def test_a_hundred_thousand_texts_have_as_many_fingerprints() -> None:
    texts = pa.array([f"item {n}" for n in range(100_000)])
    assert len(np.unique(fingerprints([texts]))) == 100_000
