"""What a cluster does with much: little comes out of it, and no machine gets all of one user or one item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.services.spark_measures import as_at_size, capped, collected, longest_task, next_stage, stages
from tests.tables import reference
from tests.tables.fixtures.asked import SECRET, all_counts, question

import unlisted as ul
from unlisted.counts.count_profile import CountProfile
from unlisted.tables import bounding, cluster, counting
from unlisted.tables.counting import count_all
from unlisted.tables.engines.spark import SparkEngine
from unlisted.tables.table import table

BUDGET = ul.Budget(epsilon=1, delta="1e-8")
MOST_COLLECTED = 200_000
PARTITIONS = 8


@pytest.fixture
def watched(spark_session: Any) -> Iterator[Any]:
    """The session, which plans as if rows were many."""
    with as_at_size(spark_session, PARTITIONS):
        yield spark_session


@pytest.fixture
def narrow(spark_session: Any) -> Iterator[Any]:
    """The session with a driver that takes little."""
    with capped(spark_session, MOST_COLLECTED):
        yield spark_session


def long_tail(session: Any, items: int) -> Any:
    """A few items that many have, and very many that one user has."""
    common = "IF(id % 2 = 0, pmod(id, 20), 1000 + id)"
    rows = session.range(items).selectExpr("id % 9000 AS user", f"concat('an item named ', {common}) AS item")
    return rows.repartition(4)


def test_little_comes_to_the_driver_however_many_items_there_are(
    narrow: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "FEW_LABELS", 1000)
    bytes_of: dict[int, int] = {}
    for items in (10_000, 40_000):
        frame = long_tail(narrow, items)
        with pytest.raises(Exception, match="maxResultSize"):
            frame.toArrow()
        began = next_stage(narrow)
        asked = ul.table(frame, user="user")
        releases = [
            asked.histogram("item", budget=BUDGET, items_per_user=10).run(),
            asked.top("item", k=5, budget=BUDGET, fetch=50).run(),
            asked.top_histogram("item", budget=BUDGET, fetch=50, items_per_user=10).run(),
        ]
        assert all(len(release) > 0 for release in releases)
        bytes_of[items] = collected(narrow, began)
    # Every task says how it went, in a few thousand bytes; beyond that there is next to nothing.
    assert bytes_of[40_000] < 1.5 * bytes_of[10_000]


def skewed(session: Any, giant: int) -> Any:
    """Two users with very many items each, and a crowd that all have one item in common."""
    crowd = session.range(giant).selectExpr("10 + id AS user", "'shared' AS item")
    giants = session.range(2 * giant).selectExpr("id % 2 AS user", "concat('item ', id) AS item")
    return crowd.union(giants)


def test_no_machine_gets_all_of_a_giant_or_all_of_an_item(watched: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    giant, asked = 20_000, question("item", items_per_user=3)
    monkeypatch.setattr(SparkEngine, "giant", 5000)
    rows = table(skewed(watched, giant), user="user")
    began = next_stage(watched)
    counted = all_counts(rows, asked)
    assert counted.pop(("shared",)) == giant
    assert len(counted) == 2 * 3
    fair = 3 * giant / PARTITIONS
    assert longest_task(watched, began) < 1.5 * fair
    # Without thinning one task gets both giants, or one of them: the test would notice.
    monkeypatch.setattr(SparkEngine, "giant", 10 * giant)
    began = next_stage(watched)
    assert all_counts(rows, asked) == counted | {("shared",): giant}
    assert longest_task(watched, began) > 2 * fair


def test_no_machine_gets_all_labels_of_a_count(watched: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "FEW_LABELS", 0)
    labels = 24_000
    frame = watched.range(labels).selectExpr("id AS user", "concat('item ', id) AS item")
    wanted = np.arange(0, labels, 100)
    with count_all(table(frame, user="user"), question("item"), cut=2, secret=SECRET) as found:
        assert isinstance(found, CountProfile)
        began = next_stage(watched)
        assert len(set(found.fetch(np.ones_like(wanted), wanted).to_pylist())) == len(wanted)
    assert longest_task(watched, began) < 1.5 * labels / PARTITIONS


@pytest.mark.parametrize("digits", [bounding.KEY_DIGITS, 1])
def test_giants_keep_what_the_reference_keeps(
    spark_session: Any, monkeypatch: pytest.MonkeyPatch, digits: int
) -> None:
    """With few digits keys tie, within a bucket and over its edge."""
    monkeypatch.setattr(bounding, "KEY_DIGITS", digits)
    monkeypatch.setattr(cluster, "BUCKETS", 0)
    monkeypatch.setattr(SparkEngine, "giant", 12)
    rows = [{"user": f"u{u}", "item": f"i{i}"} for u in range(12) for i in range(4 * u + 1)]
    source = table(spark_session.createDataFrame(pa.Table.from_pylist(rows)), user="user")

    def key(text: str) -> str:
        return reference.sha256(text)[:digits]

    kept = reference.bounded(reference.pairs(rows, "user", ("item",)), 5, SECRET, key)
    assert all_counts(source, question("item", items_per_user=5)) == reference.counts(kept)


def test_who_has_no_giants_hardly_pays_for_them(watched: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, asked = table(skewed(watched, 500), user="user"), question("item", items_per_user=3)
    monkeypatch.setattr(cluster, "BUCKETS", 0)

    def tasks_run() -> int:
        began = next_stage(watched)
        all_counts(rows, asked)
        return sum(stage.numCompleteTasks() for stage in stages(watched) if stage.stageId() >= began)

    monkeypatch.setattr(SparkEngine, "giant", 100)
    for_giants = tasks_run()
    monkeypatch.setattr(SparkEngine, "giant", 10_000)
    for_none = tasks_run()
    monkeypatch.delattr(SparkEngine, "giant")
    # To see that there are none takes one look at each piece, and one more where few pieces were looked at first.
    assert for_none <= tasks_run() + 2 * PARTITIONS
    assert for_giants > for_none + 2 * PARTITIONS
