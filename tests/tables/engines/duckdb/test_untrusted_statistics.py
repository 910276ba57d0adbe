"""What a file says about its rows decides nothing: guards stay in the plan, and no part of a file is passed over.

DuckDB believes statistics: from a smallest and a largest number it concludes that there is no NaN, and that no row
of a row group can pass a condition. Both are wrong where one row is strange, and both touch everybody's rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.tables.fixtures.asked import SECRET, all_counts, question
from tests.tables.fixtures.hostile_values import people

from unlisted.tables.bounding import bounded_counts
from unlisted.tables.engines.duckdb import databases
from unlisted.tables.table import Table, table

NAN = float("nan")
NUMBERS = people(6, pa.array([1.0, 2.0, NAN, 7.0, 3.0, 6.0]), day=pa.array([0, 1, 2, 3, 4, 5], pa.date32()))


@contextmanager
def opened() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = databases.connected()
    try:
        yield connection
    finally:
        connection.close()


def plan(connection: duckdb.DuckDBPyConnection, statement: str) -> str:
    ((_, said),) = connection.execute(f"EXPLAIN {statement}").fetchall()
    return str(said)


@pytest.fixture
def source(tmp_path: Path) -> Table:
    pq.write_table(NUMBERS, tmp_path / "rows.parquet")
    return table(tmp_path / "rows.parquet", user="user")


def test_the_guard_against_nan_is_in_the_plan(source: Table) -> None:
    relation = source.engine._origin.relation(("item",))  # type: ignore[attr-defined]
    guarded = f"SELECT {source.engine.plain('item')} FROM {relation}"
    with opened() as connection:
        assert "isnan(item)" in plan(connection, guarded).lower()
        assert connection.execute(guarded).fetchall().count((None,)) == 1
        # The check itself: a DuckDB that believes the file has folded the guard, and counts NaN.
        connection.execute("SET disabled_optimizers = ''")
        assert "isnan" not in plan(connection, guarded).lower()
        assert connection.execute(guarded).fetchall().count((None,)) == 0


def test_the_guard_against_bytes_that_are_no_text_is_in_the_plan(tmp_path: Path) -> None:
    path = tmp_path / "rows.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE rows AS SELECT 'u' AS user, 'i' AS item")
    source = table(path, user="user", table="rows")
    with opened() as connection:
        connection.execute(f"ATTACH '{path}' AS kept (READ_ONLY)")
        said = plan(connection, f"SELECT {source.engine.plain('item')} FROM kept.rows")
    assert "TRY(DECODE(ENCODE(ITEM)))" in said.upper()


def test_calendars_stay_in_the_plan(source: Table) -> None:
    relation = source.engine._origin.relation(("day",))  # type: ignore[attr-defined]
    with opened() as connection:
        said = plan(connection, f"SELECT {source.engine.plain('day')} FROM {relation}")
    assert "0001-01-01" in said
    assert "9999-12-31" in said


@pytest.mark.parametrize(
    "where", [None, "item > 5", "age >= 3", "day > DATE '1970-01-03'", "item > 5 AND age = 3"]
)
@pytest.mark.parametrize("bound", [None, 2])
def test_no_condition_is_handed_to_whoever_reads_the_file(
    source: Table, where: str | None, bound: int | None
) -> None:
    asked = question("item", items_per_user=bound, where=where)
    statement = source.engine.statement(bounded_counts(source.engine, "user", asked, SECRET), source.rows(asked))
    with opened() as connection:
        said = plan(connection, statement)
        # What a scan filters by stands in its box; elsewhere conditions are called expressions.
        assert "READ_PARQUET" in said
        assert "Filters:" not in said
        connection.execute("SET disabled_optimizers = ''")
        assert where is None or "Filters:" in plan(connection, statement), "the check would see it"


def test_every_untrusted_optimisation_that_there_is_is_off() -> None:
    with opened() as connection:
        (off,) = connection.execute("SELECT current_setting('disabled_optimizers')").fetchall()[0]
        there = {name for (name,) in connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()}
    assert set(off.split(",")) == there & set(databases.UNTRUSTED)
    assert {"statistics_propagation", "filter_pushdown"} <= there


@pytest.mark.parametrize("where", ["item > 5", "item < 2", "item = 7", "item >= 1"])
@pytest.mark.parametrize("groups", [1, 2, 6])
def test_a_nan_passes_over_no_row_group(where: str, groups: int, tmp_path: Path) -> None:
    pq.write_table(NUMBERS, tmp_path / "rows.parquet", row_group_size=groups, write_page_index=True)
    found = all_counts(table(tmp_path / "rows.parquet", user="user"), question("item", where=where))
    sign, number = where.split()[1:]
    truth = {">": float.__gt__, "<": float.__lt__, "=": float.__eq__, ">=": float.__ge__}[sign]
    assert set(found) == {(x,) for x in (1.0, 2.0, 7.0, 3.0, 6.0) if truth(x, float(number))}


@pytest.mark.parametrize("where", ["city = 'mmmm'", "city >= 'mmmm'", "city LIKE 'mm%'", "city IN ('mmmm', 'b')"])
def test_statistics_that_lie_pass_over_no_row_group(where: str, tmp_path: Path) -> None:
    """Old writers order texts by signed bytes: one text beyond ASCII makes everybody's city look out of range."""
    city = pa.array(["mmmm"] * 500 + ["kkkk"] * 500)
    rows = people(1000, pa.array(["x"] * 1000), city=city)
    path = tmp_path / "rows.parquet"
    pq.write_table(rows, path, use_dictionary=False, compression="none", column_encoding={"city": "PLAIN"})
    raw = path.read_bytes()
    footer = raw.rindex(b"mmmm")
    # In the footer the largest city is said to be smaller than all there are.
    lying = raw[: footer - 20] + raw[footer - 20 :].replace(b"mmmm", b"aaaa").replace(b"kkkk", b"aaaa")
    assert lying != raw
    path.write_bytes(lying)
    with duckdb.connect() as believing:
        assert believing.execute(f"SELECT COUNT(*) FROM '{path}' WHERE {where}").fetchall() == [(0,)], "believed"
    assert all_counts(table(path, user="user"), question("item", where=where)) == {("x",): 500}


def test_lying_statistics_of_whole_numbers_change_no_number(tmp_path: Path) -> None:
    """DuckDB packs numbers as tightly as their statistics allow, and would unpack others."""
    rows = people(1000, pa.array([i % 7 + 100_000 for i in range(1000)], pa.int64()))
    path = tmp_path / "rows.parquet"
    pq.write_table(rows, path, use_dictionary=False, compression="none")
    raw = path.read_bytes()
    largest = (100_006).to_bytes(8, "little")
    at = raw.rindex(largest)
    footer = raw[at - 40 :].replace(largest, (100_001).to_bytes(8, "little"))
    path.write_bytes(raw[: at - 40] + footer)
    found = all_counts(table(path, user="user"), question("item", items_per_user=2))
    assert set(found) == {(i + 100_000,) for i in range(7)}


def test_a_bloom_filter_passes_over_nothing(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    with duckdb.connect() as connection:
        connection.register("given", people(3000, pa.array([f"item{i % 3}" for i in range(3000)])))
        connection.execute(f"COPY (SELECT * FROM given) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)")
    found = all_counts(table(path, user="user"), question("item", where="item = 'item1'"))
    assert found == {("item1",): 1000}
