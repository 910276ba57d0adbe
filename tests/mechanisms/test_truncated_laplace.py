"""Noise that ends, with a coin: the promise on every pair of small neighbours, and the law that is drawn."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixtures.known_bits import KnownBits
from tests.mechanisms.promises import breaches, hockey_stick, log_moment
from tests.mechanisms.small_worlds import Window
from tests.mechanisms.test_lazy_tail import profiled
from tests.mechanisms.truncated_worlds import CoinWorld, Side, shared_coin, truncated
from tests.privacy.high_precision import mp, quick, real
from tests.statistical.goodness import accepts, as_numbers, g_test, rejects

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.count_profile import CountProfile
from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.mechanisms.partition_selection.optimal import OptimalLabels
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.truncated_laplace import TruncatedHistogram
from unlisted.privacy.guarantee import Budget, EpsilonDelta, Guarantee
from unlisted.privacy.sensitivity import Sensitivity

ONE = Sensitivity(1)


def histogram(
    epsilon: object, delta: object, sensitivity: Sensitivity = ONE, minimum: int = 1
) -> TruncatedHistogram:
    return TruncatedHistogram(Fraction(str(epsilon)), Fraction(str(delta)), sensitivity, minimum)


@pytest.mark.parametrize(
    ("epsilon", "delta", "items", "reach", "share"),
    [
        ("1", "1e-8", 1, 18, 0.2449),
        ("0.5", "1e-6", 1, 25, 0.1474),
        ("3", "1e-6", 1, 5, 0.1368),
        ("3", "1e-8", 1, 7, 0.7110),
        ("1", "1e-8", 3, 54, 0.8224),
    ],
)
def test_reference_values(epsilon: str, delta: str, items: int, reach: int, share: float) -> None:
    found = histogram(epsilon, delta, Sensitivity(items))
    assert found.reach == found.threshold == reach
    assert found.narrowed / 2**64 == pytest.approx(share, abs=5e-5)


def world_of(mechanism: TruncatedHistogram, largest: int, **wrong: int) -> CoinWorld:
    """The mechanism as its text says it, or with something off by so much."""
    scale, share = float(mechanism.scale), mechanism.narrowed / 2**64
    reach = mechanism.reach + wrong.get("reach", 0)
    threshold = mechanism.threshold + wrong.get("threshold", 0)
    share += wrong.get("share", 0)
    sides = (
        Side(1 - share, truncated(scale, reach), threshold),
        Side(share, truncated(scale, reach - 1), threshold - 1),
    )
    return CoinWorld(sides, Window(threshold, largest + reach), mechanism.minimum_count)


WORLDS = [
    histogram(1, "0.05"),
    histogram(1, "0.3"),
    histogram(3, "0.01"),
    histogram(2, "0.05", Sensitivity(2)),
    histogram("0.7", "0.2", Sensitivity(1, 2)),
    histogram(2, "0.1", Sensitivity(2, 3)),
    histogram(2, "0.05", Sensitivity(1, adjacency="replace")),
    histogram(3, "0.1", Sensitivity(2, 2, "replace")),
    histogram(1, "0.05", minimum=3),
    histogram(2, "0.1", Sensitivity(2, 2), minimum=2),
]


def breaks(mechanism: TruncatedHistogram, promised: Guarantee | None = None, **wrong: int) -> list[str]:
    # From counts of twice the reach on, labels are always shown and their noise's lower end is seen.
    largest = 2 * mechanism.reach + mechanism.sensitivity.count + mechanism.minimum_count
    world = world_of(mechanism, largest, **wrong)
    labels = 1 if mechanism.sensitivity.items == 1 and mechanism.sensitivity.sides == 1 else 2
    # With two labels every pair of counts is too many: those at both ends, and around the middle.
    pairs = world.pairs(largest if labels == 1 else min(largest, 7), mechanism.sensitivity, labels)
    return breaches(pairs, promised or mechanism.guarantee())


@pytest.mark.parametrize("mechanism", WORLDS, ids=str)
def test_it_keeps_its_promise_on_all_neighbours(mechanism: TruncatedHistogram) -> None:
    assert breaks(mechanism) == []


@pytest.mark.parametrize("mechanism", WORLDS, ids=str)
@pytest.mark.parametrize("wrong", [{"reach": 1}, {"threshold": -1}], ids=str)
def test_truncation_or_threshold_off_by_one_breaks(mechanism: TruncatedHistogram, wrong: dict[str, int]) -> None:
    """Noise that reaches beyond its threshold, or a threshold below where noise comes."""
    assert breaks(mechanism, **wrong) != []


def test_the_other_side_s_threshold_breaks_one_way_and_is_wasteful_the_other() -> None:
    mechanism = histogram(1, "0.05")
    world = world_of(mechanism, 20)
    wide, narrow = world.sides
    lower = dataclasses.replace(world, sides=(dataclasses.replace(wide, threshold=wide.threshold - 1), narrow))
    assert breaches(lower.pairs(9, ONE, 1), mechanism.guarantee()) != []
    higher = dataclasses.replace(world, sides=(wide, dataclasses.replace(narrow, threshold=wide.threshold)))
    assert breaches(higher.pairs(9, ONE, 1), mechanism.guarantee()) == []
    assert higher.one_label(2)[0] > world.one_label(2)[0]


@pytest.mark.parametrize("mechanism", [one for one in WORLDS if one.labels == 1], ids=str)
def test_a_larger_share_breaks(mechanism: TruncatedHistogram) -> None:
    """δ is used up: a coin that falls well a hundredth more often promises too much."""
    assert breaks(mechanism, share=0.01) != []


def test_delta_is_attained_by_a_new_label_and_by_one_that_moves() -> None:
    mechanism = histogram(1, "0.05")
    world = world_of(mechanism, 4 * mechanism.reach)
    for less in (0, 1, mechanism.reach, 2 * mechanism.reach, 3 * mechanism.reach):
        more, fewer = world.law((less + 1,)), world.law((less,))
        assert hockey_stick(more, fewer, 1.0) == pytest.approx(0.05, rel=1e-9)
    hidden_more_often = hockey_stick(world.law((3,)), world.law((4,)), 1.0)
    assert hidden_more_often <= 0.05 + 1e-12


def test_replace_with_the_delta_of_one_side_breaks() -> None:
    """Labels that move cost δ too, so both of the exchanged users' do."""
    both = histogram(2, "0.05", Sensitivity(1, adjacency="replace"))
    world = world_of(both, 20)
    forgotten = Guarantee(both.guarantee().rho, Fraction("0.03"), EpsilonDelta(both.epsilon, Fraction("0.03")))
    far = 3 * both.reach
    worlds = [(far, far + 1), (far + 1, far)]
    window = Window(world.window.low, far + 1 + both.reach)
    world = dataclasses.replace(world, window=window)
    pair = [
        (world.law(worlds[0]), world.law(worlds[1]), (world.good_part(*worlds), world.good_part(*worlds[::-1])))
    ]
    assert breaches(pair, both.guarantee()) == []
    assert breaches(pair, forgotten) != []


