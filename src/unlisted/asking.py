"""What may be asked of a table: `histogram`, `top`, `top_histogram`, `labels`.

`table(...)` is the way in. Each question returns a plan and touches no data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, TypedDict, Unpack, cast

from unlisted.accuracy import Mechanism
from unlisted.bills import Payer
from unlisted.errors import InvalidArgumentError
from unlisted.label_planning import LabelMethod, labels_plan, top_plan
from unlisted.mechanisms.counts import BoundedCounts
from unlisted.mechanisms.families import Noise
from unlisted.mechanisms.label_counts import CountedLabels
from unlisted.mechanisms.label_optimal import OptimalLabels
from unlisted.mechanisms.label_ranking import LabelRanking
from unlisted.mechanisms.label_selection import LabelSelection
from unlisted.mechanisms.profile import CountProfile
from unlisted.mechanisms.scales import Scales
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import TopK
from unlisted.planning import Fetch, Priced, histogram_plan, priced_by, top_histogram_plan
from unlisted.plans import Data, Plan, Rehearsal
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.sensitivity import Adjacency
from unlisted.tables.bounding import fresh_secret
from unlisted.tables.column_types import ColumnType
from unlisted.tables.counting import count_all, count_top
from unlisted.tables.question import Count, Question
from unlisted.tables.table import Table
from unlisted.tables.table import table as open_table
from unlisted.tables.weighing import weighed

SELDOM = Fraction(1, 100)
"""Counts that pass the threshold less often than this are left to the lazy tail."""


class Counting(TypedDict, total=False):
    """How items are counted: options that every question has.

    `count` is "users" or "rows" (then `rows_per_item` is the most rows of one user that one item counts);
    `where` a condition on rows; `max_label_bytes` the longest label that is counted; `adjacency` "add_remove" or
    "replace".
    """

    count: Count
    rows_per_item: int | None
    where: str | None
    max_label_bytes: int
    adjacency: Adjacency


class Asked(Counting, total=False):
    """How items are counted, and `account`: who pays. Without one nobody adds up what was asked before."""

    account: Payer | None


class Ranked(Asked, Priced, total=False):
    """All that a ranking of a table may be told; `items_per_user` is only needed to rank every count."""

    items_per_user: int | None


Item = str | list[str] | tuple[str, ...]


class PrivateTable:
    """Rows of users, somewhere, and the questions that may be asked of them."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __repr__(self) -> str:
        return repr(self._table)

    def columns(self) -> Mapping[str, ColumnType]:
        """Return the columns and what they hold, without touching a row."""
        return self._table.columns()

    def histogram(
        self,
        item: Item,
        *,
        budget: Budget,
        items_per_user: int,
        noise: Noise = "auto",
        **asked: Unpack[Asked],
    ) -> Plan:
        """Plan the counts of every value that enough users share (Algorithm 1)."""
        question, account = _question(item, items_per_user, asked)
        plan = histogram_plan(question, budget, noise, self._data(question), one_shot=account is None)
        return plan.paid_by(account)

    def top_histogram(
        self,
        item: Item,
        *,
        budget: Budget,
        items_per_user: int | None = None,
        fetch: int = 1000,
        noise: Noise = "auto",
        **asked: Unpack[Asked],
    ) -> Plan:
        """Plan the counts of the largest values, from the `fetch` + 1 largest counts alone (Algorithm 2)."""
        question, account = _question(item, items_per_user, asked)
        return top_histogram_plan(question, budget, fetch, noise, self._data(question)).paid_by(account)

    def top(
        self,
        item: Item,
        *,
        k: int,
        budget: Budget | None = None,
        fetch: Fetch | None = None,
        **ranked: Unpack[Ranked],
    ) -> Plan:
        """Plan a ranking of the k most common values (Algorithm 3).

        No bound on items per user is needed: the ranking is read from the `fetch` largest counts (else the
        larger of 1000 and 10·k). `fetch="all"` reads it from all counts and needs `items_per_user`. Either a
        `budget` for the whole question, or `per_item_epsilon` and `delta`, which an account that was opened with
        results and questions supplies. With `counts=True` the winners' counts follow. With `items_per_user` the
        labels may be found first and ranked then (`method`).
        """
        items_per_user = ranked.get("items_per_user")
        priced, asked = _split(ranked)
        question, account = _question(item, items_per_user, asked)
        priced = priced_by(account, priced, budget)
        return top_plan(question, k, budget, fetch, priced, self._data(question)).paid_by(account)

    def labels(
        self,
        item: Item,
        *,
        budget: Budget,
        items_per_user: int,
        method: LabelMethod = "auto",
        **asked: Unpack[Asked],
    ) -> Plan:
        """Plan the values that enough users share, and nothing else about them.

        `method` is "weighted" (each item of a user with n items weighs 1/√n), "sips" (the same in rounds, each
        without what was found before), "adaptive" (weight that a label does not need goes back to its users),
        "counts" (Algorithm 1 without its counts), "optimal" (a coin for each label, the best for users of one
        item) or "auto".
        """
        question, account = _question(item, items_per_user, asked)
        plan = labels_plan(question, budget, method, self._data(question), one_shot=account is None)
        return plan.paid_by(account)

    def _data(self, question: Question) -> Data:
        return _data_of(self._table, question)


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
    """
    if isinstance(source, type):
        raise InvalidArgumentError("source", source.__name__, "a table, not a type of tables")
    if types is not None and not isinstance(types, Mapping):
        raise InvalidArgumentError("types", types, 'a mapping of column to type, such as {"age": "int"}')
    return PrivateTable(open_table(source, user=user, table=table, types=types))


def _data_of(table: Table, question: Question) -> Data:
    """Return where the counts for a question come from: a table, or the same one without its rows."""

    def check() -> None:
        table.rows(question)

    @contextmanager
    def counted(mechanism: Mechanism) -> Iterator[BoundedCounts | CountProfile | Scales]:
        if isinstance(mechanism, LabelSelection | LabelRanking):
            with weighed(table, question, secret=fresh_secret()) as scales:
                yield scales
            return
        fetched = _fetched(mechanism)
        if fetched is not None:
            yield count_top(table, question, fetch=fetched, secret=fresh_secret())
            return
        with count_all(table, question, cut=_cut(mechanism), secret=fresh_secret()) as counts:
            yield counts

    rehearsal = Rehearsal(table.engine.signature, lambda: _data_of(table.rehearsal(question), question))
    return Data(
        table.user,
        table.source,
        question.items,
        check,
        counted,
        rehearsal if table.has_rows else None,
        table.types,
    )


def only_known(given: Mapping[str, Any], *known: type) -> None:
    """Refuse an option that does not exist: a misspelt `where` must not be a question without one."""
    names = [name for options in known for name in options.__annotations__]
    for name, value in given.items():
        if name not in names:
            raise InvalidArgumentError(name, value, f"one of the options {', '.join(names)}")


def _split(ranked: Ranked) -> tuple[Priced, Asked]:
    """Tell what a ranking may be told besides from what every question may be told."""
    only_known(ranked, Ranked)
    priced = {name: value for name, value in ranked.items() if name in Priced.__annotations__}
    asked = {name: value for name, value in ranked.items() if name in Asked.__annotations__}
    return cast("Priced", priced), cast("Asked", asked)


def _question(item: Item, items_per_user: int | None, asked: Asked) -> tuple[Question, Payer | None]:
    """Check a question, and say who pays for it."""
    only_known(asked, Asked)
    counting = cast("Counting", {name: value for name, value in asked.items() if name != "account"})
    question = Question(cast("tuple[str, ...]", item), items_per_user=items_per_user, **counting)
    return question, asked.get("account")


def _fetched(mechanism: Mechanism) -> int | None:
    if isinstance(mechanism, TopK):
        return mechanism.ranking.fetched
    return mechanism.fetched if isinstance(mechanism, TopHistogram) else None


def _cut(mechanism: Mechanism) -> int:
    """Return the largest count that is left to the lazy tail: a public number, of threshold and noise alone."""
    if isinstance(mechanism, TopK):
        return int(mechanism.threshold)
    if isinstance(mechanism, OptimalLabels):
        return mechanism.least(SELDOM) - 1
    histogram = mechanism.histogram if isinstance(mechanism, CountedLabels) else mechanism
    if not isinstance(histogram, ThresholdHistogram):
        return 0
    return max(0, histogram.threshold + 1 - histogram.law.quantile(SELDOM))
