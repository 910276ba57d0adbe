"""What a cluster does with much: little comes out of it, and no machine gets all of one user or one item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from tests.services.spark_measures import stages
from tests.tables import twin
from tests.tables.asked import SECRET, all_counts, question

import unlisted as ul
from unlisted.tables import bounding, counting, thinning
from unlisted.tables.engines.spark import SparkEngine
from unlisted.tables.table import table

BUDGET = ul.Budget(epsilon=1, delta="1e-8")
MOST_COLLECTED = 200_000
PARTITIONS = 8


@pytest.fixture
def watched(spark_session: Any) -> Iterator[Any]:
    """The session with more partitions, as a cluster has them; as before afterwards."""
    setting = "spark.sql.shuffle.partitions"
    before = spark_session.conf.get(setting)
    spark_session.conf.set(setting, PARTITIONS)
    yield spark_session
    spark_session.conf.set(setting, before)


@pytest.fixture
def capped(spark_session: Any) -> Iterator[Any]:
    """A session whose driver takes no more than so many bytes from one query."""
    # The scheduler reads the setting anew for every set of tasks.
    conf = spark_session.sparkContext._jsc.sc().conf()
    conf.set("spark.driver.maxResultSize", str(MOST_COLLECTED))
    yield spark_session
    conf.remove("spark.driver.maxResultSize")


def collected(session: Any, since: int) -> int:
    """How many bytes tasks sent to the driver as their results."""
    return sum(stage.resultSize() for stage in stages(session) if stage.stageId() >= since)


def longest_task(session: Any, since: int) -> int:
    """How many rows the busiest task got from other tasks."""
    store = session.sparkContext._jsc.sc().statusStore()
    longest = 0
    for stage in stages(session):
        if stage.stageId() >= since:
            tasks = store.taskList(stage.stageId(), stage.attemptId(), 10_000)
            metrics = (tasks.apply(at).taskMetrics() for at in range(tasks.size()))
            read = [one.get().shuffleReadMetrics().recordsRead() for one in metrics if one.isDefined()]
            longest = max([longest, *read])
    return longest


def next_stage(session: Any) -> int:
    return max((stage.stageId() for stage in stages(session)), default=-1) + 1


def long_tail(session: Any, items: int) -> Any:
    """A few items that many have, and very many that one user has."""
    common = "IF(id % 2 = 0, pmod(id, 20), 1000 + id)"
    rows = session.range(items).selectExpr("id % 9000 AS user", f"concat('an item named ', {common}) AS item")
    return rows.repartition(4)


def test_little_comes_to_the_driver_however_many_items_there_are(
    capped: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "FEW_LABELS", 1000)
    bytes_of: dict[int, int] = {}
    for items in (10_000, 40_000):
        frame = long_tail(capped, items)
        with pytest.raises(Exception, match="maxResultSize"):
            frame.toArrow()
        began = next_stage(capped)
        asked = ul.table(frame, user="user")
        releases = [
            asked.histogram("item", budget=BUDGET, items_per_user=10).run(),
            asked.top("item", k=5, budget=BUDGET, fetch=50).run(),
            asked.top_histogram("item", budget=BUDGET, fetch=50, items_per_user=10).run(),
        ]
        assert all(len(release) > 0 for release in releases)
        bytes_of[items] = collected(capped, began)
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


@pytest.mark.parametrize("digits", [bounding.KEY_DIGITS, 1])
def test_giants_keep_what_the_twin_keeps(spark_session: Any, monkeypatch: pytest.MonkeyPatch, digits: int) -> None:
    """With few digits keys tie, within a bucket and over its edge."""
    monkeypatch.setattr(bounding, "KEY_DIGITS", digits)
    monkeypatch.setattr(thinning, "BUCKETS", 0)
    monkeypatch.setattr(SparkEngine, "giant", 12)
    rows = [{"user": f"u{u}", "item": f"i{i}"} for u in range(12) for i in range(4 * u + 1)]
    source = table(spark_session.createDataFrame(pa.Table.from_pylist(rows)), user="user")

    def key(text: str) -> str:
        return twin.sha256(text)[:digits]

    kept = twin.bounded(twin.pairs(rows, "user", ("item",)), 5, SECRET, key)
    assert all_counts(source, question("item", items_per_user=5)) == twin.counts(kept)
