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
from unlisted.tables.reading import Reading

SOURCES = (
    "a path, a glob, a folder or a list of them (Parquet, CSV, JSON, Arrow, Excel), a DuckDB or SQLite file or a "
    "PostgreSQL URL with table=, a data frame that speaks Arrow (Polars, pandas, PyArrow), a Spark data frame, an "
    "Ibis table"
)
_POSTGRES = ("postgresql://", "postgres://")
_WAYS_HERE = {
    **dict.fromkeys(("http", "https", "ftp"), "Download the file first, and name its path."),
    **dict.fromkeys(("mysql", "mssql", "oracle", "snowflake", "bigquery"), "Export the table to Parquet first."),
    "sqlite": "Name the file itself, such as shop.sqlite, and the table with table=.",
}


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
        reading: Reading | None = None,
        *,
        has_rows: bool = True,
    ) -> None:
        self.engine = engine
        self.user = user
        self.source = source
        self.reading = reading or Reading()
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
        empty = Table(self.engine.rehearsal(), self.user, self.source, self.reading, has_rows=False)
        rows, before, now = empty.rows(question), self.columns(), empty.columns()
        for name in (*rows.columns, *(sorted(rows.where.columns) if rows.where else ())):
            if before[name] is not now[name] or self.engine.plain(name) != empty.engine.plain(name):
                hint = "Its type was changed since. Name the table again with ul.table(…); restart a service."
                raise InvalidArgumentError("source", name, "a column of the same type as when it was named", hint)
        return empty

    def __repr__(self) -> str:
        return f"<Table: {self.engine.name}, user {self.user!r}>"


def table(source: Any, *, user: str, table: str | None = None, **said: Any) -> Table:
    """Name the rows to ask about: where they are, whose, and how they are read (`Reading.read`).

    Nothing is opened before it is needed. Rows whose user or item is NULL or NaN are dropped.
    """
    if not isinstance(user, str) or not user:
        hint = "Columns are named, not numbered. If the first line of a file is a row, say header=[...]."
        allowed = "the name of the column that says whose row it is"
        raise InvalidArgumentError("user", user, allowed, hint if str(user).isdecimal() else "")
    reading = Reading.read(**said)
    return Table(engine_of(source, table, reading), user, source_name(source, table), reading)


def source_name(source: Any, table: str | None = None) -> str:
    """Return what a ledger calls a source: where it is, without a password.

    A data frame is nowhere, and every one is called the same: which one it is, the owner of the data set knows.
    """
    if not isinstance(source, str | os.PathLike) and not _is_list_of_paths(source):
        return "a data frame"
    named = ", ".join(dict.fromkeys(map(_named, paths_of(source))))
    return named if table is None else f"{named}#{table}"


def _named(place: str) -> str:
    if "://" in place:
        scheme, _, rest = place.partition("://")
        return f"{scheme.lower()}://{rest.partition('?')[0].rpartition('@')[2]}"
    return os.path.abspath(place)  # noqa: PTH100 - the text is a glob perhaps, and no link is followed


def engine_of(source: Any, table: str | None, reading: Reading) -> Engine:
    """Choose the engine by what the source is. Each is imported only when it is chosen."""
    if isinstance(source, str | os.PathLike) or _is_list_of_paths(source):
        return _engine_at(source, table, reading)
    reading.only("a data frame", ("timezone",))
    if table is not None:
        raise InvalidArgumentError("table", table, "left out for a data frame", "It is one table already.")
    packages = {cls.__module__.partition(".")[0] for cls in type(source).__mro__}
    # Spark and Ibis speak Arrow too, but would bring all their rows out to do it.
    if "pyspark" in packages:
        from unlisted.tables.engines.spark import SparkEngine  # noqa: PLC0415

        return SparkEngine(source, reading.timezone)
    if "ibis" in packages:
        from unlisted.tables.engines.ibis import IbisEngine  # noqa: PLC0415

        return IbisEngine(source, reading.timezone)
    if "pandas" in packages or "polars" in packages or hasattr(source, "__arrow_c_stream__"):
        from unlisted.tables.engines.duckdb.frames import frame_engine  # noqa: PLC0415

        return frame_engine(source, reading.timezone)
    raise InvalidArgumentError("source", type(source).__name__, SOURCES)


def _engine_at(source: Any, table: str | None, reading: Reading) -> Engine:
    """Choose the engine by where the source is."""
    places = paths_of(source)
    for place in places:
        scheme = place.partition("://")[0].lower() if "://" in place else ""
        if f"{scheme}://" in _POSTGRES and len(places) == 1:
            from unlisted.tables.engines.postgres.engine import PostgresEngine  # noqa: PLC0415

            reading.only("a PostgreSQL table", ("timezone",))
            return PostgresEngine(place, table, reading.timezone)
        if scheme:
            hint = _WAYS_HERE.get(scheme, "Copy what is there to this machine first, as Parquet or CSV.")
            raise InvalidArgumentError("source", f"{scheme}://...", "a path, or the URL of PostgreSQL", hint)
    from unlisted.tables.engines.duckdb.formats import file_engine  # noqa: PLC0415

    return file_engine(places, table, reading)


def paths_of(source: Any) -> list[str]:
    """Return a path, or each of several, as a text."""
    return [os.fspath(one) for one in (source if isinstance(source, list | tuple) else [source])]


def _is_list_of_paths(source: Any) -> bool:
    is_listed = isinstance(source, list | tuple) and len(source) > 0
    return is_listed and all(isinstance(one, str | os.PathLike) for one in source)
