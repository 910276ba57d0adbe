"""Stopping what an engine does for one question, from another thread.

Whoever runs a question may do so inside `Cancellation.watching()`. An engine says, with `interruptible`, how the
statement that it runs can be stopped; without a watcher that says nothing to nobody. A stopped statement fails
like any other: after data was touched, with the one fixed message, charged; in a rehearsal before that, refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

from unlisted.errors import CannotAnswerError

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

    @property
    def is_wished(self) -> bool:
        """Whether somebody wants the question to end."""
        return self._wished

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
    def attached(self, interrupt: Interrupt, *, touches_data: bool) -> Iterator[None]:
        """Say how to stop what runs inside; not entered if the wish came before."""
        with self._lock:
            if self._wished:
                raise InterruptedError("the question was cancelled before the engine began")
            self.began = self.began or touches_data
            self._interrupt = interrupt
        try:
            yield
        finally:
            # Waits for an interrupt under way: it must not meet a connection that is closed.
            with self._lock:
                self._interrupt = None


_REHEARSING: ContextVar[bool] = ContextVar("unlisted_rehearsing", default=False)
_CURRENT: ContextVar[Cancellation | None] = ContextVar("unlisted_cancellation", default=None)


def watcher() -> Cancellation | None:
    """Return whoever may stop what begins here, in this thread."""
    return _CURRENT.get()


@contextmanager
def rehearsing() -> Iterator[None]:
    """Let what an engine does inside be stopped like anything else; an answer does not begin with it."""
    watching = watcher()
    if watching is not None and watching.is_wished:
        raise CannotAnswerError("it was stopped before it began")
    token = _REHEARSING.set(True)
    try:
        yield
    except Exception:
        if watching is not None and watching.is_wished:
            raise CannotAnswerError("it was stopped before it began") from None
        raise
    finally:
        _REHEARSING.reset(token)


@contextmanager
def interruptible(interrupt: Interrupt, *, touches_data: bool = True) -> Iterator[None]:
    """Let whoever watches this question stop what an engine does inside."""
    watching = watcher()
    if watching is None:
        yield
        return
    with watching.attached(interrupt, touches_data=touches_data and not _REHEARSING.get()):
        yield
