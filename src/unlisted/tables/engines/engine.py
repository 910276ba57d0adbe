"""What an engine must do so that bounding and counting, written once, can run inside it.

The statements are written once, in the dialect of DuckDB, by `bounding.py`, `counting.py` and `weighing.py`. They
read one relation, `SOURCE`, and speak of everything else by names of their own. An engine says only what differs:
how the source's schema is read without its rows, how a column becomes a value that compares by its bytes, how a
statement is said in its own dialect, and how one state of the data is kept while several statements run on it.

Outside plain standard SQL the statements use this vocabulary and nothing else; an engine translates it exactly:

| said as | means |
|---|---|
| `SHA256(text)` | the SHA-256 of the text's UTF-8 bytes as 64 lower-case hexadecimal digits |
| `STRLEN(text)` | the number of UTF-8 bytes of the text |
| `LEFT(text, n)` | its first n characters |
| `COUNT(*) OVER (PARTITION BY ... ORDER BY ...)` | as everywhere: peers count in |
| `ROW_NUMBER() OVER (PARTITION BY ... ORDER BY ...)` | as everywhere |
| `WITH ... AS MATERIALIZED (...)` | computed once; a hint that may be dropped |
| `CAST(... AS HUGEINT)` | a whole number of up to 38 digits, as sums and products with it are too, exactly |
| `x // y` | of whole numbers from 0: the quotient, rounded down, exact; it is below 2^63 |

Every name in a statement is quoted. Names that the statements make themselves are lower case, so that an engine
that folds case agrees. Statements hold no text of a user but column names: a predicate is written by the engine,
in its own dialect, where it puts the source in the place of `SOURCE`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import pyarrow as pa

from unlisted.errors import InvalidArgumentError
from unlisted.tables.column_types import ColumnType

if TYPE_CHECKING:
    # It brings sqlglot, which a question without a predicate does not need on DuckDB.
    from unlisted.tables.predicate.grammar import Computed, Predicate

SOURCE = "unlisted_source"
"""The relation that every statement reads its rows from, always as `FROM "unlisted_source"` and once at most.

