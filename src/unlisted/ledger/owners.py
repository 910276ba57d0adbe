"""Who holds a reservation: a process, named so that another one can tell that it is gone.

On the same machine a process is gone if no process has its number and start. Of other machines nothing can be
told, so a reservation of theirs counts as abandoned only after a day. Either way it stays spent: forfeiting is
book-keeping.
"""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

_LEASE = timedelta(days=1)


def this_process() -> str:
    """Return the name of this process and the time of the lease."""
    return f"{socket.gethostname()}|{os.getpid()}|{_started(os.getpid())}|{datetime.now(UTC).isoformat()}"


def is_gone(owner: str) -> bool:
    """Return whether the process that holds a reservation cannot settle it any more."""
    host, process, started, since = owner.split("|")
    if datetime.now(UTC) - datetime.fromisoformat(since) > _LEASE:
        return True
    return host == socket.gethostname() and _started(int(process)) != started


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
