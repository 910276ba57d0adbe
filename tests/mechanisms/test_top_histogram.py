"""Algorithm 2: what it does with given noise, what it refuses, and what a budget buys."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mechanisms.scripted_noise import ScriptedLaw

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.count_profile import CountProfile
from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.mechanisms.top_histogram import TopHistogram, entering
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.sensitivity import Sensitivity

ONE = Sensitivity(1)
HISTOGRAM = st.dictionaries(st.text(max_size=2), st.integers(0, 9), max_size=8)


@given(
    HISTOGRAM,
    st.lists(st.integers(-12, 12), min_size=10, max_size=10),
    st.integers(1, 6),
    st.integers(1, 9),
    st.integers(1, 3),
)
def test_a_release_is_the_top_above_a_noisy_threshold(
    histogram: dict[str, int], noise: list[int], threshold: int, fetched: int, minimum: int
) -> None:
    """The algorithm again, plainly: sort, cut, add noise, compare. The first noise is the threshold's."""
    ranked = sorted(
        ((label, count) for label, count in histogram.items() if count >= minimum),
        key=lambda row: (-row[1], row[0].encode()),
    )
    bottom = ranked[fetched][1] if len(ranked) > fetched else minimum - 1
    over = threshold + bottom + noise[0]
    noisy = [(label, count + z) for (label, count), z in zip(ranked[:fetched], noise[1:], strict=False)]
    passed = sorted(((label, c) for label, c in noisy if c > over), key=lambda row: (-row[1], row[0].encode()))
    mechanism = TopHistogram(ScriptedLaw(noise), threshold, fetched, ONE)
    answer = mechanism.release(BoundedCounts.from_dict(histogram, ONE, minimum_count=minimum))
    assert list(zip(answer.labels.to_pylist(), answer.counts.tolist(), strict=True)) == passed
    assert answer.noisy_threshold == over


@given(HISTOGRAM, st.lists(st.integers(-9, 9), min_size=10, max_size=10), st.integers(1, 9))
def test_all_counts_or_only_the_largest_give_the_same_answer(
    histogram: dict[str, int], noise: list[int], fetched: int
) -> None:
    everything = BoundedCounts.from_dict(histogram, ONE)
    rows = sorted(histogram.items(), key=lambda row: (-row[1], row[0].encode()))[: fetched + 1]
    top = BoundedCounts.from_dict(dict(rows), ONE, fetched=fetched)
    one, other = (TopHistogram(ScriptedLaw(noise), 2, fetched, ONE).release(c) for c in (everything, top))
    assert one.labels.equals(other.labels)
    assert one.counts.tolist() == other.counts.tolist()
    assert one.noisy_threshold == other.noisy_threshold


def test_an_empty_top_still_draws_its_threshold() -> None:
    answer = TopHistogram(ScriptedLaw([5]), 3, 2, ONE).release(BoundedCounts([], [], ONE, fetched=2))
    assert (len(answer), answer.noisy_threshold) == (0, 8)


@pytest.mark.parametrize(
    ("sensitivity", "fetched", "ties", "wanted"),
    [
        (Sensitivity(3), 10, "label", 3),
        (Sensitivity(3), 2, "label", 2),
        (Sensitivity(None), 10, "label", 10),
        (Sensitivity(3), 10, "unknown", 10),
        (Sensitivity(3, 1, "replace"), 10, "label", 3),
        (Sensitivity(3), None, "label", 3),
        (Sensitivity(3), None, "unknown", 3),
    ],
)
def test_labels_that_enter_the_top(sensitivity: Sensitivity, fetched: int | None, ties: str, wanted: int) -> None:
    assert entering(sensitivity, fetched, ties) == wanted


