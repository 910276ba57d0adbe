"""The console under attack: no cookie, a forged form, tricks with paths and bodies. Nothing is charged."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from tests.server.running import locked_out

from unlisted.ledger.ledger import Ledger
from unlisted.server.app import make_app
from unlisted.server.auth import KeyRing
from unlisted.server.config import Config, Limits
from unlisted.server.console.app import HEADERS
from unlisted.server.console.visits import COOKIE
from unlisted.server.run import demo

PAGES = (
    "/",
    "/datasets/searches/ask",
    "/datasets/searches/answers/1",
    "/history",
    "/budget",
    "/admin",
    "/streams",
)
FORMS = (
    "/datasets/searches/ask",
    "/datasets/searches/ask/preview",
    "/datasets/searches/answers",
    "/admin/create-key",
    "/admin/open-account",
    "/admin/thaw-account",
    "/sign-out",
)
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Stranger:
    """A browser without a screen: keeps cookies, follows nothing."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.cookies: dict[str, str] = {}
        self.token = ""

    def get(self, path: str) -> httpx.Response:
        return self._call("GET", path)

    def post(self, path: str, body: dict[str, str] | bytes, headers: dict[str, str] = FORM) -> httpx.Response:
        given = {"content": body} if isinstance(body, bytes) else {"data": body}
        return self._call("POST", path, headers=headers, **given)

    def sign_in(self, key: str) -> httpx.Response:
        self.token = self._token("/sign-in")
        reply = self.post("/sign-in", {"key": key, "token": self.token})
        if reply.headers["location"] == "/console/":
            self.token = self._token("/")
        return reply

    def _token(self, path: str) -> str:
        found = re.search(r'name="token" value="([0-9a-f]{64})"', self.get(path).text)
        assert found is not None
        return found[1]

    def _call(self, method: str, path: str, **more: Any) -> httpx.Response:
        async def call() -> httpx.Response:
            transport = httpx.ASGITransport(app=self._app, raise_app_exceptions=False)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://inside", cookies=self.cookies
            ) as client:
                return await client.request(method, f"/console{path}", **more)

        reply = asyncio.run(call())
        self.cookies |= dict(reply.cookies)
        return reply


@pytest.fixture(scope="module")
def config() -> Iterator[tuple[Config, str, str]]:
    with demo(0) as made:
        # All tests together are one key's requests.
        yield replace(made.config, limits=Limits(requests_per_minute=100_000)), made.analyst, made.admin


@pytest.fixture
def stranger(config: tuple[Config, str, str]) -> Iterator[Stranger]:
    """Somebody at the door; whatever they do, the ledger stays as it was."""
    with Ledger(config[0].ledger) as ledger:
        app, before = make_app(config[0], ledger), ledger.history()
        yield Stranger(app)
        assert ledger.history() == before


@pytest.fixture
def analyst(stranger: Stranger, config: tuple[Config, str, str]) -> Stranger:
    assert stranger.sign_in(config[1]).status_code == 303
    return stranger


@pytest.mark.parametrize("path", PAGES)
def test_without_a_cookie_every_page_is_the_door(path: str, stranger: Stranger) -> None:
    for cookie in ("", "x", "gAAAAABlForged"):
        stranger.cookies = {COOKIE: cookie} if cookie else {}
        reply = stranger.get(path)
        assert (reply.status_code, reply.headers["location"]) == (303, "/console/sign-in")
        assert reply.text == ""


@pytest.mark.parametrize("path", FORMS)
def test_a_form_without_its_token_is_refused(path: str, analyst: Stranger) -> None:
    fields = {"item": "query", "question": "top", "k": "3", "fetch": "100", "count": "users"}
    fields |= {"epsilon": "1", "delta": "1e-8"}
    for token in ("", "0" * 64, analyst.token[:-1], "\x00"):
        assert analyst.post(path, {**fields, "token": token}).status_code == 403


def test_a_token_of_another_session_is_refused(analyst: Stranger, config: tuple[Config, str, str]) -> None:
    mine = analyst.token
    analyst.cookies = {}
    analyst.sign_in(config[1])
    assert analyst.post("/sign-out", {"token": mine}).status_code == 403


def test_a_copied_cookie_ends_with_the_session(analyst: Stranger) -> None:
    copied = dict(analyst.cookies)
    assert analyst.get("/history").status_code == 200
    assert analyst.post("/sign-out", {"token": analyst.token}).status_code == 303
    analyst.cookies = copied
    reply = analyst.get("/history")
    assert (reply.status_code, reply.headers["location"]) == (303, "/console/sign-in?ended=1")
    assert "Your session has ended" in analyst.get("/sign-in?ended=1").text


@pytest.mark.parametrize("key", ["", "ul_000000000000_" + "A" * 43, "' OR 1=1 --", "\x00", "é", "x" * 5000])
def test_a_wrong_key_opens_nothing(key: str, stranger: Stranger) -> None:
    reply = stranger.sign_in(key)
    assert reply.status_code == 303
    assert re.search(r"/sign-in\?(wrong=key|wait=\d+)$", reply.headers["location"])
    assert key not in reply.headers["location"] or not key
    assert stranger.get("/").headers["location"] == "/console/sign-in"


def test_wrong_keys_are_answered_slower_and_slower(stranger: Stranger) -> None:
    wrong = "ul_111111111111_" + "A" * 43
    seen = locked_out(lambda: stranger.sign_in(wrong), lambda reply: 429 if "wait=" in place_of(reply) else 401)
    assert place_of(seen[0]).endswith("?wrong=key")
    assert "retry-after" in seen[-1].headers
    assert "Too many wrong keys. Wait" in stranger.get(place_of(seen[-1]).removeprefix("/console")).text


