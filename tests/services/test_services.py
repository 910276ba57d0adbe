"""The services that the tests lean on are the real ones."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from tests.conftest import missing


def test_postgres_answers(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT count(*) FROM pg_class WHERE relname = 'pg_class'").fetchone() == (1,)


def test_postgres_wants_the_password(postgres_url: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(postgres_url.replace("pa55", "wrong"))


def test_spark_answers(spark_session: Any) -> None:
    assert spark_session.range(3).count() == 3


def test_what_is_missing_is_skipped_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNLISTED_NO_SKIPS", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no such engine"):
        missing("no such engine")


def test_nothing_is_skipped_where_skips_are_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNLISTED_NO_SKIPS", "1")
    with pytest.raises(pytest.fail.Exception, match="no such engine"):
        missing("no such engine")