class TestRefusals:
    @pytest.mark.parametrize("fetched", [0, -1, 2.5, None, True])
    def test_fetched_is_a_whole_number_from_one(self, fetched: object) -> None:
        with pytest.raises(InvalidArgumentError, match="fetched = "):
            TopHistogram(DiscreteLaplace(1), 5, fetched, ONE)

    def test_a_threshold_below_what_one_user_can_reach_is_refused(self) -> None:
        with pytest.raises(InvalidArgumentError, match="threshold = 2 is not allowed: it must be 3 or above"):
            TopHistogram(DiscreteLaplace(1), 2, 5, Sensitivity(1, 3))
        with pytest.raises(InvalidArgumentError, match="threshold = 5 is not allowed: it must be 6 or above"):
            TopHistogram(DiscreteLaplace(1), 5, 5, Sensitivity(1, 3, "replace"))

    def test_ties_are_by_label_or_unknown(self) -> None:
        with pytest.raises(InvalidArgumentError, match="ties = 'random'"):
            TopHistogram(DiscreteLaplace(1), 2, 5, ONE, ties="random")

    def test_unknown_ties_must_be_priced(self) -> None:
        counts = BoundedCounts(["a"], [9], ONE, fetched=5, ties="unknown")
        with pytest.raises(InvalidCountsError, match="calibrate with ties='unknown'"):
            TopHistogram(DiscreteLaplace(1), 9, 5, ONE).release(counts)
        TopHistogram(DiscreteLaplace(1), 9, 5, ONE, ties="unknown").release(counts)

    def test_fewer_fetched_rows_than_the_mechanism_reads_are_refused(self) -> None:
        with pytest.raises(InvalidCountsError, match="exactly 6 largest counts"):
            TopHistogram(DiscreteLaplace(1), 9, 5, ONE).release(BoundedCounts(["a"], [9], ONE, fetched=4))

    def test_a_profile_of_another_size_is_refused(self) -> None:
        profile = CountProfile(BoundedCounts([], [], ONE), {}, lambda counts, ranks: [], fetched=4)
        with pytest.raises(InvalidCountsError, match="exactly the 5 largest"):
            TopHistogram(DiscreteLaplace(1), 9, 5, ONE).release(profile)


class TestForBudget:
    def test_thresholds_are_as_low_as_the_theory_says(self) -> None:
        """ε = 1, δ = 1e-8, one item: Laplace 21.1, Gaussian 51.8 in the survey and 43.3 analytically."""
        budget = Budget(epsilon=1, delta=1e-8)
        auto = TopHistogram.for_budget(budget, ONE, 1000).mechanism
        assert (auto.threshold, type(auto.law)) == (21, DiscreteLaplace)
        gaussian = TopHistogram.for_budget(budget, ONE, 1000, "gaussian").mechanism
        assert 43 < gaussian.threshold < 47
        for found in (auto, gaussian):
            assert budget.allows(found.guarantee())

    def test_unknown_ties_cost_a_higher_threshold(self) -> None:
        budget = Budget(rho="0.1", delta=1e-6)
        known, unknown = (
            TopHistogram.for_budget(budget, ONE, 500, "gaussian", ties).mechanism for ties in ("label", "unknown")
        )
        assert unknown.threshold > known.threshold
        assert unknown.price() == known.price()

    @settings(max_examples=8)
    @given(
        st.one_of(st.none(), st.integers(1, 4)),
        st.integers(1, 2),
        st.sampled_from(["add_remove", "replace"]),
        st.sampled_from([1, 10, 1000]),
        st.sampled_from([Budget(epsilon=1, delta="1e-6"), Budget(rho="0.1", delta="1e-9")]),
    )
    def test_every_budget_is_kept(
        self, items: int | None, count: int, adjacency: str, fetched: int, budget: Budget
    ) -> None:
        found = TopHistogram.for_budget(budget, Sensitivity(items, count, adjacency), fetched)
        assert budget.allows(found.mechanism.guarantee())


def test_the_gaussian_bound_covers_the_shared_threshold_noise_on_both_sides_of_its_switch() -> None:
    """Up to variance 25 the shared noise is summed exactly, beyond it the union bound: never below the former."""
    for variance in (20, 25, 26, 30):
        law = DiscreteGaussian(variance)
        one, many = (TopHistogram(law, 60, 1000, Sensitivity(items)).failure() for items in (1, 100))
        assert one <= many <= 100 * one
