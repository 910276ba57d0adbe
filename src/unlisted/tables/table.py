"""`ul.table(...)`: one way in for every source, and which engine does the work for it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from unlisted.errors import InvalidArgumentError
from unlisted.tables.column_types import ColumnType
from unlisted.tables.count_query import CountQuery, require_column
from unlisted.tables.engines.engine import Engine, Rows, World
from unlisted.tables.failures import charged, uncharged

SOURCES = (
    "a path or glob of Parquet, CSV or JSON lines files, a DuckDB file or a PostgreSQL URL with table=, a data "
    "frame that speaks Arrow (Polars, pandas, PyArrow), a Spark data frame, or an Ibis table"
)
_POSTGRES = ("postgresql://", "postgres://")


class Table:
    """Rows of users, somewhere. Making one opens nothing; asking for its columns reads no row.

    A user is whoever shares a value in the column `user`; rows without one are not counted. `source` is what a
    ledger calls the rows. `has_rows` is false in a rehearsal.
    """

    def __init__(
        self,
        engine: Engine,
        user: str,
        source: str,
        types: Mapping[str, str] | None = None,
        *,
        has_rows: bool = True,
    ) -> None:
        self.engine = engine
        self.user = user
        self.source = source
        self.types = dict(types or {})
        self.has_rows = has_rows

    def columns(self) -> Mapping[str, ColumnType]:
        """Return the columns and what they hold, without touching a row; the user's must be among them."""
        columns = self.engine.columns()
        require_column("user", self.user, columns)
        return columns

    def rows(self, question: CountQuery) -> Rows:
        """Check a question against the columns, without touching a row, and say what it will read."""
        state = self.engine.state()
        rows = replace(question.rows(self.user, self.columns()), state=state)
        self.require_user()
        return rows

    def require_user(self) -> None:
        """Refuse a column as the user's if nobody knows when two of its values are one user."""
        self.engine.whose(self.user)

    @contextmanager
    def world(self, rows: Rows) -> Iterator[World]:
        """Open a world of the engine. Whatever fails in it is charged; where there are no rows, it is refused."""
        with charged() if self.has_rows else uncharged(), self.engine.world(rows) as world:
            yield world

    def rehearsal(self, question: CountQuery) -> Table:
        """Return the same table without its rows, once its columns turn out to hold what they held before."""
        empty = Table(self.engine.rehearsal(), self.user, self.source, self.types, has_rows=False)
        rows, before, now = empty.rows(question), self.columns(), empty.columns()
        for name in (*rows.columns, *(sorted(rows.where.columns) if rows.where else ())):
            if before[name] is not now[name] or self.engine.plain(name) != empty.engine.plain(name):
                hint = "Its type was changed since. Name the table again with ul.table(…); restart a service."
                raise InvalidArgumentError("source", name, "a column of the same type as when it was named", hint)
        return empty

    def __repr__(self) -> str:
        return f"<Table: {self.engine.name}, user {self.user!r}>"


def table(source: Any, *, user: str, table: str | None = None, types: Mapping[str, str] | None = None) -> Table:
    """Name the rows to ask about.

    Args:
        source: a path or glob of Parquet, CSV (also .gz) or JSON lines files; a DuckDB file or a PostgreSQL URL,
            both with `table`; a data frame that speaks the Arrow PyCapsule interface, such as a Polars, pandas or
            PyArrow one; a Spark data frame; an Ibis table.
        user: the column that says whose row it is. Its values are what is protected.
        table: the table or view inside a database, such as "searches" or "public.searches".
        types: what the columns of a CSV or JSON lines file hold, such as {"age": "int"}; they are text otherwise.
            A row that does not hold what its columns are declared to hold is dropped. {"*": "line"} declares that
            no field of a CSV file holds a line break, so that a broken quote costs its own line only.

    Nothing is opened before it is needed. Rows whose user or item is NULL or NaN are dropped.
    """
    if not isinstance(user, str) or not user:
        raise InvalidArgumentError("user", user, "the name of the column that says whose row it is")
    return Table(_engine(source, table, types), user, source_name(source, table), types)


def source_name(source: Any, table: str | None = None) -> str:
    """Return what a ledger calls a source: where it is, without a password.

    A data frame is nowhere, and every one is called the same: which one it is, the owner of the data set knows.
    """
    if not isinstance(source, str | os.PathLike):
        return "a data frame"
    place = os.fspath(source)
    if "://" in place:
        scheme, _, rest = place.partition("://")
        place = f"{scheme.lower()}://{rest.partition('?')[0].rpartition('@')[2]}"
    else:
        place = os.path.abspath(place)  # noqa: PTH100 - the text is a glob perhaps, and no link is followed
    return place if table is None else f"{place}#{table}"


def _engine(source: Any, table: str | None, types: Mapping[str, str] | None) -> Engine:
    """Choose the engine by what the source is. Each is imported only when it is chosen."""
    if isinstance(source, str) and source.lower().startswith(_POSTGRES):
        from unlisted.tables.engines.postgres.engine import PostgresEngine  # noqa: PLC0415

        _refuse("types", types, "the columns of a PostgreSQL table have their types")
        return PostgresEngine(source, table)
    if isinstance(source, str | os.PathLike):
        from unlisted.tables.engines.duckdb.paths import file_engine  # noqa: PLC0415

        return file_engine(os.fspath(source), table, types)
    _refuse("table", table, "a data frame is one table already")
    _refuse("types", types, "the columns of a data frame have their types")
    packages = {cls.__module__.partition(".")[0] for cls in type(source).__mro__}
    # Spark and Ibis speak Arrow too, but would bring all their rows out to do it.
    if "pyspark" in packages:
        from unlisted.tables.engines.spark import SparkEngine  # noqa: PLC0415

        return SparkEngine(source)
    if "ibis" in packages:
        from unlisted.tables.engines.ibis import IbisEngine  # noqa: PLC0415

        return IbisEngine(source)
    if "pandas" in packages or "polars" in packages or hasattr(source, "__arrow_c_stream__"):
        from unlisted.tables.engines.duckdb.frames import frame_engine  # noqa: PLC0415

        return frame_engine(source)
    raise InvalidArgumentError("source", type(source).__name__, SOURCES)


def _refuse(argument: str, value: object, why: str) -> None:
    if value is not None:
        raise InvalidArgumentError(argument, value, "left out for this source", f"Here, {why}.")
