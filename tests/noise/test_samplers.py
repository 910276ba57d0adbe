"""Every sampler draws exactly the law it states; a law that is wrong by a few per cent is noticed.

A division bug once biased every sampler of another library, so each one here is held against its exact masses:
frequencies, tails, symmetry, mean and variance, with a power twin each.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from tests.fixtures.known_bits import KnownBits, ScriptedBits
from tests.noise.exact_laws import masses, tail
from tests.statistical.goodness import (
    accepts,
    distance_test,
    g_test,
    mean_test,
    moments,
    rejects,
    same_law_test,
)

from unlisted.errors import InvalidArgumentError
from unlisted.noise.bits import fresh_bits
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.law import ENOUGH_FOR_A_TABLE, ExactLaw

SMALL = [
    DiscreteLaplace(Fraction(1, 3)),
    DiscreteLaplace(Fraction(1)),
    DiscreteLaplace(Fraction("10.7")),
    DiscreteGaussian(Fraction(1, 4)),
    DiscreteGaussian(Fraction(2)),
    DiscreteGaussian(Fraction("100.3")),
]
LARGE = [DiscreteLaplace(Fraction(5000)), DiscreteGaussian(Fraction(5000**2))]
"""Too large for a table, so the exact rejection sampler draws them."""

MANY, FEW = 200_000, 3000
laws = pytest.mark.parametrize("law", SMALL, ids=str)


def stretched(law: ExactLaw, by: str) -> ExactLaw:
    """Return the same kind of law with a slightly wrong scale."""
    if isinstance(law, DiscreteLaplace):
        return DiscreteLaplace(law.scale * Fraction(by))
    assert isinstance(law, DiscreteGaussian)
    return DiscreteGaussian(law.variance * Fraction(by) ** 2)


def slowly(law: ExactLaw, n: int, name: str) -> np.ndarray:
    bits = KnownBits(name)
    return np.array([law.sample_slowly(bits) for _ in range(n)])


def pooled_to_tenths(law: ExactLaw, drawn: np.ndarray) -> tuple[np.ndarray, dict[int, float]]:
    """Coarsen a wide law to bins of a tenth of its scale, so that a few thousand draws fill them."""
    width = int(law.stddev / 10)
    z = np.arange(-400 * width, 400 * width)
    exponent = np.abs(z) / float(law.scale) if isinstance(law, DiscreteLaplace) else z * z / (2 * law.stddev**2)
    weights = np.exp(-exponent).reshape(-1, width).sum(axis=1)
    return drawn // width, dict(zip(range(-400, 400), (weights / weights.sum()).tolist(), strict=True))


@laws
def test_the_table_draws_its_law(law: ExactLaw) -> None:
    drawn = law.sample(MANY, KnownBits(f"table {law}"))
    exact = masses(law)
    mean, variance = moments(exact)
    spread = moments({z * z: 2 * p if z else p for z, p in exact.items() if z >= 0})
    assert mean == pytest.approx(0, abs=1e-12)
    accepts(
        g_test(drawn, exact),
        distance_test(drawn, exact),
        mean_test(drawn, mean, variance),
        mean_test(drawn**2, *spread),
        same_law_test(drawn[: MANY // 2], -drawn[MANY // 2 :]),
    )


@laws
@pytest.mark.parametrize("by", ["0.97", "1.03"])
def test_a_table_of_a_wrong_scale_is_noticed(law: ExactLaw, by: str) -> None:
    rejects(g_test(stretched(law, by).sample(MANY, KnownBits(f"wrong {law} {by}")), masses(law)))


@laws
def test_a_shifted_table_is_noticed(law: ExactLaw) -> None:
    drawn = law.sample(MANY, KnownBits(f"table {law}"))
    lifted = drawn + (np.arange(MANY) % 10 == 0) * max(1, round(law.stddev / 4))
    rejects(mean_test(lifted, *moments(masses(law))))


@laws
def test_the_rejection_sampler_draws_its_law(law: ExactLaw) -> None:
    drawn = slowly(law, FEW, f"slow {law}")
    exact = masses(law)
    accepts(g_test(drawn, exact), distance_test(drawn, exact), mean_test(drawn, *moments(exact)))
    rejects(g_test(slowly(stretched(law, "1.3"), FEW, f"wrong slow {law}"), exact))


@laws
def test_table_and_rejection_agree(law: ExactLaw) -> None:
    fast = law.sample(MANY, KnownBits(f"fast {law}"))
    accepts(same_law_test(fast, slowly(law, FEW, f"twin {law}")))
    rejects(same_law_test(fast, slowly(stretched(law, "0.75"), FEW, f"wrong twin {law}")))


@laws
def test_the_rare_far_tail_is_as_heavy_as_stated(law: ExactLaw) -> None:
    # A few dozen draws of 2^20 lie beyond t: too few for the G test's bins, and the part that thresholds rest on.
    n = 1 << 20
    t = law.quantile(Fraction(40, n)) - 1
    beyond = law.sample(n, KnownBits(f"far {law}")) >= t
    p = float(tail(law, t))
    accepts(mean_test(beyond, p, p * (1 - p)))
    doubled = stretched(law, "1.2").sample(n, KnownBits(f"far wrong {law}")) >= t
    rejects(mean_test(doubled, p, p * (1 - p)))


@pytest.mark.parametrize("law", LARGE, ids=str)
def test_a_scale_too_large_for_a_table_is_drawn_by_rejection(law: ExactLaw) -> None:
    assert not law.fits_a_table
    drawn = law.sample(FEW, KnownBits(f"large {law}"))
    accepts(g_test(*pooled_to_tenths(law, drawn)), mean_test(drawn, 0, law.stddev**2))
    wrong = stretched(law, "1.3").sample(FEW, KnownBits(f"large wrong {law}"))
    rejects(g_test(*pooled_to_tenths(law, wrong)))


def test_the_largest_table_and_the_smallest_rejection_meet() -> None:
    largest = DiscreteGaussian(Fraction(4096**2))
    assert largest.fits_a_table
    assert not DiscreteGaussian(largest.variance + Fraction(1, 10**9)).fits_a_table
    assert DiscreteLaplace(Fraction(4096)).fits_a_table
    assert not DiscreteLaplace(Fraction(4097)).fits_a_table
    drawn = largest.sample(MANY, KnownBits("largest table"))
    accepts(g_test(*pooled_to_tenths(largest, drawn)))


@pytest.mark.parametrize("law", [DiscreteLaplace(Fraction(2**56)), DiscreteGaussian(Fraction(2**112))], ids=str)
def test_the_largest_scale_fits_into_64_bits(law: ExactLaw) -> None:
    drawn = law.sample(50, KnownBits(f"largest {law}"))
    assert drawn.dtype == np.int64
    assert 2**54 < np.abs(drawn).max() < 2**62


CONDITIONS = [-40, -2, 0, 1, 3, 25]


@pytest.mark.parametrize("t", CONDITIONS)
@pytest.mark.parametrize("law", [SMALL[1], SMALL[2], SMALL[4], SMALL[5]], ids=str)
def test_conditional_draws_by_table(law: ExactLaw, t: int) -> None:
    drawn = law.sample_at_least(t, 40_000, KnownBits(f"given {t} {law}"))
    exact = masses(law, at_least=t)
    accepts(distance_test(drawn, exact))
    if max(exact.values()) < 0.9999:
        accepts(g_test(drawn, exact))
    assert drawn.min() >= t


@pytest.mark.parametrize("t", [*CONDITIONS, 11])
@pytest.mark.parametrize("law", [SMALL[2], SMALL[5]], ids=str)
def test_conditional_draws_by_rejection(law: ExactLaw, t: int) -> None:
    bits = KnownBits(f"given slowly {t} {law}")
    drawn = np.concatenate([law.sample_at_least(t, ENOUGH_FOR_A_TABLE, bits) for _ in range(5)])
    exact = masses(law, at_least=t)
    accepts(g_test(drawn, exact), distance_test(drawn, exact))
    wrong = np.array([stretched(law, "1.6").sample_slowly_at_least(t, bits) for _ in range(1000)])
    rejects(g_test(wrong, exact))


def test_a_very_unlikely_condition_is_still_drawn_exactly() -> None:
    # P[Z >= 1000] is about e^-1250: a double holds nothing below e^-745.
    law = DiscreteGaussian(Fraction(400))
    drawn = law.sample_at_least(1000, 20_000, KnownBits("unlikely"))
    exact = masses(law, at_least=1000)
    bits = KnownBits("unlikely, slowly")
    by_hand = np.array([law.sample_slowly_at_least(1000, bits) for _ in range(1000)])
    accepts(g_test(drawn, exact), g_test(by_hand, exact))
    rejects(g_test(law.sample_at_least(900, 20_000, KnownBits("less unlikely")) + 100, exact))


def test_a_wrong_condition_is_noticed() -> None:
    law = SMALL[5]
    drawn = law.sample_at_least(4, 40_000, KnownBits("wrong condition"))
    rejects(g_test(drawn, masses(law, at_least=5)), g_test(drawn, masses(law, at_least=3)))


@laws
def test_many_blocks_are_one_sample(law: ExactLaw) -> None:
    n = (1 << 18) + 7
    assert len(law.sample(n, KnownBits("blocks"))) == n
    assert len(law.sample(0, ScriptedBits())) == 0
    assert len(law.sample_at_least(0, 0, ScriptedBits())) == 0


def test_equal_bits_equal_noise_and_fresh_bits_fresh_noise() -> None:
    law = SMALL[5]
    assert np.array_equal(law.sample(100, KnownBits("a")), law.sample(100, KnownBits("a")))
    assert not np.array_equal(law.sample(100, KnownBits("a")), law.sample(100, KnownBits("b")))
    assert not np.array_equal(law.sample(100, fresh_bits()), law.sample(100, fresh_bits()))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: DiscreteLaplace(0), "scale = 0 .+ above 0"),
        (lambda: DiscreteLaplace(float("nan")), "scale = nan .+ a finite number"),
        (lambda: DiscreteLaplace(2**57), r"scale = 144115188075855872 .+ at most 2\^56"),
        (lambda: DiscreteGaussian(-1), "variance = -1 .+ above 0"),
        (lambda: DiscreteGaussian("wide"), "variance = 'wide' .+ a finite number"),
        (lambda: DiscreteGaussian(2**113), r"variance = \d+ .+ at most 2\^112"),
        (lambda: SMALL[0].sample(-1, ScriptedBits()), "n = -1 .+ a whole number, 0 or above"),
        (lambda: SMALL[0].sample(1.5, ScriptedBits()), "n = 1.5 .+ a whole number"),
        (lambda: SMALL[4].sample_at_least(0, -1, ScriptedBits()), "n = -1 .+ a whole number"),
        (lambda: LARGE[0].sample_at_least(0, -1, ScriptedBits()), "n = -1 .+ a whole number"),
    ],
)
def test_bad_input_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"^{message}"):
        call()


def test_scales_are_read_as_printed() -> None:
    assert DiscreteLaplace(0.1) == DiscreteLaplace(Fraction(1, 10))  # type: ignore[arg-type]
    assert DiscreteGaussian("0.3").variance == Fraction(3, 10)  # type: ignore[arg-type]
    assert str(DiscreteLaplace(Fraction(1, 3))) == "discrete Laplace, scale 0.333333"
    assert str(DiscreteGaussian(Fraction(4))) == "discrete Gaussian, scale 2"


@laws
def test_the_displayed_deviation_is_about_right(law: ExactLaw) -> None:
    deviation = moments(masses(law))[1] ** 0.5
    if isinstance(law, DiscreteLaplace):
        assert law.stddev == pytest.approx(deviation, rel=1e-12)
    else:
        assert deviation <= law.stddev * (1 + 1e-12)


@laws
def test_no_size_of_a_sample_is_special(law: ExactLaw) -> None:
    bits = KnownBits("sizes")
    for n in [*range(40), 255, 256, 257, 1491, 1492, 65_535, 65_536, 65_537]:
        drawn = law.sample(n, bits)
        assert drawn.shape == (n,)
        assert drawn.dtype == np.int64, "whole numbers only: no lattice of floats to read data from"
