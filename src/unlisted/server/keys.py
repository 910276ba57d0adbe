"""API keys: who may ask, in which role, about which data sets, and which account pays.

A key is `ul_<id>_<secret>`. The id is a name and no secret; the secret has 256 bits of the operating system's
randomness and is shown once. The store keeps its SHA-256: nobody guesses 256 bits, so no slow hash is needed, and
whoever reads the store cannot use what is there.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, get_args

import sqlalchemy as sa

from unlisted.errors import InvalidArgumentError
from unlisted.ledger import rows
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.schema import grants, keys

Role = Literal["analyst", "admin"]

_FORM = re.compile(r"ul_([0-9a-f]{12})_([A-Za-z0-9_-]{43})", re.ASCII)
_NOBODY = "0" * 64
"""The hash that an unknown key is compared with, so that it takes as long as a known one."""


@dataclass(frozen=True)
class Caller:
    """Someone whose key was accepted. `grants` maps a data set to the account that pays for questions about it."""

    key: str
    name: str
    role: Role
    grants: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_admin(self) -> bool:
        """Whether the caller may see all accounts, and make keys."""
        return self.role == "admin"


@dataclass(frozen=True)
class KeyRecord:
    """What is known of a key: everything but its secret."""

    caller: Caller
    created: str
    revoked: str | None = None


class KeyRing:
    """The keys of one ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def create(self, name: str, role: str = "analyst", granted: Mapping[str, str] | None = None) -> str:
        """Make a key and return it, for the only time. `granted` maps data sets to accounts."""
        if not isinstance(name, str) or not name.strip() or len(name) > 200 or not name.isprintable():
            raise InvalidArgumentError("name", name, "a name of 1 to 200 printable characters")
        if role not in get_args(Role):
            raise InvalidArgumentError("role", role, "analyst or admin")
        key, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        with self._ledger.store.writing() as connection:
            values = {"name": name, "role": role, "secret_sha256": _hashed(secret), "created": _now()}
            connection.execute(keys.insert().values(id=key, **values))
            for dataset, account in (granted or {}).items():
                _write_grant(connection, key, dataset, account)
        return f"ul_{key}_{secret}"

    def find(self, text: str) -> Caller | None:
        """Return who a key belongs to; None for a key that is unknown, wrong or revoked."""
        form = _FORM.fullmatch(text)
        key, secret = form.groups() if form else ("", "")
        with self._ledger.store.reading() as connection:
            row = connection.execute(sa.select(keys).where(keys.c.id == key)).one_or_none()
            held = _NOBODY if row is None or row.revoked is not None else row.secret_sha256
            if not hmac.compare_digest(_hashed(secret), held) or row is None:
                return None
            return _caller(connection, row)

    def all(self) -> list[KeyRecord]:
        """Return every key there was, by the time it was made."""
        with self._ledger.store.reading() as connection:
            rows = connection.execute(sa.select(keys).order_by(keys.c.created, keys.c.id)).all()
            return [KeyRecord(_caller(connection, row), row.created, row.revoked) for row in rows]

    def revoke(self, key: str) -> None:
        """End a key, for ever. What it asked stays paid and stored."""
        with self._ledger.store.writing() as connection:
            row = _known(connection, key)
            if row.revoked is not None:
                raise InvalidArgumentError("key", key, "in use", "It was revoked before.")
            connection.execute(keys.update().where(keys.c.id == key).values(revoked=_now()))

    def grant(self, key: str, dataset: str, account: str) -> None:
        """Let a key ask about a data set, paid by an account; a grant it had there before is replaced."""
        with self._ledger.store.writing() as connection:
            _known(connection, key)
            _delete_grant(connection, key, dataset)
            _write_grant(connection, key, dataset, account)

    def withdraw(self, key: str, dataset: str) -> None:
        """Let a key not ask about a data set any more."""
        with self._ledger.store.writing() as connection:
            _known(connection, key)
            if not _delete_grant(connection, key, dataset):
                raise InvalidArgumentError("dataset", dataset, "one that the key has a grant for")


def key_id(text: str) -> str:
    """Return the name of a key, which is no secret; empty if it has not the form of one."""
    form = _FORM.fullmatch(text)
    return form.group(1) if form else ""


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _caller(connection: sa.Connection, row: Any) -> Caller:
    found = connection.execute(sa.select(grants).where(grants.c.key == row.id).order_by(grants.c.dataset))
    return Caller(row.id, row.name, row.role, {grant.dataset: grant.account for grant in found})


def _known(connection: sa.Connection, key: str) -> Any:
    row = connection.execute(sa.select(keys).where(keys.c.id == key)).one_or_none()
    if row is None:
        raise InvalidArgumentError("key", key, "the id of a key", "`unlisted key list` shows them.")
    return row


def _write_grant(connection: sa.Connection, key: str, dataset: str, account: str) -> None:
    """Write a grant; the account must be one of that data set."""
    found = rows.read_account(connection, account)
    if found is None or found[0] != dataset:
        hint = f"Open one first: unlisted account create NAME --dataset {dataset} …"
        raise InvalidArgumentError("account", account, f"an account on the data set {dataset!r}", hint)
    connection.execute(grants.insert().values(key=key, dataset=dataset, account=account))


def _delete_grant(connection: sa.Connection, key: str, dataset: str) -> bool:
    held = sa.and_(grants.c.key == key, grants.c.dataset == dataset)
    return connection.execute(grants.delete().where(held)).rowcount > 0
