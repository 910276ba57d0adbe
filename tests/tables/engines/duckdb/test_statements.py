"""The SQL that DuckDB is given, word for word. `UNLISTED_WRITE_GOLDEN=1` writes it anew, to be read and kept."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest
from tests.tables.fixtures.asked import SECRET, question
from tests.tables.fixtures.engines import MAKERS

from unlisted.tables.bounding import bounded_counts
from unlisted.tables.counting import fetch_query, large_query, profile_query, top_query
from unlisted.tables.items import item_columns
from unlisted.tables.table import Table

FOLDER = Path(__file__).parent / "golden"
SOURCES = ("parquet", "csv", "jsonl", "duckdb", "pyarrow")

ROWS = pa.table({"user": pa.array([1]), "item": ["x"], "amount": [1.5], "age": pa.array([30])})

QUESTIONS = {
    "users": question("item", items_per_user=10),
    "rows": question("item", "amount", items_per_user=10, count="rows", rows_per_item=3, where="age >= 18"),
    "unbounded": question("item", items_per_user=None),
}


def statements(source: Table, name: str) -> str:
    """Everything that the engine is asked for one question."""
    asked = QUESTIONS[name]
    rows = source.rows(asked)
    items = item_columns(asked.items, source.columns())
    counts = bounded_counts(source.engine, source.user, asked, SECRET)
    named = {
        "bounded counts": counts,
        "the largest 1001": top_query(counts, items, 1000),
        "profile": profile_query(25),
        "above the cut": large_query(items, 25),
        "labels by rank": fetch_query(items),
    }
    return "".join(
        f"-- {name}: {what}\n{source.engine.statement(query, rows)}\n\n" for what, query in named.items()
    )


@pytest.mark.parametrize("kind", SOURCES)
def test_duckdb_is_asked_the_golden_statements(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    source = MAKERS[kind](ROWS, tmp_path, request).table("user")
    said = "".join(statements(source, name) for name in QUESTIONS).replace(str(tmp_path), "FOLDER")
    path = FOLDER / f"{kind}.sql"
    if os.environ.get("UNLISTED_WRITE_GOLDEN") == "1":
        path.write_text(said, "utf-8")
    assert said == path.read_text("utf-8")
