"""Spark: values by their bytes, rows computed once, and a session that is left as it was."""

from __future__ import annotations

import hashlib
from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.tables.fixtures.asked import all_counts, question

from unlisted.errors import ChargedFailureError, InvalidArgumentError
from unlisted.tables.engines.dialect import quoted
from unlisted.tables.engines.engine import Rows
from unlisted.tables.engines.spark import SparkEngine
from unlisted.tables.predicate.grammar import parse_predicate
from unlisted.tables.table import table


def plain_values(frame: Any) -> dict[str, list[Any]]:
    """Return all columns as plain values, in the order of the rows."""
    engine = SparkEngine(frame)
    names = tuple(engine.columns())
    selected = ", ".join(f"{engine.plain(name)} AS {quoted(name)}" for name in names)
    with engine.world(Rows(names)) as world:
        found: dict[str, list[Any]] = world.answer(f'SELECT {selected} FROM "unlisted_source"').to_pydict()
    return found


def test_a_column_is_what_the_frame_says_it_is(spark_session: Any) -> None:
    frame = spark_session.sql("""
        SELECT 1Y AS a, 1S AS b, 1 AS c, 1L AS d, 1F AS e, 1D AS f, 1.5BD AS g, true AS h, DATE'2024-01-01' AS i,
        TIMESTAMP_NTZ'2024-01-01' AS j, 'x' AS k, 'x' COLLATE UTF8_LCASE AS l, TIMESTAMP'2024-01-01' AS m,
        X'00' AS n, array(1) AS o, map(1, 2) AS p, struct(1) AS q""")
    assert {name: kind.value for name, kind in SparkEngine(frame).columns().items()} == {
        **dict.fromkeys("abcd", "int"),
        **dict.fromkeys("ef", "float"),
        "g": "decimal",
        "h": "bool",
        "i": "date",
        "j": "timestamp",
        **dict.fromkeys("kl", "text"),
        **dict.fromkeys("mnopq", "other"),
    }


def test_the_schema_is_read_without_a_row(spark_session: Any) -> None:
    frame = spark_session.sql("SELECT raise_error('a row was read') AS item, id AS who FROM range(3)")
    assert list(SparkEngine(frame).columns()) == ["item", "who"]


def test_plain_values_are_their_bytes_and_none_raises(spark_session: Any) -> None:
    columns = {
        "text": (["'a '", "CAST(X'ff61' AS STRING)", "NULL"], ["a ", None, None]),
        "double": (["1D", "double('NaN')", "double('Infinity')"], [1.0, None, float("inf")]),
        "real": (["float('0.1')", "float('NaN')", "NULL"], [pa.scalar(0.1, pa.float32()).as_py(), None, None]),
        "number": (["1.50BD", "1.5BD", "NULL"], [Decimal("1.50"), Decimal("1.50"), None]),
        "day": (["DATE'-0044-03-15'", "DATE'+10000-01-01'", "DATE'2024-02-29'"], [None, None, date(2024, 2, 29)]),
        "time": (["TIMESTAMP_NTZ'2024-02-29 01:00:00'", "NULL", "NULL"], [datetime(2024, 2, 29, 1), None, None]),
        "bytes": (["X'00'", "X'ff'", "NULL"], [b"\0", b"\xff", None]),
        "truth": (["true", "false", "NULL"], [True, False, None]),
    }
    rows = zip(*(values for values, _ in columns.values()), strict=True)
    values = ", ".join(f"({', '.join(row)})" for row in rows)
    names = ", ".join(columns)
    found = plain_values(spark_session.sql(f"SELECT * FROM VALUES {values} AS v({names})").coalesce(1))
    assert found == {name: expected for name, (_, expected) in columns.items()}


