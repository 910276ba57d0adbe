"""The tables on which systems are compared, each bounded once so that every system gets the same counts.

A bounded table is a Parquet file of counts: one row a label, with how many users count for it within the bound,
how many have it in truth, and its place in the true order. Tables of `../shared/data` are used where present.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
from bench.data import FOLDER, W1, parquet

from unlisted.demo.searches import searches

GENERATION = 2
"""Part of every file name of counts; raise it when what they hold changes."""

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


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
        with _source(rows) as connection:
            connection.sql(f"""
                COPY (
                  SELECT "user", item FROM (SELECT DISTINCT "user", "{rows.item}" AS item FROM source)
                  QUALIFY row_number() OVER (PARTITION BY "user" ORDER BY hash("user", item)) <= {items_per_user}
                ) TO '{path}' (FORMAT parquet)
            """)
    return path


def pairs(rows: Rows) -> Path:
    """Return the file of who has what, written now if it was not there: users by number, items by true place."""
    path = FOLDER / f"pairs-{rows.name}.parquet"
    if not path.exists():
        with _source(rows) as connection:
            connection.sql(f"""
                COPY (
                  WITH pairs AS (SELECT DISTINCT "user", "{rows.item}" AS item FROM source),
                  places AS (
                    SELECT item, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC, item) - 1 AS place
                    FROM pairs GROUP BY item
                  ),
                  users AS (SELECT "user", ROW_NUMBER() OVER () - 1 AS number FROM pairs GROUP BY "user")
                  SELECT CAST(number AS INTEGER) AS "user", CAST(place AS INTEGER) AS item
                  FROM pairs JOIN places USING (item) JOIN users USING ("user") ORDER BY ALL
                ) TO '{path}' (FORMAT parquet)
            """)
    return path


def bounded(rows: Rows, items_per_user: int) -> Path:
    """Return the file of a table's counts within a bound, written now if it was not there, largest first."""
    path = FOLDER / f"bounded-{GENERATION}-{rows.name}-{items_per_user}.parquet"
    if not path.exists():
        with duckdb.connect() as connection:
            connection.read_parquet(str(pairs(rows))).create_view("pairs")
            connection.sql(f"""
                COPY (
                  WITH kept AS (
                    SELECT item FROM pairs
                    -- Which items a heavy user keeps is drawn once, the same for everybody.
                    QUALIFY ROW_NUMBER() OVER (PARTITION BY "user" ORDER BY HASH("user", item)) <= {items_per_user}
                  ),
                  counted AS (SELECT item, COUNT(*) AS count FROM kept GROUP BY item),
                  truth AS (SELECT item, COUNT(*) AS true_count FROM pairs GROUP BY item)
                  SELECT count, true_count, item AS place
                  FROM counted JOIN truth USING (item) ORDER BY count DESC, item
                ) TO '{path}' (FORMAT parquet)
            """)
    return path


@contextmanager
def _source(rows: Rows) -> Iterator[duckdb.DuckDBPyConnection]:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        source = rows.relation()
        if isinstance(source, str):
            connection.read_parquet(source).create_view("source")
        else:
            connection.register("source", source)
        yield connection
