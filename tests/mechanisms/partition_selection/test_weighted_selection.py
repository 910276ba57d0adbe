"""Labels in rounds: each leaves out what came before, prices add up, and δ is the worst of all users'."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.counts.given_weights import GivenWeights
from tests.fixtures.known_bits import KnownBits
from tests.privacy.high_precision import slow

from unlisted.counts.weight_oracle import ListedWeights
from unlisted.counts.weights import UNIT, Rerouting, Weighing, full_weight
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.partition_selection.one_round import LabelRound
from unlisted.mechanisms.partition_selection.rounds import LabelSelection
from unlisted.noise.gaussian.normal import normal_about, normal_delta_up
from unlisted.privacy.guarantee import EpsilonDelta, Guarantee
from unlisted.privacy.rounding import log_down


def plain(items: int = 3, variance: int = 1, threshold: int = 4) -> LabelRound:
    return LabelRound(Weighing(items), Fraction(variance), threshold * UNIT)


def test_prices_and_escapes_of_rounds_add_up() -> None:
    rounds = plain(variance=4, threshold=8), plain(variance=2, threshold=6), plain()
    assert LabelSelection(rounds).guarantee() == Guarantee(
        Fraction(1, 8) + Fraction(1, 4) + Fraction(1, 2), sum(one.failure for one in rounds)
    )


def test_rounds_together_lose_what_one_with_all_their_moves_loses() -> None:
    epsilon, rounds = Fraction(2), (plain(variance=4, threshold=12), plain(variance=2, threshold=9))
    selection = LabelSelection(rounds, epsilon)
    failure = selection.failure()
    expected = failure + normal_delta_up(Fraction(3, 4), epsilon + log_down(1 - failure))
    assert selection.guarantee().direct == EpsilonDelta(epsilon, expected)


@slow
@given(st.integers(1, 8), st.integers(1, 20), st.integers(2, 6), st.sampled_from(["0.1", "0.5", "1", "2"]))
def test_no_user_with_new_and_moved_labels_needs_more(items: int, variance: int, deviations: int, at: str) -> None:
    """One round: all n up to the bound and all numbers j of new labels, written out."""
    threshold = math.ceil((1 + deviations * math.sqrt(variance)) * UNIT)
    epsilon, v = Fraction(at), Fraction(variance)
    one = LabelRound(Weighing(items), v, threshold)
    claimed = float(LabelSelection((one,)).delta_at(epsilon))
    worst = 0.0
    for n in range(1, items + 1):
        q = normal_about((threshold - full_weight(n)) / UNIT / math.sqrt(variance))
        for new in range(n + 1):
            beside = normal_delta_up(Fraction(n - new, n) / v, epsilon)
            escaped = -math.expm1(new * math.log1p(-q))
            worst = max(worst, escaped + (1 - escaped) * float(beside))
    assert worst <= claimed * (1 + 1e-9)


def test_it_is_hardly_more_than_the_worse_of_new_and_moved_for_one_item() -> None:
    one = LabelRound(Weighing(1), Fraction("26.1"), math.ceil(Fraction("29.7") * UNIT))
    of_moved = float(normal_delta_up(one.mu_squared, Fraction(1)))
    found = float(LabelSelection((one,)).delta_at(Fraction(1)))
    assert max(of_moved, float(one.failure)) <= found <= 1.02 * max(of_moved, float(one.failure))


def test_nothing_is_promised_where_escape_is_certain() -> None:
    one = LabelRound(Weighing(10**6), Fraction(10**4), UNIT)
    assert LabelSelection((one,)).failure() == LabelSelection((one,)).delta_at(Fraction(1)) == 1


def test_replacing_costs_the_sum_of_both() -> None:
    one = LabelRound(Weighing(3, adjacency="replace"), Fraction(9), 15 * UNIT)
    selection, epsilon = LabelSelection((one,)), Fraction(1)
    both = float(one.failure + normal_delta_up(Fraction(2, 9), epsilon))
    assert both <= float(selection.delta_at(epsilon)) <= both * 1.001


def test_what_was_released_is_left_out_and_its_weight_goes_on() -> None:
    """`a` is certain in the first round; then its users weigh `b` alone, and it passes in the second."""
    table = {f"user {i}": ["a", "b"] for i in range(30)} | {f"other {i}": ["a"] for i in range(1000)}
    first, second = plain(items=2, threshold=100), plain(items=2, threshold=26)
    answer = LabelSelection((first, second)).release(ListedWeights(table), KnownBits("left out"))
    assert answer.labels.to_pylist() == ["a", "b"]
    assert answer.counts is None
    alone = LabelSelection((second,)).release(ListedWeights(table), KnownBits("left out"))
    assert alone.labels.to_pylist() == ["a"], "30/√2 is five deviations below 26"


def test_the_same_round_twice_names_no_label_twice() -> None:
    one = plain()
    weights = dict.fromkeys("dacb", 50 * UNIT)
    answer = LabelSelection((one, one)).release(GivenWeights(weights), KnownBits("twice"))
    assert answer.labels.to_pylist() == ["a", "b", "c", "d"]


@pytest.mark.parametrize("table", [{}, {"u": []}, {"u": ["a"]}])
def test_no_labels_no_rows(table: dict[str, list[str]]) -> None:
    rounds = plain(threshold=50), plain(threshold=50)
    assert len(LabelSelection(rounds).release(ListedWeights(table), KnownBits("nothing"))) == 0


def hinted(threshold: int = 12, hint: int = 5, **kept: Any) -> LabelRound:
    return LabelRound(Weighing(3, **kept), Fraction(1), threshold * UNIT, hint * UNIT)


def test_a_label_under_the_hint_leaves_its_users_weight_to_others() -> None:
    """`b` weighs 11/√2 = 7.8, is above the hint and not found; `a` weighs 0.7 to each and is left out."""
    table = {f"user {i}": [f"a{i}", "b"] for i in range(11)}
    second = plain(items=2, threshold=10)
    seen = [
        LabelSelection((first, second)).release(ListedWeights(table), KnownBits(f"hint {i}")).labels.to_pylist()
        for first in (hinted(threshold=14), plain(items=2, threshold=14))
        for i in range(30)
    ]
    # With the hint `b` weighs 11 in the second round, without it 7.8: 84 % against 1 %.
    assert sum("b" in one for one in seen[:30]) > 15
    assert sum("b" in one for one in seen[30:]) < 5


def test_what_is_left_out_by_a_hint_is_not_found_later() -> None:
    table = {f"user {i}": ["a"] for i in range(20)}
    later = plain(items=1, threshold=2)
    assert (
        LabelSelection((hinted(60, 50), later)).release(ListedWeights(table), KnownBits("out")).labels.to_pylist()
        == []
    )
    assert len(LabelSelection((plain(threshold=60), later)).release(ListedWeights(table), KnownBits("in"))) == 1


def test_hints_cost_nothing_and_say_so() -> None:
    rounds = hinted(), plain()
    without = LabelSelection((plain(threshold=12), plain()), Fraction(1))
    selection = LabelSelection(rounds, Fraction(1))
    assert selection.guarantee() == without.guarantee()
    assert selection.describe().name == "hinted_label_rounds"
    assert selection.encoding() == without.encoding().replace("51539607552)", "51539607552, hint=21474836480)")


def test_replacing_with_hints_lets_what_is_not_there_escape_too() -> None:
    second = LabelRound(Weighing(3, adjacency="replace"), Fraction(1), 8 * UNIT)
    plain_first = LabelRound(Weighing(3, adjacency="replace"), Fraction(1), 12 * UNIT)
    exchanged = LabelSelection((hinted(adjacency="replace"), second))
    assert exchanged.failure() == 2 * LabelSelection((plain_first, second)).failure()
    assert exchanged.guarantee().rho == LabelSelection((plain_first, second)).guarantee().rho


def test_users_needed_with_hints_count_what_the_hint_leaves_out() -> None:
    first, last = hinted(threshold=60, hint=10), plain(items=3)
    chance = LabelSelection((first, last)).chance_of_users(1)
    assert chance(10) == pytest.approx(0.5, rel=1e-6)
    assert chance(30) == pytest.approx(1)


def test_rounds_that_cannot_be_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="hint"):
        LabelSelection((plain(), hinted()))
    with pytest.raises(InvalidArgumentError, match="hint"):
        hinted(threshold=5, hint=5)
    with pytest.raises(InvalidArgumentError, match="rounds"):
        LabelSelection(())
    rerouting = LabelRound(Weighing(3, Rerouting(UNIT, 2)), Fraction(1), 4 * UNIT)
    with pytest.raises(InvalidArgumentError, match="rounds"):
        LabelSelection((rerouting, plain()))
    exchanged = LabelRound(Weighing(3, adjacency="replace"), Fraction(1), 4 * UNIT)
    with pytest.raises(InvalidArgumentError, match="rounds"):
        LabelSelection((exchanged, plain()))
