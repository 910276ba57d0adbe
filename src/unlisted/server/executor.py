"""Questions in threads: a time limit, a fixed time of answer, and an end when nobody waits any more.

A question that runs too long, or whose caller leaves, is stopped inside the engine. By then data was touched: it
is charged, and whoever still listens gets the one fixed message.

With `pad_to` that message and every answer leave at the same moment after the question came, and the ledger hears
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
from fractions import Fraction
from threading import Event
from typing import Any

from unlisted.errors import (
    AccessError,
    CannotAnswerError,
    ChargedFailureError,
    InvalidArgumentError,
    UnlistedError,
)
from unlisted.privacy.accounting import Accounting
from unlisted.privacy.guarantee import Guarantee
from unlisted.query.charging import Bill, Deliver, Paid, Payer
from unlisted.query.plan import Plan
from unlisted.release.release import Release
from unlisted.server.config import Limits
from unlisted.tables.failures import OWNER_LOG
from unlisted.tables.stopping import Cancellation


@dataclass(frozen=True)
class Padding:
    """When a question ends, by `time.monotonic`; at once if the service stops. `counted` is told when it waits."""

    ends: float
    stopping: Event
    counted: Callable[[], object]

    def wait(self) -> None:
        """Wait in this thread."""
        self.counted()
        self.stopping.wait(max(0.0, self.ends - time.monotonic()))


@dataclass(frozen=True)
class PaddedPayer:
    """An account whose reservations are settled, or forfeited, at a fixed time."""

    account: Payer
    moment: Padding

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

    def has_answered(self, bill: Bill, idempotency_key: str | None = None) -> bool:
        """Return what the account says."""
        return self.account.has_answered(bill, idempotency_key)

    def pay(self, bill: Bill, deliver: Deliver, idempotency_key: str | None = None) -> Paid:
        """Answer a question as the account does, but let the delivery last until its time."""

        def lasting() -> tuple[bytes, Guarantee]:
            try:
                data, used = deliver()
            finally:
                self.moment.wait()
            # It was made earlier, and how much earlier must not be read in it.
            return replace(Release.from_bytes(data), time=datetime.now(UTC)).to_bytes(), used

        return self.account.pay(bill, lasting, idempotency_key)


Gone = Callable[[], Awaitable[None]]
"""Waits until the caller has left."""

_BETWEEN_CANCELS = 0.2


class Executor:
    """The threads in which questions run, so many at once; a few more may wait, and then nobody else."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._threads = ThreadPoolExecutor(limits.questions_at_once, thread_name_prefix="unlisted-question")
        self._inside: dict[asyncio.Future[Release], Cancellation] = {}
        self._stopping: set[asyncio.Task[None]] = set()
        self._closing = threading.Event()

    async def answer(self, plan: Plan, idempotency_key: str | None, gone: Gone) -> Release:
        """Run a plan, and return its release when it may be sent."""
        if len(self._inside) >= self._limits.questions_at_once + self._limits.questions_waiting:
            raise AccessError(
                503, "Too many questions are waiting. Ask again; nothing was charged.", retry_after=1
            )
        if self._limits.pad_to is None:
            return await self._within_limit(plan, idempotency_key, gone)
        ends, loop, counted = time.monotonic() + self._limits.pad_to, asyncio.get_running_loop(), asyncio.Event()
        moment = Padding(ends, self._closing, lambda: loop.call_soon_threadsafe(counted.set))
        if plan.account is not None:
            plan = plan.paid_by(PaddedPayer(plan.account, moment))
        try:
            release = await self._within_limit(plan, idempotency_key, gone, counted)
        except ChargedFailureError:
            await _until(ends)
            raise
        await _until(ends)
        return release

    async def close(self) -> None:
        """Stop what runs, and wait for it to be written down."""
        self._closing.set()
        for ended, cancellation in list(self._inside.items()):
            self._stop(ended, cancellation)
        await asyncio.gather(*self._stopping)
        self._threads.shutdown(cancel_futures=True)

    async def _within_limit(
        self, plan: Plan, idempotency_key: str | None, gone: Gone, counted: asyncio.Event | None = None
    ) -> Release:
        """Run a plan. With `counted` only its count must be within the limit, and nobody asks who left."""
        cancellation = Cancellation()
        running = self._threads.submit(_run, plan, idempotency_key, cancellation)
        ended = asyncio.wrap_future(running)
        self._inside[ended] = cancellation
        ended.add_done_callback(self._leave)
        over = asyncio.ensure_future(_seen(gone if counted is None else counted.wait))
        try:
            either: set[asyncio.Future[Any]] = {ended, over}
            await asyncio.wait(either, timeout=self._limits.time_limit, return_when=asyncio.FIRST_COMPLETED)
            if counted is not None and counted.is_set():
                await asyncio.wait({ended})
            if ended.done():
                return ended.result()
            return self._give_up(running, ended, cancellation)
        finally:
            over.cancel()
            if not ended.done():
                # Also where the caller's own task was cancelled.
                self._stop(ended, cancellation)

    def _give_up(
        self, running: Future[Release], ended: asyncio.Future[Release], cancellation: Cancellation
    ) -> Release:
        if running.cancel():
            raise AccessError(503, "The question had to wait too long. Ask again; nothing was charged.", 1)
        self._stop(ended, cancellation)
        raise ChargedFailureError

    def _leave(self, ended: asyncio.Future[Release]) -> None:
        self._inside.pop(ended, None)
        if not ended.cancelled():
            # Nobody may be left to look at it, and that is no news.
            ended.exception()

    def _stop(self, ended: asyncio.Future[Release], cancellation: Cancellation) -> None:
        if all(task.get_name() != f"stop {id(ended)}" for task in self._stopping):
            task = asyncio.ensure_future(_until_ended(ended, cancellation))
            task.set_name(f"stop {id(ended)}")
            self._stopping.add(task)
            task.add_done_callback(self._stopping.discard)


async def _until(ends: float) -> None:
    await asyncio.sleep(ends - time.monotonic())


async def _seen(event: Callable[[], Awaitable[object]]) -> None:
    await event()


async def _until_ended(ended: asyncio.Future[Release], cancellation: Cancellation) -> None:
    """Say stop until it has: between two statements of a question there is nothing to stop."""
    while not ended.done():
        await asyncio.to_thread(cancellation.cancel)
        with contextlib.suppress(Exception, asyncio.CancelledError):
            await asyncio.wait_for(asyncio.shield(ended), _BETWEEN_CANCELS)


def _run(plan: Plan, idempotency_key: str | None, cancellation: Cancellation) -> Release:
    """Run a plan in this thread. Whatever nobody foresaw counts as charged; its cause goes to the owner's log."""
    try:
        with cancellation.watching():
            return plan.run(idempotency_key=idempotency_key)
    except CannotAnswerError as reason:
        raise source_refused(reason) from None
    except InvalidArgumentError as reason:
        if reason.argument == "idempotency_key":
            raise
        # The question was checked before: it is the source that is not what the configuration says.
        raise source_refused(reason) from None
    except UnlistedError:
        raise
    except Exception:
        OWNER_LOG.exception("A question failed in a way that nobody foresaw; take it as charged.")
        raise ChargedFailureError from None


def source_refused(reason: UnlistedError) -> AccessError:
    """Say that a source cannot be read. Where it is and what is wrong with it is for the owner's log."""
    OWNER_LOG.error("A source cannot be read: %s", reason)
    return AccessError(503, "The data set cannot be read right now; see the log. Nothing was charged.", 10)
