"""Tumult Analytics on given counts: its choice of labels, alone and followed by its count.

usage: tumult_groups.py        a line of JSON in, a line out: scores.answer_lines; needs a Java

It takes rows, so each count becomes that many rows, of which a user has at most ITEMS_PER_USER: the same noise as
with user ids and constraints on groups per id, on counts that are the same for everybody. `get_groups` needs an
(ε, δ) budget, under which it has geometric noise only, for labels and for counts. Counts are a second query: half
of ε each, which is how its own automatic selection splits.

All runs are one query, over labels that carry the number of the run: noise is drawn for each label alone, so this
is the same as one run after the other, and Spark plans it once.
"""

from __future__ import annotations

import os
import sys
import tempfile
from functools import partial
from typing import Any

from scores import Counts, Told, answer_lines, laplace_chance, worth_noise

os.environ["PYSPARK_PYTHON"] = sys.executable  # Spark's workers must be of this environment too

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from tmlt.analytics import AddMaxRows, ApproxDPBudget, KeySet, QueryBuilder, Session
from tmlt.analytics.utils import cleanup
from tmlt.core.domains.spark_domains import (
    SparkDataFrameDomain,
    SparkIntegerColumnDescriptor,
)
from tmlt.core.measurements.aggregations import create_partition_selection_measurement

LABEL = ["run", "item"]


def spark_session(warehouse: str) -> SparkSession:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.warehouse.dir", warehouse)
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


class Asked:
    """The counts as a table in Spark, asked once for all runs."""

    def __init__(self, spark: SparkSession, counts: list[int], items: int, runs: int) -> None:
        self._spark, self._counts, self._items, self._runs = spark, counts, items, runs

    def groups(self, parts: int, total: ApproxDPBudget) -> tuple[int, Session, DataFrame]:
        """Return the threshold when ε is split so many ways, and the labels with the session that has the rest."""
        epsilon, delta = total.value
        budget = ApproxDPBudget(epsilon / parts, delta)
        chosen = create_partition_selection_measurement(
            SparkDataFrameDomain({"item": SparkIntegerColumnDescriptor(size=64)}),
            *budget.value,
            d_in=self._items,
        )
        scale = chosen.alpha.to_float(round_up=True)
        session = Session.from_dataframe(
            privacy_budget=total,
            source_id="rows",
            dataframe=self._rows(worth_noise(self._counts, laplace_chance(scale, chosen.threshold))),
            protected_change=AddMaxRows(self._items),
        )
        return chosen.threshold, session, session.evaluate(QueryBuilder("rows").get_groups(LABEL), budget)

    def _rows(self, counts: list[int]) -> DataFrame:
        places = self._spark.createDataFrame(list(enumerate(counts)), "item long, count int")
        numbered = places.select("item", sf.explode(sf.sequence(sf.lit(1), sf.col("count"))))
        return numbered.crossJoin(self._spark.range(self._runs).withColumnRenamed("id", "run")).select(*LABEL)


def counted(session: Session, labels: DataFrame) -> list[Any]:
    query = QueryBuilder("rows").groupby(KeySet.from_dataframe(labels)).count()
    answer: list[Any] = session.evaluate(query, session.remaining_privacy_budget).collect()
    return answer


def by_run(rows: list[Any], runs: int) -> list[dict[int, float]]:
    releases: list[dict[int, float]] = [{} for _ in range(runs)]
    for row in rows:
        releases[row["run"]][row["item"]] = float(row["count"]) if "count" in row else 0.0
    return releases


def released(spark: SparkSession, path: str, epsilon: float, delta: float, items: int, runs: int) -> Told:
    table = Counts.read(path)
    asked, total = Asked(spark, table.counts, items, runs), ApproxDPBudget(epsilon, delta)
    threshold, _, labels = asked.groups(1, total)
    alone = table.scores(by_run(labels.collect(), runs), counted=False)
    half_threshold, session, labels = asked.groups(2, total)
    with_counts = table.scores(by_run(counted(session, labels), runs))
    return {
        "Tumult Analytics, labels only": {"threshold": threshold, **alone},
        "Tumult Analytics, labels then counts": {"threshold": half_threshold, **with_counts},
    }


def main() -> None:
    # It keeps what it materialised in the warehouse, which would else be a folder of wherever this runs.
    with tempfile.TemporaryDirectory() as warehouse:
        answer_lines(partial(released, spark_session(warehouse)))
        cleanup()


if __name__ == "__main__":
    main()
