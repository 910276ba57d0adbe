"""PostgreSQL: values by their bytes, one snapshot, nothing written, and no word of the server or the password."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pyarrow as pa
import pytest
from psycopg import sql
from sqlglot import exp
from tests.services.postgres import OWNER, PASSWORD
from tests.tables.fixtures.asked import all_counts, question

from unlisted.errors import ChargedFailureError, InvalidArgumentError
from unlisted.tables.column_types import ColumnType
from unlisted.tables.engines.engine import Rows
from unlisted.tables.engines.postgres.engine import PostgresEngine, PostgresRelation
from unlisted.tables.predicate.grammar import parse_predicate
from unlisted.tables.table import table

Connection = psycopg.Connection[Any]


@pytest.fixture
def server(postgres_url: str, request: pytest.FixtureRequest) -> Iterator[Connection]:
    """A connection whose search path is a schema that only this test has."""
    name = sql.Identifier("test_" + hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:12])
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(name))
        connection.execute(sql.SQL("SET search_path = {}").format(name))
        yield connection
        connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(name))


def schema_of(server: Connection) -> str:
    row = server.execute("SELECT current_schema()").fetchone()
    assert row is not None
    return str(row[0])


def engine_of(server: Connection, url: str, table: str) -> PostgresEngine:
    return PostgresEngine(url, f"{schema_of(server)}.{table}")


def grouped(engine: PostgresEngine, column: str) -> Counter[Any]:
    """Group a column by its plain value, in the server."""
    query = f'SELECT {engine.plain(column)} AS "v", COUNT(*) AS "n" FROM "unlisted_source" GROUP BY 1'
    with engine.world(Rows((column,))) as world:
        answer = world.answer(query)
    return Counter(dict(zip(answer["v"].to_pylist(), answer["n"].to_pylist(), strict=True)))


def test_a_column_is_what_the_server_says_it_is(server: Connection, postgres_url: str) -> None:
    server.execute("""
        CREATE TYPE mood AS ENUM ('sad', 'fine');
        CREATE DOMAIN nickname AS varchar(9) CHECK (VALUE <> '');
        CREATE TABLE kinds (
            a int2, b int4, c int8, d float4, e float8, f numeric, g numeric(9, 2), h bool, i date, j timestamp,
            k text, l varchar(3), m char(3), n uuid, o name, p mood, q nickname,
            r timestamptz, s bytea, t json, u int4[], v time, w interval
        )""")
    kinds = {name: kind.value for name, kind in engine_of(server, postgres_url, "kinds").columns().items()}
    assert kinds == {
        **dict.fromkeys("abc", "int"),
        **dict.fromkeys("de", "float"),
        **dict.fromkeys("fg", "decimal"),
        "h": "bool",
        "i": "date",
        "j": "timestamp",
        **dict.fromkeys("klmnopq", "text"),
        **dict.fromkeys("rstuvw", "other"),
    }


def test_the_schema_is_read_without_a_row(server: Connection, postgres_url: str) -> None:
    server.execute("""
        CREATE FUNCTION burn() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE 'a row was read'; END $$;
        CREATE VIEW burning AS SELECT burn() AS item, g AS who FROM generate_series(1, 3) g ORDER BY 1""")
    engine = engine_of(server, postgres_url, "burning")
    assert engine.columns() == {"item": ColumnType.INTEGER, "who": ColumnType.INTEGER}


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("text", ["'a'", "'A'", "'a '", "''"], ["a", "A", "a ", ""]),
        ("char(3)", ["'a'", "'a '", "'A'"], ["a  ", "a  ", "A  "]),
        ("bpchar", ["'a'", "'a '", "'a'"], ["a", "a ", "a"]),
        ("float8", ["'0'", "'NaN'", "'Infinity'", "'-NaN'"], [0.0, None, float("inf"), None]),
        ("float4", ["'0.1'", "'NaN'"], [pa.scalar(0.1, pa.float32()).as_py(), None]),
        ("numeric(5, 2)", ["1.5", "'NaN'"], [Decimal("1.50"), None]),
        ("numeric", ["1.0", "1.00", "'NaN'", "'Infinity'"], [Decimal("1.0"), Decimal("1.00"), None, None]),
        ("numeric", ["1e20", "1e-19", "1e-18", "1e400"], [None, None, Decimal("1e-18"), None]),
        ("numeric(60, 30)", ["7", "1e-30"], [Decimal(7), None]),
        ("numeric(3, -2)", ["12345"], [Decimal(12300)]),
        ("date", ["'infinity'", "'0044-03-15 BC'", "'2024-02-29'"], [None, None, date(2024, 2, 29)]),
        ("timestamp", ["'-infinity'", "'2024-02-29 1:00'"], [None, datetime(2024, 2, 29, 1)]),
        ("interval", ["'1 day'", "'24 hours'"], ["1 day", "24:00:00"]),
        ("json", ["""'{"a":1}'""", """'{"a": 1}'"""], ['{"a":1}', '{"a": 1}']),
        ("bool", ["true", "NULL"], [True, None]),
    ],
    ids=str,
)
def test_values_are_told_apart_by_their_bytes_and_no_value_raises(
    server: Connection, postgres_url: str, kind: str, values: list[str], expected: list[Any]
) -> None:
    server.execute(f"CREATE TABLE v (c {kind})".encode())
    server.execute(f"INSERT INTO v VALUES {', '.join(f'({value})' for value in values)}".encode())
    assert grouped(engine_of(server, postgres_url, "v"), "c") == Counter(expected)


def test_texts_are_ordered_by_their_bytes(server: Connection, postgres_url: str) -> None:
    words = ["Z", "a", "é", "z", "￿", "𝄞", "B"]
    server.execute("CREATE TYPE letter AS ENUM ('Z', 'a', 'é', 'z', '￿', '𝄞', 'B')")
    server.execute('CREATE TABLE w (t text COLLATE "unicode", e letter)')
    for word in words:
        server.execute("INSERT INTO w VALUES (%s, %s::letter)", [word, word])
    engine = engine_of(server, postgres_url, "w")
    for column in ("t", "e"):
        query = f'SELECT {engine.plain(column)} AS "v" FROM "unlisted_source" ORDER BY "v"'
        with engine.world(Rows((column,))) as world:
            assert world.answer(query)["v"].to_pylist() == sorted(words, key=str.encode)


def test_the_hash_and_the_length_are_those_of_utf_8(server: Connection, postgres_url: str) -> None:
    words = ["", "é", "100%", "it's", 'quo"te', "back\\slash", "𝄞" * 40]
    server.execute("CREATE TABLE w (t text)")
    for word in words:
        server.execute("INSERT INTO w VALUES (%s)", [word])
    with engine_of(server, postgres_url, "w").world(Rows(("t",))) as world:
        rows = world.answer(
            'SELECT "t", SHA256("t") AS "h", STRLEN("t") AS "l" FROM "unlisted_source"'
        ).to_pylist()
    expected = [{"t": w, "h": hashlib.sha256(w.encode()).hexdigest(), "l": len(w.encode())} for w in words]
    assert sorted(rows, key=str) == sorted(expected, key=str)


@pytest.fixture(params=["temporary tables", "read-only"])
def reader_url(server: Connection, postgres_url: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a role that may read, once with and once without the right to make temporary tables."""
    role, database = f"reader_of_{schema_of(server)}", f"db_of_{schema_of(server)}"
    schema = sql.Identifier(schema_of(server))
    server.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'reader'".encode())
    server.execute(f"CREATE DATABASE {database}".encode())
    right = "GRANT" if request.param == "temporary tables" else "REVOKE"
    server.execute(
        f"{right} TEMPORARY ON DATABASE {database} {'TO' if right == 'GRANT' else 'FROM'} PUBLIC".encode()
    )
    parts = urlsplit(postgres_url)
    owner = parts._replace(path=f"/{database}").geturl()
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(schema))
        connection.execute(
            "CREATE TABLE public.rows AS SELECT g % 3 AS who, g % 5 AS what FROM generate_series(1, 60) g"
        )
        connection.execute("GRANT SELECT ON public.rows TO PUBLIC")
    yield owner.replace(f"{OWNER}:{PASSWORD}", f"{role}:reader")
    server.execute(f"DROP DATABASE {database} WITH (FORCE)".encode())
    server.execute(f"DROP ROLE {role}".encode())


