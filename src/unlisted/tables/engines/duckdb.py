"""DuckDB, the embedded engine: files, DuckDB databases, and data frames that speak Arrow.

Each world is a connection of its own to an empty database in memory, so nothing that another world does can be
seen, and what does not fit into memory goes to a private folder that is removed with it. What a connection reads
from is an `Origin`: `duckdb_files.py` and `duckdb_frames.py` say how. The shared dialect is DuckDB's own, so no
parser is imported here.
"""

# ruff: noqa: S608 - statements are made of quoted names, and of predicates that were checked piece by piece

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import duckdb
import pyarrow as pa

from unlisted.errors import InvalidArgumentError
from unlisted.tables.cancelling import interruptible
from unlisted.tables.column_types import ColumnType
from unlisted.tables.engines.engine import SOURCE, Rows

MEMORY_LIMIT = "UNLISTED_MEMORY_LIMIT"
"""Environment variable: how much memory DuckDB may use, such as 4GB. Four fifths of the machine's otherwise."""

_KINDS = {
    ColumnType.TEXT: ("VARCHAR", "ENUM", "UUID", "JSON"),
    ColumnType.INTEGER: (
        *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
        *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
    ),
    ColumnType.DECIMAL: ("DECIMAL",),
    ColumnType.FLOAT: ("FLOAT", "DOUBLE"),
    ColumnType.BOOLEAN: ("BOOLEAN",),
    ColumnType.DATE: ("DATE",),
    ColumnType.TIMESTAMP: ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"),
}
_KIND_OF = {native: kind for kind, natives in _KINDS.items() for native in natives}


class Origin(Protocol):
    """Where a connection reads from."""

    @property
    def collated(self) -> bool:
        """Whether text columns could carry a collation other than the order of bytes."""

    def check(self) -> None:
        """Refuse what can be read only once and was."""

    def types(self) -> Mapping[str, str]:
        """Return the columns and DuckDB's names for their types, touching no rows."""

    def open(self, connection: duckdb.DuckDBPyConnection, columns: Sequence[str]) -> None:
        """Make these columns readable in a connection."""

    def relation(self, columns: Sequence[str]) -> str:
        """Return what a query reads these columns from once the connection is open."""

    def rehearsal(self) -> Origin:
        """Return the same without its rows, its schema to be read anew."""

    def signature(self) -> Hashable:
        """Return what changes whenever the schema may have changed."""


@dataclass(frozen=True)
class DuckDBColumn:
    """A column, and what DuckDB says it holds."""

    name: str
    native: str
    collated: bool

    @property
    def kind(self) -> ColumnType:
        """The type in the words that all engines share."""
        # `DECIMAL(18,2)` and `ENUM('a', 'b')` begin with their names; `VARCHAR[]` is a list.
        base = self.native if self.native.endswith("]") else self.native.partition("(")[0]
        return _KIND_OF.get(base, ColumnType.OTHER)

    @property
    def plain(self) -> str:
        """The column as a value that compares by its bytes, and that Arrow and Python can hold."""
        name = quoted(self.name)
        if self.kind is ColumnType.TEXT and self.native != "VARCHAR":
            return f"CAST({name} AS VARCHAR)"
        if self.kind is ColumnType.TEXT and self.collated:
            return f'{name} COLLATE "C"'
        if self.kind is ColumnType.FLOAT:
            return f"CASE WHEN ISNAN({name}) THEN NULL ELSE {name} END"
        if self.kind is ColumnType.DATE:
            return f"CASE WHEN {name} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN {name} END"
        if self.kind is ColumnType.TIMESTAMP and self.native != "TIMESTAMP_NS":
            moment = name if self.native == "TIMESTAMP" else f"TRY_CAST({name} AS TIMESTAMP)"
            within = "BETWEEN TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999'"
            return f"CASE WHEN {moment} {within} THEN {moment} END"
        return name


