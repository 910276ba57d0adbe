"""Predicates as text: what is read, what is refused, and the SQL that comes out for each engine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.tables.predicate.reference import SCHEMA

from unlisted.errors import InvalidArgumentError
from unlisted.tables.predicate.grammar import (
    MAX_PREDICATE_DEPTH,
    MAX_PREDICATE_LENGTH,
    ColumnType,
    parse_predicate,
)

DIALECTS = ("duckdb", "postgres", "spark")
FOLDER = Path(__file__).parent / "golden"
GOLDEN = (FOLDER / "accepted.txt").read_text(encoding="utf-8")
BLOCKS = [block.splitlines() for block in GOLDEN.strip().split("\n\n")]


@pytest.mark.parametrize(("text", "lines"), [(block[0], block[1:]) for block in BLOCKS], ids=lambda v: str(v)[:60])
def test_an_accepted_predicate_becomes_the_golden_sql(text: str, lines: list[str]) -> None:
    predicate = parse_predicate(text, SCHEMA)
    assert [f"{dialect:>8}: {predicate.sql(dialect)}" for dialect in DIALECTS] == lines
    assert predicate.text == text


REFUSED = [
    line
    for line in (FOLDER / "refused.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("# ")
]
NOT_FOR_A_FILE = ["", "  \n\t", "#1 = 1", "name = 'a\0'", "name = '\ud800'"]


@pytest.mark.parametrize("text", [*REFUSED, *NOT_FOR_A_FILE])
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        parse_predicate(text, SCHEMA)
    assert refused.value.argument == "where"
    assert refused.value.value == text
    assert "a condition on one row" in refused.value.allowed


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Age = 1", ["`Age`", "the columns are: age, n, order, name"]),
        ("count(*) > 1", ["`count`", "not an allowed function"]),
        ("name = 5", ["`5`", 'types={"name": "int"}', "--types name=int"]),
        ("name = 2.5", ["`2.5`", 'types={"name": "float"}', "--types name=float"]),
        ("name = DATE '2020-01-01'", ['types={"name": "date"}']),
        ("name < age", ['`"name"` is text', '`"age"` is int', "--types name=int"]),
        ("day = t", ['`"day"` is date', '`"t"` is timestamp', "one type"]),
        ("name * 2 > 1", ["arithmetic takes numbers", '`"name"` is text', "--types name=int"]),
        ("age = 'five'", ["`'five'`", "does not fit type int"]),
        ("day = '2021-02-29'", ["there is no such day", "yyyy-mm-dd"]),
        ("tags = 1", ["IS NULL"]),
        ("age = 1 -- x", ["comments"]),
        ("age = 1 AND", ["near `AND`"]),
        ("EXTRACT(epoch FROM t) = 1", ["`epoch`", "year"]),
        ("ok = vip;", ["`;`"]),
        ("hour(day) = 1", ["a date has no hour"]),
    ],
)
def test_a_refusal_names_the_piece_and_the_way_out(text: str, words: list[str]) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        parse_predicate(text, SCHEMA)
    for word in words:
        assert word in str(refused.value)


def test_a_refusal_is_short_however_long_the_predicate() -> None:
    for text in (f'"{"x" * 5000}" = 1', f"name = {'1' * 5000}", f"{'f' * 5000}(1)", "name + " * 15 + "1 = 1"):
        with pytest.raises(InvalidArgumentError) as refused:
            parse_predicate(text, SCHEMA)
        assert len(str(refused.value)) < 900


def test_what_is_not_text_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="text"):
        parse_predicate(5, SCHEMA)  # type: ignore[arg-type]


def test_columns_are_those_it_reads() -> None:
    assert parse_predicate("age = 5 OR name LIKE 'a' AND NOT ok", SCHEMA).columns == {"age", "name", "ok"}
    assert parse_predicate("TRUE", SCHEMA).columns == frozenset()


def test_names_match_exactly_and_keywords_can_be_names() -> None:
    names = ("Age", "age", "select", "case", "date", "from", "count", "a b", "naïve")
    schema = dict.fromkeys(names, ColumnType.INTEGER)
    for name in names:
        quoted = parse_predicate(f'"{name}" = 1', schema)
        assert quoted.sql("duckdb") == f'"{name}" = 1'
        if " " not in name:
            assert parse_predicate(f"{name} = 1", schema) == parse_predicate(f"{name} = 1", schema)
            assert parse_predicate(f"{name} = 1", schema).expression == quoted.expression
    with pytest.raises(InvalidArgumentError):
        parse_predicate("AGE = 1", schema)


def test_text_columns_are_compared_under_the_collation_asked_for() -> None:
    predicate = parse_predicate(
        "name < 'b' AND name LIKE 'a%' AND name IN ('a') AND name IS NULL AND age = 1", SCHEMA
    )
    assert predicate.sql("postgres", text_collation="C") == (
        '"name" COLLATE "C" < \'b\' AND "name" COLLATE "C" LIKE \'a%\' AND "name" COLLATE "C" IN (\'a\')'
        ' AND "name" IS NULL AND "age" = 1'
    )
    assert "COLLATE" not in predicate.sql("postgres")


def test_date_parts_that_engines_disagree_on_are_refused_where_the_engine_is_not_known() -> None:
    assert "DAYOFWEEK" in parse_predicate("dayofweek(day) = 0", SCHEMA).sql("databricks")
    assert "EXTRACT(YEAR" in parse_predicate("year(day) = 2020", SCHEMA).sql("mysql")
    with pytest.raises(InvalidArgumentError, match="dow"):
        parse_predicate("dayofweek(day) = 0", SCHEMA).sql("mysql")


def test_length_is_limited() -> None:
    longest = "age = 1" + " " * (MAX_PREDICATE_LENGTH - 7)
    assert parse_predicate(longest, SCHEMA).columns == {"age"}
    with pytest.raises(InvalidArgumentError, match="characters"):
        parse_predicate(longest + " ", SCHEMA)


@pytest.mark.parametrize(
    ("before", "middle", "after"),
    [
        ("(", "ok", ")"),
        ("NOT ", "ok", ""),
        ("NOT (", "ok", ")"),
        ("- ", "age = 1", ""),
        ("", "age = 1", " + age"),
        ("", "ok", " = ok"),
        ("(age = 1 OR ", "ok", ") AND ok"),
    ],
)
def test_nesting_is_limited(before: str, middle: str, after: str) -> None:
    few = MAX_PREDICATE_DEPTH // 4
    assert parse_predicate(before * few + middle + after * few, SCHEMA).sql("duckdb")
    for many in (MAX_PREDICATE_DEPTH + 1, 400):
        with pytest.raises(InvalidArgumentError, match="nests deeper"):
            parse_predicate(before * many + middle + after * many, SCHEMA)


def test_a_long_chain_is_not_deep() -> None:
    text = " OR ".join(f"age = {i}" for i in range(700))
    assert parse_predicate(text, SCHEMA).sql("duckdb").count(" OR ") == 699
    listed = ", ".join(str(i) for i in range(1000))
    assert parse_predicate(f"age IN ({listed})", SCHEMA).sql("duckdb") == f'"age" IN ({listed})'


def test_no_recursion_error_escapes_from_deep_in_the_stack() -> None:
    def at_depth(depth: int) -> str:
        if depth:
            return at_depth(depth - 1)
        try:
            return parse_predicate("(" * 15 + "ok" + ")" * 15, SCHEMA).text
        except InvalidArgumentError as refused:
            return str(refused)

    frames = sum(1 for _ in iter_frames())
    found = {at_depth(depth)[:6] for depth in range(0, sys.getrecursionlimit() - frames - 60, 25)}
    assert found == {"((((((", "where "}


def iter_frames() -> list[object]:
    frame, frames = sys._getframe(), []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames


# What texts good and bad are made of, to be put together in any order.
PIECES = st.sampled_from(sorted({piece for line in [*REFUSED, *(b[0] for b in BLOCKS)] for piece in line.split()}))


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=14).map(" ".join), st.lists(PIECES).map("".join)))
@example("age = '" + "'" * 999)
@example("CASE " * 1000)
@example("INTERVAL " * 1000)
@example("DATE " * 1500)
@example("[" * 3000)
@example("~" * 5000)
@example("year(" * 1000)
@example("EXTRACT(year FROM " * 500)
def test_any_text_is_either_read_or_refused(text: str) -> None:
    try:
        predicate = parse_predicate(text, SCHEMA)
    except InvalidArgumentError:
        return
    for dialect in DIALECTS:
        assert predicate.sql(dialect)
