"""Does the book add up? Chained hashes, the fold against cached balances, stored answers and receipts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import Connection

from unlisted.errors import LedgerError
from unlisted.ledger import rows
from unlisted.ledger.entries import FIRST, Entry
from unlisted.ledger.key_chain import wrong_with_keys
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.restoring import is_booked, lost_of_export, read_export
from unlisted.ledger.schema import datasets, questions
from unlisted.ledger.signing import is_signed, public_keys, wrong_with
from unlisted.ledger.state import DatasetState, State
from unlisted.ledger.transaction import key_digest

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def verify(
    ledger: Ledger, receipts: Iterable[Mapping[str, Any]] = (), export: Iterable[str] | None = None
) -> list[str]:
    """Return everything that is wrong with a ledger; an empty list means that it adds up.

    A receipt carries the hash of its entry, and an export holds all entries: what the chain does not hold shows
    that the ledger was cut short or restored from an older copy. Once its cost is booked, all is well again.
    """
    with ledger.store.reading() as connection:
        names = connection.execute(sa.select(datasets.c.name).order_by(datasets.c.name)).scalars().all()
        problems = [f"data set {name!r}: {found}" for name in names for found in _dataset(connection, name)]
        problems += wrong_with_keys(connection)
        keys = public_keys(connection) if (listed := list(receipts)) else []
        problems += [found for receipt in listed for found in _receipt(connection, receipt, keys)]
    if export is None:
        return problems
    lost = lost_of_export(ledger, *read_export(export))
    problems += [
        f"entry {number} of data set {dataset!r} is in the export and not in the ledger: cut or restored"
        for dataset, number, _ in lost.entries
    ]
    return problems + [f"{one}, is in the export and not in the ledger" for one in lost.keys]


def entry_named_by(receipt: Mapping[str, Any]) -> tuple[str, int, str] | None:
    """Return the data set, number and hash of the entry that a receipt names; None if it names none."""
    stamp = receipt.get("ledger")
    if not isinstance(stamp, Mapping):
        return None
    dataset, entry, digest = (stamp.get(name) for name in ("dataset", "entry", "hash"))
    if not isinstance(dataset, str) or not isinstance(entry, int) or not isinstance(digest, str):
        return None
    return dataset, entry, digest


def _dataset(connection: Connection, name: str) -> list[str]:
    """Fold the entries of a data set from nothing and compare with what the store says."""
    asked: dict[int, _Asked] = {}
    try:
        with closing(rows.read_entries(connection, name)) as listed:
            state = _folded(name, listed, asked)
        problems = []
        if state.dataset != rows.read_dataset(connection, name):
            problems.append("the cached balance does not agree with the entries")
        cached = {account.name: account for _, account in rows.read_accounts(connection, name)}
        problems += [
            f"the cached balance of account {account!r} does not agree with the entries"
            for account in sorted(cached.keys() | state.accounts.keys())
            if cached.get(account) != state.accounts.get(account)
        ]
        problems += _overspent(state.dataset)
        return problems + _questions(connection, state, asked)
    except (_BrokenChainError, LedgerError) as broken:
        return [str(broken)]


_UNSAID = "unsaid"


@dataclass(frozen=True)
class _Asked:
    """What the entries say of one reservation."""

    account: str | None
    question: str
    version: str | None
    key_sha256: str | None
    state: str = "open"
    settled_by: int | None = None
    release_sha256: str | None = None


def _questions(connection: Connection, state: State, asked: dict[int, _Asked]) -> list[str]:
    """Compare what the store keeps of each reservation with what the entries say of it."""
    problems = []
    query = rows.HELD_QUESTIONS.where(questions.c.dataset == state.dataset.name)
    with connection.execute(query, execution_options={"yield_per": 1_000}) as kept_rows:
        for row in kept_rows:
            number = row.reservation
            digest = None if row.release is None else hashlib.sha256(row.release).hexdigest()
            said = asked.pop(number, None)
            # An entry from before keys were in the chain says nothing of them.
            key = _UNSAID if said is not None and said.key_sha256 == _UNSAID else key_digest(row.idempotency_key)
            kept = _Asked(row.account, row.question, row.version, key, row.state, row.entry, digest)
            if said != kept:
                problems.append(f"what the store keeps of the reservation {number} is not what its entries say")
            elif row.state == "open" and state.held[number] != rows.held(row):
                problems.append(f"the amount held for the reservation {number} is not what its entry says")
    return problems + [f"what the store kept of the reservation {number} is missing" for number in sorted(asked)]


class _BrokenChainError(Exception):
    """An entry that cannot have been written where it stands."""


def _folded(dataset: str, listed: Iterable[tuple[Entry, str]], asked: dict[int, _Asked]) -> State:
    """Return the state after all entries, each checked against the one before it; collect what was asked."""
    state, previous = State(DatasetState(dataset)), FIRST
    for expected, (entry, stored_hash) in enumerate(listed, start=1):
        if entry.number != expected:
            raise _BrokenChainError(f"entry {expected} is missing")
        if entry.previous != previous or entry.hash != stored_hash:
            raise _BrokenChainError(f"entry {entry.number} was changed, or one before it")
        previous = stored_hash
        try:
            state = state.after(entry)
        except (LedgerError, LookupError, TypeError, ValueError):
            raise _BrokenChainError(f"entry {entry.number} does not follow from the ones before it") from None
        if entry.kind == "reserved":
            _require_not_overspent(state, entry)
            key = entry.body.get("key_sha256", _UNSAID)
            asked[entry.number] = _Asked(entry.account, entry.body["question"], state.dataset.version, key)
        elif entry.reservation is not None:
            digest = entry.body.get("release_sha256")
            by = entry.number if entry.kind == "settled" else None
            ended = replace(asked[entry.reservation], state=entry.kind, settled_by=by, release_sha256=digest)
            asked[entry.reservation] = ended
    return state


def _require_not_overspent(state: State, entry: Entry) -> None:
    """Only a reservation takes something out: after each, nothing may be below zero."""
    account = state.accounts[entry.account or ""]
    for whose, left in (
        ("the data set's total", state.dataset.left),
        (f"the share of account {account.name!r}", account.left),
        (f"the allowance of account {account.name!r}", account.left_in_period(account.period_name)),
    ):
        if left is not None and min(left.loss, left.delta) < 0:
            raise _BrokenChainError(f"entry {entry.number} spends more than {whose}")


def _overspent(dataset: DatasetState) -> list[str]:
    """Say that losses which were booked later made it more than the total: then the guarantee was not kept."""
    if min(dataset.left.loss, dataset.left.delta) >= 0:
        return []
    (used, used_delta), (total, delta) = (dataset.used + dataset.reserved).exact, dataset.total.exact
    symbol = dataset.accounting.symbol
    return [
        f"more was spent than its total: {symbol} = {float(used):.6g} and δ = {float(used_delta):.6g} of "
        f"{float(total):.6g} and {float(delta):.6g}"
    ]


def _receipt(connection: Connection, receipt: Mapping[str, Any], keys: Sequence[Ed25519PublicKey]) -> list[str]:
    named = entry_named_by(receipt)
    if named is None:
        return ["a receipt names no entry of a ledger"]
    dataset, entry, digest = named
    wrong = wrong_with(receipt, keys) if is_signed(receipt) else None
    if wrong is not None:
        return [f"the receipt of entry {entry} of data set {dataset!r}: {wrong}"]
    if is_booked(connection, dataset, digest):
        return []
    if 0 < entry < 2**63 and rows.read_hash(connection, dataset, entry) == digest:
        return []
    return [f"entry {entry} of data set {dataset!r} is not what its receipt says: cut or restored"]
