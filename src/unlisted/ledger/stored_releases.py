"""The releases that a ledger keeps: a question that was answered before, and all of them to be looked at again.

Neither costs anything more. An account can also pay for a stream; its settings then stand where a release would,
and are none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from unlisted.errors import ChargedFailureError, InvalidArgumentError, LedgerError
from unlisted.ledger.amounts import Amount
from unlisted.ledger.heartbeat import is_gone
from unlisted.ledger.leases import forfeit
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.schema import datasets, entries, questions
from unlisted.ledger.transaction import Change
from unlisted.noise.gaussian.accounting import read_kind
from unlisted.query.charging import Charge, Paid
from unlisted.release.serialize import RELEASE_FORMAT

_MINE = sa.select(questions).where(questions.c.account == sa.bindparam("account"))
_BY_KEY = _MINE.where(questions.c.idempotency_key == sa.bindparam("key"))
_SAME = _MINE.where(
    questions.c.question == sa.bindparam("question"), questions.c.version == sa.bindparam("version")
)


def is_stored(connection: Connection, account: str, version: str | None, charge: Charge, key: str | None) -> bool:
    """Return whether the answer to a question is there, by its key or as the same question on the same version."""
    asked = {"question": charge.question, "version": version, "key": key, "account": account}
    found = [
        *(connection.execute(_BY_KEY, asked).all() if key is not None else ()),
        *(connection.execute(_SAME, asked).all() if version is not None else ()),
    ]
    return any(row.state == "settled" for row in found)


def settled_as(connection: Connection, dataset: str, reservation: int) -> Paid | None:
    """Return the answer that a reservation ended with; None if it has not ended, or without one."""
    asked = questions.c.dataset == dataset, questions.c.reservation == reservation
    row = connection.execute(sa.select(questions).where(*asked)).one_or_none()
    return _paid(connection, row) if row is not None and row.state == "settled" else None


def named_question(ledger: Ledger, account: str, key: str) -> tuple[str, int | None] | None:
    """Return the state of the question that a request of this name asked, and its entry; None if none did."""
    with ledger.store.reading() as connection:
        row = connection.execute(_BY_KEY, {"account": account, "key": key}).one_or_none()
    return None if row is None else (row.state, row.entry)


def answered_before(change: Change, account: str, charge: Charge, key: str | None) -> Paid | None:
    """Find the answer to a retried or repeated question; refuse one that is being answered right now."""
    if key is not None:
        found = change.connection.execute(_BY_KEY, {"account": account, "key": key}).one_or_none()
        if found is not None:
            return _retried(change.connection, found, charge)
    version = change.state.dataset.version
    if version is None:
        return None
    same = {"account": account, "question": charge.question, "version": version}
    for row in change.connection.execute(_SAME, same).all():
        if row.state == "settled":
            return _paid(change.connection, row)
        if row.state == "open" and not is_gone(change.connection, row.owner):
            raise LedgerError("The same question is being answered right now. Ask again; nothing was charged.")
        if row.state == "open":
            # Whoever held it can now not settle any more: one question never gets two answers.
            forfeit(change, row.reservation)
    return None


def _retried(connection: Connection, row: Any, charge: Charge) -> Paid:
    if row.question != charge.question:
        raise InvalidArgumentError("idempotency_key", row.idempotency_key, "used for one question only")
    if row.state == "settled":
        return _paid(connection, row)
    if row.state == "open" and not is_gone(connection, row.owner):
        raise LedgerError("The question is being answered right now. Ask again; nothing more was charged.")
    raise ChargedFailureError


def _paid(connection: Connection, row: Any) -> Paid:
    same = entries.c.dataset == row.dataset, entries.c.number == row.entry
    found = connection.execute(
        sa.select(entries.c.hash, entries.c.rho, entries.c.delta, datasets.c.kind)
        .join_from(entries, datasets, datasets.c.name == entries.c.dataset)
        .where(*same)
    ).one_or_none()
    if found is None:
        return Paid(row.release, row.dataset, row.account, row.entry, "", row.version)
    spent = Amount.read(found.rho, found.delta, read_kind(found.kind)).as_dict()
    return Paid(row.release, row.dataset, row.account, row.entry, found.hash, row.version, spent)


@dataclass(frozen=True)
class StoredRelease:
    """A release as it was stored: what was paid, when, and what it cost in the end."""

    paid: Paid
    time: str
    cost: Amount


def stored_releases(
    ledger: Ledger, dataset: str, accounts: Sequence[str] | None, *, before: int | None = None, most: int = 50
) -> Iterator[StoredRelease]:
    """Yield the newest releases of a data set: of some accounts, or of all; before an entry, if it is named.

    One after the other: a release may be large, and whoever lists many need not hold all of them.
    """
    query = _settled(dataset).order_by(questions.c.entry.desc()).limit(most)
    if accounts is not None:
        query = query.where(questions.c.account.in_(accounts))
    if before is not None:
        query = query.where(questions.c.entry < before)
    with (
        ledger.store.reading() as connection,
        connection.execute(query, execution_options={"yield_per": 1}) as found,
    ):
        for row in found:
            yield _read(ledger, row)


def newest_releases(ledger: Ledger, whose: Mapping[str, str | None], most: int) -> list[tuple[str, int]]:
    """Return data set and entry of the newest releases: of one account on each data set, or of all (None)."""
    found: list[tuple[str, str, int]] = []
    with ledger.store.reading() as connection:
        for dataset, account in whose.items():
            query = _settled(dataset).with_only_columns(entries.c.time, entries.c.dataset, questions.c.entry)
            if account is not None:
                query = query.where(questions.c.account == account)
            newest = query.order_by(questions.c.entry.desc()).limit(most)
            found += [(row.time, row.dataset, row.entry) for row in connection.execute(newest)]
    return [(dataset, entry) for _, dataset, entry in sorted(found, reverse=True)[:most]]


def stored_release(ledger: Ledger, dataset: str, entry: int) -> StoredRelease | None:
    """Return the release that an entry settled."""
    with ledger.store.reading() as connection:
        row = connection.execute(_settled(dataset).where(questions.c.entry == entry)).one_or_none()
    return None if row is None else _read(ledger, row)


def _settled(dataset: str) -> sa.Select[tuple[object, ...]]:
    """Select the releases that were settled, with the entry that says what each cost."""
    same = sa.and_(entries.c.dataset == questions.c.dataset, entries.c.number == questions.c.entry)
    columns = (questions.c.release, questions.c.account, questions.c.entry, questions.c.version)
    settled = (entries.c.dataset, entries.c.hash, entries.c.time, entries.c.rho, entries.c.delta)
    joined = sa.select(*columns, *settled, datasets.c.kind).join_from(questions, entries, same)
    joined = joined.join(datasets, datasets.c.name == questions.c.dataset)
    # Asked of the database, so that a page of so many releases is full while there are more.
    is_release = sa.func.substr(questions.c.release, 1, len(RELEASE_FORMAT)) == RELEASE_FORMAT
    return joined.where(questions.c.dataset == dataset, questions.c.state == "settled", is_release)


def _read(ledger: Ledger, row: sa.Row[tuple[object, ...]]) -> StoredRelease:
    cost = Amount.read(row.rho, row.delta, read_kind(row.kind))
    named = (row.dataset, row.account, row.entry, row.hash)
    paid = Paid(row.release, *named, row.version, cost.as_dict(), ledger.signer)
    return StoredRelease(paid, row.time, cost)
