"""What many threads want to book at one moment, written in one transaction: one lock, one statement, one commit.

The entries of a data set form a chain, so without this each would wait for the commit of the one before it. Each
booking keeps its own outcome: one that is refused adds nothing and costs the others nothing. If the transaction
that they share fails, nothing of any of them is written, and each is told.

A data set that another process has locked is nobody else's concern: what is wanted of it is put off, and waits for
the lock with its like alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast

from sqlalchemy.exc import DataError, SQLAlchemyError

from unlisted.errors import LedgerError
from unlisted.ledger import records
from unlisted.ledger.changes import Change, Now
from unlisted.ledger.failures import RowChangedError
from unlisted.ledger.store import Store
from unlisted.ledger.turns import Outcome, Turns
from unlisted.ledger.writes import write

Value = TypeVar("Value")

_PUT_OFF = object()
"""The value of a booking whose data set is locked elsewhere."""


@dataclass(frozen=True)
class Booking(Generic[Value]):
    """A step of an account on its data set: it adds entries and returns a value, or refuses.

    The step may be taken more than once, on different changes; one of them is kept. Without a lane it is taken
    with those on any data set; in the lane of its data set it waits for locks.
    """

    dataset: str
    account: str
    concerns: frozenset[Hashable]
    step: Callable[[Change], Value]
    lane: str | None = None


class Booker:
    """Takes the steps of many threads on one store."""

    def __init__(self, store: Store, now: Now) -> None:
        self._store, self._now = store, now
        self._turns: Turns[Booking[Any]] = Turns(self._book)

    def book(self, booking: Booking[Value]) -> Value:
        """Take a step, together with what other threads want at this moment."""
        value = _PUT_OFF if self._turns.is_busy(booking.dataset) else self._turns.take(booking)
        if value is _PUT_OFF:
            value = self._turns.take(replace(booking, lane=booking.dataset))
        return cast("Value", value)

    def _book(self, bookings: Sequence[Booking[Any]]) -> list[Outcome]:
        try:
            return self._together(bookings)
        except _NotTogetherError:
            return [outcome for booking in bookings for outcome in self._book([booking])]
        except LedgerError as failure:
            return [Outcome(refusal=copy(failure)) for _ in bookings]

    def _together(self, bookings: Sequence[Booking[Any]]) -> list[Outcome]:
        """Take all steps in one transaction and return what each came to."""
        waits = bookings[0].lane is not None
        with self._store.writing() as connection, _parted_if_one_does_not_fit(len(bookings)):
            states = records.read_locked(connection, {booking.account for booking in bookings}, waits=waits)
            changes = {state.dataset.name: Change(connection, self._now, state) for state in states}
            outcomes = [_taken(changes.get(booking.dataset), booking) for booking in bookings]
            write(connection, [row for change in changes.values() for row in change.rows()])
        return outcomes


class _NotTogetherError(Exception):
    """Something that one of many wants cannot be written, and nothing was: each for itself, then."""


@contextmanager
def _parted_if_one_does_not_fit(together: int) -> Iterator[None]:
    try:
        yield
    except (RowChangedError, DataError, UnicodeError):
        if together == 1:
            raise
        raise _NotTogetherError from None


def _taken(change: Change | None, booking: Booking[Any]) -> Outcome:
    """Take one step; if it is refused, the change is as it was before."""
    if change is None or booking.account not in change.state.accounts:
        if booking.lane is None:
            return Outcome(_PUT_OFF)
        return Outcome(refusal=LedgerError(f"The account {booking.account!r} is not in the ledger any more."))
    try:
        with change.step():
            return Outcome(booking.step(change))
    except SQLAlchemyError:
        # The transaction is broken, for all who share it.
        raise
    except Exception as refusal:
        return Outcome(refusal=refusal)
