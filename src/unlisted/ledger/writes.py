"""The rows that a transaction writes, sent together: one statement on PostgreSQL, one for each row on SQLite.

Each statement is a way to the server and back, during which a data set stays locked for everybody else. SQLite
has no such way to go, and cannot change rows inside a `WITH`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import sqlalchemy as sa
from sqlalchemy import Connection

from unlisted.errors import LedgerError

_Shape = tuple[sa.Table, tuple[str, ...], tuple[str, ...]]


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

    def parameters(self, place: int) -> dict[str, object]:
        """Return the values under names that no other row of the statement has."""
        changed = {_new(name, place): value for name, value in self.values.items()}
        return changed | {_old(name, place): value for name, value in self.found_by.items()}


def write(connection: Connection, rows: Sequence[Write]) -> None:
    """Write rows, no row twice; refuse if the last is one to change and is not there to be found."""
    together = connection.dialect.name == "postgresql"
    for batch in [rows] if together else [[row] for row in rows]:
        parameters: dict[str, object] = {}
        for place, row in enumerate(batch):
            parameters |= row.parameters(place)
        done = connection.execute(_statement(tuple(row.shape for row in batch)), parameters)
        if done.rowcount != 1:
            raise LedgerError("The ledger changed meanwhile: a row is not as it was. Nothing was written.")


@cache
def _statement(shapes: tuple[_Shape, ...]) -> sa.Insert | sa.Update:
    """Return the last row's statement with all others before it. Building takes longer than running: once."""
    *others, last = (_one(place, *shape) for place, shape in enumerate(shapes))
    return last.add_cte(*(other.cte(f"row_{place}") for place, other in enumerate(others)))


def _one(
    place: int, table: sa.Table, columns: tuple[str, ...], found_by: tuple[str, ...]
) -> sa.Insert | sa.Update:
    values = {name: sa.bindparam(_new(name, place), type_=table.c[name].type) for name in columns}
    if not found_by:
        return table.insert().values(values).execution_options(preserve_rowcount=True)
    found = (table.c[name] == sa.bindparam(_old(name, place), type_=table.c[name].type) for name in found_by)
    return table.update().where(*found).values(values)


def _new(name: str, place: int) -> str:
    return f"new_{name}_{place}"


def _old(name: str, place: int) -> str:
    return f"old_{name}_{place}"
