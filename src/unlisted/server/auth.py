"""API keys: who may ask, in which role, about which data sets, and which account pays.

A key is `ul_<id>_<secret>`. The id is a name and no secret; the secret has 256 bits of the operating system's
randomness and is shown once. The store keeps its SHA-256: nobody guesses 256 bits, so no slow hash is needed, and
whoever reads the store cannot use what is there.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args

import sqlalchemy as sa

from unlisted.errors import InvalidArgumentError, LedgerError
from unlisted.ledger import rows
from unlisted.ledger.entries import KeyKind
from unlisted.ledger.key_chain import append
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
    expires: str | None = None
    last_used: str | None = None

    @property
    def is_expired(self) -> bool:
        """Whether its time is over."""
        return self.expires is not None and self.expires <= _now()

    @property
    def is_live(self) -> bool:
        """Whether it is accepted."""
        return self.revoked is None and not self.is_expired


class KeyRing:
    """The keys of one ledger. What happens to them is chained, with whoever did it: `by`, another key."""

    def __init__(self, ledger: Ledger, by: str | None = None) -> None:
        self._ledger = ledger
        self._by = by

    def on_behalf_of(self, who: str) -> KeyRing:
        """Return the same keys, whose entries then say who acts."""
        return KeyRing(self._ledger, who)

    def create(
        self,
        name: str,
        role: str = "analyst",
        granted: Mapping[str, str] | None = None,
        *,
        days: int | None = None,
    ) -> str:
        """Make a key and return it, for the only time. `granted` maps data sets to accounts."""
        if not isinstance(name, str) or not name.strip() or len(name) > 200 or not name.isprintable():
            raise InvalidArgumentError("name", name, "a name of 1 to 200 printable characters")
        if role not in get_args(Role):
            raise InvalidArgumentError("role", role, "analyst or admin")
        key, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        values = {"name": name, "role": role, "secret_sha256": _hashed(secret), "created": _now()}
        values |= {} if days is None else {"expires": _in_days(days)}
        with self._changing() as connection:
            connection.execute(keys.insert().values(id=key, **values))
            self._say(connection, "made", key, values)
            for dataset, account in (granted or {}).items():
                _write_grant(connection, key, dataset, account)
                self._say(connection, "granted", key, {"dataset": dataset, "account": account})
        return f"ul_{key}_{secret}"

    def rotate(self, key: str, *, days: int | None = None) -> str:
        """Give a key another secret and return it, for the only time. Its id, role and grants stay."""
        secret = secrets.token_urlsafe(32)
        with self._changing() as connection:
            row = _known(connection, key)
            if row.revoked is not None:
                raise InvalidArgumentError("key", key, "a key that is in use", "It was revoked. Make a new one.")
            changed = {"secret_sha256": _hashed(secret), "expires": _renewed(row, days)}
            connection.execute(keys.update().where(keys.c.id == key).values(**changed))
            self._say(connection, "rotated", key, changed)
        return f"ul_{key}_{secret}"

    def find(self, text: str) -> Caller | None:
        """Return who a key belongs to; None for a key that is unknown, wrong, revoked or over."""
        form = _FORM.fullmatch(text)
        key, secret = form.groups() if form else ("", "")
        with self._ledger.store.reading() as connection:
            row = connection.execute(sa.select(keys).where(keys.c.id == key)).one_or_none()
            held = _NOBODY if row is None or row.revoked is not None else row.secret_sha256
            if (
                not hmac.compare_digest(_hashed(secret), held)
                or row is None
                or _record(connection, row).is_expired
            ):
                return None
            caller = _caller(connection, row)
        self._used(row)
        return caller

    def all(self) -> list[KeyRecord]:
        """Return every key there was, by the time it was made."""
        with self._ledger.store.reading() as connection:
            rows = connection.execute(sa.select(keys).order_by(keys.c.created, keys.c.id)).all()
            return [_record(connection, row) for row in rows]

    def revoke(self, key: str) -> None:
        """End a key, for ever. What it asked stays paid and stored."""
        with self._changing() as connection:
            row = _known(connection, key)
            if row.revoked is not None:
                raise InvalidArgumentError("key", key, "in use", "It was revoked before.")
            changed = {"revoked": _now()}
            connection.execute(keys.update().where(keys.c.id == key).values(**changed))
            self._say(connection, "revoked", key, changed)

    def grant(self, key: str, dataset: str, account: str) -> None:
        """Let a key ask about a data set, paid by an account; a grant it had there before is replaced."""
        with self._changing() as connection:
            _known(connection, key)
            _delete_grant(connection, key, dataset)
            _write_grant(connection, key, dataset, account)
            self._say(connection, "granted", key, {"dataset": dataset, "account": account})

    def withdraw(self, key: str, dataset: str) -> None:
        """Let a key not ask about a data set any more."""
        with self._changing() as connection:
            _known(connection, key)
            if not _delete_grant(connection, key, dataset):
                raise InvalidArgumentError("dataset", dataset, "one that the key has a grant for")
            self._say(connection, "withdrawn", key, {"dataset": dataset})

    def _changing(self) -> AbstractContextManager[sa.Connection]:
        """Open the only transaction that changes keys at this moment."""
        return self._ledger.store.writing(creates=True)

    def _say(self, connection: sa.Connection, kind: KeyKind, key: str, body: dict[str, Any]) -> None:
        by = {} if self._by is None else {"by": self._by}
        append(connection, kind, key, _now(), {**body, **by})

    def _used(self, row: Any) -> None:
        """Remember when a key was last used, to the hour; that is not worth more than a write an hour."""
        hour = _now()[:_HOUR]
        if (row.last_used or "")[:_HOUR] >= hour:
            return
        # To be used, a key needs no store that can be written to.
        with contextlib.suppress(LedgerError), self._ledger.store.writing() as connection:
            connection.execute(keys.update().where(keys.c.id == row.id).values(last_used=f"{hour}:00:00+00:00"))


def key_id(text: str) -> str:
    """Return the name of a key, which is no secret; empty if it has not the form of one."""
    form = _FORM.fullmatch(text)
    return form.group(1) if form else ""


_HOUR = len("2026-11-18T04")
_MOST_DAYS = 36_500


def _in_days(days: int) -> str:
    if not isinstance(days, int) or isinstance(days, bool) or not 1 <= days <= _MOST_DAYS:
        raise InvalidArgumentError("days", days, f"a whole number from 1 to {_MOST_DAYS:,}")
    return (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds")


def _renewed(row: Any, days: int | None) -> str | None:
    """Return until when a rotated key lives: as said, else as long again as it was to live from the start."""
    if days is not None or row.expires is None:
        return None if days is None else _in_days(days)
    span = datetime.fromisoformat(row.expires) - datetime.fromisoformat(row.created)
    return _in_days(max(1, span.days))


def _record(connection: sa.Connection, row: Any) -> KeyRecord:
    return KeyRecord(_caller(connection, row), row.created, row.revoked, row.expires, row.last_used)


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
