"""A table or view in a PostgreSQL database.

All statements of a release run in one transaction that sees one snapshot of the database (REPEATABLE READ) and is
rolled back at its end. PostgreSQL lets a read-only transaction fill a temporary table but not make one; so the
transaction may write, only empty temporary tables are made in it, and every statement that reads the source runs
inside a savepoint that is read-only. Where temporary tables cannot be had (a standby server, a role without the
right), the whole transaction is read-only, and a kept query is asked again where it is read: the snapshot gives
the same rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from unlisted.errors import InvalidArgumentError, MissingExtraError
from unlisted.tables.column_types import ColumnType
from unlisted.tables.engines.dialect import byte_length, is_wide, passing, subquery, translated
from unlisted.tables.engines.engine import SOURCE, Rows
from unlisted.tables.engines.postgres.types import PostgresColumn, arrow_table, described
from unlisted.tables.server_timeouts import answering_within, shut
from unlisted.tables.stopping import interruptible

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresEngine", "PostgresRelation"]

SHOWN_URL = "postgresql://..."
"""What messages say for a URL. No part of it is safe to show: a password with a slash reads as a path."""

ALLOWED_SOURCE = "the URL of a PostgreSQL database that can be reached, such as postgresql://user@host/database"
ALLOWED_TABLE = 'a table or view that the connection\'s user may read, such as "name" or "schema.name"'

# Text that stands for a value must not depend on the reader's settings: it is hashed and compared.
_SETTINGS = """
SET LOCAL TimeZone = 'UTC';
SET LOCAL DateStyle = 'ISO, YMD';
SET LOCAL IntervalStyle = 'postgres';
SET LOCAL bytea_output = 'hex';
SET LOCAL extra_float_digits = 3;
SET LOCAL client_encoding = 'UTF8'
"""

_CONNECT_SECONDS, _CATALOGUE_SECONDS, _CANCEL_SECONDS = 10, 30.0, 2.0
"""How long a server that may have stopped answering is waited for, before any row is read and when it is told to
stop. How long it may count is for whoever asks to say."""

_Description = tuple[exp.Expr, Mapping[str, PostgresColumn]]
Connect = Callable[[], AbstractContextManager["psycopg.Connection[Any]"]]


class PostgresRelation:
    """A table, view or query in a PostgreSQL database that `connect` reaches. It is an `Engine`."""

    name = "postgres"

    def __init__(self, connect: Connect, relation: Callable[[psycopg.Connection[Any]], exp.Expr]) -> None:
        self._connect = connect
        self._find = relation
        self._known: _Description | None = None

    @property
    def _described(self) -> _Description:
        """What stands for the source, and its columns, as they were when they were last asked for."""
        if self._known is None:
            self._known = self._describe()
        return self._known

    def _describe(self) -> _Description:
        import psycopg  # noqa: PLC0415 - only where a server is used

        with self._connect() as connection:
            _check_encoding(connection)
            if connection.info.transaction_status is not psycopg.pq.TransactionStatus.IDLE:
                hint = "Its connection is in the middle of a transaction: commit it, or roll it back, first."
                raise InvalidArgumentError("source", SHOWN_URL, ALLOWED_SOURCE, hint)
            try:
                # Somebody may have locked the table, and then even its catalogue has to be waited for.
                with (
                    answering_within(_CATALOGUE_SECONDS, connection.fileno),
                    interruptible(_Interrupt(connection), touches_data=False),
                    connection.transaction(force_rollback=True),
                ):
                    found = self._find(connection)
                    return found, described(connection, found.sql(dialect="postgres"))
            except psycopg.Error:
                # The server's own message is not passed on: it can quote what it read.
                hint = "The server refused to describe it. Has the connection's user the right to read it?"
                raise InvalidArgumentError("source", SHOWN_URL, ALLOWED_TABLE, hint) from None

    def columns(self) -> Mapping[str, ColumnType]:
        """Return the columns; the server answers from its catalogue."""
        return {name: column.kind for name, column in self._described[1].items()}

    def plain(self, column: str) -> str:
        """Return a column as a value that compares by its bytes."""
        return self._described[1][column].plain()

    def seen(self, column: str) -> str:
        """Return a column as a predicate sees it."""
        return self._described[1][column].seen()

    def whose(self, column: str) -> str:
        """Return a column as a user: one value for one person."""
        return self._described[1][column].whose()

    def state(self) -> Hashable:
        """Ask the server for the columns anew: a type that has changed since may be another idea of a user."""
        self._known = found = self._describe()
        return _state(*found)

    def statement(self, query: str, rows: Rows) -> str:
        """Say a query in PostgreSQL's words."""
        return translated(query, "postgres", {SOURCE: self._passing(rows)}, _rule)

    @contextmanager
    def world(self, rows: Rows) -> Iterator[_World]:
        """Open a transaction that sees one snapshot and leaves nothing behind."""
        source = self._passing(rows)
        with self._connect() as connection, connection.transaction(force_rollback=True):
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE")
            connection.execute(_SETTINGS)
            with interruptible(_Interrupt(connection)):
                if rows.state is not None:
                    # From here to the end of the transaction nobody can change the columns: they are locked.
                    relation, _ = self._described
                    if _state(relation, described(connection, relation.sql(dialect="postgres"))) != rows.state:
                        raise RuntimeError("the columns changed after the question was checked")
                yield _World(connection, source)

    def rehearsal(self) -> PostgresRelation:
        """Return the same relation without its rows: the server plans, checks rights, and reads nothing."""
        return PostgresRelation(self._connect, lambda connection: _nothing_of(self._find(connection)))

    def signature(self) -> None:
        """Return nothing: who may read what, and what is there, can change at any moment."""

    def _passing(self, rows: Rows) -> exp.Expr:
        return passing(self, rows, self._described[0], "postgres", _rule)


