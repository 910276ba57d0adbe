"""DuckDB, the embedded engine: files, DuckDB databases, and data frames that speak Arrow.

Each world is a connection of its own to an empty database in memory (`databases.py`), so nothing that another
world does can be seen, and what does not fit into memory goes to a private folder. What a connection reads from is
an `Origin`: `files.py`, `database.py` and `frames.py` say how. The shared dialect is DuckDB's own, so no parser is
imported here.

DuckDB raises on some rows that it reads from files: bytes that are no UTF-8, moments that overflow. An origin of
files then has a second, careful way in, slower and for all questions that follow; both read the same rows, those
that can be read at all (`counts/readable.py`). DuckDB also believes what files say about their rows: a
smallest and largest number tell it that there is no NaN, or that no row of a part can pass. So every optimisation
is off that looks at such statistics, or that hands a condition to whoever reads the file.
"""

# ruff: noqa: S608 - statements are made of quoted names, and of predicates that were checked piece by piece

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import duckdb
import pyarrow as pa

from unlisted.tables.column_types import Columns, ColumnType, FirstLine
from unlisted.tables.engines.duckdb.columns import DuckDBColumn, quoted
from unlisted.tables.engines.duckdb.databases import connected, database
from unlisted.tables.engines.duckdb.marks import ChangedFileError
from unlisted.tables.engines.engine import SOURCE, Rows, name_for_whose
from unlisted.tables.failures import OWNER_LOG
from unlisted.tables.stopping import interruptible

_FROM_SOURCE = f'FROM "{SOURCE}"'

_STOPPED = (duckdb.InterruptException, duckdb.OutOfMemoryException)
"""Errors that no row of a file is the cause of; another way to read it would meet them too."""

_NEEDS_CARE: set[Hashable] = set()
"""Origins that DuckDB could not read by itself. They are read carefully from the start then: a question that takes
longer must not tell whether its own rows are the reason."""


_NOTHING = "unlisted_nothing"
_NO_TYPE = {"UNKNOWN": "DOUBLE"}
"""What stands in a rehearsal for a column that DuckDB would read as something else than it is."""


class Origin(Protocol):
    """Where a connection reads from."""

    @property
    def named_by_first_line(self) -> bool:
        """Whether the names of columns could be a row, in a file without a header."""

    @property
    def timezone(self) -> str | None:
        """Where moments with a time zone are counted, if that was said."""

    def hint(self) -> str:
        """Say what may be wrong with how the names of columns were read, if something looks as if."""

    @property
    def is_database(self) -> bool:
        """Whether it is a database of DuckDB's own, whose texts may carry a collation, or be no UTF-8."""

    @property
    def is_in_memory(self) -> bool:
        """Whether its rows are in this process, or pass through it: DuckDB itself opens nothing."""

    @property
    def collated(self) -> frozenset[str]:
        """Those text columns that carry one, so that different texts may be equal."""

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

    def bind(self, opening: Opening) -> str | None:
        """Let DuckDB look at what would be read, touching no rows: it raises if it cannot read that at all.

        Return what can be read in its place, or None for a table of no rows.
        """


@dataclass(frozen=True)
class Opening:
    """What an origin is opened for: a connection, the columns that will be read, and a private folder.

    `user` is the column that says whose row it is.
    """

    connection: duckdb.DuckDBPyConnection
    columns: tuple[str, ...]
    folder: Path
    user: str | None = None