def test_a_world_is_one_snapshot(reader_url: str, postgres_url: str) -> None:
    owner = urlsplit(postgres_url)._replace(path=urlsplit(reader_url).path).geturl()
    engine = PostgresEngine(reader_url, "rows")
    per_item = 'SELECT "what", COUNT(*) AS "n" FROM "unlisted_source" GROUP BY 1'
    with engine.world(Rows(("who", "what"))) as world:
        world.keep("counts", per_item)
        with psycopg.connect(owner, autocommit=True) as connection:
            connection.execute("INSERT INTO rows SELECT 1, 77 FROM generate_series(1, 100)")
            connection.execute("DELETE FROM rows WHERE what = 2")
        world.lend("wanted", pa.table({"n": [12, 100], "rank": [0, 1]}))
        kept = world.answer('SELECT "what", "n" FROM "counts" JOIN "wanted" USING ("n") ORDER BY 1')
        again = world.answer(f"{per_item} ORDER BY 1")
    assert kept.to_pydict() == {"what": [0, 1, 2, 3, 4], "n": [12] * 5}
    assert again == kept
    with engine.world(Rows(("who", "what"))) as world:
        assert world.answer(f"{per_item} ORDER BY 1")["what"].to_pylist() == [0, 1, 3, 4, 77]


