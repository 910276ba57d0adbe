"""Two servers on one ledger and fifty clients who all want the last of a budget: it is spent, and never more."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

from tests.server.running import PATIENCE_SECONDS, running

import unlisted as ul
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.verify import verify
from unlisted.server.auth import KeyRing

CLIENTS, FIT = 50, 18
QUESTION = {"question": "histogram", "items": ["query"], "rho": "0.01", "delta": "1e-9"}


def test_two_servers_and_fifty_clients_never_overspend(sources, ledger_url, keys, book: Ledger):
    table = ul.table(sources / "searches.parquet", user="user")
    budget, account = ul.Budget(rho="0.01", delta="1e-9"), book.account("ads-searches")
    plan = table.histogram("query", budget=budget, items_per_user=1, account=account)
    share = ul.Budget(rho=plan.guarantee.rho * FIT + Fraction(1, 10**6), delta="1e-6")
    book.open("crowd", dataset="searches", budget=share)
    key = KeyRing(book).create("Crowd", "analyst", {"searches": "crowd"})
    limits = {"requests_per_minute": 100_000, "questions_waiting": 200}
    together = threading.Barrier(CLIENTS, timeout=PATIENCE_SECONDS)
    with running(sources, ledger_url, keys, limits) as one, running(sources, ledger_url, keys, limits) as two:

        def ask(number: int) -> int:
            together.wait()
            return (one, two)[number % 2].ask("/v1/datasets/searches/releases", QUESTION, who=key).status

        with ThreadPoolExecutor(CLIENTS) as threads:
            statuses = Counter(threads.map(ask, range(CLIENTS)))
    assert statuses == {200: FIT, 402: CLIENTS - FIT}
    left = book.account("crowd").balance()
    assert left.account.reserved.loss == 0
    assert 0 <= left.left.guarantee().rho < plan.guarantee.rho
    assert verify(book) == []
