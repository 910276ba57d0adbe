"""The tables on which systems are compared, each bounded once so that every system gets the same counts.

A bounded table is a Parquet file of counts: one row a label, with how many users count for it and whether it is
among the true top 100 of the whole table. Tables of `../shared/data` are used where they are present.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
from bench.data import FOLDER, W1, parquet

from unlisted.demo.searches import searches

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
TOP = 100


@dataclass(frozen=True)
class Rows:
    """A table of users and items, by the name it has in reports."""

    name: str
    item: str = "item"

    def relation(self) -> pa.Table | str:
        """Return the rows, or the path of their file."""
        if self.name == "demo":
            return searches()
        return str(parquet(W1) if self.name == "W1" else SHARED / f"{self.name}.parquet")

    @property
    def is_there(self) -> bool:
        """Whether the rows can be had here."""
        return self.name in ("demo", "W1") or (SHARED / f"{self.name}.parquet").exists()


TABLES = (
    Rows("demo", item="query"),
    Rows("W1"),
    Rows("thanksgiving_2015"),
    Rows("nz_bird_of_the_year_2019"),
    Rows("online_retail"),
    Rows("npm_owner_words"),
    Rows("reddit_posts_words"),
)


def cut(rows: Rows, items_per_user: int) -> Path:
    """Return a file of the same users with at most so many items each, of which every bound up to it is true."""
    path = FOLDER / f"cut-{rows.name}-{items_per_user}.parquet"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        with duckdb.connect() as connection:
            source = rows.relation()
            if isinstance(source, str):
                connection.read_parquet(source).create_view("source")
            else:
                connection.register("source", source)
            connection.sql(f"""
                COPY (
                  SELECT "user", item FROM (SELECT DISTINCT "user", "{rows.item}" AS item FROM source)
                  QUALIFY row_number() OVER (PARTITION BY "user" ORDER BY hash("user", item)) <= {items_per_user}
                ) TO '{path}' (FORMAT parquet)
            """)
    return path


def bounded(rows: Rows, items_per_user: int) -> Path:
    """Return the file of a table's counts within a bound, written now if it was not there."""
    path = FOLDER / f"bounded-{rows.name}-{items_per_user}.parquet"
    if path.exists():
        return path
    FOLDER.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        source = rows.relation()
        if isinstance(source, str):
            connection.read_parquet(source).create_view("source")
        else:
            connection.register("source", source)
        connection.sql(f"""
            COPY (
              WITH pairs AS (SELECT DISTINCT "user", "{rows.item}" AS item FROM source),
              kept AS (
                SELECT item FROM pairs
                -- Which items a heavy user keeps is drawn once, the same for everybody.
                QUALIFY row_number() OVER (PARTITION BY "user" ORDER BY hash("user", item)) <= {items_per_user}
              ),
              best AS (SELECT item FROM pairs GROUP BY item ORDER BY COUNT(*) DESC, item LIMIT {TOP})
              SELECT COUNT(*) AS count, item IN (SELECT item FROM best) AS top
              FROM kept GROUP BY item ORDER BY count DESC, item
            ) TO '{path}' (FORMAT parquet)
        """)
    return path
