"""How many requests a key may make: a bucket of tokens that fills at a steady rate, in the memory of a process."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from unlisted.errors import AccessError

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