def test_the_price_of_moves_by_several_is_that_of_laplace_noise_and_not_less() -> None:
    mechanism = histogram(2, "1e-7", Sensitivity(1, 3))
    far = 3 * mechanism.reach
    world = world_of(mechanism, far + 3)
    moment = log_moment(world.good_part((far,), (far + 3,)), world.good_part((far + 3,), (far,)), 1.05)
    rho = float(mechanism.guarantee().rho)
    assert 0.97 * rho < moment / (1.05 * 0.05) < rho
    # The price of one move by as much ε is higher: fewer rows a user would be overcharged by it.
    assert rho < 0.9 * float(histogram(2, "1e-7").guarantee().rho)


class TestRounding:
    @quick
    @given(
        st.fractions(Fraction(1, 200), 20, max_denominator=1000),
        st.integers(1, 12),
        st.integers(1, 4),
        st.integers(1, 3),
        st.sampled_from(["add_remove", "replace"]),
    )
    def test_the_mean_of_both_ends_is_at_most_one_label_s_delta_and_hardly_less(
        self, epsilon: Fraction, exponent: int, items: int, count: int, adjacency: str
    ) -> None:
        mechanism = TruncatedHistogram(
            epsilon, Fraction(4, 10 ** (exponent + 1)), Sensitivity(items, count, adjacency)
        )
        k, delta = mechanism.reach, real(mechanism.one_delta)
        q = mp.exp(-real(1 / mechanism.scale))

        def ends(reach: int) -> object:
            inverse = 1 + 2 * (q - q ** (reach + 1)) / (1 - q)
            return sum(q ** abs(x) for x in range(reach - count + 1, reach + 1)) / inverse

        wide, narrow = ends(k), ends(k - 1)
        assert wide <= delta < narrow
        assert attained(mechanism.narrowed, wide, narrow) <= delta
        assert attained(mechanism.narrowed + 1, wide, narrow) > delta, "rounded up it would be too much"
        assert mechanism.failure() <= mechanism.delta == mechanism.guarantee().delta

    def test_the_share_is_rounded_down_where_it_is_nearly_whole(self) -> None:
        """A δ one part in 10^40 below what k alone needs makes k larger by one, and nearly all coins fall well."""
        exact = histogram(1, "0.05")
        edge = exact.narrow.tail(exact.reach - 1)
        barely = TruncatedHistogram(Fraction(1), edge * (1 - Fraction(1, 10**40)), ONE)
        assert barely.reach == exact.reach
        assert barely.narrowed == 2**64 - 1
        assert TruncatedHistogram(Fraction(1), edge, ONE).reach == exact.reach - 1
        assert TruncatedHistogram(Fraction(1), edge, ONE).narrowed == 0


