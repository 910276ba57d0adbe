"""What the columns hold that DuckDB reads: values that compare by their bytes, users, texts as declared."""

from __future__ import annotations

from dataclasses import dataclass, replace

from unlisted.tables.column_types import ColumnType
from unlisted.tables.engines.engine import no_user

_KINDS = {
    # A column that nobody gave a type, such as those of an empty data frame, holds no value at all.
    ColumnType.TEXT: ("VARCHAR", "ENUM", "UUID", "JSON", '"NULL"'),
    ColumnType.INTEGER: (
        *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
        *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
    ),
    ColumnType.DECIMAL: ("DECIMAL",),
    ColumnType.FLOAT: ("FLOAT", "DOUBLE"),
    ColumnType.BOOLEAN: ("BOOLEAN",),
    ColumnType.DATE: ("DATE",),
    ColumnType.TIMESTAMP: ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"),
    ColumnType.INSTANT: ("TIMESTAMP WITH TIME ZONE",),
}
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

_KIND_OF = {native: kind for kind, natives in _KINDS.items() for native in natives}
_MOMENTS_OF_USERS = {
    "TIME": ("TIME '00:00:00'", "TIME '23:59:59.999999'"),
    "TIMESTAMP WITH TIME ZONE": (
        "TIMESTAMPTZ '0001-01-01 00:00:00+00'",
        "TIMESTAMPTZ '9999-12-31 23:59:59.999999+00'",
    ),
}
_USERS_ONLY = frozenset({"UHUGEINT", "BLOB", "TIME"})
"""Types of users that are no items. An `INTERVAL`, in which a month is 30 days, and whatever holds other values
are refused until somebody has looked at how DuckDB groups, joins and hashes them."""


@dataclass(frozen=True)
class DuckDBColumn:
    """A column, and what DuckDB says it holds. `zone` is where its moments are counted, if that was said."""

    name: str
    native: str
    is_database: bool
    collated: bool
    zone: str | None = None

    @property
    def kind(self) -> ColumnType:
        """The type in the words that all engines share."""
        # `DECIMAL(18,2)` and `ENUM('a', 'b')` begin with their names; `VARCHAR[]` is a list.
        base = self.native if self.native.endswith("]") else self.native.partition("(")[0]
        kind = _KIND_OF.get(base, ColumnType.OTHER)
        return ColumnType.TIMESTAMP if kind is ColumnType.INSTANT and self.zone else kind

    @property
    def is_only_there(self) -> bool:
        """Whether all that can be asked of a value is whether there is one: it is no item, no user, no number."""
        return self.kind is ColumnType.OTHER and self.native not in _USERS_ONLY

    @property
    def plain(self) -> str:
        """The column as a value that compares by its bytes, and that Arrow and Python can hold."""
        name = quoted(self.name)
        if self.kind is ColumnType.TIMESTAMP and self.native in _MOMENTS_OF_USERS:
            # A day less at both ends: no zone is further away than that.
            first, last = "TIMESTAMPTZ '0001-01-02 00:00:00+00'", "TIMESTAMPTZ '9999-12-30 23:59:59.999999+00'"
            local = f"TIMEZONE({literal(self.zone or '')}, {name})"
            return f"CASE WHEN {name} BETWEEN {first} AND {last} THEN {local} END"
        if self.native in _MOMENTS_OF_USERS:
            first, last = _MOMENTS_OF_USERS[self.native]
            return f"CASE WHEN {name} BETWEEN {first} AND {last} THEN {name} END"
        if self.kind is ColumnType.DECIMAL:
            # A file may hold more digits than its column declares.
            most = _most(self.native)
            return f"CASE WHEN {name} BETWEEN -{most} AND {most} THEN {name} END"
        if self.kind is ColumnType.TEXT:
            text = name if self.native == "VARCHAR" else f"CAST({name} AS VARCHAR)"
            # What a database keeps was written by whatever wrote it, and DuckDB does not look at all of the bytes.
            return f'TRY(DECODE(ENCODE({text}))) COLLATE "C"' if self.is_database else text
        if self.kind is ColumnType.FLOAT:
            return f"CASE WHEN ISNAN({name}) THEN NULL ELSE {name} END"
        if self.kind is ColumnType.DATE:
            return f"CASE WHEN {name} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN {name} END"
        if self.kind is ColumnType.TIMESTAMP and self.native != "TIMESTAMP_NS":
            moment = name if self.native == "TIMESTAMP" else f"TRY_CAST({name} AS TIMESTAMP)"
            within = "BETWEEN TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999'"
            return f"CASE WHEN {moment} {within} THEN {moment} END"
        return name

    @property
    def whose(self) -> str:
        """The column as a user: one value for one person."""
        if self.kind is ColumnType.FLOAT:
            # For DuckDB -0.0 and 0.0 are the same; of which one it keeps the text, no one should have to know.
            return f"CASE WHEN {quoted(self.name)} = 0 THEN 0 ELSE {self.plain} END"
        if self.collated:
            hint = (
                "Its collation treats different texts as the same. Name one form in a view of the database: "
                f"lower({self.name}) if case is all that differs, in a column without a collation."
            )
            raise no_user(self.name, hint)
        if self.is_only_there:
            hint = "Make it text or a number in the source, in one form for each person; in DuckDB, in a view."
            raise no_user(self.name, hint)
        # One moment is one user, whatever clocks say: in autumn they say the same twice.
        return replace(self, zone=None).plain


def quoted(name: str) -> str:
    """Quote a name."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a text."""
    return "'" + text.replace("'", "''") + "'"


def _most(decimal: str) -> str:
    """Return the largest number of a type such as `DECIMAL(18,2)`."""
    digits, scale = (int(part) for part in decimal.partition("(")[2].rstrip(")").split(","))
    number = "9" * (digits - scale) + ("." + "9" * scale if scale else "")
    return f"CAST('{number}' AS {decimal})"


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
