"""Arrow batches on their way into DuckDB: what cannot be read in them becomes null first.

DuckDB takes Arrow data as it is. Bytes that are no UTF-8 make a later statement raise, an index outside its
dictionary makes the process crash, and numbers that must become microseconds overflow. So each batch is validated,
at the speed of memory, and only a batch that fails is looked at value by value (`counts/readable.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from unlisted.counts.readable import readable

ROWS = 122_880
"""Rows of a batch at most, as many as DuckDB hands to a thread at once."""

_LARGEST = 2**63 - 1
_MICROSECONDS = {"s": 10**6, "ms": 10**3}


def careful(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatchReader:
    """Return a reader of these batches in which every value can be read, by DuckDB too."""
    return pa.RecordBatchReader.from_batches(handed_over(schema), _mapped(schema, batches))


def careful_table(table: pa.Table) -> pa.RecordBatchReader:
    """Return a reader of a table in memory in which every value can be read, by DuckDB too."""
    return careful(table.schema, table.to_batches(max_chunksize=ROWS))


def handed_over(schema: pa.Schema) -> pa.Schema:
    """Return the schema of what DuckDB is given: of lists and the like only whether they are there."""
    return pa.schema(
        [pa.field(field.name, pa.bool_() if holds_others(field.type) else field.type) for field in schema]
    )


def holds_others(kind: pa.DataType) -> bool:
    """Return whether values of a type hold other values, as lists, structs and maps do.

    Nobody can ask about what is in them, so nobody needs to be able to read it.
    """
    if isinstance(kind, pa.BaseExtensionType):
        return holds_others(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return holds_others(kind.value_type)
    return bool(pa.types.is_nested(kind))


def _mapped(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    given = handed_over(schema)
    for batch in batches:
        yield pa.RecordBatch.from_arrays([_given(column) for column in batch.columns], schema=given)


def _given(column: pa.Array) -> pa.Array:
    if holds_others(column.type):
        return there(column)
    return _within(readable(column))


def there(column: pa.Array) -> pa.Array:
    """Return whether there is a value: true or null."""
    return pc.if_else(column.is_valid(), pa.scalar(True), pa.scalar(None, pa.bool_()))  # noqa: FBT003


def _within(column: pa.Array) -> pa.Array:
    """Return a column without those moments and durations that are too far away to be microseconds of 64 bits."""
    kind = column.type
    is_moment = pa.types.is_timestamp(kind) and kind.tz is not None
    if not (is_moment or pa.types.is_duration(kind)) or kind.unit not in _MICROSECONDS or len(column) == 0:
        return column
    most = _LARGEST // _MICROSECONDS[kind.unit]
    stored = column.view(pa.int64())
    is_far = pc.or_(pc.greater(stored, most), pc.less(stored, -most))
    return pc.if_else(is_far, pa.scalar(None, kind), column) if pc.any(is_far).as_py() else column