def attained(narrowed: int, wide: object, narrow: object) -> object:
    share = mp.mpf(narrowed) / 2**64
    return (1 - share) * wide + share * narrow


@pytest.mark.parametrize(("epsilon", "delta", "items"), [("1", "1e-8", 1), ("0.5", "1e-6", 2), ("3", "1e-3", 3)])
def test_labels_are_shown_as_often_as_by_the_best_choice_of_labels_alone(
    epsilon: str, delta: str, items: int
) -> None:
    mechanism = histogram(epsilon, delta, Sensitivity(items))
    best = OptimalLabels(mechanism.epsilon, mechanism.delta, mechanism.sensitivity)
    reach, one = mechanism.reach, float(mechanism.one_delta)
    for count in range(1, 2 * reach):
        assert mechanism.chance(count) == pytest.approx(float(best.chance(count)), rel=1e-9)
    assert 0 <= float(best.chance(2 * reach)) - mechanism.chance(2 * reach) <= one
    assert mechanism.chance(2 * reach + 1) == pytest.approx(1, abs=1e-14)


def test_it_is_below_algorithm_1_s_threshold() -> None:
    for items, usual in ((1, 19), (2, 38)):
        classical = ThresholdHistogram.for_budget(Budget(epsilon=1, delta="1e-8"), Sensitivity(items)).mechanism
        mechanism = TruncatedHistogram.for_budget(Budget(epsilon=1, delta="1e-8"), Sensitivity(items)).mechanism
        assert mechanism.threshold < classical.threshold == usual