def test_a_world_writes_nothing_even_if_the_source_would(server: Connection, postgres_url: str) -> None:
    server.execute("""
        CREATE TABLE seen (n int);
        CREATE FUNCTION note(n int) RETURNS int LANGUAGE plpgsql VOLATILE AS
            $$ BEGIN INSERT INTO seen VALUES (n); RETURN n; END $$;
        CREATE VIEW noted AS SELECT note(g) AS item FROM generate_series(1, 3) g""")
    server.execute(f"ALTER FUNCTION note SET search_path = {schema_of(server)}".encode())
    engine = engine_of(server, postgres_url, "noted")
    query = 'SELECT "item" FROM "unlisted_source"'
    for ask in (lambda world: world.answer(query), lambda world: world.keep("kept", query)):
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction), engine.world(Rows(("item",))) as world:
            ask(world)
    assert server.execute("SELECT count(*) FROM seen").fetchone() == (0,)


def test_a_world_leaves_nothing_behind_on_a_connection_that_goes_on(server: Connection) -> None:
    server.execute("CREATE TABLE w (t text); SET TimeZone = 'Asia/Tokyo'")
    engine = PostgresRelation(lambda: nullcontext(server), lambda connection: exp.table_("w", quoted=True))
    settings = "SELECT name, setting FROM pg_settings ORDER BY 1"
    before = server.execute(settings).fetchall()
    there = "SELECT count(*) FROM pg_class WHERE relname = 'kept'"
    with engine.world(Rows(("t",))) as world:
        world.keep("kept", 'SELECT "t" FROM "unlisted_source"')
        assert server.execute(there).fetchone() == (1,)
        assert server.execute(settings).fetchall() != before
    assert server.execute(there).fetchone() == (0,)
    assert server.execute(settings).fetchall() == before
    assert server.info.transaction_status is psycopg.pq.TransactionStatus.IDLE


def test_items_of_the_server_s_own_types_are_counted(server: Connection, postgres_url: str) -> None:
    server.execute("""
        CREATE TYPE mood AS ENUM ('sad', 'fine');
        CREATE TABLE own (who int, n numeric, m mood, c char(3), d numeric(40, 1));
        INSERT INTO own SELECT g, 1.50, 'sad', 'a', 7 FROM generate_series(1, 3) g;
        INSERT INTO own VALUES (1, 1.5, 'fine', 'a ', 1e38), (2, 1e30, NULL, NULL, NULL)""")
    rows = table(postgres_url, user="who", table=f"{schema_of(server)}.own")
    assert all_counts(rows, question("n")) == {(Decimal("1.5"),): 3}
    assert all_counts(rows, question("m")) == {("sad",): 3, ("fine",): 1}
    assert all_counts(rows, question("c")) == {("a  ",): 3}
    assert all_counts(rows, question("d")) == {(Decimal(7),): 3}


def test_what_the_server_says_about_a_row_reaches_nobody(server: Connection, postgres_url: str) -> None:
    server.execute(
        "CREATE VIEW v AS SELECT 1 AS who, CAST('a secret row' || g AS int) AS x FROM generate_series(1, 3) g"
    )
    rows = table(postgres_url, user="who", table=f"{schema_of(server)}.v")
    with pytest.raises(ChargedFailureError) as failed:
        all_counts(rows, question("x"))
    assert str(failed.value) == "could not be answered; charged; see the log"
    assert failed.value.__cause__ is None
    assert failed.value.__suppress_context__


