"""An Ibis table: compiled to a query of its backend, and counted where that backend is.

A backend is supported if we know how it hashes and how it tells labels apart. PostgreSQL and Spark do the work
themselves, on the compiled query. DuckDB and Polars live in this process: their rows are handed over, batch by
batch and once, to a DuckDB of our own, in which no setting of the user's session can change what is counted. Any
other backend is refused with the way to get there; SQLite for one: Ibis brings its rows out through floating-point
numbers, and two users whose numbers are long become one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

import pyarrow as pa

from unlisted.errors import InvalidArgumentError
from unlisted.tables.column_types import ColumnType
from unlisted.tables.engines.duckdb.columns import quoted
from unlisted.tables.engines.duckdb.engine import DuckDBEngine
from unlisted.tables.engines.duckdb.frames import Frame, frame_engine
from unlisted.tables.engines.engine import Engine, Rows, World, no_user

__all__ = ["IbisEngine"]

_PROBE = "unlisted_probe"


class IbisEngine:
    """An Ibis table expression of a supported backend. It is an `Engine`."""

    def __init__(self, expression: Any, timezone: str | None = None) -> None:
        self._expression = expression
        self._zone = timezone

    @property
    def name(self) -> str:
        """The word for Ibis and for what is behind it."""
        return f"ibis on {_backend(self._expression).name}"

    def columns(self) -> Mapping[str, ColumnType]:
        """Return the columns, from the backend's description of the compiled query."""
        return self._inside.columns()

    def plain(self, column: str) -> str:
        """Return a column as a value that compares by its bytes."""
        return self._inside.plain(column)

    def whose(self, column: str) -> str:
        """Return a column as a user: one value for one person."""
        if self._expression.schema()[column].is_json() and _backend(self._expression).name == "postgres":
            hint = f"Ibis brings it out as text, in which 1.0 and 1.00 differ. Take one field: {column}['id'].str."
            raise no_user(column, hint)
        return self._inside.whose(column)

    def state(self) -> Hashable:
        """Return what tells whether the source is still the one that was described."""
        return self._inside.state()

    def statement(self, query: str, rows: Rows) -> str:
        """Say a query in the backend's words."""
        return self._inside.statement(query, rows)

    def world(self, rows: Rows) -> AbstractContextManager[World]:
        """Open a world in the backend."""
        return self._inside.world(rows)

    def rehearsal(self) -> Engine:
        """Return the backend's engine over the same columns without rows."""
        return self._inside.rehearsal()

    def signature(self) -> Hashable | None:
        """Return what the backend's engine says."""
        return self._inside.signature()

    @cached_property
    def _inside(self) -> Engine:
        """The engine that does the work."""
        backend = _backend(self._expression)
        try:
            # Tables that the expression holds in memory must be there before the query that reads them.
            backend._run_pre_execute_hooks(self._expression)
            compiled = backend.compile(self._expression)
        except Exception:
            # What is wrong with an expression is told in many ways, and some of them quote what it holds.
            hint = "Does expression.to_pyarrow() work, and are all its parameters given?"
            raise _refusal("an expression that does not compile", hint) from None
        return _MAKERS[backend.name](backend, compiled, self._zone)


def _backend(expression: Any) -> Any:
    """Return the supported backend of a table expression. Its repr is never taken: that could run it."""
    import ibis  # noqa: PLC0415 - only who has an Ibis table has Ibis

    if not isinstance(expression, ibis.expr.types.Table):
        raise _refusal(type(expression).__name__, "Pass the table, not a column of it: column.as_table().")
    try:
        backend = expression.get_backend()
    except ibis.common.exceptions.IbisError:
        hint = "It belongs to no backend, or to several. Begin with connection.table(...)."
        raise _refusal("an unbound expression", hint) from None
    if backend.name not in _MAKERS:
        hint = (
            f"Supported are {', '.join(_MAKERS)}. From any other, export the rows to Parquet with its own tools, "
            "or count there and pass the counts to ul.counts(...)."
        )
        raise _refusal(f"a table of {backend.name}", hint)
    return backend


