"""What a histogram costs on PostgreSQL: time against the plain query, and memory outside the server.

usage: python -m bench.scale.postgres_rows [--rows 10000000] [--items 1000000 …] [--times 3]

The server is the one of the tests, on this machine, with 256 MB for each sort or hash table. The plain query
counts the users of every item, without bounds and without bringing anything out. The two take turns. The memory is
the peak of the whole process that asks: it must stay below 300 MB, however many different items there are.
"""

from __future__ import annotations

import argparse
import io
import statistics
import time
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.csv as pc
import pyarrow.parquet as pq
from bench.measure import Target, print_header, print_table
from bench.scale.duckdb_out_of_core import ASKED, MOST_OUTSIDE
from bench.scale.rows import Rows, written
from bench.scale.runs import answered, keep_sizes, told
from tests.services import postgres

TABLE = "searches"
WORK_MEMORY = "256MB"
PLAIN = f'SELECT SUM(n) FROM (SELECT item, COUNT(DISTINCT "user") AS n FROM {TABLE} GROUP BY item) AS counted'
ROWS_AT_ONCE = 200_000


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--items", type=int, nargs="+", default=[1_000_000, 5_000_000])
    parser.add_argument("--times", type=int, default=3, help="how often each side is measured; medians count")
    return parser.parse_args()


def load(connection: psycopg.Connection[Any], path: Path) -> None:
    """Fill a new table with the rows of a Parquet file."""
    connection.execute(f"DROP TABLE IF EXISTS {TABLE}")
    connection.execute(f'CREATE UNLOGGED TABLE {TABLE} ("user" bigint, item text)')
    with connection.cursor().copy(f"COPY {TABLE} FROM STDIN (FORMAT csv)") as copy:
        for batch in pq.ParquetFile(path).iter_batches(ROWS_AT_ONCE):
            lines = io.BytesIO()
            pc.write_csv(batch, lines, pc.WriteOptions(include_header=False))
            copy.write(lines.getvalue())
    connection.execute(f"VACUUM ANALYZE {TABLE}")


def plainly(connection: psycopg.Connection[Any]) -> float:
    """Return the seconds that the plain query takes."""
    began = time.perf_counter()
    connection.execute(PLAIN).fetchone()
    return time.perf_counter() - began


def measured(url: str, rows: Rows, times: int) -> dict[str, Any]:
    """Load the rows, and let both sides take turns."""
    with psycopg.connect(url, autocommit=True) as connection:
        with written(rows) as path:
            load(connection, path)
        plain, ours = [], []
        for _ in range(times):
            plain.append(plainly(connection))
            ours.append(answered(url, ASKED | {"table": TABLE}))
    median = sorted(ours, key=lambda one: one.seconds)[len(ours) // 2]
    return told(rows, median, plain_seconds=statistics.median(plain))


def main() -> None:
    chosen = options()
    if (reason := postgres.why_not()) is not None:
        raise SystemExit(reason)
    print_header("What does a histogram cost on PostgreSQL?", ("psycopg", "numpy", "pyarrow"))
    said: list[dict[str, Any]] = []
    with postgres.running_server() as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE postgres SET work_mem = '{WORK_MEMORY}'")
        for items in chosen.items:
            said.append(measured(url, Rows(chosen.rows, chosen.rows // 10, items), chosen.times))
            keep_sizes("postgres", said)
    print_table(
        ("items", "histogram", "plain query", "ratio", "outside the server"),
        [
            [
                f"{one['items']:,}",
                f"{one['seconds']:.1f} s",
                f"{one['plain_seconds']:.1f} s",
                f"{one['seconds'] / one['plain_seconds']:.2f}",
                f"{one['outside_bytes'] / 1e6:,.0f} MB",
            ]
            for one in said
        ],
    )
    outside = {f"{one['items']:,} items": one["outside_bytes"] / MOST_OUTSIDE for one in said}
    claim = f"{chosen.rows:,} rows in PostgreSQL, and at most 300 MB outside the server"
    print(Target(claim, 1, at_most=True, measured=outside).verdict())


if __name__ == "__main__":
    main()
