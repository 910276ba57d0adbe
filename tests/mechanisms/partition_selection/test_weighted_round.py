"""One look at the labels: what escapes, what moves, and that the answer follows its weights."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixtures.known_bits import KnownBits
from tests.privacy.high_precision import mp, quick, real
from tests.statistical.goodness import accepts, as_numbers, g_test, rejects

from unlisted.counts.weight_oracle import ListedWeights
from unlisted.counts.weights import UNIT, Rerouting, Weighing, full_weight
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.partition_selection.one_round import LabelRound
from unlisted.noise.gaussian.normal import normal_about, normal_delta_up
from unlisted.privacy.rounding import log_up

HAIR = 257 / 256


def lone_escape(one: LabelRound, items: int) -> object:
    """Return the chance that a lone user with so many labels has one of them released, to many digits."""
    x = real(one.threshold - one.weighing.alone(items)) / UNIT / mp.sqrt(real(one.variance))
    return -mp.expm1(items * mp.log1p(-mp.erfc(x / mp.sqrt(2)) / 2))


@quick
@given(
    st.integers(1, 300),
    st.sampled_from(["0.25", "1", "26", "900"]),
    st.fractions(Fraction(21, 20), 8, max_denominator=50),
    st.sampled_from([None, 1, 2, 20]),
)
def test_no_lone_user_escapes_more_often(items: int, variance: str, far: Fraction, most: int | None) -> None:
    rerouting = None if most is None or most > items else Rerouting(UNIT, most)
    v = Fraction(variance)
    threshold = math.ceil((2 + far * math.isqrt(math.ceil(v))) * UNIT)
    one = LabelRound(Weighing(items, rerouting), v, threshold)
    worst = max(float(lone_escape(one, n)) for n in {1, 2, 3, 5, 10, 20, 21, items} if n <= items)
    all_of_them = max(float(lone_escape(one, n)) for n in range(1, items + 1)) if items < 50 else worst
    assert worst <= all_of_them <= float(one.failure) * (1 + 1e-12)
    assert items >= 50 or float(one.failure) <= all_of_them * HAIR


@pytest.mark.parametrize(("items", "expected"), [(1, 0.15866), (2, 0.18644), (4, 0.24162)])
def test_several_light_labels_escape_more_often_than_a_heavy_one(items: int, expected: float) -> None:
    """The example of the proof."""
    assert float(LabelRound(Weighing(items), Fraction(1), 2 * UNIT).failure) == pytest.approx(expected, rel=1e-4)


@quick
@given(st.integers(1, 40), st.data())
def test_a_part_of_a_user_s_labels_escapes_with_that_part_of_the_chance(items: int, data: st.DataObject) -> None:
    one = LabelRound(Weighing(items), Fraction(1), 3 * UNIT)
    n = data.draw(st.integers(1, items))
    new = data.draw(st.integers(0, n))
    q = normal_about(3 - full_weight(n) / UNIT)
    assert -math.expm1(new * math.log1p(-q)) <= new / n * float(log_up(1 / (1 - one.failure))) * (1 + 1e-12)


def test_what_moves_beside_new_labels_is_less() -> None:
    one = LabelRound(Weighing(4), Fraction(9), 20 * UNIT)
    assert one.mu_squared == Fraction(1, 9) == one.mu_squared_beside(Fraction(0))
    assert one.mu_squared_beside(Fraction(3, 4)) == Fraction(1, 36)
    assert one.mu_squared_beside(Fraction(1)) == 0
    exchanged = LabelRound(Weighing(4, adjacency="replace"), Fraction(9), 20 * UNIT)
    assert exchanged.mu_squared == Fraction(2, 9) == exchanged.mu_squared_beside(Fraction(1))
    adaptive = LabelRound(Weighing(4, Rerouting(UNIT, 4)), Fraction(9), 20 * UNIT)
    assert 0 < adaptive.mu_squared_beside(Fraction(1)) < Fraction(1, 10**4) < adaptive.mu_squared


@pytest.mark.parametrize("epsilon", ["-0.2", "0", "0.5", "1.5"])
def test_no_set_of_answers_about_common_labels_gains_more(epsilon: str) -> None:
    """The hockey stick over all answers of three labels that a fourth user of them moves, near the threshold."""
    one, e = LabelRound(Weighing(3), Fraction(1), 2 * UNIT), Fraction(epsilon)
    moved = 1 / math.sqrt(3)
    for weights in itertools.product((1.0, 1.7, 2.3), repeat=3):
        gain = 0.0
        for passed in itertools.product((False, True), repeat=3):
            before, after = (
                math.prod(
                    one.chance(w + more) if yes else 1 - one.chance(w + more)
                    for w, yes in zip(weights, passed, strict=True)
                )
                for more in (0.0, moved)
            )
            gain += max(0.0, after - math.exp(e) * before)
        assert gain <= float(normal_delta_up(one.mu_squared, e))


TABLE = {"u": ["a"], "v": ["a", "b"], "w": ["a", "b", "c"], "x": ["c"]}


def test_an_answer_follows_the_weights() -> None:
    one = LabelRound(Weighing(3), Fraction(1), 2 * UNIT)
    bits, oracle = KnownBits("a round"), ListedWeights(TABLE)
    answers = [frozenset(one.draw(oracle, bits).labels.to_pylist()) for _ in range(1500)]
    half, third = 1 / math.sqrt(2), 1 / math.sqrt(3)
    right = {"a": 1 + half + third, "b": half + third, "c": 1 + third}
    accepts(g_test(*as_numbers(answers, law(one, right))))
    counts = {"a": 3.0, "b": 2.0, "c": 2.0}
    rejects(g_test(*as_numbers(answers, law(one, counts))))


def law(one: LabelRound, weights: dict[str, float]) -> dict[object, float]:
    found = {}
    for passed in itertools.product((False, True), repeat=len(weights)):
        chances = [
            one.chance(w) if yes else 1 - one.chance(w) for w, yes in zip(weights.values(), passed, strict=True)
        ]
        found[frozenset(itertools.compress(weights, passed))] = math.prod(chances)
    return found


def test_the_chance_at_the_threshold_is_a_half() -> None:
    one = LabelRound(Weighing(3), Fraction(4), 7 * UNIT)
    assert one.chance(7.0) == 0.5
    assert one.chance(9.0) == pytest.approx(normal_about(-1))


def test_a_threshold_that_a_lone_user_reaches_is_refused() -> None:
    LabelRound(Weighing(3), Fraction(1), UNIT)
    with pytest.raises(InvalidArgumentError, match="threshold"):
        LabelRound(Weighing(3), Fraction(1), UNIT - 1)
    with pytest.raises(InvalidArgumentError, match="threshold"):
        LabelRound(Weighing(3, Rerouting(UNIT, 2)), Fraction(1), UNIT)
    with pytest.raises(InvalidArgumentError, match="variance"):
        LabelRound(Weighing(3), Fraction(0), UNIT)
