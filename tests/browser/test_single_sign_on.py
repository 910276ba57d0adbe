"""A real browser goes to a provider at another site and comes back; links from other sites end no session."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.server.running import PATIENCE_SECONDS, serving
from tests.server.sign_on.door import write_config
from tests.server.sign_on.providers import honest_provider

from unlisted.ledger.ledger import Ledger
from unlisted.privacy.guarantee import Budget
from unlisted.server.config import read_config
from unlisted.server.startup import open_datasets


@dataclass(frozen=True)
class House:
    url: str
    issuer: str


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A service on 127.0.0.1 whose provider is on localhost: to a browser, another site."""
    folder = tmp_path_factory.mktemp("house")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{found.getsockname()[1]}"
    with honest_provider() as issuer:
        path = write_config(folder, issuer, f"http://{address}")
        path.write_text(path.read_text().replace("127.0.0.1:8080", address))
        config = read_config(path)
        with Ledger(config.ledger) as ledger:
            open_datasets(config, ledger)
            ledger.open("team", dataset="searches", budget=Budget(rho=1, delta="1e-6"))
        with serving(folder, path.read_text(), {}, {}) as service:
            yield House(f"{service.url}/console", issuer)


@pytest.fixture
def page(chromium_browser: Any) -> Iterator[Any]:
    context = chromium_browser.new_context(java_script_enabled=False)
    context.set_default_timeout(1000 * PATIENCE_SECONDS)
    yield context.new_page()
    context.close()


def sign_in(page: Any, house: House, person: str) -> None:
    page.goto(f"{house.url}/sign-in")
    page.get_by_role("link", name="Sign in with your organisation").click()
    page.get_by_role("button", name=person, exact=True).click()


def test_somebody_signs_in_there_and_comes_back(page: Any, house: House) -> None:
    sign_in(page, house, "ana")
    page.wait_for_url(f"{house.url}/")
    page.wait_for_selector("h1:has-text('Data sets')")
    assert "Ana Lyst" in page.locator(".who").inner_text()
    (cookie,) = [one for one in page.context.cookies() if one["name"].startswith("unlisted")]
    assert (cookie["name"], cookie["sameSite"], cookie["httpOnly"]) == ("unlisted_console", "Strict", True)
    # A link in somebody's mail: the browser leaves the cookie out at first, and nobody is signed out.
    page.goto("about:blank")
    page.set_content(f'<a href="{house.url}/history">look</a>')
    page.get_by_role("link", name="look").click()
    page.wait_for_url(f"{house.url}/history")
    page.wait_for_selector("h1:has-text('History')")
    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{house.url}/history")
    assert page.locator("h1").inner_text() == "Sign in"


def test_somebody_of_no_group_is_told_so_and_may_begin_again(page: Any, house: House) -> None:
    sign_in(page, house, "otto")
    page.wait_for_url(f"{house.url}/sign-in?refused=group")
    page.wait_for_selector("[role=alert]")
    assert "none of your groups" in page.locator("[role=alert]").inner_text()
    page.get_by_role("link", name="Sign in with your organisation").click()
    page.wait_for_url(f"{house.issuer}/**")
