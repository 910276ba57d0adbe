"""A real browser on a real service."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from tests.browser.service import Site, running_site
from tests.browser.visitor import Visitor
from tests.conftest import missing
from tests.services import chromium


@pytest.fixture(scope="session")
def site(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The service, as long as the tests run."""
    name = f"console_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    url = f"{postgres_url.rsplit('/', 1)[0]}/{name}"
    with running_site(tmp_path_factory.mktemp("console"), url) as one:
        yield one


@pytest.fixture(scope="module")
def chromium_browser() -> Iterator[Any]:
    """A browser, as long as one file of tests runs: its driver keeps an event loop that others must not meet."""
    if (reason := chromium.why_not()) is not None:
        missing(reason)
    with chromium.running_browser() as browser:
        yield browser


@pytest.fixture
def visitor(chromium_browser: Any, site: Site) -> Iterator[Callable[..., Visitor]]:
    """Open windows of a kind; each must have seen nothing that a page should not do."""
    opened: list[Visitor] = []

    def open_window(**kind: Any) -> Visitor:
        opened.append(Visitor(chromium_browser.new_context(**kind), site))
        return opened[-1]

    yield open_window
    for one in opened:
        one.context.close()
        assert one.complaints == []
