"""Every way in which the usual writers lay rows out in a Parquet file.

A writer that cannot write a table raises; the case is then none. Which columns there are and what they hold is the
same with a hostile row and without it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from tests.hostile.arrow_cells import UNCHECKED_DECIMALS
from tests.hostile.footers import BINARY, DISTINCT, MAX, MIN, NULLS, OLD_MAX, OLD_MIN, WHOLE, Fields, rewritten
from tests.hostile.rows import SECRET_ITEM, VILLAIN

Writer = Callable[[pa.Table, Path], None]


def by_pyarrow(table: pa.Table, path: Path, **options: Any) -> None:
    pq.write_table(table, path, **options)


def in_groups(table: pa.Table, path: Path, sizes: tuple[int, ...] = (0, 1, 0, 2, 3), **options: Any) -> None:
    """Row groups of these sizes in turn, empty ones among them."""
    with pq.ParquetWriter(path, table.schema, **options) as writer:
        start = 0
        while start < len(table):
            for size in sizes:
                writer.write_table(table.slice(start, size))
                start += size
        writer.write_table(table.slice(0, 0))


def encoded(table: pa.Table, path: Path, encoding: str, **options: Any) -> None:
    """One encoding for all columns that can have it."""
    suits = {
        "DELTA_BINARY_PACKED": lambda kind: pa.types.is_integer(kind) or pa.types.is_temporal(kind),
        "DELTA_LENGTH_BYTE_ARRAY": _is_text_or_bytes,
        "DELTA_BYTE_ARRAY": lambda kind: _is_text_or_bytes(kind) or pa.types.is_decimal(kind),
        "BYTE_STREAM_SPLIT": lambda kind: pa.types.is_floating(kind) or pa.types.is_integer(kind),
        "PLAIN": lambda kind: not pa.types.is_nested(kind),
    }[encoding]
    columns = {field.name: encoding for field in table.schema if suits(_of(field.type))}
    pq.write_table(table, path, use_dictionary=False, column_encoding=columns or None, **options)


def _of(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_text_or_bytes(kind: pa.DataType) -> bool:
    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_string_view)
    return any(check(kind) for check in checks)


def with_bloom_filters(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path, bloom_filter_options=dict.fromkeys(table.column_names, True))


def by_polars(table: pa.Table, path: Path, **options: Any) -> None:
    _into_polars(table).write_parquet(path, **options)


def by_polars_lazily(table: pa.Table, path: Path, **options: Any) -> None:
    _into_polars(table).lazy().sink_parquet(path, **options)


def _into_polars(table: pa.Table) -> Any:
    import polars

    if any(field.type == pa.timestamp("s") for field in table.schema):
        raise ValueError("Polars multiplies seconds, and what it writes of far ones are others")
    return polars.from_arrow(table)


def by_pandas(table: pa.Table, path: Path, **options: Any) -> None:
    import pandas

    table.to_pandas(types_mapper=pandas.ArrowDtype).to_parquet(path, **options)


def by_duckdb(table: pa.Table, path: Path, options: str) -> None:
    if any(field.type in UNCHECKED_DECIMALS for field in table.schema):
        raise ValueError("DuckDB reads such decimals as whatever is in its memory")
    with duckdb.connect() as connection:
        connection.register("given", table)
        connection.execute(f"COPY given TO '{path}' (FORMAT parquet, {options})")


def lying(table: pa.Table, path: Path, change: Callable[[str, Fields], None], **options: Any) -> None:
    """Written by pyarrow, and its statistics changed."""
    pq.write_table(table, path, **options)
    rewritten(path, change)


def lying_with_villains(table: pa.Table, path: Path, change: Callable[[str, Fields], None]) -> None:
    """The same, of a table with hostile rows only."""
    names = [name for column in ("user", "item") for name in _texts(table.column(column))]
    lying(table, path, change if any(name.startswith((VILLAIN, SECRET_ITEM)) for name in names) else _honest)


def _texts(column: pa.ChunkedArray) -> list[str]:
    """The names in a column that is not the hostile one; whatever cannot be read is the hostile one."""
    try:
        return [name for name in column.to_pylist() if isinstance(name, str)]
    except (ValueError, OverflowError):
        return []


def _honest(name: str, statistics: Fields) -> None:
    """Leave statistics as they are."""


def _no_nulls(name: str, statistics: Fields) -> None:
    statistics[NULLS] = (WHOLE[2], 0)


def _one_value(name: str, statistics: Fields) -> None:
    statistics[DISTINCT] = (WHOLE[2], 1)


def _only_nulls_counted(name: str, statistics: Fields) -> None:
    for number in (OLD_MAX, OLD_MIN, MAX, MIN):
        statistics.pop(number, None)


def _only_old_fields(name: str, statistics: Fields) -> None:
    for old, new in ((OLD_MAX, MAX), (OLD_MIN, MIN)):
        if new in statistics:
            statistics[old] = statistics.pop(new)


def _nan(name: str, statistics: Fields) -> None:
    """Minimum and maximum are NaN, as careless writers leave them behind."""
    for number in (OLD_MAX, OLD_MIN, MAX, MIN):
        if number in statistics and len(statistics[number][1]) in (4, 8):
            wide = len(statistics[number][1]) == 8
            statistics[number] = (BINARY, struct.pack("<d" if wide else "<f", float("nan")))


def _all_ones(name: str, statistics: Fields) -> None:
    for number in (OLD_MAX, OLD_MIN, MAX, MIN):
        if number in statistics:
            statistics[number] = (BINARY, b"\xff" * len(statistics[number][1]))


LIES: dict[str, Callable[[str, Fields], None]] = {
    "no nulls": _no_nulls,
    "one value": _one_value,
    "neither least nor most": _only_nulls_counted,
    "the old fields": _only_old_fields,
}
"""Statistics that are wrong or strange, and still say of other users' rows nothing that is false."""

