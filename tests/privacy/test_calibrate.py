"""Calibration finds the lowest threshold inside a budget, by whichever noise and way of adding up allows it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.privacy.high_precision import same_digits, slow

from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.on_counts import Noise
from unlisted.privacy.calibrate import Family, calibrate
from unlisted.privacy.convert import rho_cks_down
from unlisted.privacy.guarantee import Budget, Guarantee
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.privacy.survey import gaussian_threshold, laplace_threshold

STANDARD = Budget(epsilon=1, delta="1e-8")
EPSILONS = st.sampled_from(["0.05", "0.3", "1", "3", "12"])
DELTAS = st.sampled_from(["0.05", "1e-3", "1e-6", "1e-10"])
ITEMS = st.sampled_from([1, 2, 3, 7, 40])
COUNTS = st.sampled_from([1, 2, 5])


def histogram(budget: Budget, items: int, noise: Noise = "auto", count: int = 1) -> ThresholdHistogram:
    return ThresholdHistogram.for_budget(budget, Sensitivity(items, count), noise).mechanism


def through_rho(budget: Budget, items: int) -> ThresholdHistogram:
    return ThresholdHistogram.for_budget(budget, Sensitivity(items), "gaussian", one_shot=False).mechanism


@pytest.mark.parametrize(("items", "printed"), [(1, "32.6"), (2, "46.6"), (3, "57.4"), (10, "107"), (100, "357")])
def test_gaussian_thresholds_reach_the_theory(items: int, printed: str) -> None:
    # The theory's column is continuous noise with δ halved; ours are integers with δ shared as is best.
    half = Fraction("5e-9")
    sigma = math.sqrt(items / (2 * rho_cks_down(1, half)))
    same_digits(gaussian_threshold(1, float(half) / items) * sigma - sigma + 1, printed)
    ours = through_rho(STANDARD, items).threshold
    assert float(printed) * 0.97 <= ours <= math.ceil(float(printed))


@pytest.mark.parametrize(("items", "printed"), [(1, "29.6"), (2, "42.3"), (3, "52.2"), (10, "97.7"), (100, "325")])
def test_exact_thresholds_reach_the_theory(items: int, printed: str) -> None:
    # The theory's column is continuous noise; ours are integers.
    found = histogram(STANDARD, items, "gaussian")
    assert abs(found.threshold - float(printed)) < 1
    assert found.guarantee().direct.epsilon == 1
    assert found.guarantee().direct.delta <= STANDARD.delta
    assert found.threshold <= 0.95 * through_rho(STANDARD, items).threshold


@pytest.mark.parametrize(("items", "printed"), [(1, "18.7"), (2, "37.8"), (3, "57.5"), (10, "201")])
def test_laplace_thresholds_reach_the_theory(items: int, printed: str) -> None:
    same_digits(laplace_threshold(1 / items, 1e-8 / items), printed)
    found = histogram(STANDARD, items, "laplace")
    assert abs(found.threshold - float(printed)) < 1
    assert found.law == DiscreteLaplace(Fraction(items)), "D0·ε is the whole budget"


@pytest.mark.parametrize(("items", "law"), [(1, DiscreteLaplace), (2, DiscreteLaplace), (10, DiscreteGaussian)])
def test_auto_takes_the_law_with_the_lower_threshold(items: int, law: type) -> None:
    assert isinstance(histogram(STANDARD, items).law, law)


@settings(deadline=None, max_examples=8)
@given(EPSILONS, DELTAS, ITEMS, COUNTS)
def test_auto_is_the_best_of_both(epsilon: str, delta: str, items: int, count: int) -> None:
    budget = Budget(epsilon=epsilon, delta=delta)
    auto, laplace, gaussian = (histogram(budget, items, one, count) for one in ("auto", "laplace", "gaussian"))
    assert auto.threshold == min(laplace.threshold, gaussian.threshold)
    assert auto in (laplace, gaussian) or auto.threshold == laplace.threshold == gaussian.threshold
    for found in (auto, laplace, gaussian):
        assert budget.allows(found.guarantee())


@slow
@given(st.sampled_from(["0.001", "0.05", "0.5", "10"]), DELTAS, ITEMS, COUNTS)
def test_a_budget_in_rho_is_kept_and_used_up(rho: str, delta: str, items: int, count: int) -> None:
    budget = Budget(rho=rho, delta=delta)
    for noise in ("laplace", "gaussian"):
        found = histogram(budget, items, noise, count)
        guarantee = found.guarantee()
        assert budget.allows(guarantee)
        assert guarantee.rho > budget.rho * (1 - Fraction(1, 10**5)) or found.threshold == found.lowest_threshold
        if found.threshold > found.lowest_threshold:
            lower = ThresholdHistogram(found.law, found.threshold - 1, found.sensitivity)
            assert lower.failure() > budget.delta


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    ("epsilon", "delta", "items", "count"),
    [("1", "1e-8", 1, 1), ("0.5", "1e-3", 3, 2), ("8", "0.01", 2, 1), ("2", "1e-5", 12, 1), ("30", "1e-6", 40, 1)],
)
def test_no_scale_allows_a_lower_threshold(noise: Noise, epsilon: str, delta: str, items: int, count: int) -> None:
    budget = Budget(epsilon=epsilon, delta=delta)
    found = histogram(budget, items, noise, count)
    assert found.threshold > found.lowest_threshold, "the case proves nothing"
    law, centre = type(found.law), scale_of(found)
    for step in range(-24, 25):
        other = law(Fraction(float(centre) * 2 ** (step / 8)).limit_denominator(10**4))
        lower = ThresholdHistogram(other, found.threshold - 1, found.sensitivity)
        assert not budget.allows(lower.guarantee()), f"{other} allows a threshold of {lower.threshold}"


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("items", [1, 10])
def test_at_the_lowest_threshold_there_is_no_less_noise(noise: Noise, items: int) -> None:
    found = histogram(STANDARD, items, noise)
    less = type(found.law)(scale_of(found) * Fraction(999, 1000))
    quieter = ThresholdHistogram(less, found.threshold, found.sensitivity)
    assert not STANDARD.allows(quieter.guarantee())


@pytest.mark.parametrize("noise", ["auto", "laplace", "gaussian"])
def test_thresholds_are_monotone(noise: Noise) -> None:
    epsilons = [histogram(Budget(epsilon=e, delta="1e-6"), 5, noise).threshold for e in ("0.2", "1", "4")]
    deltas = [histogram(Budget(epsilon=1, delta=d), 5, noise).threshold for d in ("1e-12", "1e-6", "0.1")]
    items = [histogram(STANDARD, n, noise).threshold for n in (1, 2, 3, 8, 20)]
    counts = [histogram(STANDARD, 3, noise, count).threshold for count in (1, 2, 10)]
    assert epsilons == sorted(epsilons, reverse=True)
    assert deltas == sorted(deltas, reverse=True)
    assert items == sorted(items)
    assert counts == sorted(counts)


def test_sharing_delta_beats_halving_it() -> None:
    budget = Budget(epsilon="0.5", delta="0.1")
    half = budget.delta / 2
    found = through_rho(budget, 100)
    halved = DiscreteGaussian(Fraction(100) / (2 * rho_cks_down(budget.epsilon, half)))
    for threshold, enough in ((84, False), (85, True)):
        assert (ThresholdHistogram(halved, threshold, found.sensitivity).failure() <= half) is enough
    assert found.threshold == 79


def test_the_reason_names_the_winner_and_the_others() -> None:
    one = ThresholdHistogram.for_budget(STANDARD, Sensitivity(1))
    assert one.reason.startswith("discrete Laplace (by ε added up) has the lowest threshold, 19; against 30 with ")
    assert "30 with discrete Gaussian (by its exact δ), 33 with discrete Gaussian (by ρ converted)" in one.reason
    alone = ThresholdHistogram.for_budget(Budget(rho=1, delta="1e-8"), Sensitivity(1), "gaussian")
    assert alone.reason == "discrete Gaussian (by ρ) has the lowest threshold, 5."


def test_scales_are_decimals_that_a_person_can_read() -> None:
    for noise in ("laplace", "gaussian"):
        scale = scale_of(histogram(Budget(epsilon="0.7", delta="1e-9"), 7, noise))
        assert len(str(scale.numerator * 10**20 // scale.denominator).rstrip("0")) <= 7


@dataclass(frozen=True)
class Priceless:
    """A mechanism that no noise makes affordable."""

    lowest_threshold: int = 1

    def price(self) -> Guarantee:
        return Guarantee(Fraction(10), Fraction(0))

    def failure(self) -> Fraction:
        return Fraction(0)


def test_a_budget_too_small_for_any_noise_is_refused() -> None:
    hopeless = Family("no noise", lambda scale, threshold: Priceless(), float)
    for budget in (Budget(rho=1, delta="1e-8"), STANDARD):
        with pytest.raises(InvalidArgumentError, match=r"^budget = .+ large enough for some amount of noise"):
            calibrate(budget, [hopeless])
    with pytest.raises(InvalidArgumentError, match=r"^budget = "):
        histogram(Budget(rho="1e-30", delta="1e-8"), 1, "gaussian")


@pytest.mark.parametrize("delta", ["5e-324", "1e-330", "1e-900"])
def test_a_delta_below_every_float_is_a_budget_like_any_other(delta: str) -> None:
    budget = Budget(epsilon=1, delta=delta)
    for noise in ("laplace", "gaussian"):
        assert budget.allows(histogram(budget, 3, noise).guarantee())


def test_a_generous_budget_has_the_lowest_threshold_there_is() -> None:
    found = histogram(Budget(epsilon=1000, delta="0.1"), 1)
    assert found.threshold == found.lowest_threshold


def scale_of(found: ThresholdHistogram) -> Fraction:
    law = found.law
    return law.variance if isinstance(law, DiscreteGaussian) else law.scale