class TestBudgets:
    def test_a_budget_is_spent_and_not_exceeded(self) -> None:
        for sensitivity in (ONE, Sensitivity(3), Sensitivity(2, 5, "replace")):
            for budget in (
                Budget(epsilon=1, delta="1e-8"),
                Budget(rho="0.02", delta="1e-8"),
                Budget(rho=7, delta=0.1),
            ):
                promised = TruncatedHistogram.for_budget(budget, sensitivity).mechanism.guarantee()
                assert budget.allows(promised)
                assert promised.delta == budget.delta
                if budget.rho is not None:
                    assert promised.rho > budget.rho * Fraction(999_999, 1_000_000)
                else:
                    assert promised.epsilon(budget.delta) == budget.epsilon

    def test_rho_of_one_user_a_label_is_that_of_any_such_mechanism(self) -> None:
        assert float(histogram(1, "1e-8", Sensitivity(10)).guarantee().rho) == pytest.approx(math.tanh(0.05))

    def test_noise_beyond_64_bits_is_refused(self) -> None:
        with pytest.raises(InvalidArgumentError, match="61 bits"):
            histogram("1e-18", "1e-8")

    def test_unbounded_items_are_refused(self) -> None:
        with pytest.raises(InvalidArgumentError, match="bound on the items"):
            histogram(1, "1e-8", Sensitivity(None))


TINY = {"a": 1, "b": 1, "c": 2, "d": 4}
REPEATS = 1500
MECHANISM = histogram("0.8", "0.15")
NEARBY = histogram("0.8", "0.12")


def outcome_law(mechanism: TruncatedHistogram) -> dict[tuple[int | None, ...], float]:
    """Every answer on TINY."""
    world = world_of(mechanism, 4)
    rows = [world.one_label(count) for count in TINY.values()]
    values = [None, *world.window.values]
    found = {}
    for which in itertools.product(range(len(values)), repeat=len(TINY)):
        chance = math.prod(row[at] for row, at in zip(rows, which, strict=True))
        if chance:
            found[tuple(values[at] for at in which)] = chance
    return found


def drawn(mechanism: TruncatedHistogram, counts: BoundedCounts | CountProfile, name: str) -> list[tuple]:
    bits, found = KnownBits(name), []
    for _ in range(REPEATS):
        answer = mechanism.release(counts, bits)
        shown = dict(zip(answer.labels.to_pylist(), answer.counts.tolist(), strict=True))
        found.append(tuple(shown.get(label) for label in TINY))
    return found


@pytest.mark.parametrize("cut", [None, 0, 1, 2, 4])
def test_what_is_drawn_has_the_joint_law_listed_or_unnamed(cut: int | None) -> None:
    counts = BoundedCounts.from_dict(TINY, ONE) if cut is None else profiled(TINY, cut)
    found = drawn(MECHANISM, counts, f"truncated {cut}")
    accepts(g_test(*as_numbers(found, outcome_law(MECHANISM))))
    # A fifth less of δ would be seen.
    rejects(g_test(*as_numbers(found, outcome_law(NEARBY))))


@pytest.mark.parametrize("how", ["listed", "unnamed"])
def test_coins_are_not_shared_by_labels(how: str) -> None:
    """Many labels at the threshold in one release: with one coin for all, they would have the law of one side."""
    mechanism, labels = histogram("1.2", "0.13"), 4000
    assert 0.2 < mechanism.narrowed / 2**64 < 0.8
    count = mechanism.reach
    counts: BoundedCounts | CountProfile = BoundedCounts(np.arange(labels), np.full(labels, count), ONE)
    if how == "unnamed":
        nothing = BoundedCounts([], [], ONE)
        counts = CountProfile(nothing, {count: labels}, lambda counts, ranks: pa.array(ranks))
    answer = mechanism.release(counts, KnownBits(f"shared {how}"))
    found = [*answer.counts.tolist(), *[0] * (labels - len(answer))]
    world = world_of(mechanism, count)

    def law(world: CoinWorld) -> dict[int, float]:
        return {v: p for v, p in zip([0, *world.window.values], world.one_label(count), strict=True) if p > 0}

    accepts(g_test(found, law(world)))
    for side in world.sides:
        alone = dataclasses.replace(world, sides=(dataclasses.replace(side, chance=1.0),))
        rejects(g_test(found, law(alone)))


def test_a_shared_coin_would_be_another_law_and_no_breach() -> None:
    mechanism = histogram(2, "0.05", Sensitivity(2))
    world = world_of(mechanism, 5)
    assert not np.allclose(shared_coin(world, (4, 4)), world.law((4, 4)), atol=1e-3)
    for a, b in itertools.permutations([(1, 1), (0, 0)], 2):
        assert hockey_stick(shared_coin(world, a), shared_coin(world, b), 2.0) <= 0.05


