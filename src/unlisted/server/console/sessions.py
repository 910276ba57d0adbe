"""Who is signed in: a cookie that holds the visitor's key, sealed so that only the service can open it.

Nothing is stored. Each request opens the cookie and shows the key at the desk like any other caller, so a revoked
key is refused here too, and whoever steals the service's secret alone can forge nobody. A service of several
processes shares its sessions by sharing its secret.

Forms carry a token that is a function of the cookie, so that no other site can send one in a visitor's name.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

from cryptography.fernet import Fernet, InvalidToken

LONGEST = 12 * 60 * 60
"""Seconds after which a visitor signs in again: a working day."""


class Sessions:
    """Writes and reads cookies. Without a secret one is made up, and a restart ends all sessions."""

    def __init__(self, secret: str | None = None) -> None:
        told = secrets.token_bytes(32) if secret is None else secret.encode()
        self._seal = Fernet(base64.urlsafe_b64encode(_derived(b"cookies", told)))
        self._form_key = _derived(b"forms", told)

    def begin(self, key: str) -> str:
        """Return a cookie for whoever showed a key; for nobody yet, an empty one: the form to sign in needs it."""
        return self._seal.encrypt(key.encode()).decode()

    def key(self, cookie: str) -> str | None:
        """Return the key that a cookie holds, empty for nobody's; None if it is not ours or too old."""
        try:
            return self._seal.decrypt(cookie.encode(), ttl=LONGEST).decode()
        except InvalidToken:
            return None

    def token(self, cookie: str) -> str:
        """Return what a form that is sent with this cookie must carry."""
        return hmac.new(self._form_key, cookie.encode(), hashlib.sha256).hexdigest()

    def is_token(self, cookie: str, token: str) -> bool:
        """Return whether a form was made here, for this cookie."""
        return hmac.compare_digest(self.token(cookie).encode(), token.encode())


def _derived(purpose: bytes, told: bytes) -> bytes:
    return hashlib.sha256(b"unlisted console, " + purpose + b"\0" + told).digest()
