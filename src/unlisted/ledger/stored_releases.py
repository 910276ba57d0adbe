"""The releases that a ledger keeps: a question that was answered before, and all of them to be looked at again.

Neither costs anything more. An account can also pay for a stream; its settings then stand where a release would,
and are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from unlisted.errors import ChargedFailureError, InvalidArgumentError, LedgerError
from unlisted.ledger import rows
from unlisted.ledger.leases import forfeit, is_gone
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.schema import entries, questions
from unlisted.ledger.transaction import Change
from unlisted.query.charging import Bill, Paid
from unlisted.release.serialize import RELEASE_FORMAT

_MINE = sa.select(questions).where(questions.c.account == sa.bindparam("account"))
_BY_KEY = _MINE.where(questions.c.idempotency_key == sa.bindparam("key"))
_SAME = _MINE.where(
    questions.c.question == sa.bindparam("question"), questions.c.version == sa.bindparam("version")
)


def is_stored(connection: Connection, account: str, version: str | None, bill: Bill, key: str | None) -> bool:
    """Return whether the answer to a question is there, by its key or as the same question on the same version."""
    asked = {"question": bill.question, "version": version, "key": key, "account": account}
    found = [
        *(connection.execute(_BY_KEY, asked).all() if key is not None else ()),
        *(connection.execute(_SAME, asked).all() if version is not None else ()),
    ]
    return any(row.state == "settled" for row in found)


def answered_before(change: Change, account: str, bill: Bill, key: str | None) -> Paid | None:
    """Find the answer to a retried or repeated question; refuse one that is being answered right now."""
    if key is not None:
        found = change.connection.execute(_BY_KEY, {"account": account, "key": key}).one_or_none()
        if found is not None:
            return _retried(change.connection, found, bill)
    version = change.state.dataset.version
    if version is None:
        return None
    same = {"account": account, "question": bill.question, "version": version}
    for row in change.connection.execute(_SAME, same).all():
        if row.state == "settled":
            return _paid(change.connection, row)
        if row.state == "open" and not is_gone(row.owner):
            raise LedgerError("The same question is being answered right now. Ask again; nothing was charged.")
        if row.state == "open":
            # Whoever held it can now not settle any more: one question never gets two answers.
            forfeit(change, row.reservation)
    return None


def _retried(connection: Connection, row: Any, bill: Bill) -> Paid:
    if row.question != bill.question:
        raise InvalidArgumentError("idempotency_key", row.idempotency_key, "used for one question only")
    if row.state == "settled":
        return _paid(connection, row)
    if row.state == "open" and not is_gone(row.owner):
        raise LedgerError("The question is being answered right now. Ask again; nothing more was charged.")
    raise ChargedFailureError


def _paid(connection: Connection, row: Any) -> Paid:
    digest = rows.read_hash(connection, row.dataset, row.entry)
    return Paid(row.release, row.dataset, row.account, row.entry, digest or "")


@dataclass(frozen=True)
class StoredRelease:
    """A release as it was stored: what was paid, when, and what it cost in the end, as plain decimals."""

    paid: Paid
    time: str
    rho: str
    delta: str


def stored_releases(
    ledger: Ledger, dataset: str, accounts: Sequence[str] | None, *, before: int | None = None, most: int = 50
) -> list[StoredRelease]:
    """Return the newest releases of a data set: of some accounts, or of all; before an entry, if it is named."""
    query = _settled(dataset).order_by(questions.c.entry.desc()).limit(most)
    if accounts is not None:
        query = query.where(questions.c.account.in_(accounts))
    if before is not None:
        query = query.where(questions.c.entry < before)
    with ledger.store.reading() as connection:
        return [_read(row) for row in connection.execute(query)]


def stored_release(ledger: Ledger, dataset: str, entry: int) -> StoredRelease | None:
    """Return the release that an entry settled."""
    with ledger.store.reading() as connection:
        row = connection.execute(_settled(dataset).where(questions.c.entry == entry)).one_or_none()
    return None if row is None else _read(row)


def _settled(dataset: str) -> sa.Select[tuple[object, ...]]:
    """Select the releases that were settled, with the entry that says what each cost."""
    same = sa.and_(entries.c.dataset == questions.c.dataset, entries.c.number == questions.c.entry)
    columns = (questions.c.release, questions.c.account, questions.c.entry)
    settled = (entries.c.dataset, entries.c.hash, entries.c.time, entries.c.rho, entries.c.delta)
    joined = sa.select(*columns, *settled).join_from(questions, entries, same)
    # Asked of the database, so that a page of so many releases is full while there are more.
    is_release = sa.func.substr(questions.c.release, 1, len(RELEASE_FORMAT)) == RELEASE_FORMAT
    return joined.where(questions.c.dataset == dataset, questions.c.state == "settled", is_release)


def _read(row: sa.Row[tuple[object, ...]]) -> StoredRelease:
    paid = Paid(row.release, row.dataset, row.account, row.entry, row.hash)
    return StoredRelease(paid, row.time, row.rho, row.delta)
