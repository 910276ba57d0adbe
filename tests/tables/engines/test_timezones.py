"""Moments with a time zone: counted and compared where the owner says, the same in every engine, or refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.tables.fixtures.asked import all_counts, question
from tests.tables.fixtures.engines import MAKERS

from unlisted.errors import InvalidArgumentError
from unlisted.tables.table import table

SUMMER = datetime(2024, 7, 1, 22, 30, tzinfo=UTC)
TWICE = datetime(2024, 10, 27, 0, 30, tzinfo=UTC)
"""Half past two in Berlin, and an hour later again."""

MOMENTS = [SUMMER, TWICE, TWICE + timedelta(hours=1), datetime(1, 1, 1, tzinfo=UTC), None]
ROWS = pa.table(
    {
        "user": [1, 2, 3, 4, 5],
        "item": ["a", "b", "c", "d", "e"],
        "at": pa.array(MOMENTS, pa.timestamp("us", "UTC")),
    }
)
ENGINES = ("parquet", "arrow", "duckdb", "pyarrow", "polars", "polars lazy", "pandas", "postgres", "spark", "ibis duckdb", "ibis postgres")  # fmt: skip  # noqa: E501


@pytest.fixture(params=ENGINES)
def given(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if "pandas" in request.param:
        # Its nanoseconds do not reach the year 1.
        return MAKERS[request.param](ROWS.filter(pa.array([True, True, True, False, True])), tmp_path, request)
    return MAKERS[request.param](ROWS, tmp_path, request)


def test_they_are_items_and_in_predicates_where_a_zone_is_said(given: Any) -> None:
    source = table(given.source, user="user", timezone="Europe/Berlin", **given.keywords)
    assert source.columns()["at"].value == "timestamp"
    assert all_counts(source, question("at")) == {
        (datetime(2024, 7, 2, 0, 30),): 1,
        (datetime(2024, 10, 27, 2, 30),): 2,
    }
    asked = question("item", where="at >= TIMESTAMP '2024-07-02' AND day(at) < 10")
    assert all_counts(source, asked) == {("a",): 1}


def test_without_a_zone_they_are_refused_before_anything_is_spent(given: Any) -> None:
    source = table(given.source, user="user", **given.keywords)
    for asked in (question("at"), question("item", where="at > TIMESTAMP '2024-07-02'")):
        with pytest.raises(InvalidArgumentError, match='timezone="Europe/Berlin"'):
            source.rows(asked)
    assert all_counts(source, question("item", where="at IS NULL")) == {("e",): 1}


def test_as_users_two_moments_are_two_whatever_clocks_say(given: Any) -> None:
    source = table(given.source, user="at", timezone="Europe/Berlin", **given.keywords)
    assert sum(all_counts(source, question("item")).values()) >= 3
    asked = question("item", where="at = TIMESTAMP '2024-10-27 02:30:00'", items_per_user=1)
    assert all_counts(source, asked) == {("b",): 1, ("c",): 1}


def test_a_zone_that_is_none_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="timezone = 'Atlantis'"):
        table(ROWS, user="user", timezone="Atlantis")
