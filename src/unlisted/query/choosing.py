"""Which mechanism a question gets, calibrated to its budget.

The choice is a function of the question, its bounds and the budget, never of data or of a result. Where a rule
has a number in it, `bench/utility/auto_rules.py` fixed it on one half of the public tables and checked it on the
other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from unlisted.counts.bounded_counts import Ties
from unlisted.counts.weights import Weighing
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.mechanism import Mechanism
from unlisted.mechanisms.partition_selection.from_counts import CountedLabels
from unlisted.mechanisms.partition_selection.optimal import OptimalLabels
from unlisted.mechanisms.partition_selection.rounds_for_budget import Method, labels_for_budget
from unlisted.mechanisms.partition_selection.then_count import FindThenCount, FoundTop
from unlisted.mechanisms.partition_selection.then_rank import LabelRanking
from unlisted.mechanisms.partition_selection.then_sum import FindThenSum
from unlisted.mechanisms.partition_selection.with_totals import FoundWithTotals
from unlisted.mechanisms.randomized_threshold import share_of
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.mechanisms.totals.total import DistinctTotal, UserTotal
from unlisted.mechanisms.truncated_laplace import TruncatedHistogram
from unlisted.noise.on_counts import Noise
from unlisted.privacy.calibrate import Calibrated
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import positive
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.query import questions, version_0_1
from unlisted.query.options import require_budget
from unlisted.query.question import Question

AnyMechanism = Mechanism[Any]

ENOUGH = 95
"""Histograms are compared by the users whose item appears with this probability, in percent."""

COUNTS_ARE_BETTER = Fraction(80, 100)
"""Counts, or Bernoulli draws that know the count, are taken where they need fewer users than this part of what
weights need, at the most items allowed."""

FINDING_IS_BETTER = 9
"""A ranking is the first of what is found where Gumbel noise needs more users than so many times the weight that a
label needs."""


@dataclass(frozen=True)
class Chosen:
    """A mechanism, and why it is this one; `before` is what the first version took, if that was another."""

    mechanism: AnyMechanism
    reason: str
    before: Callable[[], AnyMechanism | None] | None = None


def chosen_for(question: Question, *, one_shot: bool) -> Chosen:
    """Choose and calibrate a mechanism; `one_shot` says that no account, which adds up, will pay."""
    return _CHOSEN[type(question)](question, one_shot)


def bounded_histogram(
    budget: Budget, sensitivity: Sensitivity, noise: Noise, minimum_count: int = 1, *, one_shot: bool
) -> Chosen:
    """Choose a histogram of bounded items: Algorithm 1, or where users have few items one whose noise ends."""
    found = ThresholdHistogram.for_budget(budget, sensitivity, noise, minimum_count, one_shot=one_shot)
    plain, usual = found.mechanism, found.mechanism.with_randomized_threshold(budget)
    ends = _ending(budget, sensitivity, minimum_count) if noise == "auto" else None
    # Of what an account counts, noise that ends may cost more than the noise it is compared with.
    if ends is not None and (one_shot or _loss(budget, ends) <= _loss(budget, usual)):
        users, others = (one.accuracy().needed[ENOUGH] for one in (ends, usual))
        if users <= others:
            against = f"an item appears {ENOUGH} % of the time with {users:,} users; by {plain.law}"
            return Chosen(ends, f"{against}, with {others:,}.", lambda: plain)
    return Chosen(usual, found.reason + _said_of_share(usual.lowered), lambda: plain)


def top_histogram(
    budget: Budget, sensitivity: Sensitivity, fetched: int, noise: Noise, ties: Ties = "label"
) -> Chosen:
    """Calibrate Algorithm 2."""
    found = TopHistogram.for_budget(budget, sensitivity, fetched, noise, ties)
    usual = found.mechanism.with_randomized_threshold(budget)
    return Chosen(usual, found.reason + _said_of_share(usual.lowered), lambda: found.mechanism)


def gumbel_ranking(question: questions.Top, ranking: Ranking) -> Chosen:
    """Calibrate Algorithm 3."""
    found = _by_gumbel(question, ranking)
    return Chosen(found.mechanism, found.reason)


def _by_gumbel(question: questions.Top, ranking: Ranking) -> Calibrated[TopK]:
    """Calibrate Algorithm 3 by a budget for all of it, or by a price for each draw."""
    if question.per_item_epsilon is None:
        return TopK.for_budget(require_budget(question.budget), ranking, counts=question.counts)
    assert question.delta is not None  # or the question would have been refused
    each = positive("per_item_epsilon", question.per_item_epsilon)
    mechanism = TopK.at(ranking, epsilon=each, delta=question.delta)
    return Calibrated(mechanism, "each draw has the ε that was asked for.")


def _ending(budget: Budget, sensitivity: Sensitivity, minimum_count: int) -> TruncatedHistogram | None:
    try:
        return TruncatedHistogram.for_budget(budget, sensitivity, minimum_count).mechanism
    except InvalidArgumentError:
        # So small a budget that this noise would not fit into 64 bits.
        return None


def _loss(budget: Budget, mechanism: AnyMechanism) -> Fraction:
    """Return what a mechanism costs of what its account adds up."""
    accounting = budget.accounting
    return accounting.charge(accounting.ceiling(mechanism, budget.delta))[0]


def _said_of_share(lowered: int) -> str:
    share = f"{share_of(lowered):.1%}"
    return f" A Bernoulli draw for each label lowers it by 1 for {share} of them." if lowered else ""


def _histogram(question: questions.Histogram, one_shot: bool) -> Chosen:
    budget = require_budget(question.budget)
    if not question.finds:
        return bounded_histogram(budget, question.counted.sensitivity, question.noise, one_shot=one_shot)
    if question.amounts is not None:
        low, high = question.amounts.low, question.amounts.high
        sums = FindThenSum.for_budget(budget, _weighing(question), low=low, high=high, one_shot=one_shot)
        return Chosen(sums.mechanism, sums.reason)
    if question.with_totals or question.other:
        users, other = question.with_totals, question.other
        both = FoundWithTotals.for_budget(budget, _weighing(question), users=users, other=other, one_shot=one_shot)
        return Chosen(both.mechanism, both.reason)
    found = FindThenCount.for_budget(budget, _weighing(question), one_shot=one_shot)
    return Chosen(found.mechanism, found.reason)


def _top_histogram(question: questions.TopHistogram, one_shot: bool) -> Chosen:  # noqa: ARG001
    budget = require_budget(question.budget)
    return top_histogram(budget, question.counted.sensitivity, question.fetch, question.noise)


def _top(question: questions.Top, one_shot: bool) -> Chosen:
    """Rank the largest counts by Gumbel noise, or labels that are found first."""
    if question.method == "labels":
        budget, weighing = require_budget(question.budget), _weighing(question)
        by_labels = LabelRanking.for_budget(budget, weighing, question.k, counts=question.counts)
        return Chosen(by_labels.mechanism, by_labels.reason)
    if question.method == "find" or question.by is not None:
        return _found_top(question, one_shot)
    by_gumbel = _by_gumbel(question, Ranking(question.k, question.fetched, question.counted.sensitivity))
    if not question.may_find:
        return Chosen(by_gumbel.mechanism, by_gumbel.reason)
    return _better_ranking(question, by_gumbel, one_shot)


def _found_top(question: questions.Top, one_shot: bool) -> Chosen:
    found = FindThenCount.for_budget(require_budget(question.budget), _weighing(question), one_shot=one_shot)
    groups = None if question.by is None else len(question.groups or ())
    return Chosen(FoundTop(found.mechanism, question.k, question.counts, groups), found.reason)


def _better_ranking(question: questions.Top, by_gumbel: Calibrated[TopK], one_shot: bool) -> Chosen:
    """Return the ranking that labels can enter with less, and say why."""

    def before() -> AnyMechanism:
        return version_0_1.ranking(question, by_gumbel.mechanism)

    usual = Chosen(by_gumbel.mechanism, by_gumbel.reason, before)
    try:
        found = _found_top(question, one_shot)
    except InvalidArgumentError:
        # Bounds or a budget for which no labels can be found leave the other way, which nobody refused.
        return usual
    users = by_gumbel.mechanism.accuracy().needed[95]
    weight = found.mechanism.accuracy().at_best
    assert weight is not None  # labels that are weighed know both
    against = (
        f"an item appears 95 % of the time with {users:,} users above the first count left out (Gumbel noise), "
        f"or with a weight of {weight[95]:,} (found first, taken if {FINDING_IS_BETTER} times that is less)"
    )
    if users > FINDING_IS_BETTER * weight[95]:
        return Chosen(found.mechanism, f"{against}: found first; {found.reason}", before)
    return replace(usual, reason=f"{against}: Gumbel noise; {by_gumbel.reason}")


def _labels(question: questions.Labels, one_shot: bool) -> Chosen:
    """Find labels by the method that was asked for."""
    budget, sensitivity = require_budget(question.budget), question.counted.sensitivity
    if question.method == "counts":
        return _by_counts(budget, sensitivity, one_shot=one_shot)
    if question.method == "optimal":
        optimal = OptimalLabels.for_budget(budget, sensitivity)
        return Chosen(optimal.mechanism, optimal.reason)
    if question.method != "auto":
        return _by_weights(question, question.method, one_shot)
    return _better_labels(question, one_shot)


def _better_labels(question: questions.Labels, one_shot: bool) -> Chosen:
    """Return the method by which users of as many items as allowed need to be few, and say why."""
    budget, query = require_budget(question.budget), question.counted

    def before() -> AnyMechanism | None:
        return version_0_1.labels(query, budget, one_shot=one_shot)

    counts = _by_counts(budget, query.sensitivity, one_shot=one_shot)
    by_counts, by_weights = _even(counts), _even(_by_weights(question, "weighted", one_shot))
    items = "1 item each" if question.bound == 1 else f"{question.bound:,} items each"
    against = f"{by_counts:,} users of {items} by counts, {by_weights:,} by weights"
    name, best, fewest = "counts", counts, by_counts
    draws = _optimal_if_any(budget, query.sensitivity) if one_shot else None
    if draws is not None and _even(draws) <= by_counts:
        name, best, fewest = "Bernoulli draws", draws, _even(draws)
        against = f"{against}, {fewest:,} by a Bernoulli draw for each label"
    if fewest < COUNTS_ARE_BETTER * by_weights:
        return Chosen(best.mechanism, f"an even chance takes {against}: {name}; {best.reason}", before)
    rounds = _by_weights(question, "hints", one_shot)
    reason = f"an even chance takes {against}: weights, in rounds with hints; {rounds.reason}"
    return Chosen(rounds.mechanism, reason, before)


def _users(question: questions.Users, one_shot: bool) -> Chosen:
    users = UserTotal.for_budget(require_budget(question.budget), question.counted.sensitivity, one_shot=one_shot)
    return Chosen(users.mechanism, users.reason)


def _distinct(question: questions.Distinct, one_shot: bool) -> Chosen:
    budget, sensitivity = require_budget(question.budget), question.counted.sensitivity
    values = DistinctTotal.for_budget(budget, sensitivity, one_shot=one_shot)
    return Chosen(values.mechanism, values.reason)


def _even(found: Chosen) -> int:
    return found.mechanism.accuracy().needed[50]


def _optimal_if_any(budget: Budget, sensitivity: Sensitivity) -> Chosen | None:
    """Return optimal selection, if it is worth a look. An account never gets here: it would pay far more ρ."""
    try:
        found = OptimalLabels.for_budget(budget, sensitivity)
    except InvalidArgumentError:
        # So many items that a label would need more users than chances are listed for: the others are better.
        return None
    return Chosen(found.mechanism, found.reason)


def _by_counts(budget: Budget, sensitivity: Sensitivity, *, one_shot: bool) -> Chosen:
    found = ThresholdHistogram.for_budget(budget, sensitivity, one_shot=one_shot)
    usual = found.mechanism.with_randomized_threshold(budget)
    reason = found.reason + _said_of_share(usual.lowered)
    return Chosen(CountedLabels(usual), reason, lambda: CountedLabels(found.mechanism))


def _by_weights(question: questions.Labels, method: Method, one_shot: bool) -> Chosen:
    found = labels_for_budget(require_budget(question.budget), _weighing(question), method, one_shot=one_shot)
    return Chosen(found.mechanism, found.reason)


def _weighing(question: Question) -> Weighing:
    """Return how the items of a question's users are weighed."""
    return Weighing(question.items_looked_at, adjacency=question.adjacency)


_CHOSEN: dict[type[Question], Callable[[Any, bool], Chosen]] = {
    questions.Histogram: _histogram,
    questions.TopHistogram: _top_histogram,
    questions.Top: _top,
    questions.Labels: _labels,
    questions.Users: _users,
    questions.Distinct: _distinct,
}
