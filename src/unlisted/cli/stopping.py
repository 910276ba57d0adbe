"""What becomes of Ctrl-C while a question is being answered: one line, and the exit code of what touched data.

An engine that is interrupted fails like any other, with the one fixed message. But who pressed Ctrl-C knows the
cause already, and it says nothing of the data; so this one failure is told for what it is.

Python sees an interrupt between two of its own steps, and a statement of an engine is one of them, however long it
takes. So another thread hears of the interrupt at once and stops the statement.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread, current_thread, main_thread
from typing import NoReturn

from unlisted.bills import Payer
from unlisted.cli.exits import CHARGED, INTERRUPTED, leave
from unlisted.errors import CannotAnswerError, ChargedFailureError
from unlisted.tables.cancelling import Cancellation

_AGAIN = 0.1
"""Seconds after which an engine is told again to stop: between two of its statements it does not hear."""


@contextmanager
def stoppable(consequence: str) -> Iterator[None]:
    """Let Ctrl-C stop what an engine does inside, and say that it was stopped and what follows from that."""
    if not _can_be_pressed():
        yield
        return
    pressed, cancellation = False, Cancellation()

    def press(*_: object) -> NoReturn:
        nonlocal pressed
        pressed = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, press)
    try:
        with _passed_on_to(cancellation):
            yield
    except (KeyboardInterrupt, CannotAnswerError, ChargedFailureError) as failure:
        if not pressed:
            raise
        if isinstance(failure, CannotAnswerError):
            leave("stopped before data was touched; nothing was charged", INTERRUPTED)
        touched = "had" if cancellation.began else "may have"
        leave(f"stopped; data {touched} been touched; {consequence}", CHARGED)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def what_is_kept(account: Payer | None) -> str:
    """Say what a question that was stopped leaves in the books."""
    if account is None:
        return "without an account nothing is recorded"
    return f"what the account {account.name!r} was charged for it stays charged"


@contextmanager
def _passed_on_to(cancellation: Cancellation) -> Iterator[None]:
    """Tell the engine of an interrupt while Python itself still waits for it."""
    over = Event()
    told, hears = socket.socketpair()
    told.setblocking(False)  # noqa: FBT003 - the socket's own signature

    def listen() -> None:
        if hears.recv(1):
            cancellation.cancel()
            while not over.wait(_AGAIN):
                cancellation.cancel()

    listener = Thread(target=listen, daemon=True)
    listener.start()
    before = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    try:
        with cancellation.watching():
            yield
    finally:
        signal.set_wakeup_fd(before)
        over.set()
        told.close()
        listener.join()
        hears.close()


def _can_be_pressed() -> bool:
    """Return whether Ctrl-C reaches this thread: a shell lets what runs in the background ignore it."""
    return current_thread() is main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
