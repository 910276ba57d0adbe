"""The whole book as JSON lines: one entry a line, in order, with its hash. Equal histories give equal exports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unlisted.ledger import records
from unlisted.ledger.entries import Entry, canonical
from unlisted.ledger.ledger import Ledger


def export_lines(ledger: Ledger) -> Iterator[str]:
    """Yield every entry as one line of JSON."""
    with ledger.store.reading() as connection:
        for entry, stored in records.read_entries(connection):
            yield canonical({**entry_as_dict(entry), "previous": entry.previous, "hash": stored})


def entry_as_dict(entry: Entry) -> dict[str, Any]:
    """Return an entry as plain values."""
    rho, delta = entry.amount.texts
    return {
        "dataset": entry.dataset,
        "number": entry.number,
        "time": entry.time,
        "kind": entry.kind,
        "account": entry.account,
        "reservation": entry.reservation,
        "rho": rho,
        "delta": delta,
        "body": entry.body,
    }
