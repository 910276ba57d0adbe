"""What one caller may do how often: a token bucket for each key, and waits that double after wrong keys.

Wrong keys are counted for an address together with the id of the key it tried, so that one wrong program behind a
shared address does not shut out the others there; and, with more patience, for the address alone, so that trying
many ids does not help. Only wrong keys wait: nobody guesses 256 bits, so a right one is no guess, and must not be
shut out by others at its address. This keeps the attempts visible.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from unlisted.errors import AccessError
from unlisted.server.auth import key_id

_MOST_REMEMBERED = 10_000


class RateLimit:
    """So many requests a minute for each key, and no more than ten seconds' worth, or ten, at once."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_minute / 60
        self._most = max(10.0, per_minute / 6)
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, key: str) -> None:
        """Take a token, or refuse and say how long to wait. Called by one thread: the event loop's."""
        now = self._clock()
        tokens, since = self._buckets.get(key, (self._most, now))
        tokens = min(self._most, tokens + (now - since) * self._per_second)
        if tokens < 1:
            wait = math.ceil((1 - tokens) / self._per_second)
            raise AccessError(429, f"Too many requests with this key. Wait {wait} s.", retry_after=wait)
        if len(self._buckets) >= _MOST_REMEMBERED:
            self._buckets.clear()
        self._buckets[key] = (tokens - 1, now)


PATIENCE_WITH_A_KEY, PATIENCE_WITH_AN_ADDRESS = 5, 50
LONGEST_WAIT = 900.0
"""Seconds. Whoever kept still for as long starts anew."""


@dataclass
class _Failures:
    count: int = 0
    until: float = 0.0


class Lockout:
    """Failed attempts, in the memory of this process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: dict[tuple[str, ...], _Failures] = {}
        self._lock = Lock()

    def check(self, address: str, key: str) -> None:
        """Refuse a wrong key from whoever has to wait."""
        now = self._clock()
        for who in ((address,), (address, key_id(key))):
            failures = self._failures.get(who)
            if failures is not None and now < failures.until:
                wait = int(failures.until - now) + 1
                raise AccessError(429, f"Too many wrong keys. Wait {wait} s before the next.", retry_after=wait)

    def failed(self, address: str, key: str) -> None:
        """Remember a wrong key."""
        self._count((address,), PATIENCE_WITH_AN_ADDRESS)
        self._count((address, key_id(key)), PATIENCE_WITH_A_KEY)

    def passed(self, address: str, key: str) -> None:
        """Forget the failures of a key that was right in the end."""
        with self._lock:
            self._failures.pop((address, key_id(key)), None)

    def _count(self, who: tuple[str, ...], patience: int) -> None:
        now = self._clock()
        with self._lock:
            if len(self._failures) >= _MOST_REMEMBERED:
                # Whoever comes from ten thousand addresses at once is not stopped by counting them.
                waiting = {one: old for one, old in self._failures.items() if now < old.until}
                self._failures = waiting if len(waiting) < _MOST_REMEMBERED else {}
            failures = self._failures.setdefault(who, _Failures())
            if failures.count >= patience and now > failures.until + LONGEST_WAIT:
                failures.count = 0
            failures.count += 1
            if failures.count >= patience:
                failures.until = now + min(LONGEST_WAIT, 2.0 ** min(failures.count - patience, 20))
