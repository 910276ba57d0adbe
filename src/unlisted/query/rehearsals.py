"""Which questions this process has rehearsed: a rehearsal that went well need not be done again.

A rehearsal is a question answered from no rows before anything is charged for it. It ends the same way as long as
question, schema and installed packages stay the same, and a process keeps its packages. Where nobody can tell
whether the schema did, in a database say, there is no name, and every question is rehearsed.
"""

from __future__ import annotations

from collections.abc import Hashable
from threading import Lock

MOST_REMEMBERED = 4096


class Rehearsed:
    """Names of what went well, the oldest of which are forgotten when there are too many."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._most = most
        self._names: dict[Hashable, None] = {}
        self._lock = Lock()

    def __contains__(self, name: Hashable) -> bool:
        return name in self._names

    def add(self, name: Hashable) -> None:
        """Remember a rehearsal that went well."""
        with self._lock:
            self._names[name] = None
            while len(self._names) > self._most:
                del self._names[next(iter(self._names))]


REHEARSED = Rehearsed()
"""What this process has rehearsed."""
