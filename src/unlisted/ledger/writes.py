"""The rows that a transaction writes, sent together: one statement on PostgreSQL, a few on SQLite.

Each statement is a way to the server and back, during which a data set stays locked for everybody else. So on
PostgreSQL all rows go into one: as plain values while each is the only one of its kind, and else as a list in JSON
for each kind, so that the statement for two rows is also the one for fifty. SQLite has no such way to go, and
cannot change rows inside a `WITH`: it gets a statement for each kind of row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import sqlalchemy as sa
from sqlalchemy import Connection

from unlisted.ledger.failures import RowChangedError

_HEAVY_BYTES = 100_000
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

    @property
    def is_heavy(self) -> bool:
        """Whether the row is better sent alone, and as it is, than in a text with others."""
        return any(isinstance(value, bytes) and len(value) > _HEAVY_BYTES for value in self.values.values())

    def parameters(self, place: int) -> dict[str, object]:
        """Return the values under names that no row of another place has."""
        changed = {_new(name, place): value for name, value in self.values.items()}
        return changed | {_old(name, place): value for name, value in self.found_by.items()}


def write(connection: Connection, rows: Sequence[Write]) -> None:
    """Write rows, no row twice; refuse if one that is to be changed is not there to be found."""
    if connection.dialect.name == "postgresql":
        light = [row for row in rows if not row.is_heavy]
        heavy = [_by_shape([row]) for row in rows if row.is_heavy]
        changed = sum(_write_at_once(connection, kinds) for kinds in (_by_shape(light), *heavy))
    else:
        changed = _write_in_turn(connection, _by_shape(rows))
    if changed != sum(bool(row.found_by) for row in rows):
        raise RowChangedError("The ledger changed meanwhile: a row is not as it was. Nothing was written.")


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
