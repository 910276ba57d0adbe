"""The stored answers of a ledger, to be looked at again: they cost nothing more.

An account can also pay for a stream; its settings then stand where a release would, and are no answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from unlisted.ledger.ledger import Ledger
from unlisted.ledger.schema import entries, questions
from unlisted.query.charging import Paid
from unlisted.release.serialize import RELEASE_FORMAT


@dataclass(frozen=True)
class StoredAnswer:
    """A release as it was stored: what was paid, when, and what it cost in the end, as plain decimals."""

    paid: Paid
    time: str
    rho: str
    delta: str


def stored_answers(
    ledger: Ledger, dataset: str, accounts: Sequence[str] | None, *, before: int | None = None, most: int = 50
) -> list[StoredAnswer]:
    """Return the newest answers about a data set: of some accounts, or of all; before an entry, if it is named."""
    query = _settled(dataset).order_by(questions.c.entry.desc()).limit(most)
    if accounts is not None:
        query = query.where(questions.c.account.in_(accounts))
    if before is not None:
        query = query.where(questions.c.entry < before)
    with ledger.store.reading() as connection:
        return [_answer(row) for row in connection.execute(query)]


def stored_answer(ledger: Ledger, dataset: str, entry: int) -> StoredAnswer | None:
    """Return the answer that an entry settled."""
    with ledger.store.reading() as connection:
        row = connection.execute(_settled(dataset).where(questions.c.entry == entry)).one_or_none()
    return None if row is None else _answer(row)


def _settled(dataset: str) -> sa.Select[tuple[object, ...]]:
    """Select the releases that were settled, with the entry that says what each cost."""
    same = sa.and_(entries.c.dataset == questions.c.dataset, entries.c.number == questions.c.entry)
    columns = (questions.c.release, questions.c.account, questions.c.entry)
    settled = (entries.c.dataset, entries.c.hash, entries.c.time, entries.c.rho, entries.c.delta)
    joined = sa.select(*columns, *settled).join_from(questions, entries, same)
    # Asked of the database, so that a page of so many answers is full while there are more.
    is_release = sa.func.substr(questions.c.release, 1, len(RELEASE_FORMAT)) == RELEASE_FORMAT
    return joined.where(questions.c.dataset == dataset, questions.c.state == "settled", is_release)


def _answer(row: sa.Row[tuple[object, ...]]) -> StoredAnswer:
    paid = Paid(row.release, row.dataset, row.account, row.entry, row.hash)
    return StoredAnswer(paid, row.time, row.rho, row.delta)
