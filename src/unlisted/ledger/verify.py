"""Does the book add up? Chained hashes, the fold against cached balances, stored answers and receipts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from unlisted.errors import LedgerError
from unlisted.ledger import records
from unlisted.ledger.account import forfeit
from unlisted.ledger.amounts import Amount
from unlisted.ledger.entries import FIRST, Entry
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.owners import is_gone
from unlisted.ledger.schema import questions
from unlisted.ledger.state import DatasetState, Held, State


def verify(ledger: Ledger, receipts: Iterable[Mapping[str, Any]] = ()) -> list[str]:
    """Return everything that is wrong with a ledger; an empty list means that it adds up.

    A receipt carries the hash of its entry: one that the chain does not hold shows that the ledger was cut short
    or restored from an older copy.
    """
    with ledger.store.reading() as connection:
        problems = [found for one in records.read_datasets(connection) for found in _dataset(connection, one)]
        return problems + [found for receipt in receipts for found in _receipt(connection, receipt)]


def forfeit_abandoned(ledger: Ledger) -> int:
    """Forfeit the reservations whose process is gone; return how many there were. Nothing is refunded."""
    with ledger.store.reading() as connection:
        still_open = connection.execute(sa.select(questions).where(questions.c.state == "open")).all()
    gone = [row for row in still_open if is_gone(row.owner)]
    for row in gone:
        with ledger.changing(row.dataset, row.account) as change:
            forfeit(change, row.account, row.reservation)
    return len(gone)


def _dataset(connection: Connection, cached: DatasetState) -> list[str]:
    """Fold the entries of a data set from nothing and compare with what the store says."""
    where = f"data set {cached.name!r}"
    with closing(records.read_entries(connection, cached.name)) as listed:
        answers: dict[int, str] = {}
        try:
            state = _folded(cached.name, listed, answers)
        except _BrokenChainError as broken:
            return [f"{where}: {broken}"]
    problems = _overspent(state, where)
    if state.dataset != cached:
        problems.append(f"{where}: the cached balance does not agree with the entries")
    for _, account in records.read_accounts(connection, cached.name):
        if state.accounts.get(account.name) != account:
            problems.append(
                f"{where}: the cached balance of account {account.name!r} does not agree with the entries"
            )
    return problems + [f"{where}: {found}" for found in _stored(connection, state, answers)]


def _stored(connection: Connection, state: State, answers: Mapping[int, str]) -> list[str]:
    """Compare what the store keeps of each reservation with what the entries say of it."""
    problems, seen = [], set()
    query = sa.select(questions).where(questions.c.dataset == state.dataset.name)
    with connection.execution_options(yield_per=1_000).execute(query) as rows:
        for row in rows:
            number = row.reservation
            if row.state == "open":
                held = state.held.get(number)
                if held != Held(row.account, Amount.read(row.rho, row.delta), row.period_name):
                    problems.append(f"the reservation {number} is not what its entry says")
            elif row.state == "settled" and answers.get(number) != hashlib.sha256(row.release or b"").hexdigest():
                problems.append(f"the stored answer to the reservation {number} was changed")
            seen.add(number)
    missing = sorted((state.held.keys() | answers.keys()) - seen)
    return problems + [f"what the store kept of the reservation {number} is missing" for number in missing]


class _BrokenChainError(Exception):
    """An entry that cannot have been written where it stands."""


def _folded(dataset: str, listed: Iterable[tuple[Entry, str]], answers: dict[int, str]) -> State:
    """Return the state after all entries, each checked against the one before it; collect answers' digests."""
    state, previous = State(DatasetState(dataset)), FIRST
    for expected, (entry, stored_hash) in enumerate(listed, start=1):
        if entry.number != expected:
            raise _BrokenChainError(f"entry {expected} is missing")
        if entry.previous != previous or entry.hash != stored_hash:
            raise _BrokenChainError(f"entry {entry.number} was changed, or one before it")
        previous = stored_hash
        try:
            state = state.after(entry)
        except (LedgerError, KeyError):
            raise _BrokenChainError(f"entry {entry.number} does not follow from the ones before it") from None
        if entry.kind == "settled" and entry.reservation is not None:
            answers[entry.reservation] = str(entry.body.get("release_sha256"))
    return state


def _overspent(state: State, where: str) -> list[str]:
    problems = []
    if min(state.dataset.left.rho, state.dataset.left.delta) < 0:
        problems.append(f"{where}: more was spent than its total")
    for account in state.accounts.values():
        if min(account.left.rho, account.left.delta) < 0:
            problems.append(f"{where}: account {account.name!r} spent more than its share")
    return problems


def _receipt(connection: Connection, receipt: Mapping[str, Any]) -> list[str]:
    stamp = receipt.get("ledger")
    if not isinstance(stamp, Mapping) or not {"dataset", "entry", "hash"} <= set(stamp):
        return ["a receipt names no entry of a ledger"]
    held = records.read_hash(connection, str(stamp["dataset"]), int(stamp["entry"]))
    if held == stamp["hash"]:
        return []
    return [
        f"entry {stamp['entry']} of data set {stamp['dataset']!r} is not what its receipt says: cut or restored"
    ]
