"""`ul.counts(...)`: counts that another system already made, with what that system can promise about them.

Elasticsearch, Pinot or a dashboard hands over labels and counts, and whoever brings them declares the bounds:
how many items and how much of each one user may have contributed, whether these are all counts or only the
largest, what was cut off below, and how ties at the cut were broken. Nothing here can check those declarations;
the guarantee rests on them. A question that they cannot bear is refused when it is planned.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeVar

import pyarrow as pa

from unlisted.counts.bounded_counts import BoundedCounts, Ties
from unlisted.counts.count_profile import CountProfile
from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import Ranking
from unlisted.noise.on_counts import Noise
from unlisted.privacy.calibrate import Calibrated
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import Number, whole
from unlisted.privacy.sensitivity import Adjacency, Sensitivity
from unlisted.query import questions
from unlisted.query.charging import Payer
from unlisted.query.data import Data, Rehearsal
from unlisted.query.options import read_fetched, require_budget, require_items
from unlisted.query.plan import Plan
from unlisted.query.planner import at_delta_of, gumbel_ranking, make_plan
from unlisted.query.questions import Fetch, Item, Question, RankingMethod, priced_by
from unlisted.tables.count_query import CountQuery, item_names

Asked = TypeVar("Asked", bound=Question)


@dataclass(frozen=True)
class GivenCounts:
    """Counts that are here already, for whatever a mechanism needs of them. It is a `CountSource`."""

    counts: BoundedCounts

    def all_counts(self, cut: int) -> AbstractContextManager[BoundedCounts | CountProfile]:  # noqa: ARG002
        """Return the counts."""
        return nullcontext(self.counts)

    def largest_counts(self, fetched: int) -> AbstractContextManager[BoundedCounts]:  # noqa: ARG002
        """Return the counts; what reads them cuts them, and refuses what was cut otherwise."""
        return nullcontext(self.counts)

    def weights(self) -> NoReturn:
        """Refuse: labels are weighed by what each user has, which counts no longer tell."""
        raise InvalidCountsError("Counts cannot be weighed: what each user had is not in them any more.")


class PrivateCounts:
    """Declared counts, and the questions that may be asked of them. Each returns a plan; nothing is released."""

    def __init__(
        self,
        counts: BoundedCounts,
        item: Item,
        user: str | None = None,
        source: str = "declared counts",
        *,
        is_typed: bool = True,
    ) -> None:
        self._counts = counts
        self._is_typed = is_typed
        self._user = user
        self._source = source
        self._query = _query(counts.sensitivity, item)
        kind, names = counts.labels.type, self._query.items
        columns = kind.num_fields if pa.types.is_struct(kind) else 1
        # A list of no labels has no type, and must look like any other.
        if columns != len(names) and (len(counts) or columns > 1):
            raise InvalidArgumentError("item", list(names), f"{columns} names, as many as a label has columns")

    def __repr__(self) -> str:
        return repr(self._counts)

    def histogram(self, *, budget: Budget, noise: Noise = "auto", account: Payer | None = None) -> Plan:
        """Plan the counts of every label that enough users share (Algorithm 1).

        Args:
            budget: what the answer may cost, such as `ul.Budget(epsilon=1, delta=1e-8)`.
            noise: the noise distribution: "laplace", "gaussian", or "auto" for the one with the lowest threshold.
            account: the account of a ledger that pays. Without one nobody adds up what was asked before.

        Examples:
            >>> counts = ul.counts(["soup", "my pin is 1234"], [120, 1], items_per_user=1)
            >>> counts.histogram(budget=ul.Budget(epsilon=1, delta=1e-8)).run().rows[0]["item"]
            'soup'
        """
        counts = self._counts
        self._require_all("A histogram")
        question = self._asked(questions.Histogram, budget=budget, noise=noise)
        found = ThresholdHistogram.for_budget(
            require_budget(budget),
            counts.sensitivity,
            question.noise,
            counts.minimum_count,
            one_shot=account is None,
        )
        return self._plan(question, found).paid_by(account)

    def top_histogram(
        self,
        *,
        budget: Budget,
        fetch: int | None = None,
        noise: Noise = "auto",
        account: Payer | None = None,
    ) -> Plan:
        """Plan the counts of the most common labels (Algorithm 2).

        Args:
            budget: what the answer may cost, such as `ul.Budget(epsilon=1, delta=1e-8)`.
            fetch: from how many of the largest counts (k̄); as many as were declared, else 1000.
            noise: the noise distribution: "laplace", "gaussian", or "auto" for the one with the lowest threshold.
            account: the account of a ledger that pays. Without one nobody adds up what was asked before.
        """
        counts = self._counts
        fetched = self._within(read_fetched("fetch", fetch if fetch is not None else counts.fetched or 1000))
        question = self._asked(questions.TopHistogram, budget=budget, fetch=fetched, noise=noise)
        found = TopHistogram.for_budget(
            require_budget(budget), counts.sensitivity, fetched, question.noise, counts.ties
        )
        return self._plan(question, found).paid_by(account)

    def top(
        self,
        *,
        k: int,
        budget: Budget | None = None,
        fetch: Fetch | None = None,
        counts: bool = False,
        method: RankingMethod = "auto",
        per_item_epsilon: Number | None = None,
        delta: Number | None = None,
        account: Payer | None = None,
    ) -> Plan:
        """Plan a ranking of the k most common labels (Algorithm 3).

        Args:
            k: how many labels to rank.
            budget: what the whole ranking may cost; or say `per_item_epsilon` and `delta`.
            fetch: from how many of the largest counts (k̄), or "all".
            counts: also release the winners' counts.
            method: "gumbel", which "auto" takes: labels cannot be found first in counts.
            per_item_epsilon: the ε of each draw, in place of a budget for all; with `delta`.
            delta: with `per_item_epsilon`, the δ of the question.
            account: the account of a ledger that pays. Without one nobody adds up what was asked before.
        """
        if method == "labels":
            hint = "Labels are weighed by what each user has, which counts no longer tell."
            raise InvalidArgumentError("method", "labels", "'auto' or 'gumbel' for counts", hint)
        each: dict[str, Any] = {"per_item_epsilon": per_item_epsilon, "delta": delta}
        if budget is None:
            each = priced_by(account, per_item_epsilon, delta)
        declared = self._counts.fetched
        if fetch is None and declared is not None:
            fetch = declared
        question = self._asked(
            questions.Top, k=k, budget=budget, fetch=fetch, counts=counts, method=method, **each
        )
        if question.fetched is None:
            self._require_all("A ranking of all counts")
        else:
            self._within(question.fetched)
        ranking = Ranking(question.k, question.fetched, self._counts.sensitivity, self._counts.ties)
        return self._plan(question, gumbel_ranking(question, ranking)).paid_by(account)

    def _asked(self, kind: type[Asked], **told: Any) -> Asked:
        """Make a question of what was told and of what is declared."""
        query = self._query
        declared: dict[str, Any] = {
            "items_per_user": query.items_per_user,
            "adjacency": query.adjacency,
            "count": query.count,
        }
        declared |= {"items": query.items, "rows_per_item": query.rows_per_item}
        return kind(**declared, **told)

    def _require_all(self, what: str) -> None:
        if self._counts.fetched is not None:
            hint = f"{what} needs all counts. From the largest ones, ask for top or top_histogram."
            raise InvalidArgumentError("fetch", self._counts.fetched, "left out where all counts are needed", hint)
        require_items(self._counts.sensitivity.items, what)

    def _within(self, fetched: int) -> int:
        declared = self._counts.fetched
        if declared is not None and fetched > declared:
            hint = f"Only the {declared + 1} largest counts were declared to be here."
            raise InvalidArgumentError("fetch", fetched, f"at most {declared}", hint)
        return fetched

    def _plan(self, question: Question, found: Calibrated[Any]) -> Plan:
        given = self._counts
        rehearsal = Rehearsal(
            lambda: (repr(given), str(given.labels.type), given.minimum_count, given.ties),
            lambda: self._data(replace(given, labels=given.labels[:0], counts=given.counts[:0]), None),
        )
        data = self._data(given, rehearsal)
        return make_plan(question.kind, self._query, found, at_delta_of(question), data)

    def _data(self, given: BoundedCounts, rehearsal: Rehearsal | None) -> Data:
        items, counts = self._query.items, GivenCounts(given)
        return Data(self._user, self._source, items, lambda: None, counts, rehearsal, is_typed=self._is_typed)


def counts(
    labels: object,
    counts: object,
    *,
    items_per_user: int | None,
    item: Item = "item",
    count_per_item: int = 1,
    fetch: int | None = None,
    minimum_count: int = 1,
    ties: Ties | None = None,
    adjacency: Adjacency = "add_remove",
    user: str | None = None,
    source: str = "declared counts",
) -> PrivateCounts:
    """Bring counts that another system made, and declare what bounds them.

    Args:
        labels: the labels, of one type, each once; for items of several columns an Arrow struct array.
        counts: their counts, whole numbers.
        items_per_user: the most labels one user contributed to (L0 contribution bound); None if there was no bound
            (then only from the largest counts).
        item: the name of the label column in answers; a list of names for items of several columns.
        count_per_item: the most one user adds to one count (L∞ contribution bound).
        fetch: k̄ if these are the k̄ + 1 largest counts; None if they are all.
        minimum_count: κ if a `HAVING n >= κ` cut smaller ones off.
        ties: "label" if equal counts at the cut were taken in the order of their labels' bytes, else "unknown",
            which is what is taken for granted where a cut was made and nothing is said.
        adjacency: "add_remove" protects a user's presence, "replace" also what a present user holds.
        user: what a ledger calls whose counts these are; needed only where a data set has it fixed.
        source: what a ledger calls where the counts came from.

    Examples:
        >>> ul.counts(["soup", "bread"], [120, 64], items_per_user=2)
        <BoundedCounts: all counts, Sensitivity(items=2, count=1, adjacency='add_remove')>
    """
    sensitivity = Sensitivity(
        None if items_per_user is None else whole("items_per_user", items_per_user),
        whole("count_per_item", count_per_item),
        adjacency,
    )
    bounded = BoundedCounts(
        labels,
        counts,
        sensitivity,
        fetched=None if fetch is None else read_fetched("fetch", fetch),
        minimum_count=minimum_count,
        # Where all counts are here, the cut is made here, by the labels. Elsewhere nobody knows unless told.
        ties=ties if ties is not None else "label" if fetch is None else "unknown",
    )
    # An array says its type itself; that of a list is the type of the labels in it.
    is_typed = isinstance(labels, pa.Array | pa.ChunkedArray) or getattr(labels, "dtype", "O") != "O"
    return PrivateCounts(bounded, item, user, source, is_typed=is_typed)


def _query(sensitivity: Sensitivity, item: Item) -> CountQuery:
    """Say the declared bounds as tables are asked, for plans and receipts."""
    rows = sensitivity.count if sensitivity.count > 1 else None
    return CountQuery(
        item_names(item),
        count="users" if rows is None else "rows",
        rows_per_item=rows,
        items_per_user=sensitivity.items,
        adjacency=sensitivity.adjacency,
    )
