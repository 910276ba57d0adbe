"""A service in this process whose people sign in elsewhere, and a browser without a screen."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
from starlette.types import ASGIApp
from tests.server.running import make_sources

from unlisted.ledger.ledger import Ledger
from unlisted.privacy.guarantee import Budget
from unlisted.server.app import make_app
from unlisted.server.auth import KeyRing
from unlisted.server.config import read_config
from unlisted.server.startup import open_datasets

ADDRESS = "http://127.0.0.1:8080"
SECRET = "a secret of more than thirty-two characters"

CONFIG = """
ledger = "budget.db"
listen = "127.0.0.1:8080"
secure_cookies = false
secret = {{ file = "secret" }}

[datasets.searches]
source = "searches.parquet"
user = "user"
items = ["query", "device"]
items_per_user = 1
budget = {{ epsilon = 9, delta = 1e-5 }}

[sso]
issuer = "{issuer}"
client_id = "unlisted"
client_secret = {{ file = "client-secret" }}
address = "{address}"
{more}

[sso.groups.analysts]
grants = {{ searches = "team" }}

[sso.groups.platform]
role = "admin"

[sso.groups.strays]
grants = {{ searches = "no-such-account" }}
"""


@dataclass
class Browser:
    """Cookies, and requests that follow no redirect."""

    app: ASGIApp
    cookies: httpx.Cookies = field(default_factory=httpx.Cookies)

    def get(self, path: str, **more: Any) -> httpx.Response:
        return asyncio.run(self._call("GET", path, **more))

    def post(self, path: str, **more: Any) -> httpx.Response:
        return asyncio.run(self._call("POST", path, **more))

    async def _call(self, method: str, path: str, **more: Any) -> httpx.Response:
        transport = httpx.ASGITransport(app=self.app)
        async with httpx.AsyncClient(transport=transport, base_url=ADDRESS, cookies=self.cookies) as client:
            reply = await client.request(method, path, **more)
            self.cookies = client.cookies
            return reply

    def leave(self) -> str:
        """Set out to sign in; return where the browser is sent."""
        reply = self.get("/console/sign-in/sso")
        assert reply.status_code == 303, reply.text
        return reply.headers["location"]

    def come_back(self, told: dict[str, str]) -> httpx.Response:
        return self.get("/console/sign-in/callback", params=told)

    def token(self) -> str:
        """Return what the forms of the page that is shown carry."""
        page = self.get("/console/").text
        return page.split('name="token" value="')[1].split('"')[0]


@dataclass
class Door:
    """A service, its ledger, and a key beside the people."""

    app: ASGIApp
    ledger: Ledger
    key: str
    folder: Path

    def browser(self) -> Browser:
        return Browser(self.app)

    def again(self) -> Door:
        """Return another server of the same ledger and secret."""
        return replace(self, app=make_app(read_config(self.folder / "unlisted.toml"), self.ledger))


def write_config(folder: Path, issuer: str, address: str = ADDRESS, more: str = "") -> Path:
    make_sources(folder)
    (folder / "secret").write_text(SECRET)
    (folder / "client-secret").write_text("what the provider knows this service by")
    (folder / "unlisted.toml").write_text(CONFIG.format(issuer=issuer, address=address, more=more))
    return folder / "unlisted.toml"


@contextmanager
def opened(folder: Path, issuer: str, more: str = "") -> Iterator[Door]:
    config = read_config(write_config(folder, issuer, more=more))
    with Ledger(config.ledger) as ledger:
        open_datasets(config, ledger)
        ledger.open("team", dataset="searches", budget=Budget(rho=1, delta="1e-6"))
        key = KeyRing(ledger).create("Ken", "analyst", {"searches": "team"})
        yield Door(make_app(config, ledger), ledger, key, folder)
