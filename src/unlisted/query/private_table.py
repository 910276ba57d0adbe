"""`ul.table(...)`: rows of users, somewhere, and the questions that may be asked of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.count_profile import CountProfile
from unlisted.counts.weight_oracle import WeightOracle
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.mechanism import Mechanism
from unlisted.privacy.calibrate import Calibrated
from unlisted.privacy.numbers import Number, failure_probability
from unlisted.query.asking import Askable
from unlisted.query.charging import Payer
from unlisted.query.data import Data, Rehearsal
from unlisted.query.plan import Plan
from unlisted.query.planner import make_plan, plan_of
from unlisted.query.questions import Item, Question
from unlisted.tables.bounding import fresh_secret
from unlisted.tables.column_types import ColumnType
from unlisted.tables.count_query import LONGEST_LABEL, CountQuery, item_names
from unlisted.tables.counting import count_all, count_top
from unlisted.tables.table import Table
from unlisted.tables.table import table as open_table
from unlisted.tables.weighing import weighed


class PrivateTable(Askable):
    """Rows of users, somewhere, and the questions that may be asked of them.

    Each question returns a plan and touches no data: `histogram`, `top`, `top_histogram`, `labels`, and
    `release_with` for a mechanism of your own.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def __repr__(self) -> str:
        return repr(self._table)

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
            item: the column whose values are counted, or several that together name an item.
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
        found = Calibrated(mechanism, "it was brought by whoever asks.")
        delta = failure_probability("at_delta", at_delta)
        return make_plan(mechanism.describe().name, query, found, delta, self._data(query)).paid_by(account)

    def plan(self, question: Question, *, account: Payer | None = None) -> Plan:
        """Plan a question that was put together elsewhere."""
        return plan_of(question, self._data(question.counted), account)

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
        table.types,
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


def table(
    source: Any, *, user: str, table: str | None = None, types: Mapping[str, str] | None = None
) -> PrivateTable:
    """Name the rows to ask about; nothing is opened before it is needed.

    Args:
        source: a path or glob of Parquet, CSV (also .gz) or JSON lines files; a DuckDB file or a PostgreSQL URL,
            both with `table`; a data frame that speaks the Arrow PyCapsule interface, such as a Polars, pandas or
            PyArrow one; a Spark data frame; an Ibis table.
        user: the column that says whose row it is. Its values are what is protected.
        table: the table or view inside a database.
        types: what the columns of a CSV or JSON lines file hold, such as {"age": "int"}; they are text otherwise.
            {"*": "line"} says that no field of a CSV file holds a line break, so that each line is a row.

    Examples:
        >>> ul.table(searches(), user="user").columns()["query"].value
        'text'
    """
    if isinstance(source, type):
        raise InvalidArgumentError("source", source.__name__, "a table, not a type of tables")
    if types is not None and not isinstance(types, Mapping):
        raise InvalidArgumentError("types", types, 'a mapping of column to type, such as {"age": "int"}')
    return PrivateTable(open_table(source, user=user, table=table, types=types))
