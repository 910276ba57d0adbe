"""Who holds a reservation: a process, named so that another one can tell that it is gone.

On the same machine a process is gone if no process has its number and start. Of other machines nothing can be
told, so a reservation of theirs counts as abandoned only after a day. A process that lives on can give a
reservation up itself. Either way it stays spent: forfeiting is book-keeping.
"""

from __future__ import annotations

import os
import socket
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
