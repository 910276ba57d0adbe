"""Rows of any size for the measurements of growth, made by DuckDB: quickly, and the same every time.

Half of all rows name one of a thousand common items, by Zipf's law. The other half go through all items in turn,
so that there are as many different ones as was asked for. Who has a row is drawn with a hash: most users have a
few, some have many.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
from bench.data import FOLDER

COMMON = 1000
"""How many items share half of the rows."""


@dataclass(frozen=True)
class Rows:
    """So many rows, of so many users, with so many different items."""

    rows: int
    users: int
    items: int

    def __str__(self) -> str:
        return f"{self.rows:,} rows, {self.users:,} users, {self.items:,} items"


@contextmanager
def written(rows: Rows) -> Iterator[Path]:
    """Write the rows to a Parquet file, and remove it afterwards: large ones are not worth keeping."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"scale-{rows.rows}-{rows.users}-{rows.items}.parquet"
    try:
        with duckdb.connect(config={"preserve_insertion_order": False, "memory_limit": "2GB"}) as connection:
            connection.execute(f"COPY ({_query(rows)}) TO '{path}' (FORMAT parquet)")
        yield path
    finally:
        path.unlink(missing_ok=True)


def _query(rows: Rows) -> str:
    """Say the rows as a query on the numbers from 0."""
    # Activity falls off with the square root of the place: some users are busy, none rules.
    user = f"CAST(floor({rows.users} * {_uniform(1)} * {_uniform(1)}) AS BIGINT)"
    rank = f"CAST(floor(exp({_uniform(0)} * ln({min(COMMON, rows.items)} + 1))) AS BIGINT)"
    item = f"CASE WHEN id % 2 = 0 THEN {rank} - 1 ELSE (id // 2) % {rows.items} END"
    # An odd factor modulo a power of two keeps labels different, and of one length like those of real rows.
    label = f"'item ' || ((({item}) * 40503001) % 1099511627776)"
    return f'SELECT {user} AS "user", {label} AS item FROM range({rows.rows}) AS made(id)'


def _uniform(stream: int) -> str:
    """Return a number between 0 and 1 for each row, another for each stream."""
    return f"((hash(id * 2 + {stream}) >> 11) / 9007199254740992.0)"
