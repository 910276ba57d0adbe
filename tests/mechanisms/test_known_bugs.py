"""Mistakes that other libraries made and that fit nowhere else in these tests, each by name.

Beside them: strictness at the threshold, noise of the wrong law, permute-and-flip, replace-one constants, ignored
cut-offs, free ⊥ and listed zeros are in test_what_breaks.py; shared noise in test_release_laws.py; overflow in
test_running_histogram.py and test_counts.py; order, shapes and hidden bytes in the conformance suite.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.fixtures.known_bits import KnownBits

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.mechanisms.continual.binary.histogram import RunningHistogram
from unlisted.mechanisms.pay_what_you_get import PayWhatYouGet
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.guarantee import Budget, Guarantee
from unlisted.privacy.sensitivity import Sensitivity

ONE = Sensitivity(1)


def test_thresholding_without_a_cap_on_items_is_refused_everywhere() -> None:
    """A threshold for one label says nothing about a user who has a thousand."""
    for build in (
        lambda: ThresholdHistogram(DiscreteLaplace(1), 30, Sensitivity(None)),
        lambda: ThresholdHistogram.for_budget(Budget(epsilon=1, delta="1e-6"), Sensitivity(None)),
        lambda: RunningHistogram(DiscreteGaussian(1), (30,), 1, Sensitivity(None)),
        lambda: Ranking(5, None, Sensitivity(None)),
    ):
        with pytest.raises(InvalidArgumentError, match="items = None is not allowed") as refusal:
            build()
        assert "needs a bound on the items of one user" in str(refusal.value)


def test_a_delta_spent_in_the_noise_and_one_in_the_threshold_are_two() -> None:
    """Two releases in one ledger: both thresholds' δ add up, and the conversion's comes on top."""
    budget = Budget(epsilon=1, delta="1e-8")
    mechanism = ThresholdHistogram.for_budget(budget, Sensitivity(5), "gaussian").mechanism
    both = mechanism.guarantee() + mechanism.guarantee()
    assert both.delta == 2 * mechanism.guarantee().delta
    with pytest.raises(InvalidArgumentError, match="at_delta"):
        both.epsilon(at_delta=both.delta)
    assert both.epsilon(at_delta=both.delta + Fraction("1e-8")) > 1


def test_the_declared_distance_of_neighbours_is_enforced() -> None:
    """Exchanging one user changes two labels: counts for the one neighbourhood never meet the other's price."""
    replaced = Sensitivity(1, 1, "replace")
    for mechanism in (
        ThresholdHistogram(DiscreteLaplace(1), 30, ONE),
        TopHistogram(DiscreteLaplace(1), 30, 5, ONE),
        TopK.at(Ranking(1, 5, ONE), epsilon=1, delta="1e-9"),
    ):
        with pytest.raises(InvalidCountsError, match="'replace' neighbours cannot be released under 'add_remove'"):
            mechanism.release(BoundedCounts(["a"], [99], replaced))
    single = ThresholdHistogram(DiscreteGaussian(9), 30, ONE).guarantee()
    double = ThresholdHistogram(DiscreteGaussian(9), 30, replaced).guarantee()
    assert (double.rho, double.delta) == (2 * single.rho, single.delta)


def test_an_odometer_adds_what_was_spent_and_converts_last() -> None:
    """Two histograms of σ = 10, at 1e-8 beside the thresholds: ε = 0.752 together, 1.073 one by one."""
    one = ThresholdHistogram(DiscreteGaussian(100), 80, ONE).guarantee()
    assert one.rho == Fraction(1, 200)
    together = (one + one).epsilon(at_delta=2 * one.delta + Fraction("1e-8"))
    assert float(together) == pytest.approx(0.752325885458, rel=1e-9)
    first = 2 * one.epsilon(at_delta=one.delta + Fraction("5e-9"))
    assert float(first) == pytest.approx(1.07263407457, rel=1e-9)


def test_what_is_charged_is_the_sum_of_what_was_answered() -> None:
    budget = PayWhatYouGet(Guarantee(Fraction(1), Fraction(1, 1000)))
    counts = BoundedCounts([str(i) for i in range(9)], [100 * (i + 1) for i in range(9)], ONE, fetched=20)
    spent = Guarantee(Fraction(0), Fraction(0))
    for i, epsilon in enumerate(["0.1", "0.3", "0.2", "0.1"]):
        question = TopK.at(Ranking(3 + i, 20, ONE), epsilon=epsilon, delta="1e-6")
        answer = budget.release(question, counts, KnownBits(f"sum {i}"))
        spent = spent + Guarantee(answer.spent.rho, answer.spent.delta)
    assert budget.left == Guarantee(1 - spent.rho, Fraction(1, 1000) - spent.delta)


@pytest.mark.parametrize("labels", [0, 1, 2, 255, 256, 257, 1491, 1492, 2**16 - 1, 2**16, 2**18, 2**18 + 1])
def test_no_number_of_labels_is_special(labels: int) -> None:
    """A peer's quantile crashed at 1492 rows and not at 1491: sizes around the blocks of the samplers."""
    counts = BoundedCounts(np.arange(labels), np.full(labels, 10**6), ONE)
    answer = ThresholdHistogram(DiscreteGaussian(9), 50, ONE).release(counts, KnownBits(f"{labels} labels"))
    assert len(answer) == labels


def test_released_counts_lie_on_the_whole_numbers_whatever_the_data() -> None:
    """No lattice of floats to tell counts apart by: every value from a wide range of noise is there."""
    law = DiscreteGaussian(9)
    for count in (1000, 1001):
        counts = BoundedCounts(np.arange(50_000), np.full(50_000, count), ONE)
        answer = ThresholdHistogram(law, 50, ONE).release(counts, KnownBits(f"lattice {count}"))
        assert answer.counts.dtype == np.int64
        assert set(range(count - 9, count + 10)) <= set(answer.counts.tolist())


def test_negative_noisy_counts_are_not_clamped() -> None:
    """Clamping at zero would bias: what is not above a threshold is hidden, and winners keep their sign."""
    mechanism = TopK.at(Ranking(20, 30, ONE), epsilon=2000, delta="1e-9", counts_law=DiscreteGaussian(400))
    counts = BoundedCounts([str(i) for i in range(20)], [3] * 20, ONE)
    assert min(mechanism.release(counts, KnownBits("negative")).counts) < 0
