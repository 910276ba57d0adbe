"""Amounts far beyond what anybody would ask are refused in words, or planned; none is an unforeseen failure."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from tests.server.asgi import Inside

import unlisted as ul
from unlisted.ledger.ledger import Ledger
from unlisted.server.app import make_app
from unlisted.server.auth import KeyRing
from unlisted.server.config import Config, Limits, Offer

METHODS = ("auto", "counts", "optimal", "weighted", "sips", "hints", "adaptive")


@pytest.mark.parametrize("delta", [1e-100, 1e-12])
@pytest.mark.parametrize("method", METHODS)
def test_labels_at_next_to_no_budget_are_no_unforeseen_failure(tmp_path: Path, method: str, delta: float):
    total = ul.Budget(rho=1, delta="1e-6")
    offer = Offer("searches", pa.table({"user": ["a"], "query": ["tea"]}), "user", ("query",), total)
    with Ledger(tmp_path / "budget.db") as ledger:
        app = make_app(Config("unused", {"searches": offer}, limits=Limits(preview_limit=600)), ledger)
        ledger.open("ads", dataset="searches", budget=total)
        service = Inside(app, KeyRing(ledger).create("Ana", "analyst", {"searches": "ads"}))
        question = {"question": "labels", "items": ["query"], "items_per_user": 2, "method": method}
        reply = service.post("/v1/datasets/searches/preview", {**question, "epsilon": 1e-12, "delta": delta})
    assert reply.status_code in (200, 422), reply.text
    if reply.status_code == 422:
        assert reply.json()["type"].endswith(":invalid-argument")
