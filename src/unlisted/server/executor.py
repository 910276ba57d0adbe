"""Questions in threads, from the wait for one to the last entry in the ledger.

    waiting     for a thread. Nothing is reserved: whoever leaves or waits too long is sent away at no cost.
    preparing   a rehearsal on no rows. The same.
    reserving   the ledger is asked for the ceiling, and nobody can call that back.
    running     the ceiling is reserved, and the engine starts. From here on the time limit runs, and the question
                is charged, whatever becomes of it: how long it takes can depend on a row.
    counted     the answer is there, or there will be none. It is written down, and nobody calls it failed.

A question that runs too long, or whose caller leaves, is stopped inside the engine and forfeited, and whoever
still listens gets the one fixed message. Both sides ask `Question` before they go on, so that a caller is never
told of a failure while the answer is being stored.

With `pad_to` that message and every answer leave at the same moment after the question began, and the ledger hears
of the end no sooner. Its entries have a time, a balance says what is still reserved, a release says when it was
made: all of them would tell how long a count took. So the end of a question waits, after data was touched and
before the ledger hears of it, whether it went well or not, and keeps its thread until then. A caller who leaves
stops nothing then, for whether there was still something to stop would show in what was charged.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import IntEnum
from fractions import Fraction
from typing import Any

from unlisted.errors import (
    AccessError,
    CannotAnswerError,
    ChargedFailureError,
    InvalidArgumentError,
    UnlistedError,
)
from unlisted.ledger.policy import NotAllowedError
from unlisted.privacy.accounting import Accounting
from unlisted.privacy.guarantee import Guarantee
from unlisted.query.charging import Charge, Deliver, Paid, Payer
from unlisted.query.plan import Plan
from unlisted.release.release import Release
from unlisted.server.config import Limits
from unlisted.tables.failures import OWNER_LOG
from unlisted.tables.stopping import Cancellation

Gone = Callable[[], Awaitable[None]]
"""Waits until the caller has left."""

_BETWEEN_CANCELS = 0.2


class Phase(IntEnum):
    """How far a question is."""

    WAITING = 0
    PREPARING = 1
    RESERVING = 2
    RUNNING = 3
    COUNTED = 4


class Question:
    """One question on its way. Its thread asks before each phase, and the event loop before it gives up on it."""

    def __init__(self, closing: threading.Event, pad_to: float | None) -> None:
        self.cancellation = Cancellation()
        self.phase = Phase.WAITING
        self.changed = asyncio.Event()
        self._since = time.monotonic()
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._dropped = False
        self._closing = closing
        self._pad_to = pad_to

    @property
    def is_padded(self) -> bool:
        """Whether its answer leaves at a fixed time."""
        return self._pad_to is not None

    # In its own thread.

    def enter(self, phase: Phase) -> bool:
        """Go on to a phase; False if nobody wants the question any more."""
        with self._lock:
            if self._dropped:
                return False
            self.phase = phase
            if phase in (Phase.PREPARING, Phase.RUNNING):
                self._since = time.monotonic()
        with contextlib.suppress(RuntimeError):  # the loop has ended, and nobody listens
            self._loop.call_soon_threadsafe(self.changed.set)
        return True

    def wait_for_its_time(self) -> None:
        """With a fixed time of answer, wait for it; at once if the service stops."""
        if self._pad_to is not None:
            self._closing.wait(max(0.0, self._since + self._pad_to - time.monotonic()))

    # In the event loop.

    def drop(self) -> bool:
        """Let it go no further; False while it is being reserved, and once it was counted."""
        with self._lock:
            self._dropped = self._dropped or self.phase not in (Phase.RESERVING, Phase.COUNTED)
            return self._dropped

    def remaining(self, seconds: float) -> float:
        """Return how many of so many seconds are left since the question came, or began."""
        return max(0.0, self._since + seconds - time.monotonic())


class Executor:
    """The threads in which questions run, so many at once; a few more may wait, and then nobody else."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._threads = ThreadPoolExecutor(limits.questions_at_once, thread_name_prefix="unlisted-question")
        self._inside: dict[asyncio.Future[Release], Question] = {}
        self._stopping: dict[Question, asyncio.Task[None]] = {}
        self._closing = threading.Event()

    @property
    def waiting(self) -> int:
        """How many questions wait for a thread."""
        return sum(question.phase is Phase.WAITING for question in self._inside.values())

    @property
    def running(self) -> int:
        """How many questions are being answered."""
        return len(self._inside) - self.waiting

    async def answer(self, plan: Plan, idempotency_key: str | None, gone: Gone) -> Release:
        """Run a plan, and return its release when it may be sent."""
        limits = self._limits
        if self._closing.is_set() or len(self._inside) >= limits.questions_at_once + limits.questions_waiting:
            raise self._busy("Too many questions are waiting.")
        question = Question(self._closing, limits.pad_to)
        thread = self._threads.submit(_run, plan, idempotency_key, question)
        try:
            release = await self._ended(question, thread, gone)
        except ChargedFailureError:
            await self._until_its_time(question)
            raise
        await self._until_its_time(question)
        return release

    async def _ended(self, question: Question, thread: Future[Release], gone: Gone) -> Release:
        ended = asyncio.wrap_future(thread)
        self._inside[ended] = question
        ended.add_done_callback(self._leave)
        left = asyncio.ensure_future(_seen(gone))
        try:
            await self._until_begun(question, ended, left)
            await self._until_counted(question, ended, left)
            return await asyncio.shield(ended)
        finally:
            left.cancel()
            if not thread.cancel() and not ended.done():
                # It was given up, or the caller's own task was cancelled.
                self._stop(question, ended)

    async def _until_begun(
        self, question: Question, ended: asyncio.Future[Release], left: asyncio.Future[None]
    ) -> None:
        """Wait until data is touched; refuse, at no cost, whoever leaves or has to wait too long for that."""
        waited = self._limits.wait_limit
        while not ended.done() and question.phase < Phase.RUNNING:
            question.changed.clear()
            changed = asyncio.ensure_future(question.changed.wait())
            # The ledger has a time limit of its own.
            may_drop = question.phase < Phase.RESERVING
            events: set[asyncio.Future[Any]] = {ended, changed, left} if may_drop else {ended, changed}
            timeout = question.remaining(waited) if may_drop else None
            await asyncio.wait(events, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            changed.cancel()
            if may_drop and (left.done() or not question.remaining(waited)) and question.drop():
                raise self._busy("The question had to wait too long.")

    async def _until_counted(
        self, question: Question, ended: asyncio.Future[Release], left: asyncio.Future[None]
    ) -> None:
        """Wait for what the engine comes to, as long as the limit allows and somebody listens."""
        may_stop = self._limits.pad_to is None and not left.done()
        while not ended.done() and question.phase is Phase.RUNNING:
            question.changed.clear()
            changed = asyncio.ensure_future(question.changed.wait())
            events: set[asyncio.Future[Any]] = {ended, changed, left} if may_stop else {ended, changed}
            timeout = question.remaining(self._limits.time_limit)
            await asyncio.wait(events, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            changed.cancel()
            is_over = not question.remaining(self._limits.time_limit)
            if not ended.done() and (is_over or (may_stop and left.done())) and question.drop():
                raise ChargedFailureError

    async def close(self) -> None:
        """Stop what runs, and wait for it to be written down."""
        self._closing.set()
        for ended, question in list(self._inside.items()):
            self._stop(question, ended)
        await asyncio.gather(*self._stopping.values())
        self._threads.shutdown(cancel_futures=True)

    async def _until_its_time(self, question: Question) -> None:
        if self._limits.pad_to is not None:
            await asyncio.sleep(question.remaining(self._limits.pad_to))

    def _busy(self, why: str) -> AccessError:
        seconds = 1 + self.waiting // self._limits.questions_at_once
        return AccessError(503, f"{why} Ask again in {seconds} s; nothing was charged.", min(60, seconds))

    def _leave(self, ended: asyncio.Future[Release]) -> None:
        self._inside.pop(ended, None)
        if not ended.cancelled():
            # Nobody may be left to look at it, and that is no news.
            ended.exception()

    def _stop(self, question: Question, ended: asyncio.Future[Release]) -> None:
        if question not in self._stopping:
            task = asyncio.ensure_future(_until_ended(question, ended))
            self._stopping[question] = task
            task.add_done_callback(lambda _: self._stopping.pop(question, None))


async def _seen(event: Callable[[], Awaitable[object]]) -> None:
    await event()


async def _until_ended(question: Question, ended: asyncio.Future[Release]) -> None:
    """Say stop until it has: between two statements of a question there is nothing to stop."""
    while not ended.done():
        if question.drop():
            await asyncio.to_thread(question.cancellation.cancel)
        with contextlib.suppress(Exception, asyncio.CancelledError):
            await asyncio.wait_for(asyncio.shield(ended), _BETWEEN_CANCELS)


@dataclass(frozen=True)
class _Watched:
    """An account that says when its question begins, and ends it at a fixed time if there is one."""

    account: Payer
    question: Question

    @property
    def name(self) -> str:
        """The account's name."""
        return self.account.name

    @property
    def accounting(self) -> Accounting:
        """What the account counts."""
        return self.account.accounting

    @property
    def result_epsilon(self) -> Fraction | None:
        """The ε of one result, if the account was opened with one."""
        return self.account.result_epsilon

    @property
    def question_delta(self) -> Fraction | None:
        """The δ of one question, if the account was opened with one."""
        return self.account.question_delta

    def has_answered(self, charge: Charge, idempotency_key: str | None = None) -> bool:
        """Return what the account says."""
        return self.account.has_answered(charge, idempotency_key)

    def pay(self, charge: Charge, deliver: Deliver, idempotency_key: str | None = None) -> Paid:
        """Answer a question as the account does, phase by phase."""

        def delivered() -> tuple[bytes, Guarantee]:
            # Nobody drops a question while it is being reserved.
            self.question.enter(Phase.RUNNING)
            is_wanted = False
            try:
                data, used = deliver()
            finally:
                is_wanted = self.question.enter(Phase.COUNTED)
                self.question.wait_for_its_time()
            if not is_wanted:
                # The caller was told that it failed, so it must not be stored.
                raise ChargedFailureError
            if self.question.is_padded:
                # It was made earlier, and how much earlier must not be read in it.
                data = replace(Release.from_bytes(data), time=datetime.now(UTC)).to_bytes()
            return data, used

        _require(self.question.enter(Phase.RESERVING))
        return self.account.pay(charge, delivered, idempotency_key)


def _run(plan: Plan, idempotency_key: str | None, question: Question) -> Release:
    """Run a plan in this thread. Whatever nobody foresaw counts as charged; its cause goes to the owner's log."""
    _require(question.enter(Phase.PREPARING))
    if plan.account is not None:
        plan = plan.paid_by(_Watched(plan.account, question))
    else:
        question.enter(Phase.RUNNING)
    try:
        with question.cancellation.watching():
            return plan.run(idempotency_key=idempotency_key)
    except CannotAnswerError as reason:
        raise source_refused(reason) from None
    except InvalidArgumentError as reason:
        if reason.argument == "idempotency_key" or isinstance(reason, NotAllowedError):
            raise
        # The question was checked before: it is the source that is not what the configuration says.
        raise source_refused(reason) from None
    except UnlistedError:
        raise
    except Exception:
        OWNER_LOG.exception("A question failed in a way that nobody foresaw; take it as charged.")
        raise ChargedFailureError from None


def _require(is_wanted: bool) -> None:
    if not is_wanted:
        raise AccessError(503, "The question was dropped before it began; nothing was charged.", 1)


def source_refused(reason: UnlistedError) -> AccessError:
    """Say that a source cannot be read. Where it is and what is wrong with it is for the owner's log."""
    OWNER_LOG.error("A source cannot be read: %s", reason)
    return AccessError(503, "The data set cannot be read right now; see the log. Nothing was charged.", 10)
