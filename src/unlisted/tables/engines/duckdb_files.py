"""Files that DuckDB reads: how a path is told apart, and DuckDB's own databases.

`duckdb_parquet.py` reads Parquet, `duckdb_text.py` CSV and JSON lines.
"""

# ruff: noqa: S608 - statements are made of quoted names

from __future__ import annotations

import glob
import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import duckdb

from unlisted.errors import InvalidArgumentError
from unlisted.tables.engines.duckdb import DuckDBEngine, Opening, connected, described, literal
from unlisted.tables.engines.duckdb_columns import quoted
from unlisted.tables.engines.file_marks import Remembered, marks_of

DATABASE = "unlisted_database"
_EMPTY = "unlisted_empty"

_PARQUET = (".parquet", ".pq")
_DATABASES = (".duckdb", ".ddb", ".db")
_CSV = (".csv", ".tsv")
_JSON_LINES = (".jsonl", ".ndjson", ".json")
_COMPRESSED = ".gz"
_KNOWN = ", ".join((*_PARQUET, *_CSV, *_JSON_LINES, *_DATABASES))


def file_engine(path: str, table: str | None, types: Mapping[str, str] | None) -> DuckDBEngine:
    """Choose how to read a path by what its name ends in. Opens nothing."""
    kind = _ending(path)
    if kind in (*_CSV, *_JSON_LINES):
        _refuse("table", table, "a text file is one table already")
        return _text_engine(path, kind, types or {})
    _refuse("types", types, "the columns have their types; only those of text files are declared")
    if kind in _DATABASES:
        return DuckDBEngine(Database(path, table))
    _refuse("table", table, "a Parquet file is one table already")
    if kind in _PARQUET:
        from unlisted.tables.engines.duckdb_parquet import Parquet  # noqa: PLC0415 - it needs this module

        return DuckDBEngine(Parquet(path))
    hint = f"What a file holds is told by the end of its name: {_KNOWN}, or compressed text such as .csv.gz."
    raise InvalidArgumentError("source", path, "a file of a known kind", hint)


def _text_engine(path: str, kind: str, types: Mapping[str, str]) -> DuckDBEngine:
    from unlisted.tables.engines.duckdb_lines import CsvByLine  # noqa: PLC0415 - few need it
    from unlisted.tables.engines.duckdb_text import Csv, JsonLines, declared_types, is_by_line  # noqa: PLC0415

    declared, by_line = declared_types(types), is_by_line(types)
    if kind in _JSON_LINES:
        _refuse("types", dict(types) if by_line else None, "a line is a row already")
        return DuckDBEngine(JsonLines(path, declared))
    reader = CsvByLine if by_line else Csv
    return DuckDBEngine(reader(path, declared, "\t" if kind == ".tsv" else ","))


class Files(ABC):
    """One file or several of the same columns, from a path or a glob."""

    kind: str
    named_by_first_line = False
    knows_collations = False
    collated: frozenset[str] = frozenset()

    def __init__(self, path: str) -> None:
        self.path = path

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The files there are, in the order of their names; a path that leads to none is refused."""
        path = str(Path(self.path).expanduser())
        # A file whose name looks like a pattern is that file.
        found = [path] if Path(path).is_file() else sorted(glob.glob(path, recursive=True))  # noqa: PTH207 - of any root
        files = tuple(name for name in found if Path(name).is_file())
        if not files:
            hint = f"It is a folder: write {self.path.rstrip('/')}/*{_ending(self.path)} for the files in it."
            is_folder = Path(path).is_dir()
            raise InvalidArgumentError("source", self.path, "a path or glob of files that exist", hint * is_folder)
        return files

    def check(self) -> None:  # noqa: B027 - there is nothing to check for any kind of file
        """Do nothing: files can be read again."""

    def relation(self, columns: Sequence[str]) -> str:
        """Return the call that reads these columns of the files."""
        return self.relation_of(self.files, columns)

    @abstractmethod
    def types(self) -> Mapping[str, str]:
        """Return the columns and DuckDB's names for their types, touching no rows."""

    @abstractmethod
    def relation_of(self, files: Sequence[str], columns: Sequence[str]) -> str:
        """Return the call that reads these columns of some files."""

    def open(self, opening: Opening) -> str:
        """Return the call that reads the files: DuckDB reads them where they are."""
        return self.relation(opening.columns)

    def open_carefully(self, opening: Opening) -> str | None:  # noqa: ARG002 - some files have a way
        """Return nothing: there is no other way."""
        return None

    def bind(self, opening: Opening) -> str | None:
        """Let DuckDB look at the call that reads the files."""
        described(opening.connection, self.relation(opening.columns))
        return None

    def state(self) -> Hashable:
        """Return the marks of the files."""
        return marks_of(self.files)

    def refusal(self, problem: str) -> InvalidArgumentError:
        """Say what is wrong with the files, in words that hold nothing from their rows."""
        return InvalidArgumentError("source", self.path, f"a {self.kind} file that can be read", problem)


@dataclass(frozen=True)
class _Relation:
    """A table or view: what it is called, what its columns hold, and which of them have a collation."""

    name: str
    types: Mapping[str, str]
    collated: frozenset[str]


class Database:
    """A table or view in a DuckDB file, which is opened read-only."""

    named_by_first_line = False
    knows_collations = True

    def __init__(self, path: str, table: str | None) -> None:
        if not table:
            hint = 'Say which: table="name" or table="schema.name".'
            raise InvalidArgumentError("table", table, "the name of a table or view in the database", hint)
        self._path = str(Path(path).expanduser())
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
            hint = "It is no DuckDB file, or it is open elsewhere: close connections that can write to it."
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


def listed(files: Sequence[str]) -> str:
    """Return files as a list for DuckDB."""
    return f"[{', '.join(literal(as_named(name)) for name in files)}]"


def as_named(file: str) -> str:
    """Return the name of a file so that DuckDB reads nothing in it as a pattern."""
    return re.sub(r"([*?\[])", r"[\1]", file)


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


def _ending(path: str) -> str:
    return Path(path.lower().removesuffix(_COMPRESSED)).suffix


def _refuse(argument: str, value: object, why: str) -> None:
    if value is not None:
        raise InvalidArgumentError(argument, value, "left out for this source", f"Here, {why}.")