@pytest.mark.parametrize("collation", ["UTF8_LCASE", "UTF8_BINARY_RTRIM", "UNICODE_CI_AI"])
def test_texts_are_grouped_by_their_bytes(spark_session: Any, collation: str) -> None:
    words = ["a", "A", "a ", "á"]
    frame = spark_session.createDataFrame(pa.table({"c": words})).selectExpr(f"c COLLATE {collation} AS c")
    engine = SparkEngine(frame)
    query = f'SELECT DISTINCT {engine.plain("c")} AS "v" FROM "unlisted_source"'
    with engine.world(Rows(("c",))) as world:
        assert Counter(world.answer(query)["v"].to_pylist()) == Counter(words)


def test_texts_are_ordered_by_their_bytes(spark_session: Any) -> None:
    words = ["Z", "a", "é", "z", "￿", "𝄞", "B"]
    frame = spark_session.createDataFrame(pa.table({"c": words})).selectExpr("c COLLATE UNICODE_CI AS c")
    engine = SparkEngine(frame)
    with engine.world(Rows(("c",))) as world:
        found = world.answer(f'SELECT {engine.plain("c")} AS "v" FROM "unlisted_source" ORDER BY "v"')
    assert found["v"].to_pylist() == sorted(words, key=str.encode)


def test_the_hash_and_the_length_are_those_of_utf_8(spark_session: Any) -> None:
    words = ["", "é", "100%", "it's", 'quo"te', "back\\slash", "𝄞" * 40, "{brace}"]
    with SparkEngine(spark_session.createDataFrame(pa.table({"t": words}))).world(Rows(("t",))) as world:
        rows = world.answer(
            'SELECT "t", SHA256("t") AS "h", STRLEN("t") AS "l" FROM "unlisted_source"'
        ).to_pylist()
    expected = [{"t": w, "h": hashlib.sha256(w.encode()).hexdigest(), "l": len(w.encode())} for w in words]
    assert sorted(rows, key=str) == sorted(expected, key=str)


def test_a_random_column_has_one_value_in_a_world(spark_session: Any) -> None:
    random = "reflect('java.util.UUID', 'randomUUID')"
    engine = SparkEngine(spark_session.sql(f"SELECT id, {random} AS x FROM range(50)"))
    twice = """
        WITH "once" AS MATERIALIZED (SELECT "id", "x" FROM "unlisted_source")
        SELECT "a"."x" AS "x" FROM "once" AS "a" JOIN "once" AS "b" USING ("id") WHERE "a"."x" = "b"."x" """
    with engine.world(Rows(("id", "x"))) as world:
        world.keep("kept", twice)
        first, second = (set(world.answer('SELECT "x" FROM "kept"')["x"].to_pylist()) for _ in range(2))
    assert len(first) == 50
    assert first == second
    with engine.world(Rows(("id", "x"))) as world:
        assert first.isdisjoint(world.answer(twice)["x"].to_pylist())


def test_a_frame_is_never_read_again_in_a_world(spark_session: Any) -> None:
    engine = SparkEngine(spark_session.range(3))
    with engine.world(Rows(("id",))) as world:
        world.answer('SELECT "id" FROM "unlisted_source"')
        with pytest.raises(RuntimeError, match="once"):
            world.answer('SELECT "id" FROM "unlisted_source"')


def test_a_world_does_not_see_files_change(spark_session: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pa.table({"what": ["a", "a", "b"]}), path)
    engine = SparkEngine(spark_session.read.parquet(str(path)))
    with engine.world(Rows(("what",))) as world:
        world.keep("counts", 'SELECT "what", COUNT(*) AS "n" FROM "unlisted_source" GROUP BY 1')
        path.unlink()
        world.lend("wanted", pa.table({"n": [2], "rank": [0]}))
        kept = world.answer('SELECT "what", "n" FROM "counts" JOIN "wanted" USING ("n")')
    assert kept.to_pydict() == {"what": ["a"], "n": [2]}


