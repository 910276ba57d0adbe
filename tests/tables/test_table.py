"""`ul.table`: every kind of source finds its engine, and what cannot be opened is refused in our own words."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.tables.fixtures.asked import all_counts, question

from unlisted.errors import InvalidArgumentError
from unlisted.tables.column_types import ColumnType
from unlisted.tables.table import table

ROWS = pa.table({"user": ["a", "b"], "item": ["x", "x"]})


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "data.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT * FROM (VALUES ('a', 'x'), ('b', 'x')) AS v(\"user\", item)"
        )
        connection.execute("CREATE SCHEMA more; CREATE VIEW more.recent AS SELECT * FROM main.visits")
        connection.execute("CREATE VIEW plain AS SELECT * FROM visits")
        connection.execute("CREATE VIEW far AS SELECT * FROM visits")
        connection.execute("CREATE TABLE gone AS SELECT 1 AS x; CREATE VIEW broken AS SELECT * FROM gone")
        connection.execute("DROP TABLE gone")
    return path


def test_making_a_table_opens_nothing() -> None:
    for source, keywords in [
        ("no-such-file.parquet", {}),
        ("no-such-file.csv", {"types": {"age": "int"}}),
        ("no-such-file.duckdb", {"table": "rows"}),
        ("postgresql://nobody@localhost:1/nothing", {"table": "rows"}),
    ]:
        assert repr(table(source, user="user", **keywords)).startswith("<Table: ")


@pytest.mark.parametrize(
    ("source", "keywords", "message"),
    [
        ("missing.parquet", {}, "a path or glob of files that exist"),
        ("missing-*.csv", {}, "a path or glob of files that exist"),
        ("no\0name.csv", {}, "a path or glob of files that exist"),
        ("no\0name.duckdb", {"table": "x"}, "the path of a DuckDB file that exists"),
        ("src", {}, "a folder of files of one kind"),
        (
            "rows.docx",
            {},
            ".csv, .tsv, .txt, .jsonl, .ndjson, .json, .parquet, .pq",
        ),
        ("rows.sqlite", {"table": "x"}, "the path of a SQLite file that can be read"),
        ("rows.csv.zip", {}, "Unpack it first"),
        ("rows.parquet", {"sep": ";"}, "left out for a Parquet file. Only CSV files have separators"),
        ("rows.jsonl", {"header": ["a"]}, "left out for a JSON file. Its columns have their names"),
        ("rows.duckdb", {"table": "x", "decimal": ","}, "left out for a DuckDB file"),
        ("postgresql://x@localhost/y", {"table": "x", "encoding": "latin-1"}, "left out for a PostgreSQL table"),
        ("https://example.org/rows.csv", {}, "Download the file first"),
        ("mysql://reader:secret@db/shop", {"table": "x"}, "source = 'mysql://...' is not allowed"),
        (["a.csv", "b.parquet"], {}, "They are of different kinds"),
        (["a.duckdb", "b.duckdb"], {"table": "x"}, "one DuckDB file"),
        ("missing.duckdb", {"table": "x"}, "the path of a DuckDB file that exists"),
        ("missing.duckdb", {}, 'Say which: table="name"'),
        ("rows.parquet", {"table": "x"}, "left out for a Parquet file. It is one table already"),
        ("rows.csv", {"table": "x"}, "left out for a CSV file. It is one table already"),
        ("rows.duckdb", {"table": "x", "types": {"a": "int"}}, "only those of text files are declared"),
        (ROWS, {"table": "x"}, "left out for a data frame. It is one table already"),
        (ROWS, {"types": {"a": "int"}}, "left out for a data frame. Its columns have their types"),
        (5, {}, "a path, a glob, a folder or a list of them"),
        ([("a", "x")], {}, "a path, a glob, a folder or a list of them"),
        (None, {}, "a path, a glob, a folder or a list of them"),
    ],
)
def test_sources_that_are_none_are_refused(source: Any, keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=re.escape(message)):
        table(source, user="user", **keywords).columns()


def test_a_folder_of_no_kind_or_several_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "rows.parquet"
    folder.mkdir()
    with pytest.raises(InvalidArgumentError, match=re.escape("In it are no files.")):
        table(folder, user="user").columns()
    (folder / "notes.md").touch()
    (folder / "rows.csv").touch()
    (folder / "rows.parquet").touch()
    with pytest.raises(InvalidArgumentError, match=re.escape("In it are .csv, .md, .parquet. Name")):
        table(folder, user="user").columns()


@pytest.mark.parametrize("user", [None, "", 3])
def test_a_user_column_must_be_named(user: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="whose row it is"):
        table(ROWS, user=user)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"user,item\nprivate,words\n", b"PAR1 private words PAR1"])
def test_a_file_that_is_no_parquet_is_refused_without_quoting_it(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rows.parquet"
    path.write_bytes(content)
    with pytest.raises(InvalidArgumentError, match="is not a Parquet file") as refused:
        table(path, user="user").columns()
    assert "private" not in str(refused.value).removeprefix(str(path))
    assert refused.value.__suppress_context__


def test_several_parquet_files_are_one_table(tmp_path: Path) -> None:
    for part in range(3):
        folder = tmp_path / f"day={part}"
        folder.mkdir()
        pyarrow.parquet.write_table(ROWS, folder / "part.parquet")
    (tmp_path / "day=1" / "empty.parquet").touch()
    source = table(f"{tmp_path}/**/part.parquet", user="user")
    assert list(source.columns()) == ["user", "item", "day"]
    assert all_counts(source, question("item", count="rows", rows_per_item=9)) == {("x",): 6}


def test_parquet_files_with_different_columns_are_refused(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(ROWS, tmp_path / "1.parquet")
    pyarrow.parquet.write_table(ROWS.rename_columns(["user", "thing"]), tmp_path / "2.parquet")
    with pytest.raises(InvalidArgumentError, match="different columns or types"):
        table(f"{tmp_path}/*.parquet", user="user").columns()


@pytest.mark.parametrize("name", ["a[1].parquet", "b*.parquet", "c?.parquet", "it's.parquet", "ünï 😀.parquet"])
def test_files_may_have_any_name(tmp_path: Path, name: str) -> None:
    pyarrow.parquet.write_table(ROWS, tmp_path / name)
    pyarrow.parquet.write_table(ROWS, tmp_path / "bc.parquet")
    assert all_counts(table(tmp_path / name, user="user"), question("item")) == {("x",): 2}


@pytest.mark.parametrize("name", ["visits", "main.visits", "more.recent", "plain"])
def test_tables_and_views_of_a_database_are_found(database: Path, name: str) -> None:
    before = database.read_bytes()
    source = table(database, user="user", table=name)
    assert source.columns() == {"user": ColumnType.TEXT, "item": ColumnType.TEXT}
    assert all_counts(source, question("item")) == {("x",): 2}
    assert database.read_bytes() == before


def test_a_table_that_is_not_there_is_refused_with_those_that_are(database: Path) -> None:
    with pytest.raises(
        InvalidArgumentError, match=re.escape("The tables are: broken, far, plain, visits, more.recent.")
    ):
        table(database, user="user", table="visit").columns()
    with pytest.raises(InvalidArgumentError, match="It is a view of something that cannot"):
        table(database, user="user", table="broken").columns()


def test_a_database_that_is_none_or_in_use_is_refused(database: Path) -> None:
    with duckdb.connect(str(database)), pytest.raises(InvalidArgumentError, match="open elsewhere"):
        table(database, user="user", table="visits").columns()
    database.write_bytes(b"the private words of a row" * 1000)
    with pytest.raises(InvalidArgumentError, match="not a DuckDB file") as refused:
        table(database, user="user", table="visits").columns()
    assert "private" not in str(refused.value)


def test_kinds_of_columns_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "kinds.duckdb"
    kinds = {
        "'x'": "text", "'[1]'::JSON": "text", "uuid()": "text", "'a'::ENUM('a', 'b')": "text", "1::TINYINT": "int",
        "1::HUGEINT": "int", "1::UBIGINT": "int", "1::UHUGEINT": "other", "1.5::DECIMAL(9,2)": "decimal",
        "1.5::FLOAT": "float", "1.5::DOUBLE": "float", "true": "bool", "DATE '2024-01-01'": "date",
        "TIMESTAMP '2024-01-01'": "timestamp", "TIMESTAMP_NS '2024-01-01'": "timestamp",
        "TIMESTAMP_S '2024-01-01'": "timestamp", "TIMESTAMPTZ '2024-01-01'": "timestamp with a time zone",
        "TIME '10:00'": "other", "INTERVAL 1 DAY": "other", "'x'::BLOB": "other", "[1]": "other",
        "{'a': 1}": "other", "['x']": "other",
        "MAP {'a': 1}": "other", "'1'::BIT": "other",
    }  # fmt: skip
    with duckdb.connect(str(path)) as connection:
        columns = ", ".join(f"{value} AS c{at}" for at, value in enumerate(kinds))
        connection.execute(f'CREATE TABLE "rows" AS SELECT {columns}')
    found = table(path, user="c0", table="rows").columns()
    assert {value: kind.value for value, kind in zip(kinds, found.values(), strict=True)} == kinds


@pytest.mark.parametrize(
    "value",
    ["TIMESTAMP 'infinity'", "TIMESTAMP '290000-01-01'", "DATE '-infinity'", "DATE '10000-01-01'",
     "TIMESTAMP_S '290000-01-01'", "TIMESTAMP_MS '0044-03-15 (BC)'"],
)  # fmt: skip
def test_moments_that_python_cannot_hold_are_no_labels(tmp_path: Path, value: str) -> None:
    path = tmp_path / "rows.duckdb"
    usual = value.partition("'")[0] + "'2024-02-29'"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            f'CREATE TABLE "rows" AS SELECT 1 AS "user", {value} AS item UNION ALL SELECT 2, {usual}'
        )
    found = all_counts(table(path, user="user", table="rows"), question("item"))
    assert [str(label[0])[:10] for label in found] == ["2024-02-29"]


def test_users_may_be_of_types_that_are_no_items(tmp_path: Path) -> None:
    path = tmp_path / "rows.duckdb"
    values = ["'x'::BLOB", "uuid()", "TIMESTAMPTZ '2024-01-01'", "1.5::DECIMAL(9,2)"]
    with duckdb.connect(str(path)) as connection:
        for at, value in enumerate(values):
            connection.execute(f'CREATE TABLE t{at} AS SELECT {value} AS "user", i AS item FROM range(9) AS r(i)')
    for at, value in enumerate(values):
        found = all_counts(table(path, user="user", table=f"t{at}"), question("item", items_per_user=4))
        assert sum(found.values()) == (9 if value == "uuid()" else 4), value


def test_memory_can_be_limited_and_nonsense_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNLISTED_MEMORY_LIMIT", "200MB")
    assert all_counts(table(ROWS, user="user"), question("item")) == {("x",): 2}
    monkeypatch.setenv("UNLISTED_MEMORY_LIMIT", "a lot")
    # A schema that this process has described before needs no database.
    never_seen = ROWS.rename_columns({"item": "thing with limited memory"})
    with pytest.raises(InvalidArgumentError, match="such as 4GB"):
        table(never_seen, user="user").columns()


def test_a_question_without_a_predicate_needs_no_other_engine_and_no_parser(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("user,item\na,x\n")
    program = """
import sys
from unlisted.tables.bounding import fresh_secret
from unlisted.tables.counting import count_top
from unlisted.tables.count_query import CountQuery
from unlisted.tables.table import table
source = table(sys.argv[1], user="user")
found = count_top(source, CountQuery(("item",), items_per_user=1), fetch=5, secret=fresh_secret())
assert found.labels.to_pylist() == ["x"]
heavy = {"sqlglot", "ibis", "pandas", "polars", "pyspark", "psycopg", "scipy", "mpmath", "sqlalchemy"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
