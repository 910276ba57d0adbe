"""What a ledger is made of: a store, a clock that never goes back, a signature, and locks on data sets."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from sqlalchemy import Connection

from unlisted.errors import InvalidArgumentError, LedgerError
from unlisted.ledger import rows
from unlisted.ledger.group_commit import Booker, Booking, Value
from unlisted.ledger.heartbeat import Running
from unlisted.ledger.schema import add_signing_key
from unlisted.ledger.signing import Signer, public_keys, signer
from unlisted.ledger.state import DatasetState, State
from unlisted.ledger.store import PATIENCE_SECONDS, Store, StoreError
from unlisted.ledger.transaction import Change, write

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

Clock = Callable[[], datetime]


def _now() -> datetime:
    return datetime.now(UTC)


class Book:
    """A store in which entries are chained. `Ledger` says what may be done with it."""

    def __init__(
        self,
        url: str | os.PathLike[str],
        *,
        create: bool = True,
        read_only: bool = False,
        clock: Clock = _now,
        timeout: float = PATIENCE_SECONDS,
    ) -> None:
        """Open a ledger: a path, or a PostgreSQL URL.

        Without `create` it must be there already; with `read_only` too, and then it need not be writable.
        `timeout` is how many seconds a lock, or a server that does not answer, is waited for.
        """
        self.store = Store(url, create=create, read_only=read_only, timeout=timeout)
        self._clock = clock
        self._booker = Booker(self.store, self.now)
        self.running = Running(self.store)
        self._by: str | None = None
        self._signer: list[Signer | None] = []
        if not read_only:
            # There must be no need to look for it when an answer is drawn.
            _ = self.signer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the store's connections back."""
        self.running.close()
        self.store.close()

    def on_behalf_of(self, who: str) -> Self:
        """Return the same ledger, whose entries then say who acts: a key of a service, or a person."""
        acting = copy(self)
        acting._by = who
        return acting

    @property
    def signer(self) -> Signer | None:
        """What signs receipts; None where this process may not read the ledger's key, as an auditor may not."""
        if not self._signer:
            try:
                with self.store.reading() as connection:
                    self._signer.append(signer(connection))
            except StoreError:
                return None
        return self._signer[0]

    def public_keys(self) -> list[Ed25519PublicKey]:
        """Return what receipts of this ledger can be checked with, the newest key first."""
        with self.store.reading() as connection:
            return public_keys(connection)

    def renew_signing_key(self) -> None:
        """Sign with a new key from now on. Receipts that the old ones signed stay valid."""
        with self.store.writing(creates=True) as connection:
            add_signing_key(connection)
        self._signer.clear()

    @contextmanager
    def changing(self, dataset: str, account: str | None = None) -> Iterator[Change]:
        """Lock a data set and let entries be added to it; all of them are kept, or none."""
        with self.store.writing() as connection:
            if account is None:
                state = State(known_dataset(connection, dataset, lock=True))
            else:
                found = rows.read_locked(connection, [account])
                if [one.dataset.name for one in found] != [dataset]:
                    raise LedgerError(f"The account {account!r} is not in the ledger any more.")
                state = found[0]
            change = Change(connection, self.now, state, by=self._by)
            yield change
            write(connection, change.rows())

    def book(self, booking: Booking[Value]) -> Value:
        """Add entries to a data set, in one transaction with what other threads book at this moment."""
        return self._booker.book(booking)

    def now(self, after: str) -> str:
        """Return the time of the next entry: the clock's, but never before the last entry's."""
        return max(self._clock().astimezone(UTC).isoformat(timespec="microseconds"), after)


def known_dataset(connection: Connection, name: str, *, lock: bool) -> DatasetState:
    """Read a data set that must be there; with `lock`, nobody else changes it until the transaction ends."""
    known = rows.read_dataset(connection, name, lock=lock)
    if known is None:
        names = ", ".join(one.name for one in rows.read_datasets(connection)) or "none"
        raise InvalidArgumentError("dataset", name, "a data set of this ledger", f"There are: {names}.")
    return known
