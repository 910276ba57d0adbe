"""What is said beforehand comes true: the chance to appear, the users needed, the width of an error bar."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from tests.fixtures.known_bits import KnownBits
from tests.statistical.goodness import ALPHA

import unlisted as ul
from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.mechanisms.mechanism import PERCENTS, Mechanism
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.sensitivity import Sensitivity

ONE = Sensitivity(1)
GAUSSIAN, LAPLACE = DiscreteGaussian(Fraction(300)), DiscreteLaplace(Fraction(12))
BOTTOM = 400
MECHANISMS: dict[str, Mechanism] = {
    "threshold, Gaussian": ThresholdHistogram(GAUSSIAN, 107, ONE),
    "threshold, Laplace": ThresholdHistogram(LAPLACE, 201, ONE),
    "threshold, little noise": ThresholdHistogram(DiscreteGaussian(Fraction(1)), 8, ONE),
    "top, Gaussian": TopHistogram(GAUSSIAN, 140, 1, ONE),
    "top, Laplace": TopHistogram(LAPLACE, 250, 1, ONE),
    "ranking": TopK.at(Ranking(1, 1, ONE), epsilon="0.3", delta="1e-8"),
    "ranking, rows": TopK.at(Ranking(1, 1, Sensitivity(1, 3)), epsilon="0.3", delta="1e-8"),
}


def appeared(mechanism: Mechanism, count: int, runs: int) -> int:
    """How often an item of that count appears; where there is a cut, of that count above the first left out."""
    bits = KnownBits(f"appears {mechanism} {count}")
    if isinstance(mechanism, ThresholdHistogram):
        counts = BoundedCounts(np.arange(runs), np.full(runs, count), ONE)
        return len(mechanism.release(counts, bits))
    sensitivity = mechanism.ranking.sensitivity if isinstance(mechanism, TopK) else ONE
    counts = BoundedCounts(["item", "next"], [BOTTOM + count, BOTTOM], sensitivity, fetched=1)
    return sum(len(mechanism.release(counts, bits)) for _ in range(runs))


def is_off(times: int, runs: int, chance: float) -> bool:
    """Whether so many appearances are hardly possible at that chance."""
    return bool(stats.binomtest(times, runs, chance).pvalue < ALPHA)


@pytest.mark.parametrize("name", MECHANISMS)
def test_an_item_appears_as_often_as_was_said(name: str) -> None:
    mechanism = MECHANISMS[name]
    expected = mechanism.accuracy()
    runs = 20_000 if isinstance(mechanism, ThresholdHistogram) else 400
    count = expected.needed[50]
    times = appeared(mechanism, count, runs)
    assert not is_off(times, runs, expected.chance(count)), f"{times} of {runs}"
    # The twin: the chance of a count that is a little larger would be found out.
    larger = expected.needed[95]
    assert is_off(times, runs, expected.chance(larger))


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_users_needed_are_the_first_with_that_chance(name: str) -> None:
    expected = MECHANISMS[name].accuracy()
    assert tuple(expected.needed) == PERCENTS == (50, 95, 99)
    assert expected.needed[50] <= expected.needed[95] <= expected.needed[99]
    for percent, count in expected.needed.items():
        assert expected.chance(count) >= percent / 100
        assert expected.chance(count - 1) < percent / 100


def upper_tail(weight: Callable[[int], float], first: int) -> float:
    """Add up a law's masses from a value on, written down from its definition."""
    reach = range(-800, 801)
    return math.fsum(weight(z) for z in reach if z >= first) / math.fsum(weight(z) for z in reach)


@pytest.mark.parametrize(
    ("law", "weight"),
    [
        (GAUSSIAN, lambda z: math.exp(-(z**2) / 600)),
        (LAPLACE, lambda z: math.exp(-abs(z) / 12)),
        (DiscreteGaussian(Fraction(2)), lambda z: math.exp(-(z**2) / 4)),
    ],
)
def test_the_chances_are_those_of_the_exact_law(law: Any, weight: Callable[[int], float]) -> None:
    threshold = 107
    chance = ThresholdHistogram(law, threshold, ONE).accuracy().chance
    for count in range(threshold - 40, threshold + 40, 3):
        exact = upper_tail(weight, threshold - count + 1)
        assert chance(count) == pytest.approx(exact, rel=0.005, abs=1e-9)


@pytest.mark.parametrize(
    "law", [GAUSSIAN, LAPLACE, DiscreteGaussian(Fraction(1, 3)), DiscreteLaplace(Fraction(1, 3))]
)
def test_counts_are_as_close_as_was_said(law: Any) -> None:
    half = ThresholdHistogram(law, 300, ONE).accuracy().half_width
    assert half is not None
    noise = law.sample(40_000, KnownBits(f"half width {law}"))
    within = int((np.abs(noise) <= half).sum())
    assert stats.binom.cdf(within, len(noise), 0.95) > ALPHA, f"{within} of {len(noise)}"
    if half:
        # One less would not do, or the width would be padded.
        assert int((np.abs(noise) <= half - 1).sum()) < 0.955 * len(noise)


def test_a_bare_ranking_has_no_error_bar_and_one_with_counts_has() -> None:
    ranking = Ranking(3, 100, ONE)
    assert TopK.at(ranking, epsilon=1, delta="1e-8").accuracy().half_width is None
    assert TopK.at(ranking, epsilon=1, delta="1e-8", counts_law=GAUSSIAN).accuracy().half_width == 34


def test_only_answers_from_the_largest_counts_compete_with_what_was_left_out() -> None:
    assert not MECHANISMS["threshold, Gaussian"].accuracy().above_cut
    assert MECHANISMS["top, Gaussian"].accuracy().above_cut
    assert MECHANISMS["ranking"].accuracy().above_cut
    assert not TopK.at(Ranking(3, None, ONE), epsilon=1, delta="1e-8").accuracy().above_cut


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_curve_goes_from_never_to_always(name: str) -> None:
    curve = MECHANISMS[name].accuracy().curve()
    counts, chances = zip(*curve, strict=True)
    assert counts[0] == 0
    assert list(counts) == sorted(set(counts))
    assert all(first <= then for first, then in pairwise(chances))
    assert chances[0] < 0.01
    assert chances[-1] > 0.99
    assert all(isinstance(count, int) and isinstance(chance, float) for count, chance in curve)


@pytest.mark.parametrize(
    "budget",
    [
        ul.Budget(epsilon="1e-6", delta="1e-12"),
        ul.Budget(epsilon=1000, delta="0.4"),
        ul.Budget(rho="1e-9", delta="1e-300"),
    ],
)
def test_extreme_budgets_have_numbers_too(budget: ul.Budget) -> None:
    table = ul.table(pa.table({"user": [1], "item": ["a"]}), user="user")
    plans: list[Callable[[], ul.Plan]] = [
        lambda: table.histogram("item", budget=budget, items_per_user=2),
        lambda: table.top("item", k=2, budget=budget),
        lambda: table.top_histogram("item", budget=budget, items_per_user=2),
    ]
    for make in plans:
        plan = make()
        assert all(math.isfinite(chance) for _, chance in plan.accuracy.curve())
        assert plan.accuracy.needed[50] >= 1
        assert "Threshold" in str(plan)
