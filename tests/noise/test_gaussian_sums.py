"""Tails of several draws together: sums of nodes, and the lead of the best of some over one shared draw."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.noise.exact_laws import gaussian_whole, mass, masses, tail
from tests.privacy.high_precision import just_above, mp, quick, real, same_digits, sizes

from unlisted.errors import InvalidArgumentError
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.gaussian.tails import SMALLEST_SMOOTH_VARIANCE, sum_tail_up
from unlisted.noise.law import ExactLaw

Lead = DiscreteGaussian | DiscreteLaplace


@lru_cache(maxsize=32)
def summed_masses(law: ExactLaw, draws: int) -> tuple[np.ndarray, int]:
    """Return the masses of a sum by convolution in floating point, and the value of the first."""
    one = masses(law)
    first = min(one)
    row = np.array([one[z] for z in sorted(one)])
    total = row
    for _ in range(draws - 1):
        total = np.convolve(total, row)
    return total, draws * first


def sum_tail(law: ExactLaw, draws: int, t: int) -> float:
    total, first = summed_masses(law, draws)
    return float(total[max(0, t - first) :].sum())


@pytest.mark.parametrize("draws", [2, 3, 7])
@pytest.mark.parametrize("variance", ["0.2", "1", "3.9", "4", "9.7", "60"])
def test_sums_are_bounded_from_above_and_tightly(variance: str, draws: int) -> None:
    law = DiscreteGaussian(Fraction(variance))
    deviation = (draws * float(law.variance)) ** 0.5
    for deviations in (0.0, 0.5, 2.0, 4.0, 6.0):
        t = round(deviations * deviation)
        true = sum_tail(law, draws, t)
        if true > 1e-14:  # below, the float convolution itself is no longer exact
            found = law.sum_tail(draws, t)
            assert true * (1 - 1e-9) <= found, f"t = {t}"
            # A wide sum is bounded by a normal tail, and within a deviation of the centre by 1/2 or 1.
            wide = deviation > 16
            assert found <= true * (1.02 if wide else 1 + 1e-6) or (wide and deviations < 1), f"t = {t}"


def test_the_two_ways_of_summing_meet() -> None:
    below = DiscreteGaussian(SMALLEST_SMOOTH_VARIANCE - Fraction(1, 10**9))
    above = DiscreteGaussian(Fraction(SMALLEST_SMOOTH_VARIANCE))
    for draws, t in ((2, 9), (5, 20), (11, 60)):
        assert float(below.sum_tail(draws, t)) == pytest.approx(float(above.sum_tail(draws, t)), rel=1e-6)


@pytest.mark.parametrize("draws", [2, 5])
@pytest.mark.parametrize("variance", ["0.3", "1", "3.9"])
def test_beyond_the_table_a_sum_is_unlikely_and_not_impossible(variance: str, draws: int) -> None:
    """A bound of 0 would say that no sum reaches so far."""
    v = Fraction(variance)
    for t in (200, 10_000, 10**9):
        found = sum_tail_up(draws, t, v)
        # One draw alone may be that large, and all others 0.
        assert found > 0
        assert real(found) >= mp.exp(-real(Fraction(t * t) / (2 * v))) / gaussian_whole(v) ** draws


def test_one_draw_is_its_own_sum() -> None:
    law = DiscreteGaussian(Fraction(3))
    assert [law.sum_tail(1, t) for t in range(-3, 9)] == [law.tail(t) for t in range(-3, 9)]


def test_sums_stay_below_the_sub_gaussian_bound() -> None:
    law = DiscreteGaussian(Fraction(9))
    for draws in (1, 2, 9):
        for t in (5, 20, 60):
            assert law.sum_tail(draws, t) <= math.exp(-t * t / (2 * 9 * draws))


@pytest.mark.parametrize("law", [DiscreteGaussian(Fraction(1)), DiscreteGaussian(Fraction(9))], ids=str)
def test_sums_never_increase(law: DiscreteGaussian) -> None:
    found = [law.sum_tail(3, t) for t in range(-20, 80)]
    assert found == sorted(found, reverse=True)


def rounds_with(ones: int, rounds: int) -> int:
    return sum(t.bit_count() == ones for t in range(1, rounds + 1))


@pytest.mark.parametrize(
    ("variance", "items", "rounds", "threshold", "union", "exactly"),
    [
        (1, 1, 7, 11, "4.10753612571e-10", "4.10739158781e-10"),
        (4, 10, 31, 28, "3.73197580435e-10", "3.71376783701e-10"),
        (9, 1, 365, 50, "5.17436676485e-9", "4.93656680462e-9"),
    ],
)
def test_the_popcount_union_reference(
    variance: int, items: int, rounds: int, threshold: int, union: str, exactly: str
) -> None:
    law = DiscreteGaussian(Fraction(variance))

    def failure(t: int) -> Fraction:
        most = (rounds + 1).bit_length() - 1
        return sum((rounds_with(ones, rounds) * law.sum_tail(ones, t) for ones in range(1, most + 1)), Fraction(0))

    same_digits(failure(threshold), union)
    per_label = Fraction("1e-8") / items
    assert failure(threshold) <= per_label < failure(threshold - 1)
    # The exact chance that any prefix passes is a few per cent below: the union gives little away.
    same_digits(any_prefix_passes(law, rounds, threshold - 1), exactly)


def any_prefix_passes(law: ExactLaw, rounds: int, slack: int) -> float:
    """Return the chance that some round's noisy prefix of an empty label exceeds `slack`, by the recursion.

    A block of 2^j rounds passes, given that the nodes before it add up to s, if its first half passes or, with
    one more node added, its second half does.
    """
    one = masses(law)
    noise, reach = np.array([one[z] for z in sorted(one)]), max(one)
    width = 40 * reach
    sums = np.arange(-width, width + 1)

    def with_a_node(passes: np.ndarray) -> np.ndarray:
        padded = np.concatenate([np.full(reach, passes[0]), passes, np.full(reach, passes[-1])])
        return np.convolve(padded, noise, mode="valid")

    blocks = [(sums > slack).astype(float)]
    while 1 << len(blocks) <= rounds + 1:
        half = blocks[-1]
        blocks.append(half + with_a_node(half) - half * with_a_node(half))
    return float(_prefix(blocks, with_a_node, rounds + 1)[width])


def _prefix(blocks: list[np.ndarray], with_a_node: Callable[[np.ndarray], np.ndarray], length: int) -> np.ndarray:
    """Return the chance that one of the next `length` rounds passes, as a function of the sum so far."""
    level = length.bit_length() - 1
    first = blocks[level]
    if length == 1 << level:
        return first
    later = with_a_node(_prefix(blocks, with_a_node, length - (1 << level)))
    return first + later - first * later


def lead(law: ExactLaw, n: int, draws: int) -> float:
    """Return 1 - E[P[Z < Z₀ + n]^draws] by adding up over Z₀, without forming 1 - (1 - tiny)."""
    return math.fsum(
        p * -math.expm1(draws * math.log1p(-min(float(tail(law, z + n)), 1 - 1e-16)))
        for z, p in masses(law).items()
        if p > 1e-30
    )


@pytest.mark.parametrize("draws", [1, 3, 50])
@pytest.mark.parametrize("variance", ["0.3", "2", "16", "25", "26", "90"])
def test_gaussian_leads_are_bounded_from_above(variance: str, draws: int) -> None:
    law = DiscreteGaussian(Fraction(variance))
    for deviations in (0.0, 1.0, 4.0, 8.0):
        n = round(deviations * float(law.variance) ** 0.5)
        true, found = lead(law, n, draws), float(law.lead_tail(n, draws))
        assert true * (1 - 1e-9) <= found
        if law.variance <= 25:
            assert found <= true * (1 + 1e-6) + 1e-17
        else:
            assert found <= min(1.0, draws * lead(law, n, 1) * (1 + 1e-6)), "the union bound"


@pytest.mark.parametrize("scale", ["0.3", "1", "7.5"])
def test_laplace_leads_are_bounded_from_above(scale: str) -> None:
    law = DiscreteLaplace(Fraction(scale))
    for n in (0, 1, 2, 10, 30):
        reach = 40 + int(40 * law.scale)
        exact = mp.fsum(mass(law, z) * tail(law, z + n) for z in range(-reach, reach + 1))
        found = real(law.lead_tail(n, 1))
        assert exact < found < exact * (1 + mp.mpf(10) ** -12)
        assert law.lead_tail(n, 5) <= 5 * law.lead_tail(n, 1) * (1 + Fraction(1, 10**40))


@quick
@given(sizes(-1, 6), st.integers(0, 200))
def test_laplace_leads_are_just_above_their_formula(scale: Fraction, n: int) -> None:
    q = mp.exp(-1 / real(scale))
    k = (1 + q**2) / (1 - q**2)
    exact = ((1 - q) / (1 + q)) ** 2 * q**n * ((n + k) / (1 - q) + q / (1 - q) ** 2)
    just_above(DiscreteLaplace(scale).lead_tail(n, 1), exact)


@pytest.mark.parametrize("t", [-3, 0, 2, 9, 25])
@pytest.mark.parametrize("variance", [2, 4, 5])
def test_a_sum_of_two_is_an_upper_bound_to_the_last_digit(variance: int, t: int) -> None:
    law = DiscreteGaussian(Fraction(variance))
    exact = mp.fsum(mass(law, z) * tail(law, t - z) for z in range(-60, 61))
    just_above(law.sum_tail(2, t), exact, Fraction(1, 10**12))


@pytest.mark.parametrize(
    ("law", "delta", "draws", "threshold", "attained"),
    [
        (DiscreteGaussian(Fraction(1)), "1e-8", 1, 9, "4.56718369469e-10"),
        (DiscreteGaussian(Fraction(1)), "1e-8", 10, 9, "4.55909053405e-9"),
        (DiscreteGaussian(Fraction(16)), "1e-6", 100, 33, "4.28266469864e-7"),
        (DiscreteLaplace(Fraction(1)), "1e-8", 1, 21, "5.86490559963e-9"),
    ],
)
def test_top_thresholds_attain_their_reference_delta(
    law: Lead, delta: str, draws: int, threshold: int, attained: str
) -> None:
    same_digits(law.lead_tail(threshold, draws), attained)
    assert law.lead_tail(threshold, draws) <= Fraction(delta) < law.lead_tail(threshold - 1, draws)


def test_top_threshold_per_item_reference() -> None:
    law = DiscreteLaplace(Fraction(2))
    same_digits(law.lead_tail(33, 1), "3.81948169019e-7")
    assert law.lead_tail(33, 2) <= Fraction("1e-6") < law.lead_tail(32, 2)


@pytest.mark.parametrize(
    "law",
    [DiscreteLaplace(Fraction(3)), DiscreteLaplace(Fraction(2**56)), DiscreteGaussian(Fraction(5))],
    ids=str,
)
def test_leads_never_increase_in_n_and_never_fall_in_draws(law: Lead) -> None:
    found = [law.lead_tail(n, 4) for n in range(60)]
    assert found == sorted(found, reverse=True)
    more = [law.lead_tail(12, draws) for draws in (1, 2, 10, 100, 10**6)]
    assert more == sorted(more)
    assert all(0 < one <= 1 for one in [*found, *more])
    assert law.lead_tail(0, 1) > Fraction(49, 100)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: DiscreteGaussian(Fraction(1)).sum_tail(0, 3), "draws = 0 .+ a whole number, 1 or above"),
        (lambda: DiscreteGaussian(Fraction(1)).lead_tail(-1, 3), "n = -1 .+ a whole number, 0 or above"),
        (lambda: DiscreteGaussian(Fraction(1)).lead_tail(1, 0), "draws = 0 .+ a whole number, 1 or above"),
        (lambda: DiscreteLaplace(Fraction(1)).lead_tail(-1, 3), "n = -1 .+ a whole number, 0 or above"),
        (lambda: DiscreteLaplace(Fraction(1)).lead_tail(1, 1.5), "draws = 1.5 .+ a whole number"),
    ],
)
def test_bad_input_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"^{message}"):
        call()
