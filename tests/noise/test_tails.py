"""Tails are upper bounds where a threshold rests on them, and bounds from both sides where a table does."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.noise.exact_laws import gaussian_sum, gaussian_whole, mass, tail
from tests.privacy.high_precision import just_above, mp, quick, real, same_digits, sizes, slow

from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.gaussian.normal import lattice_tail_up, normal_tail_up, theta_excess_up
from unlisted.noise.gaussian.tails import LARGEST_SERIES_VARIANCE, sharp_enough, tail_up
from unlisted.noise.law import ExactLaw
from unlisted.noise.table import Tails
from unlisted.privacy.rounding import any_of_up

LAWS = [
    DiscreteLaplace(Fraction(1, 5)),
    DiscreteLaplace(Fraction("2.5")),
    DiscreteLaplace(Fraction(300)),
    DiscreteGaussian(Fraction(1, 50)),
    DiscreteGaussian(Fraction(3)),
    DiscreteGaussian(Fraction("199.9")),
]
laws = pytest.mark.parametrize("law", LAWS, ids=str)


@laws
@pytest.mark.parametrize("precision", [128, 192, 300])
def test_fixed_point_tails_hold_the_truth_between_them(law: ExactLaw, precision: int) -> None:
    tails = law.tails(precision)
    assert tails.precision == precision
    reach = len(tails.low)
    step = max(1, reach // 60)
    for t in [*range(-reach - 2, reach + 3, step), 0, 1, -1, reach - 1, reach, 10 * reach]:
        low, high = tails.at_least(t)
        true = tail(law, t) * mp.mpf(2) ** precision
        assert low <= true <= high, f"P[Z >= {t}]"
        assert high - low < 1 << (precision - 90), "sharp enough for a table"
        assert tails.at_most(-t) == (low, high)


@laws
def test_masses_are_bounded_from_above(law: ExactLaw) -> None:
    tails = law.tails(128)
    for z in range(-30, 31):
        true = mass(law, z) * mp.mpf(2) ** 128
        assert true <= tails.mass_high(z) < true + 2**38


def test_tails_beyond_the_last_are_bounded_by_the_last() -> None:
    tails = Tails(8, low=[140, 60, 0], high=[142, 62, 3])
    assert tails.at_least(1) == (60, 62)
    assert tails.at_least(3) == tails.at_least(99) == (0, 3)
    assert tails.at_least(-3) == (253, 256)
    assert tails.at_least(0) == (194, 196)
    assert tails.mass_high(-1) == 62


@quick
@given(sizes(-2, 5), st.integers(-300, 3000))
def test_laplace_tails_are_upper_bounds(scale: Fraction, t: int) -> None:
    law = DiscreteLaplace(scale)
    if t <= 0:
        assert tail(law, t) <= real(law.tail(t)) <= tail(law, t) + mp.mpf(10) ** -45
    elif t / scale < 4900:
        just_above(law.tail(t), tail(law, t))
    else:
        assert 0 < law.tail(t) < Fraction(1, 10**2000)


@slow
@given(sizes(-1, 2), st.integers(-60, 100))
def test_gaussian_tails_are_upper_bounds_by_the_series(variance: Fraction, t: int) -> None:
    law = DiscreteGaussian(variance)
    if t <= 0:
        assert tail(law, t) <= real(law.tail(t)) <= tail(law, t) + mp.mpf(10) ** -30
    elif t * t / (2 * variance) < 4900:
        just_above(law.tail(t), tail(law, t), Fraction(1, 10**15))
    else:
        assert 0 < law.tail(t) < Fraction(1, 10**2000)


@pytest.mark.parametrize("variance", ["257", "1000", "40000", "1e8"])
def test_gaussian_tails_are_upper_bounds_by_the_normal_law(variance: str) -> None:
    v = Fraction(variance)
    assert v > LARGEST_SERIES_VARIANCE
    sigma = float(v) ** 0.5
    for deviations in (1.1, 3, 5.6, 8):
        t = round(deviations * sigma)
        if v < 10**5:
            true = gaussian_sum(v, t) / gaussian_whole(v)
        else:  # too many terms to add; the Euler-Maclaurin formula starts with this integral
            true = mp.erfc((t - mp.mpf(1) / 2) / mp.sqrt(2 * real(v))) / 2 * (1 - mp.mpf(10) ** -5)
        just_above(tail_up(t, v), true, Fraction(2, 100))
    assert tail_up(-5, v) == 1
    assert Fraction(1, 2) <= tail_up(1, v) <= Fraction(1, 2) + Fraction(1, 10**30)


def test_the_series_and_the_normal_law_meet() -> None:
    just_inside, just_outside = Fraction(LARGEST_SERIES_VARIANCE), LARGEST_SERIES_VARIANCE + Fraction(1, 10**6)
    for t in (20, 50, 90, 130):
        series, normal = tail_up(t, just_inside), tail_up(t, just_outside)
        assert series < normal < series * Fraction(102, 100)


@pytest.mark.parametrize("law", [*LAWS, DiscreteGaussian(Fraction(1000))], ids=str)
def test_tails_never_increase(law: ExactLaw) -> None:
    found = [law.tail(t) for t in range(-40, 60)]
    assert found == sorted(found, reverse=True)
    assert all(0 < one <= 1 + Fraction(1, 10**40) for one in found)


@pytest.mark.parametrize("variance", ["1e-300", "1/1000", "1", "256"])
def test_a_threshold_far_out_costs_no_time(variance: str) -> None:
    # Precision follows the tail's size, so a tail of e^-(10^12) must not be followed all the way.
    law = DiscreteGaussian(Fraction(variance))
    for t in (10**3, 2**61):
        assert 0 < law.tail(t) < Fraction(1, 10**50)
    assert law.sum_tail(2, 2**61) < Fraction(1, 10**50)
    assert law.lead_tail(2**61, 10) < Fraction(1, 10**50)
    assert sharp_enough(2**61, Fraction(1, 10**300)) < 8000


@quick
@given(sizes(0, 4))
def test_the_normal_tail_is_an_upper_bound(x_squared: Fraction) -> None:
    x = mp.sqrt(real(x_squared))
    close = Fraction(1, 10**4) if x_squared < 4 else Fraction(1, 10**8)
    just_above(normal_tail_up(x_squared), mp.erfc(x / mp.sqrt(2)) / 2, close)


@quick
@given(sizes(-1, 2), st.fractions(0, 1))
def test_theta_bounds_the_sum_over_every_shifted_lattice(variance: Fraction, shift: Fraction) -> None:
    v, m = real(variance), real(shift)
    reach = int(12 * float(variance) ** 0.5) + 30
    total = mp.fsum(mp.exp(-((z - m) ** 2) / (2 * v)) for z in range(-reach, reach + 2))
    assert total / mp.sqrt(2 * mp.pi * v) <= real(theta_excess_up(variance))


@pytest.mark.parametrize("variance", ["0.05", "0.3", "1", "4", "8", "1000"])
def test_theta_is_tight_where_it_is_attained(variance: str) -> None:
    v = real(Fraction(variance))
    at_zero = mp.jtheta(3, 0, mp.exp(-2 * mp.pi**2 * min(v, mp.mpf(8))))
    assert at_zero <= real(theta_excess_up(Fraction(variance))) <= at_zero * (1 + mp.mpf(10) ** -2)


@pytest.mark.parametrize("variance", ["1", "4", "300"])
def test_the_lattice_sum_is_an_upper_bound_everywhere(variance: str) -> None:
    v = Fraction(variance)
    norm = mp.sqrt(2 * mp.pi * real(v))
    for t in range(1, 60):
        assert gaussian_sum(v, t) / norm <= real(lattice_tail_up(t, v))
    assert gaussian_whole(v) / norm <= real(lattice_tail_up(0, v)) == real(lattice_tail_up(-7, v))


ATTAINED: list[tuple[ExactLaw, str, int, int, int, str]] = [
    (DiscreteLaplace(Fraction(1)), "1e-8", 1, 1, 19, "4.09597239998e-9"),
    (DiscreteLaplace(Fraction(1)), "1e-8", 10, 1, 21, "5.54329583498e-9"),
    (DiscreteLaplace(Fraction(10)), "1e-10", 100, 1, 270, "9.86713510902e-11"),
    (DiscreteLaplace(Fraction(10)), "1e-6", 3, 5, 147, "9.70179535144e-7"),
    (DiscreteLaplace(Fraction(1)), "1e-9", 7, 2, 24, "5.25142459516e-10"),
    (DiscreteGaussian(Fraction(1)), "1e-8", 1, 1, 6, "6.08502259097e-9"),
    (DiscreteGaussian(Fraction(1)), "1e-8", 10, 1, 7, "9.13977365822e-11"),
    (DiscreteGaussian(Fraction(100)), "1e-10", 100, 1, 71, "8.75957902157e-11"),
    (DiscreteGaussian(Fraction(100)), "1e-6", 3, 5, 55, "6.55462784526e-7"),
    (DiscreteGaussian(Fraction(1)), "1e-9", 7, 2, 8, "6.39784156084e-11"),
]


@pytest.mark.parametrize(("law", "delta", "items", "count", "threshold", "attained"), ATTAINED)
def test_histogram_thresholds_attain_their_reference_delta(
    law: ExactLaw, delta: str, items: int, count: int, threshold: int, attained: str
) -> None:
    # A label is released when its noisy count is *above* the threshold, so the tail starts one further.
    def failure(t: int) -> Fraction:
        return any_of_up(law.tail(t - count + 1), items)

    same_digits(failure(threshold), attained)
    assert failure(threshold) <= Fraction(delta) < failure(threshold - 1), "no lower threshold would do"


@pytest.mark.parametrize(
    ("law", "p", "expected"),
    [
        (DiscreteLaplace(Fraction(1)), "1e-8", 19),
        (DiscreteLaplace(Fraction(10)), "0.3", 6),
        (DiscreteGaussian(Fraction(1)), "1e-8", 6),
        (DiscreteGaussian(Fraction(10**6)), "1e-8", 5613),
        (DiscreteGaussian(Fraction(1)), "0.999", 0),
    ],
)
def test_quantiles(law: ExactLaw, p: str, expected: int) -> None:
    found = law.quantile(Fraction(p))
    assert found == expected
    assert law.tail(found) <= Fraction(p)
    assert found == 0 or law.tail(found - 1) > Fraction(p)


def test_strictness_of_the_threshold_matters() -> None:
    # Releasing at `>=` with the tail of `>` understates δ by a factor e^(1/b): here 2.7 times.
    law = DiscreteLaplace(Fraction(1))
    ratio: Callable[[int], float] = lambda t: float(law.tail(t) / law.tail(t + 1))  # noqa: E731
    assert ratio(18) == pytest.approx(2.718281828, rel=1e-9)


@pytest.mark.parametrize("law", [LAWS[1], LAWS[3], LAWS[5]], ids=str)
def test_no_probability_is_too_small_for_a_quantile(law: ExactLaw) -> None:
    # Elsewhere a quantile crashed at 1492 rows and not at 1491, and an underflow became an error about the data.
    found = [law.quantile(Fraction(1, 2**bits)) for bits in range(1, 1500, 37)]
    assert found == sorted(found)
    assert found[-1] > found[0]
