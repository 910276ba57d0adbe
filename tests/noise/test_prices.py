"""What noise costs, and the constants that would be wrong.

The price of a law is a claim about Rényi divergences of all orders, so it is held against those divergences; the
two tempting wrong constants (the continuous Laplace's ρ, the continuous Gaussian's δ) are shown to understate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.noise.exact_laws import masses, tail
from tests.privacy.high_precision import just_above, mp, quick, real, same_digits, sizes

from unlisted.errors import InvalidArgumentError
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.law import ExactLaw
from unlisted.privacy.convert import delta_cks_up, rho_of_epsilon_up
from unlisted.privacy.survey import continuous_laplace_rho, gaussian_delta

ORDERS = [1.0001, 1.5, 2.0, 3.0, 8.0, 40.0]


def renyi(law: ExactLaw, shift: int, order: float) -> float:
    """Return D_order(Z || Z + shift), summed over the law's masses."""
    weights = masses(law)
    return math.log(
        math.fsum(p * (p / weights[z - shift]) ** (order - 1) for z, p in weights.items() if z - shift in weights)
    ) / (order - 1)


def kullback_leibler(law: DiscreteLaplace, shift: int) -> Any:
    """Return the divergence of order 1 to 120 digits: E[(|Z - shift| - |Z|)/b] over the geometric tails."""
    b = real(law.scale)
    q = mp.exp(-1 / b)
    inside = mp.fsum((shift - 2 * z) * q**z for z in range(1, shift + 1)) + shift
    outside = shift * q / (1 - q) - shift * q ** (shift + 1) / (1 - q)
    return (inside + outside) * (1 - q) / (1 + q) / b


@quick
@given(sizes(-1, 3), st.integers(1, 30))
def test_laplace_rho_is_just_above_its_divergence(scale: Fraction, shift: int) -> None:
    law = DiscreteLaplace(scale)
    just_above(law.rho(shift), kullback_leibler(law, shift))


@pytest.mark.parametrize("shift", [1, 2, 5])
@pytest.mark.parametrize("scale", ["0.5", "1", "4"])
def test_laplace_rho_bounds_the_divergence_of_every_order(scale: str, shift: int) -> None:
    law = DiscreteLaplace(Fraction(scale))
    rho = float(law.rho(shift))
    found = [renyi(law, shift, order) / order for order in ORDERS]
    assert max(found) <= rho
    assert found == sorted(found, reverse=True), "divergence over order never increases"
    assert found[0] > rho * 0.999, "and is attained at order 1"
    for smaller in range(1, shift):
        assert max(renyi(law, smaller, order) / order for order in ORDERS) < rho


@pytest.mark.parametrize(
    ("shift", "epsilon", "rho"),
    [
        (1, "0.1", "0.00499583749579"),
        (1, "1", "0.462117157260"),
        (1, "2", "1.52318831191"),
        (5, "0.1", "0.00484376191204"),
        (5, "1", "0.372073994864"),
        (5, "2", "1.15796974240"),
    ],
)
def test_laplace_rho_reference_values(shift: int, epsilon: str, rho: str) -> None:
    law = DiscreteLaplace(shift / Fraction(epsilon))
    same_digits(law.rho(shift), rho)
    assert law.epsilon(shift) == Fraction(epsilon)


def test_laplace_rho_lies_between_the_continuous_and_the_pure_constant() -> None:
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(3)):
        prices = [DiscreteLaplace(d / epsilon).rho(d) for d in (1, 2, 5, 50, 1000)]
        assert prices == sorted(prices, reverse=True)
        assert abs(prices[0] - rho_of_epsilon_up(epsilon)) < Fraction(1, 10**40), "shift 1 is pure privacy"
        assert float(prices[-1]) == pytest.approx(continuous_laplace_rho(float(epsilon)), rel=1e-4)


def test_laplace_rho_grows_with_the_shift() -> None:
    law = DiscreteLaplace(Fraction(3))
    prices = [law.rho(d) for d in range(1, 40)]
    assert prices == sorted(prices)


def test_the_continuous_laplace_constant_understates_integer_noise() -> None:
    law = DiscreteLaplace(Fraction(1))
    claimed, true = continuous_laplace_rho(1), renyi(law, 1, 1.0001) / 1.0001
    assert claimed == pytest.approx(0.3679, abs=1e-4)
    assert true == pytest.approx(0.4621, abs=1e-4)
    assert true > claimed, "a release priced with the continuous constant breaks its promise"
    assert float(law.rho(1)) >= true


