"""Algorithm 1: what it does with given noise, what it refuses, and what a budget buys."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fixtures.known_bits import KnownBits
from tests.mechanisms.scripted_noise import ScriptedLaw

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.sensitivity import Sensitivity

ONE = Sensitivity(1)
HISTOGRAM = st.dictionaries(st.text(max_size=2), st.integers(0, 12), max_size=8)


@given(HISTOGRAM, st.lists(st.integers(-12, 12), min_size=8, max_size=8), st.integers(1, 10))
def test_a_release_is_count_plus_noise_above_the_threshold(
    histogram: dict[str, int], noise: list[int], threshold: int
) -> None:
    """The algorithm again, in a line, on the same noise."""
    listed = [(label, count) for label, count in histogram.items() if count > 0]
    passed = [(label, c + z) for (label, c), z in zip(listed, noise, strict=False) if c + z > threshold]
    mechanism = ThresholdHistogram(ScriptedLaw(noise), threshold, ONE)
    answer = mechanism.release(BoundedCounts.from_dict(histogram, ONE))
    rows = list(zip(answer.labels.to_pylist(), answer.counts.tolist(), strict=True))
    assert rows == sorted(passed, key=lambda row: (-row[1], row[0].encode()))
    assert (answer.stopped, answer.noisy_threshold) == (False, None)
    assert answer.spent == mechanism.guarantee()


def test_the_boundary_belongs_to_the_hidden() -> None:
    """Released iff strictly above: noise that lifts a singleton exactly to the threshold shows nothing."""
    for noise, shown in [(3, []), (4, [5])]:
        mechanism = ThresholdHistogram(ScriptedLaw([noise]), 4, ONE)
        assert mechanism.release(BoundedCounts(["a"], [1], ONE)).counts.tolist() == shown


@pytest.mark.parametrize("law", [DiscreteLaplace(3), DiscreteGaussian(9)], ids=str)
def test_delta_is_the_mass_strictly_above(law: DiscreteLaplace | DiscreteGaussian) -> None:
    mechanism = ThresholdHistogram(law, 10, Sensitivity(1, 2))
    # A label of one user has count 2 at most; it shows if its noise is 9 or more.
    assert mechanism.guarantee().delta == law.tail(9)
    assert mechanism.guarantee().delta < law.tail(8)


def test_a_cut_off_moves_the_threshold_but_not_the_price() -> None:
    law = DiscreteGaussian(9)
    plain, cut = (ThresholdHistogram(law, 20, ONE, minimum_count=m) for m in (1, 5))
    assert cut.price() == plain.price()
    assert cut.failure() == law.tail(20 - 5 + 1)
    assert cut.failure() > plain.failure()
    assert ThresholdHistogram(law, 24, ONE, minimum_count=5).failure() == plain.failure()


class TestRefusals:
    @pytest.mark.parametrize("threshold", [0, -1, 2.5, "3", True, None])
    def test_thresholds_are_whole_numbers(self, threshold: object) -> None:
        with pytest.raises(InvalidArgumentError, match="threshold = "):
            ThresholdHistogram(DiscreteLaplace(1), threshold, ONE)

    def test_a_threshold_below_what_one_user_can_reach_is_refused(self) -> None:
        ThresholdHistogram(DiscreteLaplace(1), 7, Sensitivity(1, 3), minimum_count=5)
        with pytest.raises(InvalidArgumentError, match="threshold = 6 is not allowed: it must be 7 or above"):
            ThresholdHistogram(DiscreteLaplace(1), 6, Sensitivity(1, 3), minimum_count=5)

    def test_without_a_bound_on_items_there_is_no_threshold(self) -> None:
        with pytest.raises(InvalidArgumentError, match="items = None") as refusal:
            ThresholdHistogram(DiscreteLaplace(1), 7, Sensitivity(None))
        assert "A histogram needs a bound on the items of one user" in str(refusal.value)

    def test_the_largest_counts_are_not_all_counts(self) -> None:
        mechanism = ThresholdHistogram(DiscreteLaplace(1), 7, ONE)
        with pytest.raises(InvalidCountsError, match="needs all counts"):
            mechanism.release(BoundedCounts(["a"], [9], ONE, fetched=3))

    def test_an_unknown_noise_is_refused(self) -> None:
        with pytest.raises(InvalidArgumentError, match="noise = 'cauchy'"):
            ThresholdHistogram.for_budget(Budget(epsilon=1, delta=1e-6), ONE, "cauchy")


class TestForBudget:
    """The numbers are the theory's table of thresholds at a total of ε = 1 and δ = 1e-8."""

    BUDGET = Budget(epsilon=1, delta=1e-8)

    @pytest.mark.parametrize(
        ("items", "noise", "below", "kind"),
        [
            (1, "auto", 20, DiscreteLaplace),
            (2, "auto", 39, DiscreteLaplace),
            (10, "auto", 108, DiscreteGaussian),
            (1, "gaussian", 34, DiscreteGaussian),
            (10, "laplace", 203, DiscreteLaplace),
        ],
    )
    def test_thresholds_are_as_low_as_the_theory_says(
        self, items: int, noise: str, below: int, kind: type
    ) -> None:
        found = ThresholdHistogram.for_budget(self.BUDGET, Sensitivity(items), noise)
        assert isinstance(found.mechanism.law, kind)
        assert found.mechanism.threshold < below
        assert self.BUDGET.allows(found.mechanism.guarantee())
        assert str(found.mechanism.threshold) in found.reason

    @pytest.mark.parametrize("noise", ["laplace", "gaussian"])
    @pytest.mark.parametrize(("rho", "delta"), [("0.5", "1e-6"), ("0.01", "1e-9")])
    def test_rho_sets_the_noise_and_delta_the_threshold(self, noise: str, rho: str, delta: str) -> None:
        budget = Budget(rho=rho, delta=delta)
        found = ThresholdHistogram.for_budget(budget, Sensitivity(3, 2), noise).mechanism
        assert budget.allows(found.guarantee())
        assert found.guarantee().rho > Fraction(rho) * Fraction(999, 1000)
        lower = ThresholdHistogram(found.law, found.threshold - 1, found.sensitivity)
        assert not budget.allows(lower.guarantee())

    def test_both_deltas_are_inside_the_budget(self) -> None:
        """The threshold's δ and the conversion's δ together: neither is spent twice or forgotten."""
        found = ThresholdHistogram.for_budget(self.BUDGET, Sensitivity(10), "gaussian").mechanism
        guarantee = found.guarantee()
        assert 0 < guarantee.delta < self.BUDGET.delta
        assert guarantee.epsilon(at_delta="1e-8") <= 1
        assert guarantee.epsilon(at_delta="1e-8") > Fraction("0.999")

    def test_a_cut_off_is_allowed_for(self) -> None:
        plain = ThresholdHistogram.for_budget(self.BUDGET, ONE, "laplace").mechanism
        cut = ThresholdHistogram.for_budget(self.BUDGET, ONE, "laplace", minimum_count=4).mechanism
        assert cut.threshold == plain.threshold + 3

    @settings(max_examples=10)
    @given(
        st.integers(1, 5),
        st.integers(1, 3),
        st.sampled_from(["add_remove", "replace"]),
        st.sampled_from(["0.1", "1", "5"]),
        st.sampled_from(["1e-3", "1e-12"]),
    )
    def test_every_budget_is_kept(self, items: int, count: int, adjacency: str, epsilon: str, delta: str) -> None:
        budget = Budget(epsilon=epsilon, delta=delta)
        found = ThresholdHistogram.for_budget(budget, Sensitivity(items, count, adjacency))
        assert budget.allows(found.mechanism.guarantee())


def test_equal_bits_give_equal_answers_and_fresh_bits_do_not() -> None:
    mechanism = ThresholdHistogram(DiscreteGaussian(10**4), 50, ONE)
    counts = BoundedCounts([str(i) for i in range(20)], [1000] * 20, ONE)
    one, two = (mechanism.release(counts, KnownBits("same")).counts.tolist() for _ in range(2))
    assert one == two
    assert mechanism.release(counts).counts.tolist() != mechanism.release(counts).counts.tolist()
