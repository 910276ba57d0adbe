"""Data frames and streams that speak the Arrow PyCapsule interface, read by DuckDB where they are.

Polars and pandas frames, PyArrow tables and readers, and anything else with `__arrow_c_stream__`. A Polars
LazyFrame is run only when its rows are needed, for the columns that are needed, batch by batch. A stream that can
be read only once is read once, and asking it again is refused. No row is looked at to learn a type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property, lru_cache
from typing import Any

import duckdb
import pyarrow as pa

from unlisted.errors import InvalidArgumentError
from unlisted.tables.engines.duckdb.arrow import careful, careful_table
from unlisted.tables.engines.duckdb.columns import quoted
from unlisted.tables.engines.duckdb.databases import connected
from unlisted.tables.engines.duckdb.engine import DuckDBEngine, Opening, described

FRAME = "unlisted_frame"


def frame_engine(frame: Any, timezone: str | None = None) -> DuckDBEngine:
    """Choose how to read a frame. Reads nothing."""
    origin = _origin(frame)
    origin.timezone = timezone
    return DuckDBEngine(origin)


def _origin(frame: Any) -> Frame:
    packages = {cls.__module__.partition(".")[0] for cls in type(frame).__mro__}
    if "pandas" in packages:
        if not hasattr(frame, "dtypes") or not hasattr(frame, "columns"):
            hint = "Make a data frame of it, with a column that says whose row it is."
            raise InvalidArgumentError("source", type(frame).__name__, "a data frame", hint)
        from unlisted.tables.engines.duckdb.pandas_frames import Pandas  # noqa: PLC0415 - it is a frame

        return Pandas(frame)
    if "polars" in packages and hasattr(frame, "collect_schema") and hasattr(frame, "collect"):
        return Frame(lambda: _lazy_schema(frame), lambda columns: _lazy_rows(frame, columns))
    if hasattr(frame, "__len__"):
        return Frame(lambda: _reader(frame).schema, lambda columns: pa.table(frame).select(columns))
    return Stream(frame)


class Frame:
    """A frame that can be read again and again: how its schema is read, and how its rows."""

    named_by_first_line = False
    is_database = False
    is_in_memory = True
    collated: frozenset[str] = frozenset()
    timezone: str | None = None

    def __init__(
        self,
        schema: Callable[[], pa.Schema],
        rows: Callable[[list[str]], pa.Table | pa.RecordBatchReader],
    ) -> None:
        self._schema = schema
        self._rows = rows

    @cached_property
    def _types(self) -> Mapping[str, str]:
        return duckdb_types(self._schema())

    def check(self) -> None:
        """Do nothing: a frame can be read again."""

    def hint(self) -> str:
        """Say nothing about names: a frame tells them."""
        return ""

    def state(self) -> Hashable:
        """Return nothing: one statement reads the frame, which is in this process."""
        return None

    def types(self) -> Mapping[str, str]:
        """Read the schema."""
        return self._types

    def open(self, opening: Opening) -> str:
        """Let DuckDB read the columns; batches are asked for when a query runs."""
        opening.connection.register(FRAME, _careful(self.rows(opening)))
        return self.relation(opening.columns)

    def rows(self, opening: Opening) -> pa.Table | pa.RecordBatchReader:
        """Return the rows, with the columns that are read."""
        return self._rows(list(opening.columns))

    def bind(self, opening: Opening) -> str:
        """Read a row of nulls in the same way, which is nobody's: some failures only show with a row in hand."""
        schema = self._schema()
        fields = [schema.field(name) for name in opening.columns]
        nobody = pa.table([pa.nulls(1, field.type) for field in fields], names=list(opening.columns))
        opening.connection.register(FRAME, _careful(nobody))
        return self.relation(opening.columns)

    def open_carefully(self, opening: Opening) -> str | None:  # noqa: ARG002
        """Return nothing: there is no other way, for every frame is read carefully."""
        return None

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


def _careful(rows: pa.Table | pa.RecordBatchReader) -> pa.RecordBatchReader:
    return careful_table(rows) if isinstance(rows, pa.Table) else careful(rows.schema, rows)


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


def duckdb_types(schema: pa.Schema) -> Mapping[str, str]:
    """Return DuckDB's names for the types of those columns that it can read, and whose name is theirs alone."""
    return _types_written(schema.serialize().to_pybytes())


@lru_cache(maxsize=64)
def _types_written(serialized: bytes) -> Mapping[str, str]:
    """Return the same for a schema as bytes, with all that is said beside its types.

    Frames of one shape come again and again, as the rounds of a stream do, and asking DuckDB means opening it.
    """
    schema = pa.ipc.read_schema(pa.py_buffer(serialized))
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
    from polars.exceptions import PanicException  # noqa: PLC0415 - only who has a Polars frame has Polars

    # Plans fail in many ways, with messages that name what they are planned on. A panic is no Exception.
    try:
        return _reader(_without_categories(frame).clear().collect()).schema
    except (Exception, PanicException):
        raise InvalidArgumentError("source", "LazyFrame", "a LazyFrame whose schema can be planned") from None


def _lazy_rows(frame: Any, columns: list[str]) -> pa.RecordBatchReader:
    """Return a reader that runs a Polars LazyFrame while it is read."""
    needed = _without_categories(frame.select(columns))
    schema = _reader(needed.clear().collect()).schema

    def batches() -> Iterator[pa.RecordBatch]:
        for part in _parts(needed):
            yield from pa.table(part).cast(schema).to_batches()

    return pa.RecordBatchReader.from_batches(schema, batches())


def _parts(frame: Any) -> Iterator[Any]:
    """Run a Polars LazyFrame and yield its rows, part by part.

    When its plan panics, Polars ends as if there were no more rows, and one row would have taken others with it.
    So a row of our own comes last. If it does not come, that is an error.
    """
    import polars  # noqa: PLC0415 - only who has a Polars frame has Polars

    if not hasattr(frame, "collect_batches"):
        yield frame.collect()
        return
    is_last = max(frame.collect_schema().names(), key=len, default="") + "_is_last"
    marked = frame.with_columns(polars.lit(False).alias(is_last))  # noqa: FBT003 - a value
    last, has_ended = polars.LazyFrame({is_last: [True]}), False
    for part in polars.concat([marked, last], how="diagonal").collect_batches():
        has_ended = has_ended or bool(part[is_last].any())
        yield part.filter(~part[is_last]).drop(is_last)
    if not has_ended:
        raise RuntimeError("the plan of a LazyFrame ended before its rows did")


def _without_categories(frame: Any) -> Any:
    """Say categories as the texts they stand for: each batch could number them in its own way."""
    import polars  # noqa: PLC0415 - only who has a Polars frame has Polars

    return frame.cast({polars.Categorical: polars.String, polars.Enum: polars.String})
