"""Ledgers to test with: on a real SQLite file and on a real PostgreSQL, with a clock that can be turned."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from unlisted import Budget, Guarantee
from unlisted.ledger.account import Account
from unlisted.ledger.amounts import Amount
from unlisted.ledger.group_commit import Booking
from unlisted.ledger.transaction import Change
from unlisted.privacy.accounting import ZCDP, Accounting
from unlisted.query.charging import Charge

PATIENCE_SECONDS = 600
"""After which something that should happen counts as not happening. It is no claim about how fast a machine is."""


class Clock:
    """A clock that stands still until it is moved, forwards or backwards."""

    def __init__(self) -> None:
        self.time = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def move(self, **by: float) -> None:
        self.time += timedelta(**by)


def cost(loss: str | Fraction, delta: str | Fraction = "1e-9", accounting: Accounting = ZCDP) -> Guarantee:
    """Return what a question costs: so much of what is counted."""
    return accounting.guarantee(Fraction(loss), Fraction(delta))


def budget(loss: str | Fraction = "1", delta: str | Fraction = "1e-6", accounting: Accounting = ZCDP) -> Budget:
    """Return a budget in what is counted."""
    return Budget(**{accounting.option: loss}, delta=delta)


def charge(
    name: str,
    loss: str | Fraction = "0.1",
    delta: str | Fraction = "1e-9",
    accounting: Accounting = ZCDP,
    **changed: object,
) -> Charge:
    fields = {
        "ceiling": cost(loss, delta, accounting),
        "question": name,
        "unit": "user",
        "adjacency": "add_remove",
        "source": "searches.parquet",
    }
    return Charge(**{**fields, **changed})


def charged(*guarantees: Guarantee) -> Amount:
    """Return what the book must say of questions that cost these: each rounded up to 10^-40, written out here."""
    return Amount(sum(_units(one.rho) for one in guarantees), sum(_units(one.delta) for one in guarantees))


def _units(exact: Fraction) -> int:
    return -(-exact.numerator * 10**40 // exact.denominator)


def delivers(release: bytes = b"a release", used: Guarantee | None = None, rho: str = "0.1"):
    """Return a delivery that always succeeds; it says what it used, or the whole ceiling."""
    return lambda: (release, used or cost(rho))


def eventually(is_so: Callable[[], object]) -> None:
    """Wait for something that other threads do."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError("what was waited for did not happen")
        time.sleep(0.001)


@contextmanager
def held_up(account: Account) -> Iterator[Callable[[int], None]]:
    """Keep a ledger at work on a booking that adds nothing; what is asked meanwhile waits, and is booked together.

    Yield a way to wait until so many wait; at the end they are let go.
    """
    ledger, begun, let_go = account.ledger, threading.Event(), threading.Event()

    def step(_: Change) -> bool:
        begun.set()
        return let_go.wait(PATIENCE_SECONDS)

    holder = threading.Thread(
        target=ledger.book, args=(Booking(account.dataset, account.name, frozenset(), step),), daemon=True
    )
    holder.start()
    begun.wait(PATIENCE_SECONDS)
    try:
        yield lambda number: eventually(lambda: len(ledger._booker._turns._waiting[None]) == number)
    finally:
        let_go.set()
        holder.join(PATIENCE_SECONDS)
