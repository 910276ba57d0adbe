"""Noise that ends: tails by sums and by the formula, between exact bounds; samplers that agree."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.fixtures.known_bits import KnownBits
from tests.privacy.high_precision import quick
from tests.statistical.goodness import accepts, g_test, rejects

from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.noise.truncated_laplace import LARGEST_REACH, LARGEST_SUM, TruncatedLaplace
from unlisted.privacy.sensitivity import Sensitivity

# A chance near 1 is told from its bounds by as many digits as its complement has zeros.
mp = mpmath.MPContext()
mp.dps = 400


def real(x: Fraction) -> object:
    return mp.mpf(x.numerator) / x.denominator


def true_tail(law: TruncatedLaplace, t: int) -> object:
    """P[X >= t], a sum term by term."""
    q = mp.exp(-real(1 / law.scale))
    weights = {x: q ** abs(x) for x in range(-law.reach, law.reach + 1)}
    return sum((w for x, w in weights.items() if x >= t), mp.mpf(0)) / sum(weights.values())


@quick
@given(st.fractions(Fraction(1, 10), 60, max_denominator=100), st.integers(0, 40), st.integers(-45, 45))
@example(Fraction(1), 0, 0)
@example(Fraction(1), 0, 1)
@example(Fraction(60), 40, 40)
def test_every_tail_lies_between_its_bounds(scale: Fraction, reach: int, t: int) -> None:
    law, true = TruncatedLaplace(scale, reach), true_tail(TruncatedLaplace(scale, reach), t)
    for precision in (64, 128, 320):
        one = mp.mpf(2) ** precision
        for low, high in (law.tails(precision).at_least(t), law.tail_bounds(t)(precision)):
            assert low <= true * one <= high
            assert high - low <= 4 * (reach + 2)
        below, above = law._tail_between(t, precision) if t <= reach else (Fraction(0), Fraction(0))
        assert real(below) <= true <= real(above)
        assert (real(above) - real(below)) * one <= 1
    assert true <= real(law.tail(t)) <= true * (1 + mp.mpf(10) ** -30)


def test_beyond_the_ends_nothing_is_possible_and_everything_certain() -> None:
    law = TruncatedLaplace(Fraction(3), 7)
    assert law.tail(8) == 0
    assert law.tail(-7) == law.tail(-100) == 1
    assert law.tail_bounds(8)(128) == (0, 0)


def test_far_noise_has_tails_without_a_sum() -> None:
    law = TruncatedLaplace(Fraction(10**6), 2**30)
    assert law.reach > LARGEST_SUM
    low, high = law.tail_bounds(5 * 10**6)(128)
    assert high - low <= 4
    assert high / 2**128 == pytest.approx(math.exp(-5) / 2, rel=1e-6)


def masses(law: TruncatedLaplace, at_least: int) -> dict[int, float]:
    weights = {x: math.exp(-abs(x) / float(law.scale)) for x in range(max(at_least, -law.reach), law.reach + 1)}
    whole = math.fsum(weights.values())
    return {x: weight / whole for x, weight in weights.items()}


@pytest.mark.parametrize("at_least", [-9, -1, 0, 2, 5])
def test_table_and_slow_twin_draw_the_law(at_least: int) -> None:
    law, other = TruncatedLaplace(Fraction(2), 5), TruncatedLaplace(Fraction(5, 2), 5)
    bits = KnownBits(f"truncated {at_least}")
    tables = law.sample(20_000, bits) if at_least == -9 else law.sample_at_least(at_least, 20_000, bits)
    slow = [law.sample_slowly_at_least(at_least, bits) for _ in range(8000)]
    if at_least == 5:
        assert set(tables.tolist()) == set(slow) == {5}
        return
    for drawn in (tables, slow):
        accepts(g_test(drawn, masses(law, at_least)))
        rejects(g_test(drawn, masses(other, at_least)))


def test_the_slow_twin_draws_both_signs() -> None:
    law, bits = TruncatedLaplace(Fraction(2), 5), KnownBits("signs")
    drawn = [law.sample_slowly(bits) for _ in range(8000)]
    accepts(g_test(drawn, masses(law, -5)))
    rejects(g_test([abs(x) for x in drawn], masses(law, -5)))


def test_no_noise_and_the_ends_alone() -> None:
    assert set(TruncatedLaplace(Fraction(9), 0).sample(50, KnownBits("none")).tolist()) == {0}
    with pytest.raises(InvalidArgumentError, match="as far as the noise reaches"):
        TruncatedLaplace(Fraction(9), 3).sample_at_least(4, 1, KnownBits("beyond"))


def test_display() -> None:
    law = TruncatedLaplace(Fraction(2), 5)
    assert str(law) == "discrete Laplace, scale 2, cut at ±5"
    assert law.stddev == pytest.approx(math.sqrt(math.fsum(x * x * p for x, p in masses(law, -5).items())))


def test_it_has_no_rho_so_algorithm_1_refuses_it() -> None:
    with pytest.raises(InvalidArgumentError, match="one without ends"):
        ThresholdHistogram(TruncatedLaplace(Fraction(1), 5), 5, Sensitivity(1)).guarantee()
    with pytest.raises(InvalidArgumentError, match="reach"):
        TruncatedLaplace(Fraction(1), LARGEST_REACH + 1)
