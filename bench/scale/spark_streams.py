"""Find-then-count and the rounds of streams on Spark: processor time of all tasks, and the bytes for the driver.

usage: python -m bench.scale.spark_streams [--rows N…]

Spark runs as in `spark_rows.py`. A tenth as many users as rows, and as many different items. Of a stream the first
round is measured, in which every label is new. What the driver does then, tags and noise of every label among it,
takes processor time of its own.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.measure import print_header, print_table
from bench.scale.rows import Rows, written
from bench.scale.runs import keep
from bench.scale.spark_rows import SETTINGS
from tests.services.spark_measures import stages

import unlisted as ul
from unlisted.streams.question import EventLevelWarning

WARM_UP, SIZES = 200_000, (1_000_000, 2_000_000)
BUDGET = ul.Budget(epsilon=1, delta="1e-8")


def histogram(frame: Any, folder: Path) -> None:  # noqa: ARG001 - a histogram keeps nothing
    ul.table(frame, user="user").histogram("item", budget=BUDGET, items_per_user=10, method="find").run()


def events(frame: Any, folder: Path) -> None:
    with warnings.catch_warnings(action="ignore", category=EventLevelWarning):
        stream = ul.Stream.create(folder / "s", rounds=24, unit="event", items_per_event=10, budget=BUDGET)
    stream.push(frame)


def users(frame: Any, folder: Path) -> None:
    ul.Stream.create(folder / "s", rounds=24, unit="user", items_per_user=10, budget=BUDGET).push(frame)


ASKED: dict[str, Callable[[Any, Path], None]] = {
    "find-then-count histogram": histogram,
    "first round, events": events,
    "first round, users once for each item": users,
}


def measured(session: Any, rows: Rows, what: str) -> dict[str, Any]:
    """Ask once, and add up what the tasks and the driver's Python took."""
    with written(rows) as path, tempfile.TemporaryDirectory() as folder:
        before = {stage.stageId() for stage in stages(session)}
        started = time.process_time()
        ASKED[what](session.read.parquet(str(path)), Path(folder))
        driver = time.process_time() - started
        ran = [stage for stage in stages(session) if stage.stageId() not in before]
    return {
        "what": what,
        "at": rows.rows,
        "processor_seconds": sum(stage.executorCpuTime() for stage in ran) / 1e9,
        "driver_seconds": driver,
        "collected_bytes": sum(stage.resultSize() for stage in ran),
    }


def main() -> None:
    from pyspark.sql import SparkSession

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=list(SIZES))
    chosen = parser.parse_args()
    print_header("What do find-then-count and streams cost on Spark?", ("pyspark", "pyarrow"))
    with tempfile.TemporaryDirectory() as folder:
        builder = SparkSession.builder
        for name, value in {**SETTINGS, "spark.sql.warehouse.dir": folder, "spark.local.dir": folder}.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        points = []
        # The first answers are not kept: Java is still compiling what it runs.
        for size in (WARM_UP, *chosen.rows):
            found = [measured(session, Rows(size, size // 10, size // 10), what) for what in ASKED]
            if size != WARM_UP:
                points += found
                keep("spark_streams", points)
        session.stop()
    print_table(
        ("", "rows", "tasks, processor", "driver's Python", "bytes to the driver"),
        [
            [
                one["what"],
                f"{one['at']:,}",
                f"{one['processor_seconds']:.1f} s",
                f"{one['driver_seconds']:.1f} s",
                f"{one['collected_bytes']:,}",
            ]
            for one in points
        ],
    )


if __name__ == "__main__":
    main()
