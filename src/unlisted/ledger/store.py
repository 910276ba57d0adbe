"""The store: SQLite in a file by default, PostgreSQL by URL, and what a transaction means on each.

SQLite runs with a write-ahead log and full synchronisation: when a commit returns, the entry survives a power
cut. A writing transaction takes the write lock at its beginning, so what it read is still true when it writes.
PostgreSQL locks the data set's row instead (`ledger.py`), and synchronous commit is left as the server has it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, event

from unlisted.errors import InvalidArgumentError, LedgerError
from unlisted.ledger.schema import migrate, migrations, newest_known

_PATIENCE_SECONDS = 120


class Store:
    """Transactions on one ledger. Safe to share between threads, and to use in a forked child."""

    def __init__(self, url: str | os.PathLike[str]) -> None:
        self._url = _store_url(os.fspath(url))
        self.is_sqlite = self._url.get_backend_name() == "sqlite"
        self._process = os.getpid()
        self._writers = threading.Lock()
        self._engine = self._connect()
        with self.writing() as connection:
            migrate(connection)
            unknown = set(connection.execute(sa.select(migrations.c.name)).scalars()) - newest_known()
            if unknown:
                raise LedgerError("The ledger was written by a newer version of unlisted. Upgrade to use it.")

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that may write: all of it happens, or nothing."""
        self._after_fork()
        if not self.is_sqlite:
            with _plainly(), self._engine.begin() as connection:
                yield connection
            return
        # SQLite has one writer at a time anyway; queueing threads here spares them its polling.
        with self._writers, _plainly(), self._engine.connect() as raw:
            connection = raw.execution_options(unlisted_writes=True)
            with connection.begin():
                yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that sees one state of the store."""
        self._after_fork()
        with _plainly(), self._engine.connect() as raw:
            level = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
            connection = raw.execution_options(**level)
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Give all connections back."""
        self._engine.dispose()

    def _after_fork(self) -> None:
        # A forked child must not speak on its parent's connections.
        if self._process != os.getpid():
            self._engine.dispose(close=False)
            self._writers = threading.Lock()
            self._process = os.getpid()

    def _connect(self) -> sa.Engine:
        if not self.is_sqlite:
            return sa.create_engine(self._url, pool_size=8, max_overflow=8, pool_timeout=_PATIENCE_SECONDS)
        engine = sa.create_engine(
            self._url, connect_args={"timeout": _PATIENCE_SECONDS, "check_same_thread": False}
        )
        event.listen(engine, "connect", _configure_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine


def _configure_sqlite(connection: Any, _record: object) -> None:
    # The driver's own transaction handling begins late; ours is explicit.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("unlisted_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def _plainly() -> Iterator[None]:
    """Say in our own words that the store did not do as asked; a driver's message can quote a password."""
    try:
        yield
    except sa.exc.DBAPIError as failure:
        raise LedgerError(f"The ledger could not be used: {_reason(failure)}. Nothing was written.") from None


def _reason(failure: sa.exc.DBAPIError) -> str:
    message = str(failure.orig).lower()
    for sign, reason in (
        ("readonly", "the file cannot be written to"),
        ("read-only", "it cannot be written to"),
        ("disk is full", "the disk is full"),
        ("no space", "the disk is full"),
        ("not a database", "the file is not a ledger"),
        ("malformed", "the file is damaged; restore it from a copy and run `unlisted ledger verify`"),
        ("unable to open", "the file cannot be opened; check its folder and permissions"),
        ("locked", "another process kept it locked for too long"),
        ("connection", "the server cannot be reached"),
    ):
        if sign in message:
            return reason
    return "the store refused"


def _store_url(url: str) -> sa.URL:
    """Read a path or a URL."""
    if "://" not in url:
        path = Path(url)
        if not path.parent.is_dir():
            raise InvalidArgumentError("ledger", url, "a file in a folder that exists, or a PostgreSQL URL")
        return sa.URL.create("sqlite", database=str(path))
    parsed = sa.make_url(url)
    backend = parsed.get_backend_name()
    if backend in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    if backend == "sqlite":
        return parsed
    raise InvalidArgumentError("ledger", backend, "a file, or a sqlite: or postgresql: URL")
