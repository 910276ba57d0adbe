"""Sources that live in files and in memory: how each is given rows with hostile cells, in every layout it has.

A source takes rows of its own family. One that cannot carry a cell raises `UnwritableError`: there is no such
table.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from tests.hostile import arrow_cells
from tests.hostile.cells import Kind
from tests.hostile.parquet_layouts import LAYOUTS
from tests.hostile.rows import ROLES, Rows

from unlisted.tables.table import Table, table


class UnwritableError(Exception):
    """The writer or the frame cannot hold these rows, so nobody can be given them."""


@dataclass(frozen=True)
class Workshop:
    """Where tables are made: a folder, and a way to the session's services by the names of their fixtures."""

    folder: Path
    service: Callable[[str], Any]
    numbers: Iterator[int] = field(default_factory=itertools.count)
    later: ExitStack = field(default_factory=ExitStack)
    """What ends with the tables that were made."""

    def path(self, ending: str) -> Path:
        """Return a new file's path."""
        path = self.folder / f"{next(self.numbers)}{ending}"
        self.later.callback(_removed, path)
        return path


def _removed(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


Make = Callable[[Rows, str, Workshop], tuple[Any, dict[str, Any]]]
"""Makes what is passed to `ul.table`: a source, and further keywords."""


@dataclass(frozen=True)
class Source:
    """One way to have rows: the kinds it can hold and the layouts in which it can hold them."""

    name: str
    kinds: Mapping[str, Kind]
    layouts: tuple[str, ...]
    make: Make

    def table(self, rows: Rows, layout: str, workshop: Workshop) -> Table:
        """Give it rows, to be asked about."""
        source, keywords = self.made(rows, layout, workshop)
        return table(source, user="user", **keywords)

    def made(self, rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
        """Give it rows."""
        try:
            return self.make(rows, layout, workshop)
        except (KeyboardInterrupt, pytest.skip.Exception, pytest.fail.Exception):
            raise
        except BaseException as error:  # Polars panics, which is no Exception
            raise UnwritableError(f"{self.name}, {layout}, {rows.kind.name}: {error!r}"[:300]) from None


def arrow_table(rows: Rows) -> pa.Table:
    """Rows of Arrow cells as a table."""
    columns: dict[str, Any] = {}
    for role in ROLES:
        cells = rows.column(role)
        columns[role] = arrow_cells.array(rows.kind, cells) if role == rows.role else pa.array(cells, pa.string())
    return pa.table(columns)


def _parquet(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    path = workshop.path(".parquet")
    LAYOUTS[layout](arrow_table(rows), path)
    return path, {}


def _duckdb_file(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    """Arrow rows copied into a database of DuckDB, and read there or through a view."""
    path = workshop.path(".duckdb")
    with duckdb.connect(str(path)) as connection:
        connection.register("given", arrow_table(rows))
        connection.execute("CREATE TABLE rows AS SELECT * FROM given")
        if layout == "view":
            connection.execute("CREATE VIEW seen_rows AS SELECT * FROM rows")
    return path, {"table": "seen_rows" if layout == "view" else "rows"}


def _arrow_file(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    path, given = workshop.path(".arrow"), arrow_table(rows)
    make = pa.ipc.new_stream if layout == "stream" else pa.ipc.new_file
    with make(path, given.schema) as writer:
        writer.write_table(given, max_chunksize=3 if layout == "stream" else None)
    return path, {}


def _chunked(given: pa.Table, layout: str) -> pa.Table:
    sizes = {"one chunk": len(given), "chunks of one row": 1, "empty chunks": 2}[layout]
    batches = given.to_batches(max_chunksize=sizes)
    if layout == "empty chunks":
        empty = given.slice(0, 0).to_batches() or [pa.RecordBatch.from_pylist([], schema=given.schema)]
        batches = [*empty, *(part for batch in batches for part in (batch, *empty))]
    return pa.Table.from_batches(batches, schema=given.schema)


def _pyarrow(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    given = arrow_table(rows)
    if layout == "a slice":
        return pa.concat_tables([given.slice(0, 0), given]).slice(0, len(given)), {}
    if layout == "a reader":
        return given.to_reader(max_chunksize=3), {}
    return _chunked(given, layout), {}


def _polars(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    import polars

    frame = polars.from_arrow(arrow_table(rows))
    assert isinstance(frame, polars.DataFrame)
    return (frame.lazy() if layout == "lazy" else frame), {}


def _polars_scan(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    import polars

    path = workshop.path(".parquet")
    LAYOUTS[layout](arrow_table(rows), path)
    return polars.scan_parquet(path), {}


def _holds_null(value: Any) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return value is None or any(map(_holds_null, inside))


def _pandas_of_arrow(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    import pandas

    given = arrow_table(rows)
    if layout == "NumPy":
        if any(map(_holds_null, given.column(rows.role).to_pylist())):
            raise ValueError("NumPy has no NULL: the whole column would be of another type")
        return given.to_pandas(), {}
    frame = given.to_pandas(types_mapper=pandas.ArrowDtype)
    return (frame.astype({rows.role: "category"}) if layout == "categories" else frame), {}


def _ibis_duckdb(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    import ibis
    from tests.tables.fixtures.server_engines import ibis_table

    connection = duckdb.connect()
    workshop.later.callback(connection.close)
    if layout == "parquet":
        path = workshop.path(".parquet")
        LAYOUTS["pyarrow"](arrow_table(rows), path)
        connection.execute(f"CREATE VIEW rows AS SELECT * FROM '{path}'")
    else:
        connection.register("given", arrow_table(rows))
        connection.execute("CREATE TABLE rows AS SELECT * FROM given")
    return ibis_table(ibis.duckdb.from_connection(connection), "rows"), {}


def _ibis_polars(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    import ibis
    import polars
    from tests.tables.fixtures.server_engines import ibis_table

    backend = ibis.polars.connect()
    # Given to `connect`, a frame would be printed, and Polars panics when it prints a text that is no UTF-8.
    backend.create_table("rows", polars.from_arrow(arrow_table(rows)).lazy())
    return ibis_table(backend, "rows"), {}


_CHUNKS = ("one chunk", "chunks of one row", "empty chunks", "a slice", "a reader")


def _but(*names: str) -> dict[str, Kind]:
    return {name: kind for name, kind in arrow_cells.KINDS.items() if name not in names}


_LYING = tuple(kind.name for kind in arrow_cells.KINDS.values() if kind.typed in arrow_cells.UNCHECKED_DECIMALS)
_WIDE = ("decimal256(76, 0)", "decimal256(76, 38)")
_NO_PARQUET = ("runs of string", "interval")
# Decimals with too many digits DuckDB reads as whatever is in its memory: what it writes then is no such decimal.
_NO_DUCKDB = ("halffloat", *_WIDE, *_LYING)
# Polars multiplies seconds, and far ones become others before anybody asks.
_NO_POLARS = (*_NO_PARQUET, *_WIDE, "timestamp[s]")

FRAMES_AND_FILES = {
    source.name: source
    for source in (
        Source("parquet", _but(*_NO_PARQUET), tuple(LAYOUTS), _parquet),
        Source("duckdb", _but(*_NO_DUCKDB), ("table", "view"), _duckdb_file),
        Source("arrow", _but(), ("file", "stream"), _arrow_file),
        Source("pyarrow", _but(), _CHUNKS, _pyarrow),
        Source("polars", _but(*_NO_POLARS), ("eager", "lazy"), _polars),
        Source("polars scan", _but(*_NO_PARQUET), ("pyarrow", "pyarrow, one row a group"), _polars_scan),
        Source("pandas", _but(), ("Arrow", "categories", "NumPy"), _pandas_of_arrow),
        Source("ibis duckdb", _but(*_NO_DUCKDB), ("table", "parquet"), _ibis_duckdb),
        Source("ibis polars", _but(*_NO_POLARS, "halffloat", "map", "json"), ("eager",), _ibis_polars),
    )
}
"""The sources that take rows of Arrow cells."""
