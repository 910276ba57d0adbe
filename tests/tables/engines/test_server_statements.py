"""Golden SQL: what PostgreSQL and Spark are asked, statement by statement, said as a reviewer would read it.

`UNLISTED_WRITE_GOLDEN=1` writes it anew, to be read and kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from tests.tables.fixtures.server_engines import ibis_table, imported_ibis

from unlisted.tables.bounding import bounded_counts
from unlisted.tables.cluster import spread_fetch_query
from unlisted.tables.count_query import CountQuery
from unlisted.tables.counting import KEPT, WANTED, fetch_query, large_query, profile_query, top_query
from unlisted.tables.engines.engine import Engine, ManyMachines
from unlisted.tables.engines.ibis import IbisEngine
from unlisted.tables.engines.postgres.engine import PostgresEngine
from unlisted.tables.engines.spark import SparkEngine
from unlisted.tables.items import item_columns

GOLDEN = Path(__file__).parent / "golden"
SECRET = bytes(16)
QUESTIONS = {
    "users of an item, bounded": CountQuery("query", items_per_user=10),
    "rows of an item of two columns, bounded, of some rows": CountQuery(
        ("query", "price"), items_per_user=10, count="rows", rows_per_item=3, where="day >= DATE '2024-02-29'"
    ),
}
UNBOUNDED = CountQuery("query")


@pytest.fixture(scope="module")
def searches(postgres_url: str) -> Iterator[psycopg.Connection[Any]]:
    """An empty table in PostgreSQL, always of the same name."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("""
            CREATE SCHEMA golden;
            CREATE TABLE golden.searches (user_id bigint, query varchar(90), price float8, day date)""")
        yield connection
        connection.execute("DROP SCHEMA golden CASCADE")


def postgres_engine(request: pytest.FixtureRequest) -> Engine:
    request.getfixturevalue("searches")
    return PostgresEngine(request.getfixturevalue("postgres_url"), "golden.searches")


def ibis_postgres_engine(request: pytest.FixtureRequest) -> Engine:
    backend = imported_ibis().postgres.from_connection(request.getfixturevalue("searches"))
    backend.raw_sql("SET search_path = golden")
    rows = ibis_table(backend, "searches")
    return IbisEngine(rows.filter(rows.price > 0).mutate(query=rows.query.lower()))


def spark_engine(request: pytest.FixtureRequest) -> Engine:
    kinds = {"user_id": pa.int64(), "query": pa.string(), "price": pa.float64(), "day": pa.date32()}
    return SparkEngine(request.getfixturevalue("spark_session").createDataFrame(pa.schema(kinds).empty_table()))


def said(engine: Engine) -> str:
    """Every kind of statement, each under its name."""
    columns = engine.columns()
    statements = {}
    for name, question in QUESTIONS.items():
        query = bounded_counts(engine, "user_id", question, SECRET)
        statements[name] = engine.statement(query, question.rows("user_id", columns))
    items, rows = item_columns(UNBOUNDED.items, columns), UNBOUNDED.rows("user_id", columns)
    query = top_query(bounded_counts(engine, "user_id", UNBOUNDED, SECRET), items, 1000)
    statements["largest counts, unbounded"] = engine.statement(query, rows)
    statements["how many labels have each small count"] = engine.statement(profile_query(20), rows)
    statements["labels above the cut"] = engine.statement(large_query(items, 20), rows)
    by_rank = spread_fetch_query(items, KEPT, WANTED) if isinstance(engine, ManyMachines) else fetch_query(items)
    statements["labels at wanted ranks"] = engine.statement(by_rank, rows)
    return "".join(f"-- {name}\n{statement};\n\n" for name, statement in statements.items())


@pytest.mark.parametrize(
    "make", [postgres_engine, spark_engine, ibis_postgres_engine], ids=lambda make: make.__name__
)
def test_an_engine_is_asked_the_golden_statements(make: Any, request: pytest.FixtureRequest) -> None:
    golden = GOLDEN / f"{make.__name__.removesuffix('_engine')}.sql"
    statements = said(make(request))
    if os.environ.get("UNLISTED_WRITE_GOLDEN") == "1":
        golden.write_text(statements, encoding="utf-8")
    assert statements == golden.read_text(encoding="utf-8")
