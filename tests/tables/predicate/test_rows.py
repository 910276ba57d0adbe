"""Predicates on rows full of edge cases, in real engines: none raises, and all agree with the slow reference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from psycopg import sql
from tests.tables.predicate.reference import LAST_DAY, LAST_MOMENT, SCHEMA, edge_rows, meanings

from unlisted.errors import InvalidArgumentError
from unlisted.tables.predicate.grammar import ColumnType, Predicate, parse_predicate

GOLDEN = (Path(__file__).parent / "golden" / "accepted.txt").read_text(encoding="utf-8")
ACCEPTED = [block.splitlines()[0] for block in GOLDEN.strip().split("\n\n")]
ROWS = edge_rows(200)

ARROW = {
    "age": pa.int64(),
    "n": pa.int16(),
    "order": pa.int32(),
    "name": pa.string(),
    'we"ird': pa.string(),
    "price": pa.decimal128(38, 10),
    "fee": pa.decimal128(38, 0),
    "x": pa.float64(),
    "f": pa.float32(),
    "ok": pa.bool_(),
    "vip": pa.bool_(),
    "day": pa.date32(),
    "due": pa.date32(),
    "t": pa.timestamp("us"),
    "seen": pa.timestamp("ns"),
    "tags": pa.list_(pa.int64()),
}


def arrow(rows: list[dict[str, Any]], seen: pa.DataType = ARROW["seen"]) -> pa.Table:
    columns: dict[str, pa.Array] = {"id": pa.array(range(len(rows)))}
    for name, kind in {**ARROW, "seen": seen}.items():
        values = [row[name] for row in rows]
        if pa.types.is_temporal(kind):
            scale = 1000 if kind == pa.timestamp("ns") else 1
            whole = pa.int32() if kind == pa.date32() else pa.int64()
            columns[name] = pa.array([None if v is None else v * scale for v in values], whole).cast(kind)
        else:
            columns[name] = pa.array(values, kind)
    return pa.table(columns)


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.register("arrow_rows", arrow(ROWS))
        connection.execute("CREATE TABLE edge AS FROM arrow_rows")
        yield connection


def duck_answers(duck: duckdb.DuckDBPyConnection, text: str) -> list[bool | None]:
    written = parse_predicate(text, SCHEMA).sql("duckdb")
    return [answer for (answer,) in duck.execute(f"SELECT {written} FROM edge ORDER BY id").fetchall()]


@pytest.mark.parametrize("text", ACCEPTED)
def test_duckdb_agrees_with_the_reference(duck: duckdb.DuckDBPyConnection, text: str) -> None:
    answers = duck_answers(duck, text)
    assert answers == meanings(text, ROWS)
    passed = duck.execute(
        f"SELECT count(*) FROM edge WHERE {parse_predicate(text, SCHEMA).sql('duckdb')}"
    ).fetchone()
    assert passed == (answers.count(True),)


def test_the_edge_rows_tell_predicates_apart() -> None:
    """A reference that says the same of every row would agree with anything."""
    answers = {text: set(meanings(text, ROWS)) for text in ACCEPTED}
    told_apart = [text for text, found in answers.items() if {True, False} <= found]
    assert len(told_apart) > 0.75 * len(ACCEPTED)


@pytest.mark.parametrize(
    "text",
    [
        "NOT age = 5",
        "NOT name LIKE 'a%' AND ok",
        "ok OR vip AND age = 5",
        "NOT ok OR vip",
        "order - 1 - 2 < -1",
        "order - (1 - 2) < 3",
        "order * 2 + order % 3 > 1",
        "order / 2 * 2 = order",
        "- order + 2 = 1",
        "age BETWEEN 1 AND 5 AND ok",
        "NOT age BETWEEN 1 AND 5",
        "age NOT IN (1, 2) = ok",
        "day IS NOT NULL = ok",
    ],
)
def test_precedence_is_that_of_duckdb(duck: duckdb.DuckDBPyConnection, text: str) -> None:
    quoted = text.replace("order", '"order"')
    own = [answer for (answer,) in duck.execute(f"SELECT {quoted} FROM edge ORDER BY id").fetchall()]
    assert duck_answers(duck, text) == own


INTEGERS = {
    "TINYINT": 2**7,
    "SMALLINT": 2**15,
    "INTEGER": 2**31,
    "BIGINT": 2**63,
    "HUGEINT": 2**127,
    "UTINYINT": 2**8,
    "USMALLINT": 2**16,
    "UINTEGER": 2**32,
    "UBIGINT": 2**64,
}


@pytest.mark.parametrize("kind", INTEGERS)
def test_every_integer_type_of_duckdb_is_safe(kind: str) -> None:
    low = 0 if kind.startswith("U") else -INTEGERS[kind]
    values = sorted({low, low + 1, 0, 1, 2, INTEGERS[kind] - 1} | ({-1} if low else set()))
    schema = {"a": ColumnType.INTEGER, "b": ColumnType.INTEGER}
    texts = ["a = b", "a < b", "a % b = 0", "a % -1 = 0", "a % 3 = 1", "a + b > a", "-a < b", "a * b / b = a"]
    texts += [f"a >= {literal}" for literal in (-1, 2**63 - 1, -(2**63))]
    with duckdb.connect() as connection:
        listed = ", ".join(f"('{value}'::{kind})" for value in values)
        connection.execute(f"CREATE TABLE v AS FROM (VALUES {listed}) v(a)")
        connection.execute("CREATE TABLE pairs AS SELECT x.a, y.a AS b FROM v x, v y ORDER BY 1, 2")
        for text in texts:
            written = parse_predicate(text, schema).sql("duckdb")
            assert len(connection.execute(f"SELECT {written} FROM pairs").fetchall()) == len(values) ** 2
        written = parse_predicate("a % b = 0", schema).sql("duckdb")
        found = connection.execute(f"SELECT a, b, {written} FROM pairs").fetchall()
    assert all(answer == (None if b == 0 else abs(a) % abs(b) == 0) for a, b, answer in found)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_every_resolution_of_timestamps_in_duckdb_is_safe(unit: str) -> None:
    moments = pa.array([0, 2**62, -(2**62), 2**63 - 1, -(2**63), None], pa.int64()).cast(pa.timestamp(unit))
    schema = {"a": ColumnType.TIMESTAMP, "b": ColumnType.TIMESTAMP}
    rows = pa.table({"a": moments, "b": pa.array([0] * 6, pa.int64()).cast(pa.timestamp("ns"))})
    with duckdb.connect() as connection:
        connection.register("v", rows)
        for text in ("a = b", "a < '9999-12-31'", "a > '0001-01-01'", "week(a) = 1", "a IN ('1970-01-01')"):
            written = parse_predicate(text, schema).sql("duckdb")
            answers = connection.execute(f"SELECT {written} FROM v").fetchall()
            assert answers[0] == (True,)
            assert answers[-1] == (None,)


def test_the_first_day_that_dates_can_hold_is_safe_in_duckdb() -> None:
    days = pa.table({"day": pa.array([-(2**31), 2**31 - 1, -(2**31) + 2, 0], pa.int32()).cast(pa.date32())})
    with duckdb.connect() as connection:
        connection.register("v", days)
        for part in ("year", "quarter", "month", "week", "day", "dow", "isodow", "doy"):
            written = parse_predicate(f"EXTRACT({part} FROM day) >= 0", SCHEMA).sql("duckdb")
            answers = connection.execute(f"SELECT {written} FROM v").fetchall()
            assert answers == [(None,), (None,), (None,), (True,)]


COLUMNS = {kind: [name for name, of in SCHEMA.items() if of is kind] for kind in ColumnType}
COLUMNS[ColumnType.TEXT] = ["name", '"we""ird"']
LITERALS = {
    ColumnType.INTEGER: ["0", "5", "-7", "'18'", "9223372036854775807", "NULL", "1e2"],
    ColumnType.FLOAT: ["0", "1.5", "-2.5", "1e300", "1e-10", "'0.1'", "NULL"],
    ColumnType.TEXT: ["'a'", "''", "'it''s'", "'é'", "'5%_x'", "NULL"],
    ColumnType.DATE: ["'2020-01-01'", "DATE '1970-01-01'", "'9999-12-31'", "NULL"],
    ColumnType.TIMESTAMP: ["'2020-01-01'", "TIMESTAMP '1970-01-01 00:00'", "DATE '0001-01-01'", "NULL"],
    ColumnType.BOOLEAN: ["TRUE", "FALSE", "NULL"],
}
LITERALS[ColumnType.DECIMAL] = LITERALS[ColumnType.FLOAT]
NUMBERS = [ColumnType.INTEGER, ColumnType.DECIMAL, ColumnType.FLOAT]
ORDERS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
PARTS = st.sampled_from(["year", "quarter", "month", "week", "day", "dow", "isodow", "doy"])


def one_of(words: Iterable[str]) -> st.SearchStrategy[str]:
    return st.sampled_from(list(words))


WHOLE = st.recursive(
    one_of(COLUMNS[ColumnType.INTEGER])
    | st.builds(
        "EXTRACT({} FROM {})".format, PARTS, one_of(COLUMNS[ColumnType.DATE] + COLUMNS[ColumnType.TIMESTAMP])
    ),
    lambda whole: st.builds("({} % {})".format, whole, one_of(["n", "age", "7", "-1", "0", "month(day)"])),
    max_leaves=3,
)
NUMBER = st.recursive(
    WHOLE | one_of([*COLUMNS[ColumnType.FLOAT], *COLUMNS[ColumnType.DECIMAL], "2", "0.5", "0", "1e20", "NULL"]),
    lambda number: (
        st.builds("({} {} {})".format, number, one_of("+-*/"), number) | st.builds("(- {})".format, number)
    ),
    max_leaves=5,
)


def comparison(kind: ColumnType) -> st.SearchStrategy[str]:
    column, literal = one_of(COLUMNS[kind]), one_of(LITERALS[kind])
    order = one_of(["=", "<>"]) if kind is ColumnType.BOOLEAN else ORDERS
    texts = [
        st.builds("{} {} {}".format, column, order, column | literal),
        st.builds(
            "{} {}IN ({})".format, column, one_of(["", "NOT "]), st.lists(literal, min_size=1).map(", ".join)
        ),
    ]
    if kind is not ColumnType.BOOLEAN:
        texts.append(st.builds("{} BETWEEN {} AND {}".format, column, column | literal, column | literal))
    return st.one_of(texts)


PATTERN = st.text("ab%_5!é", max_size=5).map(lambda text: f"'{text.replace('!', '!!')}' ESCAPE '!'")
CONDITION = st.recursive(
    st.one_of(
        *(comparison(kind) for kind in LITERALS),
        st.builds("{} {} {}".format, NUMBER, ORDERS, NUMBER),
        st.builds("{} BETWEEN {} AND {}".format, NUMBER, NUMBER, NUMBER),
        st.builds("name {}LIKE {}".format, one_of(["", "NOT "]), PATTERN),
        st.builds("{} IS {}NULL".format, one_of(["tags", "name", "x", "t"]) | NUMBER, one_of(["", "NOT "])),
        one_of(["ok", "vip", "TRUE", "NULL"]),
    ),
    lambda condition: (
        st.builds("({} {} {})".format, condition, one_of(["AND", "OR"]), condition)
        | st.builds("NOT ({})".format, condition)
    ),
    max_leaves=6,
)


def parse_or_reject(text: str) -> Predicate:
    """Of what the grammar makes, only numbers can be refused: too large, or 0.5 beside an integer."""
    try:
        return parse_predicate(text, SCHEMA)
    except InvalidArgumentError as refused:
        if "range of a double" in str(refused) or "does not fit type int" in str(refused):
            reject()
        raise


@settings(max_examples=120, deadline=None)
@given(CONDITION)
def test_random_predicates_agree_with_the_reference_in_duckdb(duck: duckdb.DuckDBPyConnection, text: str) -> None:
    parse_or_reject(text)
    assert duck_answers(duck, text) == meanings(text, ROWS)


def selected(texts: list[str], dialect: str) -> str:
    """Many predicates in one statement, because a statement costs more than a predicate."""
    return ", ".join(f"{parse_predicate(text, SCHEMA).sql(dialect)} AS p{i}" for i, text in enumerate(texts))


POSTGRES_TYPES = {
    "age": "bigint",
    "n": "smallint",
    "order": "integer",
    "name": "text",
    'we"ird': "varchar(20)",
    "price": "numeric",
    "fee": "numeric",
    "x": "double precision",
    "f": "real",
    "ok": "boolean",
    "vip": "boolean",
    "day": "date",
    "due": "date",
    "t": "timestamp",
    "seen": "timestamp",
    "tags": "bigint[]",
}


def postgres_cell(name: str, value: Any) -> Any:
    """A day or a moment as text that PostgreSQL reads; it has no numbers for them."""
    if value is not None and SCHEMA[name] in (ColumnType.DATE, ColumnType.TIMESTAMP):
        if abs(value) in (LAST_DAY, LAST_MOMENT):
            return "infinity" if value > 0 else "-infinity"
        scale, julian_1970 = (1, 2_440_588) if SCHEMA[name] is ColumnType.DATE else (86_400_000_000, 2_440_588)
        days, rest = divmod(value, scale)
        seconds, micro = divmod(rest, 1_000_000)
        clock = f" {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{micro:06}" if scale > 1 else ""
        return f"J{julian_1970 + days}{clock}"
    return value


@pytest.fixture(scope="module")
def postgres(postgres_url: str) -> Iterator[psycopg.Connection[Any]]:
    names = list(POSTGRES_TYPES)
    with psycopg.connect(postgres_url) as connection:
        defined = sql.SQL(", ").join(
            sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kind)) for name, kind in POSTGRES_TYPES.items()
        )
        connection.execute(sql.SQL("CREATE TEMPORARY TABLE edge (id integer, {})").format(defined))
        columns = sql.SQL(", ").join([sql.Identifier("id"), *map(sql.Identifier, names)])
        with connection.cursor().copy(sql.SQL("COPY edge ({}) FROM STDIN").format(columns)) as copy:
            for i, row in enumerate(ROWS):
                copy.write_row([i, *(postgres_cell(name, row[name]) for name in names)])
        yield connection


def test_postgres_agrees_with_the_reference(postgres: psycopg.Connection[Any]) -> None:
    found = postgres.execute(f"SELECT {selected(ACCEPTED, 'postgres')} FROM edge ORDER BY id").fetchall()
    for i, text in enumerate(ACCEPTED):
        assert [row[i] for row in found] == meanings(text, ROWS), text


@settings(max_examples=60, deadline=None)
@given(CONDITION)
def test_random_predicates_agree_with_the_reference_in_postgres(
    postgres: psycopg.Connection[Any], text: str
) -> None:
    written = parse_or_reject(text).sql("postgres")
    found = postgres.execute(f"SELECT {written} FROM edge ORDER BY id").fetchall()
    assert [answer for (answer,) in found] == meanings(text, ROWS)


@pytest.mark.parametrize("text", ["fee > 1", "fee * fee > 1", "fee / price < 1", "fee + x > f", "fee = price"])
def test_numbers_without_bound_are_safe_in_postgres(postgres: psycopg.Connection[Any], text: str) -> None:
    written = parse_predicate(text, SCHEMA).sql("postgres")
    numbers = ", ".join(f"('{number}'::numeric)" for number in ("1e5000", "-1e5000", "1e-5000", "NaN", "Infinity"))
    source = f"(VALUES {numbers}) a(fee), (VALUES {numbers}) b(price), (VALUES (0.1::float8, 2::real)) c(x, f)"
    answers = postgres.execute(f"SELECT {written} FROM {source}").fetchall()
    assert answers == [(None,)] * 25


@pytest.mark.parametrize("factor", ["a", "(a - b)", "(a + b)", "(1 / a)", "(a / b)"])
def test_the_longest_product_allowed_neither_overflows_nor_vanishes_in_postgres(
    postgres: psycopg.Connection[Any], factor: str
) -> None:
    schema = {"a": ColumnType.FLOAT, "b": ColumnType.FLOAT}
    extremes = [1e40, 1e-40, math.nextafter(1e40, 0), math.nextafter(1e-40, 1), 1.0, 0.0]
    values = ", ".join(f"({sign * value!r}::float8)" for value in extremes for sign in (1, -1))
    source = f"(VALUES {values}) x(a), (VALUES {values}) y(b)"
    products = [" * ".join([factor] * factors) for factors in range(2, 11)]
    for product in products:
        try:
            written = parse_predicate(f"{product} > 0", schema).sql("postgres")
        except InvalidArgumentError:
            break
        assert len(postgres.execute(f"SELECT {written} FROM {source}").fetchall()) == 144
    # Without the limit PostgreSQL does raise, so the limit is needed.
    too_long = products[-1]
    with pytest.raises(psycopg.errors.NumericValueOutOfRange), postgres.transaction():
        postgres.execute(f"SELECT {too_long} > 0 FROM {source} WHERE a <> 0 AND b <> 0 AND a <> b AND a <> -b")


@pytest.mark.parametrize("texts", [ACCEPTED, ACCEPTED[::8]], ids=["interpreted", "compiled"])
def test_spark_agrees_with_the_reference(spark_session: Any, texts: list[str]) -> None:
    rows = [row for row in ROWS if all(abs(row[name] or 0) < LAST_DAY for name in ("day", "due"))]
    rows = [row for row in rows if abs(row["t"] or 0) < LAST_MOMENT]
    frame = spark_session.createDataFrame(arrow(rows, seen=pa.timestamp("us")))
    if texts is not ACCEPTED:
        # A local table is a constant, which Spark interprets; for one kept in memory it compiles code, slowly.
        frame = frame.cache()
    frame.createOrReplaceTempView("predicate_edge")
    found = spark_session.sql(f"SELECT id, {selected(texts, 'spark')} FROM predicate_edge").collect()
    found.sort(key=lambda row: row.id)
    for i, text in enumerate(texts, start=1):
        assert [row[i] for row in found] == meanings(text, rows), text
    frame.unpersist()


def test_decimals_of_every_scale_are_safe_in_duckdb() -> None:
    schema = {"a": ColumnType.DECIMAL, "b": ColumnType.DECIMAL}
    with duckdb.connect() as connection:
        connection.execute(
            f"CREATE TABLE v AS SELECT {'9' * 38}::DECIMAL(38, 0) AS a, '0.{'9' * 38}'::DECIMAL(38, 38) AS b"
        )
        for text, answer in {"a = b": False, "a > 2.5": True, "b < 10": True, "a * b > 1e37": True}.items():
            written = parse_predicate(text, schema).sql("duckdb")
            assert connection.execute(f"SELECT {written} FROM v").fetchone() == (answer,)
    assert float(Decimal("9" * 38)) == 1e38
