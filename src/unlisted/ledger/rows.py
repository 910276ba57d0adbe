"""What the store's rows say: data sets and accounts as they stand, entries, open reservations."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Generator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, wraps
from types import SimpleNamespace
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection

from unlisted.errors import LedgerError
from unlisted.ledger.amounts import Amount
from unlisted.ledger.entries import Entry
from unlisted.ledger.policy import Policy
from unlisted.ledger.schema import accounts, datasets, entries, questions
from unlisted.ledger.state import AccountState, DatasetState, Failures, Held, State
from unlisted.ledger.terms import Terms
from unlisted.noise.gaussian.accounting import read_kind

# What every payment says is built once: SQLAlchemy takes longer to build a statement than SQLite to run it.
_DATASET = sa.select(datasets).where(datasets.c.name == sa.bindparam("name"))
_LOCKED_DATASET = _DATASET.with_for_update()
_ACCOUNT = sa.select(accounts).where(accounts.c.name == sa.bindparam("name"))
# PostgreSQL returns a row that it waited for to lock as it is then, but one that it merely joins as it was before
# the wait. So both are locked, against changes only: whoever refers to them need not wait.
_LOCKED = {
    (alone, waits): sa.select(datasets, accounts)
    .join_from(datasets, accounts, accounts.c.dataset == datasets.c.name)
    # A list of names costs more to send than one.
    .where(accounts.c.name == sa.bindparam("named") if alone else accounts.c.name.in_(sa.bindparam("named")))
    .with_for_update(key_share=True, skip_locked=not waits)
    for alone in (True, False)
    for waits in (True, False)
}
_COUNTED = datasets.c.kind.label("counted")
HELD_QUESTIONS = sa.select(questions, _COUNTED).join_from(
    questions, datasets, datasets.c.name == questions.c.dataset
)
_HELD = HELD_QUESTIONS.where(
    questions.c.dataset == sa.bindparam("dataset"),
    questions.c.reservation == sa.bindparam("reservation"),
    questions.c.state == "open",
)


_LAST_CEILING = (
    sa.select(entries.c.rho, entries.c.delta, _COUNTED)
    .join_from(entries, datasets, datasets.c.name == entries.c.dataset)
    .where(
        entries.c.dataset == sa.bindparam("dataset"),
        entries.c.account == sa.bindparam("account"),
        entries.c.kind == "reserved",
    )
    .order_by(entries.c.number.desc())
    .limit(1)
)


def read_dataset(connection: Connection, name: str, *, lock: bool = False) -> DatasetState | None:
    """Read where a data set stands; with `lock`, nobody else changes it until the transaction ends."""
    row = connection.execute(_LOCKED_DATASET if lock else _DATASET, {"name": name}).one_or_none()
    return None if row is None else _dataset(row)


def read_datasets(connection: Connection) -> list[DatasetState]:
    """Read where all data sets stand, by name."""
    return [_dataset(row) for row in connection.execute(sa.select(datasets).order_by(datasets.c.name))]


def read_locked(connection: Connection, named: Collection[str], *, waits: bool = True) -> list[State]:
    """Read where accounts and their data sets stand; nobody else changes them until the transaction ends.

    Without waiting, those that somebody else has locked are left out.
    """
    names = sorted(named)
    alone = len(names) == 1
    rows = connection.execute(_LOCKED[alone, waits], {"named": names[0] if alone else names}).all()
    first = len(datasets.c)
    states: dict[str, State] = {}
    for row in rows:
        account = _account(_row_of(accounts, row[first:]))
        before = states.get(row[0])
        state = State(_dataset(_row_of(datasets, row[:first]))) if before is None else before
        states[row[0]] = replace(state, accounts={**state.accounts, account.name: account})
    return list(states.values())


def read_account(connection: Connection, name: str) -> tuple[str, AccountState] | None:
    """Read an account's data set and where it stands."""
    row = connection.execute(_ACCOUNT, {"name": name}).one_or_none()
    return None if row is None else (row.dataset, _account(row))


def read_accounts(connection: Connection, dataset: str | None = None) -> list[tuple[str, AccountState]]:
    """Read where all accounts stand, or those of one data set, by name."""
    query = sa.select(accounts).order_by(accounts.c.name)
    if dataset is not None:
        query = query.where(accounts.c.dataset == dataset)
    return [(row.dataset, _account(row)) for row in connection.execute(query)]


@dataclass(frozen=True)
class Page:
    """A part of a data set's entries: at most so many, after or before one of them, of some kinds or of all."""

    most: int
    after: int = 0
    before: int | None = None
    kinds: tuple[str, ...] = ()
    newest_first: bool = False

    def of(self, query: sa.Select[Any]) -> sa.Select[Any]:
        """Return what a query finds on this page."""
        query = query.where(entries.c.number > self.after)
        if self.before is not None:
            query = query.where(entries.c.number < self.before)
        if self.kinds:
            query = query.where(entries.c.kind.in_(self.kinds))
        order = entries.c.number.desc() if self.newest_first else entries.c.number
        return query.order_by(None).order_by(order).limit(self.most)


