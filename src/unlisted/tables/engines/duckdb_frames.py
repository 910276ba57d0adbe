"""Data frames and streams that speak the Arrow PyCapsule interface, read by DuckDB where they are.

Polars and pandas frames, PyArrow tables and readers, and anything else with `__arrow_c_stream__`. A Polars
LazyFrame is run only when its rows are needed, for the columns that are needed, batch by batch. A stream that can
be read only once is read once, and asking it again is refused. No row is looked at to learn a type: a pandas
column of Python objects, which could hold anything, is read as text.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
import uuid
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from typing import Any

import duckdb
import pyarrow as pa

from unlisted.errors import InvalidArgumentError
from unlisted.tables.engines.duckdb import DuckDBEngine, connected, described, quoted

FRAME = "unlisted_frame"

_SAID_AS_TEXT = (numbers.Number, decimal.Decimal, datetime.date, datetime.time, uuid.UUID)


def frame_engine(frame: Any) -> DuckDBEngine:
    """Choose how to read a frame. Reads nothing."""
    packages = {cls.__module__.partition(".")[0] for cls in type(frame).__mro__}
    if "pandas" in packages:
        if not hasattr(frame, "dtypes") or not hasattr(frame, "columns"):
            hint = "Make a data frame of it, with a column that says whose row it is."
            raise InvalidArgumentError("source", type(frame).__name__, "a data frame", hint)
        return DuckDBEngine(
            Frame(
                lambda: _pandas_schema(frame),
                lambda columns: _pandas_rows(frame, columns),
                lambda columns: _pandas_rows(frame.iloc[:0], columns),
            )
        )
    if "polars" in packages and hasattr(frame, "collect_schema") and hasattr(frame, "collect"):
        return DuckDBEngine(
            Frame(
                lambda: _lazy_schema(frame),
                lambda columns: _lazy_rows(frame, columns),
                lambda columns: _lazy_rows(frame.clear(1), columns),
            )
        )
    if hasattr(frame, "__len__"):
        return DuckDBEngine(Frame(lambda: _reader(frame).schema, lambda columns: pa.table(frame).select(columns)))
    return DuckDBEngine(Stream(frame))


Read = Callable[[list[str]], pa.Table | pa.RecordBatchReader]
"""Reads some columns."""


class Frame:
    """A frame that can be read again and again: how its schema is read, and how its rows.

    `no_rows` reads columns the same way, of a frame like it without rows: at most one of nulls, which is nobody's.
    By default one is made of the schema.
    """

    collated = False

    def __init__(self, schema: Callable[[], pa.Schema], rows: Read, no_rows: Read | None = None) -> None:
        self._schema = schema
        self._rows = rows
        self._no_rows: Read = no_rows or (lambda columns: _row_of_nobody(schema(), columns))

    def rehearsal(self) -> Frame:
        """Return the same frame without its rows."""
        return Frame(self._schema, self._no_rows, self._no_rows)

    def signature(self) -> Hashable:
        """Return the schema as it is now: a pandas frame can get other columns."""
        return tuple((field.name, str(field.type)) for field in self._schema())

    @cached_property
    def _types(self) -> Mapping[str, str]:
        return _duckdb_types(self._schema())

    def check(self) -> None:
        """Do nothing: a frame can be read again."""

    def types(self) -> Mapping[str, str]:
        """Read the schema."""
        return self._types

    def open(self, connection: duckdb.DuckDBPyConnection, columns: Sequence[str]) -> None:
        """Let DuckDB read the columns; batches are asked for when a query runs."""
        connection.register(FRAME, self._rows(list(columns)))

    def relation(self, columns: Sequence[str]) -> str:  # noqa: ARG002 - the connection was opened for these
        """Return the name under which the frame is read."""
        return quoted(FRAME)


class Stream(Frame):
    """A stream that is used up by reading it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._is_used = False
        super().__init__(lambda: self._opened.schema, self._rest)

    @cached_property
    def _opened(self) -> pa.RecordBatchReader:
        return _reader(self._stream)

    def check(self) -> None:
        """Refuse a stream that was read."""
        if self._is_used:
            allowed, hint = "a stream that was not read yet", "Collect it into a table to ask more than once."
            raise InvalidArgumentError("source", type(self._stream).__name__, allowed, hint)

    def _rest(self, columns: list[str]) -> pa.RecordBatchReader:
        self._is_used = True
        reader = self._opened
        schema = pa.schema([reader.schema.field(name) for name in columns])
        return pa.RecordBatchReader.from_batches(schema, (batch.select(columns) for batch in reader))


