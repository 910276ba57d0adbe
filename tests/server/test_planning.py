"""From an offer to a plan: what the owner of a data set decided is in every plan, whatever a caller says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import unlisted as ul
from unlisted.errors import InvalidArgumentError
from unlisted.ledger.account import Account
from unlisted.ledger.ledger import Ledger
from unlisted.query.plan import Plan
from unlisted.server.config import Offer
from unlisted.server.planning import Asked, Planned, plan_of
from unlisted.server.startup import open_table

ROWS = pa.table({"user": ["ann"], "query": ["tea"]})
QUESTIONS = {
    "histogram": {"items_per_user": 3},
    "top": {"k": 3},
    "top-histogram": {"items_per_user": 3},
    "labels": {"items_per_user": 3},
}


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    with Ledger(tmp_path / "budget.db") as ledger:
        yield ledger.open("ads", dataset="searches", budget=ul.Budget(rho=10, delta="1e-4"))


def planned(account: Account, offered: str, question: str, **said: Any) -> Plan:
    offer = Offer("searches", ROWS, "user", ("query",), ul.Budget(rho=1, delta="1e-6"), adjacency=offered)  # type: ignore[arg-type]
    options = {"epsilon": 1, "delta": "1e-8", **QUESTIONS[question], **said}
    return plan_of(Asked.of(question, ("query",), options), ul.table(ROWS, user="user"), offer, account)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_plan_protects_whom_the_offer_says(account: Account, question: str) -> None:
    """A data set of `replace` that is planned for `add_remove` promises too much and charges too little."""
    alone, exchanged = (planned(account, adjacency, question) for adjacency in ("add_remove", "replace"))
    assert alone.mechanism.protects().adjacency == "add_remove"
    assert exchanged.mechanism.protects().adjacency == "replace"
    assert exchanged.data is not None
    assert exchanged.charge_for(exchanged.data).adjacency == "replace"
    # The same budget buys less where a user is exchanged for another.
    assert exchanged.accuracy.needed[95] > alone.accuracy.needed[95]


@pytest.mark.parametrize("adjacency", ["add_remove", "replace"])
def test_a_caller_does_not_decide_whom_it_protects(account: Account, adjacency: str) -> None:
    with pytest.raises(InvalidArgumentError, match="Its owner decides whom a data set protects"):
        planned(account, "add_remove", "histogram", adjacency=adjacency)


def test_a_preview_warns_of_what_is_allowed_and_protects_little(account: Account) -> None:
    total = ul.Budget(rho=1, delta="1e-6")
    offer = Offer("searches", ROWS, "user", ("query",), total, declared_users=50_000)
    options = {"epsilon": 20, "delta": "1e-3", "items_per_user": 1}

    def warnings(**said: object) -> list[str]:
        plan = plan_of(Asked.of("histogram", ("query",), options | said), open_table(offer), offer, account)
        found: list[str] = json.loads(Planned.of(plan).preview)["warnings"]
        return found

    large, failing = warnings()
    assert "protects little" in large
    assert "1 / 50,000" in failing
    assert warnings(epsilon=1, delta="1e-8") == []
