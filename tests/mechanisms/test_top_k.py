"""Algorithm 3: ranks and nothing else, ⊥ charged, and the price of what a budget buys."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fixtures.known_bits import KnownBits
from tests.privacy.high_precision import just_above, mp, real

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import Number
from unlisted.privacy.rounding import round_up
from unlisted.privacy.sensitivity import Sensitivity

ONE = Sensitivity(1)
LOUD = 2000
"""An ε at which the noise decides nothing: what remains is the algorithm without noise."""


def loud(k: int, fetched: int | None, sensitivity: Sensitivity = ONE) -> TopK:
    return TopK.at(Ranking(k, fetched, sensitivity), epsilon=LOUD, delta=1e-9)


class TestWithoutNoise:
    def test_the_largest_comes_first(self) -> None:
        """Argmax, not argmin."""
        answer = loud(3, 10).release(BoundedCounts.from_dict({"low": 10, "high": 90, "mid": 50}, ONE))
        assert answer.labels.to_pylist() == ["high", "mid", "low"]
        assert not answer.stopped

    @given(
        st.dictionaries(st.text(max_size=2), st.integers(0, 9).map(lambda c: 10 * c), max_size=6),
        st.integers(1, 8),
        st.one_of(st.none(), st.integers(1, 8)),
        st.integers(1, 12),
    )
    def test_ranked_until_bottom(
        self, histogram: dict[str, int], k: int, fetched: int | None, minimum: int
    ) -> None:
        """Counts are multiples of ten and T is just above one, so ⊥ stands just above the (k̄+1)-th."""
        listed = {label: count for label, count in histogram.items() if count >= minimum}
        ranked = sorted(listed.items(), key=lambda row: (-row[1], row[0].encode()))
        cut = len(ranked) if fetched is None else fetched
        bottom = ranked[cut][1] if len(ranked) > cut else minimum - 1
        above = [count for _, count in ranked[:cut] if count >= bottom + 2][:k]
        answer = loud(k, fetched).release(BoundedCounts.from_dict(histogram, ONE, minimum_count=minimum))
        assert [histogram[label] for label in answer.labels.to_pylist()] == above
        assert answer.stopped == (len(above) < k)
        assert answer.counts is None
        assert answer.noisy_threshold is None

    def test_counts_of_the_winners_come_in_their_order(self) -> None:
        mechanism = TopK.at(Ranking(2, 9, ONE), epsilon=LOUD, delta=1e-9, counts_law=DiscreteLaplace("0.01"))
        answer = mechanism.release(BoundedCounts.from_dict({"a": 50, "b": 90, "c": 70}, ONE))
        assert (answer.labels.to_pylist(), answer.counts.tolist()) == (["b", "c"], [90, 70])

    def test_huge_counts_are_ranked(self) -> None:
        answer = loud(2, 5).release(BoundedCounts.from_dict({"a": 2**62 - 100, "b": 2**70, "c": 3}, ONE))
        assert answer.labels.to_pylist() == ["b", "a"]


class TestBottom:
    def test_more_wanted_than_there_are_labels_ends_in_bottom(self) -> None:
        """k̄ above the number of distinct labels is legal, and looks like any other input."""
        for k, fetched in [(5, 1000), (5, None)]:
            answer = loud(k, fetched).release(BoundedCounts.from_dict({"a": 90, "b": 50}, ONE))
            assert (answer.labels.to_pylist(), answer.stopped) == (["a", "b"], True)

    def test_no_labels_is_bottom_alone_and_is_charged(self) -> None:
        mechanism = loud(5, 10)
        answer = mechanism.release(BoundedCounts([], [], ONE, fetched=10))
        assert (len(answer), answer.stopped) == (0, True)
        assert answer.spent.rho == mechanism.draw_price().rho

    def test_no_padding_is_ever_released(self) -> None:
        """k̄ = 50 with one label: nothing but that label can come out, however loud the noise."""
        mechanism = TopK(Fraction(1, 100), Fraction(1), Ranking(50, 50, ONE))
        for i in range(20):
            answer = mechanism.release(BoundedCounts(["only"], [3], ONE, fetched=50), KnownBits(f"padding {i}"))
            assert answer.labels.to_pylist() in (["only"], [])
            assert answer.stopped

    def test_spent_is_what_was_drawn(self) -> None:
        mechanism = loud(5, 10)
        for labels, stopped, draws in [(2, True, 3), (4, True, 5), (5, False, 5), (9, False, 5)]:
            counts = BoundedCounts([str(i) for i in range(labels)], [1000 * (i + 1) for i in range(labels)], ONE)
            answer = mechanism.release(counts)
            assert answer.stopped == stopped
            assert answer.spent.rho == draws * mechanism.draw_price().rho
            assert answer.spent.delta == mechanism.guarantee().delta
            assert mechanism.guarantee().covers(answer.spent)

    def test_the_counts_price_is_never_given_back(self) -> None:
        mechanism = TopK.at(Ranking(5, 10, ONE), epsilon=LOUD, delta=1e-9, counts_law=DiscreteGaussian(10))
        answer = mechanism.release(BoundedCounts([], [], ONE, fetched=10))
        assert answer.spent.rho == mechanism.draw_price().rho + mechanism.counts_price().rho


class TestRefusals:
    @pytest.mark.parametrize("k", [0, -1, 1.5, None, "3", True])
    def test_k_is_a_whole_number_from_one(self, k: object) -> None:
        with pytest.raises(InvalidArgumentError, match="k = "):
            Ranking(k, 10, ONE)

    @pytest.mark.parametrize("fetched", [0, -1, 1.5, "3"])
    def test_fetched_is_a_whole_number_from_one(self, fetched: object) -> None:
        with pytest.raises(InvalidArgumentError, match="fetched = "):
            Ranking(1, fetched, ONE)

    def test_the_whole_histogram_needs_a_bound_on_items(self) -> None:
        with pytest.raises(InvalidArgumentError, match="items = None"):
            Ranking(1, None, Sensitivity(None))
        Ranking(1, 10, Sensitivity(None))

    @pytest.mark.parametrize("epsilon", [0, -1, "nan", "inf", None, "x"])
    def test_epsilon_is_positive(self, epsilon: object) -> None:
        with pytest.raises(InvalidArgumentError, match="epsilon = "):
            TopK.at(Ranking(1, 1, ONE), epsilon=epsilon, delta=1e-9)

    @pytest.mark.parametrize("delta", [0, -1e-9, 0.5, 1])
    def test_delta_is_between_zero_and_a_half(self, delta: object) -> None:
        with pytest.raises(InvalidArgumentError, match=r"delta = .* above 0 and below 1/2"):
            TopK.at(Ranking(1, 1, ONE), epsilon=1, delta=delta)

    @pytest.mark.parametrize("delta", ["nan", float("nan"), None, "x", True])
    def test_delta_is_a_number(self, delta: object) -> None:
        with pytest.raises(InvalidArgumentError, match=r"delta = .* a finite number"):
            TopK.at(Ranking(1, 1, ONE), epsilon=1, delta=delta)

    def test_a_threshold_below_what_one_user_can_reach_is_refused(self) -> None:
        with pytest.raises(InvalidArgumentError, match="threshold = 1 is not allowed: it must be 2 or above"):
            TopK(Fraction(1), Fraction(1), Ranking(1, 1, Sensitivity(1, 1, "replace")))

    def test_unknown_ties_must_be_asked_for(self) -> None:
        counts = BoundedCounts(["a"], [9], ONE, fetched=5, ties="unknown")
        with pytest.raises(InvalidCountsError, match="ask with ties='unknown'"):
            loud(1, 5).release(counts)
        TopK.at(Ranking(1, 5, ONE, "unknown"), epsilon=1, delta=1e-9).release(counts)

    def test_the_whole_histogram_is_not_a_top(self) -> None:
        with pytest.raises(InvalidCountsError, match="needs all counts"):
            loud(1, None).release(BoundedCounts(["a"], [9], ONE, fetched=5))

    def test_a_ranking_of_ties_that_nobody_knows_is_refused(self) -> None:
        with pytest.raises(InvalidArgumentError, match="ties = 'shuffled'"):
            Ranking(1, 5, ONE, "shuffled")


class TestForBudget:
    @settings(max_examples=12)
    @given(
        st.integers(1, 30),
        st.one_of(st.none(), st.integers(1, 100)),
        st.integers(1, 3),
        st.sampled_from(["add_remove", "replace"]),
        st.sampled_from([Budget(epsilon=1, delta="1e-6"), Budget(rho="0.05", delta="1e-9")]),
        st.booleans(),
    )
    def test_every_budget_is_kept_and_used(
        self, k: int, fetched: int | None, count: int, adjacency: str, budget: Budget, counts: bool
    ) -> None:
        ranking = Ranking(k, fetched, Sensitivity(2, count, adjacency))
        found = TopK.for_budget(budget, ranking, counts=counts).mechanism
        assert budget.allows(found.guarantee())
        assert (found.counts_law is not None) == counts
        if budget.rho is not None:
            assert found.guarantee().rho > budget.rho * Fraction(999_999, 1_000_000)

    def test_few_draws_are_added_up_and_many_converted(self) -> None:
        """The better of the plain (k·ε, δ) sum and the (ρ, δ) price."""
        budget = Budget(epsilon=1, delta="1e-8")
        few, many = (TopK.for_budget(budget, Ranking(k, 1000, ONE)) for k in (1, 200))
        assert few.mechanism.epsilon == 1
        assert "by ε added up" in few.reason.split(";")[0]
        assert many.mechanism.epsilon > Fraction(1, 200)
        assert "by ρ converted" in many.reason.split(";")[0]

    @pytest.mark.parametrize("epsilon", [1, 3, "0.5"])
    def test_the_reason_says_no_threshold_lower_than_it_is(self, epsilon: Number) -> None:
        """As the plan, which rounds up: 81.20382 is 81.2039 to both."""
        found = TopK.for_budget(Budget(epsilon=epsilon, delta="1e-8"), Ranking(10, 1000, ONE))
        said, against = (Fraction(number) for number in re.findall(r"\d+\.\d+", found.reason))
        assert said == round_up(found.mechanism.threshold, 6)
        added_up = TopK.at(Ranking(10, 1000, ONE), epsilon=Fraction(epsilon) / 10, delta="1e-8")
        assert against == round_up(added_up.threshold, 6)

    @pytest.mark.parametrize("entering", [1, 7, 1000])
    @pytest.mark.parametrize("sensitivity", [ONE, Sensitivity(None, 3), Sensitivity(None, 2, "replace")], ids=str)
    def test_what_escapes_is_bounded_from_above_to_the_last_digit(
        self, entering: int, sensitivity: Sensitivity
    ) -> None:
        """ℓ/(ℓ + e^(ε(T - s·Δ∞)/Δ∞)): rounding the exponential up would say too little."""
        ranking = Ranking(2, entering, sensitivity, "unknown")
        lowest = sensitivity.sides * sensitivity.count
        for lead in range(1, 40):
            mechanism = TopK(Fraction("0.7"), Fraction(lowest) + Fraction(lead, 3), ranking)
            odds = mp.exp(real(Fraction("0.7") * Fraction(lead, 3) / sensitivity.count))
            just_above(mechanism.failure(), mp.mpf(entering) / (entering + odds))

    def test_a_hundred_draws_at_the_theorys_price(self) -> None:
        """k = 100 and ε₀ = 0.1: ε = 2.86 at δ = 1e-8 by ε²/8 and the tight conversion."""
        mechanism = TopK.at(Ranking(100, 1000, ONE), epsilon="0.1", delta="1e-12")
        assert float(mechanism.guarantee().epsilon(at_delta="1.0001e-8")) == pytest.approx(2.86, abs=0.01)

    @pytest.mark.parametrize("share", [0, 1, -1, 2, "nan"])
    def test_a_share_is_between_zero_and_one(self, share: object) -> None:
        with pytest.raises(InvalidArgumentError, match="counts_share = "):
            TopK.for_budget(Budget(rho=1, delta="1e-6"), Ranking(1, 1, ONE), counts=True, counts_share=share)

    def test_the_share_of_the_counts_is_theirs(self) -> None:
        budget = Budget(rho=1, delta="1e-6")
        for share in ("0.1", "0.5", "0.9"):
            found = TopK.for_budget(budget, Ranking(3, 10, ONE), counts=True, counts_share=share).mechanism
            assert float(found.counts_price().rho) == pytest.approx(float(share), rel=1e-6)
