"""Threads that want something at the same moment: each gets its own outcome, in the order in which they came."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from tests.ledger.books import PATIENCE_SECONDS, eventually

from unlisted.errors import UncertainError
from unlisted.ledger.group_commit import MOST_TOGETHER, Outcome, Turns


@dataclass(frozen=True)
class Wish:
    name: int
    concerns: frozenset[object] = frozenset()
    lane: str = "one"


class Workshop:
    """Does what is wanted, and remembers together with what; the first group waits until it is let go."""

    def __init__(self, fails: Callable[[int], BaseException | None] = lambda _: None) -> None:
        self.groups: list[list[int]] = []
        self.let_go = threading.Event()
        self.turns = Turns(self._do)
        self._fails = fails

    def _do(self, wishes: Sequence[Wish]) -> list[Outcome]:
        self.groups.append([wish.name for wish in wishes])
        assert self.let_go.wait(PATIENCE_SECONDS)
        outcomes = []
        for wish in wishes:
            failure = self._fails(wish.name)
            if failure is not None and not isinstance(failure, Exception):
                raise failure
            outcomes.append(Outcome(refusal=failure) if failure is not None else Outcome(-wish.name))
        return outcomes

    def waiting(self, lane: str = "one") -> int:
        return len(self.turns._waiting.get(lane, ()))


def queued(workshop: Workshop, threads: ThreadPoolExecutor, wishes: Sequence[Wish]) -> list[Future[int]]:
    """Let the first wish begin and all others wait behind it, in their order."""
    futures = []
    for place, wish in enumerate(wishes):
        futures.append(threads.submit(workshop.turns.take, wish))
        eventually(lambda place=place: workshop.groups and workshop.waiting() == place)
    return futures


def test_who_waits_is_served_together_in_the_order_of_coming():
    workshop, number = Workshop(), MOST_TOGETHER + 11
    with ThreadPoolExecutor(number) as threads:
        futures = queued(workshop, threads, [Wish(name) for name in range(number)])
        workshop.let_go.set()
        assert [future.result(PATIENCE_SECONDS) for future in futures] == [-name for name in range(number)]
    assert [len(group) for group in workshop.groups] == [1, MOST_TOGETHER, 10]
    assert [name for group in workshop.groups for name in group] == list(range(number))
    assert not workshop.turns.is_busy("one")


def test_of_two_with_the_same_concern_the_later_one_finds_the_other_done():
    workshop = Workshop()
    concerns = [frozenset(), frozenset("a"), frozenset("b"), frozenset("ab"), frozenset("b"), frozenset("c")]
    with ThreadPoolExecutor(len(concerns)) as threads:
        futures = queued(workshop, threads, [Wish(name, about) for name, about in enumerate(concerns)])
        workshop.let_go.set()
        assert [future.result(PATIENCE_SECONDS) for future in futures] == [0, -1, -2, -3, -4, -5]
    assert workshop.groups == [[0], [1, 2, 5], [3], [4]]


def test_a_refusal_is_told_to_whom_it_concerns_alone():
    workshop = Workshop(lambda name: ValueError(str(name)) if name == 2 else None)
    with ThreadPoolExecutor(4) as threads:
        futures = queued(workshop, threads, [Wish(name) for name in range(4)])
        workshop.let_go.set()
        with pytest.raises(ValueError, match="2"):
            futures[2].result(PATIENCE_SECONDS)
        assert [futures[name].result(PATIENCE_SECONDS) for name in (0, 1, 3)] == [0, -1, -3]


def test_lanes_do_not_wait_for_each_other():
    workshop = Workshop()
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(workshop.turns.take, Wish(1))
        other = threads.submit(workshop.turns.take, Wish(2, lane="other"))
        eventually(lambda: len(workshop.groups) == 2)
        assert workshop.turns.is_busy("one")
        workshop.let_go.set()
        assert (first.result(PATIENCE_SECONDS), other.result(PATIENCE_SECONDS)) == (-1, -2)


class StoppedError(BaseException):
    """What stops a thread from outside."""


def test_if_the_one_who_works_is_stopped_the_others_are_told_and_the_next_goes_on():
    workshop = Workshop(lambda name: StoppedError() if name == 1 else None)
    with ThreadPoolExecutor(4) as threads:
        # The last shares a concern with the second, so it is not in the group that is stopped.
        wishes = [Wish(0), Wish(1, frozenset("a")), Wish(2), Wish(3, frozenset("a"))]
        futures = queued(workshop, threads, wishes)
        workshop.let_go.set()
        with pytest.raises(StoppedError):
            futures[1].result(PATIENCE_SECONDS)
        with pytest.raises(UncertainError, match="may or may not have been booked"):
            futures[2].result(PATIENCE_SECONDS)
        assert [futures[name].result(PATIENCE_SECONDS) for name in (0, 3)] == [0, -3]
    assert workshop.groups == [[0], [1, 2], [3]]
    assert not workshop.turns.is_busy("one")


def test_who_is_stopped_while_waiting_leaves_the_queue():
    workshop = Workshop()

    def stop(*_: object) -> None:
        raise StoppedError

    def stop_the_one_who_waits() -> None:
        eventually(lambda: workshop.waiting() == 1)
        os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, stop)
    try:
        with ThreadPoolExecutor(3) as threads:
            first = threads.submit(workshop.turns.take, Wish(1))
            eventually(lambda: workshop.groups)
            threads.submit(stop_the_one_who_waits)
            with pytest.raises(StoppedError):
                workshop.turns.take(Wish(2))
            behind = threads.submit(workshop.turns.take, Wish(3))
            eventually(lambda: workshop.waiting() == 1)
            workshop.let_go.set()
            assert (first.result(PATIENCE_SECONDS), behind.result(PATIENCE_SECONDS)) == (-1, -3)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert workshop.groups == [[1], [3]]


def test_a_forked_child_does_not_wait_for_threads_that_it_does_not_have():
    workshop = Workshop()
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(workshop.turns.take, Wish(1))
        eventually(lambda: workshop.groups)
        child = os.fork()
        if not child:
            code = 9
            try:
                workshop.let_go = threading.Event()
                workshop.let_go.set()
                code = 0 if workshop.turns.take(Wish(5)) == -5 else 1
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        workshop.let_go.set()
        assert first.result(PATIENCE_SECONDS) == -1
