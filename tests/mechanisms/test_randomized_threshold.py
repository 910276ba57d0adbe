"""A threshold that a coin lowers: δ used up and not exceeded, on all small neighbours and in the draws."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.fixtures.known_bits import KnownBits
from tests.mechanisms.promises import breaches
from tests.mechanisms.scripted_noise import TwoSidedGeometric
from tests.mechanisms.small_worlds import Histogram, Window, histograms, mass_of, neighbours
from tests.mechanisms.test_lazy_tail import TINY, profiled
from tests.mechanisms.truncated_worlds import CoinWorld, Side, written_out
from tests.statistical.goodness import accepts, as_numbers, g_test, rejects

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.count_profile import CountProfile
from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.mechanisms.randomized_threshold import most_lowered_inside
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.guarantee import Budget, Guarantee
from unlisted.privacy.sensitivity import Sensitivity

ONE = Sensitivity(1)
HALF = 2**63
REACH = 45


def coin(
    law: object, threshold: int, sensitivity: Sensitivity = ONE, share: float = 0.5, **more: object
) -> ThresholdHistogram:
    return ThresholdHistogram(law, threshold, sensitivity, **more, lowered=int(share * 2**64))


def world_of(mechanism: ThresholdHistogram, largest: int, share: float | None = None, lower: int = 0) -> CoinWorld:
    share = mechanism.lowered / 2**64 if share is None else share
    masses = written_out(mass_of(mechanism.law), REACH)
    threshold = mechanism.threshold - lower
    sides = (Side(1 - share, masses, threshold), Side(share, masses, threshold - 1))
    return CoinWorld(sides, Window(threshold, largest + REACH), mechanism.minimum_count)


def good_part(world: CoinWorld, own: Histogram, other: Histogram) -> np.ndarray:
    """The law where no label shows that only this side lists, and the other's would have stayed hidden too."""
    law = world.law(own) * (world.law(other) > 0)
    mine, others = ({i for i, c in enumerate(h) if c >= world.smallest_listed} for h in (own, other))
    pads = max(0, len(others - mine) - len(mine - others))
    # A pad has the largest count that is not listed.
    floor = dataclasses.replace(world, smallest_listed=0).one_label(world.smallest_listed - 1)[0]
    return law * floor**pads


def all_pairs(world: CoinWorld, largest: int, sensitivity: Sensitivity) -> Iterator:
    laws = {histogram: world.law(histogram) for histogram in histograms(2, largest)}
    for a, b in neighbours(2, largest, sensitivity):
        yield laws[a], laws[b], (good_part(world, a, b), good_part(world, b, a))