def _state(relation: exp.Expr, columns: Mapping[str, PostgresColumn]) -> Hashable:
    return relation.sql(dialect="postgres"), tuple(columns.values())


class PostgresEngine(PostgresRelation):
    """A table or view that a URL and a name point at."""

    def __init__(self, url: str, table: str | None) -> None:
        if not table:
            raise InvalidArgumentError("table", table, ALLOWED_TABLE, 'Say which: table="schema.name".')
        super().__init__(lambda: _connected(url), lambda connection: _found(connection, table))


class _Interrupt:
    """Tells a server to stop what it does; if it does not listen, the connection is shut."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._since: float | None = None

    def __call__(self) -> None:
        import psycopg  # noqa: PLC0415 - only where a server is used

        now = time.monotonic()
        self._since = now if self._since is None else self._since
        # The first version of the driver that we take can only wait for the server.
        cancel = getattr(self._connection, "cancel_safe", None)
        try:
            cancel(timeout=_CANCEL_SECONDS) if cancel is not None else self._connection.cancel()
            is_deaf = now - self._since > _CANCEL_SECONDS
        except psycopg.Error:
            is_deaf = True
        if is_deaf:
            shut(self._connection.fileno)


class _World:
    """One snapshot of the database."""

    def __init__(self, connection: psycopg.Connection[Any], source: exp.Expr) -> None:
        self._connection = connection
        self._relations = {SOURCE: source}
        self._can_keep = _can_make_temporary_tables(connection)
        if not self._can_keep:
            connection.execute("SET TRANSACTION READ ONLY")

    def keep(self, name: str, query: str) -> None:
        """Fill a temporary table, or remember the query where there can be none."""
        written = self._said(query)
        if not self._can_keep:
            self._relations[name] = subquery(written)
            return
        self._connection.execute(f'CREATE TEMPORARY TABLE "{name}" AS {written} WITH NO DATA'.encode())
        with self._reading():
            self._connection.execute(f'INSERT INTO pg_temp."{name}" {written}'.encode())
        self._relations[name] = exp.table_(name, db="pg_temp", quoted=True)

    def lend(self, name: str, rows: pa.Table) -> None:
        """Write a few whole numbers into the statements that read them."""
        arrays = ", ".join(f"CAST('{_array(column)}' AS BIGINT[])" for column in rows.columns)
        names = ", ".join(f'"{column}"' for column in rows.column_names)
        self._relations[name] = subquery(f"SELECT * FROM UNNEST({arrays}) AS lent({names})")  # noqa: S608

    def answer(self, query: str) -> pa.Table:
        """Run a query, read-only, and bring its rows out."""
        with self._reading():
            cursor = self._connection.cursor(binary=True)
            return arrow_table(cursor.execute(self._said(query).encode()))

    def _said(self, query: str) -> str:
        return translated(query, "postgres", self._relations, _rule)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Nothing can be written but to temporary tables."""
        with self._connection.transaction():
            self._connection.execute("SET TRANSACTION READ ONLY")
            yield


