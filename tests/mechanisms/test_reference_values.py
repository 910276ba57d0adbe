"""Thresholds and attained δ against the reference values of the theory, to the digits given there."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from tests.mechanisms.continual.tree_failure import TreeFailure
from tests.mechanisms.small_worlds import mass_of

from unlisted.mechanisms.continual.binary.histogram import RunningHistogram
from unlisted.mechanisms.continual.binary.tree import largest_popcount
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.numbers import exact
from unlisted.privacy.search import smallest
from unlisted.privacy.sensitivity import Sensitivity

DIGITS = 1e-11
"""Twelve significant digits are given; half a unit of the last is at most this much of the value."""


def lowest(build: Callable, delta: str, at_least: int) -> tuple[int, Fraction]:
    """The lowest threshold whose escape is within δ, and that escape."""
    limit = exact("delta", delta)
    threshold = smallest(lambda t: build(t).failure() <= limit, at_least)
    return threshold, build(threshold).failure()


@pytest.mark.parametrize(
    ("scale", "delta", "items", "count", "threshold", "attained"),
    [
        (1, "1e-8", 1, 1, 19, 4.09597239998e-9),
        (1, "1e-8", 10, 1, 21, 5.54329583498e-9),
        (10, "1e-10", 100, 1, 270, 9.86713510902e-11),
        (10, "1e-6", 3, 5, 147, 9.70179535144e-7),
        (1, "1e-9", 7, 2, 24, 5.25142459516e-10),
    ],
)
def test_algorithm_1_discrete_laplace(
    scale: int, delta: str, items: int, count: int, threshold: int, attained: float
) -> None:
    law, sensitivity = DiscreteLaplace(scale), Sensitivity(items, count)
    found = lowest(lambda t: ThresholdHistogram(law, t, sensitivity), delta, count)
    assert found[0] == threshold
    assert float(found[1]) == pytest.approx(attained, rel=DIGITS)


@pytest.mark.parametrize(
    ("variance", "delta", "items", "count", "threshold", "attained"),
    [
        (1, "1e-8", 1, 1, 6, 6.08502259097e-9),
        (1, "1e-8", 10, 1, 7, 9.13977365822e-11),
        (100, "1e-10", 100, 1, 71, 8.75957902157e-11),
        (100, "1e-6", 3, 5, 55, 6.55462784526e-7),
        (1, "1e-9", 7, 2, 8, 6.39784156084e-11),
    ],
)
def test_algorithm_1_discrete_gaussian(
    variance: int, delta: str, items: int, count: int, threshold: int, attained: float
) -> None:
    law, sensitivity = DiscreteGaussian(variance), Sensitivity(items, count)
    found = lowest(lambda t: ThresholdHistogram(law, t, sensitivity), delta, count)
    assert found[0] == threshold
    assert float(found[1]) == pytest.approx(attained, rel=DIGITS)


@pytest.mark.parametrize(
    ("variance", "delta", "entering", "threshold", "attained"),
    [
        (1, "1e-8", 1, 9, 4.56718369469e-10),
        (1, "1e-8", 10, 9, 4.55909053405e-9),
        (16, "1e-6", 100, 33, 4.28266469864e-7),
    ],
)
def test_algorithm_2_discrete_gaussian(
    variance: int, delta: str, entering: int, threshold: int, attained: float
) -> None:
    law = DiscreteGaussian(variance)
    found = lowest(lambda t: TopHistogram(law, t, 1000, Sensitivity(entering)), delta, 1)
    assert found[0] == threshold
    assert float(found[1]) == pytest.approx(attained, rel=DIGITS)
    # ℓ = min(D0, k̄): the same value with k̄ as the smaller one.
    assert TopHistogram(law, threshold, entering, Sensitivity(None)).failure() == found[1]


@pytest.mark.parametrize(
    ("scale", "delta", "entering", "threshold", "per_item"),
    [(1, "1e-8", 1, 21, 5.86490559963e-9), (2, "1e-6", 2, 33, 3.81948169019e-7)],
)
def test_algorithm_2_discrete_laplace(
    scale: int, delta: str, entering: int, threshold: int, per_item: float
) -> None:
    law = DiscreteLaplace(scale)
    found = lowest(lambda t: TopHistogram(law, t, 1000, Sensitivity(entering)), delta, 1)
    assert found[0] == threshold
    assert float(found[1] / entering) == pytest.approx(per_item, rel=DIGITS)


@pytest.mark.parametrize(
    ("epsilon", "delta", "entering", "count", "threshold"),
    [
        ("1", "1e-8", 1, 1, 19.4206807340),
        ("1", "1e-8", 100, 1, 24.0258509199),
        ("0.1", "1e-10", 1000, 1, 300.336062088),
        ("0.5", "1e-6", 10, 3, 99.7085679058),
    ],
)
def test_algorithm_3_gumbel(epsilon: str, delta: str, entering: int, count: int, threshold: float) -> None:
    ranking = Ranking(5, 10_000, Sensitivity(entering, count))
    found = TopK.at(ranking, epsilon=epsilon, delta=delta)
    assert float(found.threshold) == pytest.approx(threshold, rel=DIGITS)
    assert found.failure() <= exact("delta", delta)
    assert found.failure() == pytest.approx(float(delta), rel=1e-9)


BINARY = [
    # (variance, Δ0, L, threshold, chance per item, exact chance per item)
    (1, 1, 7, 11, 4.10753612571e-10, 4.10739158781e-10),
    (4, 10, 31, 28, 3.73197580435e-10, 3.71376783701e-10),
    (9, 1, 365, 50, 5.17436676485e-9, 4.93656680462e-9),
]


def flat(variance: int, threshold: int, rounds: int, items: int) -> RunningHistogram:
    thresholds = (threshold,) * largest_popcount(rounds)
    return RunningHistogram(DiscreteGaussian(variance), thresholds, rounds, Sensitivity(items))


@pytest.mark.parametrize(("variance", "items", "rounds", "threshold", "per_item", "exactly"), BINARY)
def test_binary_mechanism_by_popcount(
    variance: int, items: int, rounds: int, threshold: int, per_item: float, exactly: float
) -> None:
    found = lowest(lambda t: flat(variance, t, rounds, items), "1e-8", 1)
    assert found[0] == threshold
    assert float(flat(variance, threshold, rounds, 1).failure()) == pytest.approx(per_item, rel=DIGITS)


@pytest.mark.parametrize(("variance", "items", "rounds", "threshold", "per_item", "exactly"), BINARY)
def test_binary_mechanism_without_the_union_bound(
    variance: int, items: int, rounds: int, threshold: int, per_item: float, exactly: float
) -> None:
    above = [threshold - 1] * largest_popcount(rounds)
    tree = TreeFailure(mass_of(DiscreteGaussian(variance)), above, reach=threshold + 50)
    assert tree.chance(rounds) == pytest.approx(exactly, rel=DIGITS)
    assert tree.chance(rounds) < per_item


@pytest.mark.parametrize("rounds", [1, 2, 3, 6, 7, 12, 100])
def test_the_union_over_popcounts_covers_the_exact_chance(rounds: int) -> None:
    """Thresholds that differ by popcount, as calibration makes them, and a count of 2."""
    law = DiscreteGaussian(3)
    thresholds = tuple(2 + 4 + 2 * ones for ones in range(1, largest_popcount(rounds) + 1))
    mechanism = RunningHistogram(law, thresholds, rounds, Sensitivity(1, 2))
    tree = TreeFailure(mass_of(law), [threshold - 2 for threshold in thresholds], reach=80)
    exactly, bound = tree.chance(rounds), float(mechanism.failure())
    assert exactly <= bound * (1 + 1e-12)
    assert bound < 1.5 * exactly


def test_binary_price() -> None:
    """ρ = D0·m·Δ∞²/2σ² with m = floor(log2 L) + 1."""
    for rounds, nodes in [(1, 1), (2, 2), (7, 3), (8, 4), (365, 9), (10**6, 20)]:
        thresholds = (100,) * largest_popcount(rounds)
        mechanism = RunningHistogram(DiscreteGaussian(50), thresholds, rounds, Sensitivity(3, 2))
        assert mechanism.guarantee().rho == Fraction(3 * nodes * 4, 100)


def test_histogram_prices() -> None:
    gaussian, laplace = DiscreteGaussian(10), DiscreteLaplace(10)
    assert ThresholdHistogram(gaussian, 50, Sensitivity(3, 2)).price().rho == Fraction(3 * 4, 20)
    assert ThresholdHistogram(gaussian, 50, Sensitivity(3, 2, "replace")).price().rho == Fraction(6 * 4, 20)
    assert ThresholdHistogram(laplace, 50, Sensitivity(3, 2)).price().direct.epsilon == Fraction(6, 10)
    # Algorithm 2: min(D0, k̄+1), and for an unbounded D0 k̄+1, not k̄.
    assert TopHistogram(gaussian, 50, 2, Sensitivity(9)).price().rho == Fraction(3, 20)
    assert TopHistogram(gaussian, 50, 2, Sensitivity(None)).price().rho == Fraction(3, 20)
    assert TopHistogram(gaussian, 50, 9, Sensitivity(2)).price().rho == Fraction(2, 20)
    assert TopHistogram(gaussian, 50, 9, Sensitivity(2, 1, "replace")).price().rho == Fraction(4, 20)
    assert TopHistogram(gaussian, 50, 2, Sensitivity(2, 1, "replace")).price().rho == Fraction(3, 20)
    assert TopHistogram(laplace, 50, 9, Sensitivity(2)).price().direct.epsilon == Fraction(2, 10)


def test_ranking_prices() -> None:
    """ε²/8 for each draw, ⊥ included: min(k, k̄+1) of them; replacing one user doubles the range."""
    for k, fetched, draws in [(1, 1, 1), (2, 1, 2), (5, 1, 2), (5, 100, 5), (5, None, 5)]:
        mechanism = TopK.at(Ranking(k, fetched, Sensitivity(1)), epsilon="0.2", delta=1e-9)
        assert mechanism.guarantee().rho == draws * Fraction("0.005")
        assert mechanism.guarantee().direct.epsilon == draws * Fraction("0.2")
    replaced = TopK.at(Ranking(3, 9, Sensitivity(1, 1, "replace")), epsilon="0.2", delta=1e-9)
    assert replaced.guarantee().rho == 3 * Fraction("0.2") ** 2 / 2
    counted = TopK.at(Ranking(3, 9, Sensitivity(2)), epsilon="0.2", delta=1e-9, counts_law=DiscreteGaussian(10))
    assert counted.counts_price().rho == Fraction(2, 20)
    unbounded = TopK.at(
        Ranking(3, 9, Sensitivity(None)), epsilon="0.2", delta=1e-9, counts_law=DiscreteGaussian(10)
    )
    assert unbounded.counts_price().rho == Fraction(3, 20)
