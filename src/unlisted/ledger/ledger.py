"""`ul.Ledger(url)`: the book in which data sets and accounts are opened, and everything that happened is kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self, Unpack

from sqlalchemy import Connection

from unlisted.errors import InvalidArgumentError, LedgerError
from unlisted.ledger import rows
from unlisted.ledger.declarations import Declared, require_name, require_own_source
from unlisted.ledger.entries import Entry, canonical
from unlisted.ledger.group_commit import Booker, Booking, Value
from unlisted.ledger.leases import Running, abandoned, for_account, for_dataset, forfeit
from unlisted.ledger.state import AccountState, DatasetState, State
from unlisted.ledger.store import Store
from unlisted.ledger.terms import AnyBudget, Terms, amount_of
from unlisted.ledger.transaction import Change, write

if TYPE_CHECKING:
    from unlisted.ledger.account import Account

Clock = Callable[[], datetime]


def _now() -> datetime:
    return datetime.now(UTC)


class Ledger:
    """One durable budget for many analysts.

    Guarantees: no set of accounts together spends more on a data set than its total; no account spends more than
    its own share; what happened is never changed, and a change made behind the ledger's back is found by
    `verify`. Use it as a context manager, or call `close`.
    """

    def __init__(
        self, url: str | os.PathLike[str], *, create: bool = True, read_only: bool = False, clock: Clock = _now
    ) -> None:
        """Open a ledger: a path, or a PostgreSQL URL.

        Without `create` it must be there already; with `read_only` too, and then it need not be writable.
        """
        self.store = Store(url, create=create, read_only=read_only)
        self._clock = clock
        self._booker = Booker(self.store, self.now)
        self.running = Running()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the store's connections back."""
        self.store.close()

    def create_dataset(self, name: str, *, budget: AnyBudget, **declared: Unpack[Declared]) -> DatasetState:
        """Open a data set with the total that its accounts share. The first question fixes what is not said.

        `failures` is how many questions of all its accounts may fail after data was touched before it is frozen.
        """
        require_name("dataset", name)
        allowed = for_dataset(declared.pop("failures", None))
        shares = bool(declared.pop("shares_source", False))
        with self.store.writing(creates=True) as connection:
            if rows.read_dataset(connection, name, lock=True) is not None:
                raise InvalidArgumentError(
                    "dataset", name, "a new name", "A data set of this name is open already."
                )
            require_own_source(connection, name, declared.get("source"), shares=shares)
            change = Change(connection, self.now, State(DatasetState(name)))
            said = {key: value for key, value in declared.items() if value}
            body = {**said, "failures": allowed, "shares_source": shares}
            change.append("opened", amount=amount_of(budget), body=body)
            write(connection, change.rows())
        return change.state.dataset

    def declare_version(self, name: str, version: str) -> None:
        """Say that the data changed: answers given for another version are not replayed any more."""
        require_name("version", version)
        with self.changing(name) as change:
            change.append("declared", body={"version": version})

    def open(
        self,
        name: str,
        *,
        dataset: str,
        budget: AnyBudget,
        period: str | None = None,
        period_budget: AnyBudget | None = None,
        failures: int | None = None,
    ) -> Account:
        """Open an account, or attach to it if it is open with equal terms.

        On an unknown data set this opens the data set too, with the account's budget as its total. `failures` is
        how many of its questions may fail after data was touched before it is frozen: 3 unless said.
        """
        from unlisted.ledger.account import Account  # noqa: PLC0415 - an account knows its ledger

        require_name("account", name)
        require_name("dataset", dataset)
        terms = Terms.of(budget, period, period_budget)
        with self.store.writing(creates=True) as connection:
            known = rows.read_dataset(connection, dataset, lock=True)
            found = rows.read_account(connection, name)
            if found is not None:
                _require_equal(found, dataset, terms, failures)
                return Account(self, name, dataset, terms)
            change = Change(connection, self.now, State(known or DatasetState(dataset)))
            if known is None:
                unsaid = {"failures": for_dataset(None), "shares_source": False}
                change.append("opened", amount=terms.total, body=unsaid)
            allowed = for_account(failures, change.state.dataset.failures)
            body = {"terms": terms.as_dict(), "failures": allowed}
            change.append("opened", account=name, amount=terms.total, body=body)
            write(connection, change.rows())
        return Account(self, name, dataset, terms)

    def account(self, name: str) -> Account:
        """Attach to an account that is open."""
        from unlisted.ledger.account import Account  # noqa: PLC0415 - an account knows its ledger

        with self.store.reading() as connection:
            found = rows.read_account(connection, name)
            if found is None:
                names = ", ".join(one.name for _, one in rows.read_accounts(connection)) or "none"
                raise InvalidArgumentError("account", name, "an account of this ledger", f"There are: {names}.")
        dataset, state = found
        return Account(self, name, dataset, state.terms)

    def close_account(self, name: str) -> None:
        """End an account. What it spent stays spent."""
        dataset = self.account(name).dataset
        with self.changing(dataset, name) as change:
            if change.account(name).closed:
                raise InvalidArgumentError("account", name, "open", "It was closed before.")
            change.append("closed", account=name)

    def allow_failures(self, failures: int, *, account: str | None = None, dataset: str | None = None) -> None:
        """Say how many questions of an account, or of a whole data set, may fail before it is frozen.

        What failed since the last thaw still counts.
        """
        with self._one_of(account, dataset) as change:
            if account is None:
                allowed = for_dataset(failures)
                accounts = rows.read_accounts(change.connection, dataset)
                largest = max((one.failures.allowed for _, one in accounts), default=0)
                if allowed <= largest:
                    hint = "Else one account could freeze all the others. Allow that account fewer first."
                    raise InvalidArgumentError("failures", failures, f"more than an account's {largest:,}", hint)
            else:
                allowed = for_account(failures, change.state.dataset.failures)
            change.append("allowed", account=account, body={"failures": allowed})

    def thaw(self, *, account: str | None = None, dataset: str | None = None) -> int:
        """Say that the owner has looked into the failures of an account or a whole data set; return their number.

        The allowance starts anew. What the questions cost stays spent.
        """
        with self._one_of(account, dataset) as change:
            failures = change.state.dataset.failures if account is None else change.account(account).failures
            if failures.seen == 0:
                named = "dataset" if account is None else "account"
                raise InvalidArgumentError(named, account or dataset, "one with failures", "It has none to thaw.")
            change.append("thawed", account=account)
        return failures.seen

    def datasets(self) -> list[DatasetState]:
        """Return where every data set stands."""
        with self.store.reading() as connection:
            return rows.read_datasets(connection)

    def dataset(self, name: str) -> DatasetState:
        """Return where one data set stands."""
        with self.store.reading() as connection:
            return _known_dataset(connection, name, lock=False)

    def accounts(self, dataset: str | None = None) -> list[tuple[str, AccountState]]:
        """Return every account with its data set."""
        with self.store.reading() as connection:
            return rows.read_accounts(connection, dataset)

    def history(self, dataset: str | None = None, account: str | None = None) -> list[Entry]:
        """Return what happened, oldest first within each data set."""
        with self.store.reading() as connection:
            return [entry for entry, _ in rows.read_entries(connection, dataset, account)]

    def export_lines(self) -> Iterator[str]:
        """Yield every entry with its hash as one line of JSON, in order. Equal histories give equal lines."""
        with self.store.reading() as connection:
            for entry, stored in rows.read_entries(connection):
                yield canonical({**entry.as_dict(), "previous": entry.previous, "hash": stored})

    def abandoned_reservations(self, dataset: str | None = None) -> list[tuple[str, str, int]]:
        """Return the data set, account and number of each reservation whose process is gone."""
        with self.store.reading() as connection:
            return abandoned(connection, dataset)

    def forfeit_abandoned(self, dataset: str | None = None) -> int:
        """Forfeit the reservations whose process is gone; return how many there were. Nothing is refunded."""
        gone = self.abandoned_reservations(dataset)
        for whose, account, reservation in gone:
            with self.changing(whose, account) as change:
                forfeit(change, reservation)
        return len(gone)

    @contextmanager
    def changing(self, dataset: str, account: str | None = None) -> Iterator[Change]:
        """Lock a data set and let entries be added to it; all of them are kept, or none."""
        with self.store.writing() as connection:
            if account is None:
                state = State(_known_dataset(connection, dataset, lock=True))
            else:
                found = rows.read_locked(connection, [account])
                if [one.dataset.name for one in found] != [dataset]:
                    raise LedgerError(f"The account {account!r} is not in the ledger any more.")
                state = found[0]
            change = Change(connection, self.now, state)
            yield change
            write(connection, change.rows())

    def _one_of(self, account: str | None, dataset: str | None) -> AbstractContextManager[Change]:
        """Lock an account with its data set, or a data set."""
        if account is not None:
            return self.changing(self.account(account).dataset, account)
        if dataset is None:
            raise InvalidArgumentError("account", None, "given, or dataset")
        return self.changing(dataset)

    def book(self, booking: Booking[Value]) -> Value:
        """Add entries to a data set, in one transaction with what other threads book at this moment."""
        return self._booker.book(booking)

    def now(self, after: str) -> str:
        """Return the time of the next entry: the clock's, but never before the last entry's."""
        return max(self._clock().astimezone(UTC).isoformat(timespec="microseconds"), after)


def _known_dataset(connection: Connection, name: str, *, lock: bool) -> DatasetState:
    known = rows.read_dataset(connection, name, lock=lock)
    if known is None:
        names = ", ".join(one.name for one in rows.read_datasets(connection)) or "none"
        raise InvalidArgumentError("dataset", name, "a data set of this ledger", f"There are: {names}.")
    return known


def _require_equal(found: tuple[str, AccountState], dataset: str, terms: Terms, failures: int | None) -> None:
    held, state = found
    if held != dataset:
        raise InvalidArgumentError("dataset", dataset, f"{held!r}, which the account was opened on")
    if state.closed:
        raise InvalidArgumentError("account", state.name, "open", "It was closed; open another under a new name.")
    if state.terms != terms:
        raise InvalidArgumentError(
            "budget", str(terms), f"the account's own terms, {state.terms}", "Terms never change."
        )
    if failures not in (None, state.failures.allowed):
        hint = "`unlisted account failures` changes it."
        raise InvalidArgumentError("failures", failures, f"the account's own, {state.failures.allowed:,}", hint)
