"""What a failed question must look like: one message, nothing else, and its whole ceiling spent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import unlisted as ul
from unlisted.errors import ChargedFailureError
from unlisted.ledger.account import Account
from unlisted.plans import Plan

MESSAGE = "could not be answered; charged; see the log"
BUDGET = ul.Budget(epsilon=1, delta="1e-8")


@contextmanager
def an_account(folder: Path) -> Iterator[Account]:
    """Open a ledger in a folder, with one account."""
    with ul.Ledger(folder / "books.db") as ledger:
        yield ledger.open("ads", dataset="people", budget=ul.Budget(rho=99, delta="1e-4"))


def fails_charged(plan: Plan, account: Account) -> None:
    """Run a plan that must fail after data was touched, and look at what is said and what is charged."""
    with pytest.raises(ChargedFailureError) as failure:
        plan.paid_by(account).run()
    assert str(failure.value) == MESSAGE
    assert failure.value.__cause__ is None
    assert failure.value.__context__ is None
    was_forfeited(account)


def was_forfeited(account: Account) -> None:
    """Look whether the last question of an account lost its whole ceiling."""
    reserved, ended = account.ledger.history()[-2:]
    assert (reserved.kind, ended.kind) == ("reserved", "forfeited")
    assert ended.reservation == reserved.number
    assert ended.amount == reserved.amount
