"""Counts say what they are, refuse what they are not, and saturate instead of wrapping around."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixtures.naming import said

from unlisted.counts.bounded_counts import LARGEST_COUNT, BoundedCounts, add_noise
from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.privacy.sensitivity import Sensitivity

ONE = Sensitivity(1)


def counted(counts: object, **declared: object) -> list[int]:
    labels = [f"label {i}" for i in range(len(counts))]
    return BoundedCounts(labels, counts, ONE, **declared).counts.tolist()


class TestReading:
    @pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
    def test_every_whole_type_is_read(self, kind: str) -> None:
        assert counted(np.array([3, 1, 100], dtype=kind)) == [3, 1, 100]
        assert counted(pa.array([3, 1, 100], type=kind)) == [3, 1, 100]
        assert counted(pa.chunked_array([[3, 1], [100]], type=kind)) == [3, 1, 100]

    def test_large_counts_saturate(self) -> None:
        wanted = [LARGEST_COUNT, LARGEST_COUNT, LARGEST_COUNT, LARGEST_COUNT, LARGEST_COUNT - 1, 1]
        assert counted([2**70, 2**64, 2**63, 2**62, 2**62 - 1, 1]) == wanted
        assert counted(np.array([2**64 - 1, 2**63, 2**63 - 1, 1], dtype=np.uint64)) == [LARGEST_COUNT] * 3 + [1]
        assert counted(np.array([2**63 - 1, 1])) == [LARGEST_COUNT, 1]

    def test_a_count_around_two_to_the_63_reads_like_any_other(self) -> None:
        """Lists with such numbers become floats in numpy; that must not show."""
        for count in (2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1, 2**64):
            assert counted([count, 5]) == [LARGEST_COUNT, 5]
        assert counted([np.int64(7), 2**70]) == [7, LARGEST_COUNT]

    @pytest.mark.parametrize(
        "counts",
        [
            [1.5, 2.0],
            [1.0, 2.0],
            [float("nan"), 1],
            [float("inf"), 1],
            ["1", "2"],
            [None, 1],
            [True, False],
            [2**70, True],
            [2**70, 1.5],
            np.array([1.0, 2.0]),
            np.array([True, False]),
            pa.array([1, None]),
            pa.array([1.0, 2.0]),
            pa.array(["1", "2"]),
        ],
        ids=said,
    )
    def test_what_is_not_a_whole_number_is_refused(self, counts: object) -> None:
        with pytest.raises(InvalidCountsError, match=r"whole number"):
            counted(counts)

    @pytest.mark.parametrize("counts", [[3, -1], [-(2**70), 1], [2**70, -1], np.array([-1, 1], dtype=np.int8)])
    def test_negative_counts_are_refused(self, counts: object) -> None:
        with pytest.raises(InvalidCountsError, match="negative"):
            counted(counts)

    @pytest.mark.parametrize("counts", [[[1], [2]], [[1], [1, 2]], [(), ()], np.ones((2, 2), dtype=int)])
    def test_nested_counts_are_refused(self, counts: object) -> None:
        with pytest.raises(InvalidCountsError, match="one list of whole numbers"):
            counted(counts)

    def test_one_number_is_not_a_list_of_counts(self) -> None:
        with pytest.raises(InvalidCountsError, match="one list"):
            BoundedCounts(["a"], 3, ONE)

    def test_as_many_counts_as_labels(self) -> None:
        with pytest.raises(InvalidCountsError, match="one count"):
            BoundedCounts(["a", "b"], [1], ONE)

    def test_the_callers_array_is_neither_changed_nor_kept(self) -> None:
        """What is released is the bounded copy: changing the original afterwards changes nothing."""
        mine = np.array([5, 0, 7])
        counts = BoundedCounts(["a", "b", "c"], mine, ONE)
        mine[:] = 99
        assert counts.counts.tolist() == [5, 7]
        assert mine.flags.writeable
        assert not counts.counts.flags.writeable

    @given(st.lists(st.integers(0, 2**80), max_size=20))
    def test_reading_is_the_minimum_with_the_largest_count(self, counts: list[int]) -> None:
        assert counted(counts) == [min(count, LARGEST_COUNT) for count in counts if count > 0]


class TestDeclarations:
    def test_zeros_are_dropped(self) -> None:
        counts = BoundedCounts(["a", "b", "c"], [0, 2, 0], ONE)
        assert counts.labels.to_pylist() == ["b"]

    def test_counts_below_the_declared_minimum_are_dropped(self) -> None:
        counts = BoundedCounts(["a", "b", "c"], [4, 5, 6], ONE, minimum_count=5)
        assert counts.labels.to_pylist() == ["b", "c"]
        assert counts.floor == 4

    def test_duplicates_are_refused_without_being_named(self) -> None:
        with pytest.raises(InvalidCountsError, match="listed twice") as refusal:
            BoundedCounts(["secret", "secret"], [1, 2], ONE)
        assert "secret" not in str(refusal.value)

    def test_more_rows_than_fetched_are_refused(self) -> None:
        BoundedCounts(["a", "b", "c"], [3, 2, 1], ONE, fetched=2)
        with pytest.raises(InvalidCountsError, match="more rows than the 2 that a top-1 is read from"):
            BoundedCounts(["a", "b", "c"], [3, 2, 1], ONE, fetched=1)

    @pytest.mark.parametrize("fetched", [0, -1, 1.5, True, "3"])
    def test_fetched_is_a_whole_number_from_one(self, fetched: object) -> None:
        with pytest.raises(
            InvalidArgumentError, match=r"fetched = .* is not allowed: it must be a whole number, 1"
        ):
            BoundedCounts([], [], ONE, fetched=fetched)

    @pytest.mark.parametrize("minimum", [0, -3, 2.5, None])
    def test_minimum_count_is_a_whole_number_from_one(self, minimum: object) -> None:
        with pytest.raises(InvalidArgumentError, match="minimum_count = "):
            BoundedCounts([], [], ONE, minimum_count=minimum)

    def test_ties_are_by_label_or_unknown(self) -> None:
        with pytest.raises(InvalidArgumentError, match="ties = 'count' is not allowed"):
            BoundedCounts([], [], ONE, ties="count")

    def test_fetched_rows_stand_in_a_canonical_order(self) -> None:
        wanted = BoundedCounts(["b", "a", "c", "d"], [2, 2, 9, 1], ONE, fetched=5)
        assert wanted.labels.to_pylist() == ["c", "a", "b", "d"]
        assert wanted.counts.tolist() == [9, 2, 2, 1]

    def test_a_dictionary_is_read(self) -> None:
        counts = BoundedCounts.from_dict({"a": 3, "b": 2}, ONE, fetched=4, ties="unknown")
        assert (counts.labels.to_pylist(), counts.counts.tolist()) == (["a", "b"], [3, 2])
        assert (counts.fetched, counts.ties) == (4, "unknown")

    def test_the_repr_shows_neither_labels_nor_how_many_there_are(self) -> None:
        one, two = (BoundedCounts([f"secret{i}" for i in range(n)], [7] * n, ONE) for n in (1, 2))
        assert "secret" not in repr(one)
        assert repr(one) == repr(two)


class TestLargest:
    def test_the_one_after_is_the_bottom(self) -> None:
        top = BoundedCounts(["a", "b", "c", "d"], [4, 3, 2, 1], ONE).largest(2)
        assert (top.labels.to_pylist(), top.counts.tolist(), top.bottom) == (["a", "b"], [4, 3], 2)

    def test_without_one_after_the_bottom_is_what_an_unlisted_label_may_have(self) -> None:
        assert BoundedCounts(["a", "b"], [4, 3], ONE, fetched=2).largest(2).bottom == 0
        assert BoundedCounts(["a", "b"], [9, 8], ONE, fetched=2, minimum_count=5).largest(2).bottom == 4
        assert BoundedCounts([], [], ONE, fetched=2).largest(2).bottom == 0

    def test_ties_are_cut_by_label(self) -> None:
        for labels in (["c", "a", "b"], ["b", "c", "a"], ["a", "b", "c"]):
            top = BoundedCounts(labels, [5, 5, 5], ONE).largest(1)
            assert (top.labels.to_pylist(), top.bottom) == (["a"], 5)

    @pytest.mark.parametrize("size", [1, 3])
    def test_a_top_is_read_from_exactly_as_many_counts_as_were_fetched(self, size: int) -> None:
        """Cutting again what an engine cut in its own order could move two labels where one user moved one."""
        fetched = BoundedCounts(["a", "b", "c"], [4, 3, 2], ONE, fetched=2)
        assert fetched.largest(2).bottom == 2
        with pytest.raises(InvalidCountsError, match=f"A top-{size} is read from exactly"):
            fetched.largest(size)

    @given(st.dictionaries(st.text(max_size=3), st.integers(1, 5), max_size=8), st.integers(1, 9))
    def test_largest_is_sort_and_cut(self, histogram: dict[str, int], fetched: int) -> None:
        ranked = sorted(histogram.items(), key=lambda row: (-row[1], row[0].encode()))
        top = BoundedCounts.from_dict(histogram, ONE).largest(fetched)
        assert list(zip(top.labels.to_pylist(), top.counts.tolist(), strict=True)) == ranked[:fetched]
        assert top.bottom == (ranked[fetched][1] if len(ranked) > fetched else 0)


class TestRequire:
    def counts(self, sensitivity: Sensitivity, minimum_count: int = 1) -> BoundedCounts:
        return BoundedCounts(["a"], [9], sensitivity, minimum_count=minimum_count)

    @pytest.mark.parametrize(
        ("declared", "priced"),
        [
            (Sensitivity(2), Sensitivity(1)),
            (Sensitivity(None), Sensitivity(5)),
            (Sensitivity(1, 2), Sensitivity(1, 1)),
            (Sensitivity(1, 1, "replace"), Sensitivity(1)),
            (Sensitivity(1), Sensitivity(1, 1, "replace")),
        ],
    )
    def test_a_mechanism_priced_for_less_is_refused(self, declared: Sensitivity, priced: Sensitivity) -> None:
        with pytest.raises(InvalidCountsError):
            self.counts(declared).require(priced, 1)

    @pytest.mark.parametrize(
        ("declared", "priced"),
        [
            (Sensitivity(1), Sensitivity(2)),
            (Sensitivity(5), Sensitivity(None)),
            (Sensitivity(None), Sensitivity(None)),
            (Sensitivity(1, 1), Sensitivity(1, 3)),
        ],
    )
    def test_a_mechanism_priced_for_more_is_welcome(self, declared: Sensitivity, priced: Sensitivity) -> None:
        self.counts(declared).require(priced, 1)

    def test_a_cut_that_the_threshold_does_not_allow_for_is_refused(self) -> None:
        self.counts(ONE, minimum_count=3).require(ONE, 3)
        with pytest.raises(InvalidCountsError, match="below 3 were cut off"):
            self.counts(ONE, minimum_count=3).require(ONE, 2)


@given(
    st.lists(st.tuples(st.integers(1, LARGEST_COUNT), st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=10)
)
def test_noise_saturates_above_and_never_wraps(rows: list[tuple[int, int]]) -> None:
    counts, noise = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    wanted = [min(count + z, 2**63 - 1) for count, z in rows]
    assert add_noise(counts, noise).tolist() == wanted
