"""From a question to a plan: a mechanism is chosen and calibrated. Without data the plan is a preview.

The choice is a function of the question, its bounds and the budget, never of data or of a result. Where a rule has
a number in it, `bench/utility/labels.py` and `bench/utility/top_methods.py` print it from public tables.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from unlisted.counts.weights import Weighing
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.mechanism import Mechanism
from unlisted.mechanisms.partition_selection.from_counts import CountedLabels
from unlisted.mechanisms.partition_selection.optimal import OptimalLabels
from unlisted.mechanisms.partition_selection.rounds_for_budget import Method, labels_for_budget
from unlisted.mechanisms.partition_selection.then_count import FindThenCount
from unlisted.mechanisms.partition_selection.then_rank import LabelRanking
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.privacy.calibrate import Calibrated
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import positive
from unlisted.query import questions
from unlisted.query.charging import Payer
from unlisted.query.data import Data
from unlisted.query.options import require_budget
from unlisted.query.plan import Plan
from unlisted.tables.count_query import CountQuery

COUNTS_ARE_BETTER = Fraction(80, 100)
"""Counts, or Bernoulli draws that know the count, are taken where they need fewer users than this part of what
weights need, at the most items allowed."""

ITEMS_LOOKED_AT = 100
"""Without a bound on items, users help at most so many labels at a time to be found; all are counted for."""

LABELS_ARE_BETTER = 9
"""Labels come first in a ranking where Gumbel noise alone needs more users than so many times the weight that a
label needs: where the label gets in even if its users have eighty items each."""

AnyMechanism = Mechanism[Any]


def plan_of(question: questions.Question, data: Data | None = None, account: Payer | None = None) -> Plan:
    """Choose and calibrate a mechanism. An account counts ρ; without one the budget is spent at once."""
    found = calibrated(question, one_shot=account is None)
    return make_plan(question.kind, question.counted, found, at_delta_of(question), data).paid_by(account)


def calibrated(question: questions.Question, *, one_shot: bool = True) -> Calibrated[AnyMechanism]:
    """Choose and calibrate a mechanism; `one_shot` says that no account, which counts ρ, will pay."""
    return _CALIBRATED[type(question)](question, one_shot)


def make_plan(kind: str, query: CountQuery, found: Calibrated[Any], at_delta: Fraction, data: Data | None) -> Plan:
    """Put a question and the mechanism that was calibrated for it together."""
    asked: dict[str, Any] = {
        "question": kind,
        "unit": "user",
        "user": data.user if data else None,
        "items": list(query.items) if data else None,
        "count": query.count,
        "items_per_user": query.items_per_user,
        "rows_per_item": query.rows_per_item,
        "where": query.where,
        "max_label_bytes": query.max_label_bytes,
        "adjacency": query.adjacency,
    }
    return Plan(found.mechanism, found.reason, at_delta, asked | found.mechanism.describe().parameters, data)


def at_delta_of(question: questions.Question) -> Fraction:
    """Return the δ at which ε is reported: all of a budget in ε; of one in ρ, twice the threshold's."""
    budget = question.budget
    if budget is not None:
        return reported_at(budget)
    assert isinstance(question, questions.Top)  # alone may have a price for each draw
    return 2 * positive("delta", question.delta)


def reported_at(budget: Budget) -> Fraction:
    """Return the δ at which the ε of a budget is reported."""
    return budget.delta if budget.epsilon is not None else 2 * budget.delta


def _histogram(question: questions.Histogram, one_shot: bool) -> Calibrated[AnyMechanism]:
    query, budget = question.counted, require_budget(question.budget)
    if query.items_per_user is None:
        weighing = Weighing(ITEMS_LOOKED_AT, adjacency=query.adjacency)
        return _any(FindThenCount.for_budget(budget, weighing, one_shot=one_shot))
    return _any(ThresholdHistogram.for_budget(budget, query.sensitivity, question.noise, one_shot=one_shot))


def _top_histogram(question: questions.TopHistogram, one_shot: bool) -> Calibrated[AnyMechanism]:  # noqa: ARG001
    sensitivity = question.counted.sensitivity
    budget = require_budget(question.budget)
    return _any(TopHistogram.for_budget(budget, sensitivity, question.fetch, question.noise))


def _top(question: questions.Top, one_shot: bool) -> Calibrated[AnyMechanism]:  # noqa: ARG001
    """Rank the largest counts by Gumbel noise, or labels that are found first."""
    if question.method == "labels":
        return _any(_labels_first(question))
    by_gumbel = gumbel_ranking(question, Ranking(question.k, question.fetched, question.counted.sensitivity))
    if not question.may_use_labels:
        return _any(by_gumbel)
    try:
        by_labels = _labels_first(question)
    except InvalidArgumentError:
        # Bounds or a budget for which no labels can be found leave the other way, which nobody refused.
        return _any(by_gumbel)
    return _better_ranking(by_gumbel, by_labels)


