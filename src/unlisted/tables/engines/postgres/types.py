"""What PostgreSQL's types are to us: how a column is named, made plain, and carried out as Arrow.

The server itself describes its columns: a query that returns no rows comes with the type of each column, domains
already resolved.

A label is its bytes. A user is who the server's `=` says it is, and that is often coarser: `citext` does not see
case, `char(n)` no blanks at its end, `interval` takes a month for 30 days, and a collation may take any two texts
for one. Such a column is made canonical where that can be said in SQL, and refused as a user where it cannot. So
is every type that is not listed here, a type of an extension that happens to be called `text` among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from unlisted.counts.readable import LONGEST_USER
from unlisted.tables.column_types import ColumnType
from unlisted.tables.engines.dialect import local_time, quoted, within_calendar
from unlisted.tables.engines.engine import no_user

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresColumn", "arrow_table", "described"]

_ENUM = "an enumeration"
_KINDS = {
    **dict.fromkeys(("int2", "int4", "int8"), ColumnType.INTEGER),
    **dict.fromkeys(("float4", "float8"), ColumnType.FLOAT),
    **dict.fromkeys(("text", "varchar", "bpchar", "char", "name", "citext", "uuid", _ENUM), ColumnType.TEXT),
    "numeric": ColumnType.DECIMAL,
    "bool": ColumnType.BOOLEAN,
    "date": ColumnType.DATE,
    "timestamp": ColumnType.TIMESTAMP,
    "timestamptz": ColumnType.INSTANT,
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
_SAME_TEXT = frozenset(
    {
        *("text", "varchar", "char", "name", "uuid", "int2", "int4", "int8", "oid", "numeric"),
        *(_ENUM, "bool"),
        *("date", "time", "timetz", "timestamp", "timestamptz", "bytea", "bit", "varbit"),
        *("inet", "cidr", "macaddr", "macaddr8"),
    }
)
"""Types of which two values are equal for the server if and only if their plain forms are the same text.

