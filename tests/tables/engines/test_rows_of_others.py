"""Rows that once decided what became of other people's rows, or whether anybody got an answer: each once more."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.tables.fixtures.asked import all_counts, question
from tests.tables.fixtures.engines import installed
from tests.tables.fixtures.hostile_values import LATIN, decimals, texts

from unlisted.counts.readable import LONGEST_USER
from unlisted.errors import ChargedFailureError, InvalidArgumentError
from unlisted.tables.engines.duckdb import engine
from unlisted.tables.engines.duckdb.frames import same_text
from unlisted.tables.table import Table, table

ASKED = question("item", items_per_user=2)
KNOWN = "é".encode()
"""DuckDB looks at the bytes of a column until it has seen a letter that is not ASCII."""


@pytest.mark.parametrize("where", [None, "seen IS NOT NULL", "seen IS NULL"])
def test_an_interval_is_there_however_the_file_is_read(where: str | None, tmp_path: Path) -> None:
    """One text that is no UTF-8 lets Arrow read the file, to which an interval of DuckDB is twelve bytes."""
    items = [KNOWN, b"a", b"a", b"b", b"b"]
    found = []
    for given in (items, [*items, LATIN]):
        path = tmp_path / f"{len(given)}.parquet"
        with duckdb.connect() as connection:
            connection.register("given", pa.table({"n": range(len(given)), "item": texts(given)}))
            seen = "CASE WHEN n <> 2 THEN to_days(n::INT) END AS seen"
            connection.execute(f"COPY (SELECT 'u' || n AS user, item, {seen} FROM given) TO '{path}'")
        source = table(path, user="user")
        found.append(all_counts(source, question("item", items_per_user=2, where=where)))
        assert (source.engine.state() in engine._NEEDS_CARE) == (len(given) > len(items))
    assert found[0] == found[1]
    assert found[0]


def kept_by_duckdb(folder: Path, **columns: pa.Array) -> Table:
    """A table of a DuckDB file, in which DuckDB was glad to keep what it was given."""
    path = folder / f"{len(list(folder.iterdir()))}.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("given", pa.table(columns))
        connection.execute("CREATE TABLE rows AS SELECT * FROM given")
    return table(path, user="user", table="rows")


@pytest.mark.parametrize("role", ["user", "item", "seen"])
@pytest.mark.parametrize("bad", [LATIN, b"\xed\xa0\x80", b"long enough to lie elsewhere: \xff"])
def test_a_text_that_is_none_in_a_duckdb_file(role: str, bad: bytes, tmp_path: Path) -> None:
    calm = {"user": [b"a", b"b", b"c"], "item": [b"i", b"j", b"i"], "seen": [b"x", b"y", b"z"]}
    where = "seen <> 'y'" if role == "seen" else None
    found = []
    for last in (None, bad):
        columns = {name: texts([KNOWN, *cells, (last if name == role else b"i")]) for name, cells in calm.items()}
        asked = question("item", items_per_user=2, where=where)
        found.append(all_counts(kept_by_duckdb(tmp_path, **columns), asked))
    assert found[0] == found[1]
    assert found[0]


def test_the_least_decimal_of_all_takes_nobodys_number(tmp_path: Path) -> None:
    """DuckDB does not write a decimal that does not fit: what it reads was somebody else's, or nobody's."""
    calm = [100 * (n % 5 + 1) for n in range(40)]
    items = pa.array([f"i{n}" for n in range(44)])
    user = decimals([*calm, *[-(2**127)] * 4], 10)
    for frame in (pa.table({"user": user, "item": items}), _lazily(user, items)):
        for _ in range(3):
            found = all_counts(table(frame, user="user"), question("item", items_per_user=50))
            assert found == {(f"i{n}",): 1 for n in range(40)}


def _lazily(user: pa.Array, item: pa.Array) -> Any:
    return installed("polars").from_arrow(pa.table({"user": user, "item": item})).lazy()


@pytest.mark.parametrize("number", ["1e-999999999", "-3E-999999", "0E-999999999", "0E+999999999", "1e999999999"])
def test_a_decimal_far_away_is_no_work(number: str) -> None:
    """As a fraction it would have a billion digits."""
    said = same_text(Decimal(number))
    assert said == ("0" if Decimal(number) == 0 else None)


def _panicking(at_row: str) -> Any:
    """A plan that panics at a row, as a mistake in Polars would: no exception of Python's."""
    polars = installed("polars")
    panic = polars.exceptions.PanicException

    def looked_at(value: str) -> str:
        if value == at_row:
            raise panic("index out of bounds")
        return value

    frame = polars.LazyFrame({"user": [f"u{n}" for n in range(2000)], "item": ["i"] * 2000})
    return frame.with_columns(polars.col("user").map_elements(looked_at, return_dtype=polars.String))