@pytest.mark.parametrize("shift", [1, 2, 7])
@pytest.mark.parametrize("variance", ["0.5", "1", "6.25", "50"])
def test_gaussian_rho_is_the_divergence_of_every_order(variance: str, shift: int) -> None:
    law = DiscreteGaussian(Fraction(variance))
    assert law.rho(shift) == shift**2 / (2 * Fraction(variance))
    for order in (2, 3):
        # For a whole order the tilted law is the law shifted by a whole number, so the bound is attained.
        exact = _gaussian_renyi(law, shift, order)
        assert exact == pytest.approx(order * float(law.rho(shift)), rel=1e-9)
    for order in (1.5, 2.25):
        assert _gaussian_renyi(law, shift, order) <= order * float(law.rho(shift)) * (1 + 1e-12)


def _gaussian_renyi(law: DiscreteGaussian, shift: int, order: float) -> float:
    """Return D_order(Z + shift || Z) from logarithms of weights: the shifted law's far tail counts, too."""
    v = 2 * float(law.variance)
    reach = round(12 * math.sqrt(v) + 2 * order * shift) + 3
    whole = math.fsum(math.exp(-z * z / v) for z in range(-reach, reach + 1))
    total = math.fsum(
        math.exp(-(order * (z - shift) ** 2 + (1 - order) * z * z) / v) for z in range(-reach, reach + 1)
    )
    return math.log(total / whole) / (order - 1)


def coordinate_delta(variance: int, shift: int, epsilon: float) -> float:
    """Return the exact δ(ε) of one count with discrete Gaussian noise that moves by a whole shift."""
    law = DiscreteGaussian(Fraction(variance))
    tails = law.tails(256)
    middle = Fraction(repr(epsilon)) * variance / shift
    above, beyond = (math.floor(middle + side * Fraction(shift, 2)) + 1 for side in (-1, 1))
    one = 1 << 256
    return float(Fraction(tails.at_least(above)[1], one)) - math.exp(epsilon) * float(
        Fraction(tails.at_least(beyond)[1], one)
    )


@pytest.mark.parametrize(
    ("variance", "shift", "delta"),
    [(1, 1, "0.141351339406"), (4, 1, "0.00724877684595"), (25, 2, "0.00131843552874")],
)
def test_one_coordinate_reference_values(variance: int, shift: int, delta: str) -> None:
    same_digits(coordinate_delta(variance, shift, 1.0), delta)


@pytest.mark.parametrize(("sigma", "worst"), [(1, 2.0), (2, 1.25), (5, 1.05), (10, 1.01)])
def test_the_continuous_gaussian_delta_understates_integer_noise(sigma: int, worst: float) -> None:
    # The discrete law has steps, so at some ε it has more beyond the cut than the continuous one.
    ratios = []
    for step in range(1, 220):
        epsilon = step * 5.5 / (220 * sigma)
        true = coordinate_delta(sigma**2, 1, epsilon)
        ratios.append(true / gaussian_delta(1 / sigma, epsilon))
        assert true <= delta_cks_up(Fraction(1, 2 * sigma**2), epsilon), "what is used instead is safe"
    assert max(ratios) > worst


def test_gaussian_noise_makes_no_pure_statement() -> None:
    assert DiscreteGaussian(Fraction(1)).epsilon(1) is None
    assert DiscreteGaussian(Fraction(1)).tv == 0 == DiscreteLaplace(Fraction(1)).tv


def test_pure_privacy_is_attained_by_the_ratio_of_tails() -> None:
    law = DiscreteLaplace(Fraction(5, 2))
    ratio = tail(law, 10) / tail(law, 13)
    assert mp.log(ratio) == pytest.approx(float(law.epsilon(3)), rel=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: DiscreteLaplace(Fraction(1)).rho(0), "shift = 0 .+ a whole number, 1 or above"),
        (lambda: DiscreteLaplace(Fraction(1)).epsilon(1.5), "shift = 1.5 .+ a whole number"),
        (lambda: DiscreteGaussian(Fraction(1)).rho(-1), "shift = -1 .+ a whole number, 1 or above"),
    ],
)
def test_bad_input_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"^{message}"):
        call()
