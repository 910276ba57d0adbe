"""Conversions between ρ and (ε, δ): valid, tight, and equal to the reference values to the digits given."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from tests.privacy.high_precision import just_above, just_below, mp, quick, real, same_digits, sizes, slow

from unlisted.errors import InvalidArgumentError
from unlisted.privacy import convert
from unlisted.privacy.convert import (
    delta_cks_up,
    epsilon_cks_up,
    epsilon_simple_up,
    rho_cks_down,
    rho_of_epsilon_up,
)
from unlisted.privacy.survey import gaussian_delta, gaussian_epsilon

SEARCHED = Fraction(1, 10**11)
"""How close the searched order brings a bound to the best one; any order gives a valid bound."""


def best_delta(rho: Fraction, epsilon: Fraction) -> Any:
    """The infimum of the theory, with its minimiser found by bisection at 120 digits."""
    r, e = real(rho), real(epsilon)
    low, high = mp.mpf(0), mp.mpf(1)  # of log(a - 1)
    while _slope(1 + mp.exp(low), r, e) > 0:
        low -= 8
    while _slope(1 + mp.exp(high), r, e) < 0:
        high += 8
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (middle, high) if _slope(1 + mp.exp(middle), r, e) < 0 else (low, middle)
    a = 1 + mp.exp(high)
    return mp.exp((a - 1) * (a * r - e)) / (a - 1) * (1 - 1 / a) ** a


def _slope(a: Any, rho: Any, epsilon: Any) -> Any:
    return (2 * a - 1) * rho - epsilon + mp.log1p(-1 / a)


@slow
@given(sizes(-9, 2), sizes(-4, 2))
def test_delta_is_an_upper_bound_and_tight(rho: Fraction, epsilon: Fraction) -> None:
    true = best_delta(rho, epsilon)
    found = delta_cks_up(rho, epsilon)
    if true < mp.exp(-4900):
        assert true < real(found) < mp.exp(-4890)
    elif found < 1:
        # The exponent is searched to 11 digits, so δ is as good as the exponent is large.
        just_above(found, true, SEARCHED * max(1, int(abs(mp.log(true)))))
    else:
        assert true > 1 - real(SEARCHED)


@quick
@given(sizes(-6, 1), sizes(-3, 1), sizes(-2, 3))
def test_at_any_order_the_rounding_is_against_us(rho: Fraction, epsilon: Fraction, above_one: Fraction) -> None:
    """With the order given instead of searched, each bound is within 30 digits of its formula, on its side."""
    a, delta = 1 + above_one, epsilon / 100
    order, r, e, log_inverse = real(a), real(rho), real(epsilon), -mp.log(real(delta))
    rest = mp.log1p(-1 / order) + (log_inverse - mp.log(order)) / (order - 1)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(convert, "_best_order", lambda objective: a)
        exponent = (order - 1) * (order * r - e + mp.log1p(-1 / order)) - mp.log(order)
        if -4900 < exponent < 0:
            just_above(delta_cks_up(rho, epsilon), mp.exp(exponent))
        if order * r + rest > mp.mpf(10) ** -9:
            just_above(epsilon_cks_up(rho, delta), order * r + rest)
        if e - rest > mp.mpf(10) ** -9:
            just_below(rho_cks_down(epsilon, delta), (e - rest) / order)


@slow
@given(sizes(-9, 2), sizes(-15, 0).map(lambda d: d / 11))
def test_epsilon_is_an_upper_bound_and_tight(rho: Fraction, delta: Fraction) -> None:
    epsilon = epsilon_cks_up(rho, delta)
    assert best_delta(rho, epsilon) <= real(delta)
    if epsilon > 0:
        assert best_delta(rho, epsilon * (1 - Fraction(1, 10**8))) > real(delta)


@slow
@given(sizes(-3, 2), sizes(-15, 0).map(lambda d: d / 11))
def test_rho_is_a_lower_bound_and_tight(epsilon: Fraction, delta: Fraction) -> None:
    rho = rho_cks_down(epsilon, delta)
    assert rho > 0
    assert best_delta(rho, epsilon) <= real(delta)
    assert best_delta(rho * (1 + Fraction(1, 10**8)), epsilon) > real(delta)


@quick
@given(sizes(-12, 3), sizes(-300, 0).map(lambda d: d / 11))
def test_the_simple_bound_is_an_upper_bound(rho: Fraction, delta: Fraction) -> None:
    just_above(epsilon_simple_up(rho, delta), real(rho) + 2 * mp.sqrt(real(rho) * -mp.log(real(delta))))


@quick
@given(sizes(-12, 2))
def test_rho_of_epsilon_is_an_upper_bound(epsilon: Fraction) -> None:
    e = real(epsilon)
    true = e * mp.tanh(e / 2)
    just_above(rho_of_epsilon_up(epsilon), true)
    assert rho_of_epsilon_up(epsilon) < min(epsilon**2 / 2, epsilon)
    assert rho_of_epsilon_up(10**4 * epsilon) <= 10**4 * epsilon


@slow
@given(sizes(-9, 2), sizes(-15, 0).map(lambda d: d / 11))
def test_the_simple_bound_is_never_the_tighter_one(rho: Fraction, delta: Fraction) -> None:
    assert epsilon_cks_up(rho, delta) < epsilon_simple_up(rho, delta)


@slow
@given(sizes(-6, 2), sizes(-3, 2))
def test_conversions_fall_and_rise_as_they_must(rho: Fraction, epsilon: Fraction) -> None:
    more = Fraction(101, 100)
    assert delta_cks_up(rho * more, epsilon) >= delta_cks_up(rho, epsilon) >= delta_cks_up(rho, epsilon * more)
    delta = Fraction("1e-7")
    assert epsilon_cks_up(rho, delta / 2) >= epsilon_cks_up(rho, delta) <= epsilon_cks_up(rho * more, delta)
    assert rho_cks_down(epsilon, delta / 2) <= rho_cks_down(epsilon, delta) <= rho_cks_down(epsilon * more, delta)


@pytest.mark.parametrize(
    ("rho", "delta", "simple", "cks", "gaussian"),
    [
        ("0.005", "1e-8", "0.611970851754", "0.523556126952", "0.492850365355"),
        ("0.05", "1e-8", "1.96941036488", "1.75527810225", "1.65865710998"),
        ("0.5", "1e-8", "6.56970851754", "6.08615861467", "5.77609838289"),
        ("0.5", "1e-5", "5.29852591219", "4.72838698494", "4.37717809568"),
        ("5", "1e-10", "26.4596602629", "25.5363341385", "24.5696590398"),
    ],
)
def test_epsilon_reference_values(rho: str, delta: str, simple: str, cks: str, gaussian: str) -> None:
    same_digits(epsilon_simple_up(rho, delta), simple)
    same_digits(epsilon_cks_up(rho, delta), cks)
    same_digits(gaussian_epsilon(float(rho), float(delta)), gaussian)


def test_delta_reference_values() -> None:
    same_digits(delta_cks_up("0.5", 1), "0.246846330783")
    same_digits(gaussian_delta(1.0, 1.0), "0.126936737507")
    same_digits(delta_cks_up("0.5", 4), "1.95795416958e-4")
    same_digits(delta_cks_up("0.05", 1), "3.85709163744e-4")


@pytest.mark.parametrize(
    ("epsilon", "rho"), [("0.1", "0.00499583749579"), ("1", "0.462117157260"), ("2", "1.52318831191")]
)
def test_rho_of_pure_privacy_reference_values(epsilon: str, rho: str) -> None:
    same_digits(rho_of_epsilon_up(epsilon), rho)


def test_two_histograms_are_converted_last() -> None:
    # The survey's example: two Gaussian histograms of ε = 0.1 each, at δ' = 1e-8 in all.
    one = Fraction("0.1") ** 2 / 2
    last = epsilon_cks_up(2 * one, "1e-8")
    first = 2 * epsilon_cks_up(one, "5e-9")
    same_digits(last, "0.752325885458")
    same_digits(first, "1.07263407457")
    assert last < first


@pytest.mark.parametrize(
    ("k", "each", "simple", "cks"),
    [(100, "0.1", "3.16", "2.86")],
)
def test_many_exponential_mechanisms_reference_values(k: int, each: str, simple: str, cks: str) -> None:
    rho = k * Fraction(each) ** 2 / 8
    same_digits(epsilon_simple_up(rho, "1e-8"), simple)
    same_digits(epsilon_cks_up(rho, "1e-8"), cks)
    same_digits(epsilon_simple_up(4 * rho, "1e-8"), "6.57")


def test_nothing_costs_nothing() -> None:
    assert delta_cks_up(0, 0) == 0
    assert epsilon_cks_up(0, "1e-8") == 0
    assert epsilon_simple_up(0, "1e-8") == 0
    assert rho_of_epsilon_up(0) < Fraction(1, 10**45)


@pytest.mark.parametrize("rho", ["1e25", "1e40", "1e300", 10**300])
def test_a_hopeless_rho_has_delta_one(rho: str) -> None:
    assert delta_cks_up(rho, 1) == 1
    assert epsilon_cks_up(rho, "1e-8") >= Fraction(rho)


@pytest.mark.parametrize("rho", ["5e-324", "1e-300", "1e-30"])
def test_a_subnormal_rho_still_costs_something(rho: str) -> None:
    assert 0 < delta_cks_up(rho, "1e-9") < Fraction("1e-25")
    assert epsilon_cks_up(rho, "1e-8") >= 0


@pytest.mark.parametrize(
    ("call", "argument", "value"),
    [
        (lambda: delta_cks_up(-1, 1), "rho", "-1"),
        (lambda: delta_cks_up(1, float("nan")), "epsilon", "nan"),
        (lambda: delta_cks_up(float("inf"), 1), "rho", "inf"),
        (lambda: epsilon_cks_up(1, 0), "delta", "0"),
        (lambda: epsilon_cks_up(1, 1), "delta", "1"),
        (lambda: epsilon_cks_up("x", 0.1), "rho", "'x'"),
        (lambda: epsilon_simple_up(1, -0.5), "delta", "-0.5"),
        (lambda: rho_cks_down(-0.5, 0.1), "epsilon", "-0.5"),
        (lambda: rho_cks_down(1, 2), "delta", "2"),
        (lambda: rho_of_epsilon_up(-1), "epsilon", "-1"),
    ],
)
def test_bad_input_is_named(call: Callable[[], object], argument: str, value: str) -> None:
    with pytest.raises(InvalidArgumentError, match=rf"^{argument} = {value} is not allowed: it must be .+\."):
        call()
