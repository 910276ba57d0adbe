"""What a page has to say to the next one: a form that was filled in, what became of a question, a new key.

A form is answered by sending the browser on, so that loading a page again sends nothing again. What the next page
needs does not go into its address, which proxies and browsers keep: it lies sealed in the ledger's database, for
the key it belongs to, and the address has its name. So it also outlives a session, and any server can read it.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from unlisted.ledger.store import Store
from unlisted.server.console.sessions import LONGEST, Sessions
from unlisted.server.shared_state import notes, put

_MOST_OF_ONE = 50


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
            kept = connection.execute(newest.limit(_MOST_OF_ONE)).scalars().all()
            if len(kept) == _MOST_OF_ONE:
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
