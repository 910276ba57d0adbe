"""`ul.table(...)`: rows of users, somewhere, and the questions that may be asked of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.bounded_total import BoundedTotal
from unlisted.counts.count_profile import CountProfile
from unlisted.counts.weight_oracle import WeightOracle
from unlisted.errors import InvalidArgumentError, UnlistedError
from unlisted.mechanisms.mechanism import Mechanism
from unlisted.privacy.numbers import Number, failure_probability, whole
from unlisted.query.asking.askable import Askable
from unlisted.query.charging import Payer
from unlisted.query.choosing import Chosen
from unlisted.query.data import Data, Rehearsal
from unlisted.query.plan import Plan
from unlisted.query.planner import make_plan, plan_of
from unlisted.query.question import Question
from unlisted.query.questions import Item
from unlisted.release.html import card
from unlisted.tables.bounding import fresh_secret
from unlisted.tables.column_types import ColumnType, FirstLine
from unlisted.tables.column_types import told as told_columns
from unlisted.tables.count_query import LONGEST_LABEL, CountQuery, item_names
from unlisted.tables.counting import count_all, count_top
from unlisted.tables.table import Table
from unlisted.tables.table import table as open_table
from unlisted.tables.totals import count_distinct, count_users
from unlisted.tables.weighing import weighed


class PrivateTable(Askable):
    """Rows of users, somewhere, and the questions that may be asked of them.

    Each question returns a plan and touches no data: `histogram`, `top`, `top_histogram`, `labels`, `users`,
    `distinct`, and `release_with` for a mechanism of your own.

    Args:
        table: the rows; call `ul.table`, which opens them.
        declared_users: about how many users there are, as the owner says.

    Examples:
        >>> table = ul.table(searches(), user="user")
        >>> release = table.top("query", k=3, budget=ul.Budget(epsilon=1, delta=1e-8)).run()
        >>> release[0]["rank"]
        1
    """

    def __init__(self, table: Table, declared_users: int | None = None) -> None:
        self._table = table
        self._users = None if declared_users is None else whole("declared_users", declared_users)

    def __repr__(self) -> str:
        return repr(self._table)

    def _repr_html_(self) -> str:
        try:
            columns = self._table.columns()
        except UnlistedError as problem:
            return card(repr(self), lines=[str(problem)])
        shown = (
            [] if isinstance(columns, FirstLine) else [f"{name}: {kind.value}" for name, kind in columns.items()]
        )
        return card(repr(self), lines=shown or [told_columns(columns)])

    def columns(self) -> Mapping[str, ColumnType]:
        """Return the columns and what they hold, without touching a row; the user's must be fit to be one."""
        columns = self._table.columns()
        self._table.require_user()
        return columns

    def release_with(
        self,
        item: Item,
        *,
        mechanism: Mechanism[Any],
        at_delta: Number,
        where: str | None = None,
        max_label_bytes: int = LONGEST_LABEL,
        account: Payer | None = None,
    ) -> Plan:
        """Plan a release by a mechanism of your own; it is asked for whatever it needs.

        Rows are bounded to what the mechanism protects (`mechanism.protects()`), and counts of users unless it
        protects more than one row of an item.

        Args:
            item: the column whose values are counted, or what is computed from columns, such as "lower(query)" or
                "date_trunc('month', day) AS month"; or several that together name an item.
            mechanism: any `ul.Mechanism`, calibrated.
            at_delta: the total δ at which its ε is reported.
            where: a condition on rows, such as "device = 'phone'".
            max_label_bytes: longer labels are not counted.
            account: the account of a ledger that pays.

        Examples:
            >>> noise, three_items = ul.DiscreteLaplace(2), ul.Sensitivity(3)
            >>> mechanism = ul.ThresholdHistogram(noise, threshold=60, sensitivity=three_items)
            >>> table = ul.table(searches(), user="user")
            >>> table.release_with("query", mechanism=mechanism, at_delta=1e-6).mechanism.threshold
            60
        """
        if not isinstance(mechanism, Mechanism):
            raise InvalidArgumentError("mechanism", type(mechanism).__name__, "a ul.Mechanism")
        protected = mechanism.protects()
        rows = protected.count if protected.count > 1 else None
        query = CountQuery(
            item_names(item),
            count="users" if rows is None else "rows",
            rows_per_item=rows,
            items_per_user=protected.items,
            where=where,
            max_label_bytes=max_label_bytes,
            adjacency=protected.adjacency,
        )
        brought = Chosen(mechanism, "it was brought by whoever asks.")
        delta = failure_probability("at_delta", at_delta)
        plan = make_plan(mechanism.describe().name, query, brought, delta, self._data(query))
        return plan.paid_by(account).of_users(self._users).checked()

    def plan(self, question: Question, *, account: Payer | None = None) -> Plan:
        """Plan a question that was put together elsewhere.

        Args:
            question: the question, from `unlisted.query.questions`.
            account: who pays; without one the budget is spent at once.
        """
        return plan_of(question, self._data(question.counted), account).of_users(self._users)

    def filled(self, kind: type[Question], told: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Return the options of a question, with what is fixed for these rows: here nothing is.

        Args:
            kind: which question is asked.
            told: its options as they were given.
        """
        return dict(told)

    def _planned(self, kind: type[Question], told: dict[str, Any], account: Payer | None) -> Plan:
        """Make a question of what it was told, plan it, and check it against the columns."""
        return super()._planned(kind, self.filled(kind, told), account).checked()

    def _data(self, query: CountQuery) -> Data:
        return _data_of(self._table, query)


def _data_of(table: Table, query: CountQuery) -> Data:
    """Return where the counts for a question come from: a table, or the same one without its rows."""

    def check() -> None:
        table.rows(query)

    rehearsal = Rehearsal(table.engine.signature, lambda: _data_of(table.rehearsal(query), query))
    return Data(
        table.user,
        table.source,
        query.items,
        check,
        TableCounts(table, query),
        rehearsal if table.has_rows else None,
        table.reading.named(),
    )


@dataclass(frozen=True)
class TableCounts:
    """The counts of a table, for whatever a mechanism needs of them. It is a `CountSource`.

    Each question has a secret of its own, which decides at random what is kept of users over the bound.
    """

    table: Table
    query: CountQuery

    def all_counts(self, cut: int) -> AbstractContextManager[BoundedCounts | CountProfile]:
        """Count all items, and leave those of at most `cut` unnamed."""
        return count_all(self.table, self.query, cut=cut, secret=fresh_secret())

    @contextmanager
    def largest_counts(self, fetched: int) -> Iterator[BoundedCounts]:
        """Count all items inside the engine, and bring out the largest."""
        yield count_top(self.table, self.query, fetch=fetched, secret=fresh_secret())

    def weights(self) -> AbstractContextManager[WeightOracle]:
        """Let the engine weigh labels."""
        return weighed(self.table, self.query, secret=fresh_secret())

    @contextmanager
    def user_count(self) -> Iterator[BoundedTotal]:
        """Count users inside the engine."""
        yield count_users(self.table, self.query)

    @contextmanager
    def distinct_values(self) -> Iterator[BoundedTotal]:
        """Count labels inside the engine."""
        yield count_distinct(self.table, self.query, secret=fresh_secret())


def table(
    source: Any,
    *,
    user: str,
    table: str | None = None,
    types: Mapping[str, str] | None = None,
    sep: str | None = None,
    encoding: str | None = None,
    quote: str | None = None,
    decimal: str | None = None,
    header: Sequence[str] | None = None,
    date_format: str | Mapping[str, str] | None = None,
    timezone: str | None = None,
    declared_users: int | None = None,
) -> PrivateTable:
    """Name the rows to ask about; nothing is opened before it is needed.

    Args:
        source: a path, a glob, a folder or a list of them: Parquet, CSV, JSON, Arrow or Excel files; a DuckDB
            file or a PostgreSQL URL, both with `table`; a data frame that speaks the Arrow PyCapsule interface,
            such as a Polars, pandas or PyArrow one; a Spark data frame; an Ibis table.
        user: the column that says whose row it is. Its values are what is protected.
        table: the table or view inside a database, or the sheet of a workbook.
        types: what the columns of a text file hold, such as {"age": "int"}; they are text otherwise. A row that
            does not hold it, in a column that a question reads, is dropped. {"*": "line"} says that no field of a
            CSV file holds a line break, so that each line is a row.
        sep: what separates the fields of a CSV file; a comma otherwise, in .tsv files a tab.
        encoding: how the text of a file is encoded; "utf-8" otherwise.
        quote: what stands around a field of a CSV file with separators in it, '"' otherwise; "" if nothing does.
        decimal: "," if the numbers of a CSV file are written with a comma.
        header: the names of the columns, if the first line of a file is a row.
        date_format: how dates and timestamps are written in a text file, such as "%d.%m.%Y", or a mapping of
            column to format; as in 2025-11-30 otherwise.
        timezone: where moments with a time zone are counted and compared, such as "Europe/Berlin". Without it
            they can be neither items nor in `where`.
        declared_users: about how many users there are, a public number. Plans warn if δ is not small against it.

    Examples:
        >>> ul.table(searches(), user="user").columns()["query"].value
        'text'
    """
    if isinstance(source, type):
        raise InvalidArgumentError("source", source.__name__, "a table, not a type of tables")
    said = {
        "types": types,
        "sep": sep,
        "encoding": encoding,
        "quote": quote,
        "decimal": decimal,
        "header": header,
        "date_format": date_format,
        "timezone": timezone,
    }
    return PrivateTable(open_table(source, user=user, table=table, **said), declared_users)
