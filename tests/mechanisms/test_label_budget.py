"""From a budget to a selection of labels: inside the budget, and as low as the theory says."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import get_args

import pytest

from unlisted.counts.weights import LARGEST_ITEMS, UNIT, Weighing
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.partition_selection.rounds import LabelSelection
from unlisted.mechanisms.partition_selection.rounds_for_budget import ROUNDS, Method, labels_for_budget
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.sensitivity import Adjacency

METHODS: tuple[Method, ...] = get_args(Method)
USUAL = Budget(epsilon=1, delta="1e-8")
BUDGETS = [
    USUAL,
    Budget(epsilon=8, delta="1e-3"),
    Budget(rho="0.05", delta="1e-6"),
    Budget(epsilon=100, delta="0.1"),
]


def found(budget: Budget, items: int, method: Method = "weighted", **how: object) -> LabelSelection:
    adjacency: Adjacency = how.pop("adjacency", "add_remove")
    return labels_for_budget(budget, Weighing(items, adjacency=adjacency), method, **how).mechanism


def threshold(selection: LabelSelection) -> float:
    return selection.last.threshold / UNIT


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("adjacency", ["add_remove", "replace"])
def test_what_is_found_is_inside_the_budget(budget: Budget, method: Method, adjacency: Adjacency) -> None:
    for one_shot in (True, False):
        selection = found(budget, 7, method, adjacency=adjacency, one_shot=one_shot)
        assert budget.allows(selection.guarantee())
        assert [one.weighing.adjacency for one in selection.rounds] == [adjacency] * len(ROUNDS[method])
        assert (selection.at_epsilon is not None) == (one_shot and budget.epsilon is not None)


@pytest.mark.parametrize("budget", [USUAL, Budget(rho="0.05", delta="1e-6")], ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_a_lower_threshold_would_not_be(budget: Budget, method: Method) -> None:
    selection = found(budget, 10, method)
    last = selection.last
    lower = replace(last, threshold=int(last.threshold * Fraction(98, 100)))
    assert not budget.allows(LabelSelection((*selection.rounds[:-1], lower), selection.at_epsilon).guarantee())


@pytest.mark.parametrize(("items", "expected"), [(1, 29.64), (10, 30.92), (100, 32.57)])
def test_thresholds_are_the_theory_s(items: int, expected: float) -> None:
    """Noise does not grow with the items of a user, and the threshold hardly."""
    assert threshold(found(USUAL, items)) == pytest.approx(expected, abs=0.006)


@pytest.mark.parametrize("method", METHODS)
def test_exchanging_and_accounts_and_more_items_cost_more(method: Method) -> None:
    usual = threshold(found(USUAL, 10, method))
    assert usual < threshold(found(USUAL, 10, method, adjacency="replace"))
    assert usual < threshold(found(USUAL, 10, method, one_shot=False))
    assert usual < threshold(found(USUAL, 100, method))
    assert usual > threshold(found(Budget(epsilon=2, delta="1e-8"), 10, method))
    assert usual > threshold(found(Budget(epsilon=1, delta="1e-6"), 10, method))


def test_all_of_a_budget_in_rho_is_used() -> None:
    for method in METHODS:
        guarantee = found(Budget(rho="0.05", delta="1e-6"), 10, method).guarantee()
        assert float(guarantee.rho) == pytest.approx(0.05, rel=1e-5)
        assert float(guarantee.delta) == pytest.approx(1e-6, rel=0.01)
        assert guarantee.direct is None


def test_rounds_have_their_shares() -> None:
    rounds = found(Budget(rho="0.5", delta="1e-6"), 10, "sips").rounds
    assert [float(one.mu_squared) for one in rounds] == pytest.approx([float(share) for share in ROUNDS["sips"]])
    assert sum(ROUNDS["sips"]) == 1


def test_adaptive_labels_keep_more_than_the_threshold() -> None:
    last = found(USUAL, 10, "adaptive").last
    assert last.weighing.rerouting is not None
    assert last.weighing.rerouting.enough > last.threshold
    assert last.weighing.rerouting.most_items == 10
    assert found(USUAL, 500, "adaptive").last.weighing.rerouting.most_items < 500


def test_the_reason_says_how_it_was_found() -> None:
    def reason(budget: Budget, method: Method = "weighted", **how: bool) -> str:
        return labels_for_budget(budget, Weighing(1), method, **how).reason

    assert reason(USUAL) == "threshold 29.6387, by its exact δ"
    assert "by ρ converted" in reason(USUAL, one_shot=False)
    assert reason(Budget(rho=1, delta="1e-8")).endswith("by ρ")
    assert "in the last of 3 rounds" in reason(USUAL, "sips")


def test_a_million_items_a_user_are_possible() -> None:
    assert threshold(found(USUAL, LARGEST_ITEMS)) < 40


@pytest.mark.parametrize("items", [0, -1, LARGEST_ITEMS + 1])
def test_no_items_or_too_many_are_refused(items: int) -> None:
    with pytest.raises(InvalidArgumentError, match="items_per_user"):
        found(USUAL, items)


def test_what_else_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="method"):
        found(USUAL, 3, "other")
    with pytest.raises(InvalidArgumentError, match="delta"):
        found(Budget(epsilon=1, delta="1e-291"), 3)
    with pytest.raises(InvalidArgumentError, match="a larger ε, ρ or δ"):
        found(Budget(epsilon="1e-4", delta="1e-200"), 3)


@pytest.mark.parametrize(
    "budget", [Budget(epsilon="1e-6", delta="1e-8"), Budget(rho="1e-14", delta="1e-8")], ids=["epsilon", "rho"]
)
def test_next_to_no_budget_is_calibrated_too(budget: Budget) -> None:
    found = labels_for_budget(budget, Weighing(10), "adaptive").mechanism
    assert budget.allows(found.guarantee())
