"""What PostgreSQL's types are to us: how a column is named, made plain, and carried out as Arrow.

The server itself describes its columns: a query that returns no rows comes with the type of each column, domains
already resolved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from unlisted.tables.column_types import ColumnType
from unlisted.tables.engines.dialect import quoted, within_calendar

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresColumn", "arrow_table", "described"]

_KINDS = {
    **dict.fromkeys(("int2", "int4", "int8"), ColumnType.INTEGER),
    **dict.fromkeys(("float4", "float8"), ColumnType.FLOAT),
    **dict.fromkeys(("text", "varchar", "bpchar", "char", "name", "citext", "uuid"), ColumnType.TEXT),
    "numeric": ColumnType.DECIMAL,
    "bool": ColumnType.BOOLEAN,
    "date": ColumnType.DATE,
    "timestamp": ColumnType.TIMESTAMP,
}
_ARROW = {
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "text": pa.string(),
    "bool": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}
_DIGITS = 38
"""An Arrow decimal has this many; a `numeric` of the server can have thousands."""

_UNDECLARED_SCALE = 18


@dataclass(frozen=True)
class PostgresColumn:
    """One column: its name, the server's word for its type, and the digits of a `numeric` that declares them."""

    name: str
    type_name: str
    kind: ColumnType
    precision: int | None = None
    scale: int | None = None

    def plain(self) -> str:
        """Return it in the shared dialect as a value that compares by its bytes and never raises."""
        column = quoted(self.name)
        match self.kind:
            case ColumnType.TEXT if self.type_name == "bpchar":
                # A cast would cut the blanks off, and they are bytes of the value; CONCAT leaves them.
                return f'CASE WHEN {column} IS NULL THEN NULL ELSE CONCAT({column}) END COLLATE "C"'
            case ColumnType.TEXT | ColumnType.OTHER:
                # What is no item can be a user; some such types know no equality, but their text does.
                return f'CAST({column} AS VARCHAR) COLLATE "C"'
            case ColumnType.FLOAT:
                return f"NULLIF({column}, CAST('NaN' AS DOUBLE))"
            case ColumnType.DECIMAL:
                return self._plain_decimal(column)
            case ColumnType.DATE | ColumnType.TIMESTAMP:
                return within_calendar(column, self.kind)
        return column

    @property
    def arrow_type(self) -> pa.DataType:
        """The type in which it leaves."""
        if self.type_name == "numeric":
            return pa.decimal128(self.precision or _DIGITS, self.scale or 0)
        return _ARROW[self.type_name]

    def _plain_decimal(self, column: str) -> str:
        """Return a number with declared digits as it is, and any other iff it fits, exactly, into 38 digits."""
        if self.precision is not None and self.scale is not None and 0 <= self.scale <= self.precision <= _DIGITS:
            return f"NULLIF({column}, CAST('NaN' AS DECIMAL({self.precision}, {self.scale})))"
        scale = _UNDECLARED_SCALE
        fits = f"ABS({column}) < 1e{_DIGITS - scale} AND {column} = ROUND({column}, {scale})"
        return f"CAST(CASE WHEN {fits} THEN {column} END AS DECIMAL({_DIGITS}, {scale}))"


def described(connection: psycopg.Connection[Any], source: str) -> Mapping[str, PostgresColumn]:
    """Return the columns of a source without reading a row of it."""
    cursor = connection.execute(f"SELECT * FROM {source} AS described LIMIT 0".encode())  # noqa: S608
    columns = cursor.description or []
    type_of = {
        oid: ("text" if is_enum else name, is_enum)
        for oid, name, is_enum in connection.execute(
            "SELECT oid, typname, typtype = 'e' FROM pg_catalog.pg_type WHERE oid = ANY(%s)",
            [[column.type_code for column in columns]],
        )
    }
    found = {}
    for column in columns:
        type_name, is_enum = type_of[column.type_code]
        kind = ColumnType.TEXT if is_enum else _KINDS.get(type_name, ColumnType.OTHER)
        found[column.name] = PostgresColumn(column.name, type_name, kind, column.precision, column.scale)
    return found


def arrow_table(cursor: psycopg.Cursor[Any]) -> pa.Table:
    """Bring the rows of a finished query out."""
    import psycopg  # noqa: PLC0415 - only where a server is used

    columns = [
        PostgresColumn(
            column.name,
            psycopg.adapters.types[column.type_code].name,
            ColumnType.OTHER,
            column.precision,
            column.scale,
        )
        for column in cursor.description or []
    ]
    values = zip(*cursor.fetchall(), strict=True) if cursor.rowcount else [[] for _ in columns]
    arrays = [pa.array(list(one), type=column.arrow_type) for column, one in zip(columns, values, strict=True)]
    return pa.table(arrays, names=[column.name for column in columns])
