"""The columns of an item, and the names under which statements carry, group, order and release them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from unlisted.tables.column_types import ColumnType
from unlisted.tables.count_query import CountQuery


@dataclass(frozen=True)
class ItemColumn:
    """One column of an item, and the names under which the statements carry it.

    Engines hold -0.0 and 0.0 for equal when they group. A floating-point column travels with a flag that is true
    for -0.0, so that labels are told apart by their bytes.
    """

    source: str
    kind: ColumnType
    at: int

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


def item_columns(question: CountQuery, columns: Mapping[str, ColumnType]) -> tuple[ItemColumn, ...]:
    """Return the columns of the question's items."""
    return tuple(ItemColumn(name, columns[name], at) for at, name in enumerate(question.items))


def keys_of(items: tuple[ItemColumn, ...]) -> str:
    """List the names by which items are grouped."""
    return ", ".join(key for item in items for key in item.keys)
