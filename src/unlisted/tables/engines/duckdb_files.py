"""Files that DuckDB reads: how a path is told apart, Parquet, and DuckDB's own databases.

`duckdb_text.py` reads CSV and JSON lines.
"""

from __future__ import annotations

import copy
import glob
import re
from collections.abc import Hashable, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Self, TypeVar

import duckdb

from unlisted.errors import InvalidArgumentError
from unlisted.tables.engines.duckdb import DuckDBEngine, connected, described, literal, quoted

DATABASE = "unlisted_database"

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


class Files:
    """One file or several of the same columns, from a path or a glob."""

    kind: str
    collated = False
    has_rows = True

    def __init__(self, path: str) -> None:
        self.path = path

    def rehearsal(self) -> Self:
        """Return the same files without their rows; what was learned from them is learned anew."""
        return _without_rows(self)

    def signature(self) -> Hashable:
        """Return which files there are, and which state of them."""
        return self.path, tuple(_state_of(file) for file in self.files)

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

    def check(self) -> None:
        """Do nothing: files can be read again."""

    def open(self, connection: duckdb.DuckDBPyConnection, columns: Sequence[str]) -> None:
        """Do nothing: DuckDB reads files where they are."""

    def listed(self) -> str:
        """Return the files as a list for DuckDB."""
        return f"[{', '.join(literal(as_named(name)) for name in self.files)}]"

    def refusal(self, problem: str) -> InvalidArgumentError:
        """Say what is wrong with the files, in words that hold nothing from their rows."""
        return InvalidArgumentError("source", self.path, f"a {self.kind} file that can be read", problem)


class Parquet(Files):
    """Parquet files. Their footers say what they hold."""

    kind = "Parquet"

    @cached_property
    def _footer(self) -> Mapping[str, str]:
        """What the footers say. All must say the same, else a later file fails in the middle of a run."""
        with closing(connected()) as connection:
            try:
                first, *others = (described(connection, _read_parquet(literal(as_named(f)))) for f in self.files)
            except duckdb.Error:
                raise self.refusal("It is damaged, is no Parquet file, or may not be read.") from None
        if any(other != first for other in others):
            raise self.refusal("The files have different columns or types. Read those of one kind at a time.")
        return first

    def types(self) -> Mapping[str, str]:
        """Read the footers."""
        return self._footer

    def relation(self, columns: Sequence[str]) -> str:  # noqa: ARG002 - DuckDB reads only what a query uses
        """Return the call that reads the files; without rows, their footers only."""
        call = _read_parquet(self.listed())
        return call if self.has_rows else _nothing_of(call)


class Database:
    """A table or view in a DuckDB file, which is opened read-only."""

    collated = True
    has_rows = True

    def __init__(self, path: str, table: str | None) -> None:
        if not table:
            hint = 'Say which: table="name" or table="schema.name".'
            raise InvalidArgumentError("table", table, "the name of a table or view in the database", hint)
        self._path = str(Path(path).expanduser())
        self._table = table

    @cached_property
    def _found(self) -> tuple[str, Mapping[str, str]]:
        """The relation that the user named, and its columns."""
        with closing(connected()) as connection:
            self.open(connection, ())
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
                return relation, described(connection, relation)
            except duckdb.Error:
                allowed, hint = "a table that can be read", "It is a view of something that cannot."
                raise InvalidArgumentError("table", self._table, allowed, hint) from None

    def check(self) -> None:
        """Do nothing: a table can be read again."""

    def types(self) -> Mapping[str, str]:
        """Read the catalogue."""
        return self._found[1]

    def open(self, connection: duckdb.DuckDBPyConnection, columns: Sequence[str]) -> None:  # noqa: ARG002
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

    def relation(self, columns: Sequence[str]) -> str:  # noqa: ARG002 - DuckDB reads only what a query uses
        """Return the table's full name; without rows, what knows its columns only."""
        return self._found[0] if self.has_rows else _nothing_of(self._found[0])

    def rehearsal(self) -> Self:
        """Return the same table without its rows; where it is and what it holds is looked up anew."""
        return _without_rows(self)

    def signature(self) -> Hashable:
        """Return which state of the file it is; what was not yet merged into it lies beside it."""
        return self._table, _state_of(self._path), _state_of(f"{self._path}.wal")


_Source = TypeVar("_Source", bound=Files | Database)


def _without_rows(source: _Source) -> _Source:
    fresh = copy.copy(source)
    for name, value in ((name, value) for kind in type(source).__mro__ for name, value in vars(kind).items()):
        if isinstance(value, cached_property):
            vars(fresh).pop(name, None)
    fresh.has_rows = False
    return fresh


def _nothing_of(relation: str) -> str:
    """Return a relation of the same columns with no rows: DuckDB binds it, sees that, and leaves the scan out."""
    return f"(SELECT * FROM {relation} WHERE FALSE)"  # noqa: S608 - a quoted name or a call of our own


def _state_of(file: str) -> Hashable:
    """Return what changes when a file is written or replaced; None if it is not there."""
    try:
        found = Path(file).stat()
    except OSError:
        return None
    return file, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def as_named(file: str) -> str:
    """Return the name of a file so that DuckDB reads nothing in it as a pattern."""
    return re.sub(r"([*?\[])", r"[\1]", file)


def _read_parquet(files: str) -> str:
    # Columns from the names of folders would be guessed, and one name could change the type of all.
    return f"read_parquet({files}, hive_partitioning = false)"


def _ending(path: str) -> str:
    return Path(path.lower().removesuffix(_COMPRESSED)).suffix


def _refuse(argument: str, value: object, why: str) -> None:
    if value is not None:
        raise InvalidArgumentError(argument, value, "left out for this source", f"Here, {why}.")