def _refusal(what: str, hint: str) -> InvalidArgumentError:
    return InvalidArgumentError("source", what, "an Ibis table of a supported backend", hint)


def _duckdb(backend: Any, compiled: str, zone: str | None) -> Engine:
    """Stream the rows of a user's DuckDB into ours."""

    def read(columns: str, rest: str = "") -> pa.RecordBatchReader:
        query = f'SELECT {columns} FROM ({compiled}) AS "unlisted_rows"{rest}'  # noqa: S608 - names are quoted
        return pa.RecordBatchReader.from_stream(backend.con.sql(query))

    def rows(columns: list[str]) -> pa.RecordBatchReader:
        return read(", ".join(quoted(name) for name in columns))

    origin = Frame(lambda: read("*", " LIMIT 0").schema, rows)
    origin.timezone = zone
    return _Foreign(origin, backend.con, compiled)


class _Foreign(DuckDBEngine):
    """Rows that come out of a user's DuckDB, where texts may be equal that are not the same bytes."""

    def __init__(self, origin: Frame, connection: Any, compiled: str) -> None:
        super().__init__(origin)
        self._connection = connection
        self._compiled = compiled
        self._is_collated: dict[str, bool] = {}

    def state(self) -> Hashable:
        """Ask anew how the user's DuckDB compares texts; while its rows are read it cannot be asked."""
        self._is_collated.clear()
        return super().state()

    def whose(self, column: str) -> str:
        """Return a column as a user, unless the database it comes from tells its values apart otherwise."""
        if column not in self._is_collated:
            self._is_collated[column] = self.columns()[column] is ColumnType.TEXT and self._collation(column)
        if self._is_collated[column]:
            hint = (
                "Its collation in DuckDB treats different texts as the same. Name one form in the expression: "
                f"lower({column}) if case is all that differs, in a column without a collation."
            )
            raise no_user(column, hint)
        return super().whose(column)

    def _collation(self, column: str) -> bool:
        """Return whether texts of a column are compared otherwise than by their bytes; reads no row."""
        nothing = f'SELECT {quoted(column)} AS "c" FROM ({self._compiled}) AS "unlisted_rows" LIMIT 0'  # noqa: S608
        try:
            # Nothing else tells the collation of a query's column but how a table of it would be declared.
            self._connection.execute(f"CREATE OR REPLACE TEMPORARY TABLE {_PROBE} AS {nothing}")
            found = self._connection.execute(
                "SELECT sql, current_setting('default_collation') FROM duckdb_tables() "  # noqa: S608
                f"WHERE temporary AND table_name = '{_PROBE}'"
            ).fetchone()
            self._connection.execute(f"DROP TABLE temp.{_PROBE}")
        except Exception:
            hint = "Its DuckDB connection cannot be asked how it compares texts: is it in a failed transaction?"
            raise no_user(column, hint) from None
        return found is None or " COLLATE " in found[0].upper() or found[1] != ""


def _polars(backend: Any, compiled: Any, zone: str | None) -> Engine:  # noqa: ARG001 - compiled is a LazyFrame
    return frame_engine(compiled, zone)


def _postgres(backend: Any, compiled: str, zone: str | None) -> Engine:
    """Work in the user's own session: it holds the temporary tables that the query may read."""
    from unlisted.tables.engines.dialect import subquery  # noqa: PLC0415 - brings sqlglot
    from unlisted.tables.engines.postgres.engine import PostgresRelation  # noqa: PLC0415 - brings sqlglot

    return PostgresRelation(lambda: nullcontext(backend.con), lambda _: subquery(compiled), zone)


def _pyspark(backend: Any, compiled: str, zone: str | None) -> Engine:
    from unlisted.tables.engines.spark import SparkEngine  # noqa: PLC0415 - brings sqlglot

    return SparkEngine(backend.raw_sql(compiled), zone)


_MAKERS: Mapping[str, Callable[[Any, Any, str | None], Engine]] = {
    "duckdb": _duckdb,
    "polars": _polars,
    "postgres": _postgres,
    "pyspark": _pyspark,
}
