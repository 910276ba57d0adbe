"""Who is signed in: a cookie that holds the visitor's key, sealed so that only the service can open it.

Nothing is stored of who is signed in. Each request opens the cookie and shows the key as any other caller does, so
a revoked key is refused here too, and whoever steals the service's secret alone can forge nobody. A service of
several processes shares its sessions by sharing its secret.

Signing out ends the session for every copy of its cookie: its number is remembered until the cookie would have
ended by itself. The process that was told remembers it; in others a copy lives on until then.

Forms carry a token that is a function of the cookie, so that no other site can send one in a visitor's name.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from threading import Lock

from cryptography.fernet import Fernet, InvalidToken

LONGEST = 12 * 60 * 60
"""Seconds after which a visitor signs in again: a working day."""

_MOST_REMEMBERED = 100_000


class Sessions:
    """Writes and reads cookies. Without a secret one is made up, and a restart ends all sessions."""

    def __init__(self, secret: str | None = None, most_remembered: int = _MOST_REMEMBERED) -> None:
        told = secrets.token_bytes(32) if secret is None else secret.encode()
        self._seal = Fernet(base64.urlsafe_b64encode(_derived(b"cookies", told)))
        self._form_key = _derived(b"forms", told)
        self._most = most_remembered
        self._ended: dict[str, float] = {}
        self._all_ended_before = 0.0
        self._lock = Lock()

    def begin(self, key: str) -> str:
        """Return a cookie for whoever showed a key; for nobody yet, an empty one: the form to sign in needs it."""
        # The number is sealed in, for the same cookie can be written in many ways.
        return self._seal.encrypt(f"{secrets.token_hex(16)} {key}".encode()).decode()

    def key(self, cookie: str) -> str | None:
        """Return the key that a cookie holds, empty for nobody's; None if it is not ours or has ended."""
        opened = self._opened(cookie)
        if opened is None:
            return None
        number, key = opened
        has_ended = number in self._ended or self._began(cookie) < self._all_ended_before
        return None if has_ended else key

    def end(self, cookie: str) -> None:
        """End a visitor's session: neither its cookie nor a copy of it counts from now on."""
        opened, now = self._opened(cookie), time.time()
        if opened is None or not opened[1]:
            return
        with self._lock:
            self._ended[opened[0]] = now
            self._forget(now)

    def token(self, cookie: str) -> str:
        """Return what a form that is sent with this cookie must carry."""
        return hmac.new(self._form_key, cookie.encode(), hashlib.sha256).hexdigest()

    def is_token(self, cookie: str, token: str) -> bool:
        """Return whether a form was made here, for this cookie."""
        return hmac.compare_digest(self.token(cookie).encode(), token.encode())

    def _forget(self, now: float) -> None:
        """Forget the sessions that would have ended by now, and the oldest ones if there are too many."""
        while self._ended:
            number, ended = next(iter(self._ended.items()))  # they stand in the order in which they ended
            would_live = ended > now - LONGEST
            if would_live and len(self._ended) <= self._most:
                return
            del self._ended[number]
            if would_live:
                # It must not come back: whoever signed in before it ended has to do so again.
                self._all_ended_before = ended

    def _opened(self, cookie: str) -> tuple[str, str] | None:
        """Return the session's number and its key."""
        try:
            number, _, key = self._seal.decrypt(cookie.encode(), ttl=LONGEST).decode().partition(" ")
        except InvalidToken:
            return None
        return number, key

    def _began(self, cookie: str) -> int:
        return self._seal.extract_timestamp(cookie.encode())


def _derived(purpose: bytes, told: bytes) -> bytes:
    return hashlib.sha256(b"unlisted console, " + purpose + b"\0" + told).digest()
