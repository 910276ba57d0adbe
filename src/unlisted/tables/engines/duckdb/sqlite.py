"""A table or view in a SQLite database, read by Python's own module and counted by DuckDB, batch by batch.

SQLite holds any value in any column. So a column holds here what it is declared to hold, in the database or by
`types=`, and a value of another storage class (`typeof`) is one that cannot be read: 1 and '1' are never one user.
One statement reads the rows, so it sees one state of the database whatever others write meanwhile.
"""

# ruff: noqa: S608 - statements are made of quoted names

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from unlisted.errors import InvalidArgumentError
from unlisted.tables.column_types import ColumnType
from unlisted.tables.engines.duckdb.columns import quoted
from unlisted.tables.engines.duckdb.files import Place
from unlisted.tables.engines.duckdb.frames import Frame
from unlisted.tables.reading import Reading

__all__ = ["Sqlite"]

LONGEST_TEXT = 2**24
"""Bytes of a text; one that is longer is not read. It could be a gigabyte, and no label or user is."""

_BATCH_ROWS, _BATCH_BYTES = 10_000, 2**25


def _date(value: bytes) -> datetime.date:
    return datetime.date.fromisoformat(value.decode("ascii"))


def _timestamp(value: bytes) -> datetime.datetime:
    moment = datetime.datetime.fromisoformat(value.decode("ascii"))
    if moment.tzinfo is not None:
        raise ValueError("a moment with a time zone")
    return moment


_KINDS: Mapping[ColumnType, tuple[tuple[str, ...], pa.DataType, Callable[[Any], Any]]] = {
    ColumnType.TEXT: (("text",), pa.string(), bytes.decode),
    ColumnType.INTEGER: (("integer",), pa.int64(), int),
    ColumnType.FLOAT: (("real", "integer"), pa.float64(), float),
    ColumnType.BOOLEAN: (("integer",), pa.bool_(), {0: False, 1: True}.__getitem__),
    ColumnType.DATE: (("text",), pa.date32(), _date),
    ColumnType.TIMESTAMP: (("text",), pa.timestamp("us"), _timestamp),
}
"""What a column holds: the storage classes of its values, the type that they become, and how a value is read."""


def kind_of(declared: str) -> ColumnType:
    """Return what a column holds by its declared type; OTHER where that could be anything.

    After the words for days, moments and truth values, which SQLite has no classes for, by SQLite's own rule.
    """
    word = declared.upper()
    for part, kind in (
        ("DATETIME", ColumnType.TIMESTAMP),
        ("TIMESTAMP", ColumnType.TIMESTAMP),
        ("DATE", ColumnType.DATE),
        ("BOOL", ColumnType.BOOLEAN),
        ("INT", ColumnType.INTEGER),
        ("CHAR", ColumnType.TEXT),
        ("CLOB", ColumnType.TEXT),
        ("TEXT", ColumnType.TEXT),
        ("REAL", ColumnType.FLOAT),
        ("FLOA", ColumnType.FLOAT),
        ("DOUB", ColumnType.FLOAT),
    ):
        if part in word:
            return kind
    return ColumnType.OTHER


