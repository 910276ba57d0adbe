"""A ledger with accounts of both kinds, made before 0.2: it opens, verifies, answers repeats for free, goes on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import unlisted as ul
from unlisted.ledger.account import Account
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.verify import verify

FIXTURE = Path(__file__).parent / "fixtures" / "before_0_2"
ANSWERS: dict[str, Any] = json.loads((FIXTURE / "answers.json").read_text("utf-8"))
RECEIPTS = [one["receipt"] for one in ANSWERS.values()]
WORDS = ("soup", "tea", "bread")
BUDGET = ul.Budget(epsilon="0.5", delta="1e-8")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    shutil.copy(FIXTURE / "budget.db", tmp_path / "budget.db")
    with Ledger(tmp_path / "budget.db") as opened:
        yield opened


def plan_of(kind: str, account: Account) -> ul.Plan:
    """Ask one of the questions that the ledger has answers to."""
    users = [at // 2 for at in range(1200)]
    table = ul.table(pa.table({"user": users, "query": [WORDS[at % 3] for at in range(1200)]}), user="user")
    asked = {
        "found": lambda: table.histogram("query", budget=BUDGET, account=account),
        "bounded": lambda: table.histogram("query", budget=BUDGET, items_per_user=2, account=account),
        "labels": lambda: table.labels("query", budget=BUDGET, account=account),
        "ranked": lambda: table.top("query", k=2, fetch=10, budget=BUDGET, account=account),
    }
    return asked[kind]()


def test_it_verifies_with_its_receipts(ledger: Ledger) -> None:
    assert verify(ledger, RECEIPTS) == []
    assert {one.kind for one in ledger.datasets()} == {"zcdp", "gaussian"}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_repeat_is_free_and_the_same(name: str, ledger: Ledger) -> None:
    """The text by which a ledger knows a question, its mechanism and all numbers in it, is what it was."""
    counted, kind = name.split()
    account = ledger.account(counted)
    before = account.balance().account.used
    again = plan_of(kind, account).run()
    assert again.rows == ANSWERS[name]["rows"]
    # A receipt of today says more, and nothing else.
    assert ANSWERS[name]["receipt"]["ledger"].items() <= again.receipt()["ledger"].items()
    assert account.balance().account.used == before


@pytest.mark.parametrize("kind", ["zcdp", "gaussian"])
def test_it_goes_on(kind: str, ledger: Ledger) -> None:
    account = ledger.account(kind)
    before = account.balance().account.used
    ledger.declare_version(f"{kind} searches", "february")
    release = plan_of("found", account).run()
    assert release.spent is not None
    assert account.balance().account.used.loss > before.loss
    assert verify(ledger, [*RECEIPTS, release.receipt()]) == []
