"""After a ledger was restored from a copy: what it has forgotten, and how that is booked.

A copy knows nothing of what was spent since. Exports and receipts do, where they were kept elsewhere. What they
name and the ledger does not hold is *lost*, and its cost is booked with a `charged` entry, which names it, so that
it is booked once.

*From an export.* A question that was answered or forfeited costs what its end says, and one that was still open
its ceiling. If the ledger holds the reservation itself, and only its end is lost, nothing is booked: the ceiling
is still held there, and is forfeited. *From receipts.* Each costs what it says was spent. Of questions without
either, only their owner can say what they cost: an amount, or all that is left.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection

from unlisted.errors import InvalidArgumentError
from unlisted.ledger import rows
from unlisted.ledger.amounts import Amount, nothing
from unlisted.ledger.entries import Entry, KeyEntry
from unlisted.ledger.key_chain import read_key_entries
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.rows import Page
from unlisted.noise.gaussian.accounting import GAUSSIAN
from unlisted.privacy.accounting import ZCDP, Accounting

_COSTS = ("reserved", "settled", "forfeited", "charged")


@dataclass(frozen=True)
class Loss:
    """What lost entries of one account, or of none, cost together."""

    dataset: str
    account: str | None
    amount: Amount
    entries: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Lost:
    """All that is lost, what of it is to be booked, and what is to be done again by hand."""

    entries: list[tuple[str, int, str]] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)


def read_export(lines: Iterable[str]) -> tuple[list[Entry], list[KeyEntry]]:
    """Read what `ledger export` wrote; refuse a line that was changed since."""
    found: list[Entry] = []
    of_keys: list[KeyEntry] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            told = json.loads(line)
            digest = told.pop("hash")
            if told.pop("chain", None) == "keys":
                key_entry = KeyEntry(**told)
                of_keys.append(key_entry)
                is_whole = key_entry.hash == digest
            else:
                entry = _entry(told)
                found.append(entry)
                is_whole = entry.hash == digest
        except (AttributeError, KeyError, TypeError, ValueError):
            is_whole = False
        if not is_whole:
            hint = f"Line {number} was changed, or is not from an export. Use another copy of the file."
            raise InvalidArgumentError("--export", f"line {number}", "as `unlisted ledger export` wrote it", hint)
    return found, of_keys


def lost_of_export(ledger: Ledger, entries: Iterable[Entry], of_keys: Iterable[KeyEntry]) -> Lost:
    """Return what an export holds and the ledger does not."""
    listed, lost = list(entries), Lost()
    with ledger.store.reading() as connection:
        booked = {name: _booked(connection, name) for name in {entry.dataset for entry in listed}}
        stored = rows.read_hashes(connection)
        known_keys = {entry.hash for entry, _ in read_key_entries(connection)}
    kept = {(one.dataset, one.number): stored.get((one.dataset, one.number)) == one.hash for one in listed}
    gone = [one for one in listed if not kept[one.dataset, one.number] and one.hash not in booked[one.dataset]]
    lost.entries.extend((one.dataset, one.number, one.hash) for one in gone)
    # Also those whose cost is booked already.
    ended = {
        (one.dataset, one.reservation) for one in listed if one.reservation and not kept[one.dataset, one.number]
    }
    costs = {(one.dataset, one.number) for one in gone if _costs(one, ended, kept)}
    lost.again.extend(_said(one) for one in gone if one.kind not in _COSTS)
    lost.losses.extend(_together(gone, costs))
    forgotten = [one for one in of_keys if one.hash not in known_keys]
    lost.keys.extend(f"key {one.key}: {one.kind}, at {one.time[:19]}" for one in forgotten)
    return lost


def lost_of_receipts(ledger: Ledger, receipts: Iterable[Mapping[str, Any]]) -> Lost:
    """Return what receipts name and the ledger does not hold; each was found to name an entry."""
    lost = Lost()
    seen: set[str] = set()
    with ledger.store.reading() as connection:
        for receipt in receipts:
            stamp = receipt["ledger"]
            dataset, number, digest = stamp["dataset"], stamp["entry"], stamp["hash"]
            if digest in seen or rows.read_hash(connection, dataset, number) == digest:
                continue
            seen.add(digest)
            if digest in _booked(connection, dataset):
                continue
            held = rows.read_dataset(connection, dataset)
            if held is None:
                raise _unknown(dataset)
            lost.entries.append((dataset, number, digest))
            amount = _spent(receipt, held.accounting)
            lost.losses.append(Loss(dataset, str(stamp.get("account")), amount, ((number, digest),)))
    return lost


def book_losses(ledger: Ledger, lost: Lost, reason: str) -> list[tuple[Loss, Entry]]:
    """Book what is lost, each account's out of its own share if the ledger still knows the account."""
    datasets = {one.name for one in ledger.datasets()}
    for loss in lost.losses:
        if loss.dataset not in datasets:
            raise _unknown(loss.dataset)
    accounts = {one.name: dataset for dataset, one in ledger.accounts()}
    done = []
    for loss in lost.losses:
        account = loss.account if accounts.get(loss.account or "") == loss.dataset else None
        named = [{"entry": number, "hash": digest} for number, digest in loss.entries]
        entry = ledger.charge(loss.dataset, loss.amount, account=account, reason=reason, lost=named)
        done.append((loss, entry))
    return done


