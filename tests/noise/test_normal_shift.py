"""The exact (ε, δ) of normal noise: against quadruple precision, against an integral, and never too small."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.privacy.high_precision import mp, quick, real, sizes

from unlisted.noise.gaussian.normal import normal_about, normal_delta_about, normal_delta_up
from unlisted.privacy.survey import gaussian_delta


def upper(x: Any) -> Any:
    return mp.erfc(x / mp.sqrt(2)) / 2


def exact(mu_squared: Fraction, epsilon: Fraction) -> Any:
    mu, e = mp.sqrt(real(mu_squared)), real(epsilon)
    return upper(e / mu - mu / 2) - mp.exp(e) * upper(e / mu + mu / 2)


@quick
@given(sizes(-2, 3), st.fractions(-5, 8, max_denominator=1000))
@example(Fraction(2), Fraction(1))
@example(Fraction(2), Fraction(-1))
@example(Fraction(1, 26), Fraction(1))
def test_it_is_just_above_the_formula(mu_squared: Fraction, epsilon: Fraction) -> None:
    found, true = normal_delta_up(mu_squared, epsilon), exact(mu_squared, epsilon)
    assert true <= real(found)
    # The two tails are known to a dozen digits at least; far out they nearly cancel.
    tails = upper(real(epsilon) / mp.sqrt(real(mu_squared)) - mp.sqrt(real(mu_squared)) / 2)
    assert real(found) - true <= tails * mp.mpf(10) ** -12


@pytest.mark.parametrize(("mu_squared", "epsilon"), [("1", "1"), ("0.25", "-0.3"), ("4", "0"), ("0.04", "0.7")])
def test_no_set_of_outcomes_gains_more(mu_squared: str, epsilon: str) -> None:
    """The hockey stick of two normal laws a distance of μ apart, integrated."""
    mu, e = mp.sqrt(real(mu_squared)), real(epsilon)

    def gain(x: Any) -> Any:
        return max(mp.zero, mp.npdf(x, mu) - mp.exp(e) * mp.npdf(x))

    # The densities cross at ε/μ + μ/2.
    gained = mp.quad(gain, [e / mu + mu / 2, mu + 8, mu + 16])
    found = normal_delta_up(Fraction(mu_squared), Fraction(epsilon))
    assert float(found) == pytest.approx(float(gained), rel=1e-9)


@pytest.mark.parametrize(
    ("rho", "epsilon"), [("0.005", "0.493"), ("0.05", "1.659"), ("0.5", "5.776"), ("5", "22.17")]
)
def test_it_is_the_theory_s(rho: str, epsilon: str) -> None:
    """The ε of exact Gaussian noise at δ = 1e-8, to the digits that are printed."""
    last_digit = Fraction(1, 10 ** len(epsilon.split(".")[1]))
    before, after = (normal_delta_up(2 * Fraction(rho), Fraction(epsilon) + i * last_digit) for i in (-1, 1))
    assert after < Fraction(1, 10**8) < before


def test_it_is_the_survey_s_continuous_formula() -> None:
    assert float(normal_delta_up(Fraction(1, 9), Fraction(1))) == pytest.approx(gaussian_delta(1 / 3, 1.0))


@quick
@given(sizes(-3, 2), st.fractions(-3, 8, max_denominator=100))
def test_a_longer_move_or_less_epsilon_costs_more(mu_squared: Fraction, epsilon: Fraction) -> None:
    here, more = normal_delta_up(mu_squared, epsilon), 1 + Fraction(1, 1000)
    assert here <= normal_delta_up(mu_squared * more, epsilon)
    assert here <= normal_delta_up(mu_squared, epsilon - Fraction(1, 100))


def test_no_move_costs_nothing_until_epsilon_is_negative() -> None:
    assert normal_delta_up(Fraction(0), Fraction(0)) == normal_delta_up(Fraction(0), Fraction(3)) == 0
    assert float(normal_delta_up(Fraction(0), Fraction(-1))) == pytest.approx(1 - math.exp(-1))


def test_it_stays_a_chance() -> None:
    assert normal_delta_up(Fraction(10**6), Fraction(1)) == pytest.approx(1)
    assert normal_delta_up(Fraction(10**6), Fraction(1)) <= 1
    assert normal_delta_up(Fraction(1, 10**6), Fraction(50)) < Fraction(1, 10**100)


@quick
@given(sizes(-3, 2), st.fractions(-3, 8, max_denominator=100))
def test_the_search_sees_about_the_same(mu_squared: Fraction, epsilon: Fraction) -> None:
    proved = float(normal_delta_up(mu_squared, epsilon))
    assert normal_delta_about(float(mu_squared), float(epsilon)) == pytest.approx(proved, rel=1e-6, abs=1e-14)
    assert normal_delta_about(0, float(epsilon)) == pytest.approx(float(normal_delta_up(Fraction(0), epsilon)))


def test_the_tail_in_floating_point() -> None:
    assert normal_about(0) == 0.5
    assert normal_about(1.5) == pytest.approx(float(upper(mp.mpf("1.5"))))
    assert normal_about(-40) == 1
