"""`ul.Ledger(url)`: the book in which data sets and accounts are opened, and everything that happened is kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from sqlalchemy import Connection

from unlisted.errors import InvalidArgumentError, LedgerError
from unlisted.ledger import records
from unlisted.ledger.amounts import NOTHING, Amount
from unlisted.ledger.entries import Entry, Kind
from unlisted.ledger.state import AccountState, DatasetState, State
from unlisted.ledger.store import Store
from unlisted.ledger.terms import AnyBudget, Terms, amount_of
from unlisted.ledger.writes import Write, write
from unlisted.privacy.sensitivity import Adjacency

if TYPE_CHECKING:
    from unlisted.ledger.account import Account

Clock = Callable[[], datetime]


class Declared(TypedDict, total=False):
    """What the owner says of a data set: its user column, neighbours, source, and version of the data."""

    unit: str | None
    adjacency: Adjacency | None
    source: str | None
    version: str | None


def _now() -> datetime:
    return datetime.now(UTC)


class Ledger:
    """One durable budget for many analysts.

    Guarantees: no set of accounts together spends more on a data set than its total; no account spends more than
    its own share; what happened is never changed, and a change made behind the ledger's back is found by
    `verify`. Use it as a context manager, or call `close`.
    """

    def __init__(self, url: str | os.PathLike[str], *, create: bool = True, clock: Clock = _now) -> None:
        """Open a ledger: a path, or a PostgreSQL URL. Without `create` it must be there already."""
        self.store = Store(url, create=create)
        self._clock = clock

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the store's connections back."""
        self.store.close()

    def create_dataset(self, name: str, *, budget: AnyBudget, **declared: Unpack[Declared]) -> DatasetState:
        """Open a data set with the total that its accounts share. The first question fixes what is not said."""
        require_name("dataset", name)
        with self.store.writing(creates=True) as connection:
            if records.read_dataset(connection, name, lock=True) is not None:
                raise InvalidArgumentError(
                    "dataset", name, "a new name", "A data set of this name is open already."
                )
            change = Change(self, connection, State(DatasetState(name)))
            said = {key: value for key, value in declared.items() if value}
            change.append("opened", amount=amount_of(budget), body=said)
            change.write()
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
    ) -> Account:
        """Open an account, or attach to it if it is open with equal terms.

        On an unknown data set this opens the data set too, with the account's budget as its total.
        """
        from unlisted.ledger.account import Account  # noqa: PLC0415 - an account knows its ledger

        require_name("account", name)
        require_name("dataset", dataset)
        terms = Terms.of(budget, period, period_budget)
        with self.store.writing(creates=True) as connection:
            known = records.read_dataset(connection, dataset, lock=True)
            found = records.read_account(connection, name)
            if found is not None:
                _require_equal(found, dataset, terms)
                return Account(self, name, dataset, terms)
            change = Change(self, connection, State(known or DatasetState(dataset)))
            if known is None:
                change.append("opened", amount=terms.total)
            change.append("opened", account=name, amount=terms.total, body={"terms": terms.as_dict()})
            change.write()
        return Account(self, name, dataset, terms)

    def account(self, name: str) -> Account:
        """Attach to an account that is open."""
        from unlisted.ledger.account import Account  # noqa: PLC0415 - an account knows its ledger

        with self.store.reading() as connection:
            found = records.read_account(connection, name)
            if found is None:
                names = ", ".join(one.name for _, one in records.read_accounts(connection)) or "none"
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

    def datasets(self) -> list[DatasetState]:
        """Return where every data set stands."""
        with self.store.reading() as connection:
            return records.read_datasets(connection)

    def dataset(self, name: str) -> DatasetState:
        """Return where one data set stands."""
        with self.store.reading() as connection:
            return _known_dataset(connection, name, lock=False)

    def accounts(self, dataset: str | None = None) -> list[tuple[str, AccountState]]:
        """Return every account with its data set."""
        with self.store.reading() as connection:
            return records.read_accounts(connection, dataset)

    def history(self, dataset: str | None = None, account: str | None = None) -> list[Entry]:
        """Return what happened, oldest first within each data set."""
        with self.store.reading() as connection:
            return [entry for entry, _ in records.read_entries(connection, dataset, account)]

    @contextmanager
    def changing(self, dataset: str, account: str | None = None) -> Iterator[Change]:
        """Lock a data set and let entries be added to it; all of them are kept, or none."""
        with self.store.writing() as connection:
            found = None if account is None else records.read_locked(connection, dataset, account)
            if found is not None:
                state = State(found[0], {found[1].name: found[1]})
            else:
                state = State(_known_dataset(connection, dataset, lock=True))
                if account is not None:
                    raise LedgerError(f"The account {account!r} is not in the ledger any more.")
            change = Change(self, connection, state)
            yield change
            change.write()

    def now(self, after: str) -> str:
        """Return the time of the next entry: the clock's, but never before the last entry's."""
        return max(self._clock().astimezone(UTC).isoformat(timespec="microseconds"), after)