def place_of(reply: httpx.Response) -> str:
    """Return where a form sends the browser."""
    assert reply.status_code == 303
    return str(reply.headers["location"])


def test_the_log_and_the_counters_see_wrong_keys(stranger: Stranger, caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("unlisted.server").propagate = True
    with caplog.at_level(logging.INFO, "unlisted.server"):
        stranger.sign_in("ul_222222222222_" + "A" * 43)
    assert [one.told["outcome"] for one in caplog.records if one.told["method"] == "POST"] == ["denied"]


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"x=" + b"a" * 100_000, FORM, 413),
        (b"&".join(b"a=1" for _ in range(1000)), FORM, 422),
        (b"\xff\xfe", FORM, 422),
        (b"a=%ff", FORM, 422),
        (b'{"key": "x"}', {"Content-Type": "application/json"}, 422),
        (b"", {}, 422),
    ],
)
def test_strange_bodies_are_refused(body: bytes, headers: dict[str, str], status: int, analyst: Stranger) -> None:
    assert analyst.post("/datasets/searches/answers", body, headers).status_code == status


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static//etc/passwd",
        "/static/%00",
        "/datasets/../admin",
        "/datasets/searches/answers/1/../../../../admin",
        "/datasets/searches/answers/999999999999999999999",
        "/datasets/searches/answers/-1",
        "/datasets/searches/answers/1/exe",
        "/datasets/%3Cscript%3E/ask",
        "/datasets/nothing/ask",
        "/streams/nothing",
        "/history/nothing",
        "/admin",
        "/ask%0d%0aSet-Cookie:x=1",
    ],
)
def test_tricks_with_paths_lead_nowhere(path: str, analyst: Stranger) -> None:
    reply = analyst.get(path)
    assert reply.status_code in (403, 404)
    assert "<script>" not in reply.text.lower()
    assert "import annotations" not in reply.text
    assert "x=1" not in reply.headers.get("set-cookie", "")


INJECTIONS = ("'; DROP TABLE unlisted_keys; --", '" OR 1=1', "{{7*7}}", "<img src=x>", "\x00")


@pytest.mark.parametrize(
    "field",
    ["item", "where", "question", "epsilon", "delta", "k", "count", "noise", "method", "ranking", "request"],
)
def test_no_field_takes_more_than_it_should(field: str, analyst: Stranger) -> None:
    fields = {"item": "query", "question": "top", "k": "3", "fetch": "100", "count": "users", "noise": "auto"}
    fields |= {"epsilon": "1", "delta": "1e-8", "ranking": "gumbel", "token": analyst.token}
    # A ranking has no use for a law of noise or a way to find labels, and a preview none for a request's name.
    is_read = field not in ("noise", "method", "request")
    for said in INJECTIONS:
        place = place_of(analyst.post("/datasets/searches/ask", {**fields, field: said}))
        assert re.fullmatch(r"/console/datasets/searches/ask\?draft=[\w-]+", place)
        reply = analyst.get(place.removeprefix("/console"))
        assert reply.status_code == 200
        assert ("This cannot be asked yet" in reply.text) == is_read
        assert "<img" not in reply.text


def test_an_analyst_is_no_admin(analyst: Stranger, config: tuple[Config, str, str]) -> None:
    for verb in ("create-key", "open-account", "close-account", "grant", "withdraw", "revoke-key", "anything"):
        fields = {"token": analyst.token, "name": "x", "role": "admin", "account": "demo", "dataset": "searches"}
        assert analyst.post(f"/admin/{verb}", fields).status_code == 403
    with Ledger(config[0].ledger) as ledger:
        assert len(KeyRing(ledger).all()) == 2


@pytest.mark.parametrize("path", ["/sign-in", "/static/console.css", "/", "/nowhere", "/datasets/nothing/ask"])
def test_every_answer_carries_the_headers(path: str, analyst: Stranger) -> None:
    reply = analyst.get(path)
    assert {name: reply.headers[name] for name in HEADERS} == HEADERS
    policy = reply.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "http" not in policy


@pytest.mark.parametrize("path", ["/sign-in", "/", "/datasets/searches/ask", "/history", "/budget", "/streams"])
def test_no_page_has_a_script_or_a_style_inside(path: str, analyst: Stranger) -> None:
    text = analyst.get(path).text
    assert re.findall(r"<script(?![^>]*\bsrc=)", text) == []
    assert re.findall(r"<style|\sstyle=|\son\w+=|javascript:", text) == []
    addresses = re.findall(r'(?:src|href|action)="([^"]*)"', text)
    assert addresses
    assert all(one.startswith(("/console", "#")) for one in addresses)


def test_the_cookie_is_secure_unless_told_otherwise(config: tuple[Config, str, str]) -> None:
    with Ledger(config[0].ledger) as ledger:
        app = make_app(replace(config[0], secure_cookies=True), ledger)
        cookie = Stranger(app).get("/sign-in").headers["set-cookie"].lower()
    assert {"httponly", "secure", "samesite=strict", "path=/console"} <= set(cookie.split("; "))


def test_a_data_set_of_others_is_not_there(stranger: Stranger, config: tuple[Config, str, str]) -> None:
    with Ledger(config[0].ledger) as ledger:
        key = KeyRing(ledger).create("nobody", "analyst")
        stranger.sign_in(key)
        hidden = stranger.get("/datasets/searches/ask")
        nowhere = stranger.get(f"/datasets/{quote('not there')}/ask")
        KeyRing(ledger).revoke(key.split("_")[1])
    assert hidden.status_code == nowhere.status_code == 404
    assert hidden.text == nowhere.text
