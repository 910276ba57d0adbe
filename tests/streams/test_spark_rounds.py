"""Rounds from a Spark frame of any size: every label comes to the driver once, and never a pair or a row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.services.spark_measures import as_at_size, capped, collected, longest_task, next_stage
from tests.streams.brooks import quiet_brook, shown

from unlisted.streams.stream import Stream
from unlisted.tables.engines.spark import SparkEngine

MOST_COLLECTED = 200_000
PARTITIONS = 8
NAME_BYTES = 40


@pytest.fixture
def narrow(spark_session: Any) -> Iterator[Any]:
    """The session with a driver that takes little from one query."""
    with capped(spark_session, MOST_COLLECTED):
        yield spark_session


def crowd(session: Any, users: int, items_each: int, labels: int) -> Any:
    """So many users with so many items each, out of so many labels, and a row for each of them twice."""
    rows = session.range(2 * users * items_each).selectExpr(
        f"left(sha2(string(id % {users}), 256), {NAME_BYTES}) AS user",
        f"concat('an item named ', (id % {users} + id div {2 * users}) % {labels}) AS item",
    )
    return rows.repartition(4)


def brought_out(session: Any, stream: Stream, frame: Any) -> int:
    """Push a frame, and return how many bytes came to the driver."""
    began = next_stage(session)
    assert stream.push(frame) is not None
    return collected(session, began)


def test_a_round_of_events_brings_out_its_labels_and_nobody(narrow: Any, tmp_path: Path) -> None:
    stream = quiet_brook(tmp_path / "s", items_per_event=10)
    many = crowd(narrow, users=8000, items_each=6, labels=50)
    with pytest.raises(Exception, match="maxResultSize"):
        many.select("user").toArrow()
    few = brought_out(narrow, stream, crowd(narrow, users=2000, items_each=2, labels=50))
    # Every task says how it went, in a few thousand bytes; beyond that there is next to nothing.
    assert brought_out(narrow, stream, many) < 1.2 * few
    more_labels = brought_out(narrow, stream, crowd(narrow, users=8000, items_each=6, labels=4050))
    name_and_count = len("an item named 1234") + 4 + 8
    assert 4000 * name_and_count / 2 < more_labels - few < 4000 * name_and_count * 1.5


def test_a_round_of_users_brings_out_each_of_them_once_and_no_pair(narrow: Any, tmp_path: Path) -> None:
    stream = quiet_brook(tmp_path / "s", items_per_event=20, unit="user", rounds_per_user=2)
    first = brought_out(narrow, stream, crowd(narrow, users=3000, items_each=2, labels=50))
    many_pairs = crowd(narrow, users=3000, items_each=16, labels=50)
    with pytest.raises(Exception, match="maxResultSize"):
        many_pairs.distinct().toArrow()
    assert brought_out(narrow, stream, many_pairs) < 1.2 * first
    # All have been counted twice now. To leave them out, their numbers go in, and no name comes out again.
    assert brought_out(narrow, stream, many_pairs) < first + 3000 * NAME_BYTES * 2 / 3
    assert shown(stream.release(3)) == shown(stream.release(2))


@pytest.mark.parametrize("unit", ["event", "user"])
def test_no_machine_gets_all_of_a_user(
    spark_session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: str
) -> None:
    giant, others = 16_000, 4000
    monkeypatch.setattr(SparkEngine, "giant", 5000)
    rows = spark_session.range(giant).selectExpr("0 AS user", "concat('item ', id) AS item")
    rows = rows.union(spark_session.range(others).selectExpr("1 + id AS user", "'shared' AS item"))
    stream = quiet_brook(tmp_path / "s", unit=unit, rounds_per_user=1 if unit == "user" else None)
    with as_at_size(spark_session, PARTITIONS):
        began = next_stage(spark_session)
        assert shown(stream.push(rows)) == [("shared", others)]
        assert longest_task(spark_session, began) < giant / 2
