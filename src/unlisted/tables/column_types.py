"""What a column holds, in the few words that all engines share.

Free of imports on purpose: an engine describes its columns with it on every run, and a predicate, which needs
a parser, is only sometimes there.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

__all__ = ["ColumnType", "FirstLine", "told"]


class ColumnType(Enum):
    """The type of a column as predicates see it; the value is the word that `types=` takes.

    A column that fits none of these is `OTHER`, and a predicate may only ask whether it is NULL. So is an
    `INSTANT`, a moment with a time zone: which day it is depends on where one is, until a zone is declared.

    - `TEXT`: strings.
    - `INTEGER`: whole numbers of at most 128 bits with a sign. An unsigned 128-bit column is `OTHER`, because
      engines raise when they compare it with a negative number.
    - `DECIMAL`: exact decimals of any precision. `FLOAT`: binary floating point, single or double.
    - `BOOLEAN`.
    - `DATE`: a day. `TIMESTAMP`: a day and a time without a zone, at any resolution.
    """

    TEXT = "text"
    INTEGER = "int"
    DECIMAL = "decimal"
    FLOAT = "float"
    BOOLEAN = "bool"
    DATE = "date"
    TIMESTAMP = "timestamp"
    INSTANT = "timestamp with a time zone"
    OTHER = "other"

    @property
    def is_plain(self) -> bool:
        """Whether its values can be counted and compared."""
        return self not in (ColumnType.OTHER, ColumnType.INSTANT)

    @property
    def is_number(self) -> bool:
        """Whether arithmetic may use it."""
        return self in (ColumnType.INTEGER, ColumnType.DECIMAL, ColumnType.FLOAT)


class Columns(dict[str, ColumnType]):
    """Columns by their names, with a `hint` if something may be wrong with how names were given or read."""

    def __init__(self, columns: Mapping[str, ColumnType], hint: str = "") -> None:
        super().__init__(columns)
        self.hint = hint


class FirstLine(Columns):
    """Columns that are named by the first line of a file. If the file has no header, that line is a row."""

    NOT_SHOWN = "The columns are named by the first line of the file, which is not shown here."


def told(columns: Mapping[str, ColumnType]) -> str:
    """Say which columns there are; of a first line that nobody has vouched for, only where to look."""
    if isinstance(columns, FirstLine):
        return f"{FirstLine.NOT_SHOWN} {columns.hint}".rstrip()
    hint = columns.hint if isinstance(columns, Columns) else ""
    return f"The columns are: {', '.join(columns) or 'none'}. {hint}".rstrip()
