"""One person under the engine's own equality is one user, of any type; or the column is refused and costs nothing.

Each test brings rows under values that look different, four items for each, and bounds users to two items. The
engine's own `=` says how many people that is. Two items for each of them must be counted: more would be a user
counted twice, and fewer, two users taken for one, which breaks the bound as well.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import hashlib
import uuid
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psycopg
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import sql
from tests.services.citext import with_citext
from tests.tables.fixtures.asked import all_counts, question
from tests.tables.fixtures.engines import installed
from tests.tables.fixtures.server_engines import ibis_table, imported_ibis

import unlisted as ul
from unlisted.errors import InvalidArgumentError
from unlisted.tables.engines.duckdb.pandas_frames import same_text
from unlisted.tables.engines.postgres.types import described
from unlisted.tables.table import Table, table

ITEMS, BOUND = 4, 2
BERLIN = datetime.timezone(datetime.timedelta(hours=1))

POSTGRES = {
    "int2": ["1", "2"],
    "int4": ["1", "'01'", "2"],
    "int8": ["9223372036854775807", "1"],
    "oid": ["1", "'01'", "4294967295"],
    "numeric": ["1.0", "1.00", "1", "'1e0'", "2", "0", "'-0.000'"],
    "numeric(9, 2)": ["1.0", "1.001", "2"],
    "float4": ["0", "'-0'", "0.1", "0.10000000149", "'Infinity'"],
    "float8": ["0", "'-0'", "0.1", "0.1000000000000000055", "'-Infinity'"],
    "bool": ["true", "'yes'", "false"],
    "text": ["'a'", "'a '", "'A'", "'é'", "U&'e\\0301'"],
    "varchar": ["'a'", "'a '", "'A'"],
    "varchar(2)": ["'a'", "'a '", "'A'"],
    "bpchar": ["'a'", "'a '", "'a   '", "'A'", "' a'", "E'a\\t'"],
    "char(3)": ["'a'", "'a '", "'A'", "' a'"],
    '"char"': ["'a'", "'b'"],
    "name": ["'a'", "'a '", "'A'"],
    "citext": ["'a'", "'A'", "'a '", "'é'", "'É'", "'ß'", "'SS'", "'İ'", "'i'", "'Σ'", "'ς'", "'σ'"],
    "uuid": ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "'{A0EEBC999C0B4EF8BB6D6BB9BD380A11}'",
             "'00000000-0000-0000-0000-000000000000'"],
    "bytea": ["'\\x00ff'", "'\\x00FF'", "'\\x00'", "''"],
    "date": ["'2024-02-29'", "'Feb 29 2024'", "'2024-03-01'"],
    "time": ["'10:00'", "'10:00:00.000000'", "'24:00'", "'00:00'"],
    "timetz": ["'10:00+00'", "'11:00+01'", "'10:00:00+00'"],
    "timestamp": ["'2024-02-29'", "'2024-02-29 00:00:00'", "'2024-02-29 00:00:00.000001'"],
    "timestamptz": ["'2024-02-29 00:00+00'", "'2024-02-29 01:00+01'", "'2024-02-28 19:00 America/New_York'",
                    "'2024-02-29 00:00:01+00'", "'0044-03-15 00:00+00'", "'9999-12-31 23:59:59.999999+00'"],
    "inet": ["'10.0.0.1'", "'10.0.0.1/32'", "'10.0.0.1/24'", "'::ffff:10.0.0.1'", "'::FFFF:a00:1'"],
    "cidr": ["'10.0.0.0/24'", "'10.0.0/24'", "'10.0.0.0/25'"],
    "macaddr": ["'08:00:2b:01:02:03'", "'08002B-010203'", "'08:00:2b:01:02:04'"],
    "macaddr8": ["'08:00:2b:01:02:03'", "'08:00:2b:ff:fe:01:02:03'", "'08:00:2b:01:02:04'"],
    "bit(3)": ["B'101'", "X'5'::bit(4)::varbit::bit(3)", "B'010'"],
    "varbit": ["B'1'", "B'10'", "B'100'"],
    "mood": ["'fine'", "'Fine'"],
    "short_name": ["'a'", "'a '", "'A'"],
}  # fmt: skip
"""The types that can be users, with values of which some are equal for the server."""

REFUSED = {
    "interval": ["'1 day'", "'24 hours'", "'1 mon'", "'30 days'"],
    "json": ["'1'", "'1.0'"],
    "jsonb": ["'1'", "'1.0'", "'1.00'"],
    "money": ["'1'", "'1.00'"],
    "numeric[]": ["'{1.0}'", "'{1.00}'"],
    "text[]": ["'{a}'", "'[2:2]={a}'"],
    "pair": ["ROW('a', 1.0)::pair", "ROW('a', 1.00)::pair"],
    "numrange": ["'[1.0,2)'", "'[1.00,2)'"],
    "int4range": ["'[1,2]'", "'[1,3)'"],
    "nummultirange": ["'{[1.0,2)}'", "'{[1.00,2)}'"],
    "point": ["'(0,0)'", "'(0,-0)'"],
    "box": ["'(0,0),(1,2)'", "'(0,0),(2,1)'"],
    "circle": ["'<(0,0),1>'", "'<(5,5),1>'"],
    "path": ["'((0,0),(1,1))'", "'((5,5),(6,6))'"],
    "tsvector": ["'a b'", "'b a'"],
    "tsquery": ["'a & b'", "'a  &  b'"],
    "pg_lsn": ["'0/1'", "'0/01'"],
    "money_like": ["'1.0'", "'1.00'"],
    "regtype": ["'int4'", "'integer'"],
    "xid8": ["'1'", "'01'"],
}


@pytest.fixture
def server(postgres_url: str, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection[Any]]:
    """A connection whose search path is a schema that only this test has, with types of every kind."""
    name = sql.Identifier("users_" + hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:12])
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(name))
        connection.execute(sql.SQL("SET search_path = {}").format(name))
        connection.execute("""
            CREATE TYPE mood AS ENUM ('fine', 'Fine');
            CREATE TYPE pair AS (a text, n numeric);
            CREATE DOMAIN short_name AS char(4);
            CREATE DOMAIN money_like AS jsonb""")
        yield connection
        connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(name))


def brought(server: psycopg.Connection[Any], url: str, kind: str, values: list[str]) -> Table:
    """Write rows: four items for each value."""
    server.execute(f"CREATE TABLE people (n int, who {kind}, item text)".encode())
    for n, value in enumerate(values):
        server.execute(
            f"INSERT INTO people SELECT {n}, {value}, 'item ' || {n} || ' ' || g "
            f"FROM generate_series(1, {ITEMS}) g".encode()
        )
    (schema,) = server.execute("SELECT current_schema()").fetchone() or ("",)
    return table(url, table=f"{schema}.people", user="who")


def people(connection: Any, source: str = "people") -> int:
    """How many people there are for the engine itself: values to which none before them is equal."""
    rows = connection.execute(
        f"SELECT COUNT(DISTINCT n) FROM {source} a WHERE NOT EXISTS "
        f"(SELECT 1 FROM {source} b WHERE b.n < a.n AND b.who = a.who)"
    ).fetchall()
    return int(rows[0][0])


def kept(rows: Table, where: str | None = None) -> int:
    """How many pairs of user and item are left of all."""
    return sum(all_counts(rows, question("item", items_per_user=BOUND, where=where)).values())


@pytest.mark.parametrize("kind", POSTGRES)
def test_postgres_users_are_who_the_server_says_they_are(
    server: psycopg.Connection[Any], postgres_url: str, kind: str
) -> None:
    with with_citext(server) if kind == "citext" else nullcontext():
        rows = brought(server, postgres_url, kind, POSTGRES[kind])
        there = people(server)
        assert kept(rows) == BOUND * there
        assert kept(rows, where="item <> 'nothing'") == BOUND * there
        assert kept(rows, where="who IS NOT NULL") == BOUND * there


def test_a_predicate_sees_the_column_and_not_whose_it_is(
    server: psycopg.Connection[Any], postgres_url: str
) -> None:
    with with_citext(server):
        rows = brought(server, postgres_url, "citext", ["'Bob'", "'BOB'", "'ann'"])
        assert kept(rows, where="who = 'BOB'") == BOUND
        assert all_counts(rows, question("item", where="who = 'BOB'", items_per_user=9)).keys() == {
            (f"item 1 {at}",) for at in range(1, ITEMS + 1)
        }
        assert kept(rows, where="who = 'bob'") == 0


@pytest.mark.parametrize("kind", REFUSED)
def test_postgres_types_without_one_form_for_each_person_are_refused(
    server: psycopg.Connection[Any], postgres_url: str, kind: str, tmp_path: Path
) -> None:
    rows = brought(server, postgres_url, kind, REFUSED[kind])
    with pytest.raises(InvalidArgumentError, match=r"user = 'who' .* in a view"):
        kept(rows)
    with ul.Ledger(tmp_path / "books.db") as ledger:
        account = ledger.open("ads", dataset="people", budget=ul.Budget(rho=9, delta="1e-6"))
        before = ledger.history()
        private = ul.table(postgres_url, table=rows.source.partition("#")[2], user="who")
        with pytest.raises(InvalidArgumentError, match="user = 'who'"):
            private.top("item", k=1, budget=ul.Budget(epsilon=1, delta="1e-8"), account=account)
        assert ledger.history() == before


def test_every_type_of_the_server_is_listed_or_refused(server: psycopg.Connection[Any]) -> None:
    """Closed by default: whatever a later server adds is refused until somebody has looked at its equality."""
    types = server.execute("""
        SELECT format_type(t.oid, NULL), t.typname FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
        WHERE n.nspname = 'pg_catalog' AND t.typtype <> 'p' AND NOT EXISTS
            (SELECT 1 FROM pg_class c WHERE c.oid = t.typrelid AND c.relkind <> 'c')
        ORDER BY 1""").fetchall()
    assert len(types) > 150
    accepted = set()
    for written, name in types:
        column = described(server, f"(SELECT NULL::{written} AS who)")["who"]
        try:
            column.whose()
        except InvalidArgumentError:
            continue
        accepted.add(name)
    said = {name.partition("(")[0].strip('"') for name in POSTGRES} - {"citext", "mood", "short_name"}
    assert accepted == said - {"char"} | {"char", "bpchar"}


def test_a_type_of_the_same_name_is_another_type(server: psycopg.Connection[Any]) -> None:
    server.execute(
        "CREATE TYPE text AS (a int); CREATE TYPE citext AS (a int); CREATE TYPE uuid AS RANGE (subtype = numeric)"
    )
    (schema,) = server.execute("SELECT current_schema()").fetchone() or ("",)
    for name in ("text", "citext", "uuid"):
        column = described(server, f'(SELECT NULL::"{schema}"."{name}" AS who)')["who"]
        with pytest.raises(InvalidArgumentError, match="user = 'who'"):
            column.whose()


@pytest.mark.parametrize(
    "source",
    [
        "(SELECT NULL::text COLLATE loose AS who)",
        "(SELECT NULL::varchar(9) COLLATE loose AS who)",
        "(SELECT NULL::char(9) COLLATE loose AS who)",
        "(SELECT NULL::loose_name AS who)",
        "(SELECT who || 'x' AS who FROM loosely)",
        "loosely",
    ],
)
def test_a_collation_under_which_texts_are_equal_is_refused(server: psycopg.Connection[Any], source: str) -> None:
    # This build of the server has no ICU, which alone makes such collations; the catalogue decides all the same.
    server.execute("CREATE COLLATION loose (provider = libc, locale = 'C.UTF-8')")
    server.execute("UPDATE pg_collation SET collisdeterministic = false WHERE collname = 'loose'")
    server.execute("CREATE DOMAIN loose_name AS text COLLATE loose; CREATE TABLE loosely (who text COLLATE loose)")
    column = described(server, source)["who"]
    with pytest.raises(InvalidArgumentError, match=r'lower\("who"\) COLLATE "C"'):
        column.whose()
    assert 'COLLATE "C"' in column.plain(), "as an item it is its bytes"
    way_out = described(server, f'(SELECT lower(who) COLLATE "C" AS who FROM {source} AS loosely)')["who"]
    assert way_out.whose() == way_out.plain()


@given(st.lists(st.text("aAàÀ ıİiI\t\u3000", max_size=3), min_size=1, max_size=6, unique=True))
def test_any_texts_are_told_apart_as_the_server_does(postgres_url: str, words: list[str]) -> None:
    """The plain form of a user is the same exactly where the server says `=`."""
    with psycopg.connect(postgres_url) as connection, connection.transaction(force_rollback=True):
        connection.execute("CREATE TEMPORARY TABLE words (n int, who bpchar) ON COMMIT DROP")
        for n, word in enumerate(words):
            connection.execute("INSERT INTO words VALUES (%s, %s)", [n, word])
        form = described(connection, "words")["who"].whose()
        one, other = (form.replace('"who"', f"{table}.who") for table in "ab")
        wrong = f"SELECT COUNT(*) FROM words a, words b WHERE (a.who = b.who) <> ({one} = {other})"
        assert connection.execute(wrong.encode()).fetchone() == (0,)


DUCKDB = {
    "VARCHAR": ["'a'", "'A'", "'a '"],
    "UUID": ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "'{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}'"],
    "JSON": ["'{\"a\":1}'", "'{\"a\": 1}'"],
    "ENUM('a', 'A')": ["'a'", "'A'"],
    "BIGINT": ["1", "'01'"],
    "UHUGEINT": ["1", "340282366920938463463374607431768211455"],
    "DECIMAL(9, 2)": ["1.0", "1.00", "2"],
    "FLOAT": ["0.0", "'-0.0'", "0.1"],
    "DOUBLE": ["0.0", "'-0.0'", "0.1", "'inf'"],
    "BOOLEAN": ["true", "'false'"],
    "DATE": ["'2024-02-29'", "'2024-03-01'"],
    "TIME": ["'10:00:00'", "'10:00:00.000000'"],
    "TIMESTAMP": ["'2024-02-29'", "'2024-02-29 00:00:00'"],
    "TIMESTAMP_S": ["'2024-02-29'", "'2024-02-29 00:00:01'"],
    "TIMESTAMP_NS": ["'2024-02-29'", "'2024-02-29 00:00:00.000000001'"],
    "TIMESTAMPTZ": ["'2024-02-29 00:00+00'", "'2024-02-29 01:00+01'", "'2024-02-29 00:00:01+00'"],
    "BLOB": ["'\\x00'", "'\\x00\\x00'"],
}
DUCKDB_REFUSED = {
    "INTERVAL": "INTERVAL 1 MONTH",
    "DOUBLE[]": "[-0.0]",
    "INTEGER[1]": "[1]",
    "STRUCT(a DOUBLE)": "{'a': -0.0}",
    "MAP(VARCHAR, DOUBLE)": "MAP {'a': -0.0}",
    "UNION(a INTEGER, b DOUBLE)": "1",
    "TIMETZ": "'10:00:00+01'",
    "BIT": "'101'",
    "BIGNUM": "1",
}


def duckdb_people(folder: Path, kind: str, values: list[str]) -> Path:
    path = folder / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE people (n INTEGER, who {kind}, item VARCHAR)")
        for n, value in enumerate(values):
            connection.execute(
                f"INSERT INTO people SELECT {n}, CAST({value} AS {kind}), 'item ' || {n} || ' ' || g "
                f"FROM RANGE({ITEMS}) AS r(g)"
            )
    return path


@pytest.mark.parametrize("kind", DUCKDB)
def test_duckdb_users_are_who_the_database_says_they_are(tmp_path: Path, kind: str) -> None:
    path = duckdb_people(tmp_path, kind, DUCKDB[kind])
    with duckdb.connect(str(path)) as connection:
        there = people(connection)
    rows = table(path, table="people", user="who")
    assert kept(rows) == kept(rows, where="item <> 'x'") == kept(rows, where="who IS NOT NULL") == BOUND * there


@pytest.mark.parametrize("kind", DUCKDB_REFUSED)
def test_duckdb_types_that_nobody_looked_at_are_refused(tmp_path: Path, kind: str) -> None:
    path = duckdb_people(tmp_path, kind, [DUCKDB_REFUSED[kind]])
    with pytest.raises(InvalidArgumentError, match=r"user = 'who' .* in a view"):
        kept(table(path, table="people", user="who"))


def test_every_type_of_duckdb_is_listed_or_refused(tmp_path: Path) -> None:
    """Closed by default, as for the server."""
    listed = {kind.partition("(")[0] for kind in DUCKDB} | {"TIMESTAMP_MS", "HUGEINT", "INTEGER", "SMALLINT",
        "TINYINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}  # fmt: skip
    made_of_others = {"ENUM", "LIST", "ARRAY", "STRUCT", "MAP", "UNION", "TUPLE", "ROW", "TYPE"}
    with duckdb.connect() as connection:
        types = connection.execute("SELECT DISTINCT type_name, logical_type FROM duckdb_types()").fetchall()
    accepted = set()
    for at, (name, logical) in enumerate(sorted(types)):
        if logical in made_of_others or logical == "NULL":
            continue
        path = tmp_path / f"{at}.duckdb"
        with duckdb.connect(str(path)) as connection:
            try:
                connection.execute(f"CREATE TABLE people (who {name}, item VARCHAR)")
            except duckdb.Error:  # one that a table cannot hold
                continue
        try:
            table(path, table="people", user="who").rows(question("item"))
        except InvalidArgumentError:
            continue
        accepted.add(logical.replace("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ"))
    assert accepted <= listed


def four_items(values: pa.Array) -> pa.Table:
    """Rows of an Arrow column: four items for each place of it."""
    at = np.repeat(np.arange(len(values)), ITEMS)
    items = [f"item {place} {number}" for place in range(len(values)) for number in range(ITEMS)]
    return pa.table({"who": values.take(pa.array(at)), "item": items})


@pytest.mark.parametrize(
    ("values", "there"),
    [
        (pa.array([0.0, -0.0, 1.5]), 2),
        (pa.array([0.0, -0.0], pa.float32()), 1),
        (pa.DictionaryArray.from_arrays([0, 1, 2], ["a", "a", "b"]), 2),
        (pa.DictionaryArray.from_arrays([0, 1, 2, None], ["a", "b", None]), 2),
        (pa.DictionaryArray.from_arrays([0, 1], pa.array([0.0, -0.0])), 1),
        (pa.array([1, 2], pa.timestamp("s", "Europe/Berlin")), 2),
        (pa.array([b"a", b"b"], pa.binary(1)), 2),
        (pa.array([decimal.Decimal("1.50"), decimal.Decimal("1.5")], pa.decimal128(9, 2)), 1),
        (pa.array([1, 1], pa.time64("us")), 1),
        (pa.array([uuid.UUID(int=1).bytes, uuid.UUID(int=2).bytes], pa.uuid()), 2),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_users_of_arrow_frames(values: pa.Array, there: int) -> None:
    assert kept(table(four_items(values), user="who")) == BOUND * there


@pytest.mark.parametrize(
    "values",
    [
        pa.array([86_400], pa.duration("s")),
        pa.array([[1.0]]),
        pa.array([{"a": 1.0}]),
        pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
        pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
    ],
    ids=lambda value: str(value.type),
)
def test_frames_whose_users_nobody_looked_at_are_refused(values: pa.Array) -> None:
    with pytest.raises(InvalidArgumentError, match="user = 'who'"):
        kept(table(four_items(values), user="who"))


def test_polars_users() -> None:
    polars = installed("polars")
    rows = polars.from_arrow(four_items(pa.array(["a", "b", "a"])))
    categories = rows.with_columns(who=polars.col("who").cast(polars.Categorical))
    assert kept(table(categories, user="who")) == kept(table(categories.lazy(), user="who")) == BOUND * 2
    durations = rows.with_columns(who=polars.duration(days=1))
    with pytest.raises(InvalidArgumentError, match="user = 'who'"):
        kept(table(durations, user="who"))


EQUAL_OBJECTS = [
    [1, 1.0, True, decimal.Decimal("1.00"), fractions.Fraction(1), 1 + 0j, np.int64(1), np.float32(1)],
    [0, -0.0, False, decimal.Decimal("-0.0"), 0.0],
    [decimal.Decimal("2.50"), decimal.Decimal("2.5"), 2.5, np.float64(2.5)],
    [0.1, np.float64(0.1)],
    [decimal.Decimal("0.1")],
    [10**30, decimal.Decimal("1e30")],
    ["1.0"],
    ["a"],
    ["A"],
    [datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), datetime.datetime(2024, 1, 1, 1, tzinfo=BERLIN)],
    [datetime.datetime(2024, 1, 1)],
    [datetime.date(2024, 1, 1)],
    [uuid.UUID(int=7)],
    [float("inf")],
]


def test_objects_of_pandas_are_one_user_where_python_says_so() -> None:
    pandas = installed("pandas")
    people_there = [value for same in EQUAL_OBJECTS if same_text(same[0]) is not None for value in same]
    values = pandas.Series([value for value in people_there for _ in range(ITEMS)], dtype=object)
    frame = pandas.DataFrame({"who": values, "item": [f"item {at}" for at in range(len(values))]})
    there = sum(same_text(same[0]) is not None for same in EQUAL_OBJECTS)
    assert kept(table(frame, user="who")) == BOUND * there
    assert kept(table(frame, user="who"), where="who IS NOT NULL") == BOUND * there


@given(st.data())
def test_equal_objects_have_the_same_text_and_others_another(data: st.DataObject) -> None:
    numbers = st.one_of(
        st.integers(), st.floats(allow_nan=False), st.decimals(allow_nan=False), st.fractions(), st.booleans()
    )
    first, second = (
        data.draw(numbers),
        data.draw(st.one_of(numbers, st.sampled_from(EQUAL_OBJECTS).flatmap(st.sampled_from))),
    )
    for one, other in ((first, second), (first, _otherwise(first))):
        texts = same_text(one), same_text(other)
        if None not in texts:
            assert (texts[0] == texts[1]) == (one == other)


def _otherwise(value: Any) -> Any:
    """The same number as another type, where there is one."""
    try:
        return fractions.Fraction(value)
    except (OverflowError, ValueError):
        return float(value)


def test_numbers_without_end_are_nobody() -> None:
    assert same_text(decimal.Decimal("1e999999999")) is None
    assert same_text(10**401) is None
    assert same_text(float("nan")) is None
    assert same_text(datetime.time(1, tzinfo=BERLIN)) is None


SPARK = {
    "string": ["'a'", "'A'", "'a '"],
    "char(3)": ["cast('a' as char(3))", "cast('a ' as char(3))"],
    "varchar(3)": ["cast('a' as varchar(3))", "cast('a ' as varchar(3))"],
    "double": ["0D", "-0.0D", "1.5D"],
    "float": ["cast(0 as float)", "cast('-0.0' as float)"],
    "decimal(9, 2)": ["1.0", "1.00", "2.0"],
    "binary": ["X'00'", "X'0000'"],
    "timestamp": ["timestamp'2024-01-01 00:00:00+00:00'", "timestamp'2024-01-01 01:00:00+01:00'"],
    "date": ["date'2024-01-01'", "date'2024-01-02'"],
    "boolean": ["true", "false"],
    "bigint": ["1", "2"],
}
SPARK_REFUSED = [
    "'a' COLLATE UTF8_LCASE",
    "'a' COLLATE UNICODE_CI",
    "'a' COLLATE UNICODE",
    "'a' COLLATE UTF8_BINARY_RTRIM",
    "INTERVAL 1 DAY",
    "INTERVAL 1 MONTH",
    "make_interval(0, 1)",
    "array(-0.0D)",
    "map('a', 1)",
    "struct(-0.0D)",
    "parse_json('1')",
    "NULL",
]


@pytest.mark.parametrize("kind", SPARK)
def test_spark_users_are_who_spark_says_they_are(spark_session: Any, kind: str) -> None:
    parts = " UNION ALL ".join(
        f"SELECT {n} AS n, CAST({value} AS {kind}) AS who, concat('item {n} ', id) AS item FROM range({ITEMS})"
        for n, value in enumerate(SPARK[kind])
    )
    frame = spark_session.sql(parts)
    frame.createOrReplaceTempView("people")
    there = spark_session.sql(
        "SELECT COUNT(DISTINCT a.n) FROM people a LEFT ANTI JOIN people b ON b.n < a.n AND b.who = a.who"
    ).collect()[0][0]
    spark_session.catalog.dropTempView("people")
    assert kept(table(frame, user="who")) == kept(table(frame, user="who"), where="item <> 'x'") == BOUND * there


def test_spark_s_char_columns_are_one_user_whatever_their_blanks(spark_session: Any) -> None:
    spark_session.conf.set("spark.sql.preserveCharVarcharTypeInfo", "true")
    try:
        frame = spark_session.sql("SELECT CAST('a' AS CHAR(3)) AS who, 'x' AS item")
        assert type(frame.schema["who"].dataType).__name__ == "CharType"
        assert "RTRIM" in table(frame, user="who").engine.whose("who")
        assert kept(table(frame, user="who")) == 1
    finally:
        spark_session.conf.unset("spark.sql.preserveCharVarcharTypeInfo")


@pytest.mark.parametrize("value", SPARK_REFUSED)
def test_spark_types_without_one_form_for_each_person_are_refused(spark_session: Any, value: str) -> None:
    frame = spark_session.sql(f"SELECT {value} AS who, 'x' AS item")
    with pytest.raises(InvalidArgumentError, match="user = 'who'"):
        kept(table(frame, user="who"))


@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT", "NOACCENT.NOCASE"])
def test_a_collated_column_of_an_ibis_duckdb_is_refused(collation: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE people (who VARCHAR COLLATE {collation}, item VARCHAR)")
        connection.execute("INSERT INTO people VALUES ('a', 'x')")
        rows = ibis_table(imported_ibis().duckdb.from_connection(connection), "people")
        with pytest.raises(InvalidArgumentError, match="user = 'who'"):
            kept(table(rows, user="who"))
        assert kept(table(rows.mutate(item="who", who="item"), user="who")) == 1
        assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("people",)]


def test_the_default_collation_of_an_ibis_duckdb_counts_too() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE people AS SELECT 'a' AS who, 'x' AS item")
        rows = ibis_table(imported_ibis().duckdb.from_connection(connection), "people")
        assert kept(table(rows, user="who")) == 1
        connection.execute("SET default_collation = 'nocase'")
        with pytest.raises(InvalidArgumentError, match="user = 'who'"):
            kept(table(rows, user="who"))
