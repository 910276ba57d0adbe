"""`ul.counts(...)`: counts that another system already made, with what that system can promise about them.

Elasticsearch, Pinot or a dashboard hands over labels and counts, and whoever brings them declares the bounds:
how many items and how much of each one user may have contributed, whether these are all counts or only the
largest, what was cut off below, and how ties at the cut were broken. Nothing here can check those declarations;
the guarantee rests on them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypedDict, Unpack

from unlisted.accuracy import Mechanism
from unlisted.asking import Fetch, Priced, fetched_or_default, make_plan, top_found
from unlisted.mechanisms.counts import BoundedCounts, Ties
from unlisted.mechanisms.families import Noise
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import Ranking
from unlisted.plans import Data, Plan
from unlisted.privacy.calibrate import Calibrated
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import whole
from unlisted.privacy.sensitivity import Adjacency, Sensitivity
from unlisted.tables.question import Question


class Declared(TypedDict, total=False):
    """What is known about counts that came from elsewhere.

    `count_per_item` is the most one user adds to one count; `fetch` is k̄ if these are the k̄ + 1 largest counts;
    `minimum_count` is κ if a `HAVING n >= κ` cut smaller ones off; `ties` is "label" if equal counts at the cut
    were taken in the order of their labels' bytes, else "unknown".
    """

    count_per_item: int
    fetch: int | None
    minimum_count: int
    ties: Ties
    adjacency: Adjacency


class PrivateCounts:
    """Declared counts, and the questions that may be asked of them."""

    def __init__(self, counts: BoundedCounts, item: str) -> None:
        self._counts = counts
        self._question = _question(counts.sensitivity, item)

    def __repr__(self) -> str:
        return repr(self._counts)

    def histogram(self, *, budget: Budget, noise: Noise = "auto") -> Plan:
        """Plan the counts of every label that enough users share (Algorithm 1)."""
        counts = self._counts
        found = ThresholdHistogram.for_budget(budget, counts.sensitivity, noise, counts.minimum_count)
        return self._plan("histogram", found, budget)

    def top_histogram(self, *, budget: Budget, fetch: int | None = None, noise: Noise = "auto") -> Plan:
        """Plan the counts of the largest labels (Algorithm 2)."""
        counts = self._counts
        fetched = whole("fetch", fetch if fetch is not None else counts.fetched or 1000)
        found = TopHistogram.for_budget(budget, counts.sensitivity, fetched, noise, counts.ties)
        return self._plan("top-histogram", found, budget)

    def top(
        self, *, k: int, budget: Budget | None = None, fetch: Fetch | None = None, **priced: Unpack[Priced]
    ) -> Plan:
        """Plan a ranking of the k most common labels (Algorithm 3)."""
        counts = self._counts
        fetched = counts.fetched if fetch is None and counts.fetched else fetched_or_default(fetch, k)
        ranking = Ranking(whole("k", k), fetched, counts.sensitivity, counts.ties)
        found, spent = top_found(ranking, budget, priced)
        return self._plan("top", found, spent)

    def _plan(self, kind: str, found: Calibrated[Any], budget: Budget) -> Plan:
        @contextmanager
        def counted(_mechanism: Mechanism) -> Iterator[BoundedCounts]:
            yield self._counts

        return make_plan(kind, self._question, found, budget, Data(self._question.items, lambda: None, counted))


def counts(
    labels: object,
    counts: object,
    *,
    items_per_user: int | None,
    item: str = "item",
    **declared: Unpack[Declared],
) -> PrivateCounts:
    """Bring counts that another system made, and declare what bounds them.

    Args:
        labels: the labels, of one type, each once.
        counts: their counts, whole numbers.
        items_per_user: the most labels one user contributed to; None if there was no bound (then only `top`).
        item: the name of the label column in answers.
        declared: see `Declared`.
    """
    sensitivity = Sensitivity(
        items_per_user, declared.get("count_per_item", 1), declared.get("adjacency", "add_remove")
    )
    bounded = BoundedCounts(
        labels,
        counts,
        sensitivity,
        fetched=declared.get("fetch"),
        minimum_count=declared.get("minimum_count", 1),
        ties=declared.get("ties", "label"),
    )
    return PrivateCounts(bounded, item)


def _question(sensitivity: Sensitivity, item: str) -> Question:
    """Say the declared bounds as a question, for plans and receipts."""
    if sensitivity.count == 1:
        return Question((item,), items_per_user=sensitivity.items, adjacency=sensitivity.adjacency)
    return Question(
        (item,),
        count="rows",
        rows_per_item=sensitivity.count,
        items_per_user=sensitivity.items,
        adjacency=sensitivity.adjacency,
    )
