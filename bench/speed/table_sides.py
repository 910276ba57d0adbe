"""One side of the comparison in `tables.py`, in a process of its own: a Parquet file in, an answer in Arrow out.

usage: python table_sides.py SIDE FILE.parquet          prints, as JSON, what it took once all was imported

The private sides are a few lines that import `unlisted`. The plain ones are what an analyst would ask DuckDB for
if nobody's privacy were at stake. Each side imports what it needs and no more.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable

ITEMS_PER_USER = 10
EPSILON, DELTA = 1, 1e-8
K, FETCH = 100, 1000

Work = Callable[[str], int]
"""Answers from the file with this path; returns how many rows there are in the answer."""

_PLAIN = 'SELECT item, COUNT(DISTINCT "user") AS n FROM read_parquet(?) GROUP BY item'


def histogram() -> Work:
    import duckdb  # noqa: F401 - `unlisted` imports it with the first table, which would be timed

    import unlisted as ul

    def work(path: str) -> int:
        rows = ul.table(path, user="user")
        budget = ul.Budget(epsilon=EPSILON, delta=DELTA)
        return len(rows.histogram("item", budget=budget, items_per_user=ITEMS_PER_USER).run().to_arrow())

    return work


def find() -> Work:
    import duckdb  # noqa: F401 - `unlisted` imports it with the first table, which would be timed

    import unlisted as ul

    def work(path: str) -> int:
        rows = ul.table(path, user="user")
        return len(rows.histogram("item", budget=ul.Budget(epsilon=EPSILON, delta=DELTA)).run().to_arrow())

    return work


def top() -> Work:
    import duckdb  # noqa: F401 - `unlisted` imports it with the first table, which would be timed

    import unlisted as ul

    def work(path: str) -> int:
        rows = ul.table(path, user="user")
        budget = ul.Budget(epsilon=EPSILON, delta=DELTA)
        return len(rows.top("item", k=K, budget=budget, fetch=FETCH).run().to_arrow())

    return work


def plain_histogram() -> Work:
    return _asked_of_duckdb(_PLAIN)


def plain_find() -> Work:
    return _asked_of_duckdb(_PLAIN)


def plain_top() -> Work:
    return _asked_of_duckdb(f"{_PLAIN} ORDER BY n DESC LIMIT {FETCH + 1}")


def _asked_of_duckdb(query: str) -> Work:
    import duckdb
    import pyarrow  # noqa: F401 - else its import would be timed with the query

    def work(path: str) -> int:
        with duckdb.connect() as connection:
            return len(connection.sql(query, params=[path]).to_arrow_table())

    return work


SIDES = {made.__name__: made for made in (histogram, plain_histogram, find, plain_find, top, plain_top)}

_KIBIBYTE = 1 if sys.platform == "darwin" else 1024
"""What `ru_maxrss` counts in: bytes on macOS, kibibytes elsewhere."""


def main(side: str, path: str) -> None:
    work = SIDES[side]()
    wall, processor = time.perf_counter(), time.process_time()
    rows = work(path)
    report = {
        "seconds": time.perf_counter() - wall,
        "processor_seconds": time.process_time() - processor,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIBIBYTE,
        "rows": rows,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
