"""An attacker's afternoon: nothing gets in, nothing comes out, nothing is charged."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from tests.server.running import HIDDEN_LABEL, HISTOGRAM, TOP, Running, locked_out

from unlisted.ledger.ledger import Ledger
from unlisted.server.auth import KeyRing

PLACES = (
    "/v1/datasets",
    "/v1/datasets/searches",
    "/v1/datasets/searches/releases",
    "/v1/datasets/searches/releases/4",
    "/v1/datasets/searches/releases/4/receipt",
    "/v1/datasets/searches/balance",
    "/v1/datasets/searches/history",
    "/v1/streams",
    "/metrics",
)
INJECTIONS = (
    "'; DROP TABLE unlisted_accounts; --",
    '" OR 1=1 --',
    "query') FROM searches --",
    "1 UNION SELECT secret_sha256 FROM unlisted_keys",
    "READ_TEXT('/etc/passwd')",
    "query = (SELECT 1)",
    "pg_sleep(10) IS NULL",
    "device = 'x' /* */",
    "\x00",
    "\ud800",
    "{{7*7}}",
    "%s%n",
    "../../etc/passwd",
)


@pytest.fixture(autouse=True)
def _nothing_is_charged(book: Ledger) -> Iterator[None]:
    before = book.history()
    yield
    assert book.history() == before


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Basic YW5hOmFuYQ==",
        "Bearer ul_000000000000_" + "A" * 43,
        "Bearer null",
        "Bearer " + "é" * 20,
    ],
)
def test_without_a_key_that_is_known_there_is_nothing_to_see(service: Running, place, authorization):
    headers = {} if authorization is None else {"Authorization": authorization, "X-Forwarded-For": place}
    refused = service.ask(place, who=None, headers=headers)
    assert refused.status in (401, 429)
    assert b"searches" not in refused.body


@pytest.mark.parametrize("body", [b"{", b"null", b"\xff", b'{"question": "what"}'])
def test_without_a_key_a_body_is_not_even_read(service: Running, body):
    for who in (None, "nobody"):
        assert service.ask("/v1/datasets/searches/releases", body, who=who).status in (401, 429)


def test_almost_a_key_is_no_key(service: Running, keys):
    right = keys["other"]
    for wrong in (right[:-1], right + "A", right.upper(), right.replace("ul_", "UL_"), f"{right} {right}"):
        refused = service.ask("/v1/datasets", who=wrong)
        assert refused.status in (401, 429), wrong
    swapped = right[:16] + ("A" if right[16] != "A" else "B") + right[17:]
    assert service.ask("/v1/datasets", who=swapped).status in (401, 429)


def test_a_revoked_key_is_no_key(service: Running, book: Ledger):
    ring = KeyRing(book)
    key = ring.create("Rex", "analyst", {"empty": "others"})
    ring.revoke(key.split("_")[1])
    assert service.ask("/v1/datasets", who=key).status == 401


def test_wrong_keys_are_locked_out_and_the_right_one_beside_them_is_not(service: Running, keys):
    name = keys["other"].split("_")[1]
    wrong = f"ul_{name[::-1]}_{'B' * 43}"
    guesses = locked_out(lambda: service.ask("/v1/datasets", who=wrong), lambda reply: reply.status)
    assert int(guesses[-1].headers["retry-after"]) >= 1
    assert service.ask("/v1/datasets", who="other").status == 200


def test_what_is_not_granted_looks_like_what_is_not_there(service: Running):
    for method_body in (None, TOP):
        for ending in ("", "/preview", "/releases", "/releases/4", "/balance", "/history"):
            hidden = service.ask(f"/v1/datasets/searches{ending}", method_body, who="other")
            absent = service.ask(f"/v1/datasets/nowhere{ending}", method_body, who="other")
            assert hidden.status == absent.status in (404, 405)
            assert hidden.body == absent.body


def test_an_analyst_is_no_admin_and_an_admin_does_not_spend_without_a_grant(service: Running):
    assert service.ask("/metrics").status == 403
    refused = service.ask("/v1/datasets/searches/releases", TOP, who="admin")
    assert (refused.status, refused.json()["charged"]) == (403, False)


@pytest.fixture(scope="module")
def release_of_analyst(service: Running, ledger_url: str) -> int:
    """The number of a release on a data set that two may ask about, each for an account of its own."""
    assert service.ask("/v1/datasets/empty/releases", HISTOGRAM).status == 200
    with Ledger(ledger_url) as ledger:
        return ledger.history("empty", "ads-empty")[-1].number


def test_somebody_elses_release_is_not_there(service: Running, release_of_analyst: int):
    place = f"/v1/datasets/empty/releases/{release_of_analyst}"
    assert service.ask(place).status == 200
    assert service.ask(place, who="admin").status == 200
    theirs, absent = (service.ask(path, who="other") for path in (place, f"/v1/datasets/empty/releases/{10**15}"))
    assert theirs.status == absent.status == 404
    assert theirs.body == absent.body


@pytest.mark.parametrize(
    "name", ["..", "%2e%2e", "%2e%2e%2fadmin", "searches%00", "searches%2f..", "a" * 5000, "%ff"]
)
def test_paths_lead_nowhere(service: Running, name):
    for place in (f"/v1/datasets/{name}", f"/v1/datasets/{name}/balance", f"/{name}/{name}/etc/passwd"):
        assert service.ask(place).status in (404, 422), place


@pytest.mark.parametrize("text", INJECTIONS)
def test_sql_in_every_field_is_refused_as_text(service: Running, text):
    fields = [
        {"items": [text]},
        {"where": text},
        {"epsilon": text},
        {"delta": text},
        {"question": text},
        {"count": text},
        {"noise": text},
        {"method": text},
        {"k": text},
        {"fetch": text},
        {"items_per_user": text},
        {"per_item_epsilon": text},
        {"plan_sha256": text},
        {text: 1},
    ]
    for changed in fields:
        refused = service.ask("/v1/datasets/searches/releases", {**TOP, **changed})
        assert refused.status == 422, changed
        assert HIDDEN_LABEL.encode() not in refused.body


def test_bodies_that_are_too_long_or_no_json_are_refused(service: Running):
    place = "/v1/datasets/searches/releases"
    long = {**TOP, "where": "device = '" + "x" * 100_000 + "'"}
    assert service.ask(place, long).status == 413
    for body in (b"", b"null", b"[]", b"{", b'"text"', b"\xff\xfe", b'{"question": NaN}', b"[" * 30_000):
        assert service.ask(place, body).status in (400, 422), body[:20]
    without = service.ask(place, json.dumps(TOP).encode(), headers={"Content-Type": "text/plain"})
    assert without.status == 422


def test_a_body_that_grows_beyond_what_it_declared_is_cut_off(service: Running, keys):
    head = (
        "POST /v1/datasets/searches/releases HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {keys['analyst']}\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    chunk = b"ffff\r\n" + b" " * 0xFFFF + b"\r\n"
    assert b" 413 " in service.raw(head.encode() + chunk * 3 + b"0\r\n\r\n").split(b"\r\n")[0]


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /health HTTP/1.1\r\nHost: x\r\nX: a\r\n\tb\x00\r\n\r\n",
        b"GET /v1/datasets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n",
        b"POST /v1/datasets/searches/releases HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /health HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20,
        b"GET " + b"/" * 100_000 + b" HTTP/1.1\r\n\r\n",
    ],
    ids=["control characters", "two keys", "smuggled", "not http", "a long line"],
)
def test_raw_bytes_do_no_harm(service: Running, request_bytes):
    found = service.raw(request_bytes)
    assert not re.search(rb"HTTP/1.1 (200|5..)", found)
    assert service.ask("/health", who=None).status == 200


def test_headers_cannot_be_injected_through_what_is_sent_back(service: Running):
    for key in ("a\tb", "ü" * 3, "x" * 1000):
        sent = {"Idempotency-Key": key}
        assert service.ask("/v1/datasets/searches/releases", HISTOGRAM, headers=sent).status == 422
    reply = service.ask("/v1/datasets/%0d%0aSet-Cookie:%20a=b")
    assert reply.status == 404
    assert "set-cookie" not in {name.lower() for name in reply.headers}


def test_no_reply_may_be_framed_cached_or_guessed_at(service: Running):
    for who, place in ((None, "/health"), (None, "/v1/datasets"), ("analyst", "/v1/datasets")):
        headers = {name.lower(): value for name, value in service.ask(place, who=who).headers.items()}
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "server" not in headers
        assert "access-control-allow-origin" not in headers


def test_other_methods_do_nothing(service: Running, keys):
    for method in ("PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "OPTIONS"):
        sent = f"{method} /v1/datasets/searches HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {keys['analyst']}\r\n"
        assert re.match(rb"HTTP/1.1 4..", service.raw(f"{sent}\r\n".encode()))