`timestamptz` is shown in UTC, so one moment has one text; `timetz` compares the zone as well. Addresses are shown
with the length of their network, which their `=` compares too. A `numeric` has the digits of its column, or of the
cast in its plain form."""

_COLLATED = frozenset({"text", "varchar", "bpchar"})
_WAYS_OUT = {
    "interval": "For the server a month equals 30 days and a day 24 hours, but their texts differ. Make it a "
    "number in a view: EXTRACT(EPOCH FROM {0}).",
    "json": "The server has no equality for it. Take one field of it in a view: {0} ->> 'id'.",
    "jsonb": "The server takes 1.0 and 1.00 in it for the same. Take one field of it in a view: {0} ->> 'id'.",
    "money": "How it is written depends on the server. Make it a number in a view: CAST({0} AS numeric(20, 2)).",
}
_ANY_WAY_OUT = "Make it text, a number or a UUID in a view, in one form for each person, such as lower({0}::text)."

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
    is_told_apart_by_bytes: bool = True
    """Whether its collation, if it has one, holds only those texts for equal that are the same bytes."""
    zone: str | None = None
    """Where its moments are counted, if that was said."""

    def plain(self) -> str:
        """Return it in the shared dialect as a value that compares by its bytes and never raises."""
        column = quoted(self.name)
        match self.kind:
            case ColumnType.TEXT if self.type_name == "bpchar":
                # A cast would cut the blanks off, and they are bytes of the value; CONCAT leaves them.
                return f'CASE WHEN {column} IS NULL THEN NULL ELSE CONCAT({column}) END COLLATE "C"'
            case ColumnType.TIMESTAMP if self.zone is not None:
                return local_time(column, self.zone)
            case ColumnType.TEXT | ColumnType.OTHER | ColumnType.INSTANT:
                # What is no item can be a user; some such types know no equality, but their text does.
                return f'CAST({self._moment or column} AS VARCHAR) COLLATE "C"'
            case ColumnType.FLOAT:
                return f"NULLIF({column}, CAST('NaN' AS DOUBLE))"
            case ColumnType.DECIMAL:
                return self._plain_decimal(column)
            case ColumnType.DATE | ColumnType.TIMESTAMP:
                return within_calendar(column, self.kind.name)
        return column

    @property
    def _moment(self) -> str | None:
        """It, if it is a timestamp with a time zone, and in the calendar."""
        is_moment = self.type_name == "timestamptz"
        return within_calendar(quoted(self.name), "TIMESTAMPTZ") if is_moment else None

    def seen(self) -> str:
        """Return it in the shared dialect as a predicate sees it: what is no item, as it is."""
        if self.kind.is_plain:
            return self.plain()
        return self._moment or quoted(self.name)

    def whose(self) -> str:
        """Return it in the shared dialect as a user: the same text for the same person, as the server sees it."""
        column = quoted(self.name)
        if not self.is_told_apart_by_bytes:
            hint = (
                "Its collation treats different texts as the same, and the server does not say in which form. "
                f'Name one in a view: lower({column}) COLLATE "C" if case is all that differs.'
            )
            raise no_user(self.name, hint)
        if self.type_name == "bpchar":
            return f"RTRIM({self.plain()}, ' ')"
        if self.type_name == "citext":
            # As `=` of the extension does it: under the database's own collation, whatever the column's is.
            return _short(column, f'LOWER(CAST({column} AS VARCHAR) COLLATE "default") COLLATE "C"')
        if self.type_name == "bytea":
            return _short(column, self.plain())
        if self.kind is ColumnType.FLOAT:
            return f"CASE WHEN {column} = 0 THEN 0 ELSE {self.plain()} END"
        if self.zone is not None:
            # One moment is one user, whatever clocks say: in autumn they say the same twice. Texts of it are read.
            moment = within_calendar(f"CAST({column} AS TIMESTAMPTZ)", "TIMESTAMPTZ")
            return f'CAST({moment} AS VARCHAR) COLLATE "C"'
        if self.type_name in _SAME_TEXT:
            return self.plain()
        raise no_user(self.name, _WAYS_OUT.get(self.type_name, _ANY_WAY_OUT).format(column))

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


def _short(column: str, said: str) -> str:
    """Return what is said of a column, if it is short enough to be said: half a gigabyte of bytes is too much.

    It may grow on the way, and is no user then either. So to say it again changes nothing.
    """
    is_short = f"STRLEN({column}) <= {LONGEST_USER}"
    return f"CASE WHEN {is_short} THEN CASE WHEN STRLEN({said}) <= {LONGEST_USER} THEN {said} END END"


def described(
    connection: psycopg.Connection[Any], source: str, zone: str | None = None
) -> Mapping[str, PostgresColumn]:
    """Return the columns of a source without reading a row of it; `zone` is where moments are counted."""
    cursor = connection.execute(f"SELECT * FROM {source} AS described LIMIT 0".encode())  # noqa: S608
    columns = cursor.description or []
    words = _words(connection, [column.type_code for column in columns])
    collated = [column.name for column in columns if words[column.type_code] in _COLLATED]
    coarse = _coarsely_collated(connection, source, collated)
    found = {}
    for column in columns:
        word = words[column.type_code]
        kind = _KINDS.get(word, ColumnType.OTHER)
        is_local = kind is ColumnType.INSTANT and zone is not None
        found[column.name] = PostgresColumn(
            column.name,
            word,
            ColumnType.TIMESTAMP if is_local else kind,
            column.precision,
            column.scale,
            column.name not in coarse,
            zone if is_local else None,
        )
    return found


def _words(connection: psycopg.Connection[Any], types: list[int]) -> Mapping[int, str]:
    """Return our word for each type: the server's own name, or one that nobody lists."""
    found = connection.execute(
        """
        SELECT t.oid, CASE
            WHEN t.typtype = 'e' THEN %s
            WHEN n.nspname = 'pg_catalog' AND t.typtype = 'b' THEN t.typname
            WHEN t.typname = 'citext' AND e.extname = 'citext' THEN t.typname
            ELSE n.nspname || '.' || t.typname END
        FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
        LEFT JOIN pg_catalog.pg_depend d
            ON d.classid = 'pg_catalog.pg_type'::regclass AND d.objid = t.oid AND d.deptype = 'e'
        LEFT JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid
        WHERE t.oid = ANY(%s)
        """,
        [_ENUM, types],
    )
    return dict(found.fetchall())


def _coarsely_collated(connection: psycopg.Connection[Any], source: str, names: list[str]) -> frozenset[str]:
    """Return those text columns of a source whose collation takes different bytes for equal, or is not known."""
    if not names:
        return frozenset()
    # Beside one row that is always there: the server then says what it would say of a row, and reads none.
    asked = ", ".join(f"pg_catalog.pg_collation_for(d.{quoted(name)})" for name in names)
    nothing = f"(SELECT * FROM {source} AS described LIMIT 0)"  # noqa: S608 - names are quoted
    query = f"SELECT {asked} FROM (SELECT 1) AS one LEFT JOIN {nothing} AS d ON TRUE"  # noqa: S608
    collations = connection.execute(query.encode()).fetchone() or ()
    deterministic = "SELECT oid::regcollation::text FROM pg_catalog.pg_collation WHERE collisdeterministic"
    fine = {name for (name,) in connection.execute(deterministic.encode())}
    return frozenset(name for name, collation in zip(names, collations, strict=True) if collation not in fine)


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
