"""The engines that every test of the contract runs on: how each is given the same rows.

A maker takes the rows as a PyArrow table, a folder of its own and pytest's `request` (for the session's services:
`request.getfixturevalue("postgres_url")`), and returns what to pass to `ul.table`. To add an engine, write a maker
and decorate it with `@engine("name")`. What must be tidied up afterwards goes to `request.addfinalizer`.
"""

from __future__ import annotations

import gzip
import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.conftest import missing
from tests.tables import twin

from unlisted.tables.table import Table, table


@dataclass(frozen=True)
class Given:
    """What to pass to `ul.table`: the source and further keywords."""

    source: Any
    keywords: dict[str, Any] = field(default_factory=dict)

    def table(self, user: str) -> Table:
        return table(self.source, user=user, **self.keywords)


Maker = Callable[[pa.Table, Path, pytest.FixtureRequest], Given]

MAKERS: dict[str, Maker] = {}

KEYS: dict[str, twin.Key] = {}
"""How those engines draw keys that do not draw them by SHA-256."""

EMPTY_TEXT_IS_MISSING = {"csv", "csv.gz"}
"""Sources that have no way to tell an empty text from none."""

DATES_ARE_OBJECTS = {"pandas"}
"""Sources that hold days as Python objects, which are read as text."""


def engine(name: str) -> Callable[[Maker], Maker]:
    """Register a maker under the name that the tests show."""

    def register(maker: Maker) -> Maker:
        MAKERS[name] = maker
        return maker

    return register


def installed(package: str) -> Any:
    """Import a package that not everybody has, or skip the test by name."""
    try:
        return importlib.import_module(package)
    except ImportError:
        missing(f"{package} is not installed (pip install {package})")


@engine("parquet")
def _parquet(rows: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Given:
    pyarrow.parquet.write_table(rows, folder / "rows.parquet")
    return Given(str(folder / "rows.parquet"))


@engine("csv")
def _csv(rows: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Given:
    pyarrow.csv.write_csv(rows, folder / "rows.csv")
    return Given(folder / "rows.csv", {"types": declared_types(rows)})


@engine("csv.gz")
def _csv_gz(rows: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Given:
    with gzip.open(folder / "rows.csv.gz", "wb") as file:
        pyarrow.csv.write_csv(rows, file)
    return Given(folder / "rows.csv.gz", {"types": declared_types(rows)})


@engine("jsonl")
def _json_lines(rows: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Given:
    path = folder / "rows.jsonl"
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        connection.execute(f"COPY rows TO '{path}' (FORMAT json)")
    return Given(path, {"types": declared_types(rows)})


@engine("duckdb")
def _duckdb_database(rows: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Given:
    path = folder / "rows.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("given", rows)
        connection.execute('CREATE TABLE "rows" AS SELECT * FROM given')
    return Given(path, {"table": "rows"})


@engine("pyarrow")
def _pyarrow(rows: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Given:
    return Given(rows)


@engine("polars")
def _polars(rows: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Given:
    return Given(installed("polars").from_arrow(rows))


@engine("polars lazy")
def _polars_lazy(rows: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Given:
    return Given(installed("polars").from_arrow(rows).lazy())


@engine("pandas")
def _pandas(rows: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Given:
    installed("pandas")
    return Given(rows.to_pandas())


@cache
def _hashing() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


@cache
def duckdbs_own_key(text: str) -> int:
    """The key that DuckDB draws itself."""
    ((key,),) = _hashing().execute("SELECT HASH(?)", [text]).fetchall()
    return int(key)


KEYS |= dict.fromkeys(MAKERS, duckdbs_own_key)


def declared_types(rows: pa.Table) -> dict[str, str]:
    """Say as `types=` what a text file cannot say itself."""
    words = {pa.int64(): "int", pa.float64(): "float", pa.bool_(): "bool", pa.date32(): "date"}
    return {column.name: words.get(column.type, "text") for column in rows.schema}


# At the end, because they register themselves with what stands above.
from tests.tables import server_engines  # noqa: E402, F401