An engine puts in its place what the user named, and of it the rows that pass the predicate."""


@dataclass(frozen=True)
class Rows:
    """Which part of the source is asked about: the columns that will be read, and the rows that pass a predicate.

    `columns` are those of its columns that statements select from `SOURCE`, and `computed` the values that they
    select beside them, by their names there. The predicate and the computed values may read other columns.
    `user` is the one of them that says whose row it is: it is read through `Engine.whose`. `state` is the engine's
    state when the question was checked.
    """

    columns: tuple[str, ...]
    where: Predicate | None = None
    user: str | None = None
    state: Hashable = None
    computed: tuple[tuple[str, Computed], ...] = ()

    @property
    def read(self) -> tuple[str, ...]:
        """Every column that is read, each once."""
        pieces = [self.where, *(value for _, value in self.computed)]
        others = {name for piece in pieces if piece is not None for name in piece.columns}
        return tuple(dict.fromkeys((*self.columns, *sorted(others))))


class World(Protocol):
    """One unchanging state of the data: all that is asked inside it answers about the same rows.

    Methods take statements of the shared dialect. They may raise whatever the engine raises: the caller turns
    everything that happens in a world into a `ChargedFailureError` and keeps the cause for the owner's log.
    """

    def keep(self, name: str, query: str) -> None:
        """Run a query once and keep its rows inside the engine under `name` until the world ends.

        A later statement reads them as `FROM "name"`. DuckDB and PostgreSQL use a temporary table, Spark a
        persisted data frame behind a temporary view.
        """

    def lend(self, name: str, rows: pa.Table) -> None:
        """Make a small Arrow table of whole numbers (int64 columns, no nulls) readable under `name`."""

    def answer(self, query: str) -> pa.Table:
        """Run a query and return its rows as Arrow, with the query's column names in the query's order."""


class Columnar(Protocol):
    """The columns of a source: what they hold, and how statements read them."""

    def columns(self) -> Mapping[str, ColumnType]:
        """Return the source's columns in order, touching no rows.

        A source that cannot be opened (no such file, table or database; not the format it claims to be) is refused
        with an `InvalidArgumentError` in our own words: an engine's message can quote a row or a password.
        """

    def plain(self, column: str) -> str:
        """Return an expression of the shared dialect for a column as a value that compares by its bytes.

        Statements select every column they use through this expression, before anything else happens.

        - `TEXT` is grouped, compared and ordered by its UTF-8 bytes: `CAST("c" AS VARCHAR) COLLATE "C"` wherever
          the column could carry another collation. Enumerations and UUIDs, which an engine describes as `TEXT`,
          become text.
        - `FLOAT`, and any other type that knows NaN: NaN becomes NULL, for it is no value.
        - Other numbers, booleans, dates and times stay what they are. They are compared by value; the caller
          tells -0.0 from 0.0.
        - `OTHER` is no item, and is never asked for.

        The expression never raises on any row.
        """

    def whose(self, column: str) -> str:
        """Return an expression of the shared dialect for a column as a user: one value for one person.

        Two values that the engine itself holds equal (`=`) become the same value, with the same text, and two
        that it holds different stay different. A column of a type for which that is not known, or cannot be
        done, is refused with `no_user`: a type is refused until somebody has looked at its equality.

        Applied to its own value it changes nothing, and it never raises on any row.
        """


class Engine(Columnar, Protocol):
    """One source inside one engine. Nothing is opened before a method needs it; no method writes to the source."""

    @property
    def name(self) -> str:
        """The word for this engine in plans and receipts, such as `duckdb`. Never a path, URL or table name."""

    def state(self) -> Hashable:
        """Return what tells whether the source is still the one that was described; None if it cannot change.

        A world of rows with a state fails if the source that it read is in another one.
        """

    def statement(self, query: str, rows: Rows) -> str:
        """Say a query of the shared dialect in the engine's own, with these rows in the place of `SOURCE`.

        Pure: needs no connection beyond what `columns` needs. Its results are the golden SQL of the tests.
        """

    def world(self, rows: Rows) -> AbstractContextManager[World]:
        """Open a world in which `SOURCE` means these rows. Everything made in it ends with it."""

    def rehearsal(self) -> Engine:
        """Return an engine that says and does the same over the same columns, with no row in them.

        It reads the schema anew, so that a source which has changed since is found out. No world of it touches a
        row: nothing that fails in one can depend on any.
        """

    def signature(self) -> Hashable | None:
        """Return what else decides how a rehearsal ends: while it stays the same, so does the end.

        None where that can change unseen, as in a database: then every question is rehearsed.
        """


def no_user(column: str, hint: str) -> InvalidArgumentError:
    """Refuse a column as the user's, and say what to do."""
    allowed = "a column of which it is known when two values are the same user"
    return InvalidArgumentError("user", column, allowed, hint)


def name_for_whose(rows: Rows) -> str:
    """Return a name for the user beside the columns that a predicate reads, in one subquery with them."""
    taken = {name.casefold() for name in rows.read}
    name = "unlisted_whose"
    while name in taken:
        name += "_"
    return name


@runtime_checkable
class OwnKey(Protocol):
    """An engine that draws keys from texts in a way of its own, faster than by SHA-256."""

    def key(self, text: str) -> str:
        """Return an expression for the key of a text: numbers or texts whose order is all that matters.

        Different texts must have different keys but for chance, in an order that nobody can foresee who does not
        know the secret that the texts begin with.
        """


@runtime_checkable
class ManyMachines(Protocol):
    """An engine that groups rows by sending those of one group to one machine."""

    @property
    def giant(self) -> int:
        """Users with more items than this are too much for one machine, and few enough to be known to all.

        The relation `giant` of the statements holds them. A copy of it goes to every machine.
        """