def test_predicates_see_texts_by_their_bytes(server: Connection, postgres_url: str) -> None:
    server.execute("""
        CREATE TYPE mood AS ENUM ('sad', 'fine');
        CREATE TABLE p (n int, m mood, c char(4), t text COLLATE "unicode");
        INSERT INTO p VALUES (1, 'sad', 'ab', '100%'), (2, 'fine', 'abcd', 'A'), (3, NULL, NULL, 'a')""")
    engine = engine_of(server, postgres_url, "p")
    for where, expected in {
        "m > 'fi'": [1, 2],
        "m = 'no such mood'": [],
        "c = 'ab'": [],
        "c = 'ab  '": [1],
        "t LIKE '100!%' ESCAPE '!'": [1],
        "t < 'a'": [1, 2],
    }.items():
        rows = Rows(("n",), parse_predicate(where, engine.columns()))
        with engine.world(rows) as world:
            assert world.answer('SELECT "n" FROM "unlisted_source" ORDER BY 1')["n"].to_pylist() == expected, where


@pytest.mark.parametrize(
    "written", ["MixedCase", "{schema}.MixedCase", '"MixedCase"', "lower", "LOWER", "odd name"]
)
def test_a_table_is_found_as_it_is_written(server: Connection, postgres_url: str, written: str) -> None:
    server.execute(
        'CREATE TABLE "MixedCase" (x int); CREATE TABLE lower (x int); CREATE VIEW "odd name" AS SELECT 1 x'
    )
    schema = schema_of(server)
    url = f"{postgres_url}?options=-csearch_path%3D{schema}"
    engine = PostgresEngine(url, written.format(schema=schema))
    assert list(engine.columns()) == ["x"]


def test_a_missing_table_is_refused_with_those_there_are(server: Connection, postgres_url: str) -> None:
    server.execute("CREATE TABLE searches (x int)")
    with pytest.raises(InvalidArgumentError, match=rf"{schema_of(server)}\.searches"):
        PostgresEngine(postgres_url, "nowhere").columns()


def test_a_table_must_be_named() -> None:
    with pytest.raises(InvalidArgumentError, match="table="):
        PostgresEngine("postgresql://nobody@127.0.0.1:1/nothing", None)


@pytest.mark.parametrize(
    "change",
    [
        lambda url: url.replace(PASSWORD, "Wrong/p@ss:word"),
        lambda url: url.replace(PASSWORD, "Wrong-password"),
        lambda url: url.replace("/postgres", "/no-such-Wrong-database"),
        lambda url: "postgresql://Wrong:Wrong@127.0.0.1:1/Wrong",
        lambda url: "postgresql://Wrong:Wrong@[/Wrong",
        lambda url: url + "?Wrong=Wrong",
    ],
    ids=["password that looks like a path", "password", "database", "server", "no URL", "option"],
)
def test_no_refusal_quotes_the_url_or_the_server(postgres_url: str, change: Any) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        PostgresEngine(change(postgres_url), "rows").columns()
    error = refused.value
    assert "Check host, port, database, user and password" in str(error)
    assert error.__cause__ is None
    assert error.__suppress_context__
    for word in (PASSWORD, "Wrong", "FATAL", OWNER):
        assert word not in f"{error} {error.value} {error.args}"


def test_a_table_without_the_right_to_read_is_refused(
    server: Connection, reader_url: str, postgres_url: str
) -> None:
    owner = urlsplit(postgres_url)._replace(path=urlsplit(reader_url).path).geturl()
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("REVOKE SELECT ON public.rows FROM PUBLIC")
    with pytest.raises(InvalidArgumentError, match="right to read"):
        PostgresEngine(reader_url, "rows").columns()


def test_a_database_whose_characters_have_another_order_is_refused(server: Connection, postgres_url: str) -> None:
    name = f"latin_{schema_of(server)}"
    server.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'".encode())
    try:
        with pytest.raises(InvalidArgumentError, match="encoded in LATIN1"):
            PostgresEngine(postgres_url.replace("/postgres", f"/{name}"), "pg_class").columns()
    finally:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
