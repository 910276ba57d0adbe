"""What a transaction does to one data set: its chain grows, the cached state moves with it, and rows are written.

Each statement is a way to the server and back, during which a data set stays locked for everybody else. So on
PostgreSQL all rows go into one: as plain values while each is the only one of its kind, and else as a list in JSON
for each kind, so that the statement for two rows is also the one for fifty. SQLite has no such way to go, and
cannot change rows inside a `WITH`: it gets a statement for each kind of row.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from unlisted.errors import LedgerError
from unlisted.ledger.amounts import Amount, nothing
from unlisted.ledger.entries import Entry, Kind, canonical
from unlisted.ledger.schema import accounts, datasets, entries, questions
from unlisted.ledger.state import AccountState, DatasetState, Failures, State

Now = Callable[[str], str]
"""Returns the time of the next entry, given that of the last: the clock's, but never before the last entry's."""

_HEAVY_BYTES = 100_000
_Shape = tuple[sa.Table, tuple[str, ...], tuple[str, ...]]


class RowChangedError(LedgerError):
    """A row to change is not as it was. The transaction that found it out writes nothing."""


@dataclass(frozen=True)
class Write:
    """One row to insert, or, where `found_by` says which, to change."""

    table: sa.Table
    values: Mapping[str, object]
    found_by: Mapping[str, object] = field(default_factory=dict)

    @property
    def shape(self) -> _Shape:
        """What the statement is made of; rows of one shape share it."""
        return self.table, tuple(self.values), tuple(self.found_by)

    @property
    def is_heavy(self) -> bool:
        """Whether the row is better sent alone, and as it is, than in a text with others."""
        return any(isinstance(value, bytes) and len(value) > _HEAVY_BYTES for value in self.values.values())

    def parameters(self, place: int) -> dict[str, object]:
        """Return the values under names that no row of another place has."""
        changed = {_new(name, place): value for name, value in self.values.items()}
        return changed | {_old(name, place): value for name, value in self.found_by.items()}


@dataclass
class Change:
    """A transaction on one data set, before it is written."""

    connection: Connection
    now: Now
    state: State
    entries: list[Entry] = field(default_factory=list)
    questions: list[Write] = field(default_factory=list)
    by: str | None = None

    def account(self, name: str) -> AccountState:
        """Return where an account stands now."""
        return self.state.accounts[name]

    def append(
        self,
        kind: Kind,
        *,
        account: str | None = None,
        reservation: int | None = None,
        amount: Amount | None = None,
        body: dict[str, Any] | None = None,
    ) -> Entry:
        """Add an entry at the end of the chain, with whoever does it, if that is known."""
        dataset = self.state.dataset
        said = {} if self.by is None else {"by": self.by}
        entry = Entry(
            dataset=dataset.name,
            number=dataset.last_number + 1,
            kind=kind,
            time=self.now(dataset.last_time),
            account=account,
            reservation=reservation,
            amount=nothing(dataset.accounting) if amount is None else amount,
            body={**(body or {}), **said},
            previous=dataset.last_hash,
        )
        self.state = self.state.after(entry)
        self.entries.append(entry)
        return entry

    @contextmanager
    def step(self) -> Iterator[None]:
        """Take back what was added inside if it fails; what was added before stays."""
        state, entries, questions = self.state, len(self.entries), len(self.questions)
        try:
            yield
        except BaseException:
            self.state = state
            del self.entries[entries:]
            del self.questions[questions:]
            raise

    def rows(self) -> list[Write]:
        """Return what is to be written: the new entries, where all stand after them, and the questions."""
        if not self.entries:
            return []
        dataset = self.state.dataset
        opened = {entry.account for entry in self.entries if entry.kind == "opened"}
        spoken_of = {entry.account: self.state.accounts[entry.account] for entry in self.entries if entry.account}
        rows = [_written_dataset(dataset, new=None in opened)]
        rows += [_written_account(dataset.name, one, new=name in opened) for name, one in spoken_of.items()]
        rows += [_written_entry(entry) for entry in self.entries]
        return rows + self.questions


def asked_question(**values: object) -> Write:
    """Say what was asked beside its reservation, while it is being answered."""
    return Write(questions, {**values, "state": "open"})


def ended_question(dataset: str, reservation: int, **values: object) -> Write:
    """Say what became of an open question: its answer, or that there is none."""
    return Write(questions, values, {"dataset": dataset, "reservation": reservation, "state": "open"})


def key_digest(key: str | None) -> str | None:
    """Return what the chain says of an idempotency key; one that is changed in the store is then found."""
    return None if key is None else hashlib.sha256(key.encode()).hexdigest()


def _written_dataset(state: DatasetState, *, new: bool) -> Write:
    """Say where a data set stands."""
    values = {
        "unit": state.unit,
        "adjacency": state.adjacency,
        "source": state.source,
        "version": state.version,
        "kind": state.kind,
        **_amount("", state.total),
        **_amount("_used", state.used),
        **_amount("_reserved", state.reserved),
        **_failures(state.failures),
        "shares_source": state.shares_source,
        "policy": None if state.policy is None else canonical(state.policy.as_dict()),
        "day_name": state.day_name,
        "day_rho": state.day_used.texts[0],
        "day_delta": state.day_used.texts[1],
        "last_number": state.last_number,
        "last_hash": state.last_hash,
        "last_time": state.last_time,
    }
    name = {"name": state.name}
    return Write(datasets, {**name, **values}) if new else Write(datasets, values, name)


def _written_account(dataset: str, state: AccountState, *, new: bool) -> Write:
    """Say where an account stands."""
    values = {
        "closed": state.closed,
        **_amount("_used", state.used),
        **_amount("_reserved", state.reserved),
        "period_name": state.period_name,
        "period_rho": state.period_used.texts[0],
        "period_delta": state.period_used.texts[1],
        **_failures(state.failures),
    }
    if not new:
        return Write(accounts, values, {"name": state.name})
    fixed = {"name": state.name, "dataset": dataset, "terms": canonical(state.terms.as_dict())}
    return Write(accounts, {**fixed, **values})


def _written_entry(entry: Entry) -> Write:
    """Say an entry at the end of its chain; its number can be taken only once."""
    rho, delta = entry.amount.texts
    return Write(
        entries,
        {
            "dataset": entry.dataset,
            "number": entry.number,
            "kind": entry.kind,
            "time": entry.time,
            "account": entry.account,
            "reservation": entry.reservation,
            "rho": rho,
            "delta": delta,
            "body": canonical(entry.body),
            "previous": entry.previous,
            "hash": entry.hash,
        },
    )


def _amount(suffix: str, amount: Amount) -> dict[str, str]:
    rho, delta = amount.texts
    return {f"rho{suffix}": rho, f"delta{suffix}": delta}


def _failures(failures: Failures) -> dict[str, int]:
    return {
        "failures_allowed": failures.allowed,
        "failures_seen": failures.seen,
        "questions_open": failures.open,
    }


def write(connection: Connection, rows: Sequence[Write]) -> None:
    """Write rows, no row twice; refuse if one that is to be changed is not there to be found."""
    if connection.dialect.name == "postgresql":
        light = [row for row in rows if not row.is_heavy]
        heavy = [_by_shape([row]) for row in rows if row.is_heavy]
        changed = sum(_write_at_once(connection, kinds) for kinds in (_by_shape(light), *heavy))
    else:
        changed = _write_in_turn(connection, _by_shape(rows))
    if changed != sum(bool(row.found_by) for row in rows):
        raise RowChangedError("The ledger changed in the meantime. Nothing was written.")


def _by_shape(rows: Iterable[Write]) -> dict[_Shape, list[Write]]:
    kinds: dict[_Shape, list[Write]] = {}
    for row in rows:
        kinds.setdefault(row.shape, []).append(row)
    return kinds


def _write_in_turn(connection: Connection, kinds: Mapping[_Shape, Sequence[Write]]) -> int:
    """Send a statement for each kind of row; return how many rows were there to be changed."""
    changed = 0
    for shape, same in kinds.items():
        values = [(*row.values.values(), *row.found_by.values()) for row in same]
        done = connection.exec_driver_sql(_text_for_each(shape), values if len(values) > 1 else values[0])
        changed += done.rowcount if shape[2] else 0
    return changed


def _write_at_once(connection: Connection, kinds: Mapping[_Shape, Sequence[Write]]) -> int:
    """Send one statement for all; return how many rows were there to be changed."""
    if not kinds:
        return 0
    parameters: dict[str, object] = {}
    alone = all(len(same) == 1 for same in kinds.values())
    for place, same in enumerate(kinds.values()):
        rows = [row.parameters(place) for row in same]
        parameters |= rows[0] if alone else {_listed(place): json.dumps(rows, default=_bytes_as_text)}
    changed: int = connection.execute(_statement_for_all(tuple(kinds), listed=not alone), parameters).scalar_one()
    return changed


def _bytes_as_text(value: bytes) -> str:
    return f"\\x{value.hex()}"


# Building a statement takes longer than running it: each is built once.


@cache
def _text_for_each(shape: _Shape) -> str:
    """Return the statement for one row as SQLite reads it: to send it as a text takes half the time."""
    table, columns, found_by = shape
    # All names are those of our own tables.
    if found_by:
        changes, found = (
            ", ".join(f"{name} = ?" for name in columns),
            " AND ".join(f"{name} = ?" for name in found_by),
        )
        return f"UPDATE {table.name} SET {changes} WHERE {found}"  # noqa: S608
    return f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608


@cache
def _statement_for_all(shapes: tuple[_Shape, ...], *, listed: bool) -> sa.Select[int]:
    """Return a statement that writes rows of all shapes and counts those that were there to be changed."""
    statements = [_statement(place, shape, listed=listed) for place, shape in enumerate(shapes)]
    inserts = [one.cte() for one in statements if isinstance(one, sa.Insert)]
    changes = [
        one.returning(sa.literal(1).label("found")).cte() for one in statements if isinstance(one, sa.Update)
    ]
    counts = (sa.select(sa.func.count()).select_from(change).scalar_subquery() for change in changes)
    total: sa.ColumnElement[int] = sum(counts, sa.literal(0))
    return sa.select(total).add_cte(*inserts)


def _statement(place: int, shape: _Shape, *, listed: bool) -> sa.Insert | sa.Update:
    """Return the insert or update of one row, or of as many as are in a list."""
    table, columns, found_by = shape
    types = {_new(name, place): table.c[name].type for name in columns}
    types |= {_old(name, place): table.c[name].type for name in found_by}
    given: Mapping[str, sa.ColumnElement[object]]
    if listed:
        rows = sa.func.json_to_recordset(sa.cast(sa.bindparam(_listed(place), type_=sa.Text), sa.JSON))
        named = rows.table_valued(*(sa.column(name, kind) for name, kind in types.items()))
        given = dict(named.render_derived(name=f"given_{place}", with_types=True).c)
    else:
        given = {name: sa.bindparam(name, type_=kind) for name, kind in types.items()}
    values = {name: given[_new(name, place)] for name in columns}
    if found_by:
        return (
            table.update().where(*(table.c[name] == given[_old(name, place)] for name in found_by)).values(values)
        )
    return table.insert().from_select(list(columns), sa.select(*values.values()))


def _listed(place: int) -> str:
    return f"listed_{place}"


def _new(name: str, place: int) -> str:
    return f"new_{name}_{place}"


def _old(name: str, place: int) -> str:
    return f"old_{name}_{place}"
