"""Which mechanism the first version took, so that what it answered and a ledger keeps is answered again for free.

A ledger knows a question by a text that names its mechanism. Where a later version answers the same question
better, by another mechanism, the question has a new name; before it is charged, its name of the first version is
looked up too (`Plan.formerly`). Nothing here is ever changed.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from unlisted.counts.weights import Weighing
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.mechanism import Mechanism
from unlisted.mechanisms.partition_selection.from_counts import CountedLabels
from unlisted.mechanisms.partition_selection.optimal import OptimalLabels
from unlisted.mechanisms.partition_selection.rounds_for_budget import labels_for_budget
from unlisted.mechanisms.partition_selection.then_rank import LabelRanking
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_k import TopK
from unlisted.privacy.guarantee import Budget
from unlisted.query.options import require_budget
from unlisted.query.questions import Top
from unlisted.tables.count_query import CountQuery

_COUNTS_ARE_BETTER = Fraction(80, 100)
_LABELS_ARE_BETTER = 9


def labels(query: CountQuery, budget: Budget, *, one_shot: bool) -> Mechanism[Any] | None:
    """Return what `auto` took for labels: counts or Bernoulli draws where they needed few users, else rounds."""
    if query.items_per_user is None:
        return None
    weighing = Weighing(query.items_per_user, adjacency=query.adjacency)
    best: Mechanism[Any] = CountedLabels(
        ThresholdHistogram.for_budget(budget, query.sensitivity, one_shot=one_shot).mechanism
    )
    by_weights = labels_for_budget(budget, weighing, "weighted", one_shot=one_shot).mechanism
    if one_shot:
        try:
            optimal = OptimalLabels.for_budget(budget, query.sensitivity).mechanism
        except InvalidArgumentError:
            pass
        else:
            best = optimal if _even(optimal) <= _even(best) else best
    if _even(best) < _COUNTS_ARE_BETTER * _even(by_weights):
        return best
    return labels_for_budget(budget, weighing, "sips", one_shot=one_shot).mechanism


def ranking(question: Top, by_gumbel: TopK) -> Mechanism[Any]:
    """Return what `auto` took for a ranking: labels first where items were bounded and few users sufficed."""
    if question.items_per_user is None:
        return by_gumbel
    try:
        weighing = Weighing(question.items_per_user, adjacency=question.adjacency)
        found = LabelRanking.for_budget(
            require_budget(question.budget), weighing, question.k, counts=question.counts
        )
    except InvalidArgumentError:
        return by_gumbel
    weight = found.mechanism.accuracy().at_best
    assert weight is not None  # labels that are weighed know both
    return found.mechanism if by_gumbel.accuracy().needed[95] > _LABELS_ARE_BETTER * weight[95] else by_gumbel


def _even(mechanism: Mechanism[Any]) -> int:
    return mechanism.accuracy().needed[50]
