"""Texts in the order of their bytes, against Python's own sort."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unlisted as ul
from unlisted.counts.text_order import text_order

PREFIXES = ("", "a", "eight by", "a prefix of more than eight bytes: ")
TEXTS = st.lists(st.text("\0\x01ab\x7fé\U0001f600", max_size=20), max_size=40)


@given(TEXTS, st.sampled_from(PREFIXES))
def test_order_is_that_of_the_bytes(texts: list[str], prefix: str) -> None:
    texts = [prefix + text for text in texts]
    positions, has_equal = text_order(pa.array(texts, pa.string()))
    assert [texts[at] for at in positions] == sorted(texts, key=str.encode)
    assert sorted(positions) == list(range(len(texts)))
    assert has_equal == (len(set(texts)) < len(texts))


@pytest.mark.parametrize("texts", [["a\0", "a"], ["", "\0"], ["12345678\0", "12345678"], ["b", "a", "b"]])
def test_what_ends_is_told_from_what_goes_on_with_zero_bytes(texts: list[str]) -> None:
    positions, has_equal = text_order(pa.array(texts))
    assert [texts[at] for at in positions] == sorted(texts)
    assert has_equal == (len(set(texts)) < len(texts))


def test_a_part_of_an_array_is_ordered_as_it_stands() -> None:
    whole = pa.array(["z", "prefix 3", "prefix 1", "prefix 2", "a"])
    assert text_order(whole[1:4]).positions.tolist() == [1, 2, 0]


def test_counts_know_the_order_of_their_labels_after_some_were_dropped() -> None:
    sensitivity = ul.Sensitivity(items=1)
    counts = ul.BoundedCounts(["d", "c", "b", "a"], [1, 0, 2, 3], sensitivity)
    assert counts.labels.take(pa.array(counts.by_label)).to_pylist() == ["a", "b", "d"]
    numbers = ul.BoundedCounts([10, 9, 2], [1, 1, 1], sensitivity)
    assert sorted(numbers.by_label.tolist()) == [0, 1, 2]
