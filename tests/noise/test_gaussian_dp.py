"""Gaussian DP: prices against exact laws and true values, what adds up, and the ways to get it wrong."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.privacy.high_precision import just_above, mp, quick, real, same_digits, sizes, slow

from unlisted.errors import InvalidArgumentError
from unlisted.noise.gaussian import gaussian_dp
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.gaussian.gaussian_dp import (
    ROUNDINGS,
    GaussianGuarantee,
    epsilon_gaussian_up,
    mu_squared_down,
    mu_squared_of_discrete_gaussian_up,
    mu_squared_of_epsilon_up,
    mu_squared_of_normal_up,
    mu_squared_of_range_up,
)
from unlisted.noise.gaussian.normal import normal_delta_up, theta_excess_up
from unlisted.privacy.convert import rho_cks_down

Law = NDArray[np.float64]
EPSILONS = tuple(round(0.1 * n, 1) for n in range(-30, 81, 3))
NUMERICAL = 1e-12


def hockey_stick(p: Law, q: Law, epsilon: float) -> float:
    return math.fsum(np.maximum(0.0, p - math.exp(epsilon) * q).ravel())


def normal_delta(mu_squared: float | Fraction, epsilon: float) -> float:
    """The curve itself, in floating point."""
    mu = math.sqrt(mu_squared)
    return math.erfc((epsilon / mu - mu / 2) / math.sqrt(2)) / 2 - math.exp(epsilon) * (
        math.erfc((epsilon / mu + mu / 2) / math.sqrt(2)) / 2
    )


def exceeds(p: Law, q: Law, mu_squared: float | Fraction) -> list[float]:
    """Return the ε at which one of the two directions needs more δ than the normal laws; parts or whole laws."""
    return [
        epsilon
        for epsilon in EPSILONS
        if max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))
        > normal_delta(mu_squared, epsilon) + NUMERICAL
    ]


class TestConversion:
    @pytest.mark.parametrize(
        ("epsilon", "by_rho", "by_mu"),
        [
            ("0.5", ".00458", ".00514"),
            ("1", ".01721", ".01922"),
            ("2", ".06394", ".07104"),
            ("4", ".23259", ".25672"),
            ("8", ".81566", ".89271"),
        ],
    )
    def test_reference_values(self, epsilon: str, by_rho: str, by_mu: str) -> None:
        found = mu_squared_down(epsilon, "1e-8") / 2
        same_digits(found, by_mu)
        same_digits(rho_cks_down(epsilon, "1e-8"), by_rho)
        assert Fraction(109, 100) < found / rho_cks_down(epsilon, "1e-8") < Fraction(113, 100)

    @quick
    @given(sizes(-3, 2), st.integers(1, 40))
    def test_budgets_are_rounded_down_and_nearly_tight(self, epsilon: Fraction, exponent: int) -> None:
        delta = Fraction(2, 10 ** (exponent + 1))
        found = mu_squared_down(epsilon, delta)
        assert true_delta(found, epsilon) <= real(delta) < true_delta(found * (1 + Fraction(1, 10**11)), epsilon)

    @quick
    @given(sizes(-4, 2), st.integers(1, 40))
    def test_epsilons_are_rounded_up_and_nearly_tight(self, mu_squared: Fraction, exponent: int) -> None:
        delta = Fraction(2, 10 ** (exponent + 1))
        found = epsilon_gaussian_up(mu_squared, delta)
        assert true_delta(mu_squared, found) <= real(delta)
        if found:
            assert true_delta(mu_squared, found * (1 - Fraction(1, 10**11))) > real(delta)

    def test_there_and_back(self) -> None:
        for epsilon in ("0.01", "1", "30"):
            back = epsilon_gaussian_up(mu_squared_down(epsilon, "1e-8"), "1e-8")
            assert (
                Fraction(epsilon) * (1 - Fraction(1, 10**9))
                < back
                <= Fraction(epsilon) * (1 + Fraction(1, 10**11))
            )

    def test_where_nothing_can_be_found_nothing_is_promised(self) -> None:
        assert mu_squared_down(0, "1e-300") == 0
        assert 0 < mu_squared_of_range_up(Fraction(1, 10**70)) < Fraction(1, 10**90)

    @pytest.mark.parametrize("delta", [0, 1, -1, "nan", 0.5])
    def test_a_budget_needs_a_delta(self, delta: object) -> None:
        with pytest.raises(InvalidArgumentError, match="delta"):
            mu_squared_down(1, delta)


def true_delta(mu_squared: Fraction, epsilon: Any) -> Any:
    mu, eps = mp.sqrt(real(mu_squared)), real(epsilon) if isinstance(epsilon, Fraction) else epsilon

    def tail(x: object) -> object:
        return mp.erfc(x / mp.sqrt(2)) / 2

    return tail(eps / mu - mu / 2) - mp.exp(eps) * tail(eps / mu + mu / 2)


class TestRange:
    @quick
    @given(sizes(-4, 2))
    def test_it_is_twice_the_quantile_rounded_up(self, range_: Fraction) -> None:
        least = 1 / (1 + mp.exp(real(range_) / 2))
        found = mu_squared_of_range_up(range_)
        half = mp.sqrt(real(found)) / 2
        assert mp.erfc(half / mp.sqrt(2)) / 2 <= least, "an isf rounded down would lie beyond"
        assert mp.erfc(half * (1 - mp.mpf(10) ** -11) / mp.sqrt(2)) / 2 > least

    def test_small_ones_cost_half_of_pi_of_their_rho(self) -> None:
        assert float(mu_squared_of_range_up(Fraction(1, 1000)) / 2 / Fraction(1, 8 * 10**6)) == pytest.approx(
            math.pi / 2, rel=1e-6
        )

    @pytest.mark.parametrize("range_", ["0.1", "1", "3", "8"])
    def test_every_two_points_within_the_range_are_gaussian(self, range_: str) -> None:
        price, wide = mu_squared_of_range_up(Fraction(range_)), float(range_)
        for middle in np.linspace(-6, 6, 61):
            p, q = (np.array([x, 1 - x]) for x in (logistic(middle + wide / 2), logistic(middle - wide / 2)))
            assert exceeds(p, q, price) == []

    @pytest.mark.parametrize("range_", ["0.1", "1", "3", "8"])
    def test_a_little_less_breaks_in_the_middle(self, range_: str) -> None:
        wide = float(range_)
        p, q = (np.array([x, 1 - x]) for x in (logistic(wide / 2), logistic(-wide / 2)))
        less = mu_squared_of_range_up(Fraction(range_)) * Fraction(99, 100)
        touches = math.log(p[0] / q[0])
        # Between its two slopes the points' δ is a straight line, which touches the normal curve once.
        found = [e for e in np.linspace(-touches, touches, 2001) if hockey_stick(p, q, e) > normal_delta(less, e)]
        assert found != []

    def test_a_draw_of_the_exponential_mechanism(self) -> None:
        for epsilon, (before, after) in itertools.product(
            (0.5, 2.0), [((3, 1, 0), (3, 2, 1)), ((0, 0, 0), (1, 0, 0)), ((2, 2, 5), (3, 3, 5))]
        ):
            p, q = (exponential(counts, epsilon) for counts in (before, after))
            assert exceeds(p, q, mu_squared_of_range_up(Fraction(epsilon))) == []

    def test_randomised_response_needs_twice_its_epsilon(self) -> None:
        p = np.array([logistic(1.0), logistic(-1.0)])
        assert exceeds(p, p[::-1], mu_squared_of_epsilon_up(1)) == []
        assert exceeds(p, p[::-1], mu_squared_of_range_up(Fraction(1))) != []

    def test_nothing_costs_nothing_and_too_much_is_refused(self) -> None:
        assert mu_squared_of_range_up(Fraction(0)) == 0
        for wrong in (Fraction(-1), Fraction(10**5)):
            with pytest.raises(InvalidArgumentError):
                mu_squared_of_range_up(wrong)


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def exponential(counts: Sequence[int], epsilon: float) -> Law:
    weights = np.exp(epsilon * np.array(counts, dtype=float))
    return weights / weights.sum()


def test_normal_noise_costs_its_square() -> None:
    assert mu_squared_of_normal_up(4, 100) == Fraction(1, 25)
    just_above(mu_squared_of_normal_up(1, Fraction(3)) + Fraction(1, 10**49), real(Fraction(1, 3)))


def masses(variance: Fraction, reach: int) -> Law:
    """The discrete Gaussian from -reach to reach, from its definition."""
    z = np.arange(-reach, reach + 1)
    weights = np.exp(-(z.astype(float) ** 2) / (2 * float(variance)))
    return weights / weights.sum()


def moved_pair(variance: Fraction, moved: int, shift: int) -> tuple[Law, Law]:
    """The joint laws of some counts, and of all of them moved; a function of the sum is all that tells them apart.

    The loss of discrete Gaussians depends on the sum of the draws alone, so its law is enough.
    """
    reach = 12 + math.ceil(14 * math.sqrt(variance))
    one = masses(variance, reach)
    total = one
    for _ in range(moved - 1):
        total = np.convolve(total, one)
    sums = np.arange(len(total)) - moved * reach
    # Under the other neighbour draws z have the weight of z - shift: e^((2·shift·Σz - moved·shift²)/2s²).
    tilt = np.exp((2 * shift * sums - moved * shift**2) / (2 * float(variance)))
    return total, total * tilt


DISCRETE = [
    (Fraction(variance), moved, shift)
    for variance in ("0.7", "1", "1.5", "2", "4", "9")
    for moved, shift in ((1, 1), (2, 1), (1, 2), (5, 1), (3, 2))
]


class TestDiscreteGaussian:
    @pytest.mark.parametrize(("variance", "moved", "shift"), DISCRETE, ids=str)
    def test_the_exact_law_keeps_its_price(self, variance: Fraction, moved: int, shift: int) -> None:
        try:
            price = mu_squared_of_discrete_gaussian_up(variance, moved, shift)
        except InvalidArgumentError:
            assert moved * shift**2 / variance > 3, "only what protects hardly anyone has no price"
            return
        p, q = moved_pair(variance, moved, shift)
        assert exceeds(p, q, price) == []

    @pytest.mark.parametrize(("variance", "moved", "shift"), DISCRETE, ids=str)
    def test_it_is_near_a_rounded_normal_number_for_every_r(
        self, variance: Fraction, moved: int, shift: int
    ) -> None:
        """The claim before the slack is taken into μ: e^σ · δ(μ², ε - 2σ)."""
        p, q = moved_pair(variance, moved, shift)
        for r_squared in (r for r in ROUNDINGS if r < variance):
            sigma = moved * math.log(theta_excess_up(variance) / (2 - theta_excess_up(r_squared)))
            mu_squared = moved * shift**2 / (variance - r_squared)
            for epsilon in EPSILONS:
                allowed = math.exp(sigma) * normal_delta(mu_squared, epsilon - 2 * sigma)
                assert hockey_stick(p, q, epsilon) <= allowed + NUMERICAL

    @pytest.mark.parametrize("variance", ["1", "2", "4", "9"])
    def test_the_price_of_continuous_noise_breaks(self, variance: str) -> None:
        """s² for s² - r², and r so small that leaving out the slack is the same mistake."""
        p, q = moved_pair(Fraction(variance), 1, 1)
        assert exceeds(p, q, 1 / Fraction(variance)) != []
        assert exceeds(p, q, 1 / (Fraction(variance) - Fraction(1, 50))) != []

    def test_a_wrong_slack_is_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """With a small r and the slack left out the program itself would promise too much."""
        monkeypatch.setattr(gaussian_dp, "ROUNDINGS", (Fraction(1, 50),))
        unrounded = mu_squared_of_discrete_gaussian_up.__wrapped__
        monkeypatch.setattr(gaussian_dp, "theta_excess_up", lambda variance: Fraction(1))
        wrong = unrounded(Fraction(4), 1, 1)
        assert exceeds(*moved_pair(Fraction(4), 1, 1), wrong) != []

    def test_the_slack_for_one_label_is_what_the_proof_says(self) -> None:
        sigma = math.log(theta_excess_up(Fraction(25)) / (2 - theta_excess_up(Fraction(1))))
        assert 2 * sigma == pytest.approx(1.07e-8, rel=1e-2)
        assert mp.erfc(-1 / mp.sqrt(2)) / 2 * mp.sqrt(2 * mp.pi * mp.e) < gaussian_dp._MILLS

    @slow
    @given(sizes(0, 4), st.integers(1, 50), st.integers(1, 3))
    def test_it_is_close_to_the_price_of_continuous_noise(self, times: Fraction, moved: int, shift: int) -> None:
        variance = 5 * moved * shift**2 * times
        price = mu_squared_of_discrete_gaussian_up(variance, moved, shift)
        continuous = moved * shift**2 / variance
        assert continuous < price <= Fraction(1002, 1000) * moved * shift**2 / (variance - 1)

    def test_the_slack_moves_into_mu(self) -> None:
        """e^σ·δ(μ², ε - 2σ) against δ(μ'², ε) to 120 digits, over a grid of ε, with slacks of every size."""
        for mu, sigma in itertools.product((0.01, 0.3, 1.0, 3.0), (1e-9, 1e-5, 1e-3)):
            room = mu + 1 / 64
            raised = mu + sigma * (2 * float(gaussian_dp._MILLS) + room * math.exp(room**2 / 8))
            if raised > room or 2 * sigma > mu:
                continue
            for epsilon in (0, 1e-6, 1e-3, 0.1, 1, 5, 20):
                before = mp.exp(sigma) * true_delta(Fraction(mu) ** 2, Fraction(epsilon) - 2 * Fraction(sigma))
                assert before <= true_delta(Fraction(raised) ** 2, Fraction(epsilon))

    @pytest.mark.parametrize(
        ("variance", "moved"), [("0.7", 1), ("2", 1), ("2", 5), ("30", 1), ("30", 40), ("4000", 9)]
    )
    def test_the_price_of_every_r_has_room_for_its_slack(self, variance: str, moved: int) -> None:
        """What the program returns for one r against e^σ·δ(μ², ε - 2σ), to 120 digits."""
        spread, found = Fraction(variance), 0
        for r_squared in (r for r in ROUNDINGS if r < spread):
            price = gaussian_dp._rounded_normal_up(moved, moved, spread, r_squared)
            if price is None:
                continue
            sigma = moved * mp.log(real(theta_excess_up(spread)) / (2 - real(theta_excess_up(r_squared))))
            for epsilon in (0, 1e-6, 1e-3, 0.1, 1, 5, 20):
                lowered = mp.mpf(epsilon) - 2 * sigma
                allowed = mp.exp(sigma) * true_delta(moved / (spread - r_squared), lowered)
                assert allowed <= true_delta(price, Fraction(epsilon))
            found += 1
        assert found > 0

    def test_nothing_moved_costs_nothing_and_too_little_noise_has_no_price(self) -> None:
        assert mu_squared_of_discrete_gaussian_up(Fraction(4), 0, 1) == 0
        for variance, moved in ((Fraction(1, 2), 1), (Fraction(1), 100)):
            with pytest.raises(InvalidArgumentError, match="an account that counts ρ"):
                mu_squared_of_discrete_gaussian_up(variance, moved, 1)


class TestComposition:
    """Interactions written out whole: the second question depends on the first answer."""

    def joint(self, first: Law, then: Callable[[int], Law]) -> Law:
        rows = [first[at] * then(at) for at in range(len(first))]
        widest = max(len(row) for row in rows)
        return np.array([np.pad(row, (0, widest - len(row))) for row in rows])

    def test_noise_chosen_by_the_first_answer(self) -> None:
        """A large first answer buys less noise for the second question, within the same total of μ²."""
        first, reach = Fraction(3), 40
        spent = mu_squared_of_discrete_gaussian_up(first, 1, 1)
        # After a low answer one question more of s² = 4; after a high one two counts of s² = 8 are asked for.
        prices = [
            mu_squared_of_discrete_gaussian_up(Fraction(4), 1, 1),
            mu_squared_of_discrete_gaussian_up(Fraction(8), 2, 1),
        ]

        def laws(neighbour: int) -> Law:
            answer = np.roll(masses(first, reach), neighbour)

            def then(at: int) -> Law:
                if at - reach > 1:
                    return moved_pair(Fraction(8), 2, 1)[neighbour]
                return moved_pair(Fraction(4), 1, 1)[neighbour]

            return self.joint(answer, then)

        p, q = laws(0), laws(1)
        assert exceeds(p, q, spent + max(prices)) == []
        assert exceeds(p, q, spent + min(prices) / 2) != [], "the total must cover the dearer way"

    def test_a_draw_and_then_noise(self) -> None:
        """The draw that a range of 1 allows, then a count with noise: the range at its ρ would be too cheap."""
        draw, noise = np.array([logistic(0.5), logistic(-0.5)]), moved_pair(Fraction(20), 1, 1)
        paid = mu_squared_of_discrete_gaussian_up(Fraction(20), 1, 1)
        p, q = self.joint(draw[::-1], lambda at: noise[0]), self.joint(draw, lambda at: noise[1])
        assert exceeds(p, q, mu_squared_of_range_up(Fraction(1)) + paid) == []
        assert exceeds(p, q, 2 * Fraction(1, 8) + paid) != []

    def test_parts_compose_with_their_delta(self) -> None:
        """First a label that only one neighbour has, shown with chance 0.01; then noise on a count."""
        failure, variance = 0.01, Fraction(3)
        one, other = moved_pair(variance, 1, 1)
        shown = np.concatenate([(1 - failure) * one, failure * one])
        never = np.concatenate([other, np.zeros_like(other)])
        total = GaussianGuarantee(Fraction(0), Fraction("0.01")) + GaussianGuarantee(
            mu_squared_of_discrete_gaussian_up(variance, 1, 1), Fraction(0)
        )
        for epsilon in EPSILONS[10:]:
            allowed = float(total.delta) + normal_delta(total.mu_squared, epsilon)
            assert hockey_stick(shown, never, epsilon) <= allowed + NUMERICAL
            assert hockey_stick(never, shown, epsilon) <= allowed + NUMERICAL
        # Without the δ the same pair is not Gaussian at all: one outcome is certain.
        assert exceeds(shown, never, total.mu_squared) != []
        # Its parts are, also at γ < 1, where measures that are no laws say something of their own.
        assert exceeds((1 - failure) * one, (1 - failure) * other, total.mu_squared) == []


class TestGuarantee:
    def test_it_adds_and_multiplies(self) -> None:
        one = GaussianGuarantee(Fraction(1, 50), Fraction(1, 10**9))
        assert 3 * one == one + one + one == one * 3
        assert 0 * one == GaussianGuarantee(Fraction(0), Fraction(0))
        assert (2 * one).covers(one)
        assert not one.covers(2 * one)
        assert not one.covers(GaussianGuarantee(Fraction(0), Fraction(1, 2)))

    def test_it_says_an_epsilon_at_a_total_delta(self) -> None:
        total = GaussianGuarantee(mu_squared_down(1, "0.9e-8"), Fraction("1e-9"))
        assert total.implies(Fraction(1), Fraction("1e-8"))
        assert not total.implies(Fraction("0.9999"), Fraction("1e-8"))
        assert float(total.epsilon("1e-8")) == pytest.approx(1)
        assert total.epsilon("1e-8") <= 1 + Fraction(1, 10**11)
        assert GaussianGuarantee(Fraction(0), Fraction("1e-9")).epsilon("1e-9") == 0
        with pytest.raises(InvalidArgumentError, match="above 1e-09"):
            total.epsilon("1e-9")

    def test_wrong_amounts_are_refused(self) -> None:
        for mu_squared, delta in ((-1, 0), (1, 2), (1, -1), ("x", 0)):
            with pytest.raises(InvalidArgumentError):
                GaussianGuarantee(mu_squared, delta)

    def test_nine_to_thirteen_percent_more_questions_fit(self) -> None:
        """The same noise, asked again and again under ε = 1 at δ = 1e-8."""
        law = DiscreteGaussian(10_000)
        by_rho = int(rho_cks_down(1, "1e-8") / law.rho(1))
        by_mu = int(mu_squared_down(1, "1e-8") / mu_squared_of_discrete_gaussian_up(law.variance, 1, 1))
        assert (by_rho, by_mu) == (344, 384)
        spent = by_mu * GaussianGuarantee(mu_squared_of_discrete_gaussian_up(law.variance, 1, 1), Fraction(0))
        assert spent.implies(Fraction(1), Fraction("1e-8"))
        assert normal_delta_up(spent.mu_squared * Fraction(385, 384), Fraction(1)) > Fraction("1e-8")
