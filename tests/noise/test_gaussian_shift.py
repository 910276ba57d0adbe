"""The exact (ε, δ) of moved counts: against the theory, against convolution, and never too small."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.noise.exact_laws import gaussian_sum, gaussian_whole, mass
from tests.privacy.high_precision import mp, quick, real, same_digits

from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.gaussian.normal import lattice_tail_bounds, normal_tail_bounds
from unlisted.noise.gaussian.tails import LARGEST_SERIES_VARIANCE, shift_delta_up, sum_tail_bounds, tail_bounds
from unlisted.privacy.convert import delta_cks_up
from unlisted.privacy.survey import gaussian_delta

VARIANCES = st.sampled_from(["0.3", "1", "2.5", "9", "77.7", "255", "260", "2601", "1e6"])


def summed(variance: Fraction, draws: int, reach: int) -> dict[int, object]:
    """The masses of a sum to many digits, term by term."""
    law = DiscreteGaussian(variance)
    one = {z: mass(law, z) for z in range(-reach, reach + 1)}
    total = {0: mp.one}
    for _ in range(draws):
        longer: dict[int, object] = {}
        for a, p in total.items():
            for b, q in one.items():
                longer[a + b] = longer.get(a + b, mp.zero) + p * q
        total = longer
    return total


@pytest.mark.parametrize(
    ("variance", "shift", "printed"),
    [(1, 1, "0.141351339406"), (4, 1, "0.00724877684595"), (25, 2, "0.00131843552874")],
)
def test_one_count_is_the_theory_s(variance: int, shift: int, printed: str) -> None:
    same_digits(shift_delta_up(1, shift, Fraction(variance), Fraction(1)), printed)


@pytest.mark.parametrize("x_squared", ["0", "0.01", "1", "5.44", "5.45", "8.999", "9", "30", "300"])
def test_the_normal_tail_lies_between_its_bounds(x_squared: str) -> None:
    low, high = normal_tail_bounds(Fraction(x_squared))
    true = mp.erfc(mp.sqrt(real(Fraction(x_squared)) / 2)) / 2
    assert real(low) <= true <= real(high)
    assert high - low <= high / 10**12


@pytest.mark.parametrize("variance", ["257", "300.5", "4000"])
def test_lattice_sums_lie_between_their_bounds(variance: str) -> None:
    v = Fraction(variance)
    deviation = math.sqrt(v)
    for deviations in (0.01, 0.5, 1, 2, 2.33, 2.34, 3, 5, 6, 8, 12):
        t = max(1, round(deviations * deviation))
        low, high = lattice_tail_bounds(t, v)
        true = gaussian_sum(v, t) / mp.sqrt(2 * mp.pi * real(v))
        assert real(low) <= true <= real(high), deviations
        assert high - low < (0.03 + float(high) * deviations**4 / 300) / float(v) ** 2, deviations
        assert deviations < 3 or high - low < high * deviations**4 / (300 * v**2), deviations


@pytest.mark.parametrize("t", [-40, -3, 0, 1, 17, 60, 90])
def test_the_two_ways_to_a_tail_meet(t: int) -> None:
    below, above = (Fraction(LARGEST_SERIES_VARIANCE) + Fraction(i, 10**9) for i in (0, 1))
    for variance in (below, above):
        low, high = tail_bounds(t, variance)
        beyond = gaussian_sum(variance, t if t > 0 else 1 - t) / gaussian_whole(variance)
        true = beyond if t > 0 else 1 - beyond
        assert real(low) <= true <= real(high)
        assert float(high) == pytest.approx(float(low), rel=1e-4)


@pytest.mark.parametrize(("variance", "draws"), [("0.2", 2), ("0.5", 3), ("1", 2), ("2", 4), ("5", 3)])
def test_sums_lie_between_their_bounds(variance: str, draws: int) -> None:
    v = Fraction(variance)
    reach = 8 + 12 * math.isqrt(math.ceil(v))
    masses = summed(v, draws, reach)
    for t in range(-6, 14):
        low, high = sum_tail_bounds(draws, t, v)
        true = mp.fsum(p for z, p in masses.items() if z >= t)
        # What a draw beyond the reach adds is far below what the bounds leave.
        slack = mp.mpf(10) ** -12
        assert real(low) <= true + slack, t
        assert true <= real(high) + slack, t


@pytest.mark.parametrize(("moved", "shift", "variance"), [(1, 1, "0.5"), (2, 1, "1"), (3, 2, "4"), (2, 3, "6")])
@pytest.mark.parametrize("epsilon", ["-0.5", "0", "0.3", "1", "2.5"])
def test_no_set_of_outcomes_gains_more(moved: int, shift: int, variance: str, epsilon: str) -> None:
    """The hockey stick written out over the sums of all outcomes, which are all that the loss depends on."""
    v, e = Fraction(variance), Fraction(epsilon)
    masses = summed(v, moved, 10 + 12 * math.isqrt(math.ceil(v)))
    # Outcomes of equal sum s have probability P[S = s] with noise and e^(-loss) times that when moved.
    gain = mp.zero
    for total, p in masses.items():
        loss = real(shift * (total + Fraction(moved * shift, 2)) / v)
        gain += max(mp.zero, p - mp.exp(real(e)) * p * mp.exp(-loss))
    found = shift_delta_up(moved, shift, v, e)
    assert gain <= real(found) + mp.mpf(10) ** -12
    looseness = 1 + 1e-6 if v >= 4 else 1.2
    assert float(found) <= float(gain) * looseness + 1e-12


@pytest.mark.parametrize("variance", ["257", "300.5", "1000", "40000"])
@pytest.mark.parametrize("epsilon", ["-0.01", "0", "0.05", "0.2"])
@pytest.mark.parametrize("shift", [1, 5])
def test_wide_noise_is_never_cheaper_than_it_is(variance: str, epsilon: str, shift: int) -> None:
    """Tails come from constant-time bounds here, and the wrong side of one makes δ too small."""
    v, e = Fraction(variance), Fraction(epsilon)
    first = math.floor(e * v / shift - Fraction(shift, 2)) + 1
    true = exact_tail(v, first) - mp.exp(real(e)) * exact_tail(v, first + shift)
    assert true <= real(shift_delta_up(1, shift, v, e)) <= true + mp.mpf(10) ** -4


def exact_tail(variance: Fraction, t: int) -> object:
    """P[Z >= t] to 120 digits, by the series."""
    beyond = gaussian_sum(variance, t if t > 0 else 1 - t) / gaussian_whole(variance)
    return beyond if t > 0 else 1 - beyond


@quick
@given(
    st.integers(1, 300),
    st.integers(1, 3),
    VARIANCES,
    st.sampled_from(["0.1", "1", "4"]),
)
def test_between_continuous_and_converted(moved: int, shift: int, variance: str, epsilon: str) -> None:
    """Never above what ρ gives; and close to the continuous law where the noise is wide."""
    v, e = Fraction(variance), Fraction(epsilon)
    found = shift_delta_up(moved, shift, v, e)
    if v >= 4:
        assert found <= delta_cks_up(moved * shift**2 / (2 * v), e) + Fraction(1, 10**30)
    continuous = gaussian_delta(math.sqrt(moved * shift**2 / v), float(e))
    if v >= 2000 and 1e-12 < continuous < 0.5:
        assert float(found) == pytest.approx(continuous, rel=0.05)


@quick
@given(st.integers(0, 40), st.integers(1, 3), VARIANCES)
def test_more_moved_more_shift_or_less_epsilon_costs_more(moved: int, shift: int, variance: str) -> None:
    v, e = max(Fraction(4), Fraction(variance)), Fraction(1)
    here = shift_delta_up(moved, shift, v, e)
    tiny = 1 + Fraction(1, 10**3)
    assert here <= shift_delta_up(moved + 1, shift, v, e) * tiny
    assert here <= shift_delta_up(moved, shift + 1, v, e) * tiny
    assert here <= shift_delta_up(moved, shift, v, e - Fraction(1, 2)) * tiny


def test_nothing_moved_costs_nothing_until_epsilon_is_negative() -> None:
    assert shift_delta_up(0, 1, Fraction(1), Fraction(0)) == 0
    assert float(shift_delta_up(0, 1, Fraction(1), Fraction(-1))) == pytest.approx(1 - math.exp(-1))
