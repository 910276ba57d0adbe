"""Wrong variants of the mechanisms, each refuted by the check that the right one passes.

The numbers are those of the counterexamples in the theory. A variant that the check let through would mean that
the check is blind, not that the variant is safe.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats
from tests.mechanisms.promises import ORDERS, breach, breaches, common, hockey_stick, log_moment, renyi
from tests.mechanisms.small_worlds import Thresholding, Topping, Window, mass_of, ranking_law, ranking_weights
from tests.mechanisms.test_small_worlds import all_pairs, good_part, topping

from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.guarantee import Budget, Guarantee
from unlisted.privacy.search import smallest
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.privacy.survey import continuous_laplace_rho, top_gaussian_threshold

REPLACE = Sensitivity(1, 1, "replace")


def thresholding(mechanism: ThresholdHistogram, *, lower: int = 0, smallest_listed: int = 1) -> Thresholding:
    """Algorithm 1 as declared, or with a threshold that is `lower` than declared."""
    threshold = mechanism.threshold - lower
    return Thresholding(threshold, mass_of(mechanism.law), Window(threshold + 1, 40), smallest_listed)


class TestDataDependentTies:
    """2k̄ tied labels, and a tie order that one user can turn around, so that both tops are disjoint."""

    FETCHED, DELTA = 1000, 1e-8

    @pytest.mark.parametrize(("epsilon", "times"), [(0.1, 576), (1.0, 12.5)])
    def test_continuous_noise_tells_neighbours_apart_far_more_often_than_delta(
        self, epsilon: float, times: float
    ) -> None:
        sigma = 1 / epsilon
        threshold = top_gaussian_threshold(epsilon, self.DELTA)

        def any_above(bottom: float) -> float:
            hidden = self.FETCHED * stats.norm.logsf(-(bottom + threshold) / sigma)
            return -math.expm1(hidden) * stats.norm.pdf(bottom / sigma) / sigma

        # Most of the chance comes from a very low ⊥, so the quadrature is told where to look.
        telling = integrate.quad(any_above, -12 * sigma, 4 * sigma, points=[-4.5 * sigma], limit=500)[0]
        assert telling / self.DELTA == pytest.approx(times, rel=0.01)

    @pytest.mark.parametrize(("epsilon", "at_least"), [(Fraction(1, 10), 300), (Fraction(1), 5)])
    def test_only_unknown_ties_are_charged_for_it(self, epsilon: Fraction, at_least: int) -> None:
        law, delta = DiscreteGaussian(1 / epsilon**2), Fraction(1, 10**8)

        def at(threshold: int, ties: str = "label") -> TopHistogram:
            return TopHistogram(law, threshold, self.FETCHED, Sensitivity(1), ties=ties)

        threshold = smallest(lambda t: at(t).failure() <= delta, 1)
        # Tied labels lie no higher than the bottom, so each needs a lead of the whole threshold.
        mass = mass_of(law)
        reach = int(12 / epsilon)
        cdf = np.cumsum([mass(z) for z in range(-3 * reach, 3 * reach + 1)])
        telling = sum(
            mass(z) * -math.expm1(self.FETCHED * math.log(cdf[min(6 * reach, z + threshold + 3 * reach)]))
            for z in range(-reach, reach + 1)
        )
        assert telling > at_least * at(threshold).failure()
        assert telling <= at(threshold, "unknown").failure()

    @pytest.mark.parametrize(("epsilon", "times"), [(0.1, 905), (1.0, 368)])
    def test_rankings_break_alike(self, epsilon: float, times: float) -> None:
        def at(ties: str) -> TopK:
            return TopK.at(Ranking(1, self.FETCHED, Sensitivity(1), ties), epsilon=epsilon, delta=self.DELTA)

        def telling(ranked: TopK) -> float:
            # All tied labels against ⊥, which stands a whole threshold above them.
            bottom = math.exp(epsilon * float(ranked.threshold))
            return self.FETCHED / (self.FETCHED + bottom)

        assert telling(at("label")) / self.DELTA == pytest.approx(times, rel=0.002)
        assert telling(at("unknown")) < self.DELTA


class TestBottom:
    def test_free_bottoms_are_not_private(self) -> None:
        """Labels charged, ⊥ not: a thousand questions until one label comes, at an order above 1/(1 - 1/e)."""

        def laws(questions: int) -> tuple[np.ndarray, np.ndarray]:
            chance = 0.005
            other = chance * math.e / (1 - chance + chance * math.e)
            index = np.arange(questions)
            return tuple(
                np.append(c * (1 - c) ** index, (1 - c) ** questions) for c in (chance, other)
            )  # the question that brought the label, or none did

        p, q = laws(1000)
        assert renyi(p, q, 1.6) / 1.6 == pytest.approx(1.46, abs=0.005)
        one_draw = renyi(*laws(1), 1.6) / 1.6
        assert one_draw <= 1 / 8
        grows = [renyi(*laws(n), 1.6) for n in (1000, 4000, 16000)]
        assert grows[0] < grows[1] - 1 < grows[2] - 2

    def test_charged_bottoms_pay_for_all_thousand(self) -> None:
        question = TopK.at(Ranking(1, 1, Sensitivity(1)), epsilon=1, delta=1e-9)
        assert (1000 * question.draw_price()).rho == 125

    @pytest.mark.parametrize(("items", "delta", "ratio"), [(1, 0.05, 0.951), (2, 0.2, 0.807)])
    def test_an_unraised_bottom_is_not_part_of_the_law(self, items: int, delta: float, ratio: float) -> None:
        """min P/((1-δ)P') over outcomes, P' being the ranking of the common labels against a plain ⊥."""
        mechanism = TopK.at(Ranking(2, items + 1, Sensitivity(items)), epsilon=1, delta=delta)
        common_label, leaving = {"a": math.e}, {f"leaving{i}": math.e**2 for i in range(items)}
        bottom = {"⊥": math.exp(1 + float(mechanism.threshold))}
        p = ranking_law(common_label | leaving | bottom, 2)
        unraised = ranking_law(common_label | bottom, 2)
        least = min(p[outcome] / ((1 - delta) * chance) for outcome, chance in unraised.items())
        assert least == pytest.approx(ratio, abs=0.0005)
        raised = good_part(common_label | leaving | bottom, common_label | bottom, 2)
        assert min(p[outcome] / chance for outcome, chance in raised.items()) >= 1 - 1e-12


class TestReplaceOne:
    def test_rankings_need_four_times_the_price(self) -> None:
        """One label up and another down: 0.462 at the order near 1, against ε²/8 = 0.125 and (2ε)²/8 = 0.5."""
        p = np.array([math.e, 1]) / (math.e + 1)
        found = renyi(p, p[::-1], 1.000001)
        assert found == pytest.approx(0.4621, abs=1e-4)
        add_remove = TopK.at(Ranking(1, 2, Sensitivity(1)), epsilon=1, delta=0.01).draw_price().rho
        replaced = TopK.at(Ranking(1, 2, REPLACE), epsilon=1, delta=0.01).draw_price().rho
        assert add_remove == Fraction(1, 8)
        assert float(add_remove) < found < float(replaced)

    def test_histograms_with_add_remove_constants_break(self) -> None:
        mechanism = ThresholdHistogram(DiscreteGaussian(1), 3, Sensitivity(1))
        pairs = list(all_pairs(thresholding(mechanism), 2, 3, REPLACE))
        assert breaches(pairs, mechanism.guarantee()) != []
        declared = ThresholdHistogram(DiscreteGaussian(1), 3, REPLACE)
        assert breaches(pairs, declared.guarantee()) == []

    @pytest.mark.parametrize("law", [DiscreteLaplace(1), DiscreteGaussian(1)], ids=str)
    def test_top_histograms_with_add_remove_constants_break(self, law: DiscreteLaplace | DiscreteGaussian) -> None:
        mechanism = TopHistogram(law, 4, 1, Sensitivity(1))
        pairs = list(all_pairs(topping(mechanism, 2, 8), 2, 2, REPLACE))
        assert breaches(pairs, mechanism.guarantee()) != []
        # A label that replaces another may lead by twice the count; one count alone does not cover it.
        assert TopHistogram(law, 4, 1, REPLACE).failure() > mechanism.failure()

    def test_ranking_thresholds_need_twice_the_count_first(self) -> None:
        add_remove = TopK.at(Ranking(1, 1, Sensitivity(1)), epsilon=1, delta=0.05)
        # One user leaves label 0 (2 to 1) and comes to label 1 (1 to 2): 0 leaves the top and 1 enters it.
        own = ranking_weights((2, 1), 1, float(add_remove.threshold), 1.0)
        telling = own["0"] / (own["0"] + own["⊥"])
        assert telling == pytest.approx(0.05, abs=1e-6)
        # With counts 3 and 1 exchanged for 2 and 2 the leaving label leads by two.
        own = ranking_weights((3, 1), 1, float(add_remove.threshold), 1.0)
        telling = own["0"] / (own["0"] + own["⊥"])
        assert telling > 0.05 * 2
        replaced = TopK.at(Ranking(1, 1, REPLACE), epsilon=1, delta=0.05)
        own = ranking_weights((3, 1), 1, float(replaced.threshold), 1.0)
        assert own["0"] / (own["0"] + own["⊥"]) <= 0.05


class TestThresholds:
    @pytest.mark.parametrize("law", [DiscreteLaplace(1), DiscreteGaussian(1)], ids=str)
    def test_at_least_instead_of_above_breaks(self, law: DiscreteLaplace | DiscreteGaussian) -> None:
        mechanism = ThresholdHistogram(law, 4, Sensitivity(1))
        assert breaches(all_pairs(thresholding(mechanism), 2, 3, Sensitivity(1)), mechanism.guarantee()) == []
        one_lower = thresholding(mechanism, lower=1)
        assert breaches(all_pairs(one_lower, 2, 3, Sensitivity(1)), mechanism.guarantee()) != []

    def test_a_laplace_threshold_under_gaussian_noise_breaks(self) -> None:
        """At equal ρ the Gaussian reaches further where labels are many: its own tail must set the threshold."""
        laplace, gaussian, delta = DiscreteLaplace(1), DiscreteGaussian(4), Fraction(1, 20)
        threshold = 1 + laplace.quantile(delta) - 1
        world = Thresholding(threshold, mass_of(gaussian), Window(threshold + 1, 40))
        promised = Guarantee(gaussian.rho(1), delta)
        assert breaches(all_pairs(world, 2, 3, Sensitivity(1)), promised) != []
        own = ThresholdHistogram(gaussian, gaussian.quantile(delta), Sensitivity(1))
        assert own.guarantee().delta <= delta
        assert breaches(all_pairs(thresholding(own), 2, 3, Sensitivity(1)), promised) == []

    def test_a_threshold_for_one_label_breaks_with_two(self) -> None:
        """δ instead of its share per label: 1 - (1-δ)² > δ."""
        one = ThresholdHistogram(DiscreteLaplace(1), 4, Sensitivity(1))
        both = ThresholdHistogram(DiscreteLaplace(1), 4, Sensitivity(2))
        forgotten = Guarantee(both.guarantee().rho, one.guarantee().delta)
        pairs = list(all_pairs(thresholding(both), 2, 3, Sensitivity(2)))
        assert breaches(pairs, forgotten) != []
        assert breaches(pairs, both.guarantee()) == []

    def test_a_cut_off_that_the_threshold_ignores_breaks(self) -> None:
        mechanism = ThresholdHistogram(DiscreteLaplace(1), 4, Sensitivity(1))
        pairs = all_pairs(thresholding(mechanism, smallest_listed=3), 2, 4, Sensitivity(1))
        assert breaches(pairs, mechanism.guarantee()) != []

    def test_a_bottom_of_zero_where_small_counts_were_cut_off_breaks(self) -> None:
        """Unlisted labels may have κ - 1: taking 0 for them makes a label of κ stand out."""
        mechanism = TopHistogram(DiscreteLaplace(1), 4, 1, Sensitivity(1))
        mass, window = mass_of(mechanism.law), Window(-10, 20)
        right = Topping(1, 4, mass, window, smallest_listed=3)
        wrong = Topping(1, 4 - 2, mass, window, smallest_listed=3)  # the same as a bottom that is two lower
        telling = [world.law((3,))[world.law((2,)) == 0].sum() for world in (right, wrong)]
        assert telling[0] <= mechanism.failure() < telling[1] - 0.01

    def test_listed_zeros_break(self) -> None:
        """A label with count zero costs a user nothing to list, so there may be many: D0 does not bound them."""
        mechanism = ThresholdHistogram(DiscreteLaplace(1), 4, Sensitivity(1))
        world = thresholding(mechanism, smallest_listed=0)
        listed = world.law((0, 0, 0))
        unlisted = thresholding(mechanism).law((0, 0, 0))
        assert breach(listed, unlisted, common(listed, unlisted), mechanism.guarantee()) is not None


class TestPrices:
    def test_the_continuous_laplace_constant_understates_integer_noise(self) -> None:
        mechanism = ThresholdHistogram(DiscreteLaplace(1), 4, Sensitivity(1))
        world = thresholding(mechanism)
        # Far above the threshold, where the noisy count is all there is.
        p, q = world.law((19,)), world.law((20,))
        pairs = [(p, q, (p, q)), (q, p, (q, p))]
        continuous = Guarantee(Fraction(continuous_laplace_rho(1.0)), mechanism.guarantee().delta)
        assert float(continuous.rho) == pytest.approx(0.3679, abs=1e-4)
        assert float(mechanism.guarantee().rho) == pytest.approx(0.4621, abs=1e-4)
        assert breaches(pairs, continuous) != []
        assert breaches(pairs, mechanism.guarantee()) == []

    def test_permute_and_flip_is_not_worth_an_eighth_of_epsilon_squared(self) -> None:
        """Two candidates, one of which gains: the exponential mechanism keeps ε²/8, permute-and-flip does not."""
        epsilon = 1.0
        before = np.array([0.5, 0.5])
        flipped = np.array([1 - math.exp(-epsilon) / 2, math.exp(-epsilon) / 2])
        exponential = np.array([math.e, 1.0]) / (math.e + 1)
        charged = TopK.at(Ranking(1, 2, Sensitivity(1)), epsilon=epsilon, delta=0.01).draw_price().rho
        assert max(renyi(before, exponential, order) / order for order in ORDERS) <= charged
        assert max(renyi(before, flipped, order) / order for order in ORDERS) > 1.9 * charged

    def test_the_largest_change_of_a_count_is_squared(self) -> None:
        mechanism = ThresholdHistogram(DiscreteGaussian(4), 7, Sensitivity(1, 2))
        pairs = list(all_pairs(thresholding(mechanism), 2, 4, Sensitivity(1, 2)))
        priced_for_one = Guarantee(DiscreteGaussian(4).rho(1), mechanism.guarantee().delta)
        assert mechanism.guarantee().rho == 4 * priced_for_one.rho
        assert breaches(pairs, priced_for_one) != []

    def test_the_classical_gaussian_formula_breaks_above_epsilon_one(self) -> None:
        """σ = Δ·sqrt(2 log(1.25/δ))/ε is no theorem at ε = 20; the exact law of one count shows it."""
        epsilon, delta, count = 20.0, 1e-3, 20
        classical = DiscreteGaussian(Fraction(2 * math.log(1.25 / delta) * (count / epsilon) ** 2))
        budget = Budget(epsilon=epsilon, delta=delta)
        ours = ThresholdHistogram.for_budget(budget, Sensitivity(1, count), "gaussian").mechanism
        at = {}
        for name, law in (("classical", classical), ("ours", ours.law)):
            mass = mass_of(law)
            p, q = (np.array([mass(z - shift) for z in range(-150, 171)]) for shift in (0, count))
            at[name] = hockey_stick(p, q, epsilon)
        assert at["classical"] > 50 * delta
        # A label moves or is new, never both: the two cannot be added.
        assert max(at["ours"], float(ours.failure())) <= delta

    def test_log_moments_of_equal_laws_are_zero(self) -> None:
        p = np.array([0.25, 0.75])
        assert log_moment(p, p, 3.0) == pytest.approx(0)
