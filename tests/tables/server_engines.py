"""Makers for engines that a service runs, PostgreSQL and Spark, and for Ibis over those and over others.

They are registered beside the others by `engines.py`.
"""

from __future__ import annotations

import importlib
import secrets
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from tests.conftest import missing
from tests.services.foreign_warnings import warnings_of_others
from tests.tables.engines import Given, engine

POSTGRES_TYPES = {
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.string(): "text",
    pa.large_string(): "text",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
    pa.binary(): "bytea",
}


@engine("postgres")
def _postgres(rows: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Given:
    url = request.getfixturevalue("postgres_url")
    return Given(url, {"table": postgres_table(rows, url, request)})


@engine("spark")
def _spark(rows: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Given:
    return Given(request.getfixturevalue("spark_session").createDataFrame(rows))


@engine("ibis duckdb")
def _ibis_duckdb(rows: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Given:
    connection = duckdb.connect()
    request.addfinalizer(connection.close)
    connection.register("given", rows)
    connection.execute('CREATE TABLE "rows" AS SELECT * FROM given')
    return Given(ibis_table(imported_ibis().duckdb.from_connection(connection), "rows"))


@engine("ibis polars")
def _ibis_polars(rows: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Given:
    polars = imported("polars")
    return Given(ibis_table(imported_ibis().polars.connect({"rows": polars.from_arrow(rows)}), "rows"))


@engine("ibis postgres")
def _ibis_postgres(rows: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Given:
    psycopg = imported("psycopg")
    url = request.getfixturevalue("postgres_url")
    name = postgres_table(rows, url, request)
    connection = psycopg.connect(url, autocommit=True)
    request.addfinalizer(connection.close)
    return Given(ibis_table(imported_ibis().postgres.from_connection(connection), name))


def imported(name: str) -> Any:
    """Return a library, or skip the test by name."""
    try:
        return importlib.import_module(name)
    except ImportError:
        missing(f"{name} is not installed")


def imported_ibis() -> Any:
    """Return Ibis, or skip the test by name."""
    return imported("ibis")


def ibis_table(backend: Any, name: str) -> Any:
    """Name a table of a backend."""
    with warnings_of_others():
        return backend.table(name)


def postgres_table(rows: pa.Table, url: str, request: pytest.FixtureRequest) -> str:
    """Write rows into a new table of a PostgreSQL database, dropped with the test, and return its name."""
    psycopg = imported("psycopg")
    name = f"rows_{secrets.token_hex(6)}"
    columns = (
        psycopg.sql.SQL("{} {}").format(psycopg.sql.Identifier(f.name), psycopg.sql.SQL(_type(f)))
        for f in rows.schema
    )
    table = psycopg.sql.Identifier(name)

    def drop() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(psycopg.sql.SQL("DROP TABLE IF EXISTS {}").format(table))

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            psycopg.sql.SQL("CREATE TABLE {} ({})").format(table, psycopg.sql.SQL(", ").join(columns))
        )
        request.addfinalizer(drop)
        with connection.cursor().copy(psycopg.sql.SQL("COPY {} FROM STDIN").format(table)) as copy:
            for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
                copy.write_row(row)
    return name


def _type(field: pa.Field) -> str:
    if pa.types.is_decimal(field.type):
        return f"numeric({field.type.precision}, {field.type.scale})"
    return POSTGRES_TYPES[field.type]