@dataclass
class Change:
    """A transaction on one data set: entries are added, and the cached state moves with them.

    Both are written at its end, together with what is kept of the questions.
    """

    ledger: Ledger
    connection: Connection
    state: State
    entries: list[Entry] = field(default_factory=list)
    questions: list[Write] = field(default_factory=list)

    def account(self, name: str) -> AccountState:
        """Return where an account stands now."""
        return self.state.accounts[name]

    def append(
        self,
        kind: Kind,
        *,
        account: str | None = None,
        reservation: int | None = None,
        amount: Amount = NOTHING,
        body: dict[str, Any] | None = None,
    ) -> Entry:
        """Add an entry at the end of the chain."""
        dataset = self.state.dataset
        entry = Entry(
            dataset=dataset.name,
            number=dataset.last_number + 1,
            kind=kind,
            time=self.ledger.now(dataset.last_time),
            account=account,
            reservation=reservation,
            amount=amount,
            body=body or {},
            previous=dataset.last_hash,
        )
        self.state = self.state.after(entry)
        self.entries.append(entry)
        return entry

    def write(self) -> None:
        """Write what was added."""
        if not self.entries:
            return
        dataset = self.state.dataset
        opened = {entry.account for entry in self.entries if entry.kind == "opened"}
        spoken_of = {entry.account: self.state.accounts[entry.account] for entry in self.entries if entry.account}
        rows = [records.written_dataset(dataset, new=None in opened)]
        rows += [records.written_account(dataset.name, one, new=name in opened) for name, one in spoken_of.items()]
        rows += [records.written_entry(entry) for entry in self.entries]
        # A question comes last: whether it was still open is then seen.
        write(self.connection, rows + self.questions)


def _known_dataset(connection: Connection, name: str, *, lock: bool) -> DatasetState:
    known = records.read_dataset(connection, name, lock=lock)
    if known is None:
        names = ", ".join(one.name for one in records.read_datasets(connection)) or "none"
        raise InvalidArgumentError("dataset", name, "a data set of this ledger", f"There are: {names}.")
    return known


def require_name(argument: str, name: object) -> None:
    """Refuse what is no name: names are shown in lines, and are looked for by whoever reads them."""
    if not isinstance(name, str) or not name.strip() or len(name) > 200 or not name.isprintable():
        raise InvalidArgumentError(argument, name, "a name of 1 to 200 printable characters")


def _require_equal(found: tuple[str, AccountState], dataset: str, terms: Terms) -> None:
    held, state = found
    if held != dataset:
        raise InvalidArgumentError("dataset", dataset, f"{held!r}, which the account was opened on")
    if state.closed:
        raise InvalidArgumentError("account", state.name, "open", "It was closed; open another under a new name.")
    if state.terms != terms:
        raise InvalidArgumentError(
            "budget", str(terms), f"the account's own terms, {state.terms}", "Terms never change."
        )