def test_a_long_tail_passes_as_often_and_as_high_as_its_law_says() -> None:
    """A million singletons through the lazy path, of which only one value can come from each side of the coin."""
    mechanism, labels = histogram(1, "0.001"), 10**6
    profile = CountProfile(BoundedCounts([], [], ONE), {1: labels}, lambda counts, ranks: pa.array(ranks))
    answer = mechanism.release(profile, KnownBits("a million ends"))
    assert abs(len(answer) - 1000) < 5 * math.sqrt(1000)
    share = mechanism.narrowed / 2**64
    ends = {mechanism.reach: share * narrow_end(mechanism), mechanism.reach + 1: (1 - share) * wide_end(mechanism)}
    law = {value: chance / 0.001 for value, chance in ends.items()}
    accepts(g_test(answer.counts, law))
    rejects(g_test(answer.counts, {value: law[other] for value, other in zip(law, reversed(law), strict=True)}))


def wide_end(mechanism: TruncatedHistogram) -> float:
    return truncated(float(mechanism.scale), mechanism.reach)[mechanism.reach]


def narrow_end(mechanism: TruncatedHistogram) -> float:
    return truncated(float(mechanism.scale), mechanism.reach - 1)[mechanism.reach - 1]


@given(st.dictionaries(st.text(max_size=2), st.integers(1, 9), max_size=9), st.integers(0, 9), st.integers(1, 4))
def test_without_noise_both_paths_agree(counts: dict[str, int], cut: int, minimum: int) -> None:
    mechanism = histogram(2000, "1e-15", minimum=minimum)
    plain = mechanism.release(BoundedCounts.from_dict(counts, ONE))
    lazy = mechanism.release(profiled(counts, cut))
    assert lazy.labels.to_pylist() == plain.labels.to_pylist()
    assert lazy.counts.tolist() == plain.counts.tolist()
    assert set(plain.labels.to_pylist()) == {label for label, c in counts.items() if c > minimum}
    assert lazy.spent == plain.spent == mechanism.guarantee()


@pytest.mark.parametrize(
    "counts",
    [
        BoundedCounts.from_dict(TINY, ONE, fetched=4),
        profiled(TINY, 2, fetched=3),
        BoundedCounts.from_dict(TINY, Sensitivity(2)),
        BoundedCounts.from_dict(TINY, Sensitivity(1, 2)),
        BoundedCounts.from_dict(TINY, Sensitivity(1, adjacency="replace")),
        BoundedCounts.from_dict(TINY, ONE, minimum_count=2),
    ],
    ids=["largest only", "a profile of them", "more items", "rows", "other neighbours", "cut off below"],
)
def test_counts_that_were_not_priced_are_refused(counts: BoundedCounts | CountProfile) -> None:
    with pytest.raises(InvalidCountsError):
        MECHANISM.release(counts)


def test_wide_noise_is_drawn_without_a_table() -> None:
    mechanism = histogram("1e-6", "1e-8")
    assert not mechanism.wide.fits_a_table
    bits = KnownBits("wide")
    counts = BoundedCounts.from_dict({"always": 3 * mechanism.reach, "never": 1}, ONE)
    assert mechanism.release(counts, bits).labels.to_pylist() == ["always"]
    lazily = CountProfile(BoundedCounts([], [], ONE), {mechanism.reach: 40}, lambda counts, ranks: pa.array(ranks))
    passed = Counter(len(mechanism.release(lazily, bits)) for _ in range(5))
    assert sum(passed) > 0


def test_noise_that_reaches_far_has_a_plan_too() -> None:
    """The width of an interval is found by doubling, which must end where tails are flat for a long way."""
    expected = histogram(1, "1e-8", Sensitivity(100)).accuracy()
    assert expected.half_width == 300
    assert 1700 < expected.needed[50] < 1800
