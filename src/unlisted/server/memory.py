"""What a process remembers so that it need not ask again: so much and no more, and not long if it may change."""

from __future__ import annotations

import time
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Memory(Generic[Key, Value]):
    """Values by key. When there are too many, all are forgotten; after `seconds`, each is. Safe in threads."""

    def __init__(self, most: int, seconds: float = float("inf")) -> None:
        self._most = most
        self._seconds = seconds
        self._known: dict[Key, tuple[float, Value]] = {}
        self._lock = Lock()

    def get(self, key: Key) -> Value | None:
        """Return what is remembered, if it is. Never waits."""
        found = self._known.get(key)
        return None if found is None or time.monotonic() - found[0] >= self._seconds else found[1]

    def put(self, key: Key, value: Value) -> Value:
        """Remember a value, and return it."""
        with self._lock:
            if len(self._known) >= self._most:
                self._known.clear()
            self._known[key] = (time.monotonic(), value)
        return value

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._known.clear()
