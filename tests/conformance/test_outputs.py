"""What every answer looks like, and what it must not carry, whatever the mechanism."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from tests.conformance.registry import Subject, those
from tests.known_bits import KnownBits

from unlisted.mechanisms.mechanism import Answer
from unlisted.noise.bits import fresh_bits

SHOWN = [f"shown {i}" for i in range(9)]
HIDDEN = [f"SECRET {i}" for i in range(15)]
LARGE = [5000 - 100 * i for i in range(9)]


def buffers(array: pa.Array) -> Iterator[pa.Buffer]:
    """Every buffer of an array, its children and its dictionary."""
    yield from (buffer for buffer in array.buffers() if buffer is not None)
    if pa.types.is_dictionary(array.type):
        yield from buffers(array.dictionary)


def overlap(one: pa.Buffer, other: pa.Buffer) -> bool:
    return one.address < other.address + other.size and other.address < one.address + one.size


def sources() -> dict[str, pa.Array]:
    """The same labels in arrays that hold more than they show."""
    labels = pa.array(SHOWN + HIDDEN)
    sliced = pa.array(["SECRET before", *SHOWN, *HIDDEN, "SECRET after"])[1:-1]
    dictionary = pa.DictionaryArray.from_arrays(
        pa.array(range(len(SHOWN + HIDDEN)), pa.int32()), pa.array([*SHOWN, *HIDDEN, "SECRET never used"])
    )
    field = pa.field("name", pa.string(), metadata={"origin": "SECRET file"})
    return {
        "plain": labels,
        "slice": sliced,
        "chunked": pa.chunked_array([labels[:5], labels[5:]]),
        "dictionary": dictionary,
        "view": labels.cast(pa.string_view()),
        "bytes": labels.cast(pa.binary()),
        "struct": pa.StructArray.from_arrays([labels], fields=[field]),
    }


@pytest.mark.parametrize("source", sources())
def test_an_answer_holds_no_byte_of_what_stayed_hidden(subject: Subject, source: str) -> None:
    labels = sources()[source]
    counts = subject.counts(labels, LARGE + [1] * len(HIDDEN))
    answer = subject.ask(subject.quiet, counts, KnownBits(source))
    assert len(answer) == len(SHOWN)
    assert not pa.types.is_dictionary(answer.labels.type)
    for buffer in buffers(answer.labels):
        assert b"SECRET" not in buffer.to_pybytes()
        for chunk in getattr(labels, "chunks", [labels]):
            assert not any(overlap(buffer, input_buffer) for input_buffer in buffers(chunk))
    assert "SECRET" not in pa.schema([pa.field("label", answer.labels.type)]).to_string(show_field_metadata=True)
    if subject.has_counts:
        assert not np.shares_memory(answer.counts, counts.counts)
        assert answer.counts.base is None or len(answer.counts.base) <= len(answer)


def test_a_slice_that_is_released_whole_does_not_bring_the_rest_along(subject: Subject) -> None:
    """All rows, in their order: even then they are copied."""
    labels = pa.array(["SECRET before", *SHOWN, "SECRET after"])[1:-1]
    answer = subject.ask(subject.quiet, subject.counts(labels, LARGE), KnownBits("whole slice"))
    assert answer.labels.to_pylist() == SHOWN
    assert all(b"SECRET" not in buffer.to_pybytes() for buffer in buffers(answer.labels))


def test_rows_in_any_order_give_the_same_answer(subject: Subject) -> None:
    rows = list(zip(SHOWN + HIDDEN, LARGE + [1] * len(HIDDEN), strict=True))
    answers = []
    for seed in range(4):
        shuffled = random.Random(seed).sample(rows, len(rows))
        labels, counts = zip(*shuffled, strict=True)
        answers.append(subject.ask(subject.quiet, subject.counts(labels, counts), KnownBits(str(seed))))
    for answer in answers:
        assert answer.labels.to_pylist() == SHOWN
        if subject.has_counts:
            assert answer.counts.tolist() == LARGE


@those(lambda subject: subject.has_counts and not getattr(subject.noisy, "ranks", False))
def test_noisy_rows_stand_in_the_order_of_what_is_released(subject: Subject) -> None:
    """By released count and then by label; true counts are all the same here, and cannot be read from it."""
    labels = [f"label {i:02}" for i in range(30)]
    answer = subject.ask(subject.noisy, subject.counts(labels[::-1], [60] * 30), KnownBits("order"))
    released = list(zip(answer.labels.to_pylist(), answer.counts.tolist(), strict=True))
    assert len({count for _, count in released}) > 1
    assert released == sorted(released, key=lambda row: (-row[1], row[0]))


def shape(answer: Answer) -> tuple:
    counts = None if answer.counts is None else answer.counts.dtype
    return (answer.labels.type, counts, type(answer.stopped), type(answer.noisy_threshold))


def test_nothing_there_nothing_released_and_something_released_have_one_shape(subject: Subject) -> None:
    kinds = (([], []), (["a"], [1]), (["a", "b"], [9000, 8000]))
    shapes = [
        shape(
            subject.ask(subject.quiet, subject.counts(pa.array(labels, pa.string()), counts), KnownBits("shape"))
        )
        for labels, counts in kinds
    ]
    assert shapes[0] == shapes[1] == shapes[2]
    assert (shapes[0][3] is int) == subject.has_threshold


def test_labels_of_an_empty_answer_keep_their_type(subject: Subject) -> None:
    for kind in (pa.int64(), pa.date32(), pa.struct([("a", pa.string()), ("b", pa.int64())])):
        answer = subject.ask(subject.quiet, subject.counts(pa.array([], kind), []), KnownBits("types"))
        assert answer.labels.type == kind


def test_fresh_bits_give_another_answer(subject: Subject) -> None:
    """The operating system's entropy, new for every release."""
    labels, counts = [f"label {i}" for i in range(30)], [60] * 30
    seen = set()
    for _ in range(6):
        answer = subject.ask(subject.noisy, subject.counts(labels, counts), fresh_bits())
        seen.add(
            (tuple(answer.labels.to_pylist()), None if answer.counts is None else tuple(answer.counts.tolist()))
        )
    assert len(seen) > 1
