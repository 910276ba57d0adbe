"""Who holds a reservation: a process, named so that another one can tell that it is gone.

On the same machine a process is gone if no process has its number and start. Of other machines nothing can be
told, so a reservation of theirs counts as abandoned only after a day. A process that lives on can give a
reservation up itself. Either way it stays spent: forfeiting is book-keeping.
"""

from __future__ import annotations

import os
import socket
import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import count
from pathlib import Path

_LEASE = timedelta(days=1)
_PLACES = count()
_GIVEN_UP: set[str] = set()


def new_owner() -> str:
    """Return the name of this process, the time of the lease, and a number that no other lease of it has."""
    process = os.getpid()
    since = datetime.now(UTC).isoformat()
    return f"{socket.gethostname()}|{process}|{_started(process)}|{since}|{next(_PLACES)}"


def give_up(owner: str) -> None:
    """Remember that this process will not settle a reservation, where the ledger cannot be told."""
    _GIVEN_UP.add(owner)


def is_gone(owner: str) -> bool:
    """Return whether the process that holds a reservation cannot settle it any more."""
    if owner in _GIVEN_UP:
        return True
    host, process, started, since = owner.split("|")[:4]
    if datetime.now(UTC) - datetime.fromisoformat(since) > _LEASE:
        return True
    return host == socket.gethostname() and _started(int(process)) != started


def is_elsewhere(owner: str) -> bool:
    """Return whether another machine holds a reservation, so that nobody here can tell how it is doing."""
    return owner.partition("|")[0] != socket.gethostname()


class Running:
    """The reservations that this process works on right now, so that nobody need ask the store who holds them.

    None is in here that is not open: it is put in after its entry was kept, and taken out before its end is. An
    old one is left out, for at the end of its lease others may forfeit it. A forked child works on none.
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        self._held: dict[tuple[str, int], tuple[str, float]] = {}

    def begin(self, dataset: str, number: int, account: str) -> None:
        """Say that this process answers a question from now on."""
        if self._process != os.getpid():
            self._process, self._held = os.getpid(), {}
        self._held[dataset, number] = (account, time.monotonic())

    def end(self, dataset: str, number: int) -> None:
        """Say that it does not any more."""
        self._held.pop((dataset, number), None)

    def count(self, dataset: str, account: str | None = None) -> int:
        """Return how many questions about a data set it answers, or of one account."""
        if self._process != os.getpid():
            return 0
        oldest = time.monotonic() - _LEASE.total_seconds() / 2
        held = list(self._held.items())
        return sum(
            whose == dataset and account in (None, name) and since > oldest for (whose, _), (name, since) in held
        )


def _started(process: int) -> str:
    """Return when a process started, as the system counts it; empty if there is none."""
    if process == os.getpid():
        return _own_start(process)
    return _read_start(process)


@lru_cache(maxsize=4)
def _own_start(process: int) -> str:
    return _read_start(process)


def _read_start(process: int) -> str:
    stat = Path(f"/proc/{process}/stat")
    if stat.parent.parent.joinpath("self").exists():
        try:
            # The name, in brackets, may hold spaces; the start time is the 20th field after it.
            return stat.read_text().rpartition(")")[2].split()[19]
        except OSError:
            return ""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        return "running"
    return "running"
