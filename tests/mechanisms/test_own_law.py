"""A law that a user brings: accepted by Algorithm 1, its inexactness charged, refused where it cannot be."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.fixtures.known_bits import KnownBits
from tests.mechanisms.promises import breaches
from tests.mechanisms.scripted_noise import RoundedLaw, TwoSidedGeometric, UnpricedRoundedLaw
from tests.mechanisms.small_worlds import Thresholding, Window
from tests.mechanisms.test_small_worlds import all_pairs
from tests.statistical.goodness import accepts, g_test, rejects

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.count_profile import CountProfile
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.privacy.sensitivity import Sensitivity

ONE, TWO = Sensitivity(1), Sensitivity(2)


def mass(z: int) -> float:
    return 0.6 * 0.25 ** abs(z)


def test_an_exact_law_is_priced_by_what_it_says() -> None:
    mechanism = ThresholdHistogram(TwoSidedGeometric(), 5, TWO)
    guarantee = mechanism.guarantee()
    assert guarantee.rho == 2 * Fraction("1.3862943612")
    assert guarantee.direct.epsilon == 2 * Fraction("1.3862943612")
    assert guarantee.delta == guarantee.direct.delta
    assert float(guarantee.delta) == pytest.approx(1 - (1 - 0.8 * 4**-5) ** 2, rel=1e-12)


def test_its_guarantee_is_kept_on_all_small_worlds() -> None:
    mechanism = ThresholdHistogram(TwoSidedGeometric(), 3, TWO)
    world = Thresholding(3, mass, Window(4, 30))
    assert breaches(all_pairs(world, 2, 3, TWO), mechanism.guarantee()) == []


def test_its_releases_follow_it() -> None:
    mechanism = ThresholdHistogram(TwoSidedGeometric(), 2, ONE)
    counts = BoundedCounts(np.arange(20_000), [3] * 20_000, ONE)
    answer = mechanism.release(counts, KnownBits("own law"))
    released = {value: mass(value - 3) for value in range(3, 24)}
    hidden = 1 - math.fsum(released.values())
    drawn = np.concatenate([answer.counts, np.full(20_000 - len(answer), 2)])
    accepts(g_test(drawn, {2: hidden} | released))
    narrower = {value: 7 / 9 * 0.125 ** abs(value - 3) for value in range(3, 24)}
    rejects(g_test(drawn, {2: 1 - math.fsum(narrower.values())} | narrower))


def test_an_inexact_sampler_is_charged_to_delta() -> None:
    """(1 + e^ε)·n·tv on top of the failure, and ρ follows from the (ε, δ) statement."""
    exact, rounded = (ThresholdHistogram(law, 5, TWO).guarantee() for law in (TwoSidedGeometric(), RoundedLaw()))
    epsilon = 2 * 1.3862943612
    charged = (1 + math.exp(epsilon)) * 2 / 4**10
    assert float(rounded.delta - exact.delta) == pytest.approx(charged, rel=1e-9)
    assert rounded.direct.delta == rounded.delta
    assert rounded.direct.epsilon == exact.direct.epsilon
    assert float(rounded.rho) == pytest.approx(epsilon * math.tanh(epsilon / 2), rel=1e-9)


def test_an_inexact_sampler_without_an_epsilon_is_refused() -> None:
    mechanism = ThresholdHistogram(UnpricedRoundedLaw(), 5, ONE)
    for ask in (mechanism.guarantee, lambda: mechanism.release(BoundedCounts(["a"], [9], ONE))):
        with pytest.raises(InvalidArgumentError, match=r"law = .* exact, or \(ε, δ\)-private"):
            ask()
    counted = TopK.at(Ranking(1, 1, ONE), epsilon=1, delta="1e-9", counts_law=UnpricedRoundedLaw())
    with pytest.raises(InvalidArgumentError, match="Give the law an `epsilon`"):
        counted.guarantee()


def test_it_may_count_the_winners_too() -> None:
    counted = TopK.at(Ranking(1, 1, ONE), epsilon=1, delta="1e-9", counts_law=TwoSidedGeometric())
    assert counted.counts_price().rho == Fraction("1.3862943612")


def test_a_lazy_tail_needs_tails_that_are_known_exactly() -> None:
    mechanism = ThresholdHistogram(TwoSidedGeometric(), 5, ONE)
    profile = CountProfile(BoundedCounts([], [], ONE), {1: 5}, lambda counts, ranks: [])
    with pytest.raises(InvalidArgumentError, match="one whose tails are known exactly"):
        mechanism.release(profile)
