"""A table or view in a DuckDB database file."""

# ruff: noqa: S608 - statements are made of quoted names

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import duckdb

from unlisted.errors import InvalidArgumentError
from unlisted.tables.engines.duckdb.columns import literal, quoted
from unlisted.tables.engines.duckdb.databases import connected
from unlisted.tables.engines.duckdb.engine import Opening, described
from unlisted.tables.engines.duckdb.files import Place
from unlisted.tables.engines.duckdb.marks import Remembered, marks_of
from unlisted.tables.reading import Reading

DATABASE = "unlisted_database"
_EMPTY = "unlisted_empty"


@dataclass(frozen=True)
class _Relation:
    """A table or view: what it is called, what its columns hold, and which of them have a collation."""

    name: str
    types: Mapping[str, str]
    collated: frozenset[str]


class Database:
    """A table or view in a DuckDB file, which is opened read-only."""

    named_by_first_line = False
    is_database = True
    is_in_memory = False

    def __init__(self, place: Place, reading: Reading | None = None, table: str | None = None) -> None:
        reading = reading or Reading()
        reading.only("a DuckDB file", ("timezone",))
        if not table:
            hint = 'Say which: table="name" or table="schema.name".'
            raise InvalidArgumentError("table", table, "the name of a table or view in the database", hint)
        if len(place.given) != 1:
            raise InvalidArgumentError("source", place.shown, "one DuckDB file")
        self.timezone = reading.timezone
        self._path = str(Path(place.given[0]).expanduser())
        self._table = table
        # What was not yet moved into the file lies beside it, and is read with it.
        self._files = (self._path, f"{self._path}.wal")
        self._catalogue = Remembered(self._read_catalogue)

    @property
    def _found(self) -> _Relation:
        return self._catalogue.about(self._files)

    def _read_catalogue(self) -> _Relation:
        """Return the relation that the user named."""
        with closing(connected()) as connection:
            self.attach(connection)
            catalogue = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = ?"
            there = sorted(connection.execute(catalogue, [DATABASE]).fetchall())
            names = {f"{schema}.{name}": (schema, name) for schema, name in there}
            found = names.get(f"main.{self._table}") or names.get(self._table)
            if found is None:
                listed = ", ".join(name.removeprefix("main.") for name in names) or "none"
                raise InvalidArgumentError(
                    "table", self._table, "a table or view in the database", f"The tables are: {listed}."
                )
            relation = ".".join(quoted(part) for part in (DATABASE, *found))
            try:
                return _Relation(relation, described(connection, relation), _collated(connection, relation))
            except duckdb.Error:
                allowed, hint = "a table that can be read", "It is a view of something that cannot."
                raise InvalidArgumentError("table", self._table, allowed, hint) from None

    @property
    def collated(self) -> frozenset[str]:
        """Ask the catalogue."""
        return self._found.collated

    def hint(self) -> str:
        """Say nothing about names: a catalogue tells them."""
        return ""

    def check(self) -> None:
        """Do nothing: a table can be read again."""

    def state(self) -> Hashable:
        """Return the marks of the file. What a view in it reads from elsewhere is not looked at."""
        return marks_of(self._files)

    def types(self) -> Mapping[str, str]:
        """Read the catalogue."""
        return self._found.types

    def attach(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Attach the file; a view in it may read whatever it reads, so nothing else is looked at."""
        if not Path(self._path).is_file():
            raise InvalidArgumentError("source", self._path, "the path of a DuckDB file that exists")
        try:
            connection.execute(f"ATTACH {literal(self._path)} AS {quoted(DATABASE)} (TYPE duckdb, READ_ONLY)")
            # A view names its tables as they are named inside the file.
            connection.execute(f"USE {quoted(DATABASE)}")
        except duckdb.Error:
            hint = "It is not a DuckDB file, or it is open elsewhere: close connections that can write to it."
            raise InvalidArgumentError("source", self._path, "a DuckDB file that can be read", hint) from None

    def open(self, opening: Opening) -> str:
        """Attach the file, and return the table's full name."""
        self.attach(opening.connection)
        return self.relation(opening.columns)

    def open_carefully(self, opening: Opening) -> str | None:  # noqa: ARG002
        """Return nothing: DuckDB has checked what it keeps when it was written."""
        return None

    def bind(self, opening: Opening) -> str | None:
        """Attach the file, and let DuckDB look at the table."""
        described(opening.connection, self.open(opening))
        return None

    def relation(self, columns: Sequence[str]) -> str:  # noqa: ARG002 - DuckDB reads only what a query uses
        """Return the table's full name."""
        return self._found.name


def _collated(connection: duckdb.DuckDBPyConnection, relation: str) -> frozenset[str]:
    """Return the columns of a relation that are compared otherwise than by their bytes; reads no row."""
    columns = described(connection, relation)
    # Nothing else tells the collation of a view's column but how a table of it would be declared.
    numbered = ", ".join(f"{quoted(name)} AS c{at}" for at, name in enumerate(columns))
    connection.execute(f"CREATE TEMPORARY TABLE {_EMPTY} AS SELECT {numbered} FROM {relation} LIMIT 0")
    catalogue = "SELECT sql FROM duckdb_tables() WHERE temporary AND table_name = ?"
    (declared,) = connection.execute(catalogue, [_EMPTY]).fetchall()[0]
    connection.execute(f"DROP TABLE temp.{_EMPTY}")
    at = {int(found) for found in re.findall(r"\bc(\d+) VARCHAR COLLATE ", declared)}
    return frozenset(name for place, name in enumerate(columns) if place in at)
