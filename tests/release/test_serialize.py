"""A release as bytes comes back exactly: every type of label, every number, nothing rounded."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixtures import kitchen

from unlisted import EpsilonDelta, Guarantee, InvalidArgumentError, Release

LABELS = {
    "text": pa.array(["soup", "", "ünï ☃ \u202e", "a\nb\x00c\x1b[31m"], pa.string()),
    "large text": pa.array(["soup", "tea"], pa.large_string()),
    "bytes": pa.array([b"\xff\x00", b""], pa.binary()),
    "whole numbers": pa.array([-(2**63), 0, 2**63 - 1], pa.int64()),
    "unsigned": pa.array([0, 2**64 - 1], pa.uint64()),
    "small": pa.array([-128, 127], pa.int8()),
    "floats": pa.array([0.1, -0.0, 5e-324, float("inf")], pa.float64()),
    "booleans": pa.array([True, False]),
    "dates": pa.array([date(1, 1, 1), date(2026, 11, 15)], pa.date32()),
    "times": pa.array([datetime(2026, 11, 15, 12, 30, 1, 5)], pa.timestamp("us")),
    "nanoseconds": pa.array([1_700_000_000_000_000_001], pa.timestamp("ns")),
    "times with a zone": pa.array([datetime(2026, 11, 15, tzinfo=UTC)], pa.timestamp("us", tz="Europe/Zurich")),
    "time of day": pa.array([3_723_000_001], pa.time64("us")),
    "decimals": pa.array([Decimal("-0.10"), Decimal("12345678901234567890.12")], pa.decimal128(38, 2)),
    "nothing": pa.array([], pa.string()),
}


def released(labels: pa.Array, **changed: object) -> Release:
    table = pa.table({"label": labels, "count": pa.array(range(len(labels)), pa.int64())})
    promised = Guarantee(Fraction(1, 3), Fraction(1, 7), EpsilonDelta(Fraction(22, 7), Fraction(1, 11)))
    fields = {
        "table": table,
        "complete": True,
        "guarantee": promised,
        "at_delta": Fraction(2, 7),
        "plan": {"question": "histogram", "items": ["label"], "users_needed": {"50": 3}, "where": None},
        "time": datetime(2026, 11, 15, 12, 0, 0, 123456, tzinfo=UTC),
    }
    return Release(**{**fields, **changed})


def same(one: Release, other: Release) -> bool:
    """Compare everything that a release is; tables by their bytes, so that -0.0 is not 0.0."""
    kept = ("complete", "guarantee", "spent", "at_delta", "plan", "time")
    return one.to_bytes() == other.to_bytes() and all(getattr(one, at) == getattr(other, at) for at in kept)


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS.keys())
def test_every_type_of_label_comes_back(labels: pa.Array) -> None:
    first = released(labels)
    again = Release.from_bytes(first.to_bytes())
    assert again.table.equals(first.table)
    assert again.table.schema == first.table.schema
    assert same(first, again)
    assert again.receipt() == first.receipt()


def test_items_of_several_columns_come_back() -> None:
    table = pa.table(
        {"dish": ["soup"], "day": pa.array([date(2026, 1, 1)]), "count": [3], "low": [1], "high": [5]}
    )
    first = released(LABELS["text"], table=table)
    assert Release.from_bytes(first.to_bytes()).rows == first.rows


@given(
    labels=st.lists(st.text(st.characters(exclude_categories=["Cs"]))),
    rho=st.fractions(0, 100),
    delta=st.fractions(0, 1),
    direct=st.none() | st.tuples(st.fractions(0, 100), st.fractions(0, 1)),
    complete=st.booleans(),
    hours=st.integers(-12, 12),
    is_paid=st.booleans(),
)
def test_whatever_is_released_comes_back(labels, rho, delta, direct, *, complete, hours, is_paid) -> None:
    promised = Guarantee(rho, delta, None if direct is None else EpsilonDelta(*direct))
    spent = Guarantee(rho / 3, delta / 7) if is_paid else None
    time = datetime(2026, 11, 15, tzinfo=timezone(timedelta(hours=hours)))
    labels = pa.array(labels, pa.string())
    first = released(labels, guarantee=promised, complete=complete, time=time, spent=spent)
    assert same(first, Release.from_bytes(first.to_bytes()))


@pytest.mark.parametrize("ask", [kitchen.histogram, kitchen.top], ids=["histogram", "top"])
def test_a_real_release_comes_back(ask) -> None:
    first = ask()
    again = Release.from_bytes(first.to_bytes())
    assert same(first, again)
    assert again.receipt() == first.receipt()
    assert repr(again) == repr(first)


def test_another_process_reads_the_same() -> None:
    first = kitchen.histogram()
    code = (
        "import json, sys, unlisted; "
        "print(json.dumps(unlisted.Release.from_bytes(sys.stdin.buffer.read()).as_dict()))"
    )
    done = subprocess.run([sys.executable, "-c", code], input=first.to_bytes(), capture_output=True, check=True)
    assert json.loads(done.stdout) == first.as_dict()


def test_the_bytes_hold_no_label_that_was_not_released() -> None:
    assert kitchen.PLANTED.encode() not in kitchen.histogram().to_bytes()


def test_the_stamp_is_not_part_of_the_bytes() -> None:
    stamped = released(LABELS["text"], stamp={"dataset": "d", "account": "a", "entry": 3, "hash": "0" * 64})
    assert stamped.to_bytes() == released(LABELS["text"]).to_bytes()
    assert Release.from_bytes(stamped.to_bytes()).stamp is None


WHOLE = released(LABELS["text"]).to_bytes()


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"nonsense",
        WHOLE[:10],
        WHOLE[:25],
        WHOLE[:100],
        WHOLE[:-40],
        WHOLE.replace(b"unlisted release 2", b"unlisted release 3"),
        WHOLE.replace(b'"rho": "1/3"', b'"rho": "a/3"'),
        WHOLE.replace(b'"complete"', b'"complets"'),
        WHOLE.replace(b'{"complete"', b'["complete"'),
        WHOLE[:19] + (2**62).to_bytes(8) + WHOLE[27:],
    ],
    ids=range(11),
)
def test_damaged_bytes_are_refused_in_our_own_words(damaged: bytes) -> None:
    assert damaged != WHOLE
    with pytest.raises(InvalidArgumentError, match="data = "):
        Release.from_bytes(damaged)
