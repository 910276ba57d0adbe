"""Stopping what an engine does for one question, from another thread.

Whoever runs a question may do so inside `Cancellation.watching()`. An engine says, with `interruptible`, how the
statement that it runs can be stopped; without a watcher that says nothing to nobody. A stopped statement fails
like any other: after data was touched, with the one fixed message, charged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

Interrupt = Callable[[], None]
"""Stops the statement that runs right now, if one does. Called from another thread."""


class Cancellation:
    """A wish, perhaps, that a question should end. `began` says whether an engine has begun to answer it."""

    def __init__(self) -> None:
        self.began = False
        self._wished = False
        self._interrupt: Interrupt | None = None
        self._lock = Lock()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Make whatever an engine begins inside, in this thread, stoppable."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)

    def cancel(self) -> None:
        """Stop what runs now, and whatever would begin later.

        Between two statements there is nothing to stop, and the next one begins: so call it until the question
        has ended.
        """
        with self._lock:
            self._wished = True
            if self._interrupt is not None:
                self._interrupt()

    @contextmanager
    def attached(self, interrupt: Interrupt) -> Iterator[None]:
        """Say how to stop what runs inside; not entered if the wish came before."""
        with self._lock:
            if self._wished:
                raise InterruptedError("the question was cancelled before the engine began")
            self.began = True
            self._interrupt = interrupt
        try:
            yield
        finally:
            # Waits for an interrupt under way: it must not meet a connection that is closed.
            with self._lock:
                self._interrupt = None


_CURRENT: ContextVar[Cancellation | None] = ContextVar("unlisted_cancellation", default=None)


@contextmanager
def rehearsing() -> Iterator[None]:
    """Let what an engine does inside be stopped like anything else, but not count as the begin of an answer."""
    watcher = _CURRENT.get()
    try:
        yield
    finally:
        if watcher is not None:
            watcher.began = False


@contextmanager
def interruptible(interrupt: Interrupt) -> Iterator[None]:
    """Let whoever watches this question stop what an engine does inside."""
    watcher = _CURRENT.get()
    if watcher is None:
        yield
        return
    with watcher.attached(interrupt):
        yield
