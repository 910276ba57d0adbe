"""SQL for systems that are not reached from here: golden for each dialect, and executed where something can."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pytest
from sqlglot import exp, parse_one
from tests.tables import reference

from unlisted.errors import InvalidArgumentError
from unlisted.query.counts_elsewhere import counting_sql, read_counts
from unlisted.tables.count_query import CountQuery
from unlisted.tables.elsewhere.answers import read_answer
from unlisted.tables.elsewhere.dialects import DIALECTS, words_of
from unlisted.tables.elsewhere.statement import counting_statement

GOLDEN = Path(__file__).parent / "golden"
SECRET = bytes(range(16))
BOUNDED = CountQuery("query", items_per_user=10)
OF_ROWS = CountQuery(("query", "price"), items_per_user=2, count="rows", rows_per_item=3)


def said(
    dialect: str, question: CountQuery = BOUNDED, fetch: int | None = 1000, table: str = "shop.visits"
) -> str:
    kind = "histogram" if fetch is None else "top"
    return counting_statement(
        question, kind=kind, fetch=fetch, dialect=dialect, table=table, user="user_id", secret=SECRET
    )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_statement_of_each_dialect_is_the_one_that_was_read(dialect: str) -> None:
    written = "\n".join((said(dialect), said(dialect, OF_ROWS, None), said(dialect, CountQuery("query"), 5)))
    path = GOLDEN / f"{dialect}.sql"
    if os.environ.get("UNLISTED_WRITE_GOLDEN"):
        path.write_text(written)
    assert path.read_text() == written


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_table_and_every_step_is_read_once(dialect: str) -> None:
    """Nothing is assumed of snapshots: what is read once cannot change between two readings."""
    for question, fetch in ((BOUNDED, 1000), (OF_ROWS, None), (CountQuery("query"), 5)):
        tree = parse_one(said(dialect, question, fetch), read=words_of(dialect).grammar)
        read = [table.name for table in tree.find_all(exp.Table)]
        assert sorted(read) == sorted(["visits", *(step.alias for step in tree.find_all(exp.CTE))])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_it_says_to_its_reader_holds_no_name(dialect: str) -> None:
    told = "".join(re.findall("^--.*$", said(dialect, table="secret_table"), re.MULTILINE))
    assert "Use it once" in told
    assert "secret_table" not in told
    assert "user_id" not in told


def crowd(seed: int = 1) -> list[dict[str, Any]]:
    """Users with few and many items, odd labels among them, and rows that do not count."""
    rng = random.Random(seed)
    odd = ["x", "x ", "X", "é", "e\N{COMBINING ACUTE ACCENT}", "", "a,b\n'c'", "\N{GRINNING FACE}", "long" * 400]
    rows = [
        {"user_id": f"u{user}", "query": rng.choice(odd + [f"i{n}" for n in range(9)]), "price": rng.randrange(3)}
        for user in range(60)
        for _ in range(rng.randrange(1, 40))
    ]
    nobody = [{"user_id": None, "query": "x", "price": 1}, {"user_id": "u1", "query": None, "price": 1}]
    return rows + nobody


def by_the_reference(rows: list[dict[str, Any]], question: CountQuery) -> dict[reference.Label, int]:
    """Count slowly, with labels as what is hashed: the digits of their bytes."""
    digits = [
        {name: value if name == "user_id" or value is None else _digits(value) for name, value in row.items()}
        for row in rows
    ]
    found = reference.pairs(digits, "user_id", question.items, max_label_bytes=2 * question.max_label_bytes)
    kept = reference.bounded(found, question.items_per_user, SECRET, reference.sha256)
    counted = reference.counts(kept, question.rows_per_item)
    return {tuple(bytes.fromhex(part).decode() for part in label): n for label, n in counted.items()}


def _digits(value: Any) -> str:
    return str(value).encode().hex().upper()


QUESTIONS = {
    "users": CountQuery("query", items_per_user=3),
    "rows of two columns": OF_ROWS,
    "no bound": CountQuery("query"),
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
@pytest.mark.parametrize("fetch", [None, 4])
def test_duckdb_answers_what_the_twin_counts(question: CountQuery, fetch: int | None, tmp_path: Path) -> None:
    rows = crowd()
    with duckdb.connect() as connection:
        connection.register("given", pa.Table.from_pylist(rows))
        connection.execute('CREATE SCHEMA "shop"')
        connection.execute('CREATE TABLE "shop"."visits" AS FROM given')
        for suffix, how in (("csv", "(HEADER)"), ("json", "(ARRAY true)"), ("parquet", "")):
            path = tmp_path / f"answer.{suffix}"
            connection.execute(f"COPY ({said('duckdb', question, fetch).rstrip()[:-1]}) TO '{path}' {how}")
            _compare(path, rows, question, fetch)


def _compare(path: Path, rows: list[dict[str, Any]], question: CountQuery, fetch: int | None) -> None:
    answer = read_answer(path)
    labels = [tuple(one.values()) if isinstance(one, dict) else (one,) for one in answer.labels.to_pylist()]
    expected = by_the_reference(rows, question)
    wanted = expected if fetch is None else dict(reference.top(expected, fetch + 1))
    assert dict(zip(labels, answer.counts.to_pylist(), strict=True)) == wanted
    assert answer.header is not None
    assert answer.header.items_per_user == question.items_per_user
    assert answer.header.fetch == fetch


def test_postgresql_answers_what_the_twin_counts(postgres_url: str, tmp_path: Path) -> None:
    rows, question = [row for row in crowd() if row["query"] != ""], QUESTIONS["users"]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TEMPORARY TABLE elsewhere (user_id text, query text, price int)")
        with connection.cursor() as cursor:
            filled = [(row["user_id"], row["query"], row["price"]) for row in rows]
            cursor.executemany("INSERT INTO elsewhere VALUES (%s, %s, %s)", filled)
            answer = said("postgres", question, 4, table="elsewhere").rstrip()[:-1]
            path = tmp_path / "answer.csv"
            with cursor.copy(f"COPY ({answer}) TO STDOUT (FORMAT csv, HEADER)") as copied:
                path.write_bytes(b"".join(bytes(part) for part in copied))
    # Its hexadecimal digits are lower case; what is hashed is not what other systems hash.
    found = read_answer(path)
    assert found.header is not None
    assert len(found.labels) == 5
    assert all(1 <= n <= 60 for n in found.counts.to_pylist())


def test_users_over_the_bound_keep_no_more_than_it(tmp_path: Path) -> None:
    sizes = {f"u{user}": user % 8 + 1 for user in range(40)}
    rows = [{"user_id": user, "query": f"{user}:{n}"} for user, size in sizes.items() for n in range(size)]
    with duckdb.connect() as connection:
        connection.register("visits", pa.Table.from_pylist(rows))
        found = connection.sql(said("duckdb", CountQuery("query", items_per_user=4), None, "visits")).fetchall()
    kept: dict[str, int] = {}
    for digits, n, *_ in found:
        if n:
            user = bytes.fromhex(digits).decode().partition(":")[0]
            kept[user] = kept.get(user, 0) + n
    assert kept == {user: min(size, 4) for user, size in sizes.items()}


def test_users_that_the_system_holds_equal_share_one_bound() -> None:
    rows = [{"user_id": name, "query": f"{name}{n}"} for name in ("anna", "ANNA", "Anna") for n in range(5)]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE visits (user_id VARCHAR COLLATE NOCASE, query VARCHAR)")
        connection.executemany("INSERT INTO visits VALUES (?, ?)", [list(row.values()) for row in rows])
        found = connection.sql(said("duckdb", CountQuery("query", items_per_user=4), None, "visits")).fetchall()
    assert sum(n for _, n, *_ in found) == 4


def test_a_user_that_does_not_equal_itself_is_nobody() -> None:
    for dialect in DIALECTS:
        assert re.search(r"CASE WHEN .user_id. = .user_id. THEN", said(dialect)), dialect


def test_each_statement_has_a_secret_of_its_own() -> None:
    asked = {"dialect": "trino", "table": "visits", "user": "user_id", "item": "query", "items_per_user": 3}
    first, second = (counting_sql("histogram", **asked) for _ in range(2))
    assert first != second


@pytest.mark.parametrize(
    ("changed", "argument"),
    [
        ({"dialect": "cobol"}, "dialect"),
        ({"table": "a.b.c.d"}, "table"),
        ({"table": 'x"; DROP TABLE y; --\n'}, "table"),
        ({"user": "a\nb"}, "user"),
        ({"item": "user_id"}, "item"),
        ({"item": []}, "item"),
        ({"items_per_user": None}, "items_per_user"),
        ({"items_per_user": 0}, "items_per_user"),
        ({"fetch": 5}, "fetch"),
        ({"count": "rows"}, "rows_per_item"),
    ],
)
def test_what_cannot_be_said_is_refused(changed: dict[str, Any], argument: str) -> None:
    asked = {"dialect": "trino", "table": "visits", "user": "user_id", "item": "query", "items_per_user": 3}
    with pytest.raises(InvalidArgumentError) as refused:
        counting_sql("histogram", **asked | changed)
    assert refused.value.argument == argument


def test_a_name_cannot_leave_its_quotes() -> None:
    for dialect, words in DIALECTS.items():
        written = counting_statement(
            CountQuery("a'b\\c", items_per_user=1),
            kind="histogram",
            fetch=None,
            dialect=dialect,
            table="t",
            user='u"v`w]x',
            secret=SECRET,
        )
        columns = {one.name for one in parse_one(written, read=words.grammar).find_all(exp.Column)}
        assert {"a'b\\c", 'u"v`w]x'} <= columns, dialect


def test_an_answer_of_no_counts_still_says_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "answer.csv"
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE visits (user_id VARCHAR, query VARCHAR)")
        connection.execute(f"COPY ({said('duckdb', table='visits').rstrip()[:-1]}) TO '{path}' (HEADER)")
    found = read_counts(path)
    assert found.meant_for == "top"
    assert len(found.top(k=3, epsilon=1).run()) == 0
