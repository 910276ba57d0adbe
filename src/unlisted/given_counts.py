"""`ul.counts(...)`: counts that another system already made, with what that system can promise about them.

Elasticsearch, Pinot or a dashboard hands over labels and counts, and whoever brings them declares the bounds:
how many items and how much of each one user may have contributed, whether these are all counts or only the
largest, what was cut off below, and how ties at the cut were broken. Nothing here can check those declarations;
the guarantee rests on them. A question that they cannot bear is refused when it is planned.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypedDict, Unpack, cast

import pyarrow as pa

from unlisted.accuracy import Mechanism
from unlisted.asking import Item, only_known
from unlisted.bills import Payer
from unlisted.errors import InvalidArgumentError
from unlisted.label_planning import require_ranking_method
from unlisted.mechanisms.counts import BoundedCounts, Ties
from unlisted.mechanisms.families import Noise
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import Ranking
from unlisted.planning import (
    Fetch,
    Priced,
    fetched_or_default,
    make_plan,
    priced_by,
    require_budget,
    require_fetch,
    require_items,
    require_noise,
    top_found,
)
from unlisted.plans import Data, Plan, Rehearsal
from unlisted.privacy.calibrate import Calibrated
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import whole
from unlisted.privacy.sensitivity import Adjacency, Sensitivity
from unlisted.tables.question import Question


class Declared(TypedDict, total=False):
    """What is known about counts that came from elsewhere.

    `count_per_item` is the most one user adds to one count; `fetch` is k̄ if these are the k̄ + 1 largest counts;
    `minimum_count` is κ if a `HAVING n >= κ` cut smaller ones off; `ties` is "label" if equal counts at the cut
    were taken in the order of their labels' bytes, else "unknown", which is what is taken for granted where a cut
    was made and nothing is said. `user` and `source` are what a ledger calls whose counts these are and where they
    came from; an account needs them only where its data set has them fixed.
    """

    count_per_item: int
    fetch: int | None
    minimum_count: int
    ties: Ties
    adjacency: Adjacency
    user: str
    source: str


class PaidRanking(Priced, total=False):
    """What a ranking may be told besides, and who pays for it."""

    account: Payer | None


class PrivateCounts:
    """Declared counts, and the questions that may be asked of them."""

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
        self._question = _question(counts.sensitivity, item)
        kind, names = counts.labels.type, self._question.items
        columns = kind.num_fields if pa.types.is_struct(kind) else 1
        # A list of no labels has no type, and must look like any other.
        if columns != len(names) and (len(counts) or columns > 1):
            raise InvalidArgumentError("item", list(names), f"{columns} names, as many as a label has columns")

    def __repr__(self) -> str:
        return repr(self._counts)

    def histogram(self, *, budget: Budget, noise: Noise = "auto", account: Payer | None = None) -> Plan:
        """Plan the counts of every label that enough users share (Algorithm 1)."""
        counts = self._counts
        self._require_all("A histogram")
        require_items(counts.sensitivity.items, "A histogram")
        found = ThresholdHistogram.for_budget(
            require_budget(budget),
            counts.sensitivity,
            require_noise(noise),
            counts.minimum_count,
            one_shot=account is None,
        )
        return self._plan("histogram", found, budget).paid_by(account)

    def top_histogram(
        self,
        *,
        budget: Budget,
        fetch: int | None = None,
        noise: Noise = "auto",
        account: Payer | None = None,
    ) -> Plan:
        """Plan the counts of the largest labels (Algorithm 2)."""
        counts = self._counts
        fetched = self._within(require_fetch(fetch if fetch is not None else counts.fetched or 1000))
        found = TopHistogram.for_budget(
            require_budget(budget), counts.sensitivity, fetched, require_noise(noise), counts.ties
        )
        return self._plan("top-histogram", found, budget).paid_by(account)

    def top(
        self, *, k: int, budget: Budget | None = None, fetch: Fetch | None = None, **ranked: Unpack[PaidRanking]
    ) -> Plan:
        """Plan a ranking of the k most common labels (Algorithm 3)."""
        only_known(ranked, PaidRanking)
        account = ranked.pop("account", None)
        if require_ranking_method(ranked.get("method", "auto")) == "labels":
            hint = "Labels are weighed by what each user has, which counts no longer tell."
            raise InvalidArgumentError("method", "labels", "'auto' or 'gumbel' for counts", hint)
        counts, length = self._counts, whole("k", k)
        fetched = counts.fetched if fetch is None and counts.fetched else fetched_or_default(fetch, length)
        if fetched is None:
            self._require_all("A ranking of all counts")
            require_items(counts.sensitivity.items, "A ranking of all counts")
        else:
            self._within(fetched)
        ranking = Ranking(length, fetched, counts.sensitivity, counts.ties)
        found, spent = top_found(ranking, budget, priced_by(account, ranked, budget))
        return self._plan("top", found, spent).paid_by(account)

    def _require_all(self, what: str) -> None:
        if self._counts.fetched is not None:
            hint = f"{what} needs all counts. From the largest ones, ask for top or top_histogram."
            raise InvalidArgumentError("fetch", self._counts.fetched, "left out where all counts are needed", hint)

    def _within(self, fetched: int) -> int:
        declared = self._counts.fetched
        if declared is not None and fetched > declared:
            hint = f"Only the {declared + 1} largest counts were declared to be here."
            raise InvalidArgumentError("fetch", fetched, f"at most {declared}", hint)
        return fetched

    def _plan(self, kind: str, found: Calibrated[Any], budget: Budget) -> Plan:
        given = self._counts
        rehearsal = Rehearsal(
            lambda: (repr(given), str(given.labels.type), given.minimum_count, given.ties),
            lambda: self._data(replace(given, labels=given.labels[:0], counts=given.counts[:0]), None),
        )
        return make_plan(kind, self._question, found, budget, self._data(given, rehearsal))

    def _data(self, given: BoundedCounts, rehearsal: Rehearsal | None) -> Data:
        @contextmanager
        def counted(_mechanism: Mechanism) -> Iterator[BoundedCounts]:
            yield given

        items = self._question.items
        return Data(self._user, self._source, items, lambda: None, counted, rehearsal, is_typed=self._is_typed)


def counts(
    labels: object,
    counts: object,
    *,
    items_per_user: int | None,
    item: Item = "item",
    **declared: Unpack[Declared],
) -> PrivateCounts:
    """Bring counts that another system made, and declare what bounds them.

    Args:
        labels: the labels, of one type, each once; for items of several columns an Arrow struct array.
        counts: their counts, whole numbers.
        items_per_user: the most labels one user contributed to; None if there was no bound (then only from the
            largest counts).
        item: the name of the label column in answers; a list of names for items of several columns.
        declared: see `Declared`.
    """
    only_known(declared, Declared)
    sensitivity = Sensitivity(
        None if items_per_user is None else whole("items_per_user", items_per_user),
        whole("count_per_item", declared.get("count_per_item", 1)),
        declared.get("adjacency", "add_remove"),
    )
    fetch = declared.get("fetch")
    bounded = BoundedCounts(
        labels,
        counts,
        sensitivity,
        fetched=None if fetch is None else require_fetch(fetch),
        minimum_count=declared.get("minimum_count", 1),
        # Where all counts are here, the cut is made here, by the labels. Elsewhere nobody knows unless told.
        ties=declared.get("ties", "label" if fetch is None else "unknown"),
    )
    source = declared.get("source", "declared counts")
    # An array says its type itself; that of a list is the type of the labels in it.
    is_typed = isinstance(labels, pa.Array | pa.ChunkedArray) or getattr(labels, "dtype", "O") != "O"
    return PrivateCounts(bounded, item, declared.get("user"), source, is_typed=is_typed)


def _question(sensitivity: Sensitivity, item: Item) -> Question:
    """Say the declared bounds as a question, for plans and receipts."""
    items = cast("tuple[str, ...]", item)
    if sensitivity.count == 1:
        return Question(items, items_per_user=sensitivity.items, adjacency=sensitivity.adjacency)
    return Question(
        items,
        count="rows",
        rows_per_item=sensitivity.count,
        items_per_user=sensitivity.items,
        adjacency=sensitivity.adjacency,
    )
