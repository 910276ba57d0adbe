"""What every mechanism takes and refuses, whatever the mechanism."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from tests.conformance.registry import ONE, Subject, those
from tests.fixtures.known_bits import KnownBits

from unlisted.errors import InvalidArgumentError, InvalidCountsError, UnlistedError
from unlisted.privacy.sensitivity import Sensitivity

those_that_count = those(lambda subject: not subject.weighs)
"""Counts carry bounds that a mechanism may refuse; weights are bounded where they are made."""

LABELS = {
    "text": ["", "a", "A", " a", "é"],
    "long text": ["x" * 100_000, "x" * 99_999 + "y"],
    "look-alikes": ["a", "\u0430", "\uff41", "\u00e9", "e\u0301"],
    "markup": ["<script>", "'; drop table", "=1+1", "\0", "\n", "\u202e"],
    "whole numbers": [0, -1, 2**63 - 1, -(2**63)],
    "floats": [0.0, -0.0, 1e-300, float("inf"), -1.5],
    "booleans": [True, False],
    "bytes": [b"", b"\0", b"\xff\xfe", b"a"],
    "decimals": [Decimal("1.10"), Decimal("-2.00")],
    "dates": [dt.date(2020, 2, 29), dt.date(1, 1, 1)],
    "datetimes": [dt.datetime(2020, 1, 1, 12), dt.datetime(1950, 1, 1)],
    "times": [dt.time(1, 2, 3, 4), dt.time(0)],
    "structs": [{"city": "Zürich", "year": 2020}, {"city": "Zürich", "year": 2021}, {"city": "", "year": 0}],
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_type_come_out_as_they_went_in(subject: Subject, kind: str) -> None:
    labels = LABELS[kind]
    counts = [1000 * (len(labels) - i) for i in range(len(labels))]
    # Decimals need an Arrow type; others say theirs themselves.
    given = pa.array(labels, pa.decimal128(10, 2)) if kind == "decimals" else labels
    answer = subject.ask(subject.quiet, subject.counts(given, counts), KnownBits(kind))
    # repr tells -0.0 from 0.0 and True from 1.
    expected = subject.shown(given)
    assert [repr(label) for label in answer.labels.to_pylist()] == [repr(label) for label in expected]


def test_no_counts(subject: Subject) -> None:
    answer = subject.ask(subject.noisy, subject.counts([], []), KnownBits("empty"))
    assert len(answer) == 0
    assert answer.labels.to_pylist() == []
    assert (answer.counts is None) == (not subject.has_counts)


def test_one_item(subject: Subject) -> None:
    answer = subject.ask(subject.quiet, subject.counts(["only"], [5000]), KnownBits("one"))
    assert answer.labels.to_pylist() == ["only"]
    if subject.has_counts:
        assert answer.counts.tolist() == [5000]
    hidden = subject.ask(subject.quiet, subject.counts(["only"], [1]), KnownBits("one"))
    assert len(hidden) == 0


def test_all_ties(subject: Subject) -> None:
    labels = [f"label {i:02}" for i in range(10)]
    answer = subject.ask(subject.quiet, subject.counts(labels[::-1], [5000] * 10), KnownBits("ties"))
    assert sorted(answer.labels.to_pylist()) == labels
    if subject.has_counts:
        assert answer.counts.tolist() == [5000] * 10


@pytest.mark.parametrize("count", [2**62 - 1, 2**62, 2**63 - 1, 2**63, 2**64, 2**70])
def test_counts_near_the_largest_whole_numbers(subject: Subject, count: int) -> None:
    for mechanism in (subject.quiet, subject.noisy):
        answer = subject.ask(mechanism, subject.counts(["large", "small"], [count, 1]), KnownBits(f"{count}"))
        assert "large" in answer.labels.to_pylist()
        if subject.has_counts:
            # Saturated, and never wrapped around to something small or negative.
            assert subject.saturates_at // 10 < int(answer.counts[0]) < 2**63


def test_zeros_are_never_listed(subject: Subject) -> None:
    """Noise that would lift a zero above any threshold finds nobody to lift."""
    labels = [f"label {i}" for i in range(200)] if subject.fetched is None else [f"label {i}" for i in range(30)]
    answer = subject.ask(subject.noisy, subject.counts(labels, [0] * len(labels)), KnownBits("zeros"))
    assert len(answer) == 0


@pytest.mark.parametrize(
    "label",
    [None, float("nan"), [1], {"a": {"b": 1}}, {"a": None}, object()],
    ids=lambda label: type(label).__name__,
)
def test_what_cannot_be_a_label_is_refused_before_anything_is_drawn(subject: Subject, label: object) -> None:
    with pytest.raises(InvalidCountsError):
        subject.ask(subject.noisy, subject.counts([label], [5]), Untouched())


def test_duplicates_are_refused(subject: Subject) -> None:
    with pytest.raises(InvalidCountsError, match="twice"):
        subject.counts(["a", "b", "a"], [5, 5, 5])


@pytest.mark.parametrize("counts", [[1.5], [-1], [None], ["1"], [float("nan")], [True]], ids=repr)
def test_what_cannot_be_a_count_is_refused(subject: Subject, counts: list) -> None:
    with pytest.raises(InvalidCountsError):
        subject.counts(["a"], counts)


@those(lambda subject: subject.fetched is not None)
def test_more_rows_than_were_declared_are_refused(subject: Subject) -> None:
    rows = subject.fetched + 2
    with pytest.raises(InvalidCountsError, match=f"more rows than the {rows - 1}"):
        subject.counts([str(i) for i in range(rows)], [5] * rows)


DECLARED = {
    "items": Sensitivity(2),
    "no bound on items": Sensitivity(None),
    "count": Sensitivity(1, 2),
    "adjacency": Sensitivity(1, 1, "replace"),
}


@those_that_count
@pytest.mark.parametrize("what", DECLARED)
def test_counts_that_declare_more_than_was_priced_are_refused(subject: Subject, what: str) -> None:
    """Nothing is drawn for them, and the message names no data."""
    if subject.any_items and "items" in what:
        subject.ask(subject.noisy, subject.counts(["a"], [5], DECLARED[what]), KnownBits(what))
        return
    with pytest.raises(InvalidCountsError) as refusal:
        subject.ask(subject.noisy, subject.counts(["secret"], [5], DECLARED[what]), Untouched())
    assert "secret" not in str(refusal.value)


@those_that_count
def test_a_cut_off_below_is_refused_where_the_threshold_would_have_to_know(subject: Subject) -> None:
    counts = subject.counts(["a", "b"], [5000, 4000], minimum_count=7)
    if subject.cut_off_is_priced:
        with pytest.raises(InvalidCountsError, match="Counts below 7 were cut off"):
            subject.ask(subject.quiet, counts, KnownBits("cut"))
    else:
        assert subject.ask(subject.quiet, counts, KnownBits("cut")).labels.to_pylist() == ["a", "b"]


@those(lambda subject: subject.fetched is not None)
def test_unknown_ties_are_refused_where_they_were_not_priced(subject: Subject) -> None:
    counts = subject.counts(["a"], [5000], ties="unknown")
    with pytest.raises(InvalidCountsError, match="ties='unknown'"):
        subject.ask(subject.noisy, counts, Untouched())


@pytest.mark.parametrize(
    "raw",
    [{"a": 5000}, [5000], np.array([5000]), pa.table({"a": [5000]}), None],
    ids=lambda raw: type(raw).__name__,
)
def test_raw_counts_cannot_reach_noise(subject: Subject, raw: object) -> None:
    with pytest.raises((AttributeError, TypeError, UnlistedError)):
        subject.ask(subject.noisy, raw, Untouched())


def test_parameters_out_of_range_are_refused_by_name_value_and_range(subject: Subject) -> None:
    for name in subject.knobs:
        for value in (0, -1, "x", float("nan"), None):
            if value is None and name in {"items", "fetched"}:
                continue  # no bound, which is a statement of its own
            if value == 0 and name == "lowered":
                continue  # no coin
            with pytest.raises(InvalidArgumentError) as refusal:
                subject.make(**{name: value})
            assert refusal.value.argument.removesuffix("_per_user").rstrip("s") == name.rstrip("s")
            assert f"{refusal.value.argument} = " in str(refusal.value)
            assert refusal.value.allowed in str(refusal.value)


class Untouched(KnownBits):
    """Bits that nobody may draw: refusals come first. A stream's key is not a draw from data."""

    def __init__(self) -> None:
        super().__init__("untouched")

    def take(self, n: int) -> bytes:
        if n != 32:
            raise AssertionError("bits were drawn for counts that must be refused")
        return super().take(n)


def test_the_registry_declares_one_item(subject: Subject) -> None:
    assert subject.counts(["a"], [5]).sensitivity == ONE
