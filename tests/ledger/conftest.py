"""Every ledger test runs on a real SQLite file and on a real PostgreSQL."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.ledger.books import Clock

from unlisted.ledger.ledger import Ledger


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty ledger."""
    if request.param == "sqlite":
        return str(tmp_path / "budget.db")
    address: str = request.getfixturevalue("postgres_ledger_url")
    return address


@pytest.fixture
def postgres_ledger_url(postgres_url: str) -> Iterator[str]:
    """The address of an empty ledger on PostgreSQL."""
    name = f"ledger_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    yield f"{postgres_url.rsplit('/', 1)[0]}/{name}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(ledger_url: str, clock: Clock) -> Iterator[Ledger]:
    with Ledger(ledger_url, clock=clock) as book:
        yield book


@pytest.fixture
def postgres_ledger(postgres_ledger_url: str) -> Iterator[Ledger]:
    with Ledger(postgres_ledger_url) as book:
        yield book