def gumbel_ranking(question: questions.Top, ranking: Ranking) -> Calibrated[TopK]:
    """Calibrate Algorithm 3 by a budget for all of it, or by a price for each draw."""
    if question.per_item_epsilon is None:
        return TopK.for_budget(require_budget(question.budget), ranking, counts=question.counts)
    assert question.delta is not None  # or the question would have been refused
    each = positive("per_item_epsilon", question.per_item_epsilon)
    mechanism = TopK.at(ranking, epsilon=each, delta=question.delta)
    return Calibrated(mechanism, "each draw has the ε that was asked for.")


def _labels_first(question: questions.Top) -> Calibrated[LabelRanking]:
    budget = require_budget(question.budget)
    return LabelRanking.for_budget(budget, _weighing(question.counted), question.k, counts=question.counts)


def _better_ranking(by_gumbel: Calibrated[TopK], by_labels: Calibrated[LabelRanking]) -> Calibrated[AnyMechanism]:
    """Return the ranking that labels can enter with less, and say why."""
    users = by_gumbel.mechanism.accuracy().needed[95]
    weight = by_labels.mechanism.accuracy().at_best
    assert weight is not None  # labels that are weighed know both
    against = (
        f"an item appears 95 % of the time with {users:,} users above the first count left out (Gumbel noise), "
        f"or with a weight of {weight[95]:,} (labels first, taken if that is less than a {LABELS_ARE_BETTER}th)"
    )
    if users > LABELS_ARE_BETTER * weight[95]:
        return Calibrated(by_labels.mechanism, f"{against}: labels first; {by_labels.reason}")
    return Calibrated(by_gumbel.mechanism, f"{against}: Gumbel noise; {by_gumbel.reason}")


def _labels(question: questions.Labels, one_shot: bool) -> Calibrated[AnyMechanism]:
    """Find labels by the method that was asked for."""
    query, budget = question.counted, require_budget(question.budget)
    if question.method == "counts":
        return _any(_by_counts(query, budget, one_shot=one_shot))
    if question.method == "optimal":
        return _any(OptimalLabels.for_budget(budget, query.sensitivity))
    if question.method != "auto":
        return _any(_by_weights(query, budget, question.method, one_shot=one_shot))
    return _better_method(query, budget, one_shot=one_shot)


def _better_method(query: CountQuery, budget: Budget, *, one_shot: bool) -> Calibrated[AnyMechanism]:
    """Return the method by which users of as many items as allowed need to be few, and say why."""
    counts = _any(_by_counts(query, budget, one_shot=one_shot))
    weights = _any(_by_weights(query, budget, "weighted", one_shot=one_shot))
    by_counts, by_weights = _even(counts), _even(weights)
    items = "1 item each" if query.items_per_user == 1 else f"{query.items_per_user:,} items each"
    against = f"{by_counts:,} users of {items} by counts, {by_weights:,} by weights"
    name, best, fewest = "counts", counts, by_counts
    coins = _optimal_if_any(query, budget) if one_shot else None
    if coins is not None and _even(coins) <= by_counts:
        name, best, fewest = "coins", coins, _even(coins)
        against = f"{against}, {fewest:,} by a coin for each label"
    if fewest < COUNTS_ARE_BETTER * by_weights:
        return Calibrated(best.mechanism, f"an even chance takes {against}: {name}; {best.reason}")
    rounds = _by_weights(query, budget, "sips", one_shot=one_shot)
    return Calibrated(rounds.mechanism, f"an even chance takes {against}: weights, in rounds; {rounds.reason}")


def _even(found: Calibrated[AnyMechanism]) -> int:
    return found.mechanism.accuracy().needed[50]


def _optimal_if_any(query: CountQuery, budget: Budget) -> Calibrated[AnyMechanism] | None:
    """Return optimal selection, if it is worth a look. An account never gets here: it would pay far more ρ."""
    try:
        return _any(OptimalLabels.for_budget(budget, query.sensitivity))
    except InvalidArgumentError:
        # So many items that a label would need more users than chances are listed for: the others are better.
        return None


def _by_counts(query: CountQuery, budget: Budget, *, one_shot: bool) -> Calibrated[CountedLabels]:
    found = ThresholdHistogram.for_budget(budget, query.sensitivity, one_shot=one_shot)
    return Calibrated(CountedLabels(found.mechanism), found.reason)


def _by_weights(query: CountQuery, budget: Budget, method: Method, *, one_shot: bool) -> Calibrated[Any]:
    return labels_for_budget(budget, _weighing(query), method, one_shot=one_shot)


def _weighing(query: CountQuery) -> Weighing:
    """Return how the items of a question's users are weighed."""
    assert query.items_per_user is not None  # or the question would have been refused
    return Weighing(query.items_per_user, adjacency=query.adjacency)


def _any(found: Calibrated[Any]) -> Calibrated[AnyMechanism]:
    return Calibrated(found.mechanism, found.reason)


_CALIBRATED: dict[type[questions.Question], Callable[[Any, bool], Calibrated[AnyMechanism]]] = {
    questions.Histogram: _histogram,
    questions.TopHistogram: _top_histogram,
    questions.Top: _top,
    questions.Labels: _labels,
}
