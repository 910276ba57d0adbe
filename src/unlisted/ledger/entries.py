"""What happened, as frozen records chained by their hashes.

An entry is never changed and never removed. It carries the hash of the one before it in its data set, so a
changed, dropped or inserted row breaks every hash after it. The vocabulary only grows: a kind keeps its meaning
for ever, and a reader that meets an unknown one refuses instead of guessing.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from unlisted.ledger.amounts import NOTHING, Amount

Kind = Literal[
    "opened",
    "reserved",
    "settled",
    "forfeited",
    "closed",
    "declared",
    "allowed",
    "thawed",
    "charged",
    "moved",
    "ruled",
]
"""opened: a data set or an account begins. reserved: a question's ceiling is taken out. settled: its true cost
is known and the rest comes back. forfeited: nobody came to settle, the ceiling stays spent. closed: an account
ends. declared: the owner gave the data set a new version. allowed: the owner says how many questions of an account
or a data set may fail. thawed: the owner has looked at those that did, and the count starts anew. charged: the
owner books a loss that the ledger does not know of, such as one that a restored copy has forgotten. moved: the
source is the same and lies elsewhere now. ruled: the owner says which questions may be asked.

`by` in the body of an entry is the key, or the person, that asked or acted through a service; it is missing where
somebody did it who has the ledger itself."""

FIRST = "0" * 64
"""The hash before a data set's first entry."""


@dataclass(frozen=True)
class Entry:
    """One thing that happened to a data set.

    `reservation` is the number of the `reserved` entry that a settlement or forfeit speaks of. `amount` is the
    budget for `opened`, the ceiling for `reserved`, the true cost for `settled`, the lost ceiling for
    `forfeited`; it is said as what the data set counts, `rho` or `mu_squared`, and `delta`.
    """

    dataset: str
    number: int
    kind: Kind
    time: str
    account: str | None = None
    reservation: int | None = None
    amount: Amount = NOTHING
    body: dict[str, Any] = field(default_factory=dict)
    previous: str = FIRST

    @cached_property
    def hash(self) -> str:
        """The SHA-256 of everything the entry says, and of the hash before it."""
        said = {**self.as_dict(), "previous": self.previous}
        return hashlib.sha256(canonical(said).encode()).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """Return what the entry says as plain values, in the order in which people read them."""
        return {
            "dataset": self.dataset,
            "number": self.number,
            "time": self.time,
            "kind": self.kind,
            "account": self.account,
            "reservation": self.reservation,
            **self.amount.as_dict(),
            "body": self.body,
        }


KeyKind = Literal["made", "granted", "withdrawn", "rotated", "revoked"]
"""made: a key begins. granted: it may ask about a data set, paid by an account. withdrawn: not any more. rotated:
it has another secret. revoked: it ends."""


@dataclass(frozen=True)
class KeyEntry:
    """One thing that happened to a key. Keys are the whole ledger's, and have a chain of their own."""

    number: int
    kind: KeyKind
    time: str
    key: str
    body: dict[str, Any] = field(default_factory=dict)
    previous: str = FIRST

    @cached_property
    def hash(self) -> str:
        """The SHA-256 of everything the entry says, and of the hash before it."""
        said = {**self.as_dict(), "previous": self.previous}
        return hashlib.sha256(canonical(said).encode()).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """Return what the entry says as plain values."""
        told = {"number": self.number, "time": self.time, "kind": self.kind, "key": self.key, "body": self.body}
        return {"chain": "keys", **told}


def canonical(value: object) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
