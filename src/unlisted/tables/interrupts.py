"""Ctrl-C while data is being touched: it stays Ctrl-C, whatever an engine makes of it.

An engine that is interrupted fails like any other, and such failures all become one error that a loop over
questions may well catch. Who presses Ctrl-C wants the loop to end. So what the handler of the interrupt raised,
usually `KeyboardInterrupt`, is remembered here and raised again in place of whatever came of it.

Python sees an interrupt between two of its own steps, and a statement of an engine is one of them, however long it
takes. So another thread hears of the interrupt at once and stops the statement.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from threading import Event, Thread, current_thread, main_thread
from types import FrameType
from typing import TypeVar

from unlisted.errors import ChargedFailureError
from unlisted.tables.cancelling import Cancellation, watcher

Result = TypeVar("Result")

_AGAIN = 0.1
"""Seconds after which an engine is told again to stop: between two of its statements it does not hear."""


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
