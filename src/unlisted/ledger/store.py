"""The store: SQLite in a file by default, PostgreSQL by URL, and what a transaction means on each.

SQLite runs with a write-ahead log and full synchronisation: when a commit returns, the entry survives a power
cut. A writing transaction takes the write lock at its beginning, so what it read is still true when it writes.
PostgreSQL locks the data set's row instead (`ledger.py`), and synchronous commit is left as the server has it.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import Connection, event

from unlisted.errors import InvalidArgumentError, LedgerError, MissingExtraError, UncertainError
from unlisted.ledger.schema import migrate, migrations, newest_known
from unlisted.tables.server_timeouts import answering_within

PATIENCE_SECONDS = 120.0
_CONNECT_SECONDS = 10
_CREATION_LOCK = sa.text("SELECT pg_advisory_xact_lock(hashtext('unlisted'))")


class StoreError(LedgerError):
    """The store did not do as asked this time; it may do so later."""


class Store:
    """Transactions on one ledger. Safe to share between threads, and to use in a forked child."""

    def __init__(
        self,
        url: str | os.PathLike[str],
        *,
        create: bool = True,
        read_only: bool = False,
        timeout: float = PATIENCE_SECONDS,
    ) -> None:
        """Open a store: made where it is missing, unless it must be there or must not be written to.

        `timeout` is how many seconds a lock, or a server that does not answer, is waited for.
        """
        self._timeout = timeout
        self._url = _store_url(os.fspath(url))
        self.is_sqlite = self._url.get_backend_name() == "sqlite"
        self._read_only = read_only
        self._process = os.getpid()
        self._writers = threading.Lock()
        if (read_only or not create) and self.is_sqlite and not Path(_sqlite_file(self._url)).exists():
            raise _no_ledger(self._url)
        if self.is_sqlite and not read_only:
            _make_private(Path(_sqlite_file(self._url)))
        self._engine = self._connect(_read_only_url(self._url) if read_only and self.is_sqlite else self._url)
        try:
            self._bring_up_to_date(url, create=create)
        except BaseException:
            self.close()
            raise

    def _bring_up_to_date(self, url: str | os.PathLike[str], *, create: bool) -> None:
        """Make the tables that are missing; a store that is to be read is only written to for that."""
        if not self._read_only:
            with self.writing(creates=True) as connection:
                if not create:
                    self._require_there(connection)
                migrate(connection)
                _require_known(connection)
            return
        with self.reading() as connection:
            self._require_there(connection)
            done = _require_known(connection)
        if done != newest_known():
            Store(url, create=False).close()

    def _require_there(self, connection: Connection) -> None:
        if not sa.inspect(connection).has_table(migrations.name):
            raise _no_ledger(self._url)

    @contextmanager
    def writing(self, *, creates: bool = False) -> Iterator[Connection]:
        """Open a transaction that may write: all of it happens, or nothing.

        A row that is not there yet cannot be locked: of transactions that create one, only one runs at a time.
        """
        self._after_fork()
        if self._read_only:
            raise LedgerError("The ledger was opened to be read only. Nothing was written.")
        if not self.is_sqlite:
            with _plainly(), self._connected() as connection, _transaction(connection):
                if creates:
                    connection.execute(_CREATION_LOCK)
                yield connection
            return
        # SQLite has one writer at a time anyway; queueing threads here spares them its polling.
        with self._writers, _plainly(), self._engine.connect() as raw:
            connection = raw.execution_options(unlisted_writes=True)
            with _transaction(connection):
                yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that sees one state of the store."""
        self._after_fork()
        with _plainly(), self._connected() as raw:
            level = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
            connection = raw.execution_options(**level)
            with connection.begin():
                yield connection

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """Lend a connection; a server that does not answer in time counts as gone."""
        with self._engine.connect() as connection:
            if self.is_sqlite:
                yield connection
                return
            driver: Any = connection.connection.driver_connection
            with answering_within(self._timeout, driver.fileno):
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

    def _connect(self, url: sa.URL) -> sa.Engine:
        if not self.is_sqlite:
            try:
                # All connections are kept: a new one logs in, and has the server plan every statement, anew.
                return sa.create_engine(
                    url,
                    pool_size=16,
                    max_overflow=0,
                    pool_timeout=self._timeout,
                    connect_args={"connect_timeout": min(_CONNECT_SECONDS, max(2, int(self._timeout)))},
                )
            except ModuleNotFoundError:
                raise MissingExtraError("A ledger in PostgreSQL", "psycopg", "ledger,postgres") from None
        engine = sa.create_engine(url, connect_args={"timeout": self._timeout, "check_same_thread": False})
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
def _transaction(connection: Connection) -> Iterator[None]:
    """Keep what is done inside, or nothing of it; where nobody can know which it was, say that."""
    with connection.begin() as transaction:
        yield
        try:
            transaction.commit()
        except sa.exc.DBAPIError as failure:
            # A store that answers has refused; one that is gone may have written it before.
            if failure.connection_invalidated or "i/o" in str(failure.orig):
                raise UncertainError.because(_reason(failure)) from None
            raise


