"""Noise as an auditor sees it: the textbook's probabilities, rounded down, far enough out."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest

from unlisted.audit.laws.noise import NEGLIGIBLE, noise_law
from unlisted.errors import InvalidArgumentError
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian

OURS = [
    DiscreteLaplace(Fraction(1, 3)),
    DiscreteLaplace(Fraction(2)),
    DiscreteGaussian(Fraction(1, 2)),
    DiscreteGaussian(Fraction(7)),
]


def textbook(law: DiscreteLaplace | DiscreteGaussian, z: int) -> mpmath.mpf:
    if isinstance(law, DiscreteLaplace):
        q = mpmath.exp(-mpmath.mpf(law.scale.denominator) / law.scale.numerator)
        return (1 - q) / (1 + q) * q ** abs(z)
    variance = mpmath.mpf(law.variance.numerator) / law.variance.denominator
    weight = mpmath.exp(-mpmath.mpf(z * z) / (2 * variance))
    return weight / mpmath.nsum(lambda k: mpmath.exp(-k * k / (2 * variance)), [-mpmath.inf, mpmath.inf])


@pytest.mark.parametrize("law", OURS, ids=str)
def test_our_laws_are_the_textbook_s_rounded_down(law: DiscreteLaplace | DiscreteGaussian) -> None:
    with mpmath.workdps(60):
        for z, chance in noise_law(law).at_least.items():
            exact = textbook(law, z)
            assert 0 <= exact - mpmath.mpf(str(chance)) <= exact * mpmath.mpf("1e-45")


@pytest.mark.parametrize("law", OURS, ids=str)
def test_hardly_anything_is_missing(law: DiscreteLaplace | DiscreteGaussian) -> None:
    assert noise_law(law).missing <= NEGLIGIBLE


@pytest.mark.parametrize("law", OURS, ids=str)
def test_the_tails_that_are_charged_for_are_those(law: DiscreteLaplace | DiscreteGaussian) -> None:
    """Two ways to the same tail, which share no code."""
    listed = noise_law(law)
    for t in range(-3, 6):
        summed = sum(Fraction(chance) for z, chance in listed.at_least.items() if z >= t)
        assert summed <= law.tail(t) <= summed + 2 * Fraction(NEGLIGIBLE)


class Fair:
    """A law of one's own: one step up or down."""

    def mass(self, z: int) -> Fraction:
        return Fraction(1, 2) if abs(z) == 1 else Fraction(0)


class Silent:
    """A law that does not say its probabilities."""


def test_a_law_of_one_s_own_says_its_mass() -> None:
    assert noise_law(Fair()).at_least == {-1: Decimal("0.5"), 1: Decimal("0.5")}
    with pytest.raises(InvalidArgumentError, match="mass"):
        noise_law(Silent())


def test_a_scale_too_wide_to_list_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="small scales"):
        noise_law(DiscreteLaplace(Fraction(1000)))
