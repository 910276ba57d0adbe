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
from unlisted.ledger.group_commit import Booking
from unlisted.ledger.transaction import Change
from unlisted.query.charging import Bill

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


def cost(rho: str, delta: str = "1e-9") -> Guarantee:
    return Guarantee(Fraction(rho), Fraction(delta))


def budget(rho: str = "1", delta: str = "1e-6") -> Budget:
    return Budget(rho=rho, delta=delta)


def bill(name: str, rho: str = "0.1", delta: str = "1e-9", **changed: object) -> Bill:
    fields = {
        "ceiling": cost(rho, delta),
        "question": name,
        "unit": "user",
        "adjacency": "add_remove",
        "source": "searches.parquet",
    }
    return Bill(**{**fields, **changed})


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
