"""What one caller may do how often: a token bucket for each key, and waits that double after wrong keys.

All servers of a ledger share both, through its database. Of a bucket a server takes about a second's worth of
tokens at a time, so that most requests need not ask for one; no more are ever given out than the bucket holds.

Wrong keys are counted for an address together with the id of the key it tried, so that one wrong program behind a
shared address does not shut out the others there; and, with more patience, for the address alone, so that trying
many ids does not help. Only wrong keys wait: nobody guesses 256 bits, so a right one is no guess, and must not be
shut out by others at its address. This keeps the attempts visible.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from threading import Lock

import sqlalchemy as sa

from unlisted.errors import AccessError
from unlisted.ledger.store import Store
from unlisted.server.auth import key_id
from unlisted.server.shared_state import buckets, locked, lockouts, put

Clock = Callable[[], float]

PATIENCE_WITH_A_KEY, PATIENCE_WITH_AN_ADDRESS = 5, 50
LONGEST_WAIT = 900.0
"""Seconds. Whoever kept still for as long starts anew."""

_MOST_REMEMBERED = 10_000
_TAKEN_FOR = 10.0
"""Seconds for which a server keeps tokens that it took and did not need."""


class RateLimit:
    """So many requests a minute for each key, and no more than ten seconds' worth, or ten, at once."""

    def __init__(self, per_minute: int, store: Store, clock: Clock = time.time) -> None:
        self._per_second = per_minute / 60
        self._most = max(10.0, per_minute / 6)
        self._at_a_time = max(1, int(self._per_second))
        self._store = store
        self._clock = clock
        self._taken: dict[str, tuple[int, float]] = {}
        self._lock = Lock()

    def take(self, key: str) -> bool:
        """Use a token that was taken before; False if there is none. Never waits."""
        tokens, until = self._taken.get(key, (0, 0.0))
        if tokens < 1 or self._clock() >= until:
            return False
        self._taken[key] = (tokens - 1, until)
        return True

    def wait_for(self, key: str) -> None:
        """Use a token, from the bucket that all servers share, or refuse and say how long to wait."""
        with self._lock:
            if self.take(key):
                return
            now = self._clock()
            taken = self._from_bucket(key, now)
            if len(self._taken) >= _MOST_REMEMBERED:
                self._taken.clear()
            self._taken[key] = (taken - 1, now + _TAKEN_FOR)

    def _from_bucket(self, key: str, now: float) -> int:
        with self._store.writing() as connection:
            row = locked(connection, buckets, key)
            tokens, since = (self._most, now) if row is None else (row.tokens, row.since)
            # Clocks of several machines differ a little.
            tokens = min(self._most, tokens + max(0.0, now - since) * self._per_second)
            if tokens < 1:
                wait = math.ceil((1 - tokens) / self._per_second)
                raise AccessError(429, f"Too many requests with this key. Wait {wait} s.", retry_after=wait)
            taken = min(self._at_a_time, int(tokens))
            put(connection, buckets, {"key": key, "tokens": tokens - taken, "since": max(now, since)})
        return taken


class Lockout:
    """Failed attempts with wrong keys."""

    def __init__(self, store: Store, clock: Clock = time.time) -> None:
        self._store = store
        self._clock = clock

    def check(self, address: str, key: str) -> None:
        """Refuse a wrong key from whoever has to wait."""
        whose = lockouts.c.who.in_(_names(address, key))
        with self._store.reading() as connection:
            until = connection.execute(sa.select(sa.func.max(lockouts.c.until)).where(whose)).scalar()
        now = self._clock()
        if until is not None and now < until:
            wait = int(until - now) + 1
            raise AccessError(429, f"Too many wrong keys. Wait {wait} s before the next.", retry_after=wait)

    def failed(self, address: str, key: str) -> None:
        """Remember a wrong key."""
        now = self._clock()
        patience = (PATIENCE_WITH_AN_ADDRESS, PATIENCE_WITH_A_KEY)
        with self._store.writing() as connection:
            # Whoever kept still for long is forgotten.
            connection.execute(lockouts.delete().where(lockouts.c.until < now - LONGEST_WAIT))
            for who, most in zip(_names(address, key), patience, strict=True):
                row = locked(connection, lockouts, who)
                count = 1 if row is None else row.count + 1
                wait = min(LONGEST_WAIT, 2.0 ** min(count - most, 20)) if count >= most else 0.0
                put(connection, lockouts, {"who": who, "count": count, "until": now + wait})

    def passed(self, address: str, key: str) -> None:
        """Forget the failures of a key that was right in the end."""
        own = lockouts.c.who == _names(address, key)[1]
        with self._store.reading() as connection:
            is_known = connection.execute(sa.select(lockouts.c.who).where(own)).one_or_none() is not None
        if is_known:
            with self._store.writing() as connection:
                connection.execute(lockouts.delete().where(own))


def _names(address: str, key: str) -> tuple[str, str]:
    """Name an address, and an address with a key."""
    return address, f"{address} {key_id(key)}"
