"""`LIKE` in linear time: regular expressions that mean what the patterns meant, in the engines that run them."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unlisted.tables.column_types import ColumnType
from unlisted.tables.predicate.grammar import parse_predicate

SCHEMA = {"x": ColumnType.TEXT}
SIGNS = "ab.é\n\U0001f600\\]$"
TEXTS = [
    "",
    "a",
    "ab",
    "ba",
    "aab",
    "abab",
    "a\nb",
    "é",
    "aéb",
    "a.b",
    "b\\a]",
    "$a",
    "a\U0001f600b",
    "b\n",
    "a%b_",
]


def matches(text: str, pattern: str, escape: str | None) -> bool:
    """The slow twin: every way to read the pattern, sign by sign."""
    reached = {0}
    signs = iter(pattern)
    for sign in signs:
        if escape is not None and sign == escape:
            wanted = next(signs)
            reached = {at + 1 for at in reached if text[at : at + 1] == wanted}
        elif sign == "%":
            reached = set(range(min(reached, default=len(text) + 1), len(text) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(text) and (sign == "_" or text[at] == sign)}
    return len(text) in reached


def condition(pattern: str, escape: str | None, dialect: str) -> str:
    quoted = pattern.replace("'", "''")
    text = f"x LIKE '{quoted}'" + (f" ESCAPE '{escape}'" if escape else "")
    return parse_predicate(text, SCHEMA).sql(dialect)


PATTERNS = st.lists(st.sampled_from(["%", "%", "%", "_", "a", "b", *SIGNS, "!%", "!_", "!!"]), max_size=9)


@given(
    pattern=PATTERNS.map("".join), texts=st.lists(st.text(st.sampled_from(SIGNS + "%_!"), max_size=8), max_size=8)
)
def test_duckdb_means_the_same(pattern: str, texts: list[str]) -> None:
    query = f"SELECT x, {condition(pattern, '!', 'duckdb')} FROM (SELECT UNNEST(?) AS x)"
    with duckdb.connect() as connection:
        found = connection.execute(query, [[*TEXTS, *texts]]).fetchall()
    assert found == [(text, matches(text, pattern, "!")) for text in (*TEXTS, *texts)]


HARD: list[tuple[str, str | None]] = [
    *((pattern, None) for pattern in ("%a%b", "%a%b%", "a%_%b", "%%%b", "_%a%_", "%\n%b", "%a%$", "%.%b")),
    *((pattern, None) for pattern in ("%a%é%b", "%_%_%_%", "%a%\U0001f600_")),
    ("%!%%!_", "!"),
    ("%\\\\%]%", "\\"),
]


def test_spark_means_the_same(spark_session: Any) -> None:
    frame = spark_session.createDataFrame(list(enumerate(TEXTS)), "at INT, x STRING")
    found = frame.selectExpr("at", *(condition(*hard, "spark") for hard in HARD)).orderBy("at").collect()
    for text, (_, *told) in zip(TEXTS, found, strict=True):
        assert told == [matches(text, *hard) for hard in HARD], text


LONG, WICKED = "a" * 30_000, "%" + "a_%" * 8 + "b"


def test_no_row_takes_forever_in_duckdb() -> None:
    with duckdb.connect() as connection:
        query = f"SELECT {condition(WICKED, None, 'duckdb')} FROM (VALUES (?)) AS t(x)"
        assert connection.execute(query, [LONG]).fetchall() == [(False,)]


@pytest.mark.parametrize("pattern", [WICKED, "%%%%%%%%b", "%a%a%a%a%a%b%"])
def test_no_row_takes_forever_in_spark(pattern: str, spark_session: Any) -> None:
    frame = spark_session.createDataFrame([(LONG,)], "x STRING").selectExpr(condition(pattern, None, "spark"))
    assert frame.collect()[0][0] is False
