"""One real service for most tests, over a real PostgreSQL, and a way to see what was charged."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.server.running import PATIENCE_SECONDS, Running, make_keys, make_slow_view, make_sources, running

from unlisted.ledger.ledger import Ledger
from unlisted.server.config import read_config
from unlisted.server.console import asked
from unlisted.server.startup import open_datasets


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("service")
    make_sources(folder)
    return folder


@pytest.fixture(scope="session")
def ledger_url(postgres_url: str) -> str:
    """A database of its own for the ledger, and in it a view that takes long to read."""
    name = f"service_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    url = f"{postgres_url.rsplit('/', 1)[0]}/{name}"
    make_slow_view(url)
    return url


@pytest.fixture(scope="session")
def keys(sources: Path, ledger_url: str) -> dict[str, str]:
    """Keys for a ledger in which all data sets are open."""
    from tests.server.running import config_text

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEST_LEDGER", ledger_url)
        (sources / "unlisted.toml").write_text(config_text({}))
        with Ledger(ledger_url) as ledger:
            open_datasets(read_config(sources / "unlisted.toml"), ledger)
    return make_keys(ledger_url)


@pytest.fixture(scope="session")
def service(sources: Path, ledger_url: str, keys: dict[str, str]) -> Iterator[Running]:
    with running(sources, ledger_url, keys, {"requests_per_minute": 100_000, "time_limit": "3600s"}) as one:
        yield one


@pytest.fixture
def book(ledger_url: str) -> Iterator[Ledger]:
    with Ledger(ledger_url) as ledger:
        yield ledger


@pytest.fixture
def fresh_postgres(postgres_url: str) -> Iterator[str]:
    """The URL of a new database, for a ledger of one test's own."""
    name = f"ledger_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
    yield f"{postgres_url.rsplit('/', 1)[0]}/{name}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the console's forms wait for their answers, however slow the machine is."""
    monkeypatch.setattr(asked, "QUICK_SECONDS", PATIENCE_SECONDS)
