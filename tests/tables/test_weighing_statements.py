"""Golden SQL: what each engine is asked when labels are weighed. `UNLISTED_WRITE_GOLDEN=1` writes it anew."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pyarrow as pa
import pyarrow.parquet
import pytest

from unlisted.counts.weights import UNIT, Rerouting
from unlisted.tables.amounts import Amounts
from unlisted.tables.bounding import Choice, distinct_pairs
from unlisted.tables.count_query import CountQuery
from unlisted.tables.engines.duckdb.formats import file_engine
from unlisted.tables.engines.engine import Engine
from unlisted.tables.engines.postgres.engine import PostgresEngine
from unlisted.tables.engines.spark import SparkEngine
from unlisted.tables.found import (
    counts_query,
    other_values_query,
    pairs_of_taken_query,
    scaled_query,
    scaled_sums_query,
    users_by_size_query,
    users_of_others_query,
    users_query,
    values_of_users_query,
)
from unlisted.tables.items import item_columns
from unlisted.tables.rerouting import adaptive_query
from unlisted.tables.weighing import (
    bucket_of,
    buckets_query,
    chosen_query,
    full_query,
    kept_query,
    left_query,
    named_query,
    sizes_query,
    taken_query,
    weights_query,
)

GOLDEN = Path(__file__).parent / "golden" / "weighing"
ROWS = pa.schema({"user_id": pa.int64(), "query": pa.string(), "price": pa.float64()}).empty_table()
QUESTIONS = {
    "a text": CountQuery(("query",)),
    "a text and a number": CountQuery(("query", "price")),
    "an amount": CountQuery(("query",), amounts=Amounts("price", 100, -500, 5000)),
}


@pytest.fixture
def duckdb(tmp_path: Path) -> Engine:
    pyarrow.parquet.write_table(ROWS, tmp_path / "searches.parquet")
    return file_engine(str(tmp_path / "searches.parquet"), None, None)


@pytest.fixture
def postgres(postgres_url: str) -> Iterator[Engine]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("""
            CREATE SCHEMA weighing;
            CREATE TABLE weighing.searches (user_id bigint, query varchar(90), price float8)""")
        yield PostgresEngine(postgres_url, "weighing.searches")
        connection.execute("DROP SCHEMA weighing CASCADE")


@pytest.fixture
def spark(request: pytest.FixtureRequest) -> Engine:
    return SparkEngine(request.getfixturevalue("spark_session").createDataFrame(ROWS))


def said(engine: Engine, asked: CountQuery) -> dict[str, str]:
    """Every kind of statement, each under its name."""
    items = item_columns(asked.items, engine.columns())
    choice, bucket = Choice(engine, items, bytes(16)), bucket_of(UNIT // 8, 40)
    statements = {
        "distinct pairs": distinct_pairs(engine, "user_id", asked, items, bytes(16)).query,
        "pairs of labels not taken out": left_query(items, "taken", None),
        "pairs of labels in play": left_query(items, None, "in_play"),
        "the same, not taken out": left_query(items, "taken", "in_play"),
        "how many pairs users have": sizes_query("left"),
        "pairs within the bound": kept_query(choice, 100, "left"),
        "weights in full": full_query(choice, 100, "left", "sizes"),
        "weights with giving back": adaptive_query(items, "kept_pairs", Rerouting(20 * UNIT, 50)),
        "how many labels are in each bucket": buckets_query("weights", bucket),
        "labels chosen by their places": chosen_query(items, "weights", bucket),
        "labels at places": named_query(items, "chosen"),
        "weights at places": weights_query("chosen"),
        "labels taken out": taken_query(items, "chosen", None),
        "labels taken out after others": taken_query(items, "chosen", "taken"),
        "users of labels taken out": counts_query(items, "taken"),
        "users of no labels": counts_query(items, None),
        "pairs of labels taken out": pairs_of_taken_query(items, "taken"),
        "pairs of no labels": pairs_of_taken_query(items, None),
        "how many users have how many labels": users_by_size_query("sizes"),
        "what users of labels count for": scaled_query(items, "of_taken", "sizes"),
        "how much users have of labels": scaled_sums_query(items, "of_taken", "sizes"),
        "users with any label": users_query("sizes"),
        "labels of all users": values_of_users_query("sizes", 10),
        "users with other labels": users_of_others_query("sizes", "sizes_of_taken"),
        "other labels": other_values_query(choice, 10, "others"),
    }
    rows = asked.rows("user_id", engine.columns())
    return {name: engine.statement(query, rows) for name, query in statements.items()}


@pytest.mark.parametrize("name", ["duckdb", "postgres", "spark"])
def test_an_engine_is_asked_the_golden_statements(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    engine = request.getfixturevalue(name)
    text = "".join(
        f"-- {item}: {what}\n{statement};\n\n"
        for item, asked in QUESTIONS.items()
        for what, statement in said(engine, asked).items()
    ).replace(str(tmp_path), "FOLDER")
    path = GOLDEN / f"{name}.sql"
    if os.environ.get("UNLISTED_WRITE_GOLDEN") == "1":
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")
