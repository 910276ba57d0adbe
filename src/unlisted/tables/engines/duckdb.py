"""DuckDB, the embedded engine: files, DuckDB databases, and data frames that speak Arrow.

Each world is a connection of its own to an empty database in memory, so nothing that another world does can be
seen, and what does not fit into memory goes to a private folder that is removed with it. What a connection reads
from is an `Origin`: `duckdb_files.py` and `duckdb_frames.py` say how. The shared dialect is DuckDB's own, so no
parser is imported here.

DuckDB raises on some rows that it reads from files: bytes that are no UTF-8, moments that overflow. An origin of
files then has a second, careful way in, slower and for all questions that follow; both read the same rows, those
that can be read at all (`mechanisms/readable.py`). DuckDB also believes what files say about their rows: a
smallest and largest number tell it that there is no NaN, or that no row of a part can pass. So every optimisation
is off that looks at such statistics, or that hands a condition to whoever reads the file.
"""

# ruff: noqa: S608 - statements are made of quoted names, and of predicates that were checked piece by piece

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import duckdb
import pyarrow as pa

from unlisted.errors import InvalidArgumentError
from unlisted.tables.cancelling import interruptible
from unlisted.tables.column_types import ColumnType, FirstLine
from unlisted.tables.engines.engine import SOURCE, Rows, name_for_whose, no_user
from unlisted.tables.engines.file_marks import ChangedFileError
from unlisted.tables.failures import OWNER_LOG

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
_FROM_SOURCE = f'FROM "{SOURCE}"'
_MOMENTS_OF_USERS = {
    "TIME": ("TIME '00:00:00'", "TIME '23:59:59.999999'"),
    "TIMESTAMP WITH TIME ZONE": (
        "TIMESTAMPTZ '0001-01-01 00:00:00+00'",
        "TIMESTAMPTZ '9999-12-31 23:59:59.999999+00'",
    ),
}
_USERS_ONLY = frozenset({"UHUGEINT", "BLOB", "TIME", "TIMESTAMP WITH TIME ZONE"})
"""Types of users that are no items. An `INTERVAL`, in which a month is 30 days, and whatever holds other values
are refused until somebody has looked at how DuckDB groups, joins and hashes them."""


UNTRUSTED = (
    "statistics_propagation",
    "filter_pushdown",
    "join_filter_pushdown",
    "row_group_pruner",
    "partial_aggregate_pushdown",
    "scalar_fn_pushdown",
    "type_pushdown",
    "late_materialization",
)
"""Optimisations that believe the statistics of a file, or push work into what reads it. They are off: one NaN, or
one text that an old writer put in the wrong place, would decide about the rows of everybody near it."""

_STOPPED = (duckdb.InterruptException, duckdb.OutOfMemoryException)
"""Errors that no row of a file is the cause of; another way to read it would meet them too."""

_NEEDS_CARE: set[Hashable] = set()
"""Origins that DuckDB could not read by itself. They are read carefully from the start then: a question that takes
longer must not tell whether its own rows are the reason."""


class Origin(Protocol):
    """Where a connection reads from."""

    @property
    def named_by_first_line(self) -> bool:
        """Whether the names of columns could be a row, in a file without a header."""

    @property
    def knows_collations(self) -> bool:
        """Whether text columns could carry a collation other than the order of bytes."""

    @property
    def collated(self) -> frozenset[str]:
        """Those text columns that do, so that different texts may be equal."""

    def check(self) -> None:
        """Refuse what can be read only once and was."""

    def state(self) -> Hashable:
        """Return what tells whether it is still the same; None if it cannot change."""

    def types(self) -> Mapping[str, str]:
        """Return the columns and DuckDB's names for their types, touching no rows."""

    def relation(self, columns: Sequence[str]) -> str:
        """Return what a query reads these columns from once the connection is open."""

    def open(self, opening: Opening) -> str:
        """Make the columns readable in a connection, and return what a query reads them from."""

    def open_carefully(self, opening: Opening) -> str | None:
        """Do the same for rows that DuckDB cannot read by itself, or return None where there is no other way."""


