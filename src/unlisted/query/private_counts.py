"""`ul.counts(...)`: counts that another system already made, with what that system can promise about them.

Elasticsearch, Pinot or a dashboard hands over labels and counts, and whoever brings them declares the bounds:
how many items and how much of each one user may have contributed, whether these are all counts or only the
largest, what was cut off below, and how ties at the cut were broken. Nothing here can check those declarations;
the guarantee rests on them. A question that they cannot bear is refused when it is planned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import pyarrow as pa

from unlisted.counts.bounded_counts import BoundedCounts, Ties
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.top_k import Ranking
from unlisted.noise.on_counts import Noise
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import Number, whole
from unlisted.privacy.sensitivity import Adjacency, Sensitivity
from unlisted.query import questions
from unlisted.query.charging import Payer
from unlisted.query.choosing import Chosen, bounded_histogram, chosen_for, gumbel_ranking, top_histogram
from unlisted.query.data import Data, GivenCounts, Rehearsal
from unlisted.query.options import (
    budget_of,
    defaults_of,
    each_of,
    own_options,
    read_fetched,
    require_budget,
    require_items,
)
from unlisted.query.plan import Plan
from unlisted.query.planner import at_delta_of, counted_for, make_plan
from unlisted.query.question import CountingQuestion, Question
from unlisted.query.questions import Fetch, Item, RankingMethod
from unlisted.tables.column_types import ColumnType
from unlisted.tables.count_query import LONGEST_LABEL, CountQuery, item_names

Asked = TypeVar("Asked", bound=Question)

_ANSWERS = ("histogram", "top", "top-histogram", "distinct")
"""The questions that counts can answer."""

_OWN_WAYS = ("threshold", "gumbel")  # how counts are released anyway, where a question says it
_USUAL = {"items": (), "adjacency": "add_remove"}
"""What a question says that leaves something to the counts, where that is not its default."""


class PrivateCounts:
    """Declared counts, and the questions that may be asked of them. Each returns a plan; nothing is released.

    Args:
        counts: the counts, with their bounds.
        item: the column that the labels are in, or several.
        user: the column that said whose rows were counted, as a ledger knows it.
        source: what a ledger calls the data.
        is_typed: whether the labels' type was declared.
        meant_for: the question that they were counted for, if a statement of ours counted them.

    Examples:
        >>> counts = ul.counts(["soup", "tea"], [900, 800], items_per_user=1)
        >>> release = counts.histogram(budget=ul.Budget(epsilon=1, delta=1e-8)).run()
        >>> len(release)
        2
    """

    def __init__(
        self,
        counts: BoundedCounts,
        item: Item,
        user: str | None = None,
        source: str = "declared counts",
        *,
        is_typed: bool = True,
        meant_for: str | None = None,
    ) -> None:
        self._counts = counts
        self.meant_for = meant_for
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

    def histogram(
        self,
        *,
        budget: Budget | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        noise: Noise = "auto",
        account: Payer | None = None,
    ) -> Plan:
        """Plan the counts of every label that enough users share (Algorithm 1).

        Args:
            budget: what the answer may cost, such as `ul.Budget(epsilon=1, delta=1e-8)`; or say `epsilon`.
            epsilon: what the answer may cost, where no `budget` is given. Smaller protects more.
            rho: the same as a ρ of zCDP, in place of ε.
            delta: the δ beside them, far below 1 / (number of users); 1e-8 unless said.
            noise: the noise distribution: "laplace", "gaussian", or "auto" for the one with the lowest threshold.
            account: the account of a ledger that pays. Without one nobody adds up what was asked before.

        Examples:
            >>> counts = ul.counts(["soup", "my pin is 1234"], [120, 1], items_per_user=1)
            >>> counts.histogram(budget=ul.Budget(epsilon=1, delta=1e-8)).run().rows[0]["item"]
            'soup'
        """
        spent = budget_of(budget, {"epsilon": epsilon, "rho": rho, "delta": delta})
        self._require_all("A histogram")
        return self._planned(self._asked(questions.Histogram, budget=spent, noise=noise), account)

    def top_histogram(
        self,
        *,
        budget: Budget | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        fetch: int | None = None,
        noise: Noise = "auto",
        account: Payer | None = None,
    ) -> Plan:
        """Plan the counts of the most common labels (Algorithm 2).

        Args:
            budget: what the answer may cost, such as `ul.Budget(epsilon=1, delta=1e-8)`; or say `epsilon`.
            epsilon: what the answer may cost, where no `budget` is given. Smaller protects more.
            rho: the same as a ρ of zCDP, in place of ε.
            delta: the δ beside them, far below 1 / (number of users); 1e-8 unless said.
            fetch: from how many of the largest counts (k̄); as many as were declared, else 1000.
            noise: the noise distribution: "laplace", "gaussian", or "auto" for the one with the lowest threshold.
            account: the account of a ledger that pays. Without one nobody adds up what was asked before.
        """
        fetched = self._within(read_fetched("fetch", fetch if fetch is not None else self._counts.fetched or 1000))
        spent = budget_of(budget, {"epsilon": epsilon, "rho": rho, "delta": delta})
        asked = self._asked(questions.TopHistogram, budget=spent, fetch=fetched, noise=noise)
        return self._planned(asked, account)

    def top(
        self,
        *,
        k: int,
        budget: Budget | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        fetch: Fetch | None = None,
        counts: bool = False,
        method: RankingMethod = "auto",
        per_item_epsilon: Number | None = None,
        account: Payer | None = None,
    ) -> Plan:
        """Plan a ranking of the k most common labels (Algorithm 3).

        Args:
            k: how many labels to rank.
            budget: what the whole ranking may cost; or say `epsilon`, or `per_item_epsilon`.
            epsilon: what the answer may cost, where no `budget` is given. Smaller protects more.
            rho: the same as a ρ of zCDP, in place of ε.
            delta: the δ beside them, far below 1 / (number of users); 1e-8 unless said. Also beside
                `per_item_epsilon`.
            fetch: from how many of the largest counts (k̄), or "all".
            counts: also release the winners' counts.
            method: "gumbel", which "auto" takes: labels cannot be found first in counts.
            per_item_epsilon: the ε of each draw, in place of a budget for all.
            account: the account of a ledger that pays. Without one nobody adds up what was asked before.
        """
        if method not in ("auto", "gumbel"):
            hint = "Labels are weighed by the items that each user has, which counts no longer show."
            raise InvalidArgumentError("method", method, "'auto' or 'gumbel' for counts", hint)
        amounts = {"epsilon": epsilon, "rho": rho, "delta": delta}
        each = each_of(budget, amounts, per_item_epsilon, account)
        spent = None if "delta" in each else budget_of(budget, amounts)
        if fetch is None and self._counts.fetched is not None:
            fetch = self._counts.fetched
        asked = self._asked(questions.Top, k=k, budget=spent, fetch=fetch, counts=counts, method=method, **each)
        return self._planned(asked, account)

    def distinct(
        self,
        *,
        budget: Budget | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        account: Payer | None = None,
    ) -> Plan:
        """Plan the number of different labels.

        Args:
            budget: what the answer may cost, such as `ul.Budget(epsilon=1, delta=1e-8)`; or say `epsilon`.
            epsilon: what the answer may cost, where no `budget` is given. Smaller protects more.
            rho: the same as a ρ of zCDP, in place of ε.
            delta: the δ beside them, far below 1 / (number of users); 1e-8 unless said.
            account: the account of a ledger that pays. Without one nobody adds up what was asked before.

        Examples:
            >>> counts = ul.counts(["soup", "my pin is 1234"], [120, 1], items_per_user=1)
            >>> counts.distinct(budget=ul.Budget(epsilon=1, delta=1e-8)).run().table.column_names
            ['count', 'low', 'high']
        """
        self._require_all("The number of different labels")
        spent = budget_of(budget, {"epsilon": epsilon, "rho": rho, "delta": delta})
        return self._planned(self._asked(questions.Distinct, budget=spent), account)

    def columns(self) -> Mapping[str, ColumnType]:
        """Return the columns of the labels, and the user's if it is known. No label is looked at."""
        whose = {} if self._user is None else {self._user: ColumnType.OTHER}
        return {**whose, **dict.fromkeys(self._query.items, ColumnType.TEXT)}

    def filled(self, kind: type[Question], told: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a question, with what is declared of the counts where nothing was told.

        Args:
            kind: which question is asked.
            told: its options as they were given.
        """
        query = self._query
        declared = {
            "items": query.items,
            "items_per_user": query.items_per_user,
            "count": query.count,
            "rows_per_item": query.rows_per_item,
            "adjacency": query.adjacency,
            "fetch": self._counts.fetched,
        }
        known = own_options(kind)
        fixed = {name: value for name, value in declared.items() if name in known and value is not None}
        return fixed | {name: value for name, value in told.items() if value is not None and value != ()}

    def plan(self, question: Question, *, account: Payer | None = None) -> Plan:
        """Plan a question that was put together elsewhere, if these counts can answer it.

        The bounds are those of the counts: a question may leave them out, or say the same.

        Args:
            question: the question, from `unlisted.query.questions`.
            account: who pays; without one the budget is spent at once.
        """
        return self._planned(self._fitted(question), account)

    def _fitted(self, question: Question) -> Question:
        """Return a question with the bounds of the counts; refuse one that they cannot answer."""
        if question.kind not in _ANSWERS:
            hint = "Counts no longer say which items each user had, nor how many users there are."
            raise InvalidArgumentError("question", question.kind, f"one of {', '.join(_ANSWERS)} for counts", hint)
        query = self._query
        declared: dict[str, Any] = {"items_per_user": query.items_per_user}
        if isinstance(question, CountingQuestion):
            declared |= {"count": query.count, "rows_per_item": query.rows_per_item}
        fixed = {**declared, "items": query.items, "adjacency": query.adjacency, "where": None, "by": None}
        defaults = defaults_of(type(question))
        for name, value in {**fixed, "max_label_bytes": LONGEST_LABEL, "method": "auto"}.items():
            told = getattr(question, name, value)
            if told not in (value, _USUAL.get(name, defaults.get(name)), *_OWN_WAYS):
                hint = "The counts were made before: what they count, and within which bounds, is settled."
                raise InvalidArgumentError(name, told, f"{value!r} here, or left out", hint)
        cut = self._counts.fetched
        if cut is not None and "fetch" in defaults and getattr(question, "fetch", cut) == defaults["fetch"]:
            declared["fetch"] = cut
        return replace(question, adjacency=query.adjacency, **declared)

    def _planned(self, asked: Question, account: Payer | None) -> Plan:
        """Choose and calibrate a mechanism for a question that says what is declared."""
        counts, question = self._counts, counted_for(asked, account)
        match question:
            case questions.Histogram():
                self._require_all("A histogram")
                chosen = bounded_histogram(
                    require_budget(question.budget),
                    counts.sensitivity,
                    question.noise,
                    counts.minimum_count,
                    one_shot=account is None,
                )
            case questions.TopHistogram():
                fetched = self._within(question.fetch)
                budgeted = require_budget(question.budget)
                chosen = top_histogram(budgeted, counts.sensitivity, fetched, question.noise, counts.ties)
            case questions.Top():
                if question.fetched is None:
                    self._require_all("A ranking of all counts")
                else:
                    self._within(question.fetched)
                ranking = Ranking(question.k, question.fetched, counts.sensitivity, counts.ties)
                chosen = gumbel_ranking(question, ranking)
            case _:
                self._require_all("The number of different labels")
                chosen = chosen_for(question, one_shot=account is None)
        return self._plan(question, chosen).paid_by(account)

    def _asked(self, kind: type[Asked], **told: Any) -> Asked:
        """Make a question of what was told and of what is declared."""
        return kind(**{**self.filled(kind, {}), **told})

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

    def _plan(self, question: Question, chosen: Chosen) -> Plan:
        given = self._counts
        rehearsal = Rehearsal(
            lambda: (repr(given), str(given.labels.type), given.minimum_count, given.ties),
            lambda: self._data(replace(given, labels=given.labels[:0], counts=given.counts[:0]), None),
        )
        data = self._data(given, rehearsal)
        return make_plan(question.kind, self._query, chosen, at_delta_of(question), data)

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
