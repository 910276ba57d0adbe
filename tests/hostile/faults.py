"""Faults to plant: engines, readers and bounds that are wrong in one way, to see that the harness says so."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from tests.hostile.neighbours import Ask
from tests.hostile.rows import ROLES, SECRET_ITEM, VILLAIN, Row, Rows

from unlisted.errors import InvalidArgumentError
from unlisted.tables.engines.engine import World
from unlisted.tables.table import Table

Fault = Callable[[Ask], Ask]


def holds_villain(rows: Rows) -> bool:
    """Whether a table is the one with the hostile row."""
    return any(_is_villains(row) for row in rows.rows)


def _is_villains(row: Row) -> bool:
    return any(isinstance(cell, str) and cell.startswith((VILLAIN, SECRET_ITEM)) for cell in row)


class _Wrapped:
    """An engine that says a word of ours when its columns, or its rows, are looked at."""

    def __init__(self, engine: Any, at_columns: Callable[[], None], at_rows: Callable[[], None]) -> None:
        self._engine, self._at_columns, self._at_rows = engine, at_columns, at_rows

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def key(self, text: str) -> str:
        return str(self._engine.key(text))

    def columns(self) -> Any:
        self._at_columns()
        return self._engine.columns()

    def world(self, rows: Any) -> AbstractContextManager[World]:
        self._at_rows()
        world: AbstractContextManager[World] = self._engine.world(rows)
        return world


def _silent() -> None:
    pass


def _when_there(*, at_columns: Callable[[], None] = _silent, at_rows: Callable[[], None] = _silent) -> Fault:
    def fault(ask: Ask) -> Ask:
        def asked(rows: Rows) -> Table:
            table = ask(rows)
            if holds_villain(rows):
                wrong: Any = _Wrapped(table.engine, at_columns, at_rows)
                return Table(wrong, table.user, table.source, table.reading)
            return table

        return asked

    return fault


def _raise() -> None:
    raise ValueError("not a number")


def _refuse() -> None:
    raise InvalidArgumentError("source", "a table", "a table without strange rows")


def _refuse_aloud() -> None:
    raise InvalidArgumentError("source", f"{VILLAIN}0", "a table without strange rows")


def _log() -> None:
    logging.getLogger("some.engine").debug("skipped %s0", VILLAIN)


def _rows_changed(change: Callable[[Rows], list[Row]]) -> Fault:
    def fault(ask: Ask) -> Ask:
        return lambda rows: ask(replace(rows, rows=tuple(change(rows))) if holds_villain(rows) else rows)

    return fault


def _one_row_less(rows: Rows) -> list[Row]:
    """Another user's row goes with the hostile one."""
    lost = next(at for at, row in enumerate(rows.rows) if not _is_villains(row))
    return [row for at, row in enumerate(rows.rows) if at != lost]


def _as_many_users(rows: Rows) -> list[Row]:
    """The bound does not hold: each of the villain's rows is a user of its own, as other spellings would be."""
    return [(f"{row[0]}{at}" if _is_villains(row) else row[0], *row[1:]) for at, row in enumerate(rows.rows)]


def _role_replaced(rows: Rows, cell: Any) -> list[Row]:
    """The hostile cell is read as something else."""
    at = ROLES.index(rows.role)
    return [(*row[:at], cell, *row[at + 1 :]) if _is_hostile(row, rows) else row for row in rows.rows]


def _is_hostile(row: Row, rows: Rows) -> bool:
    return row[ROLES.index(rows.role)] not in rows.kind.calm and _is_villains(row)


def read_as(cell: Any) -> Fault:
    """Plant a reader that mends what it cannot read."""
    return _rows_changed(lambda rows: _role_replaced(rows, cell))


FAULTS: dict[str, Fault] = {
    "raises": _when_there(at_rows=_raise),
    "refuses": _when_there(at_columns=_refuse),
    "refuses aloud": _when_there(at_columns=_refuse_aloud),
    "logs": _when_there(at_rows=_log),
    "loses another row": _rows_changed(_one_row_less),
    "forgets the bound": _rows_changed(_as_many_users),
}