@dataclass(frozen=True)
class Opening:
    """What an origin is opened for: a connection, the columns that will be read, and a private folder.

    `user` is the column that says whose row it is.
    """

    connection: duckdb.DuckDBPyConnection
    columns: tuple[str, ...]
    folder: Path
    user: str | None = None


@dataclass(frozen=True)
class DuckDBColumn:
    """A column, and what DuckDB says it holds."""

    name: str
    native: str
    knows_collations: bool
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
        if self.native in _MOMENTS_OF_USERS:
            first, last = _MOMENTS_OF_USERS[self.native]
            return f"CASE WHEN {name} BETWEEN {first} AND {last} THEN {name} END"
        if self.kind is ColumnType.DECIMAL:
            # A file may hold more digits than its column declares.
            most = _most(self.native)
            return f"CASE WHEN {name} BETWEEN -{most} AND {most} THEN {name} END"
        if self.kind is ColumnType.TEXT and self.native != "VARCHAR":
            return f"CAST({name} AS VARCHAR)"
        if self.kind is ColumnType.TEXT and self.knows_collations:
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

    @property
    def whose(self) -> str:
        """The column as a user: one value for one person."""
        if self.kind is ColumnType.FLOAT:
            # For DuckDB -0.0 and 0.0 are the same; of which one it keeps the text, no one should have to know.
            return f"CASE WHEN {quoted(self.name)} = 0 THEN 0 ELSE {self.plain} END"
        if self.collated:
            hint = (
                "Its collation takes different texts for the same. Name one form in a view of the database: "
                f"lower({self.name}) if case is all that differs, in a column without a collation."
            )
            raise no_user(self.name, hint)
        if self.kind is ColumnType.OTHER and self.native not in _USERS_ONLY:
            hint = "Make it text or a number in the source, in one form for each person; in DuckDB, in a view."
            raise no_user(self.name, hint)
        return self.plain