WILD_LIES = {"NaN": _nan, "all ones": _all_ones}
"""Statistics that nobody may believe. Only a table with a hostile row has them: that row's writer left them."""


def _layouts() -> Iterator[tuple[str, Writer]]:
    yield "pyarrow", by_pyarrow
    yield "pyarrow, plain", partial(by_pyarrow, use_dictionary=False)
    for codec in ("none", "gzip", "brotli", "zstd", "lz4"):
        yield f"pyarrow, {codec}", partial(by_pyarrow, compression=codec)
    yield "pyarrow, pages of version 2", partial(by_pyarrow, data_page_version="2.0")
    yield "pyarrow, plain pages of version 2", partial(by_pyarrow, data_page_version="2.0", use_dictionary=False)
    for encoding in ("PLAIN", "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"):
        yield f"pyarrow, {encoding}", partial(encoded, encoding=encoding)
    yield "pyarrow, byte stream split", partial(encoded, encoding="BYTE_STREAM_SPLIT", compression="zstd")
    yield "pyarrow, no statistics", partial(by_pyarrow, write_statistics=False)
    yield "pyarrow, page index", partial(by_pyarrow, write_page_index=True, data_page_size=64, write_batch_size=4)
    yield "pyarrow, bloom filters", with_bloom_filters
    yield "pyarrow, checksums", partial(by_pyarrow, write_page_checksum=True)
    yield "pyarrow, INT96", partial(by_pyarrow, use_deprecated_int96_timestamps=True)
    yield "pyarrow, version 1.0", partial(by_pyarrow, version="1.0", store_schema=False)
    yield "pyarrow, for Spark", partial(by_pyarrow, flavor="spark")
    yield "pyarrow, decimals as integers", partial(by_pyarrow, store_decimal_as_integer=True)
    yield "pyarrow, small dictionaries", partial(by_pyarrow, dictionary_pagesize_limit=4, data_page_size=16)
    yield "pyarrow, one row a group", partial(by_pyarrow, row_group_size=1)
    yield "pyarrow, empty groups", in_groups
    yield "pyarrow, empty plain groups", partial(in_groups, use_dictionary=False, data_page_version="2.0")
    for name, change in LIES.items():
        yield f"lying, {name}", partial(lying, change=change)
        yield f"lying, {name}, plain", partial(lying, change=change, use_dictionary=False)
    for name, change in WILD_LIES.items():
        yield f"lying, {name}", partial(lying_with_villains, change=change)
    yield "polars", by_polars
    for codec in ("uncompressed", "snappy", "lz4", "gzip"):
        yield f"polars, {codec}", partial(by_polars, compression=codec)
    yield "polars, no statistics", partial(by_polars, statistics=False)
    yield "polars, all statistics", partial(by_polars, statistics="full")
    yield "polars, small groups", partial(by_polars, row_group_size=2, data_page_size=8)
    yield "polars, lazily", by_polars_lazily
    yield "pandas", by_pandas
    yield "pandas, brotli", partial(by_pandas, compression="brotli")
    for version in ("V1", "V2"):
        yield f"duckdb, {version}", partial(by_duckdb, options=f"PARQUET_VERSION {version}")
    for codec in ("uncompressed", "zstd", "brotli", "gzip", "lz4_raw"):
        yield f"duckdb, {codec}", partial(by_duckdb, options=f"COMPRESSION {codec}")
    yield "duckdb, no dictionaries", partial(by_duckdb, options="DICTIONARY_SIZE_LIMIT 0, PARQUET_VERSION V2")


LAYOUTS: dict[str, Writer] = dict(_layouts())
