"""Arrow files: the IPC formats, which Feather is one of, read by Arrow and handed to DuckDB with care."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from unlisted.counts.readable import readable
from unlisted.tables.engines.duckdb.arrow import careful, held_batch, holds_others
from unlisted.tables.engines.duckdb.columns import quoted
from unlisted.tables.engines.duckdb.engine import Opening
from unlisted.tables.engines.duckdb.files import FILE, Files, Place
from unlisted.tables.engines.duckdb.frames import duckdb_types
from unlisted.tables.engines.duckdb.marks import Remembered
from unlisted.tables.reading import Reading

FRAME = "unlisted_arrow"


class ArrowFiles(Files):
    """Arrow IPC files, in the file or the stream format. Their schema stands at their start."""

    kind = "an Arrow file"

    def __init__(self, place: Place, reading: Reading | None = None, table: str | None = None) -> None:
        super().__init__(place, reading, table)
        self._schemas = Remembered(self._read_schemas)

    def _read_schemas(self) -> tuple[pa.Schema, Mapping[str, str]]:
        try:
            first, *others = (_schema_of(file) for file in self.files)
        except (pa.ArrowException, OSError):
            raise self.refusal("It is damaged, is not an Arrow IPC file, or may not be read.") from None
        if any(not other.equals(first) for other in others):
            raise self.refusal("The files have different columns or types. Read those of one kind at a time.")
        return first, duckdb_types(pa.schema([field.with_type(_plain(field.type)) for field in first]))

    def own_types(self) -> Mapping[str, str]:
        """Read the schema."""
        return self._schemas.about(self.files)[1]

    def relation_of(self, files: Sequence[str], columns: Sequence[str], more: str = "") -> str:  # noqa: ARG002
        """Return the name under which the files are read."""
        return quoted(FRAME)

    def open(self, opening: Opening) -> str:
        """Let DuckDB read the columns; batches are asked for when a query runs."""
        return self.with_folders(opening.columns, lambda inside, _: self._registered(opening, inside, self.files))

    def bind(self, opening: Opening) -> str | None:
        """Let DuckDB look at the columns of no file."""
        self.with_folders(opening.columns, lambda inside, _: self._registered(opening, inside, ()))
        return None

    def _registered(self, opening: Opening, columns: Sequence[str], files: Sequence[str]) -> str:
        stored = self._schemas.about(self.files)[0]
        kinds = {name: pa.string() if name == FILE else _plain(stored.field(name).type) for name in columns}
        schema = pa.schema(list(kinds.items()))
        opening.connection.register(FRAME, careful(schema, _batches(files, schema)))
        return quoted(FRAME)


def _batches(files: Sequence[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for name in files:
        with _opened(name) as found:
            for batch in found:
                yield held_batch(batch, schema, name, _decoded)


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the type of what a dictionary stands for: each batch of a stream may bring its own."""
    return kind.value_type if pa.types.is_dictionary(kind) and not holds_others(kind) else kind


def _decoded(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return column if column.type == kind else readable(column).dictionary_decode()


def _schema_of(file: str) -> pa.Schema:
    with _opened(file) as found:
        return found.schema


@contextmanager
def _opened(file: str) -> Iterator[Any]:
    """Open a file in whichever of the two formats it is."""
    with pa.memory_map(file) as raw:
        try:
            found: Any = pa.ipc.open_file(raw)
        except pa.ArrowInvalid:
            raw.seek(0)
            with pa.ipc.open_stream(raw) as stream:
                yield stream
                return
        yield _File(found)


class _File:
    """The batches of the file format, one after the other."""

    def __init__(self, reader: pa.ipc.RecordBatchFileReader) -> None:
        self.schema = reader.schema
        self._reader = reader

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return (self._reader.get_batch(at) for at in range(self._reader.num_record_batches))
