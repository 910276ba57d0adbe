"""What a histogram costs on Spark: processor time of all tasks against rows, and the bytes that reach the driver.

usage: python -m bench.scale.spark_rows [--rows N…]

Spark runs in this process on two cores with its own default settings; only the Parquet files, the number of
partitions and the driver's memory are chosen. Processor time is what Spark's tasks say they used, so that starting
Java and waiting do not count.
"""

from __future__ import annotations

import argparse
import tempfile
from typing import Any

from bench.measure import print_header, print_table
from bench.scale.rows import Rows, written
from bench.scale.runs import keep
from tests.services.spark_measures import stages

import unlisted as ul

SIZES = (300_000, 1_000_000, 3_000_000)
SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "3g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "16",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def measured(session: Any, rows: Rows) -> dict[str, Any]:
    """Answer once, and add up what the tasks say."""
    with written(rows) as path:
        before = {stage.stageId() for stage in stages(session)}
        table = ul.table(session.read.parquet(str(path)), user="user")
        table.histogram("item", budget=ul.Budget(epsilon=1, delta="1e-8"), items_per_user=10).run()
        ran = [stage for stage in stages(session) if stage.stageId() not in before]
    return {
        "at": rows.rows,
        "processor_seconds": sum(stage.executorCpuTime() for stage in ran) / 1e9,
        "collected_bytes": sum(stage.resultSize() for stage in ran),
    }


def main() -> None:
    from pyspark.sql import SparkSession

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=list(SIZES))
    chosen = parser.parse_args()
    print_header("What does a histogram cost on Spark?", ("pyspark", "pyarrow"))
    with tempfile.TemporaryDirectory() as folder:
        builder = SparkSession.builder
        for name, value in {**SETTINGS, "spark.sql.warehouse.dir": folder, "spark.local.dir": folder}.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        # The first answer is not kept: Java is still compiling what it runs.
        sizes = [Rows(size, size // 10, size // 10) for size in (chosen.rows[0], *chosen.rows)]
        points = [measured(session, size) for size in sizes][1:]
        session.stop()
    keep("spark", points)
    print_table(
        ("rows", "processor", "bytes to the driver"),
        [[f"{p['at']:,}", f"{p['processor_seconds']:.1f} s", f"{p['collected_bytes']:,}"] for p in points],
    )


if __name__ == "__main__":
    main()