class Sqlite(Frame):
    """A table or view in a SQLite file, which is opened read-only."""

    def __init__(self, place: Place, reading: Reading, table: str | None) -> None:
        reading.only("a SQLite file", ("types",))
        if reading.by_line:
            raise InvalidArgumentError("types", {"*": "line"}, "left out for a SQLite file")
        if not table:
            hint = 'Say which: table="name".'
            raise InvalidArgumentError("table", table, "the name of a table or view in the database", hint)
        if len(place.given) != 1:
            raise InvalidArgumentError("source", place.shown, "one SQLite file")
        self._path = str(Path(place.given[0]).expanduser())
        self._table = table
        self._declared = reading.types
        self._compared: tuple[Hashable, frozenset[str]] | None = None
        super().__init__(self._read_schema, self._stream)

    def state(self) -> Hashable:
        """Return the number of the schema, which any change of it raises; rows are read by one statement."""
        with self._connected() as connection:
            return self._path, connection.execute("PRAGMA schema_version").fetchone()

    def types(self) -> Mapping[str, str]:
        """Describe the columns anew: a database can change."""
        self.__dict__.pop("_types", None)
        return super().types()

    @property
    def collated(self) -> frozenset[str]:  # type: ignore[override]
        """Ask SQLite how it would compare each text, once for every state of the schema; reads no row."""
        state = self.state()
        if self._compared is None or self._compared[0] != state:
            with self._connected() as connection:
                texts = [name for name, kind in self._kinds(connection).items() if kind is ColumnType.TEXT]
                found = frozenset(name for name in texts if self._is_collated(connection, name))
            self._compared = (state, found)
        return self._compared[1]

    def _is_collated(self, connection: sqlite3.Connection, name: str) -> bool:
        program = connection.execute(f"EXPLAIN SELECT +{quoted(name)} = 'x' FROM {quoted(self._table)}").fetchall()
        named = [str(p4) for _, code, _, _, _, p4, *_ in program if code in ("Eq", "Ne") and p4]
        return not named or any(not one.startswith("BINARY") for one in named)

    def _read_schema(self) -> pa.Schema:
        with self._connected() as connection:
            kinds = self._kinds(connection)
        # What could hold anything stays what nothing can be made of.
        no_type = pa.list_(pa.null())
        return pa.schema([(name, _KINDS[kind][1] if kind in _KINDS else no_type) for name, kind in kinds.items()])

    def _kinds(self, connection: sqlite3.Connection) -> dict[str, ColumnType]:
        """Return what the columns hold, as the database declares it or its owner does."""
        found = connection.execute(f"PRAGMA table_xinfo({quoted(self._table)})").fetchall()
        if not found:
            listed = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
            names = ", ".join(sorted(str(name) for (name,) in connection.execute(listed))) or "none"
            allowed, hint = "a table or view in the database", f"The tables are: {names}."
            raise InvalidArgumentError("table", self._table, allowed, hint)
        kinds = {str(name): kind_of(str(declared)) for _, name, declared, *_ in found}
        for name, kind in self._declared.items():
            if name not in kinds or kind not in _KINDS:
                words = ", ".join(one.value for one in _KINDS)
                hint = f"The columns are: {', '.join(kinds)}. They hold {words}."
                raise InvalidArgumentError("types", {name: kind.value}, "what a column of the table holds", hint)
        return kinds | dict(self._declared)

    def _stream(self, columns: list[str]) -> pa.RecordBatchReader:
        """Return the rows of one statement, which begins when they are asked for."""
        schema = self._read_schema()
        asked = pa.schema([schema.field(name) for name in columns])
        return pa.RecordBatchReader.from_batches(asked, self._batches(asked))

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        with self._connected() as connection:
            kinds = [self._kinds(connection)[name] for name in schema.names]
            read = ", ".join(_read(name, kind) for name, kind in zip(schema.names, kinds, strict=True))
            # As UTF-8 whatever the database keeps, and unread: not all of it need be text.
            connection.text_factory = bytes
            rows = connection.execute(f"SELECT {read} FROM {quoted(self._table)}")
            while batch := _taken(rows):
                columns = zip(zip(*batch, strict=True), kinds, schema.types, strict=True)
                arrays = [_array(values, kind, type_) for values, kind, type_ in columns]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Open the file to read; DuckDB may ask for rows from any of its threads, one at a time."""
        allowed = "the path of a SQLite file that can be read"
        if not Path(self._path).is_file():
            raise InvalidArgumentError("source", self._path, allowed, "There is no such file.")
        try:
            url = f"file:{quote(str(Path(self._path).absolute()))}?mode=ro"
            connection = sqlite3.connect(url, uri=True, check_same_thread=False, isolation_level=None)
            with suppress(sqlite3.Error):
                connection.execute("PRAGMA query_only = ON")
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        except sqlite3.Error:
            hint = "It is no SQLite database, or another program has locked it."
            raise InvalidArgumentError("source", self._path, allowed, hint) from None
        with closing(connection):
            yield connection


def _read(name: str, kind: ColumnType) -> str:
    """Return a column's value if it is of a storage class that the column can hold; a text as its bytes."""
    if kind not in _KINDS:
        return "NULL"
    classes, _, _ = _KINDS[kind]
    if "text" not in classes:
        listed = ", ".join(f"'{one}'" for one in classes)
        return f"CASE WHEN typeof({quoted(name)}) IN ({listed}) THEN {quoted(name)} END"
    size = f"length(CAST({quoted(name)} AS BLOB))"
    return f"CASE WHEN typeof({quoted(name)}) = 'text' AND {size} <= {LONGEST_TEXT} THEN {quoted(name)} END"


def _taken(rows: sqlite3.Cursor) -> list[tuple[Any, ...]]:
    """Take the next rows: so many, or fewer if they are long."""
    taken: list[tuple[Any, ...]] = []
    size = 0
    for row in rows:
        taken.append(row)
        size += sum(len(value) for value in row if isinstance(value, bytes))
        if len(taken) >= _BATCH_ROWS or size >= _BATCH_BYTES:
            break
    return taken


def _array(values: Sequence[Any], kind: ColumnType, type_: pa.DataType) -> pa.Array:
    """Return values as Arrow; null for one that does not hold what its column does."""
    if kind not in _KINDS:
        return pa.nulls(len(values), type_)
    read = _KINDS[kind][2]

    def one(value: Any) -> Any:
        try:
            return None if value is None else read(value)
        except (ValueError, KeyError, OverflowError):
            return None

    return pa.array([one(value) for value in values], type_)
