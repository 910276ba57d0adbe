"""Searching for the lowest threshold of a mechanism that knows its own δ."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unlisted.privacy.one_shot import Searched, lowest


def made_up(least: float, slope: int, wrong: float = 1.0) -> Searched:
    """δ falls to the budget at an exponent of `least`; noise 2^y needs a threshold of slope·2^y.

    The estimates are off by a factor `wrong`.
    """
    delta = 1e-3

    def failure(exponent: float, threshold: int) -> float:
        return delta * 2.0 ** (-4 * (threshold / (slope * 2.0**exponent) - 1))

    def total(exponent: float, threshold: int) -> float:
        moved = delta * 2.0 ** min(900.0, -20 * (exponent - least))
        return max(moved + failure(exponent, threshold) / 100, failure(exponent, threshold))

    return Searched(
        about=lambda y, t: wrong * total(y, t),
        failure=failure,
        bound=lambda y, t: Fraction(total(y, t)),
        delta=Fraction(delta),
        lowest_threshold=1,
    )


@given(st.floats(-1, 9), st.integers(5, 300), st.floats(-0.4, 2.5))
def test_the_lowest_threshold_and_for_it_the_least_noise(least: float, slope: int, off: float) -> None:
    searched = made_up(least, slope)
    exponent, threshold = lowest(searched, least + 0.5 + abs(off))
    assert searched.bound(exponent, threshold) <= searched.delta
    assert searched.bound(exponent - 1e-3, threshold) > searched.delta
    grid = [least + i / 200 for i in range(-20, 200)]
    assert all(searched.bound(y, threshold - 1) > searched.delta for y in grid)


@pytest.mark.parametrize("wrong", [0.999, 1.001])
def test_what_was_only_about_right_is_put_right(wrong: float) -> None:
    searched = made_up(4.0, 50, wrong)
    exponent, threshold = lowest(searched, 5.0)
    assert searched.bound(exponent, threshold) <= searched.delta
    assert abs(exponent - 4.0) < 0.01


def test_estimates_that_are_far_too_low_settle_nothing() -> None:
    assert lowest(made_up(4.0, 50, wrong=0.01), 5.0) is None


def test_what_no_noise_makes_possible_is_not_found() -> None:
    never = Searched(
        about=lambda _y, _t: 1.0,
        failure=lambda _y, _t: 0.0,
        bound=lambda _y, _t: Fraction(1),
        delta=Fraction(1, 10),
        lowest_threshold=1,
    )
    assert lowest(never, 3.0) is None