def _reader(stream: Any) -> pa.RecordBatchReader:
    """Open a stream at its start, which tells its schema."""
    if isinstance(stream, pa.RecordBatchReader):
        return stream
    try:
        return pa.RecordBatchReader.from_stream(stream)
    except (pa.ArrowException, TypeError, ValueError, RuntimeError):
        raise InvalidArgumentError(
            "source", type(stream).__name__, "a data frame or stream whose Arrow schema can be read"
        ) from None


def _row_of_nobody(schema: pa.Schema, columns: list[str]) -> pa.Table:
    """Return some columns with one row of nulls: PyArrow says only where there is a row what it cannot do."""
    try:
        return pa.table({name: pa.nulls(1, schema.field(name).type) for name in columns})
    except pa.ArrowNotImplementedError:
        # A type that knows no null.
        return schema.empty_table().select(columns)


def _duckdb_types(schema: pa.Schema) -> Mapping[str, str]:
    """Return DuckDB's names for the types of those columns that it can read, and whose name is theirs alone."""
    uses = Counter(schema.names)
    fields = [field for field in schema if uses[field.name] == 1]
    with closing(connected()) as connection:
        if (types := _tried(connection, fields)) is not None:
            return types
        # One column that cannot be read must not hide the others.
        return {name: native for field in fields for name, native in (_tried(connection, [field]) or {}).items()}


def _tried(connection: duckdb.DuckDBPyConnection, fields: Sequence[pa.Field]) -> Mapping[str, str] | None:
    """Describe columns, or return None if DuckDB cannot read all of them."""
    # By position: DuckDB would rename columns whose names differ only in case.
    numbered = pa.schema([field.with_name(f"c{at}") for at, field in enumerate(fields)])
    try:
        connection.register(FRAME, numbered.empty_table())
        natives = described(connection, quoted(FRAME)).values() if fields else ()
    except (duckdb.Error, pa.ArrowException):
        return None
    return dict(zip((field.name for field in fields), natives, strict=True))


def _lazy_schema(frame: Any) -> pa.Schema:
    """Return the schema of a Polars LazyFrame, which plans it but runs nothing."""
    # Plans fail in many ways, with messages that name what they are planned on.
    try:
        return _reader(_without_categories(frame).clear().collect()).schema
    except Exception:
        raise InvalidArgumentError("source", "LazyFrame", "a LazyFrame whose schema can be planned") from None


def _lazy_rows(frame: Any, columns: list[str]) -> pa.RecordBatchReader:
    """Return a reader that runs a Polars LazyFrame while it is read."""
    needed = _without_categories(frame.select(columns))
    schema = _reader(needed.clear().collect()).schema

    def batches() -> Iterator[pa.RecordBatch]:
        parts = needed.collect_batches() if hasattr(needed, "collect_batches") else [needed.collect()]
        for part in parts:
            yield from pa.table(part).cast(schema).to_batches()

    return pa.RecordBatchReader.from_batches(schema, batches())


def _without_categories(frame: Any) -> Any:
    """Say categories as the texts they stand for: each batch could number them in its own way."""
    import polars  # noqa: PLC0415 - only who has a Polars frame has Polars

    return frame.cast({polars.Categorical: polars.String, polars.Enum: polars.String})


def _pandas_schema(frame: Any) -> pa.Schema:
    """Return the schema that the columns of a pandas frame will have."""
    fields = []
    for name in frame.columns[~frame.columns.duplicated(keep=False)]:
        try:
            fields.append(pa.field(name, _pandas_column(frame[name].iloc[:0]).type))
        except (pa.ArrowException, TypeError, ValueError, NotImplementedError):
            # No name that can be asked for, or a type that Arrow does not know; the other columns are still good.
            continue
    return pa.schema(fields)


def _pandas_rows(frame: Any, columns: list[str]) -> pa.Table:
    return pa.table({name: _pandas_column(frame[name]) for name in columns})


def _pandas_column(series: Any) -> pa.Array | pa.ChunkedArray:
    """Return a column of a pandas frame, NaN as null; Python objects as text."""
    values = series.dtype.categories if hasattr(series.dtype, "categories") else series
    if values.dtype == object:
        return pa.array((_text(value) for value in series), pa.large_string())
    return pa.array(series, from_pandas=True)


def _text(value: object) -> str | None:
    """Say one Python object as text; what is missing, or is no plain value, is null."""
    try:
        text = value if isinstance(value, str) else str(value) if isinstance(value, _SAID_AS_TEXT) else None
        if text is None or value != value:  # noqa: PLR0124 - NaN and NaT are what differs from itself
            return None
        text.encode()
    except (ArithmeticError, ValueError):
        return None
    return text