class DuckDBEngine:
    """An origin that DuckDB reads. It is an `Engine`."""

    name = "duckdb"

    has_rows = True

    def __init__(self, origin: Origin) -> None:
        self._origin = origin

    def columns(self) -> Mapping[str, ColumnType]:
        """Return the columns, from a header, a footer, a catalogue or a schema."""
        self._origin.check()
        found = {name: self._column(name, native).kind for name, native in self._origin.types().items()}
        kind = FirstLine if self._origin.named_by_first_line else Columns
        return kind(found, self._origin.hint())

    def plain(self, column: str) -> str:
        """Return a column as a value that compares by its bytes."""
        return self._column(column, self._origin.types()[column]).plain

    def whose(self, column: str) -> str:
        """Return a column as a user: one value for one person."""
        return self._column(column, self._origin.types()[column]).whose

    def _column(self, name: str, native: str) -> DuckDBColumn:
        origin = self._origin
        return DuckDBColumn(name, native, origin.is_database, name in origin.collated, origin.timezone)

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
        return self.said(query, rows, self._origin.relation(rows.read))

    def said(self, query: str, rows: Rows, relation: str) -> str:
        """Do the same with what an opened origin is read from."""
        if rows.where is not None or rows.computed:
            plain = ", ".join(f"{self.plain(name)} AS {quoted(name)}" for name in rows.read)
            condition, kept = rows.where.sql("duckdb") if rows.where is not None else "TRUE", "*"
            if rows.user is not None and self.whose(rows.user) != self.plain(rows.user):
                # The predicate sees the column as it is, and statements whose it is.
                user, whose = quoted(rows.user), quoted(name_for_whose(rows))
                plain += f", {self.whose(rows.user)} AS {whose}"
                kept = f"* EXCLUDE ({whose}) REPLACE ({whose} AS {user})"
            kept += "".join(f", {value.sql('duckdb')} AS {quoted(name)}" for name, value in rows.computed)
            relation = f'(SELECT {kept} FROM (SELECT {plain} FROM {relation}) AS "plain" WHERE {condition})'
        # A column of that name would have its quotes doubled, so nothing but the relation is replaced.
        return query.replace(_FROM_SOURCE, f'FROM {relation} AS "{SOURCE}"')

    def state(self) -> Hashable:
        """Return what tells whether the source is still the one that was described."""
        return self._origin.state()

    @contextmanager
    def world(self, rows: Rows) -> Iterator[_World]:
        """Open a database in memory, with a private folder for what does not fit."""
        with (
            database(is_lent=self._origin.is_in_memory) as (connection, folder),
            closing(_World(self, self._origin, rows, connection, folder)) as world,
            interruptible(world.interrupt),
        ):
            yield world

    def rehearsal(self) -> DuckDBEngine:
        """Return the same engine with a table of no rows in the place of the origin's."""
        twin = copy.copy(self)
        twin.has_rows = False
        return twin

    def signature(self) -> Hashable:
        """Return what the origin is and where it stands: DuckDB itself stays the same as long as the process."""
        origin = self._origin
        return type(origin).__name__, origin.state(), tuple(origin.types().items())


class _World:
    """One database in memory. The source is read by one statement, the first, which fills what later ones read."""

    def __init__(
        self,
        engine: DuckDBEngine,
        origin: Origin,
        rows: Rows,
        connection: duckdb.DuckDBPyConnection,
        folder: Path,
    ) -> None:
        self._engine = engine
        self._origin = origin
        self._rows = rows
        self._folder = folder
        self._connection = connection
        self._was_read = False
        self._state = origin.state() if rows.state is None else rows.state
        self._relation = self._opened() if engine.has_rows else self._opened_without_rows()

    def _opened(self) -> str:
        """Make the rows readable, with care where that was needed before."""
        carefully = self._state in _NEEDS_CARE
        return (self._opened_carefully() if carefully else None) or self._origin.open(self._opening)

    def _opened_without_rows(self) -> str:
        """Stand a table of the same columns and no rows in the place of the source, which is only looked at."""
        if (relation := self._origin.bind(self._opening)) is not None:
            return relation
        types = self._origin.types()
        columns = (f"{quoted(name)} {_NO_TYPE.get(types[name], types[name])}" for name in self._rows.read)
        self._connection.execute(f"CREATE TEMPORARY TABLE {_NOTHING} ({', '.join(columns)})")
        return f"temp.{_NOTHING}"

    @property
    def _opening(self) -> Opening:
        return Opening(self._connection, self._rows.read, self._folder, self._rows.user)

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
        except Exception:
            # Not only an error of DuckDB's: one that quotes what is no UTF-8 cannot be said in Python. What an
            # earlier statement has kept would be lost with the connection.
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


def described(connection: duckdb.DuckDBPyConnection, relation: str) -> dict[str, str]:
    """Return the columns of a relation and the names of their types; only binds the query."""
    return {name: str(native) for name, native, *_ in connection.execute(f"DESCRIBE FROM {relation}").fetchall()}
