"""A database server that does not answer any more: its connection is shut after a while.

A process that was stopped, or a machine that lost its network, keeps a connection open and says nothing. A limit
that the server itself should keep helps nobody then, and a driver waits for ever. What waits inside
`answering_within` is woken up, with the driver's own error for a connection that broke.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

FileNumber = Callable[[], int]
"""Returns the number of a connection's socket; fails if it is closed."""

_BETWEEN_LOOKS = 0.5


@contextmanager
def answering_within(seconds: float, number: FileNumber) -> Iterator[None]:
    """Shut a connection unless what is done with it inside ends in time."""
    watch = _watch()
    watch.add(number, time.monotonic() + seconds)
    try:
        yield
    finally:
        watch.remove(number)


def shut(number: FileNumber) -> None:
    """Shut a connection that another thread waits for; one that is closed stays so."""
    with contextlib.suppress(Exception), socket.socket(fileno=os.dup(number())) as copy:
        copy.shutdown(socket.SHUT_RDWR)


class _Watch:
    """A thread that looks after all connections of a process, as long as there are any."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self._deadlines: dict[int, tuple[float, FileNumber]] = {}
        self._lock = threading.Lock()
        self._looks = False

    def add(self, number: FileNumber, deadline: float) -> None:
        with self._lock:
            self._deadlines[id(number)] = (deadline, number)
            if not self._looks:
                self._looks = True
                threading.Thread(target=self._look, name="unlisted-server-timeouts", daemon=True).start()

    def remove(self, number: FileNumber) -> None:
        with self._lock:
            self._deadlines.pop(id(number), None)

    def _look(self) -> None:
        idle = 0
        while idle < 20:
            time.sleep(_BETWEEN_LOOKS)
            # Under the lock: what is removed meanwhile may be closed, and its number another file's.
            with self._lock:
                now = time.monotonic()
                for deadline, number in list(self._deadlines.values()):
                    if deadline <= now:
                        shut(number)
                        del self._deadlines[id(number)]
                idle = 0 if self._deadlines else idle + 1
                if idle == 20:
                    self._looks = False


_WATCH: list[_Watch] = []


def _watch() -> _Watch:
    """Return the watch of this process; a forked child has none of its parent's threads."""
    if not _WATCH or _WATCH[0].process != os.getpid():
        _WATCH[:] = [_Watch()]
    return _WATCH[0]
