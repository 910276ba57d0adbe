"""Who answers a question, and whether it still lives.

A process has a name of its own: where it runs, its number and start there, and a number that nobody else drew.
*Where* is a boot of a machine and a space of process numbers in it. Names of machines are not: two containers may
share one, and a container that is started again may have another.

In the same place a process is gone if none has its number and start, and lives otherwise, however long it was
silent. Of one in another place, a machine or a container, nobody here can see that. So a process that answers
questions says in the store every few seconds that it lives, and counts as gone if it has not for a while, by the
clock of the database. A question of it that is still open is then forfeited. If it lives after all, because it was
stopped or cut off from the store, its answer is withheld and stays charged: nobody is ever charged twice.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from itertools import count
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import Connection

from unlisted.errors import LedgerError
from unlisted.ledger.schema import processes
from unlisted.ledger.store import Store

BEAT_SECONDS, LEASE_SECONDS = 10.0, 120.0
"""How often a process says that it lives, and after how long a silence it counts as gone."""

_FORGOTTEN_SECONDS = 7 * 86_400.0
_FORMAT = "2"
_NUMBERS = count()
_GIVEN_UP: set[str] = set()

_OLD_LEASE = timedelta(days=1)
"""After so long a process counted as gone that said where it runs by its machine's name, as version 0.1 did."""


def give_up(owner: str) -> None:
    """Remember that this process will not settle a reservation, where the ledger cannot be told."""
    _GIVEN_UP.add(owner)


def is_gone(connection: Connection, owner: str) -> bool:
    """Return whether the process that holds a reservation cannot settle it any more."""
    if owner in _GIVEN_UP:
        return True
    told = _Owner.read(owner)
    if told is None:
        return _is_gone_by_name(owner)
    if told.place == place():
        return _started(told.process) != told.started
    return _silence(connection, told) > LEASE_SECONDS


def is_elsewhere(owner: str) -> bool:
    """Return whether a reservation is held in another place, so that nobody here can see how it is doing."""
    told = _Owner.read(owner)
    return owner.partition("|")[0] != socket.gethostname() if told is None else told.place != place()


def described(connection: Connection, owner: str) -> str:
    """Say who holds a reservation, for its owner to decide."""
    told = _Owner.read(owner)
    if told is None:
        host, process = owner.split("|")[:2]
        return f"process {process} of the machine {host}"
    if told.place == place():
        return f"process {told.process} here"
    return f"process {told.process} elsewhere, silent for {max(0, _silence(connection, told)):.0f} s"


class Running:
    """The reservations that this process works on right now, and its heartbeat while there are any.

    None is in here that is not open: it is put in after its entry was kept, and taken out before its end is.
    Should the heartbeat be late, others may have forfeited any of them, and none counts. A forked child works on
    none, and is a process of its own.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._identity = secrets.token_hex(16)
        self._held: dict[tuple[str, int], str] = {}
        self._beaten = float("-inf")
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._idle = threading.Event()

    def owner(self) -> str:
        """Return a name for a new reservation of this process, which is a sign of life itself."""
        if self._process != os.getpid():
            self._start()
        told = _Owner(place(), self._process, _started(self._process), self._identity, time.time())
        return f"{told}|{next(_NUMBERS)}"

    def begin(self, dataset: str, number: int, account: str) -> None:
        """Say that this process answers a question from now on."""
        with self._lock:
            if not self._held:
                self._beaten = time.monotonic()
            self._held[dataset, number] = account
            if self._thread is None or not self._thread.is_alive():
                self._idle.clear()
                self._thread = threading.Thread(target=self._beat_on, name="unlisted-heartbeat", daemon=True)
                self._thread.start()

    def end(self, dataset: str, number: int) -> None:
        """Say that it does not any more."""
        self._held.pop((dataset, number), None)

    def close(self) -> None:
        """Let the heartbeat end."""
        self._idle.set()

    def count(self, dataset: str, account: str | None = None) -> int:
        """Return how many questions about a data set it answers, or of one account."""
        if self._process != os.getpid() or time.monotonic() - self._beaten > LEASE_SECONDS / 2:
            return 0
        held = list(self._held.items())
        return sum(whose == dataset and account in (None, name) for (whose, _), name in held)

    def _beat_on(self) -> None:
        while not self._idle.wait(BEAT_SECONDS):
            with self._lock:
                if not self._held:
                    # Whoever begins next starts another.
                    self._thread = None
                    return
            # A store that is away for a moment is asked again.
            with contextlib.suppress(LedgerError):
                self._beat()

    def _beat(self) -> None:
        # As of before it is written: others may not have heard of a later one.
        now = time.monotonic()
        with self._store.writing() as connection:
            clock = _clock(connection)
            own = processes.c.id == self._identity
            if connection.execute(processes.update().where(own).values(beat=clock)).rowcount == 0:
                connection.execute(processes.delete().where(processes.c.beat < clock - _FORGOTTEN_SECONDS))
                connection.execute(processes.insert().values(id=self._identity, beat=clock))
        self._beaten = now


@dataclass(frozen=True)
class _Owner:
    """A process as a reservation names it."""

    place: str
    process: int
    started: str
    identity: str
    since: float

    def __str__(self) -> str:
        return f"{_FORMAT}|{self.place}|{self.process}|{self.started}|{self.identity}|{self.since:.3f}"

    @staticmethod
    def read(owner: str) -> _Owner | None:
        """Read a name; None for one of version 0.1."""
        form, *rest = owner.split("|")
        if form != _FORMAT or len(rest) != 6:
            return None
        where, process, started, identity, since, _ = rest
        return _Owner(where, int(process), started, identity, float(since))


@cache
def place() -> str:
    """Return where this process runs: a boot of a machine, and a space of process numbers in it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        # Not Linux, so there are no containers with process numbers of their own.
        return socket.gethostname()


def _silence(connection: Connection, told: _Owner) -> float:
    """Return for how many seconds nothing was heard of a process: no reservation and no heartbeat."""
    beat = connection.execute(sa.select(processes.c.beat).where(processes.c.id == told.identity)).scalar()
    return _clock(connection) - max(told.since, 0.0 if beat is None else float(beat))


def _clock(connection: Connection) -> float:
    """Return the seconds that the store's clock shows; SQLite has its machine's."""
    if connection.dialect.name == "sqlite":
        return time.time()
    return float(connection.execute(sa.text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())


def _is_gone_by_name(owner: str) -> bool:
    """Return the same of a reservation that version 0.1 made."""
    host, process, started, since = owner.split("|")[:4]
    if datetime.now(UTC) - datetime.fromisoformat(since) > _OLD_LEASE:
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
    if os.name == "nt":
        # There, signal 0 is a Ctrl-C. Nobody can tell without asking the process, so its reservation stays spent.
        return "running"
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        return "running"
    return "running"