def is_booked(connection: Connection, dataset: str, digest: str) -> bool:
    """Return whether the cost of a lost entry was booked."""
    return digest in _booked(connection, dataset)


def _booked(connection: Connection, dataset: str) -> set[str]:
    """Return the hashes of lost entries whose cost was booked."""
    charged = rows.read_entries(connection, dataset, None, Page(2**53, kinds=("charged",)))
    return {one["hash"] for entry, _ in charged for one in entry.body.get("lost", ())}


def _costs(entry: Entry, ended: set[tuple[str, int]], kept: Mapping[tuple[str, int], bool]) -> bool:
    """Return whether a lost entry took something out that the ledger does not hold."""
    if entry.kind == "reserved":
        return (entry.dataset, entry.number) not in ended
    if entry.kind in ("settled", "forfeited"):
        return not kept.get((entry.dataset, entry.reservation or 0), False)
    return entry.kind == "charged"


def _together(gone: list[Entry], costs: set[tuple[str, int]]) -> list[Loss]:
    """Add up what lost entries of each account cost; each lost entry is named, so that none is booked twice."""
    found: dict[tuple[str, str | None], list[Entry]] = {}
    for one in gone:
        found.setdefault((one.dataset, one.account), []).append(one)
    return [
        Loss(
            dataset,
            account,
            sum(
                (one.amount for one in own if (one.dataset, one.number) in costs),
                nothing(own[0].amount.accounting),
            ),
            tuple((one.number, one.hash) for one in own),
        )
        for (dataset, account), own in found.items()
    ]


def _spent(receipt: Mapping[str, Any], accounting: Accounting) -> Amount:
    """Return what a receipt says was charged: exactly where it is stamped so, else rounded up."""
    stamp = receipt["ledger"]
    try:
        if accounting.option in stamp:
            return Amount.read(stamp[accounting.option], stamp["delta"], accounting)
        told = receipt.get("spent") or receipt["guarantee"]
        loss, delta = (Fraction(repr(float(told[name]))) for name in (accounting.option, "delta"))
        # What is shown was rounded up already, but for the last digit of a float.
        more = 1 + Fraction(1, 10**15)
        return Amount.charge(accounting.guarantee(loss * more, delta * more), accounting)
    except (KeyError, TypeError, ValueError):
        raise InvalidArgumentError("--receipt", "a receipt", "one that says what was charged") from None


def _entry(told: dict[str, Any]) -> Entry:
    accounting = GAUSSIAN if GAUSSIAN.option in told else ZCDP
    amount = Amount.read(told.pop(accounting.option), told.pop("delta"), accounting)
    return Entry(**told, amount=amount)


def _said(entry: Entry) -> str:
    whom = entry.dataset if entry.account is None else f"{entry.dataset}/{entry.account}"
    about = entry.body.get("version") or entry.body.get("source") or ""
    return f"{whom}: {entry.kind}{f' {about}' if about else ''}, at {entry.time[:19]}"


def _unknown(dataset: str) -> InvalidArgumentError:
    hint = "Open it first with the terms that it had: unlisted dataset create."
    return InvalidArgumentError("dataset", dataset, "a data set of this ledger", hint)
