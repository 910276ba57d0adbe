"""What a service must not tell: an empty table, a failure, a slow query and a rare label leave no trace."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

from tests.server.running import HIDDEN_LABEL, HISTOGRAM, LABELS, TOP, Running

from unlisted.ledger.ledger import Ledger
from unlisted.server.observability import known_method

FIXED = "could not be answered; charged; see the log"


def shape(value: object) -> object:
    """Return what a body looks like: names and types, without the values."""
    if isinstance(value, dict):
        return {name: shape(one) for name, one in value.items()}
    return type(value).__name__


def test_an_empty_table_looks_like_any_other(service: Running):
    for question in (
        *(HISTOGRAM, {**HISTOGRAM, "question": "top-histogram"}, LABELS, {**LABELS, "method": "counts"}),
        *(TOP, {**TOP, "method": "labels"}),
    ):
        full = service.ask("/v1/datasets/searches/releases", question)
        empty = service.ask("/v1/datasets/empty/releases", question)
        assert full.status == empty.status == 200
        assert shape(full.json()) == shape(empty.json())
        assert full.headers.keys() == empty.headers.keys()
        assert empty.json()["rows"] == []


def test_a_failure_after_data_was_touched_is_one_fixed_message_and_charged(service: Running, book: Ledger):
    before = book.account("ads-broken").balance().left
    failed = service.ask("/v1/datasets/broken/releases", HISTOGRAM)
    assert failed.status == 500
    assert failed.json() == {
        "type": "urn:unlisted:problem:charged-failure",
        "title": "Internal Server Error",
        "status": 500,
        "detail": FIXED,
        "charged": True,
    }
    after = book.account("ads-broken").balance()
    assert after.left.loss < before.loss
    assert after.account.reserved.loss == 0
    assert "Traceback" in service.owner_log()
    assert "Traceback" not in service.log()


def test_a_failed_question_that_was_named_fails_again_at_no_further_cost(service: Running, book: Ledger):
    named = {"Idempotency-Key": "broken-once"}
    first = service.ask("/v1/datasets/broken/releases", HISTOGRAM, headers=named)
    charged = book.history("broken")
    assert service.ask("/v1/datasets/broken/releases", HISTOGRAM, headers=named).body == first.body
    assert book.history("broken") == charged


def test_a_replayed_request_is_answered_once(service: Running, book: Ledger):
    named, place, before = {"Idempotency-Key": "captured"}, "/v1/datasets/empty/releases", len(book.history())
    first = service.ask(place, TOP, headers=named)
    with ThreadPoolExecutor(5) as threads:
        replies = list(threads.map(lambda _: service.ask(place, TOP, headers=named), range(10)))
    assert {reply.body for reply in replies} == {first.body}
    assert len(book.history()) == before + 2


def test_the_log_holds_no_label_no_predicate_no_question_and_no_length_of_time(service: Running):
    service.ask("/v1/datasets/searches/releases", {**TOP, "where": "device = 'quite unusual'"})
    service.ask("/v1/datasets/searches/releases", TOP)
    service.ask("/v1/datasets/broken/releases", TOP)
    lines = [json.loads(line) for line in service.log().splitlines()]
    requests = [line for line in lines if line["event"] == "request"]
    assert len(requests) >= 3
    assert {frozenset(line) for line in requests} == {
        frozenset({"time", "level", "event", "method", "route", "outcome", "key"})
    }
    # An answer and a failure after data was touched are told alike.
    assert {one["outcome"] for one in requests if one["route"] == "/v1/datasets/{name}/releases"} <= {
        "answered",
        "busy",
        "denied",
        "invalid",
        "over budget",
    }
    # What is said of weak totals at the start names data sets as the configuration does.
    said = json.dumps(
        [line for line in lines if not line["event"].startswith("The data set ")], ensure_ascii=False
    )
    for word in ("quite unusual", "soup", HIDDEN_LABEL, "epsilon", "searches", "device"):
        assert word not in said
    assert all(len(line["time"]) == len("2026-11-16T00:00:00+00:00") for line in lines)


def test_the_counters_know_routes_and_outcomes_and_nothing_of_data(service: Running, keys):
    service.ask("/v1/datasets/broken/releases", TOP)
    text = service.ask("/metrics", who="admin").body.decode()
    counted = [line for line in text.splitlines() if line.startswith("unlisted_requests_total")]
    assert any('route="/v1/datasets/{name}/releases",outcome="answered"' in line for line in counted)
    outcomes = {line.split('outcome="')[1].split('"')[0] for line in counted}
    assert outcomes <= {"answered", "denied", "invalid", "over budget", "busy"}
    for word in ("soup", "second", "duration", "bucket", *keys.values()):
        assert word not in text
    assert "searches" not in "".join(counted)
    # What the owner watches is what the ledger says: budgets, failures, and the queue.
    watched = {line.split("{")[0] for line in text.splitlines() if not line.startswith("#")}
    assert watched == {
        "unlisted_info",
        "unlisted_requests_total",
        "unlisted_questions",
        "unlisted_budget",
        "unlisted_failures",
    }


def test_a_caller_cannot_make_up_counters(service: Running):
    """There is a counter for each route, method and outcome, whatever is asked for."""
    key = service.keys["admin"]
    made_up = (("BREW{0}", "/v1/datasets"), ("GET", "/made/up/{0}"), ("PUT", "/made-up-{0}"))
    for number in range(20):
        for method, path in made_up:
            head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n"
            service.raw(f"{head}X-Made-Up-{{0}}: {{0}}\r\n\r\n".format(number).encode())
        service.ask(f"/v1/datasets/made-up-{number}/releases", TOP)
        service.ask(f"/console/made/up/{number}", who=None)
    text = service.ask("/metrics", who="admin").body.decode()
    assert "BREW" not in text
    assert "made" not in text
    counted = [line for line in text.splitlines() if line.startswith("unlisted_requests_total")]
    methods = {line.split('method="')[1].split('"')[0] for line in counted}
    assert {"GET", "PUT"} <= methods
    assert all(known_method(method) in (method, "other") for method in methods)
    assert "BREW" not in service.log()
    assert "made" not in service.log()
