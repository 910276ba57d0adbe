"""Stopping a question: from another thread, or by Ctrl-C while data is being touched.

Whoever runs a question may do so inside `Cancellation.watching()`. An engine says, with `interruptible`, how the
statement that it runs can be stopped; without a watcher that says nothing to nobody. A stopped statement fails
like any other: after data was touched, with the one fixed message, charged; in a rehearsal before that, refused.

Such failures all become one error that a loop over questions may well catch. Who presses Ctrl-C wants the loop to
end. So what the handler of the interrupt raised, usually `KeyboardInterrupt`, is remembered by `outcome_of` and
raised again in place of whatever came of it. Python sees an interrupt between two of its own steps, and one
statement of an engine is such a step, however long it takes. So another thread hears of the interrupt at once and
stops the statement.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from threading import Event, Lock, Thread, current_thread, main_thread
from types import FrameType
from typing import TypeVar

from unlisted.errors import CannotAnswerError, ChargedFailureError

Result = TypeVar("Result")

_AGAIN = 0.1
"""Seconds after which an engine is told again to stop: between two of its statements it does not hear."""

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


def outcome_of(work: Callable[[], Result]) -> Result | BaseException:
    """Do what touches data, and return what comes of it: its result, what Ctrl-C raised, or the one failure.

    The last two are for the caller to raise: neither the cause nor a frame that saw data hangs on them then.
    """
    interrupts = _Interrupts()
    try:
        with interrupts.heard():
            result = work()
    except ChargedFailureError:
        return interrupts.stop() or ChargedFailureError()
    except BaseException:
        if (stop := interrupts.stop()) is None:
            raise
        return stop
    # Something below may have swallowed it; who pressed Ctrl-C still wants an end.
    return interrupts.stop() or result


class _Interrupts:
    """What Ctrl-C raised inside `heard()`. Of use in the main thread, the only one that it reaches."""

    def __init__(self) -> None:
        self._cancellation = watcher() or Cancellation()
        self._raised: BaseException | None = None

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Remember what an interrupt raises inside, and let it stop the engine."""
        before = signal.getsignal(signal.SIGINT) if current_thread() is main_thread() else None
        if not callable(before):  # a shell lets what runs in the background ignore it
            yield
            return

        def pressed(number: int, frame: FrameType | None) -> None:
            try:
                before(number, frame)
            except BaseException as raised:
                self._raised = raised
                raise

        try:
            signal.signal(signal.SIGINT, pressed)
        except ValueError:  # an interpreter inside another one, which gets all the signals
            yield
            return
        try:
            # Somebody else's handler may not want anything to stop.
            with _passed_on_to(self._cancellation) if before is signal.default_int_handler else nullcontext():
                yield
        finally:
            signal.signal(signal.SIGINT, before)

    def stop(self) -> BaseException | None:
        """Return what an interrupt raised, if one came; no frame and no cause hangs on it any more."""
        if self._raised is None:
            return None
        stop = self._raised.with_traceback(None)
        stop.__cause__ = stop.__context__ = None
        touched = "had" if self._cancellation.began else "may have"
        stop.add_note(f"Data {touched} been touched.")
        return stop


@contextmanager
def _passed_on_to(cancellation: Cancellation) -> Iterator[None]:
    """Tell the engine of an interrupt while Python itself still waits for it."""
    over = Event()
    told, hears = socket.socketpair()
    told.setblocking(False)  # noqa: FBT003 - the socket's own signature
    before = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    if before != -1:
        # Somebody, an event loop say, needs to hear of all signals. Some engines look for one themselves.
        signal.set_wakeup_fd(before)

    def listen() -> None:
        while heard := hears.recv(1):
            if heard[0] == signal.SIGINT:
                cancellation.cancel()
                while not over.wait(_AGAIN):
                    cancellation.cancel()

    listener = Thread(target=listen, daemon=True)
    listener.start()
    try:
        with cancellation.watching():
            yield
    finally:
        if before == -1:
            signal.set_wakeup_fd(-1)
        over.set()
        told.close()
        listener.join()
        hears.close()
