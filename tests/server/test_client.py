"""`ul.connect`: the same plans and releases, from a service."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import get_args

import pytest
from tests.server.running import Running

import unlisted as ul
from unlisted.errors import AccessError, BudgetRefusedError, ChargedFailureError, InvalidArgumentError
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.verify import verify
from unlisted.query.questions import LabelMethod, RankingMethod
from unlisted.query.remote_table import RemoteTable, connect
from unlisted.release.release import Release
from unlisted.server.auth import KeyRing
from unlisted.tables.column_types import ColumnType

BUDGET = ul.Budget(epsilon=1, delta=1e-8)


@pytest.fixture
def searches(service: Running) -> RemoteTable:
    return connect(service.url, key=service.keys["analyst"]).dataset("searches")


def test_data_sets_and_columns_are_listed(service: Running, searches: RemoteTable):
    assert "searches" in connect(service.url, key=service.keys["analyst"]).datasets()
    assert searches.columns() == {"query": ColumnType.TEXT, "device": ColumnType.TEXT}
    assert searches.balance()["account"] == "ads-searches"


def test_the_plan_is_the_one_a_table_would_give(searches: RemoteTable, sources: Path, book: Ledger):
    before, account = book.history(), book.account("ads-searches")
    table = ul.table(sources / "searches.parquet", user="user")
    pairs = [
        (
            searches.top("query", k=3, budget=BUDGET),
            table.top("query", k=3, budget=BUDGET, account=account),
        ),
        (
            searches.histogram("query", budget=BUDGET, where="device = 'phone'"),
            table.histogram("query", budget=BUDGET, items_per_user=1, where="device = 'phone'", account=account),
        ),
        (
            searches.top_histogram(
                ["query", "device"], budget=BUDGET, items_per_user=2, fetch=10, noise="laplace"
            ),
            table.top_histogram(["query", "device"], budget=BUDGET, items_per_user=2, fetch=10, noise="laplace"),
        ),
    ]
    pairs += [
        (
            searches.labels("query", budget=BUDGET, items_per_user=items, method=method),
            table.labels("query", budget=BUDGET, items_per_user=items, method=method, account=account),
        )
        for items in (1, 100)
        for method in get_args(LabelMethod)
    ]
    pairs += [
        (
            searches.top("query", k=k, budget=BUDGET, items_per_user=2, method=method, counts=counts),
            table.top(
                "query", k=k, budget=BUDGET, items_per_user=2, method=method, counts=counts, account=account
            ),
        )
        for k in (3, 300)
        for method in get_args(RankingMethod)
        for counts in (False, True)
    ]
    for remote, local in pairs:
        assert remote == local
        assert str(remote) == str(local.paid_by(account))
        assert "Paid by: the account 'ads-searches'" in str(remote)
    assert book.history() == before, "a plan is made here and sends nothing"


def test_a_ranking_takes_the_data_sets_bound_only_where_it_needs_one(searches: RemoteTable, book: Ledger):
    assert searches.top("query", k=3, budget=BUDGET).asked["items_per_user"] is None
    for plan in (
        searches.top("query", k=3, budget=BUDGET, fetch="all"),
        searches.top("query", k=3, budget=BUDGET, method="labels"),
    ):
        assert plan.asked["items_per_user"] == 1
        assert plan.run().plan["items_per_user"] == 1


@pytest.mark.parametrize(
    "kind",
    [
        *("top", "top with counts", "by the draw", "top of labels", "auto with a bound"),
        *("histogram", "top-histogram", "rows", "labels", "labels in rounds"),
    ],
)
def test_a_release_is_the_one_that_the_ledger_keeps(searches: RemoteTable, book: Ledger, kind: str):
    plan = {
        "top": lambda: searches.top("query", k=3, budget=BUDGET),
        "top with counts": lambda: searches.top("query", k=3, budget=BUDGET, counts=True),
        "top of labels": lambda: searches.top("query", k=3, budget=BUDGET, method="labels", counts=True),
        "auto with a bound": lambda: searches.top("query", k=3, budget=BUDGET, items_per_user=1, method="auto"),
        "by the draw": lambda: searches.top("query", k=3, per_item_epsilon="0.5", delta="1e-9"),
        "histogram": lambda: searches.histogram("query", budget=BUDGET, items_per_user=2),
        "top-histogram": lambda: searches.top_histogram("query", budget=BUDGET),
        "rows": lambda: searches.histogram("query", budget=BUDGET, count="rows", rows_per_item=2),
        "labels": lambda: searches.labels("query", budget=BUDGET),
        "labels in rounds": lambda: searches.labels("query", budget=BUDGET, items_per_user=2, method="sips"),
    }[kind]()
    release = plan.run()
    assert isinstance(release, Release)
    assert {row["query"] for row in release.rows} == {"soup", "bread", "tea"}
    assert verify(book, [release.receipt()]) == []
    assert release.stamp is not None
    again = searches.release(release.stamp["entry"])
    assert (again.rows, again.receipt()) == (release.rows, release.receipt())
    assert searches.releases()[0]["entry"] == release.stamp["entry"]


def test_a_named_request_comes_back_at_no_cost(searches: RemoteTable, book: Ledger):
    plan = searches.top("query", k=2, budget=BUDGET)
    first = plan.run(idempotency_key="client-monday")
    charged = book.history()
    assert plan.run(idempotency_key="client-monday").receipt() == first.receipt()
    assert book.history() == charged


def test_an_account_that_was_opened_with_a_price_for_each_result_says_it(service: Running, book: Ledger):
    terms = ul.ResultsBudget(results=20, questions=4, epsilon="0.5", delta="1e-9")
    book.open("by-result", dataset="searches", budget=terms)
    key = KeyRing(book).create("Rita", "analyst", {"searches": "by-result"})
    release = connect(service.url, key=key).dataset("searches").top("query", k=3).run()
    assert [row["query"] for row in release.rows] == ["soup", "bread", "tea"]


def test_refusals_are_the_librarys_own(service: Running, searches: RemoteTable):
    with pytest.raises(InvalidArgumentError, match="items = 'salary' is not allowed"):
        searches.top("salary", k=3, budget=BUDGET).run()
    with pytest.raises(InvalidArgumentError, match="whole number"):
        searches.top("query", k=0, budget=BUDGET)
    with pytest.raises(BudgetRefusedError, match="Nothing was charged"):
        searches.top("query", k=3, budget=ul.Budget(rho=10**6, delta=1e-8)).run()
    with pytest.raises(InvalidArgumentError, match="left out of a question to a service"):
        searches.top("query", k=3, budget=BUDGET, account="ads")
    with pytest.raises(InvalidArgumentError, match="a decimal"):
        searches.top("query", k=3, budget=ul.Budget(rho=ul.Guarantee(1, 0).rho / 3, delta=1e-8))
    with pytest.raises(TypeError, match="count"):
        searches.labels("query", budget=BUDGET, count="rows", rows_per_item=2)  # type: ignore[call-arg]
    with pytest.raises(InvalidArgumentError, match="method = 'weighted'"):
        searches.top("query", k=3, budget=BUDGET, method="weighted")  # type: ignore[typeddict-item]
    broken = connect(service.url, key=service.keys["analyst"]).dataset("broken")
    with pytest.raises(ChargedFailureError):
        broken.histogram("query", budget=BUDGET).run()
    with pytest.raises(AccessError, match="no such data set") as refused:
        connect(service.url, key=service.keys["other"]).dataset("searches")
    assert refused.value.status == 404
    with pytest.raises(AccessError, match="not known"):
        connect(service.url, key="ul_ffffffffffff_" + "C" * 43).datasets()


@pytest.mark.parametrize(
    "url", ["http://counts.example.org", "ftp://127.0.0.1", "127.0.0.1:8080", "https://me:pw@host", "", None]
)
def test_a_key_is_not_sent_in_the_clear_over_a_network(url):
    with pytest.raises(InvalidArgumentError, match="url"):
        connect(url, key="ul_x")


@pytest.mark.parametrize("key", ["", "a\nb", None, "ü"])
def test_a_key_is_a_plain_text_and_never_quoted(key):
    with pytest.raises(InvalidArgumentError, match="not shown"):
        connect("https://counts.example.org", key=key)


def test_a_redirect_does_not_carry_the_key_away():
    seen: list[str] = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            self.send_response(302)
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_address[1]}/stolen")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    with _listening(Elsewhere) as port, pytest.raises(AccessError, match="HTTP status 302"):
        connect(f"http://127.0.0.1:{port}", key="ul_x").datasets()
    assert seen == ["/v1/datasets"]


def test_a_service_that_is_not_there_says_so():
    with pytest.raises(AccessError, match="cannot be reached") as refused:
        connect("http://127.0.0.1:9", key="ul_x").datasets()
    assert refused.value.status == 503


@contextmanager
def _listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_items_are_computed_over_the_wire_from_offered_columns_only(searches: RemoteTable, book: Ledger):
    release = searches.histogram("upper(left(query, 1)) AS letter", budget=BUDGET, items_per_user=1).run()
    assert release.table.column_names == ["letter", "count", "low", "high"]
    assert release.rows
    assert all(row["letter"] == row["letter"].upper() for row in release.rows)
    before = book.history()
    with pytest.raises(InvalidArgumentError, match="one of query"):
        searches.histogram("lower(user)", budget=BUDGET, items_per_user=1).run()
    assert book.history() == before