def _nothing_of(relation: exp.Expr) -> exp.Expr:
    """Return what stands for the columns of a relation and none of its rows."""
    return subquery(f"SELECT * FROM {relation.sql(dialect='postgres')} AS no_rows WHERE FALSE")  # noqa: S608


def _array(numbers: pa.ChunkedArray) -> str:
    return "{" + ",".join(str(int(number)) for number in numbers.to_pylist()) + "}"


def _rule(node: exp.Expr) -> exp.Expr:
    """Say one piece of the shared vocabulary in PostgreSQL's words."""
    if isinstance(node, exp.SHA2):
        digest = exp.func("SHA256", exp.func("CONVERT_TO", node.this, exp.Literal.string("UTF8")))
        digits = exp.func("ENCODE", digest, exp.Literal.string("hex"))
        return exp.Collate(this=digits, expression=exp.to_identifier("C", quoted=True))
    if (text := byte_length(node)) is not None:
        return exp.func("OCTET_LENGTH", text)
    return exp.DataType.build("NUMERIC") if is_wide(node) else node


@contextmanager
def _connected(url: str) -> Iterator[psycopg.Connection[Any]]:
    """Connect for a while; a refusal never quotes the server, nor the URL, which can hold a password."""
    try:
        import psycopg  # noqa: PLC0415 - only where a server is used
    except ImportError:
        raise MissingExtraError("Reading PostgreSQL", "psycopg", "postgres") from None
    try:
        # Nothing is prepared: each statement is asked once, and poolers lose what is prepared.
        # One that does not even answer is not waited for, unless the URL says how long.
        waits: dict[str, Any] = {} if "connect_timeout" in url else {"connect_timeout": _CONNECT_SECONDS}
        connection = psycopg.connect(
            url, autocommit=True, prepare_threshold=None, application_name="unlisted", **waits
        )
    except (psycopg.Error, UnicodeError):
        hint = "Check host, port, database, user and password, and that the server is up."
        raise InvalidArgumentError("source", SHOWN_URL, ALLOWED_SOURCE, hint) from None
    with connection:
        yield connection


def _check_encoding(connection: psycopg.Connection[Any]) -> None:
    """Refuse a database whose order of characters is not that of their UTF-8 bytes."""
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        hint = (
            f"This database is encoded in {encoding}, but labels are compared by their UTF-8 bytes. Copy the "
            "table into a database with ENCODING 'UTF8', or export it to Parquet."
        )
        raise InvalidArgumentError("source", SHOWN_URL, ALLOWED_SOURCE, hint)


def _found(connection: psycopg.Connection[Any], table: str) -> exp.Expr:
    """Find a table or view as the connection's search path sees it, and name it so that no path matters."""
    there = "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
    of_a_kind_with_rows = "c.relkind = ANY('{r,p,v,m,f}')"
    named = f"SELECT n.nspname, c.relname {there} WHERE {of_a_kind_with_rows} AND c.oid = to_regclass(%s)"
    for name in _spellings(table):
        row = connection.execute(named.encode(), [name]).fetchone()
        if row is not None:
            return exp.table_(row[1], db=row[0], quoted=True)
    listed = (
        f"SELECT n.nspname || '.' || c.relname {there} WHERE {of_a_kind_with_rows} "
        "AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND NOT starts_with(n.nspname, 'pg_toast') "
        "AND has_table_privilege(c.oid, 'SELECT') ORDER BY 1 LIMIT 20"
    )
    names = ", ".join(name for (name,) in connection.execute(listed.encode())) or "none"
    raise InvalidArgumentError("table", table, ALLOWED_TABLE, f"The tables there are: {names}.")


def _spellings(table: str) -> Sequence[str]:
    """Return the ways to read a name: as it is written, then in lower case as SQL would; with quotes only so."""
    if '"' in table:
        return [table]
    written = ".".join(f'"{part}"' for part in table.split("."))
    return list(dict.fromkeys((written, written.lower())))


def _can_make_temporary_tables(connection: psycopg.Connection[Any]) -> bool:
    row = connection.execute(
        "SELECT NOT pg_catalog.pg_is_in_recovery() "
        "AND pg_catalog.has_database_privilege(pg_catalog.current_database(), 'TEMPORARY')"
    ).fetchone()
    return row is not None and bool(row[0])
