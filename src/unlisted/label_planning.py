"""From a question to a plan where labels are weighed: `labels`, and `top` by way of labels.

Which method `auto` takes is a function of the question, its bounds and the budget. Where the rules have a number
in them, `bench/utility/labels.py` and `bench/utility/top_methods.py` print it from public tables.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, get_args

from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.label_budget import Method, labels_for_budget
from unlisted.mechanisms.label_counts import CountedLabels
from unlisted.mechanisms.label_optimal import OptimalLabels
from unlisted.mechanisms.label_ranking_budget import label_ranking_for_budget
from unlisted.mechanisms.label_selection import LabelSelection
from unlisted.mechanisms.label_weights import Weighing
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.planning import (
    Fetch,
    Priced,
    RankingMethod,
    gumbel_plan,
    make_plan,
    require_budget,
    require_items,
)
from unlisted.plans import Data, Plan
from unlisted.privacy.calibrate import Calibrated
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import whole
from unlisted.tables.question import Question

LabelMethod = Literal["auto", "counts", "optimal", "weighted", "sips", "adaptive"]

COUNTS_ARE_BETTER = Fraction(80, 100)
"""Counts, or coins that know the count, are taken where they need fewer users than this part of what weights need,
at the most items allowed."""

LABELS_ARE_BETTER = 9
"""Labels come first in a ranking where Gumbel noise alone needs more users than so many times the weight that a
label needs: where the label gets in even if its users have eighty items each."""


def labels_plan(
    question: Question, budget: Budget, method: LabelMethod, data: Data | None = None, *, one_shot: bool = True
) -> Plan:
    """Calibrate a selection of labels for a question; `one_shot` says that no account will pay for it."""
    require_items(question.items_per_user, "A selection of labels")
    require_users(question, "labels")
    found = _found(question, require_budget(budget), require_method(method), one_shot=one_shot)
    return make_plan("labels", question, found, budget, data)


def top_plan(
    question: Question,
    k: int,
    budget: Budget | None,
    fetch: Fetch | None,
    priced: Priced,
    data: Data | None = None,
) -> Plan:
    """Calibrate a ranking: by Gumbel noise on the largest counts, or of labels that are found first."""
    method = require_ranking_method(priced.get("method", "auto"))
    if method == "labels":
        _require_label_ranking(question, fetch, priced)
        return _label_top_plan(question, whole("k", k), require_budget(budget), priced, data)
    by_gumbel = gumbel_plan(question, k, budget, fetch, priced, data)
    if method == "gumbel" or budget is None or not _may_use_labels(question, fetch):
        return by_gumbel
    try:
        by_labels = _label_top_plan(question, whole("k", k), budget, priced, data)
    except InvalidArgumentError:
        # Bounds or a budget for which no labels can be found leave the other way, which nobody refused.
        return by_gumbel
    return _better_of(by_gumbel, by_labels)


def _better_of(by_gumbel: Plan, by_labels: Plan) -> Plan:
    """Return the ranking that labels can enter with less, and say why."""
    users, weights = by_gumbel.accuracy.needed[95], by_labels.accuracy.at_best
    assert weights is not None  # labels that are weighed know both
    labels_first = users > LABELS_ARE_BETTER * weights[95]
    against = (
        f"an item appears 95 % of the time with {users:,} users above the first count left out (Gumbel noise), "
        f"or with a weight of {weights[95]:,} (labels first, taken if that is less than a {LABELS_ARE_BETTER}th)"
    )
    better, name = (by_labels, "labels first") if labels_first else (by_gumbel, "Gumbel noise")
    return replace(better, reason=f"{against}: {name}; {better.reason}")


def _label_top_plan(question: Question, k: int, budget: Budget, priced: Priced, data: Data | None) -> Plan:
    found = label_ranking_for_budget(budget, weighing_of(question), k, counts=priced.get("counts", False))
    return make_plan("top", question, found, budget, data)


def _may_use_labels(question: Question, fetch: Fetch | None) -> bool:
    """Return whether a question leaves the choice: it bounds the items of a user, and no `fetch` was asked for."""
    return question.items_per_user is not None and question.count == "users" and fetch is None


def _require_label_ranking(question: Question, fetch: Fetch | None, priced: Priced) -> None:
    require_items(question.items_per_user, "A ranking by way of labels")
    require_users(question, "a ranking by way of labels")
    if fetch is not None:
        raise InvalidArgumentError("fetch", fetch, "left out with method='labels'", "Every label is looked at.")
    if priced.get("per_item_epsilon") is not None:
        hint = "The labels have a price of their own: give a budget."
        allowed = "left out with method='labels'"
        raise InvalidArgumentError("per_item_epsilon", priced["per_item_epsilon"], allowed, hint)
    if priced.get("delta") is not None:
        hint = "The budget has its own."
        raise InvalidArgumentError("delta", priced["delta"], "left out with method='labels'", hint)
    if not isinstance(priced.get("counts", False), bool):
        raise InvalidArgumentError("counts", priced["counts"], "True or False")


def require_ranking_method(method: object) -> RankingMethod:
    """Refuse what is no way to rank, of whatever type it is."""
    for known in get_args(RankingMethod):
        if isinstance(method, str) and method == known:
            return known  # type: ignore[no-any-return]
    raise InvalidArgumentError("method", method, "'auto', 'gumbel' or 'labels'")


def require_method(method: object) -> LabelMethod:
    """Refuse what is no method, of whatever type it is."""
    for known in get_args(LabelMethod):
        if isinstance(method, str) and method == known:
            return known  # type: ignore[no-any-return]
    raise InvalidArgumentError("method", method, "'auto', 'counts', 'optimal', 'weighted', 'sips' or 'adaptive'")


def require_users(question: Question, what: str) -> None:
    """Refuse to weigh rows: a label is lifted by the users who have it."""
    if question.count != "users":
        raise InvalidArgumentError("count", question.count, f"'users' for {what}", "Rows are not weighed.")


def _found(question: Question, budget: Budget, method: LabelMethod, *, one_shot: bool) -> Calibrated[Any]:
    if method == "counts":
        return _by_counts(question, budget, one_shot=one_shot)
    if method == "optimal":
        return OptimalLabels.for_budget(budget, question.sensitivity)
    if method != "auto":
        return _by_weights(question, budget, method, one_shot=one_shot)
    return _better_of_methods(question, budget, one_shot=one_shot)


def _better_of_methods(question: Question, budget: Budget, *, one_shot: bool) -> Calibrated[Any]:
    """Return the method by which users of as many items as allowed need to be few, and say why."""
    counts: Calibrated[Any] = _by_counts(question, budget, one_shot=one_shot)
    weights = _by_weights(question, budget, "weighted", one_shot=one_shot)
    by_counts, by_weights = (_even(found) for found in (counts, weights))
    against = f"{by_counts:,} users of {_items(question.items_per_user)} by counts, {by_weights:,} by weights"
    name, best, fewest = "counts", counts, by_counts
    coins = _by_coins(question, budget) if one_shot else None
    if coins is not None and _even(coins) <= by_counts:
        name, best, fewest = "coins", coins, _even(coins)
        against = f"{against}, {fewest:,} by a coin for each label"
    if fewest < COUNTS_ARE_BETTER * by_weights:
        return Calibrated(best.mechanism, f"an even chance takes {against}: {name}; {best.reason}")
    rounds = _by_weights(question, budget, "sips", one_shot=one_shot)
    return Calibrated(rounds.mechanism, f"an even chance takes {against}: weights, in rounds; {rounds.reason}")


def _even(found: Calibrated[Any]) -> int:
    return int(found.mechanism.accuracy().needed[50])


def _by_coins(question: Question, budget: Budget) -> Calibrated[OptimalLabels] | None:
    """Return a coin for each label, if it is worth a look. An account never gets here: it would pay far more ρ."""
    try:
        return OptimalLabels.for_budget(budget, question.sensitivity)
    except InvalidArgumentError:
        # So many items that a label would need more users than chances are listed for: the others are better.
        return None


def _items(items: int | None) -> str:
    return "1 item each" if items == 1 else f"{items:,} items each"


def _by_counts(question: Question, budget: Budget, *, one_shot: bool) -> Calibrated[CountedLabels]:
    found = ThresholdHistogram.for_budget(budget, question.sensitivity, one_shot=one_shot)
    return Calibrated(CountedLabels(found.mechanism), found.reason)


def _by_weights(
    question: Question, budget: Budget, method: Method, *, one_shot: bool
) -> Calibrated[LabelSelection]:
    return labels_for_budget(budget, weighing_of(question), method, one_shot=one_shot)


def weighing_of(question: Question) -> Weighing:
    """Return how the items of a question's users are weighed."""
    assert question.items_per_user is not None
    return Weighing(question.items_per_user, adjacency=question.adjacency)
