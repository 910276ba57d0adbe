"""`ul.Ledger(url)`: the book in which data sets and accounts are opened, and everything that happened is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from unlisted.errors import InvalidArgumentError
from unlisted.ledger import rows
from unlisted.ledger.amounts import Amount
from unlisted.ledger.book import Book, known_dataset
from unlisted.ledger.declarations import require_name, require_own_source, require_same_kind
from unlisted.ledger.entries import Entry, canonical
from unlisted.ledger.key_chain import read_key_entries
from unlisted.ledger.leases import OpenReservation, abandoned, for_account, for_dataset, forfeit, open_reservations
from unlisted.ledger.policy import Policy
from unlisted.ledger.rows import Page
from unlisted.ledger.state import AccountState, DatasetState, State
from unlisted.ledger.terms import AnyBudget, Terms, accounting_of, amount_of
from unlisted.ledger.transaction import Change, write
from unlisted.privacy.accounting import ZCDP, Accounting
from unlisted.privacy.sensitivity import Adjacency

if TYPE_CHECKING:
    from unlisted.ledger.account import Account


class Ledger(Book):
    """One durable budget for many analysts.

    Guarantees: no set of accounts together spends more on a data set than its total; no account spends more than
    its own share; what happened is never changed, and a change made behind the ledger's back is found by
    `verify`. Use it as a context manager, or call `close`.

    Args:
        url: a file, which is made if it is not there, or a database URL of SQLite or PostgreSQL.
        create: make the ledger if it is not there.
        read_only: look, and change nothing.
        clock: tells the time of entries; only tests bring another.
        timeout: how many seconds to wait for a busy database.

    Examples:
        >>> with ul.Ledger("budget.db") as ledger:
        ...     account = ledger.open("ads-team", dataset="searches", budget=ul.Budget(rho="0.5", delta=1e-6))
        ...     account.balance().left.guarantee().rho
        Fraction(1, 2)

    Theorem: a durable privacy filter; what all answers together cost is within the total (`ledger/account.md`).
    """

    def create_dataset(
        self,
        name: str,
        *,
        budget: AnyBudget,
        kind: str | None = None,
        unit: str | None = None,
        adjacency: Adjacency | None = None,
        source: str | None = None,
        version: str | None = None,
        failures: int | None = None,
        shares_source: bool = False,
    ) -> DatasetState:
        """Open a data set with the total that its accounts share. The first question fixes what is not said.

        Args:
            name: what the data set is called.
            budget: what all accounts together may spend. Of a budget in (ε, δ) half of δ is for thresholds, and
                the largest ρ or μ² is taken that is still (ε, δ)-DP with the other half.
            kind: what is counted, for life: "zcdp", the default, adds up ρ;
                "gaussian" adds up μ², so that more questions with Gaussian noise fit into the same (ε, δ), and
                fewer rankings.
            unit: the column that says whose row it is.
            adjacency: "add_remove" or "replace".
            source: where the rows are, as questions name it.
            version: a name for the present state of the data; with one, a repeated question is free.
            failures: how many questions of all accounts may fail after data was touched before it is frozen.
            shares_source: whether another data set may be about the same source.

        Examples:
            >>> with ul.Ledger("kinds.db") as ledger:
            ...     budget = ul.Budget(epsilon=1, delta=1e-6)
            ...     state = ledger.create_dataset("searches", budget=budget, kind="gaussian")
            >>> state.kind
            'gaussian'
        """
        require_name("dataset", name)
        accounting = accounting_of(kind, budget)
        total = amount_of(budget, accounting)
        declared = {"unit": unit, "adjacency": adjacency, "source": source, "version": version}
        body: dict[str, Any] = {key: value for key, value in declared.items() if value}
        body |= {"failures": for_dataset(failures), "shares_source": shares_source}
        with self.store.writing(creates=True) as connection:
            if rows.read_dataset(connection, name, lock=True) is not None:
                raise InvalidArgumentError(
                    "dataset", name, "a new name", "A data set of this name is open already."
                )
            require_own_source(connection, name, source, shares=shares_source)
            change = Change(connection, self.now, State(DatasetState(name)), by=self._by)
            change.append("opened", amount=total, body=body | _said_kind(accounting))
            write(connection, change.rows())
        return change.state.dataset

    def declare_version(self, name: str, version: str) -> None:
        """Say that the data changed: answers given for another version are not replayed any more."""
        require_name("version", version)
        with self.changing(name) as change:
            change.append("declared", body={"version": version})

    def declared_versions(self, name: str) -> set[str]:
        """Return every version that a data set was ever at."""
        with self.store.reading() as connection:
            known_dataset(connection, name, lock=False)
            found = rows.read_entries(connection, name, None, Page(2**53, kinds=("opened", "declared")))
            versions = {entry.body.get("version") for entry, _ in found if entry.account is None}
        return {one for one in versions if one is not None}

    def move(self, name: str, source: str) -> str | None:
        """Say that the source of a data set, with the same people in it, lies elsewhere now; return where it lay.

        The budget, and all that was spent of it, stays the data set's.
        """
        require_name("source", source)
        with self.store.writing(creates=True) as connection:
            known = known_dataset(connection, name, lock=True)
            if known.source == source:
                raise InvalidArgumentError("source", source, "another one", "The data set has this one already.")
            require_own_source(connection, name, source, shares=known.shares_source)
            change = Change(connection, self.now, State(known), by=self._by)
            change.append("moved", body={"from": known.source, "source": source})
            write(connection, change.rows())
        return known.source

    def rule(self, name: str, policy: Policy | None) -> None:
        """Say what may be asked of a data set from now on; None lifts all limits but the budgets."""
        with self.changing(name) as change:
            if change.state.dataset.policy != policy:
                change.append("ruled", body={"policy": None if policy is None else policy.as_dict()})

    def charge(
        self,
        dataset: str,
        amount: Amount,
        *,
        account: str | None = None,
        reason: str = "",
        lost: Sequence[Mapping[str, Any]] = (),
    ) -> Entry:
        """Book a loss that the ledger does not know of, such as one that a restored copy has forgotten.

        It is a fact, so it is booked also where it is more than what is left; then nothing more fits.

        Args:
            dataset: the data set that it was spent on.
            amount: how much, in what the data set counts.
            account: whose share it comes out of too; that of nobody if it is left out.
            reason: why, for whoever reads the history.
            lost: number and hash of the entries that said so, which are then not booked twice.
        """
        with self.changing(dataset, account) as change:
            body: dict[str, Any] = {"reason": reason} if reason else {}
            body |= {"lost": [dict(one) for one in lost]} if lost else {}
            return change.append("charged", account=account, amount=amount, body=body)

    def open(
        self,
        name: str,
        *,
        dataset: str,
        budget: AnyBudget,
        kind: str | None = None,
        period: str | None = None,
        period_budget: AnyBudget | None = None,
        failures: int | None = None,
    ) -> Account:
        """Open an account, or attach to it if it is open with equal terms.

        On an unknown data set this opens the data set too, with the account's budget as its total.

        Args:
            name: what the account is called.
            dataset: the data set that it spends on.
            budget: what it may spend in its life: `ul.Budget(epsilon=1, delta=1e-6)`, or in ρ or μ².
            kind: "zcdp" or "gaussian", which must be the data set's; left out, it is.
            period: "day", "week", "month" or "year", if an allowance is to start anew with each.
            period_budget: that allowance.
            failures: how many of its questions may fail after data was touched before it is frozen: 3 unless said.

        Examples:
            >>> with ul.Ledger("terms.db") as ledger:
            ...     account = ledger.open("ads", dataset="searches", budget=ul.Budget(epsilon=1, delta=1e-6))
            >>> account.dataset
            'searches'
        """
        from unlisted.ledger.account import Account  # noqa: PLC0415 - an account knows its ledger

        require_name("account", name)
        require_name("dataset", dataset)
        wanted = accounting_of(kind, budget)
        with self.store.writing(creates=True) as connection:
            known = rows.read_dataset(connection, dataset, lock=True)
            accounting = wanted if known is None or kind is not None else known.accounting
            if known is not None:
                require_same_kind(known, accounting)
            terms = Terms.of(budget, period, period_budget, accounting)
            found = rows.read_account(connection, name)
            if found is not None:
                _require_equal(found, dataset, terms, failures)
                return Account(self, name, dataset, terms)
            change = Change(connection, self.now, State(known or DatasetState(dataset)), by=self._by)
            if known is None:
                unsaid = {"failures": for_dataset(None), "shares_source": False, **_said_kind(accounting)}
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
                    hint = "Otherwise one account could freeze all the others. Allow that account fewer first."
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

    def _one_of(self, account: str | None, dataset: str | None) -> AbstractContextManager[Change]:
        """Lock an account with its data set, or a data set."""
        if account is not None:
            return self.changing(self.account(account).dataset, account)
        if dataset is None:
            raise InvalidArgumentError("account", None, "given, or dataset")
        return self.changing(dataset)

    def datasets(self) -> list[DatasetState]:
        """Return where every data set stands."""
        with self.store.reading() as connection:
            return rows.read_datasets(connection)

    def dataset(self, name: str) -> DatasetState:
        """Return where one data set stands."""
        with self.store.reading() as connection:
            return known_dataset(connection, name, lock=False)

    def accounts(self, dataset: str | None = None) -> list[tuple[str, AccountState]]:
        """Return every account with its data set."""
        with self.store.reading() as connection:
            return rows.read_accounts(connection, dataset)

    def history(self, dataset: str | None = None, account: str | None = None) -> list[Entry]:
        """Return what happened, oldest first within each data set."""
        with self.store.reading() as connection:
            return [entry for entry, _ in rows.read_entries(connection, dataset, account)]

    def history_page(self, dataset: str, account: str | None, page: rows.Page) -> list[Entry]:
        """Return a part of what happened to a data set, or to one account of it."""
        with self.store.reading() as connection:
            return [entry for entry, _ in rows.read_entries(connection, dataset, account, page)]

    def export_lines(self) -> Iterator[str]:
        """Yield every entry with its hash as one line of JSON, in order. Equal histories give equal lines."""
        with self.store.reading() as connection:
            for entry, stored in rows.read_entries(connection):
                yield canonical({**entry.as_dict(), "previous": entry.previous, "hash": stored})
            for key_entry, stored in read_key_entries(connection):
                yield canonical({**key_entry.as_dict(), "previous": key_entry.previous, "hash": stored})

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

    def open_reservations(self, dataset: str | None = None) -> list[OpenReservation]:
        """Return every reservation that has not ended, and who holds it."""
        with self.store.reading() as connection:
            return open_reservations(connection, dataset)

    def forfeit(self, dataset: str, reservation: int) -> None:
        """End a reservation, whoever holds it: it stays spent, counts as a failure, and will not be answered."""
        found = {one.number: one for one in self.open_reservations(dataset)}.get(reservation)
        if found is None:
            hint = "`unlisted ledger forfeit` without a number lists those that are open."
            raise InvalidArgumentError("reservation", reservation, f"one that is open on {dataset!r}", hint)
        with self.changing(dataset, found.account) as change:
            forfeit(change, reservation)


def _said_kind(accounting: Accounting) -> dict[str, str]:
    """Return what an entry says of a kind: of the one that there was first, nothing."""
    return {} if accounting is ZCDP else {"kind": accounting.name}


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
