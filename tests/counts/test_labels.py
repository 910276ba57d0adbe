"""Labels of every plain type: told apart by their bytes, ordered by nothing else, refused when not plain."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixtures.naming import said

from unlisted.counts import labels as label_rules
from unlisted.errors import InvalidCountsError

SORTED_LABELS = {
    "text": ["", " ", "A", "Z", "a", "aa", "e\u0301", "\u00e9", "\u03a9", "\u2126", "\U0001f600"],
    "long text": ["x" * 100_000, "x" * 100_000 + "y"],
    # Latin, Latin with a combining accent, precomposed, Cyrillic, full width: never made equal.
    "look-alikes": ["a", "a\u0300", "\u00e0", "\u0430", "\uff41"],
    "whole": [-(2**63), -1, 0, 1, 2**63 - 1],
    "float": [float("-inf"), -1.5, -0.0, 0.0, 5e-324, 1.5, float("inf")],
    "bool": [False, True],
    "bytes": [b"", b"\0", b"\0\0", b"a", b"\xff"],
    "decimal": [Decimal("-1.50"), Decimal("0.00"), Decimal("1.05")],
    "date": [dt.date(1, 1, 1), dt.date(2020, 2, 29), dt.date(9999, 12, 31)],
    "datetime": [dt.datetime(1970, 1, 1), dt.datetime(2020, 1, 1, 1, 1, 1, 1)],
    "time": [dt.time(0), dt.time(23, 59, 59, 999999)],
    "timedelta": [dt.timedelta(0), dt.timedelta(days=1)],
    "struct": [{"a": "x", "b": 1}, {"a": "x", "b": 2}, {"a": "y", "b": 0}],
    "struct of floats": [{"a": -0.0, "b": ""}, {"a": 0.0, "b": ""}],
}


def brought(labels: list[Any]) -> Any:
    """Return labels as they are brought: decimals need an Arrow type, others say theirs themselves."""
    return pa.array(labels, pa.decimal128(10, 2)) if isinstance(labels[0], Decimal) else labels


@pytest.mark.parametrize("kind", SORTED_LABELS)
def test_labels_of_this_kind_are_kept_and_ordered(kind: str) -> None:
    labels = SORTED_LABELS[kind]
    array = label_rules.plain(brought(labels))
    assert [repr(label) for label in array.to_pylist()] == [repr(label) for label in labels]
    assert not label_rules.has_duplicates(array)
    ties = np.ones(len(labels), dtype=np.int64)
    for shuffled in (labels[::-1], labels[1:] + labels[:1]):
        rows = label_rules.order(label_rules.plain(brought(shuffled)), ties)
        assert [repr(shuffled[row]) for row in rows] == [repr(label) for label in labels]


@pytest.mark.parametrize("kind", SORTED_LABELS)
def test_one_of_them_twice_is_noticed(kind: str) -> None:
    labels = SORTED_LABELS[kind]
    assert label_rules.has_duplicates(label_rules.plain(brought([*labels, labels[0]])))


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["b", "a"], pa.large_string()),
        pa.array(["b", "a"], pa.string_view()),
        pa.array([b"b", b"a"], pa.binary_view()),
        pa.array([b"bb", b"aa"], pa.binary(2)),
        pa.array(["b", "a"]).dictionary_encode(),
        pa.array([2, 1], pa.uint8()),
        pa.array([2, 1], pa.int16()),
        pa.array([2, 1], pa.date64()),
        pa.array([2, 1], pa.timestamp("ns", "Europe/Zurich")),
        pa.array([2, 1], pa.decimal256(50, 2)),
        pa.array(np.array([2, 1], dtype=np.float16)),
        pa.array([2, 1], pa.float32()),
        pa.array([b"b" * 16, b"a" * 16], pa.uuid()),
        pa.chunked_array([["b"], ["a"]]),
        np.array(["b", "a"]),
        np.array([2, 1]),
    ],
    ids=lambda array: str(getattr(array, "type", getattr(array, "dtype", ""))),
)
def test_arrow_and_numpy_arrays_are_read(array: object) -> None:
    plain = label_rules.plain(array)
    assert isinstance(plain, pa.Array)
    assert not label_rules.has_duplicates(plain)
    assert label_rules.order(plain, np.ones(2, dtype=np.int64)).tolist() == [1, 0]


def test_dictionaries_views_and_wrappers_do_not_survive() -> None:
    assert label_rules.plain(pa.array(["a"]).dictionary_encode()).type == pa.string()
    assert label_rules.plain(pa.array(["a"], pa.string_view())).type == pa.large_string()
    assert label_rules.plain(pa.array([b"a" * 16], pa.uuid())).type == pa.binary(16)
    field = pa.field("a", pa.dictionary(pa.int8(), pa.string()), metadata={"secret": "yes"})
    struct = pa.StructArray.from_arrays([pa.array(["x"]).dictionary_encode().cast(field.type)], fields=[field])
    assert label_rules.plain(struct).type == pa.struct([pa.field("a", pa.string())])
    assert label_rules.plain(struct).type[0].metadata is None


@pytest.mark.parametrize(
    "labels",
    [
        [None],
        ["a", None],
        pa.array(["a", None]),
        pa.array([None, None]),
        [{"a": 1, "b": "x"}, None],
        [{"a": None, "b": "x"}],
        pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None])),
        pa.nulls(2),
    ],
    ids=str,
)
def test_nulls_are_refused(labels: object) -> None:
    with pytest.raises(InvalidCountsError):
        label_rules.plain(labels)


@pytest.mark.parametrize(
    "labels",
    [
        [float("nan")],
        [1.0, float("nan")],
        np.array([np.nan]),
        np.array([1, np.nan], dtype=np.float16),
        [{"a": float("nan"), "b": "x"}],
    ],
    ids=str,
)
def test_nan_is_refused(labels: object) -> None:
    with pytest.raises(InvalidCountsError, match="NaN"):
        label_rules.plain(labels)


@pytest.mark.parametrize(
    "labels",
    [
        ["a", 1],
        [1, True],
        [1, 1.5],
        ["a", b"a"],
        [dt.date(2020, 1, 1), dt.datetime(2020, 1, 2, 3)],
        np.array([dt.date(2020, 1, 1), dt.datetime(2020, 1, 2, 3)], dtype=object),
        [object()],
        [2**70],
        [1 + 2j],
        np.array([1 + 2j]),
        ["\ud800"],
        [[1], [2]],
        [{"a": {"b": 1}}],
        pa.array([pa.MonthDayNano([1, 2, 3])]),
        pa.RunEndEncodedArray.from_arrays([1, 2], ["a", "b"]),
        np.array([["a", "b"]]),
        5,
        None,
    ],
    ids=said,
)
def test_what_is_not_plain_is_refused_with_what_to_do(labels: object) -> None:
    with pytest.raises(InvalidCountsError, match=r"Convert them first|one plain value"):
        label_rules.plain(labels)


def test_no_labels_are_labels() -> None:
    assert len(label_rules.plain([])) == 0
    assert label_rules.plain([]).type == pa.string()
    assert not label_rules.has_duplicates(label_rules.plain([]))


def test_taken_labels_hold_nothing_else() -> None:
    array = pa.array(["keep", "SECRET", "also"])
    taken = label_rules.take(array, np.array([0, 2]))
    assert taken.to_pylist() == ["keep", "also"]
    assert all(b"SECRET" not in buffer.to_pybytes() for buffer in taken.buffers() if buffer is not None)


class TestEncoding:
    def test_different_labels_of_any_types_have_different_names(self) -> None:
        labels = [
            *itertools.chain.from_iterable(SORTED_LABELS[kind] for kind in SORTED_LABELS if kind != "timedelta"),
            "1", "True", b"1", "0.0", "-0.0", Decimal("1.0"), "2020-01-01", 1.0, dt.date(1970, 1, 1),
            {"a": "1"}, {"a": 1}, {"a": "1", "b": ""}, {"a": "", "b": "1"}, {"a": "text:1:1;"}, "text:1:1;",
        ]  # fmt: skip
        named = {label_rules.encode(label) for label in labels}
        distinct = {(type(label).__name__, repr(label)) for label in labels}
        assert len(named) == len(distinct)

    @pytest.mark.parametrize("label", [dt.timedelta(1), [1], None])
    def test_what_has_no_name_is_refused(self, label: object) -> None:
        with pytest.raises(InvalidCountsError, match="Convert it to text"):
            label_rules.encode(label)

    @given(
        st.lists(
            st.one_of(
                st.text(), st.binary(), st.integers(), st.booleans(), st.floats(allow_nan=False), st.dates()
            ),
            min_size=2,
            max_size=2,
        )
    )
    def test_encoding_is_injective(self, pair: list[object]) -> None:
        one, other = pair
        same = type(one) is type(other) and repr(one) == repr(other)
        assert (label_rules.encode(one) == label_rules.encode(other)) == same

    @given(st.lists(st.text(max_size=4), max_size=4), st.lists(st.text(max_size=4), max_size=4))
    def test_no_label_runs_into_the_next(self, one: list[str], other: list[str]) -> None:
        joined = [b"".join(label_rules.encode(label) for label in labels) for labels in (one, other)]
        assert (joined[0] == joined[1]) == (one == other)


@given(st.lists(st.tuples(st.text(max_size=3), st.integers(1, 3)), unique_by=lambda row: row[0], max_size=12))
def test_order_is_by_count_then_bytes_whatever_the_rows(rows: list[tuple[str, int]]) -> None:
    wanted = sorted(rows, key=lambda row: (-row[1], row[0].encode()))
    labels = label_rules.plain([label for label, _ in rows])
    order = label_rules.order(labels, np.array([count for _, count in rows], dtype=np.int64))
    assert [rows[i] for i in order] == wanted


@pytest.mark.parametrize(
    "labels",
    [
        [Decimal("1.1")],
        [{"a": Decimal("1.1")}],
        [{"a": 1}, {"a": 2.5}],
        [{"a": 1}, {"b": 1}],
        [dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime(2020, 1, 2)],
    ],
    ids=said,
)
def test_the_type_of_labels_does_not_depend_on_single_ones(labels: list[Any]) -> None:
    """Arrow gives all decimals the digits of the longest one: a lone label would show in the others."""
    with pytest.raises(InvalidCountsError):
        label_rules.plain(labels)
