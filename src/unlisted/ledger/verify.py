"""Does the book add up? The chain of hashes, the fold against cached balances, receipts against the chain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from unlisted.errors import LedgerError
from unlisted.ledger import records
from unlisted.ledger.account import forfeit
from unlisted.ledger.entries import FIRST, Entry
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.owners import is_gone
from unlisted.ledger.schema import questions
from unlisted.ledger.state import DatasetState, State


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
        try:
            state = _folded(cached.name, listed)
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
    return problems


class _BrokenChainError(Exception):
    """An entry that cannot have been written where it stands."""


def _folded(dataset: str, listed: Iterable[tuple[Entry, str]]) -> State:
    """Return the state after all entries, each checked against the one before it."""
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
