"""A column that is text in a file, as what it is declared to hold."""

from __future__ import annotations

from dataclasses import dataclass

from unlisted.tables.column_types import ColumnType
from unlisted.tables.engines.duckdb.columns import literal

DECLARED = {
    ColumnType.TEXT: "VARCHAR",
    ColumnType.INTEGER: "BIGINT",
    ColumnType.DECIMAL: "DECIMAL(38,18)",
    ColumnType.FLOAT: "DOUBLE",
    ColumnType.BOOLEAN: "BOOLEAN",
    ColumnType.DATE: "DATE",
    ColumnType.TIMESTAMP: "TIMESTAMP",
}
"""What a word of `types=` is in DuckDB."""

_FRACTIONS = (ColumnType.DECIMAL, ColumnType.FLOAT)
_MOMENTS = (ColumnType.DATE, ColumnType.TIMESTAMP)


@dataclass(frozen=True)
class Declared:
    """The expression for a text, and what it is declared to hold.

    `decimal` separates the decimals of a number, and `date_format` says how dates and timestamps are written; None
    is as everywhere in computing. With `or_plain` a date may be written that way too.
    """

    text: str
    kind: ColumnType
    decimal: str | None = None
    date_format: str | None = None
    or_plain: bool = False

    @property
    def value(self) -> str:
        """The text as what it is declared to be; NULL where it is not that. It never raises."""
        native = DECLARED[self.kind]
        if self.kind is ColumnType.TEXT:
            return self.text
        if self.kind in _MOMENTS and self.date_format is not None:
            value = f"TRY_CAST(TRY_STRPTIME({self.text}, {literal(self.date_format)}) AS {native})"
            return f"COALESCE({value}, TRY_CAST({self.text} AS {native}))" if self.or_plain else value
        if self.kind in _FRACTIONS and self.decimal == ",":
            with_point = f"REPLACE({self.text}, ',', '.')"
            return f"CASE WHEN NOT CONTAINS({self.text}, '.') THEN TRY_CAST({with_point} AS {native}) END"
        value = f"TRY_CAST({self.text} AS {native})"
        if self.kind is ColumnType.INTEGER:
            # A cast alone rounds 1.5 to 2.
            return rf"CASE WHEN REGEXP_FULL_MATCH({self.text}, '\s*[+-]?[0-9]+\s*') THEN {value} END"
        return value

    @property
    def parses(self) -> str:
        """Whether the text is missing or is what it is declared to be."""
        return f"({self.text} IS NULL OR {self.value} IS NOT NULL)"
