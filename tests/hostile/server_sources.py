"""Databases with hostile values that their own SQL wrote: DuckDB, SQLite, PostgreSQL, Spark, and Ibis over one."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any

import duckdb
from tests.hostile import arrow_cells, spark_cells, sql_cells
from tests.hostile.rows import ROLES, Rows
from tests.hostile.sources import Source, Workshop, arrow_table
from tests.services.foreign_warnings import warnings_of_others
from tests.tables.fixtures.server_engines import ibis_table, imported, imported_ibis

POSTGRES_NEEDS = (
    "CREATE TYPE hue AS ENUM ('a', 'b', 'c', 'd', 'ab', 'bc', 'cd')",
    "CREATE DOMAIN whole AS integer",
)


def _columns(rows: Rows, text: str) -> str:
    return ", ".join(f'"{role}" {rows.kind.typed if role == rows.role else text}' for role in ROLES)


def _values(rows: Rows, cast: Callable[[str], str] = str) -> str:
    def cell(role: str, value: Any) -> str:
        return cast(value) if role == rows.role else sql_cells.literal(value)

    lines = (", ".join(cell(role, value) for role, value in zip(ROLES, row, strict=True)) for row in rows.rows)
    return ", ".join(f"({line})" for line in lines)


def _duckdb(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    path = workshop.path(".duckdb")
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE rows ({_columns(rows, 'VARCHAR')})")
        connection.execute(f"INSERT INTO rows VALUES {_values(rows)}")
    return path, {"table": "rows"}


def _sqlite(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    path = workshop.path(".sqlite")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE rows ({_columns(rows, 'TEXT')})")
        connection.execute(f"INSERT INTO rows VALUES {_values(rows)}")
        connection.execute("CREATE VIEW seen_rows AS SELECT * FROM rows")
    return path, {"table": "seen_rows" if layout == "view" else "rows"}


def _postgres_table(rows: Rows, url: str, workshop: Workshop) -> str:
    psycopg = imported("psycopg")
    name = f"hostile_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in POSTGRES_NEEDS:
            with suppress(psycopg.errors.DuplicateObject):
                connection.execute(statement)
        connection.execute(f"CREATE TABLE {name} ({_columns(rows, 'text')})")
        workshop.later.callback(_drop, url, name)
        connection.execute(f"INSERT INTO {name} VALUES {_values(rows)}")
    return name


def _drop(url: str, name: str) -> None:
    psycopg = imported("psycopg")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP TABLE IF EXISTS {name}")


def _postgres(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    url = workshop.service("postgres_url")
    return url, {"table": _postgres_table(rows, url, workshop)}


def _ibis_postgres(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    url = workshop.service("postgres_url")
    name = _postgres_table(rows, url, workshop)
    connection = imported("psycopg").connect(url, autocommit=True)
    workshop.later.callback(connection.close)
    return ibis_table(imported_ibis().postgres.from_connection(connection), name), {}


def _spark(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    session = workshop.service("spark_session")
    typed = rows.kind.typed
    collation = typed.partition(" COLLATE ")[2]

    def cast(value: str) -> str:
        return f"{value} COLLATE {collation}" if collation else f"CAST({value} AS {typed})"

    names = ", ".join(f"`{role}`" for role in ROLES)
    frame = session.sql(f"SELECT * FROM VALUES {_values(rows, cast)} AS t({names})")
    if layout == "parquet":
        path = str(workshop.path(".spark"))
        frame.write.parquet(path)
        frame = session.read.parquet(path)
    return frame, {}


def _spark_of_arrow(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    session = workshop.service("spark_session")
    with warnings_of_others():
        return session.createDataFrame(arrow_table(rows)), {}


DATABASES = {
    "duckdb sql": Source("duckdb sql", sql_cells.DUCKDB, ("table",), _duckdb),
    "sqlite": Source("sqlite", sql_cells.SQLITE, ("table", "view"), _sqlite),
}
POSTGRES = {
    "postgres": Source("postgres", sql_cells.POSTGRES, ("table",), _postgres),
    "ibis postgres": Source("ibis postgres", sql_cells.POSTGRES, ("table",), _ibis_postgres),
}
SPARK = {
    "spark": Source("spark", spark_cells.KINDS, ("values", "parquet"), _spark),
    "spark of arrow": Source("spark of arrow", arrow_cells.KINDS, ("table",), _spark_of_arrow),
}