class DuckDBEngine:
    """An origin that DuckDB reads. It is an `Engine`."""

    name = "duckdb"

    def __init__(self, origin: Origin) -> None:
        self._origin = origin

    def columns(self) -> Mapping[str, ColumnType]:
        """Return the columns, from a header, a footer, a catalogue or a schema."""
        self._origin.check()
        found = {name: self._column(name, native).kind for name, native in self._origin.types().items()}
        return FirstLine(found) if self._origin.named_by_first_line else found

    def plain(self, column: str) -> str:
        """Return a column as a value that compares by its bytes."""
        return self._column(column, self._origin.types()[column]).plain

    def whose(self, column: str) -> str:
        """Return a column as a user: one value for one person."""
        return self._column(column, self._origin.types()[column]).whose

    def _column(self, name: str, native: str) -> DuckDBColumn:
        origin = self._origin
        return DuckDBColumn(name, native, origin.knows_collations, name in origin.collated)

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
        return self.said(query, rows, self._origin.relation(_read(rows)))

    def said(self, query: str, rows: Rows, relation: str) -> str:
        """Do the same with what an opened origin is read from."""
        if rows.where is not None:
            plain = ", ".join(f"{self.plain(name)} AS {quoted(name)}" for name in _read(rows))
            condition, kept = rows.where.sql("duckdb"), "*"
            if rows.user is not None and self.whose(rows.user) != self.plain(rows.user):
                # The predicate sees the column as it is, and statements whose it is.
                user, whose = quoted(rows.user), quoted(name_for_whose(rows))
                plain += f", {self.whose(rows.user)} AS {whose}"
                kept = f"* EXCLUDE ({whose}) REPLACE ({whose} AS {user})"
            relation = f'(SELECT {kept} FROM (SELECT {plain} FROM {relation}) AS "plain" WHERE {condition})'
        # A column of that name would have its quotes doubled, so nothing but the relation is replaced.
        return query.replace(_FROM_SOURCE, f'FROM {relation} AS "{SOURCE}"')

    def state(self) -> Hashable:
        """Return what tells whether the source is still the one that was described."""
        return self._origin.state()

    @contextmanager
    def world(self, rows: Rows) -> Iterator[_World]:
        """Open a database in memory, with a private folder for what does not fit."""
        folder = tempfile.mkdtemp(prefix="unlisted-")
        try:
            with closing(_World(self, self._origin, rows, Path(folder))) as world, interruptible(world.interrupt):
                yield world
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class _World:
    """One database in memory. The source is read by one statement, the first, which fills what later ones read."""

    def __init__(self, engine: DuckDBEngine, origin: Origin, rows: Rows, folder: Path) -> None:
        self._engine = engine
        self._origin = origin
        self._rows = rows
        self._folder = folder
        self._connection = connected(str(folder))
        self._was_read = False
        self._state = origin.state() if rows.state is None else rows.state
        carefully = self._state in _NEEDS_CARE
        self._relation = (self._opened_carefully() if carefully else None) or origin.open(self._opening)

    @property
    def _opening(self) -> Opening:
        return Opening(self._connection, _read(self._rows), self._folder, self._rows.user)

    def close(self) -> None:
        """Forget everything."""
        self._connection.close()

    def interrupt(self) -> None:
        """Stop the statement that runs now."""
        # Between two connections there is none; whoever wants to stop asks again.
        with suppress(duckdb.Error):
            self._connection.interrupt()

    def keep(self, name: str, query: str) -> None:
        """Fill a temporary table."""
        self._run(query, lambda said: self._connection.execute(f"CREATE TEMPORARY TABLE {quoted(name)} AS {said}"))

    def lend(self, name: str, rows: pa.Table) -> None:
        """Let statements read an Arrow table where it is."""
        self._connection.register(name, rows)

    def answer(self, query: str) -> pa.Table:
        """Run a query and bring its rows out."""
        found: pa.Table = self._run(query, lambda said: self._connection.sql(said).to_arrow_table())
        return found

    def _run(self, query: str, run: Callable[[str], Any]) -> Any:
        """Run a query, and once more on rows that are read carefully if DuckDB failed to read them itself."""
        is_first, self._was_read = not self._was_read, True
        try:
            found = run(self._engine.said(query, self._rows, self._relation))
        except _STOPPED:
            raise
        except duckdb.Error:
            # What an earlier statement has kept would be lost with the connection.
            if not is_first or not self._begin_again():
                raise
            found = run(self._engine.said(query, self._rows, self._relation))
            OWNER_LOG.warning(
                "DuckDB could not read a row of the source; its rows are read carefully from now on."
            )
            _NEEDS_CARE.add(self._state)
        if _FROM_SOURCE in query and self._origin.state() != self._state:
            raise ChangedFileError
        return found

    def _begin_again(self) -> bool:
        """Read the rows carefully, in a new database: after some errors the old one answers nothing any more."""
        self._connection.close()
        self._connection = connected(str(self._folder))
        relation = self._opened_carefully()
        if relation is not None:
            self._relation = relation
        return relation is not None

    def _opened_carefully(self) -> str | None:
        return self._origin.open_carefully(self._opening)


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
        connection = duckdb.connect(":memory:", config=settings | ({"memory_limit": limit} if limit else {}))
    except duckdb.Error:
        hint = "It is how much memory DuckDB may use."
        raise InvalidArgumentError(MEMORY_LIMIT, limit, "an amount of memory such as 4GB", hint) from None
    connection.execute(f"SET disabled_optimizers = {literal(','.join(_known_optimisations(connection)))}")
    return connection


def _known_optimisations(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return those of the untrusted optimisations that this version has; it would refuse the names of others."""
    there = {name for (name,) in connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()}
    return [name for name in UNTRUSTED if name in there]


def described(connection: duckdb.DuckDBPyConnection, relation: str) -> dict[str, str]:
    """Return the columns of a relation and the names of their types; only binds the query."""
    return {name: str(native) for name, native, *_ in connection.execute(f"DESCRIBE FROM {relation}").fetchall()}


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
    return f"CAST({literal(number)} AS {decimal})"


def _read(rows: Rows) -> tuple[str, ...]:
    """Return every column that is read, each once."""
    return tuple(dict.fromkeys((*rows.columns, *(sorted(rows.where.columns) if rows.where else ()))))
