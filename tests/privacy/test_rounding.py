"""Every bound is on the side its name says, and so close to the truth that nobody could notice.

Other libraries had bounds on the wrong side (tails and conversions that promised more than was true), so each
function is held against 120 digits, strictly on both sides.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.privacy.high_precision import TIGHT, just_above, just_below, mp, quick, real, same_digits, sizes

from unlisted.privacy.rounding import (
    DIGITS,
    any_of_up,
    exp_down,
    exp_up,
    log_down,
    log_up,
    round_down,
    round_up,
    sqrt_down,
    sqrt_up,
)

SIGNED = st.builds(lambda size, sign: size * sign, sizes(-40, 4), st.sampled_from([1, -1])).filter(
    lambda x: abs(x) < 5000
)


@quick
@given(SIGNED)
@example(Fraction(-4999))
@example(Fraction(4999))
@example(Fraction(1, 3))
def test_exp_is_bounded_from_both_sides(x: Fraction) -> None:
    just_above(exp_up(x), mp.exp(real(x)))
    just_below(exp_down(x), mp.exp(real(x)))


@quick
@given(sizes(-300, 300).filter(lambda x: abs(x - 1) > Fraction(1, 10**20)))
def test_log_is_bounded_from_both_sides(x: Fraction) -> None:
    just_above(log_up(x), mp.log(real(x)))
    just_below(log_down(x), mp.log(real(x)))


@quick
@given(st.integers(1, 100), st.sampled_from([1, -1]))
def test_log_keeps_its_side_next_to_one(zeros: int, sign: int) -> None:
    x = 1 + Fraction(sign, 10**zeros)
    assert real(log_down(x)) <= mp.log1p(real(x - 1)) <= real(log_up(x))


@quick
@given(sizes(-300, 300))
def test_sqrt_is_bounded_from_both_sides(x: Fraction) -> None:
    assert sqrt_down(x) ** 2 < x < sqrt_up(x) ** 2
    just_above(sqrt_up(x), mp.sqrt(real(x)))
    just_below(sqrt_down(x), mp.sqrt(real(x)))


@quick
@given(st.fractions())
def test_round_goes_to_its_side_and_no_further_than_one_digit(x: Fraction) -> None:
    assert round_down(x) <= x <= round_up(x)
    assert round_up(x) - round_down(x) <= abs(x) / 10 ** (DIGITS - 1)
    assert round_up(x) == -round_down(-x)
    assert round_up(round_up(x)) == round_up(x)


def test_round_to_few_digits_for_people_to_read() -> None:
    assert round_up(Fraction(2, 3), 3) == Fraction("0.667")
    assert round_down(Fraction(2, 3), 3) == Fraction("0.666")
    assert round_up(Fraction(123456789), 3) == 124_000_000
    assert round_up(Fraction(0)) == round_down(Fraction(0)) == 0


@quick
@given(sizes(-300, 0).map(lambda p: p / 11), st.integers(2, 10**9))
def test_any_of_is_bounded_from_above(p: Fraction, n: int) -> None:
    true = -mp.expm1(n * mp.log1p(-real(p)))
    # Not strictly above: 1 - 0.9² is a short decimal, known here to 110 digits only.
    known = 1 - mp.mpf(10) ** -110
    assert true * known <= real(any_of_up(p, n)) <= min(mp.one, true * (1 + real(TIGHT)))


@pytest.mark.parametrize(
    ("p", "n", "expected"),
    [(0, 5, 0), ("-1e-9", 5, 0), ("0.3", 0, 0), ("0.3", 1, "0.3"), (1, 7, 1), (2, 1, 1), (3, 4, 1)],
)
def test_any_of_at_its_ends(p: str, n: int, expected: str) -> None:
    assert any_of_up(Fraction(p), n) == Fraction(expected)


def test_any_of_twenty_reference() -> None:
    same_digits(any_of_up(Fraction("1e-9"), 20), "1.99999998100e-8")


def test_chances_of_any_length_are_read() -> None:
    # Python writes out no whole number of more than 4300 digits, so nothing may depend on writing one out.
    tiny = Fraction(1, 3**12_000)
    assert tiny * 5 * (1 - Fraction(1, 10**40)) < any_of_up(tiny, 5) <= tiny * 5 * (1 + Fraction(1, 10**40))


def test_log_of_one_and_sqrt_of_zero_are_exactly_zero() -> None:
    # The next decimal above 0 has 10^18 digits after the point: stepping outward from 0 would never end.
    assert log_up(Fraction(1)) == log_down(Fraction(1)) == 0
    assert sqrt_up(Fraction(0)) == sqrt_down(Fraction(0)) == 0
    assert log_up(1 - Fraction(1, 10**200)) == 0
    assert log_down(1 + Fraction(1, 10**200)) == 0


@pytest.mark.parametrize("x", [-5001, -(10**6), -(10**30)])
def test_far_below_exp_is_still_a_bound_and_still_short(x: int) -> None:
    assert exp_down(Fraction(x)) == 0
    assert exp_up(Fraction(x)) == exp_up(Fraction(-5000))


@pytest.mark.parametrize("x", [5001, 10**6, 10**30])
def test_far_above_exp_down_is_still_a_bound_and_still_short(x: int) -> None:
    assert exp_down(Fraction(x)) == exp_down(Fraction(5000))


def test_more_digits_on_request() -> None:
    just_above(exp_up(Fraction(-1, 3), 100), mp.exp(real(Fraction(-1, 3))), Fraction(1, 10**98))
    just_below(log_down(Fraction(7), 100), mp.log(7), Fraction(1, 10**98))
    just_above(sqrt_up(Fraction(7), 100), mp.sqrt(7), Fraction(1, 10**98))
