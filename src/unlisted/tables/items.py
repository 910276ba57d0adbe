"""The columns of an item, and the names under which statements carry, group, order and release them.

An item is the name of a column, or what is to be computed from columns (`predicate/functions.py`), with `AS name`
behind it if the answer's column is to have another name. What is the name of a column, exactly, is that column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unlisted.errors import InvalidArgumentError
from unlisted.tables.column_types import ColumnType, told
from unlisted.tables.engines.engine import Columnar, Rows

if TYPE_CHECKING:
    # It brings sqlglot, which an item that is a column does not need.
    from unlisted.tables.predicate.grammar import Computed, Predicate

_NAMED = re.compile(
    r"(?P<value>.*\S)\s+AS\s+(?:(?P<word>\w+)|\"(?P<quoted>(?:[^\"]|\"\")+)\")\s*", re.DOTALL | re.I
)
_SIGNS = frozenset("()+-*/%<>=\"'")


@dataclass(frozen=True)
class ItemColumn:
    """One column of an item, and the names under which the statements carry it.

    `source` is its name among the rows that statements read; `computed` says how it comes to be there, unless it
    is a column of the source. Engines hold -0.0 and 0.0 for equal when they group. A floating-point column travels
    with a flag that is true for -0.0, so that labels are told apart by their bytes.
    """

    source: str
    kind: ColumnType
    at: int
    computed: Computed | None = None

    @property
    def columns(self) -> frozenset[str]:
        """The columns of the source that it is, or is computed from."""
        return frozenset({self.source}) if self.computed is None else self.computed.columns

    def read(self, engine: Columnar) -> str:
        """Return the value among the rows of an engine: one that compares by its bytes."""
        # What is computed was made of plain values, and is plain itself.
        return engine.plain(self.source) if self.computed is None else f'"{self.source}"'

    @property
    def value(self) -> str:
        """The name of the value."""
        return f'"i{self.at}"'

    @property
    def keys(self) -> tuple[str, ...]:
        """The names by which the column is grouped."""
        return (self.value, self._flag) if self.kind is ColumnType.FLOAT else (self.value,)

    @property
    def order(self) -> tuple[str, ...]:
        """The names by which the column is ordered, -0.0 before 0.0."""
        return (self.value, f"{self._flag} DESC") if self.kind is ColumnType.FLOAT else (self.value,)

    @property
    def flag(self) -> str | None:
        """What is true for -0.0, if the column knows it."""
        if self.kind is not ColumnType.FLOAT:
            return None
        is_negative = f"CAST({self.value} AS VARCHAR) LIKE '-%'"
        return f"CASE WHEN {self.value} = 0 THEN {is_negative} ELSE FALSE END AS {self._flag}"

    @property
    def text(self) -> str:
        """The value as text, different for different values."""
        return self.value if self.kind is ColumnType.TEXT else f"CAST({self.value} AS VARCHAR)"

    @property
    def label(self) -> str:
        """The value as it is released, under its own name among the answer's columns."""
        if self.kind is not ColumnType.FLOAT:
            return self.value
        # An engine that groups -0.0 with 0.0 may also have rewritten it.
        return f"CASE WHEN {self._flag} THEN -ABS({self.value}) ELSE {self.value} END AS {self.value}"

    @property
    def _flag(self) -> str:
        return f'"z{self.at}"'


def item_columns(items: tuple[str, ...], columns: Mapping[str, ColumnType]) -> tuple[ItemColumn, ...]:
    """Return the columns of an item, as it was asked for, checked against those there are."""
    return tuple(_item_column(item, columns, at) for at, item in enumerate(items))


def _item_column(item: str, columns: Mapping[str, ColumnType], at: int) -> ItemColumn:
    if item in columns:
        return ItemColumn(item, columns[item], at)
    named = _NAMED.fullmatch(item)
    if named is None and not _SIGNS.intersection(item):
        hint = f"{told(columns)} Or compute one, as in lower(query)."
        raise InvalidArgumentError("item", item, "a column of the source", hint)
    value = item if named is None else named["value"]
    if value in columns:
        return ItemColumn(value, columns[value], at)
    # The parser is imported for those who need it only: that takes longer than a small question.
    from unlisted.tables.predicate.grammar import parse_item  # noqa: PLC0415

    found = parse_item(value, columns)
    if isinstance(found, str):
        return ItemColumn(found, columns[found], at)
    name, taken = f"unlisted_item{at}", {column.casefold() for column in columns}
    while name in taken:
        name += "_"
    return ItemColumn(name, found.kind, at, found)


def rows_of(
    items: tuple[ItemColumn, ...],
    user: str | None = None,
    where: Predicate | None = None,
    more: tuple[str, ...] = (),
) -> Rows:
    """Return the rows that statements about these items read: whose they are, and which pass a condition.

    `more` are columns that are read beside the items.
    """
    named = tuple(item.source for item in items if item.computed is None)
    computed = tuple((item.source, item.computed) for item in items if item.computed is not None)
    read = tuple(dict.fromkeys((*(() if user is None else (user,)), *named, *more)))
    return Rows(read, where, user, computed=computed)


def answer_name(item: str) -> str:
    """Return what the column of an item is called in an answer: as it is written, or what stands behind `AS`."""
    named = _NAMED.fullmatch(item)
    if named is None:
        return item
    return str(named["word"]) if named["word"] else str(named["quoted"]).replace('""', '"')


def keys_of(items: tuple[ItemColumn, ...]) -> str:
    """List the names by which items are grouped."""
    return ", ".join(key for item in items for key in item.keys)


def quoted_name(name: str) -> str:
    """Return a name as the shared dialect and predicates write it."""
    return '"' + name.replace('"', '""') + '"'
