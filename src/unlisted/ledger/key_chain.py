"""What happened to keys and grants, in a chain of its own: keys are the whole ledger's, and of no one data set."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from unlisted.errors import LedgerError
from unlisted.ledger.entries import FIRST, KeyEntry, KeyKind, canonical
from unlisted.ledger.schema import grants, key_entries, keys


@dataclass(frozen=True)
class _Key:
    """A key as its entries say it is."""

    name: str
    role: str
    secret_sha256: str
    created: str
    revoked: str | None = None
    expires: str | None = None
    grants: dict[str, str] = field(default_factory=dict)


def append(connection: Connection, kind: KeyKind, key: str, time: str, body: dict[str, Any]) -> KeyEntry:
    """Add an entry at the end; the caller's transaction is the only one that does so now."""
    newest = sa.select(key_entries).order_by(key_entries.c.number.desc()).limit(1)
    last = connection.execute(newest).one_or_none()
    number, previous = (1, FIRST) if last is None else (last.number + 1, last.hash)
    # A clock that was turned back does not turn the chain.
    at = time if last is None else max(time, last.time)
    entry = KeyEntry(number, kind, at, key, body, previous)
    said = {"number": number, "kind": kind, "time": at, "key": key, "body": canonical(body)}
    connection.execute(key_entries.insert().values(**said, previous=previous, hash=entry.hash))
    return entry


def read_key_entries(connection: Connection, after: int = 0) -> Iterator[tuple[KeyEntry, str]]:
    """Read the chain in order, each entry with the hash that the store holds for it."""
    query = sa.select(key_entries).where(key_entries.c.number > after).order_by(key_entries.c.number)
    for row in connection.execute(query, execution_options={"yield_per": 1_000}):
        try:
            body = json.loads(row.body)
        except ValueError:
            raise LedgerError("The ledger holds a row that cannot be read: somebody changed it.") from None
        yield KeyEntry(row.number, row.kind, row.time, row.key, body, row.previous), row.hash


def wrong_with_keys(connection: Connection) -> list[str]:
    """Return what does not add up: a chain that is broken, or keys and grants that are not what it says."""
    try:
        said = _folded(read_key_entries(connection))
    except LedgerError as broken:
        return [f"keys: {broken}"]
    there = {row.id: _held(connection, row) for row in connection.execute(sa.select(keys)).all()}
    return [
        f"keys: what the store keeps of the key {key} is not what its entries say"
        for key in sorted(said.keys() | there.keys())
        if said.get(key) != there.get(key)
    ]


def _folded(listed: Iterable[tuple[KeyEntry, str]]) -> dict[str, _Key]:
    found: dict[str, _Key] = {}
    previous = FIRST
    for expected, (entry, stored) in enumerate(listed, start=1):
        if entry.number != expected or entry.previous != previous or entry.hash != stored:
            raise LedgerError(f"entry {expected} was changed or is missing, or one before it")
        previous = stored
        try:
            found[entry.key] = _after(found.get(entry.key), entry)
        except (LookupError, TypeError):
            raise LedgerError(f"entry {expected} does not follow from the ones before it") from None
    return found


def _after(key: _Key | None, entry: KeyEntry) -> _Key:
    body = {name: value for name, value in entry.body.items() if name != "by"}
    if entry.kind == "made":
        if key is not None:
            raise LookupError(entry.key)
        return _Key(**body)
    if key is None:
        raise LookupError(entry.key)
    if entry.kind == "granted":
        return replace(key, grants={**key.grants, body["dataset"]: body["account"]})
    if entry.kind == "withdrawn":
        return replace(key, grants={name: of for name, of in key.grants.items() if name != body["dataset"]})
    if entry.kind == "rotated":
        return replace(key, secret_sha256=body["secret_sha256"], expires=body["expires"])
    if entry.kind == "revoked":
        return replace(key, revoked=body["revoked"])
    raise LedgerError(f"an entry of an unknown kind, {entry.kind!r}; upgrade unlisted to read it")


def _held(connection: Connection, row: Any) -> _Key:
    own = connection.execute(sa.select(grants).where(grants.c.key == row.id))
    granted = {of.dataset: of.account for of in own}
    return _Key(row.name, row.role, row.secret_sha256, row.created, row.revoked, row.expires, granted)