MECHANISMS = [
    coin(DiscreteLaplace(1), 3),
    coin(DiscreteLaplace(1), 4, Sensitivity(2), share=0.3),
    coin(DiscreteLaplace(2), 7, Sensitivity(2, 2), share=0.9),
    coin(DiscreteLaplace(1), 3, Sensitivity(1, adjacency="replace")),
    coin(DiscreteLaplace(1), 6, minimum_count=3, share=0.7),
    coin(DiscreteGaussian(1), 3),
    coin(DiscreteGaussian(2), 4, Sensitivity(2), share=0.8),
    coin(DiscreteGaussian(4), 7, Sensitivity(2, 2), share=0.2),
    coin(DiscreteGaussian(2), 4, Sensitivity(2), share=0.8, at_epsilon=Fraction(1)),
    coin(DiscreteGaussian(1), 4, Sensitivity(1, adjacency="replace"), at_epsilon=Fraction(1, 2)),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_it_keeps_its_promise_on_all_neighbours(mechanism: ThresholdHistogram) -> None:
    pairs = all_pairs(world_of(mechanism, 3), 3, mechanism.sensitivity)
    assert breaches(pairs, mechanism.guarantee()) == []


@pytest.mark.parametrize("mechanism", [one for one in MECHANISMS if one.minimum_count == 1][:3], ids=str)
def test_a_larger_share_or_a_lower_threshold_breaks(mechanism: ThresholdHistogram) -> None:
    share = mechanism.lowered / 2**64
    more = world_of(mechanism, 3, share=share + 0.05)
    assert breaches(all_pairs(more, 3, mechanism.sensitivity), mechanism.guarantee()) != []
    lower = world_of(mechanism, 3, lower=1)
    assert breaches(all_pairs(lower, 3, mechanism.sensitivity), mechanism.guarantee()) != []


def test_delta_is_attained() -> None:
    mechanism = coin(DiscreteLaplace(1), 4, Sensitivity(2), share=0.3)
    world = world_of(mechanism, 1)
    with_user, without = world.law((1, 1)), world.law((0, 0))
    assert with_user[without == 0].sum() == pytest.approx(float(mechanism.guarantee().delta), rel=1e-9)


class TestBudgets:
    @pytest.mark.parametrize("items", [1, 2, 3, 10])
    @pytest.mark.parametrize("noise", ["laplace", "gaussian"])
    @pytest.mark.parametrize(
        "budget", [Budget(epsilon=1, delta="1e-8"), Budget(rho="0.02", delta="1e-6")], ids=str
    )
    def test_delta_is_used_up_and_not_exceeded(self, items: int, noise: str, budget: Budget) -> None:
        today = ThresholdHistogram.for_budget(budget, Sensitivity(items), noise).mechanism
        found = today.with_randomized_threshold(budget)
        promised = found.guarantee()
        assert budget.allows(promised)
        used = promised.delta if budget.epsilon is None or promised.direct is None else promised.direct.delta
        assert used > budget.delta * Fraction(9999, 10_000)
        # One coin in a thousand more would be too much.
        more = dataclasses.replace(found, lowered=found.lowered + 2**54)
        assert not budget.allows(more.guarantee())
        assert dataclasses.replace(found, lowered=0) == today
        assert today.threshold - 1 < found.mean_threshold < today.threshold

    def test_reference_values(self) -> None:
        """Laplace noise of scale 1: T = 19 at δ = 1e-8, of which it alone would use 4.1e-9."""
        budget = Budget(epsilon=1, delta="1e-8")
        found = ThresholdHistogram.for_budget(budget, ONE).mechanism.with_randomized_threshold(budget)
        higher, lower = (math.exp(-t) / (1 + math.exp(-1)) for t in (19, 18))
        assert found.threshold == 19
        assert found.lowered / 2**64 == pytest.approx((1e-8 - higher) / (lower - higher), rel=1e-12)
        assert found.guarantee().direct is not None
        assert found.guarantee().direct.delta <= Fraction("1e-8")


REPEATS = 1500


def outcome_law(mechanism: ThresholdHistogram, **wrong: float) -> dict[tuple, float]:
    """Every answer on TINY, values pooled from three above the threshold on."""
    world, last = world_of(mechanism, 4, **wrong), mechanism.threshold + 3
    rows = []
    for count in TINY.values():
        row: dict[int, float] = {}
        for value, chance in zip([0, *world.window.values], world.one_label(count), strict=True):
            row[min(value, last)] = row.get(min(value, last), 0.0) + float(chance)
        row[0] += 1 - math.fsum(row.values())
        rows.append({value: chance for value, chance in row.items() if chance > 0})
    return {
        tuple(value for value, _ in values): math.prod(p for _, p in values)
        for values in itertools.product(*(row.items() for row in rows))
    }


@pytest.mark.parametrize("cut", [None, 1, 4])
@pytest.mark.parametrize("law", [DiscreteLaplace(2), DiscreteGaussian(4)], ids=str)
def test_what_is_drawn_has_the_joint_law_listed_or_unnamed(
    law: DiscreteLaplace | DiscreteGaussian, cut: int | None
) -> None:
    mechanism = coin(law, 3)
    counts = BoundedCounts.from_dict(TINY, ONE) if cut is None else profiled(TINY, cut)
    bits, found = KnownBits(f"coin {law} {cut}"), []
    for _ in range(REPEATS):
        answer = mechanism.release(counts, bits)
        shown = dict(zip(answer.labels.to_pylist(), answer.counts.tolist(), strict=True))
        found.append(tuple(min(shown.get(label, 0), 6) for label in TINY))
    accepts(g_test(*as_numbers(found, outcome_law(mechanism))))
    rejects(g_test(*as_numbers(found, outcome_law(mechanism, share=0.1))))
    rejects(g_test(*as_numbers(found, outcome_law(mechanism, share=0.9))))


@pytest.mark.parametrize("how", ["listed", "unnamed"])
def test_coins_are_not_shared_by_labels(how: str) -> None:
    """In one release of many labels, those just at the threshold come about half of the time."""
    mechanism, labels = coin(DiscreteLaplace("0.02"), 3), 4000
    counts: BoundedCounts | CountProfile = BoundedCounts(np.arange(labels), np.full(labels, 3), ONE)
    if how == "unnamed":
        counts = CountProfile(BoundedCounts([], [], ONE), {3: labels}, lambda counts, ranks: pa.array(ranks))
    answer = mechanism.release(counts, KnownBits(f"coins {how}"))
    accepts(g_test([1] * len(answer) + [0] * (labels - len(answer)), {0: 0.5, 1: 0.5}))


def test_without_a_share_the_same_bits_give_the_same_answer() -> None:
    plain, never = ThresholdHistogram(DiscreteLaplace(2), 3, ONE), coin(DiscreteLaplace(2), 3, share=0)
    for counts in (BoundedCounts.from_dict(TINY, ONE), profiled(TINY, 2)):
        one, other = (m.release(counts, KnownBits("same")) for m in (plain, never))
        assert one.labels.to_pylist() == other.labels.to_pylist()
        assert one.counts.tolist() == other.counts.tolist()
        assert one.spent == other.spent
    assert plain.guarantee() == never.guarantee()


class TestRefusals:
    def test_the_lowest_threshold_is_not_lowered(self) -> None:
        with pytest.raises(InvalidArgumentError, match="lowest there is"):
            coin(DiscreteLaplace(1), 1)
        budget = Budget(epsilon=8, delta="0.4")
        lowest = ThresholdHistogram(DiscreteLaplace("0.2"), 1, ONE)
        assert lowest.with_randomized_threshold(budget) == lowest

    @pytest.mark.parametrize("lowered", [-1, 2**64, 0.5, None])
    def test_a_share_is_a_whole_number_below_all(self, lowered: object) -> None:
        with pytest.raises(InvalidArgumentError, match="lowered"):
            ThresholdHistogram(DiscreteLaplace(1), 9, ONE, lowered=lowered)

    @pytest.mark.parametrize(
        "counts",
        [
            BoundedCounts.from_dict(TINY, ONE, fetched=4),
            profiled(TINY, 2, fetched=3),
            BoundedCounts.from_dict(TINY, Sensitivity(2)),
            BoundedCounts.from_dict(TINY, ONE, minimum_count=2),
        ],
        ids=["largest only", "a profile of them", "more items", "cut off below"],
    )
    def test_counts_that_were_not_priced(self, counts: BoundedCounts | CountProfile) -> None:
        with pytest.raises(InvalidCountsError):
            coin(DiscreteLaplace(1), 9).release(counts)

    def test_a_law_of_one_s_own_needs_all_counts(self) -> None:
        mechanism = coin(TwoSidedGeometric(), 9)
        mechanism.release(BoundedCounts.from_dict(TINY, ONE), KnownBits("own"))
        with pytest.raises(InvalidArgumentError, match="tails are known exactly"):
            mechanism.release(profiled(TINY, 2), KnownBits("own"))


def test_the_guarantee_of_a_half_share_lies_between_two_thresholds() -> None:
    half, higher, lower = (
        coin(DiscreteGaussian(4), t, share=s).guarantee() for t, s in ((9, 0.5), (9, 0), (8, 0))
    )
    assert higher.delta < half.delta < lower.delta
    assert half.delta == pytest.approx((higher.delta + lower.delta) / 2)
    assert isinstance(half, Guarantee)
    assert half.rho == higher.rho


@pytest.mark.parametrize("limit", [0, 1, HALF - 1, HALF, 2**64 - 1, 0x0123_4567_89AB_CDEF])
def test_the_search_for_a_share_ends_at_the_largest_that_is_allowed(limit: int) -> None:
    assert most_lowered_inside(lambda lowered: lowered <= limit) == limit


def test_a_search_of_three_steps_looks_three_times_at_the_first_bits() -> None:
    looked: list[int] = []

    def allows(lowered: int) -> bool:
        looked.append(lowered)
        return lowered <= 5 << 61

    assert most_lowered_inside(allows, 3) == 5 << 61
    assert looked == [4 << 61, 6 << 61, 5 << 61]
