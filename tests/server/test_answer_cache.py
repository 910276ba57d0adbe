"""What is asked again comes back as it was, from memory too, and only where the ledger would replay it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from tests.server.asgi import Inside
from tests.server.running import padded_to

import unlisted as ul
from unlisted.ledger.ledger import Ledger
from unlisted.server import query_service
from unlisted.server.app import make_app
from unlisted.server.auth import KeyRing
from unlisted.server.cache import Cache
from unlisted.server.config import Config, Limits, Offer

BUDGET = ul.Budget(rho=10, delta="1e-5")
TOP = {"question": "top", "items": ["query"], "k": 1, "epsilon": 1, "delta": 1e-8}
HISTOGRAM = {"question": "histogram", "items": ["query"], "epsilon": 1, "delta": 1e-8, "items_per_user": 1}
PLACE = "/v1/datasets/searches/releases"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "budget.db") as book:
        yield book


def inside(ledger: Ledger, version: str | None = None, limits: Limits | None = None) -> Inside:
    rows = pa.table({"user": [f"user {n}" for n in range(300)], "query": ["tea"] * 300})
    offer = Offer("searches", rows, "user", ("query",), BUDGET, version=version)
    app = make_app(Config("unused", {"searches": offer}, limits=limits or Limits()), ledger)
    ledger.open("ads", dataset="searches", budget=BUDGET)
    return Inside(app, KeyRing(ledger).create("Ana", "analyst", {"searches": "ads"}))


def test_without_a_version_every_request_is_a_new_question(ledger: Ledger):
    service = inside(ledger)
    first, second = service.post(PLACE, HISTOGRAM), service.post(PLACE, HISTOGRAM)
    assert first.json()["ledger"]["entry"] != second.json()["ledger"]["entry"]


@pytest.mark.parametrize("limits", [Limits(), padded_to(0.5)], ids=["remembered", "padded"])
def test_the_same_question_about_the_same_version_is_the_same_answer(ledger: Ledger, limits: Limits):
    service = inside(ledger, version="1", limits=limits)
    first = service.post(PLACE, HISTOGRAM)
    charged = ledger.history()
    assert service.post(PLACE, HISTOGRAM).content == first.content
    assert ledger.history() == charged
    csv = service.post(PLACE, HISTOGRAM, headers={"Accept": "text/csv"})
    assert csv.text.splitlines()[0] == "query,count,low,high"
    assert ledger.history() == charged


def test_a_new_version_is_a_new_question(ledger: Ledger, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(query_service, "REMEMBERED_SECONDS", 0.0)
    service = inside(ledger, version="1")
    first = service.post(PLACE, HISTOGRAM)
    ledger.declare_version("searches", "2")
    assert service.post(PLACE, HISTOGRAM).json()["ledger"] != first.json()["ledger"]


def test_a_name_of_a_request_is_for_one_question(ledger: Ledger):
    service, named = inside(ledger), {"Idempotency-Key": "monday"}
    first = service.post(PLACE, TOP, headers=named)
    assert service.post(PLACE, TOP, headers=named).content == first.content
    assert service.post(PLACE, HISTOGRAM, headers=named).status_code == 422


def test_another_account_gets_its_own_answer(ledger: Ledger):
    service = inside(ledger, version="1")
    first = service.post(PLACE, HISTOGRAM)
    ledger.open("ops", dataset="searches", budget=BUDGET)
    other = KeyRing(ledger).create("Otto", "analyst", {"searches": "ops"})
    second = service.post(PLACE, HISTOGRAM, key=other)
    assert second.json()["ledger"]["account"] == "ops"
    assert first.json()["ledger"]["account"] == "ads"


def test_a_memory_holds_so_many_and_not_for_long():
    few: Cache[int, str] = Cache(2)
    for number in range(3):
        few.put(number, "x")
    assert [few.get(number) for number in range(3)] == [None, None, "x"]
    short: Cache[int, str] = Cache(2, seconds=0.0)
    assert short.put(1, "x") == "x"
    assert short.get(1) is None
