"""Labels first, then a ranking of them: who comes out, what it costs, and that the second step knows no others."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tests.fixtures.known_bits import KnownBits

from unlisted.counts.weight_oracle import ListedWeights
from unlisted.counts.weights import UNIT, Weighing
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.partition_selection.one_round import LabelRound
from unlisted.mechanisms.partition_selection.rounds import LabelSelection
from unlisted.mechanisms.partition_selection.then_rank import LABELS_SHARE, LabelRanking
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.sensitivity import Adjacency

ALMOST_NO_NOISE = Fraction(1, 10**4)
BUDGETS = (Budget(epsilon=1, delta="1e-8"), Budget(rho="0.1", delta="1e-9"))


def users(**holders: int) -> dict[object, list[str]]:
    """Return users, of whom so many have each label; the first ones have them all."""
    return {user: [label for label, n in holders.items() if user < n] for user in range(max(holders.values()))}


def ranking(k: int, *, threshold: int = 3, epsilon: str = "5", counts: bool = False) -> LabelRanking:
    selection = LabelSelection((LabelRound(Weighing(1), ALMOST_NO_NOISE, threshold * UNIT),))
    return LabelRanking(selection, k, Fraction(epsilon), DiscreteGaussian(Fraction(1, 100)) if counts else None)


def test_labels_come_in_the_order_of_how_many_users_have_them() -> None:
    everyone = {user: ["tea" if user < 40 else "rice" if user < 60 else "salt"] for user in range(70)}
    answer = ranking(2).release(ListedWeights(everyone), KnownBits("order"))
    assert answer.labels.to_pylist() == ["tea", "rice"]
    assert answer.counts is None
    assert not answer.stopped


def test_a_ranking_counts_every_user_though_labels_were_found_with_one_item_each() -> None:
    # Every user of the oracle keeps the first label of theirs; the counts are over all of them.
    answer = ranking(3, counts=True).release(ListedWeights(users(apple=10, bread=9)), KnownBits("all"))
    assert answer.labels.to_pylist() == ["apple"], "bread was never kept by anyone, so it is not among the labels"
    assert answer.counts is not None
    assert answer.counts.tolist() == [10]
    assert answer.stopped, "fewer than k came out"


def test_what_one_user_alone_has_is_never_ranked() -> None:
    everyone: dict[object, list[str]] = {user: ["tea"] for user in range(10)} | {"x": ["my pin is 1234"]}
    answer = ranking(5).release(ListedWeights(everyone), KnownBits("alone"))
    assert answer.labels.to_pylist() == ["tea"]


def test_only_draws_that_were_made_are_paid() -> None:
    asked = ranking(5)
    answer = asked.release(ListedWeights({user: ["tea"] for user in range(10)}), KnownBits("draws"))
    assert asked.guarantee().rho - answer.spent.rho == 4 * asked.draw_price().rho
    assert answer.spent.delta == asked.guarantee().delta


def test_no_users_no_labels_no_draws() -> None:
    answer = ranking(5).release(ListedWeights({"a": []}), KnownBits("nobody"))
    assert len(answer) == 0
    assert answer.spent.rho == ranking(5).selection.guarantee().rho


@pytest.mark.parametrize(("adjacency", "length"), [("add_remove", 1), ("replace", 2)])
def test_a_draw_has_the_range_of_what_one_user_moves(adjacency: Adjacency, length: int) -> None:
    selection = LabelSelection((LabelRound(Weighing(1, adjacency=adjacency), Fraction(1), 9 * UNIT),))
    assert LabelRanking(selection, 3, Fraction(1, 2)).draw_price().rho == Fraction(length**2, 4) / 8


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("budget", BUDGETS, ids=["epsilon", "rho"])
@pytest.mark.parametrize("adjacency", ["add_remove", "replace"])
def test_a_budget_is_kept_and_nearly_used_up(budget: Budget, counts: bool, adjacency: Adjacency) -> None:
    found = LabelRanking.for_budget(budget, Weighing(20, adjacency=adjacency), 10, counts=counts).mechanism
    promised = found.guarantee()
    assert budget.allows(promised)
    assert found.selection.guarantee().rho == pytest.approx(float(promised.rho * LABELS_SHARE), rel=1e-3)
    if budget.rho is not None:
        assert promised.rho > budget.rho * Fraction(999, 1000)


def test_a_ranking_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="k"):
        ranking(0)
