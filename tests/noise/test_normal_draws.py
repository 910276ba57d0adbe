"""Coins of the normal law's tails: exact bounds at every precision, and frequencies that follow them."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.fixtures.known_bits import KnownBits
from tests.noise.exact_laws import bounds_of
from tests.privacy.high_precision import quick
from tests.statistical.goodness import accepts, g_test, rejects

from unlisted.noise.bernoulli import Bounds, bernoulli, ratio
from unlisted.noise.gaussian.normal import tail_chance

PRECISIONS = st.sampled_from([64, 128, 192, 256, 1024])


def tail(gap: int, variance: Fraction, precision: int) -> mpmath.mpf:
    """Return 2^precision · Q(gap/√variance) to a hundred digits more than its whole part has."""
    ctx = mpmath.MPContext()
    ctx.dps = precision // 2 + 100 + 2 * len(str(gap))
    x = gap / ctx.sqrt(ctx.mpf(variance.numerator) / variance.denominator)
    return ctx.ldexp(ctx.erfc(x / ctx.sqrt(2)) / 2, precision)


def assert_bounded(gap: int, variance: Fraction, precision: int) -> None:
    low, high = tail_chance(gap, variance)(precision)
    true = tail(gap, variance, precision)
    assert 0 <= low <= true <= high <= 1 << precision
    assert high - low <= 2


@quick
@given(
    st.integers(-(10**12), 10**12),
    st.fractions(Fraction(1, 10**6), 10**24, max_denominator=10**9),
    PRECISIONS,
)
@example(0, Fraction(1), 64)
@example(1, Fraction(1), 256)
@example(-1, Fraction(1, 3), 256)
@example(10**30, Fraction(1, 7), 128)
@example(-(10**30), Fraction(1, 7), 128)
def test_the_chance_lies_between_its_bounds(gap: int, variance: Fraction, precision: int) -> None:
    assert_bounded(gap, variance, precision)


@quick
@given(st.integers(-2000, 2000), PRECISIONS)
def test_so_it_does_where_nothing_is_certain(hundredths: int, precision: int) -> None:
    """Up to twenty deviations either way: where every digit of the series matters."""
    assert_bounded(hundredths, Fraction(10**4), precision)


@pytest.mark.parametrize("precision", [64, 128, 256])
def test_it_does_at_the_edge_beyond_which_no_series_is_summed(precision: int) -> None:
    edge = math.isqrt(2 * precision * 10**12 * 10**6 // 1_442_695)
    for gap in range(edge - 2, edge + 3):
        assert_bounded(gap, Fraction(10**12), precision)


def test_a_gap_of_nothing_is_a_fair_coin() -> None:
    assert tail_chance(0, Fraction(5, 7))(100) == (1 << 99, 1 << 99)


def test_both_sides_add_up_to_one() -> None:
    above, below = tail_chance(3, Fraction(2))(128), tail_chance(-3, Fraction(2))(128)
    assert above[0] + below[1] == above[1] + below[0] == 1 << 128


@quick
@given(st.integers(-300, 900), st.integers(0, 300), PRECISIONS)
def test_a_ratio_lies_between_its_bounds(hundredths: int, less: int, precision: int) -> None:
    variance = Fraction(10**4)
    low, high = ratio(tail_chance(hundredths, variance), tail_chance(hundredths - less, variance))(precision)
    true = tail(hundredths, variance, precision) / tail(hundredths - less, variance, precision)
    assert low <= mpmath.ldexp(true, precision) <= high <= 1 << precision
    assert high - low <= 4


def test_a_ratio_of_chances_too_small_for_one_word_has_its_digits() -> None:
    """Q(40) is about 2^-1158: bounds are sharpened until there is something to divide by."""
    low, high = ratio(tail_chance(41, Fraction(1)), tail_chance(40, Fraction(1)))(64)
    ctx = mpmath.MPContext()
    ctx.dps = 60
    true = ctx.erfc(41 / ctx.sqrt(2)) / ctx.erfc(40 / ctx.sqrt(2))
    assert low <= ctx.ldexp(true, 64) <= high
    assert high - low <= 4


def test_a_ratio_of_the_same_is_one() -> None:
    coin = tail_chance(2, Fraction(1))
    low, high = ratio(coin, coin)(64)
    assert (1 << 64) - 4 <= low <= high == 1 << 64
    assert ratio(bounds_of(Fraction(1, 8)), bounds_of(Fraction(1, 4)))(64) == (1 << 63, 1 << 63)


@pytest.mark.parametrize(
    ("name", "coin", "chance"),
    [
        ("rare", tail_chance(3, Fraction(4)), math.erfc(1.5 / math.sqrt(2)) / 2),
        ("likely", tail_chance(-3, Fraction(4)), 1 - math.erfc(1.5 / math.sqrt(2)) / 2),
        (
            "given another",
            ratio(tail_chance(3, Fraction(4)), tail_chance(2, Fraction(4))),
            math.erfc(1.5 / math.sqrt(2)) / math.erfc(1 / math.sqrt(2)),
        ),
    ],
)
def test_coins_come_as_often_as_they_should(name: str, coin: Bounds, chance: float) -> None:
    bits = KnownBits(f"normal coin, {name}")
    drawn = [bernoulli(coin, bits) for _ in range(20_000)]
    accepts(g_test(drawn, {0: 1 - chance, 1: chance}))
    off = chance * 0.75 if chance < 0.9 else 2 * chance - 1
    rejects(g_test(drawn, {0: 1 - off, 1: off}))
