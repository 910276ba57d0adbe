"""Questions in threads: how many at once, how many wait, and what becomes of one that nobody foresaw."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.server.running import PATIENCE_SECONDS, padded_to

import unlisted as ul
from unlisted.errors import AccessError, ChargedFailureError, InvalidArgumentError
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.stored_releases import stored_releases
from unlisted.query.plan import Plan
from unlisted.server import executor as executor_module
from unlisted.server.config import Limits
from unlisted.server.executor import Executor, Phase, Question

ROWS = pa.table({"user": [f"user {n}" for n in range(200)], "query": ["tea"] * 200})
PLAN = ul.table(ROWS, user="user").top("query", k=1, budget=ul.Budget(epsilon=1, delta="1e-8"))


def counting_after(work: Callable[[], Any]) -> Plan:
    """Return a plan that does something when it touches its data, before it counts."""
    assert PLAN.data is not None
    counts = PLAN.data.counts

    class Slowly:
        """The counts of a ranking, which come after the work."""

        @contextmanager
        def largest_counts(self, fetched: int) -> Iterator[Any]:
            work()
            with counts.largest_counts(fetched) as found:
                yield found

    return replace(PLAN, data=replace(PLAN.data, counts=Slowly()))


def telling(over: threading.Event, plan: Plan) -> Plan:
    """Return the same plan; it tells when it has counted, or failed to."""
    assert plan.data is not None
    counts = plan.data.counts

    class Telling:
        """The counts of a ranking, which tell their end."""

        @contextmanager
        def largest_counts(self, fetched: int) -> Iterator[Any]:
            try:
                with counts.largest_counts(fetched) as found:
                    yield found
            finally:
                over.set()

    return replace(plan, data=replace(plan.data, counts=Telling()))


async def nobody_leaves() -> None:
    await asyncio.Event().wait()


async def answers(limits: Limits, *plans: Plan) -> list[Any]:
    """Ask all plans at once; return releases and errors."""
    workers = Executor(limits)
    asked = [workers.answer(plan, None, nobody_leaves) for plan in plans]
    found = await asyncio.gather(*asked, return_exceptions=True)
    await workers.close()
    return found


def test_a_plan_is_answered():
    (found,) = asyncio.run(answers(Limits(), PLAN))
    assert [row["query"] for row in found.rows] == ["tea"]


def test_no_more_run_at_once_than_allowed():
    lock, running, most = threading.Lock(), [0], [0]
    met = threading.Event()

    def work() -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
            if running[0] == 2:
                met.set()
        met.wait(PATIENCE_SECONDS)
        with lock:
            running[0] -= 1

    found = asyncio.run(answers(Limits(questions_at_once=2), *(counting_after(work) for _ in range(6))))
    assert all(isinstance(one, ul.Release) for one in found)
    assert most[0] == 2


def test_whoever_comes_when_too_many_wait_is_sent_away():
    go = threading.Event()
    limits = Limits(questions_at_once=1, questions_waiting=1)
    workers_busy = [counting_after(lambda: go.wait(PATIENCE_SECONDS)) for _ in range(2)]

    async def ask() -> list[Any]:
        workers = Executor(limits)
        first = [asyncio.ensure_future(workers.answer(plan, None, nobody_leaves)) for plan in workers_busy]
        await asyncio.sleep(0)
        with pytest.raises(AccessError, match="nothing was charged") as refused:
            await workers.answer(PLAN, None, nobody_leaves)
        assert (refused.value.status, refused.value.retry_after) == (503, 2)
        go.set()
        found = list(await asyncio.gather(*first))
        await workers.close()
        return found

    assert all(isinstance(one, ul.Release) for one in asyncio.run(ask()))


def test_a_question_that_never_began_is_not_charged():
    """Two callers leave: one whose question runs, and one whose question waits behind it."""
    began, go = threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        go.wait(PATIENCE_SECONDS)

    async def ask() -> list[Any]:
        workers, leave = Executor(Limits(questions_at_once=1)), asyncio.Event()
        first = asyncio.ensure_future(workers.answer(counting_after(work), None, leave.wait))
        await asyncio.to_thread(began.wait, PATIENCE_SECONDS)
        second = asyncio.ensure_future(workers.answer(PLAN, None, leave.wait))
        await asyncio.sleep(0)
        leave.set()
        found = list(await asyncio.gather(first, second, return_exceptions=True))
        go.set()
        await workers.close()
        return found

    stopped, waited = asyncio.run(ask())
    assert isinstance(stopped, ChargedFailureError)
    assert isinstance(waited, AccessError)
    assert "nothing was charged" in str(waited)


async def occupied(executor: Executor, go: threading.Event) -> None:
    """Let the only thread of an executor wait for a sign."""
    began = threading.Event()

    def wait() -> None:
        began.set()
        go.wait(PATIENCE_SECONDS)

    executor._threads.submit(wait)
    await asyncio.to_thread(began.wait, PATIENCE_SECONDS)


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.open("ads", dataset="searches", budget=ul.Budget(rho=1, delta="1e-6"))
        yield ledger


def kinds(book: Ledger) -> list[str]:
    return [one.kind for one in book.history()]


def test_the_time_limit_runs_from_the_engines_start(monkeypatch: pytest.MonkeyPatch):
    """However long a question waited, it has all of its time when its engine starts."""
    now = [1000.0]
    monkeypatch.setattr(executor_module.time, "monotonic", lambda: now[0])

    async def ask() -> None:
        question = Question(threading.Event(), None)
        now[0] += 50
        assert question.remaining(60) == 10
        assert question.enter(Phase.PREPARING)
        now[0] += 50
        assert question.enter(Phase.RESERVING)
        now[0] += 50
        assert question.enter(Phase.RUNNING)
        assert question.remaining(60) == 60
        now[0] += 50
        assert question.remaining(60) == 10

    asyncio.run(ask())


def test_who_waits_too_long_is_sent_away_before_anything_is_reserved(book: Ledger):
    go = threading.Event()

    async def ask() -> None:
        executor = Executor(Limits(questions_at_once=1, wait_limit=0.05))
        await occupied(executor, go)
        with pytest.raises(AccessError, match=r"wait too long.*nothing was charged") as refused:
            await executor.answer(PLAN.paid_by(book.account("ads")), None, nobody_leaves)
        assert refused.value.status == 503
        assert refused.value.retry_after is not None
        go.set()
        await executor.close()

    asyncio.run(ask())
    assert "reserved" not in kinds(book)


class LeftWhile:
    """An account whose caller leaves while the ledger writes: at the reservation, or at the end."""

    def __init__(self, account: Any, when: str) -> None:
        self._account, self._when = account, when
        self.loop, self.left = asyncio.get_running_loop(), asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._account, name)

    def pay(self, charge: Any, deliver: Any, key: str | None = None) -> Any:
        def delivered() -> Any:
            made = deliver()
            self._leave("settling")
            return made

        self._leave("reserving")
        return self._account.pay(charge, delivered, key)

    def _leave(self, when: str) -> None:
        if when == self._when:
            self.loop.call_soon_threadsafe(self.left.set)
            time.sleep(0.3)  # in which the question would be given up, were it possible now


@pytest.mark.parametrize("when", ["reserving", "settling"])
def test_an_answer_that_is_being_stored_is_never_called_failed(book: Ledger, when: str):
    async def ask() -> ul.Release:
        executor, account = Executor(Limits()), LeftWhile(book.account("ads"), when)
        found = await executor.answer(PLAN.paid_by(account), None, account.left.wait)
        await executor.close()
        return found

    release = asyncio.run(ask())
    assert release.stamp is not None
    assert kinds(book)[-2:] == ["reserved", "settled"]


def test_what_was_called_failed_is_never_stored(book: Ledger):
    """An engine that cannot be stopped comes to its end after the caller was told that it failed."""
    began, go = threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        go.wait(PATIENCE_SECONDS)

    async def ask() -> None:
        executor, leave = Executor(Limits()), asyncio.Event()
        plan = counting_after(work).paid_by(book.account("ads"))
        asked = asyncio.ensure_future(executor.answer(plan, None, leave.wait))
        await asyncio.to_thread(began.wait, PATIENCE_SECONDS)
        leave.set()
        with pytest.raises(ChargedFailureError):
            await asked
        assert kinds(book)[-1] == "reserved"
        go.set()
        await executor.close()

    asyncio.run(ask())
    assert kinds(book)[-2:] == ["reserved", "forfeited"]
    assert list(stored_releases(book, "searches", None)) == []


def test_a_service_that_stops_takes_no_more_questions():
    async def ask() -> None:
        executor = Executor(Limits())
        await executor.close()
        with pytest.raises(AccessError, match="nothing was charged"):
            await executor.answer(PLAN, None, nobody_leaves)

    asyncio.run(ask())


def test_what_nobody_foresaw_counts_as_charged_and_tells_nothing():
    def fail() -> None:
        raise RuntimeError("a row says: my pin is 1234")

    (found,) = asyncio.run(answers(Limits(), counting_after(fail)))
    assert isinstance(found, ChargedFailureError)
    assert "1234" not in str(found)
    assert found.__cause__ is None


def test_a_source_that_changed_is_not_described_to_an_analyst():
    def changed() -> None:
        raise InvalidArgumentError("source", "/data/private.parquet", "a file that can be read")

    assert PLAN.data is not None
    (found,) = asyncio.run(answers(Limits(), replace(PLAN, data=replace(PLAN.data, check=changed))))
    assert isinstance(found, AccessError)
    assert found.status == 503
    assert "private" not in str(found)


def fail() -> None:
    raise RuntimeError("a row says: my pin is 1234")


@pytest.mark.parametrize(("work", "kind"), [(lambda: None, "settled"), (fail, "forfeited")], ids=["well", "badly"])
def test_with_a_fixed_time_the_ledger_hears_of_the_end_no_sooner(
    tmp_path: Path, work: Callable[[], Any], kind: str
):
    """The time is an hour away, and comes when the service stops."""
    counted = threading.Event()

    async def ask(plan: Plan) -> datetime:
        workers = Executor(Limits(pad_to=3600.0, time_limit=3600.0))
        asked = asyncio.ensure_future(workers.answer(plan, None, nobody_leaves))
        await asyncio.to_thread(counted.wait, PATIENCE_SECONDS)
        await asyncio.sleep(0.3)  # in which it would hear of it, were nothing to hold it back
        assert ledger.history()[-1].kind == "reserved"
        stopped = datetime.now(UTC)
        await workers.close()
        asked.cancel()
        return stopped

    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.open("ads", dataset="searches", budget=ul.Budget(rho=1, delta="1e-6"))
        stopped = asyncio.run(ask(telling(counted, counting_after(work)).paid_by(account)))
        ended = ledger.history()[-1]
        assert ended.kind == kind
        times = [ul.Release.from_bytes(one.paid.release).time for one in stored_releases(ledger, "searches", None)]
        assert len(times) == (kind == "settled")
        assert min([datetime.fromisoformat(ended.time), *times]) >= stopped, "neither tells when it was counted"


def test_with_a_fixed_time_a_caller_who_leaves_changes_nothing_in_the_books(book: Ledger):
    async def ask() -> ul.Release:
        executor, loop, left = Executor(padded_to(0.5)), asyncio.get_running_loop(), asyncio.Event()
        plan = counting_after(lambda: loop.call_soon_threadsafe(left.set)).paid_by(book.account("ads"))
        found = await executor.answer(plan, None, left.wait)
        assert left.is_set()
        await executor.close()
        return found

    assert asyncio.run(ask()).stamp is not None
    assert kinds(book)[-2:] == ["reserved", "settled"]


def test_a_service_that_stops_does_not_wait_for_the_fixed_time(tmp_path: Path):
    counted = threading.Event()

    async def ask(plan: Plan) -> None:
        workers = Executor(Limits(pad_to=3600.0, time_limit=3600.0))
        asked = asyncio.ensure_future(workers.answer(plan, None, nobody_leaves))
        await asyncio.to_thread(counted.wait, PATIENCE_SECONDS)
        await workers.close()
        asked.cancel()

    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.open("ads", dataset="searches", budget=ul.Budget(rho=1, delta="1e-6"))
        asyncio.run(ask(counting_after(counted.set).paid_by(account)))
        assert ledger.history()[-1].kind in ("settled", "forfeited")
