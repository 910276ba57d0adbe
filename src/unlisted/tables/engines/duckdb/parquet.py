"""Parquet files: read by DuckDB itself, or, where it cannot read a row, by Arrow and with care.

DuckDB raises on a text that is no UTF-8, on a moment that overflows and on a time beyond the day, wherever a
question happens to look at it. Arrow reads such values as they are, and then they become null. Both ways give
DuckDB the same columns of the same types: what Arrow has in another type is cast, and null where it cannot be.
"""

# ruff: noqa: S608 - statements are made of quoted names

from __future__ import annotations

import os
import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from unlisted.counts.readable import readable, readable_as
from unlisted.tables.engines.duckdb.arrow import ROWS, careful, held_batch, there
from unlisted.tables.engines.duckdb.columns import DuckDBColumn, quoted
from unlisted.tables.engines.duckdb.databases import connected
from unlisted.tables.engines.duckdb.engine import Opening, described
from unlisted.tables.engines.duckdb.files import FILE, Files, Place, listed
from unlisted.tables.engines.duckdb.marks import Remembered
from unlisted.tables.reading import Reading

FRAME = "unlisted_parquet"

_MAGIC = b"PAR1"
_TAIL = b"size" + _MAGIC
_ARROW_SCHEMA = b"\x18\x0cARROW:schema\x18"
"""A key among the notes of a footer, between the marks that Thrift puts before a text. In the statistics the same
bytes would be a largest value, and they are not looked at; a column's name is not followed by another text."""

_MOST_DIGITS = 38
_UNKNOWN = "UNKNOWN"
"""What a column is called here that DuckDB would read as something else than it is: it is no item."""


class Parquet(Files):
    """Parquet files. Their footers say what they hold."""

    kind = "a Parquet file"

    def __init__(self, place: Place, reading: Reading | None = None, table: str | None = None) -> None:
        super().__init__(place, reading, table)
        self._footers = Remembered(self._read_footers)

    def _read_footers(self) -> Mapping[str, str]:
        """Return what the footers say. All must say the same, else a later file fails in the middle of a run."""
        with closing(connected()) as connection:
            try:
                first, *others = (described(connection, _read_parquet(listed([file]))) for file in self.files)
                schemas = [pq.read_schema(file) for file in self.files]
            except (duckdb.Error, pa.ArrowException, OSError):
                raise self.refusal("It is damaged, is not a Parquet file, or may not be read.") from None
        if any(_has_lookalikes(schema) for schema in schemas):
            # DuckDB would give one of them a name of its own, and whoever asks for it would get the other.
            raise self.refusal("Two columns have the same name; upper and lower case count as the same.")
        if any(other != first for other in others):
            raise self.refusal("The files have different columns or types. Read those of one kind at a time.")
        # DuckDB reads decimals of many digits as floating point.
        long = {field.name for schema in schemas for field in schema if _is_long(field.type)}
        return {name: _UNKNOWN if name in long else native for name, native in first.items()}

    def own_types(self) -> Mapping[str, str]:
        """Read the footers."""
        return self._footers.about(self.files)

    def relation_of(self, files: Sequence[str], columns: Sequence[str], more: str = "") -> str:  # noqa: ARG002
        """Return the call that reads the files; DuckDB leaves out what nobody asks for."""
        return _read_parquet(listed(files), more)

    def open_carefully(self, opening: Opening) -> str | None:
        """Let Arrow read the files, batch by batch, and DuckDB read what it says."""
        return self.with_folders(opening.columns, lambda inside, _: self._read_by_arrow(opening, inside))

    def _read_by_arrow(self, opening: Opening, columns: Sequence[str]) -> str:
        native = {name: {**self.own_types(), FILE: "VARCHAR"}[name] for name in columns}
        with _opened(self.files[0]) as file:
            stored = {**{field.name: field.type for field in file.schema_arrow}, FILE: pa.string()}
        schema = pa.schema([pa.field(name, _held(stored[name], native[name])) for name in native])
        opening.connection.register(FRAME, careful(schema, _batches(self.files, schema)))
        found = described(opening.connection, quoted(FRAME))
        values = ", ".join(
            quoted(name)
            if native[name] == found[name] or pa.types.is_boolean(schema.field(name).type)
            else f"TRY_CAST({quoted(name)} AS {native[name]}) AS {quoted(name)}"
            for name in native
        )
        return f"(SELECT {values} FROM {quoted(FRAME)})"


def _batches(files: Sequence[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for name in files:
        with _opened(name) as file:
            for batch in file.iter_batches(batch_size=ROWS, columns=[one for one in schema.names if one != FILE]):
                yield held_batch(batch, schema, name, _as_held)


def _as_held(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_boolean(kind) and not pa.types.is_boolean(column.type):
        return there(column)
    return readable_as(readable(column), kind)


def _opened(name: str) -> pq.ParquetFile:
    """Open a file as what its own schema says, as DuckDB does.

    A writer may have left an Arrow schema beside it. By that one a column of texts is a dictionary, and there are
    encodings that Arrow cannot read dictionaries from.
    """
    with open(name, "rb") as file:  # noqa: PTH123 - a name as DuckDB lists it
        file.seek(-len(_TAIL), os.SEEK_END)
        (size,) = struct.unpack("<i4x", tail := file.read())
        file.seek(-len(_TAIL) - size, os.SEEK_END)
        footer = file.read(size)
    # The key of the same length is one that nobody looks for.
    alone = _MAGIC + footer.replace(_ARROW_SCHEMA, _ARROW_SCHEMA.swapcase()) + tail
    metadata = pq.read_metadata(pa.BufferReader(alone))
    return pq.ParquetFile(name, metadata=metadata, coerce_int96_timestamp_unit="us")


def _held(kind: pa.DataType, native: str) -> pa.DataType:
    """Return the type in which DuckDB takes values that Arrow has read from a file.

    Of a type that is only there, or not, Arrow and DuckDB may have different ideas: an interval of DuckDB is
    twelve bytes to Arrow. So whether it is there is all that is handed over.
    """
    if DuckDBColumn("", native, is_database=False, collated=False).is_only_there:
        return pa.bool_()
    if pa.types.is_float16(kind):
        return pa.float32()
    return pa.decimal128(kind.precision, kind.scale) if pa.types.is_decimal256(kind) else kind


def _has_lookalikes(schema: pa.Schema) -> bool:
    return max(Counter(name.casefold() for name in schema.names).values(), default=0) > 1


def _is_long(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(kind) and kind.precision > _MOST_DIGITS)


def _read_parquet(files: str, more: str = "") -> str:
    # DuckDB would guess the types of columns from the names of folders, and one name could change those of all.
    return f"read_parquet({files}, hive_partitioning = false{more})"