def read_entries(
    connection: Connection, dataset: str | None = None, account: str | None = None, page: Page | None = None
) -> Generator[tuple[Entry, str], None, None]:
    """Read entries in the order they were written, each with the hash that the store holds for it."""
    query = (
        sa.select(entries, _COUNTED)
        .join_from(entries, datasets, datasets.c.name == entries.c.dataset)
        .order_by(entries.c.dataset, entries.c.number)
    )
    if dataset is not None:
        query = query.where(entries.c.dataset == dataset)
    if account is not None:
        query = query.where(entries.c.account == account)
    if page is not None:
        query = page.of(query)
    with connection.execute(query, execution_options={"yield_per": 10_000}) as rows:
        for row in rows:
            yield _entry(row), row.hash


def read_hash(connection: Connection, dataset: str, number: int) -> str | None:
    """Read the stored hash of one entry."""
    query = sa.select(entries.c.hash).where(entries.c.dataset == dataset, entries.c.number == number)
    return connection.execute(query).scalar_one_or_none()


def read_hashes(connection: Connection) -> dict[tuple[str, int], str]:
    """Read the stored hash of every entry, by data set and number."""
    query = sa.select(entries.c.dataset, entries.c.number, entries.c.hash)
    return {(row.dataset, row.number): row.hash for row in connection.execute(query)}


def read_last_ceiling(connection: Connection, dataset: str, account: str) -> Amount | None:
    """Read what the last question of an account could have cost at most, a few entries before its end."""
    row = connection.execute(_LAST_CEILING, {"dataset": dataset, "account": account}).one_or_none()
    return None if row is None else Amount.read(row.rho, row.delta, read_kind(row.counted))


def read_held(connection: Connection, dataset: str, reservation: int) -> Held | None:
    """Read a reservation, if it is still open."""
    row = connection.execute(_HELD, {"dataset": dataset, "reservation": reservation}).one_or_none()
    return None if row is None else held(row)


_Record = TypeVar("_Record")


def _readable(read: Callable[[Any], _Record]) -> Callable[[Any], _Record]:
    """Say of a row that somebody wrote rubbish into that it cannot be read."""

    @wraps(read)
    def checked(row: Any) -> _Record:
        try:
            return read(row)
        except (TypeError, ValueError):
            raise LedgerError("The ledger holds a row that cannot be read: somebody changed it.") from None

    return checked


@_readable
def _dataset(row: Any) -> DatasetState:
    accounting = read_kind(row.kind)
    return DatasetState(
        name=row.name,
        total=Amount.read(row.rho, row.delta, accounting),
        unit=row.unit,
        adjacency=row.adjacency,
        source=row.source,
        version=row.version,
        used=Amount.read(row.rho_used, row.delta_used, accounting),
        reserved=Amount.read(row.rho_reserved, row.delta_reserved, accounting),
        failures=Failures(row.failures_allowed, row.failures_seen, row.questions_open),
        shares_source=bool(row.shares_source),
        kind=row.kind,
        policy=_policy(row.policy),
        day_name=row.day_name,
        day_used=Amount.read(row.day_rho, row.day_delta, accounting),
        last_number=row.last_number,
        last_hash=row.last_hash,
        last_time=row.last_time,
    )


@_readable
def _account(row: Any) -> AccountState:
    terms = _terms(row.terms)
    accounting = terms.accounting
    return AccountState(
        name=row.name,
        terms=terms,
        used=Amount.read(row.rho_used, row.delta_used, accounting),
        reserved=Amount.read(row.rho_reserved, row.delta_reserved, accounting),
        period_name=row.period_name,
        period_used=Amount.read(row.period_rho, row.period_delta, accounting),
        closed=bool(row.closed),
        failures=Failures(row.failures_allowed, row.failures_seen, row.questions_open),
    )


@lru_cache(maxsize=1_000)
def _terms(text: str) -> Terms:
    # They never change, and every question asks for them.
    return Terms.from_dict(json.loads(text))


@lru_cache(maxsize=1_000)
def _policy(text: str | None) -> Policy | None:
    return None if text is None else Policy.from_dict(json.loads(text))


@_readable
def _entry(row: Any) -> Entry:
    return Entry(
        dataset=row.dataset,
        number=row.number,
        kind=row.kind,
        time=row.time,
        account=row.account,
        reservation=row.reservation,
        amount=Amount.read(row.rho, row.delta, read_kind(row.counted)),
        body=json.loads(row.body),
        previous=row.previous,
    )


@_readable
def held(row: Any) -> Held:
    """Read what is held for a question that is being answered."""
    return Held(row.account, Amount.read(row.rho, row.delta, read_kind(row.counted)), row.period_name)


def _row_of(table: sa.Table, values: Sequence[Any]) -> SimpleNamespace:
    """Return one table's part of a joined row, under the table's own names."""
    return SimpleNamespace(**dict(zip(table.c.keys(), values, strict=True)))
