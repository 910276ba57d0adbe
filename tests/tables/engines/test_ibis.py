"""Ibis: each supported backend counts the compiled expression, and every other is refused with a way to go."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pytest
from tests.services.foreign_warnings import warnings_of_others
from tests.tables.fixtures.engines import MAKERS
from tests.tables.fixtures.server_engines import ibis_table, imported_ibis

from unlisted.errors import InvalidArgumentError
from unlisted.tables.count_query import CountQuery
from unlisted.tables.counting import count_all
from unlisted.tables.engines.ibis import IbisEngine
from unlisted.tables.table import table

BACKENDS = ["duckdb", "polars", "postgres", "pyspark"]
ROWS = pa.table(
    {"who": [1, 1, 2, 2, 3, 4], "what": ["a", "b", "a", "A", "a", "é"], "weight": [5.0, -0.0, 0.0, 2.0, 7.0, 9.0]}
)
SECRET = bytes(16)

Expression = Any


@pytest.fixture(params=BACKENDS)
def rows(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Expression]:
    """The same rows as an Ibis table of each backend."""
    if request.param != "pyspark":
        yield MAKERS[f"ibis {request.param}"](ROWS, tmp_path, request).source
        return
    session = request.getfixturevalue("spark_session")
    session.createDataFrame(ROWS).createOrReplaceTempView("ibis_rows")
    with warnings_of_others():
        backend = imported_ibis().pyspark.connect(session)
    yield ibis_table(backend, "ibis_rows")
    session.catalog.dropTempView("ibis_rows")


def counted(expression: Expression, item: str = "what", where: str | None = None) -> dict[Any, int]:
    question = CountQuery(item, items_per_user=5, where=where)
    with count_all(table(expression, user="who"), question, cut=1, secret=SECRET) as counts:
        labels: list[Any] = counts.labels.to_pylist()
        return dict(zip(labels, counts.counts.tolist(), strict=True))


def test_an_expression_is_counted_in_its_backend(rows: Expression) -> None:
    assert re.fullmatch("ibis on (duckdb|polars|postgres|pyspark)", IbisEngine(rows).name)
    assert counted(rows) == {"a": 3, "b": 1, "A": 1, "é": 1}
    derived = rows.filter(rows.weight < 8).mutate(kind=rows.what.upper() + "!")
    assert counted(derived, "kind", where="weight >= 2") == {"A!": 3}


def test_nothing_runs_when_an_expression_is_shown_or_described(rows: Expression) -> None:
    ibis = imported_ibis()
    ibis.options.interactive = True
    try:
        source = table(rows, user="who")
        assert "what" not in repr(source)
        assert list(source.columns()) == ["who", "what", "weight"]
    finally:
        ibis.options.interactive = False


def test_rows_of_memory_can_be_joined_to_a_table(rows: Expression) -> None:
    wanted = imported_ibis().memtable(pa.table({"what": ["a", "b"]}))
    with warnings_of_others():
        assert counted(rows.semi_join(wanted, "what")) == {"a": 3, "b": 1}


@pytest.fixture
def sqlite_rows(tmp_path: Path) -> Expression:
    with sqlite3.connect(tmp_path / "rows.sqlite") as connection:
        connection.execute("CREATE TABLE rows (who INTEGER, what TEXT)")
    connection.close()
    return imported_ibis().sqlite.connect(tmp_path / "rows.sqlite").table("rows")


def test_a_backend_that_is_not_supported_is_refused_with_a_way_to_go(sqlite_rows: Expression) -> None:
    with pytest.raises(InvalidArgumentError, match=r"table of sqlite.*duckdb, polars, postgres, pyspark.*Parquet"):
        IbisEngine(sqlite_rows).columns()
    sqlite_rows.get_backend().disconnect()


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda ibis: ibis.table({"who": "int64"}, name="nowhere"), "belongs to no backend"),
        (lambda ibis: ibis.memtable(pa.table({"who": [1]})).who, r"column\.as_table"),
        (lambda ibis: ibis.memtable(pa.table({"who": [1]})).mutate(x=ibis.param("int64")), "does not compile"),
    ],
    ids=["unbound", "column", "parameter"],
)
def test_what_is_no_table_of_a_backend_is_refused(make: Callable[[Any], Expression], problem: str) -> None:
    with pytest.raises(InvalidArgumentError, match=problem):
        IbisEngine(make(imported_ibis())).columns()


def test_settings_of_a_duckdb_session_change_nothing() -> None:
    with duckdb.connect() as connection:
        connection.execute(
            "SET default_collation = 'nocase'; SET default_order = 'DESC'; SET default_null_order = 'first'"
        )
        connection.register("given", ROWS)
        connection.execute("CREATE TABLE rows AS SELECT * FROM given")
        rows = ibis_table(imported_ibis().duckdb.from_connection(connection), "rows")
        before = connection.execute("SELECT * FROM duckdb_settings() ORDER BY name").fetchall()
        assert counted(rows) == {"a": 3, "b": 1, "A": 1, "é": 1}
        assert connection.execute("SELECT * FROM duckdb_settings() ORDER BY name").fetchall() == before
        assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("rows",)]


def test_a_postgres_session_in_a_transaction_is_refused(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    rows = MAKERS["ibis postgres"](ROWS, tmp_path, request).source
    connection: psycopg.Connection[Any] = rows.get_backend().con
    with connection.transaction(), pytest.raises(InvalidArgumentError, match="commit it"):
        IbisEngine(rows).columns()
    assert list(IbisEngine(rows).columns()) == ["who", "what", "weight"]