class DuckDBEngine:
    """An origin that DuckDB reads. It is an `Engine`."""

    name = "duckdb"

    def __init__(self, origin: Origin) -> None:
        self._origin = origin

    def columns(self) -> Mapping[str, ColumnType]:
        """Return the columns, from a header, a footer, a catalogue or a schema."""
        self._origin.check()
        return {name: self._column(name, native).kind for name, native in self._origin.types().items()}

    def plain(self, column: str) -> str:
        """Return a column as a value that compares by its bytes."""
        return self._column(column, self._origin.types()[column]).plain

    def _column(self, name: str, native: str) -> DuckDBColumn:
        return DuckDBColumn(name, native, self._origin.collated)

    def key(self, text: str) -> str:
        """Return DuckDB's own 64-bit hash of a text.

        Over texts that begin with a secret it chooses as uniformly as SHA-256 does, with which the whole count
        would take about a quarter longer (`bench/speed/bounding.py`). What it lacks is a defence against crafted
        labels: two long ones can be made to tie whatever the secret is. Then a user over the bound who has both
        keeps both or none, and may keep fewer items than the bound, but never more.
        """
        return f"HASH({text})"

    def statement(self, query: str, rows: Rows) -> str:
        """Put what is read in the place of the source. The dialect is DuckDB's already."""
        relation = self._origin.relation(_read(rows))
        if rows.where is not None:
            plain = ", ".join(f"{self.plain(name)} AS {quoted(name)}" for name in _read(rows))
            condition = rows.where.sql("duckdb")
            relation = f'(SELECT * FROM (SELECT {plain} FROM {relation}) AS "plain" WHERE {condition})'
        # A column of that name would have its quotes doubled, so nothing but the relation is replaced.
        return query.replace(f'FROM "{SOURCE}"', f'FROM {relation} AS "{SOURCE}"')

    @contextmanager
    def world(self, rows: Rows) -> Iterator[_World]:
        """Open a database in memory, with a private folder for what does not fit."""
        folder = tempfile.mkdtemp(prefix="unlisted-")
        try:
            with closing(connected(folder)) as connection:
                self._origin.open(connection, _read(rows))
                with interruptible(connection.interrupt):
                    yield _World(connection, self, rows)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def rehearsal(self) -> DuckDBEngine:
        """Return the same engine over the origin without its rows."""
        return DuckDBEngine(self._origin.rehearsal())

    def signature(self) -> Hashable:
        """Return what the origin is and where it stands: DuckDB itself stays the same as long as the process."""
        return type(self._origin).__name__, self._origin.signature()


class _World:
    """One database in memory. The source is read by one statement, which fills what later ones read."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, engine: DuckDBEngine, rows: Rows) -> None:
        self._connection = connection
        self._engine = engine
        self._rows = rows

    def keep(self, name: str, query: str) -> None:
        """Fill a temporary table."""
        statement = self._engine.statement(query, self._rows)
        self._connection.execute(f"CREATE TEMPORARY TABLE {quoted(name)} AS {statement}")

    def lend(self, name: str, rows: pa.Table) -> None:
        """Let statements read an Arrow table where it is."""
        self._connection.register(name, rows)

    def answer(self, query: str) -> pa.Table:
        """Run a query and bring its rows out."""
        found: pa.Table = self._connection.sql(self._engine.statement(query, self._rows)).to_arrow_table()
        return found


def connected(folder: str | None = None) -> duckdb.DuckDBPyConnection:
    """Open an empty database in memory that looks at nothing it was not told to."""
    settings: dict[str, Any] = {
        # Else a name that is no table is looked up among the variables of the program.
        "python_enable_replacements": False,
        "autoinstall_known_extensions": False,
        "preserve_insertion_order": False,
        "temp_directory": folder or "",
    }
    limit = os.environ.get(MEMORY_LIMIT)
    try:
        return duckdb.connect(":memory:", config=settings | ({"memory_limit": limit} if limit else {}))
    except duckdb.Error:
        hint = "It is how much memory DuckDB may use."
        raise InvalidArgumentError(MEMORY_LIMIT, limit, "an amount of memory such as 4GB", hint) from None


def described(connection: duckdb.DuckDBPyConnection, relation: str) -> dict[str, str]:
    """Return the columns of a relation and the names of their types; only binds the query."""
    return {name: str(native) for name, native, *_ in connection.execute(f"DESCRIBE FROM {relation}").fetchall()}


def quoted(name: str) -> str:
    """Quote a name."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a text."""
    return "'" + text.replace("'", "''") + "'"


def _read(rows: Rows) -> tuple[str, ...]:
    """Return every column that is read, each once."""
    return tuple(dict.fromkeys((*rows.columns, *(sorted(rows.where.columns) if rows.where else ()))))
