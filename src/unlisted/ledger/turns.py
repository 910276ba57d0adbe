"""Threads that want something done at the same moment: one of them does it for all.

Who finds nobody at work begins at once. Who comes while somebody is at work waits; then the first of those who
wait works for all of them, in the order in which they came. So nobody waits for company, and nobody is overtaken
by one who came later.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from unlisted.errors import UncertainError

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
