"""Databases in memory: opened so that they look at nothing they were not told to, and lent out one after another.

Opening one takes longer than many a question. For rows that are in this process already the same one is lent
again: each question has a connection of its own, with which its tables go. A database that has read a file would
remember some of it, so those are opened anew, and so is one after anything failed in it or lies on the disk.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from unlisted.errors import InvalidArgumentError
from unlisted.tables.engines.duckdb.columns import literal

MEMORY_LIMIT = "UNLISTED_MEMORY_LIMIT"
"""Environment variable: how much memory DuckDB may use, such as 4GB. Four fifths of the machine's otherwise."""

UNTRUSTED = (
    "statistics_propagation",
    "filter_pushdown",
    "join_filter_pushdown",
    "row_group_pruner",
    "partial_aggregate_pushdown",
    "scalar_fn_pushdown",
    "type_pushdown",
    "late_materialization",
)
"""Optimisations that believe the statistics of a file, or push work into what reads it. They are off: one NaN, or
one text that an old writer put in the wrong place, would decide about the rows of everybody near it."""


def connected(folder: str | None = None) -> duckdb.DuckDBPyConnection:
    """Open an empty database in memory that looks at nothing it was not told to."""
    settings: dict[str, Any] = {
        # Else a name that is no table is looked up among the variables of the program.
        "python_enable_replacements": False,
        "autoinstall_known_extensions": False,
        "preserve_insertion_order": False,
        "temp_directory": folder or "",
    }
    limit = os.environ.get(MEMORY_LIMIT)
    try:
        connection = duckdb.connect(":memory:", config=settings | ({"memory_limit": limit} if limit else {}))
    except duckdb.Error:
        hint = "It is how much memory DuckDB may use."
        raise InvalidArgumentError(MEMORY_LIMIT, limit, "an amount of memory such as 4GB", hint) from None
    return _set_up(connection)


@contextmanager
def database(*, is_lent: bool) -> Iterator[tuple[duckdb.DuckDBPyConnection, Path]]:
    """Open a connection of its own, and a private folder, to a new database or to one that was used before."""
    used = (_taken() if is_lent else None) or _Database()
    try:
        connection = used.connection()
        try:
            yield connection, used.folder
        finally:
            connection.close()
    except BaseException:
        used.close()
        raise
    if is_lent:
        _give_back(used)
    else:
        used.close()


class _Database:
    """A database in memory with a private folder for what does not fit."""

    def __init__(self) -> None:
        self.limit = os.environ.get(MEMORY_LIMIT)
        self.folder = Path(tempfile.mkdtemp(prefix="unlisted-"))
        try:
            self._root = connected(str(self.folder))
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def connection(self) -> duckdb.DuckDBPyConnection:
        """Return a new connection, to which everything belongs that is made with it."""
        return _set_up(self._root.cursor())

    @property
    def is_clean(self) -> bool:
        """Whether nothing of it lies on the disk, and it may use as much memory as is allowed now."""
        is_empty = self.folder.is_dir() and not any(self.folder.iterdir())
        return is_empty and self.limit == os.environ.get(MEMORY_LIMIT)

    def close(self) -> None:
        """Forget everything."""
        self._root.close()
        shutil.rmtree(self.folder, ignore_errors=True)


_SPARE: list[_Database] = []
"""At most one that waits to be lent again. Appending and popping are atomic, so threads need no lock."""


def _taken() -> _Database | None:
    """Return the one that waits, if there is one that may be used."""
    try:
        database = _SPARE.pop()
    except IndexError:
        return None
    if database.is_clean:
        return database
    database.close()
    return None


def _give_back(database: _Database) -> None:
    if _SPARE or not database.is_clean:
        database.close()
    else:
        _SPARE.append(database)


def forget() -> None:
    """Close the one that waits: before the process forks, for its threads stay behind, and when it ends."""
    while _SPARE:
        _SPARE.pop().close()


def _set_up(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    # In a notebook it would be drawn, and how fast it grows is the rows' business.
    connection.execute("SET enable_progress_bar = false")
    connection.execute(f"SET disabled_optimizers = {literal(','.join(_known_optimisations()))}")
    return connection


@cache
def _known_optimisations() -> tuple[str, ...]:
    """Return those of the untrusted optimisations that this version has; it would refuse the names of others."""
    with closing(duckdb.connect(":memory:")) as connection:
        there = {name for (name,) in connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()}
    return tuple(name for name in UNTRUSTED if name in there)


atexit.register(forget)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=forget)
