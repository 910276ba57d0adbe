"""Plans made in a few threads of their own: one key's previews must stall neither the service nor other keys.

A key has one plan at a time, and its next one goes to the end of the line, so keys take turns. A key may wait for
a few previews; for questions that are to be run, as many plans may wait as questions may. Nobody can stop a
calculation in a thread: one that takes too long is left to its thread, whoever waits for it is told to come back,
and by then the plan may be remembered.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from unlisted.errors import AccessError
from unlisted.server.config import Limits
from unlisted.tables.stopping import Cancellation

Made = TypeVar("Made")


@dataclass(eq=False)
class _Job:
    work: Callable[[], Any]
    is_asked: bool
    future: Future[Any] = field(default_factory=Future)
    cancellation: Cancellation = field(default_factory=Cancellation)

    def run(self) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            with self.cancellation.watching():
                self.future.set_result(self.work())
        except BaseException as failure:
            self.future.set_exception(failure)


class Previews:
    """The threads in which plans are made and drawn, and those who wait for them."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._threads = ThreadPoolExecutor(limits.previews_at_once, thread_name_prefix="unlisted-preview")
        self._queues: dict[str, deque[_Job]] = {}
        self._lock = threading.Lock()

    @property
    def waiting(self) -> int:
        """How many previews run or wait."""
        with self._lock:
            return sum(map(len, self._queues.values()))

    async def run(self, key: str, work: Callable[[], Made], *, is_asked: bool = False) -> Made:
        """Do some work for a key when its turn comes; refuse it if that would take too long.

        It is a preview, or planned to be run at once (`is_asked`).
        """
        job = self._queued(key, work, is_asked)
        made = asyncio.wrap_future(job.future)
        try:
            most = self._limits.wait_limit if is_asked else self._limits.preview_limit
            await asyncio.wait({made}, timeout=most)
            if not made.done():
                raise AccessError(503, "The plan takes too long. Ask again; nothing was charged.", 5)
            return cast("Made", made.result())
        finally:
            if not made.done():
                made.add_done_callback(_unheard)
                job.future.cancel()
                # A source that does not answer is not waited for.
                await asyncio.to_thread(job.cancellation.cancel)

    def close(self) -> None:
        """Begin nothing more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _queued(self, key: str, work: Callable[[], Any], is_asked: bool) -> _Job:
        limits, job = self._limits, _Job(work, is_asked)
        with self._lock:
            queue = self._queues.get(key, deque())
            others = [one for jobs in self._queues.values() for one in jobs if one.is_asked == is_asked]
            if is_asked:
                most = limits.questions_at_once + limits.questions_waiting
            else:
                most = limits.previews_at_once + limits.previews_waiting
                if sum(not one.is_asked for one in queue) >= limits.previews_per_key:
                    allowed = f"At most {limits.previews_per_key} previews at once with one key"
                    raise AccessError(429, f"{allowed}. Wait for one of them.", 1)
            if len(others) >= most:
                raise AccessError(503, "Too many plans are waiting. Ask again; nothing was charged.", 1)
            queue.append(job)
            self._queues[key] = queue
            if len(queue) == 1:
                self._threads.submit(self._serve, key)
        return job

    def _serve(self, key: str) -> None:
        """Do the first thing that a key waits for, in this thread; its next one goes to the end of the line."""
        queue = self._queues[key]
        queue[0].run()
        with self._lock:
            queue.popleft()
            if not queue:
                del self._queues[key]
                return
        self._threads.submit(self._serve, key)


def _unheard(made: asyncio.Future[Any]) -> None:
    if not made.cancelled():
        # Nobody is left to look at it, and that is no news.
        made.exception()
