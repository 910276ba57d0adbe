"""What many threads want to book at one moment, written in one transaction: one lock, one statement, one commit.

The entries of a data set form a chain, so without this each would wait for the commit of the one before it. Each
booking keeps its own outcome: one that is refused adds nothing and costs the others nothing. If the transaction
that they share fails, nothing of any of them is written, and each is told.

A thread that finds nobody at work begins at once. One that comes while somebody is at work waits; then the first
of those who wait works for all of them, in the order in which they came. So nobody waits to be joined, and nobody
is overtaken by one who came later.

A data set that another process has locked is nobody else's concern: what is wanted of it is put off, and waits for
the lock with its like alone.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar, cast

from sqlalchemy.exc import DataError, SQLAlchemyError

from unlisted.errors import LedgerError, UncertainError
from unlisted.ledger import rows
from unlisted.ledger.store import Store
from unlisted.ledger.transaction import Change, Now, RowChangedError, write

MOST_TOGETHER = 64
"""How many are served at once: whoever comes next waits no longer than for so many."""


class Wanted(Protocol):
    """Something to be done."""

    @property
    def lane(self) -> Hashable:
        """Where it waits: in one lane, one thread works at a time."""
        ...

    @property
    def concerns(self) -> frozenset[Hashable]:
        """What others may speak of too. Of two that share a concern, the later one finds the other done."""
        ...


AnyWanted = TypeVar("AnyWanted", bound=Wanted)


@dataclass(frozen=True)
class Outcome:
    """What became of something wanted: what it came to, or why it was refused."""

    value: object = None
    refusal: Exception | None = None


@dataclass(eq=False)
class _Ticket(Generic[AnyWanted]):
    wanted: AnyWanted
    leads: bool = False
    outcome: Outcome | None = None
    called: threading.Event = field(default_factory=threading.Event)


class Turns(Generic[AnyWanted]):
    """A queue for each lane. Safe to use in a forked child, which begins with empty queues."""

    def __init__(self, do: Callable[[Sequence[AnyWanted]], Sequence[Outcome]]) -> None:
        """Take what does several things at once and returns an outcome for each."""
        self._do = do
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        # A lane is in here while somebody works in it.
        self._waiting: dict[Hashable, list[_Ticket[AnyWanted]]] = {}

    def is_busy(self, lane: Hashable) -> bool:
        """Return whether somebody is at work in a lane."""
        return self._process == os.getpid() and lane in self._waiting

    def take(self, wanted: AnyWanted) -> Any:
        """Have something done, by this thread or another; return its value or raise its refusal."""
        if self._process != os.getpid():
            self._begin()
        ticket = _Ticket(wanted)
        try:
            self._queue(ticket)
            if not ticket.leads:
                ticket.called.wait()
            if ticket.leads:
                self._lead(wanted.lane)
        except BaseException:
            self._leave(ticket)
            raise
        if ticket.outcome is None:
            raise UncertainError.because("the thread that wrote for this one was stopped")
        if ticket.outcome.refusal is not None:
            raise ticket.outcome.refusal
        return ticket.outcome.value

    def _queue(self, ticket: _Ticket[AnyWanted]) -> None:
        with self._lock:
            ticket.leads = ticket.wanted.lane not in self._waiting
            self._waiting.setdefault(ticket.wanted.lane, []).append(ticket)

    def _lead(self, lane: Hashable) -> None:
        """Work for those who wait in a lane, then call them, and let the next one lead."""
        with self._lock:
            group, self._waiting[lane] = _parted(self._waiting[lane])
        try:
            for ticket, outcome in zip(group, self._do([one.wanted for one in group]), strict=True):
                ticket.outcome = outcome
        finally:
            for ticket in group:
                ticket.called.set()
            with self._lock:
                self._hand_over(lane)

    def _hand_over(self, lane: Hashable) -> None:
        if not self._waiting[lane]:
            del self._waiting[lane]
            return
        following = self._waiting[lane][0]
        following.leads = True
        following.called.set()

    def _leave(self, ticket: _Ticket[AnyWanted]) -> None:
        """Go away without an outcome; whoever is behind must not wait for it."""
        lane = ticket.wanted.lane
        with self._lock:
            if ticket in self._waiting.get(lane, ()):
                self._waiting[lane].remove(ticket)
                if ticket.leads:
                    self._hand_over(lane)


_Tickets = list[_Ticket[AnyWanted]]


def _parted(waiting: _Tickets[AnyWanted]) -> tuple[_Tickets[AnyWanted], _Tickets[AnyWanted]]:
    """Part those who wait into a group that may be served at once, and the others, in order."""
    group: _Tickets[AnyWanted] = []
    others: _Tickets[AnyWanted] = []
    concerns: set[Hashable] = set()
    for ticket in waiting:
        together = len(group) < MOST_TOGETHER and concerns.isdisjoint(ticket.wanted.concerns)
        (group if together else others).append(ticket)
        concerns |= ticket.wanted.concerns
    return group, others


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
            states = rows.read_locked(connection, {booking.account for booking in bookings}, waits=waits)
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