def test_worlds_of_one_session_do_not_meet_and_leave_nothing_behind(spark_session: Any) -> None:
    before = spark_session.catalog.listTables()
    settings = dict(spark_session.sql("SET").collect())
    read = 'SELECT "x" FROM "kept" ORDER BY 1'
    ones, twos = (SparkEngine(spark_session.sql(f"SELECT {x} AS x")) for x in (1, 2))
    with ones.world(Rows(("x",))) as first, twos.world(Rows(("x",))) as second:
        for world in (first, second):
            world.keep("kept", 'SELECT "x" FROM "unlisted_source"')
        assert [world.answer(read)["x"].to_pylist() for world in (first, second)] == [[1], [2]]
        assert spark_session.catalog.listTables() != before
    assert spark_session.catalog.listTables() == before
    assert dict(spark_session.sql("SET").collect()) == settings


def test_views_go_away_after_a_failure_too(spark_session: Any) -> None:
    before = spark_session.catalog.listTables()
    engine = SparkEngine(spark_session.sql("SELECT raise_error('a secret row') AS x FROM range(1)"))
    with pytest.raises(Exception, match="a secret row"), engine.world(Rows(("x",))) as world:
        world.keep("kept", 'SELECT "x" FROM "unlisted_source"')
    assert spark_session.catalog.listTables() == before


def test_what_spark_says_about_a_row_reaches_nobody(spark_session: Any) -> None:
    frame = spark_session.sql("SELECT 1 AS who, CAST('a secret row' || id AS INT) AS x FROM range(3)")
    with pytest.raises(ChargedFailureError) as failed:
        all_counts(table(frame, user="who"), question("x"))
    assert str(failed.value) == "could not be answered; charged; see the log"
    assert failed.value.__cause__ is None
    assert failed.value.__suppress_context__


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("t = 'ab'", [1]),
        ("t < 'a'", [2, 3]),
        ("t LIKE '100!%' ESCAPE '!' OR t = 'it''s \\'", [3, 4]),
        ("EXTRACT(dow FROM d) = 0 OR EXTRACT(isodow FROM d) = 1", [1, 2]),
    ],
)
def test_predicates_see_texts_by_their_bytes(spark_session: Any, where: str, expected: list[int]) -> None:
    days = [date(2024, 1, 7), date(2024, 1, 8), None, None]
    rows = pa.table({"n": [1, 2, 3, 4], "t": ["ab", "AB", "100%", "it's \\"], "d": days})
    frame = spark_session.createDataFrame(rows).selectExpr("n", "t COLLATE UTF8_LCASE AS t", "d")
    engine = SparkEngine(frame)
    with engine.world(Rows(("n",), parse_predicate(where, engine.columns()))) as world:
        assert world.answer('SELECT "n" FROM "unlisted_source" ORDER BY 1')["n"].to_pylist() == expected


def test_any_name_of_a_column_will_do(spark_session: Any) -> None:
    names = ["a.b", "back`tick", 'quo"te', "with space", "order"]
    frame = spark_session.createDataFrame(pa.table({name: [at] for at, name in enumerate(names)}))
    assert plain_values(frame) == {name: [at] for at, name in enumerate(names)}


def test_a_stream_is_refused(spark_session: Any) -> None:
    stream = spark_session.readStream.format("rate").load()
    with pytest.raises(InvalidArgumentError, match="streaming"):
        SparkEngine(stream).columns()


def test_names_that_spark_cannot_tell_apart_are_refused(spark_session: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="rename"):
        SparkEngine(spark_session.sql("SELECT 1 AS who, 2 AS Who")).columns()


@pytest.mark.parametrize("value", ["map(1, 2)", "array(1D)", "struct(1)", "parse_json('1')"])
def test_a_user_that_spark_cannot_tell_apart_is_refused(spark_session: Any, value: str) -> None:
    with pytest.raises(InvalidArgumentError, match="user"):
        SparkEngine(spark_session.sql(f"SELECT {value} AS who")).whose("who")