@contextmanager
def _plainly() -> Iterator[None]:
    """Say in our own words that the store did not do as asked; a driver's message can quote a password."""
    try:
        yield
    except (sa.exc.DBAPIError, sa.exc.TimeoutError) as failure:
        raise StoreError(f"The ledger could not be used: {_reason(failure)}. Nothing was written.") from None


def _reason(failure: sa.exc.DBAPIError | sa.exc.TimeoutError) -> str:
    if isinstance(failure, sa.exc.TimeoutError):
        return "too many questions are being asked at once"
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
        ("authentication failed", "the server does not know this user and password"),
        ("does not exist", "the server has no such database or user"),
        ("connection", "the server cannot be reached"),
    ):
        if sign in message:
            return reason
    return "the store refused"


def _require_known(connection: Connection) -> set[str]:
    """Return the steps that made the store; refuse one that a newer version made."""
    done = set(connection.execute(sa.select(migrations.c.name)).scalars())
    if done - newest_known():
        raise LedgerError("The ledger was written by a newer version of unlisted. Upgrade to use it.")
    return done


def _make_private(file: Path) -> None:
    """Make a file that is not there yet so that only its owner can read it: it holds answers and a signing key."""
    with contextlib.suppress(OSError):
        # What is there keeps its mode, which its owner may have chosen; SQLite says what it cannot open.
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _no_ledger(url: sa.URL) -> InvalidArgumentError:
    hint = "`unlisted account create` and `unlisted dataset create` begin one."
    return InvalidArgumentError("ledger", url.database, "a ledger that is there already", hint)


def _sqlite_file(url: sa.URL) -> str:
    """Return the path in a URL, which for SQLite may be a URL itself."""
    return (url.database or "").removeprefix("file:")


def _read_only_url(url: sa.URL) -> sa.URL:
    """Return the URL under which SQLite reads a file, whether or not it can be written to."""
    file = Path(_sqlite_file(url))
    if os.access(file, os.W_OK) and os.access(file.parent, os.W_OK):
        return url
    # While a ledger is in use there is a log beside it, which readers share. Without one nothing changes; and a
    # reader that made one would leave it behind, where the ledger's owner could not write to it.
    mode = {"mode": "ro"} if file.with_name(f"{file.name}-wal").exists() else {"immutable": "1"}
    database = url.database if "uri" in url.query else f"file:{quote(str(file.absolute()))}"
    return url.set(database=database, query={**url.query, **mode, "uri": "true"})


def _hidden(url: str) -> str:
    """Return a mistyped URL without what may be a password."""
    return url.rpartition("@")[2]


def _store_url(url: str) -> sa.URL:
    """Read a path or a URL."""
    if "://" not in url:
        path = Path(url)
        if url in ("", ":memory:") or path.is_dir() or not path.parent.is_dir():
            raise InvalidArgumentError(
                "ledger", _hidden(url), "a file in a folder that exists, or a PostgreSQL URL"
            )
        return sa.URL.create("sqlite", database=str(path))
    try:
        parsed = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        example = "For example: postgresql://owner@db.example/budget"
        raise InvalidArgumentError("ledger", _hidden(url), "a path or a URL", example) from None
    backend = parsed.get_backend_name()
    if backend in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    if backend == "sqlite" and parsed.database not in (None, "", ":memory:"):
        return parsed
    raise InvalidArgumentError("ledger", backend, "a file, or a sqlite: or postgresql: URL")
