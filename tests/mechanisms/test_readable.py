"""The rule about what can be read, value by value, against a slow twin that decodes each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables.hostile_values import LATIN, LONG_LATIN, STORED, decimals, dictionary, stored, texts

from unlisted.counts import labels as label_rules
from unlisted.counts.readable import readable, readable_as, readable_labels
from unlisted.errors import InvalidCountsError
from unlisted.mechanisms.mechanism import Answer
from unlisted.privacy.guarantee import Guarantee

BYTES = st.lists(st.none() | st.binary(max_size=20) | st.text(max_size=8).map(str.encode), max_size=12)


def decoded(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode("utf-8")
    except UnicodeDecodeError:
        return None


@given(BYTES, st.sampled_from(list(STORED)), st.integers(0, 3))
def test_a_text_is_what_its_bytes_say_or_null(values: list[bytes | None], kind: pa.DataType, start: int) -> None:
    found = readable(texts(values, kind).slice(start))
    found.validate(full=True)
    assert found.type == kind
    assert found.to_pylist() == [decoded(value) for value in values[start:]]


@given(BYTES, st.sampled_from(list(STORED)))
def test_a_dictionary_loses_its_unreadable_entries(values: list[bytes | None], kind: pa.DataType) -> None:
    there = [value for value in values if value is not None]
    found = readable(dictionary(there, kind))
    found.validate(full=True)
    assert found.to_pylist() == [decoded(value) for value in there]
    assert set(found.dictionary.to_pylist()) <= {decoded(value) for value in there} - {None}


def test_an_index_outside_its_dictionary_is_null() -> None:
    strange = pa.DictionaryArray.from_arrays(pa.array([5, -1, 0, None], pa.int8()), pa.array(["a"]), safe=False)
    assert readable(strange).to_pylist() == [None, None, "a", None]


@pytest.mark.parametrize("kind", [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()], ids=str)
def test_indices_without_a_sign_may_be_null_too(kind: pa.DataType) -> None:
    most = 2**kind.bit_width - 1
    indices = pa.array([0, None, most, 1], kind)
    strange = pa.DictionaryArray.from_arrays(indices, texts([b"a", LATIN]), safe=False)
    assert readable(strange).to_pylist() == ["a", None, None, None]


def test_what_does_not_fit_into_another_type_is_null() -> None:
    far = stored([0, 2**60, 7], pa.timestamp("ms"))
    assert readable_as(far, pa.timestamp("us")).cast(pa.int64()).to_pylist() == [0, None, 7000]
    whole = pa.array([1, 2])
    assert readable_as(whole, pa.int8()).to_pylist() == [1, 2]


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64(), pa.float16()], ids=str)
def test_nan_is_null_and_other_floats_stay(kind: pa.DataType) -> None:
    numbers = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5], dtype=kind.to_pandas_dtype())
    found = readable(pa.array(numbers))
    assert found.type == kind
    assert str(found.to_pylist()) == "[0.0, -0.0, inf, -inf, None, 1.5]"


def test_times_beyond_the_day_and_decimals_beyond_their_digits_are_null() -> None:
    assert readable(stored([0, 2**60, -5], pa.time64("us"))).is_valid().to_pylist() == [True, False, False]
    assert readable(decimals([5, 10**15, -(10**9)], 9)).is_valid().to_pylist() == [True, False, False]


def test_a_list_is_null_if_something_in_it_cannot_be_read_and_its_neighbours_stay() -> None:
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 3, 4]), texts([b"a", LATIN, b"b", b"c"]))
    assert readable(lists).to_pylist() == [["a"], None, ["c"]]


def test_what_can_be_read_is_not_copied() -> None:
    column = pa.array(["a", "b", None])
    assert readable(column) is column


def test_a_label_of_several_fields_is_null_if_one_cannot_be_read() -> None:
    fields = [texts([b"a", LATIN, b"c"]), pa.array([1.0, 2.0, float("nan")])]
    labels = readable_labels(pa.StructArray.from_arrays(fields, names=["x", "y"]))
    assert labels.to_pylist() == [{"x": "a", "y": 1.0}, None, None]


def answered(labels: pa.Array, counts: Any) -> Answer:
    return Answer.by_count(label_rules.named(labels), np.array(counts), Guarantee.nothing())


@pytest.mark.parametrize(
    "labels",
    [
        texts([b"a", LATIN, b"c"]),
        texts([b"a", LONG_LATIN, b"c"], pa.string_view()),
        dictionary([b"a", LATIN, b"c"], pa.string()),
    ],
    ids=["text", "view", "dictionary"],
)
def test_an_answer_drops_what_cannot_be_read_without_a_word(labels: pa.Array) -> None:
    found = answered(labels, [5, 9, 7])
    assert found.labels.to_pylist() == ["c", "a"]
    assert found.counts is not None
    assert found.counts.tolist() == [7, 5]
    bare = Answer.of_labels(label_rules.named(labels), Guarantee.nothing())
    assert bare.labels.to_pylist() == ["a", "c"]


def test_an_answer_drops_nan_without_a_word() -> None:
    found = answered(pa.array([1.5, float("nan")]), [5, 9])
    assert found.labels.to_pylist() == [1.5]


def test_counts_that_a_caller_brings_are_still_refused() -> None:
    with pytest.raises(InvalidCountsError, match="NaN"):
        label_rules.plain(pa.array([1.5, float("nan")]))