def test_a_plan_that_panics_ends_the_question_and_not_the_rows(capfd: pytest.CaptureFixture[str]) -> None:
    """Polars says that there are no more rows then, and everybody behind that row would be gone."""
    if not hasattr(installed("polars").LazyFrame, "collect_batches"):
        pytest.skip("this Polars has no batches, and collects, or raises")
    assert all_counts(table(_panicking("nobody"), user="user"), question("item")) == {("i",): 2000}
    with pytest.raises(ChargedFailureError):
        all_counts(table(_panicking("u1000"), user="user"), question("item"))
    capfd.readouterr()


def test_a_plan_whose_schema_panics_is_refused_in_words(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    polars = installed("polars")
    wide = pa.array([Decimal(1)], pa.decimal256(76, 0))
    pq.write_table(pa.table({"user": ["a"], "item": ["i"], "wide": wide}), tmp_path / "wide.parquet")
    with pytest.raises(InvalidArgumentError, match="schema can be planned"):
        table(polars.scan_parquet(tmp_path / "wide.parquet"), user="user").columns()
    capfd.readouterr()


@pytest.mark.parametrize(
    ("typed", "long"),
    [("bytea", "repeat('h', 540000000)::bytea"), ("text", "repeat('h', 5000000)")],
)
def test_a_user_that_postgres_cannot_say(typed: str, long: str, postgres_url: str) -> None:
    """Written in hexadecimal digits, such bytes are more than the server allocates at once."""
    psycopg = installed("psycopg")
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute("DROP TABLE IF EXISTS long_users")
        server.execute(f'CREATE TABLE long_users ("user" {typed}, item text, seen text)')
        server.execute("INSERT INTO long_users VALUES ('a', 'i', 'b'), ('b', 'i', 'b'), ('b', 'j', 'b')")
        server.execute(f"INSERT INTO long_users SELECT {long}, 'i', 'b'")
        server.execute("INSERT INTO long_users VALUES (repeat('c', 2047)::%s, 'j', 'b')" % typed)  # noqa: UP031
    try:
        source = table(postgres_url, user="user", table="long_users")
        for where in (None, "seen = 'b'"):
            asked = question("item", items_per_user=2, where=where)
            assert all_counts(source, asked) == {("i",): 2, ("j",): 2}
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as server:
            server.execute("DROP TABLE long_users")


def test_a_name_of_a_megabyte_is_not_kept_for_each_item(tmp_path: Path) -> None:
    """In a file it is written once; with ten thousand items it was ten gigabytes."""
    items = 10_000
    names = pa.DictionaryArray.from_arrays(pa.array([0] * items + [1, 2]), pa.array(["x" * 1_000_000, "a", "b"]))
    rows = pa.table({"user": names, "item": [*(f"i{n}" for n in range(items)), "i", "i"]})
    pq.write_table(rows, tmp_path / "rows.parquet")
    assert all_counts(table(tmp_path / "rows.parquet", user="user"), ASKED) == {("i",): 2}
    assert all_counts(table(rows, user="user"), ASKED) == {("i",): 2}
    assert LONGEST_USER < 1_000_000
