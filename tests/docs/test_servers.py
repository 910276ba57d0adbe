"""The blocks that need a server run too, with a real one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.docs.scripts import BLOCK, DOCS

import unlisted as ul
from unlisted.demo.searches import searches

BLOCKS = {
    block["options"].partition('title="')[2].rstrip('"'): block["body"]
    for page in ("engines.md", "ledger.md", "spark.md")
    for block in BLOCK.finditer((DOCS / page).read_text(encoding="utf-8"))
    if block["kind"] == "python" and 'title="with a ' in block["options"]
}


def test_there_is_a_block_for_each_server() -> None:
    assert set(BLOCKS) == {
        *("with a PostgreSQL server", "with a PostgreSQL ledger"),
        *("with a Spark session", "with a Spark cluster"),
    }


def test_the_postgresql_block(postgres_url: str) -> None:
    psycopg = pytest.importorskip("psycopg")
    rows = searches()
    with psycopg.connect(postgres_url) as connection:
        connection.execute('CREATE TABLE searches ("user" bigint, query text, day date, device text)')
        with connection.cursor().copy('COPY searches ("user", query, day, device) FROM STDIN') as copy:
            for row in zip(*(rows.column(name).to_pylist() for name in rows.column_names), strict=True):
                copy.write_row(row)
    try:
        shown = BLOCKS["with a PostgreSQL server"]
        assert "postgresql://reader@db.example/shop" in shown
        check_release(shown.replace("postgresql://reader@db.example/shop", postgres_url))
    finally:
        with psycopg.connect(postgres_url) as connection:
            connection.execute("DROP TABLE searches")


def test_the_ledger_block(postgres_url: str) -> None:
    shown, names = BLOCKS["with a PostgreSQL ledger"], {"ul": ul}
    assert "postgresql://ledger@db.example/budget" in shown
    exec(shown.replace("postgresql://ledger@db.example/budget", postgres_url), names)
    assert names["left"] == ("0.5", "0.000001")


@pytest.mark.parametrize("title", ["with a Spark session", "with a Spark cluster"])
def test_the_spark_blocks(title: str, spark_session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(searches(), "searches.parquet")
    shown = BLOCKS[title]
    # Spark resolves paths against the folder that its Java process began in.
    check_release(shown.replace("searches.parquet", str(tmp_path / "searches.parquet")), spark=spark_session)


def check_release(code: str, **names: Any) -> None:
    names |= {"ul": ul, "budget": ul.Budget(epsilon=1, delta=1e-8)}
    exec(code, names)
    assert "carbonara" in {row["query"] for row in names["release"].rows}
