"""Who is signed in, and what one page has to say to the next: sealed, so that only the service can open it.

A cookie holds the visitor's key, and nothing is stored of who is signed in. Each request opens the cookie and
shows the key as any other caller does, so a revoked key is refused here too, and whoever steals the service's
secret alone can forge nobody. A service of several processes shares its sessions by sharing its secret.

Signing out ends the session for every copy of its cookie and on every server: its number is kept in the ledger's
database until the cookie would have ended by itself, and each server looks there once a second.

Forms carry a token that is a function of the cookie, so that no other site can send one in a visitor's name.

A form is answered by sending the browser on, so that loading a page again sends nothing again. What the next
page needs, such as a form that was filled in, what became of a question or a new key, does not go into its
address, which proxies and browsers keep: it lies sealed in the ledger's database as a note, for the key it
belongs to, and the address has its name. So it also outlives a session, and any server can read it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from cryptography.fernet import Fernet, InvalidToken

from unlisted.ledger.store import Store
from unlisted.server.cache import Cache
from unlisted.server.shared_state import ended_sessions, notes, put

LONGEST = 12 * 60 * 60
"""Seconds after which a visitor signs in again: a working day."""

_MOST_NOTES = 50
"""Of one key; what a page has not fetched by then is forgotten."""
_MOST_REMEMBERED = 10_000
_REMEMBERED_SECONDS = 1.0


class Sessions:
    """Writes and reads cookies. Without a secret one is made up, and a restart ends all sessions."""

    def __init__(self, secret: str | None, store: Store) -> None:
        told = secrets.token_bytes(32) if secret is None else secret.encode()
        self._seal = Fernet(base64.urlsafe_b64encode(_derived(b"cookies", told)))
        self._form_key = _derived(b"forms", told)
        self._store = store
        self._alive: Cache[str, bool] = Cache(_MOST_REMEMBERED, _REMEMBERED_SECONDS)

    def begin(self, key: str) -> str:
        """Return a cookie for whoever showed a key; for nobody yet, an empty one: the form to sign in needs it."""
        # The number is sealed in, for the same cookie can be written in many ways.
        return self._seal.encrypt(f"{secrets.token_hex(16)} {key}".encode()).decode()

    def remembered(self, cookie: str) -> str | None:
        """Return the key that a cookie holds, if it is known that it has not ended. Never waits."""
        opened = self._opened(cookie)
        return opened[1] if opened is not None and self._alive.get(opened[0]) else None

    def key(self, cookie: str) -> str | None:
        """Return the key that a cookie holds, empty for nobody's; None if it is not ours or has ended."""
        opened = self._opened(cookie)
        if opened is None:
            return None
        number, key = opened
        # Whoever never signed in cannot have signed out.
        return key if not key or self._is_alive(number) else None

    def end(self, cookie: str) -> None:
        """End a visitor's session: neither its cookie nor a copy of it counts from now on."""
        opened, now = self._opened(cookie), time.time()
        if opened is None or not opened[1]:
            return
        with self._store.writing() as connection:
            connection.execute(ended_sessions.delete().where(ended_sessions.c.ended < now - LONGEST))
            put(connection, ended_sessions, {"number": opened[0], "ended": now})
        self._alive.clear()

    def ended_key(self, cookie: str) -> str | None:
        """Return the key that a cookie of ours held before it ended; None if it is not ours or was nobody's."""
        try:
            _, _, key = self._seal.decrypt(cookie.encode()).decode().partition(" ")
        except InvalidToken:
            return None
        return key or None

    def sealed(self, text: str) -> str:
        """Return a text that only this service can read."""
        return self._seal.encrypt(text.encode()).decode()

    def unsealed(self, sealed: str) -> str | None:
        """Return a text that `sealed` wrote; None if another secret did."""
        try:
            return self._seal.decrypt(sealed.encode()).decode()
        except InvalidToken:
            return None

    def token(self, cookie: str) -> str:
        """Return what a form that is sent with this cookie must carry."""
        return hmac.new(self._form_key, cookie.encode(), hashlib.sha256).hexdigest()

    def is_token(self, cookie: str, token: str) -> bool:
        """Return whether a form was made here, for this cookie."""
        return hmac.compare_digest(self.token(cookie).encode(), token.encode())

    def _is_alive(self, number: str) -> bool:
        if self._alive.get(number):
            return True
        with self._store.reading() as connection:
            found = connection.execute(sa.select(ended_sessions).where(ended_sessions.c.number == number))
            is_alive = found.one_or_none() is None
        return self._alive.put(number, is_alive)

    def _opened(self, cookie: str) -> tuple[str, str] | None:
        """Return the session's number and its key."""
        try:
            number, _, key = self._seal.decrypt(cookie.encode(), ttl=LONGEST).decode().partition(" ")
        except InvalidToken:
            return None
        return number, key


def _derived(purpose: bytes, told: bytes) -> bytes:
    return hashlib.sha256(b"unlisted console, " + purpose + b"\0" + told).digest()


class Notes:
    """The notes of all visitors; each is read by its own key alone."""

    def __init__(self, store: Store, sessions: Sessions) -> None:
        self._store = store
        self._sessions = sessions

    def keep(self, owner: str, body: Mapping[str, Any], name: str | None = None) -> str:
        """Keep a note for a key, and return its name; one of the same name is replaced. Old ones are forgotten."""
        name, now = name or secrets.token_urlsafe(16), time.time()
        row = {"name": _named(owner, name), "owner": owner, "sealed": self._sessions.sealed(json.dumps(body))}
        newest = sa.select(notes.c.name).where(notes.c.owner == owner).order_by(notes.c.written.desc())
        with self._store.writing() as connection:
            connection.execute(notes.delete().where(notes.c.written < now - 2 * LONGEST))
            kept = connection.execute(newest.limit(_MOST_NOTES)).scalars().all()
            if len(kept) == _MOST_NOTES:
                connection.execute(notes.delete().where(notes.c.owner == owner, notes.c.name.not_in(kept[:-1])))
            put(connection, notes, {**row, "written": now})
        return name

    def read(self, owner: str, name: str) -> dict[str, Any] | None:
        """Return a note of a key; None if it has none of this name."""
        found = sa.select(notes.c.sealed).where(notes.c.name == _named(owner, name), notes.c.owner == owner)
        with self._store.reading() as connection:
            sealed = connection.execute(found).scalar_one_or_none()
        opened = None if sealed is None else self._sessions.unsealed(sealed)
        return None if opened is None else dict(json.loads(opened))

    def take(self, owner: str, name: str) -> dict[str, Any] | None:
        """Return a note and forget it: what it says is said once."""
        body = self.read(owner, name)
        if body is not None:
            with self._store.writing() as connection:
                connection.execute(notes.delete().where(notes.c.name == _named(owner, name)))
        return body


def _named(owner: str, name: str) -> str:
    return f"{owner} {name[:200]}"
