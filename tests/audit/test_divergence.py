"""Divergences against formulas, against another program's arithmetic, and between the points of the grid."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unlisted.audit.divergence import Likelihoods, LossLaw, grid, hockey_stick
from unlisted.audit.laws.noise import noise_law
from unlisted.audit.laws.output_law import OutputLaw
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian

FINE = 0.0005


def moved(law: DiscreteGaussian | DiscreteLaplace, shift: int) -> Likelihoods:
    noise = noise_law(law)
    return Likelihoods.of(noise, noise.seen_as(lambda z: z + shift))


def losses(pair: Likelihoods) -> LossLaw:
    return LossLaw.of([(one.left, one.ratio_high) for one in pair.classes])


@pytest.mark.parametrize(
    ("law", "shift"),
    [
        (DiscreteGaussian(Fraction(2)), 1),
        (DiscreteGaussian(Fraction(3)), 2),
        (DiscreteLaplace(Fraction(1)), 1),
        (DiscreteLaplace(Fraction(2)), 3),
    ],
    ids=str,
)
def test_the_bracket_closes_around_the_formula(law: DiscreteGaussian | DiscreteLaplace, shift: int) -> None:
    """Both prices are proved elsewhere to be exact: for Gaussian noise at order 2, for Laplace noise near 1."""
    found, rho = losses(moved(law, shift)), float(law.rho(shift))
    orders = grid(found.worst, rho, FINE)
    low, high = found.rho_at_least(orders), found.rho_at_most(orders)
    assert low <= rho * (1 + 1e-9)
    assert rho * (1 - 1e-6) <= low <= high <= rho * (1 + 1e-5)


def test_randomised_response_costs_epsilon_tanh() -> None:
    q = Fraction(27, 100)
    one, other = OutputLaw.exactly({0: q, 1: 1 - q}), OutputLaw.exactly({0: 1 - q, 1: q})
    epsilon = math.log((1 - q) / q)
    found = losses(Likelihoods.of(one, other))
    orders = grid(found.worst, 1.0, FINE)
    assert found.rho_at_most(orders) == pytest.approx(epsilon * math.tanh(epsilon / 2), rel=1e-5)


@pytest.mark.parametrize("order", [1.000001, 1.5, 2.0, 7.3, 90.0])
def test_moments_agree_with_arithmetic_of_fifty_digits(order: float) -> None:
    pair = moved(DiscreteGaussian(Fraction(1)), 1)
    values, errors = losses(pair).log_moments(np.array([order]))
    with mpmath.workdps(50):
        exact = mpmath.log(
            mpmath.fsum(
                mpmath.mpf(str(one.left)) * mpmath.mpf(str(one.ratio_high)) ** (mpmath.mpf(order) - 1)
                for one in pair.classes
            )
        )
        assert abs(exact - values[0]) <= errors[0]


small_laws = st.lists(st.integers(1, 1000), min_size=2, max_size=6)


@given(small_laws, small_laws, st.sampled_from([0.3, 0.05, 0.01]))
def test_no_order_between_the_grid_s_exceeds_its_bound(left: list[int], right: list[int], step: float) -> None:
    size = min(len(left), len(right))
    p, q = (np.array(one[:size]) / sum(one[:size]) for one in (left, right))
    found = LossLaw(np.log(p), np.log(p / q))
    coarse = found.rho_at_most(grid(found.worst, 0.1, step))
    for order in 1 + np.geomspace(1e-7, 1e5, 400):
        value, error = found.log_moments(np.array([order]))
        assert value[0] - error[0] <= order * (order - 1) * coarse
    assert found.rho_at_least(grid(found.worst, 0.1, step)) <= coarse


@pytest.mark.parametrize(
    ("variance", "shift", "delta"),
    [(1, 1, 0.141351339406), (4, 1, 0.00724877684595), (25, 2, 0.00131843552874)],
)
def test_the_hockey_stick_of_discrete_gaussian_noise(variance: int, shift: int, delta: float) -> None:
    low, high = hockey_stick(moved(DiscreteGaussian(Fraction(variance)), shift), Fraction(1))
    assert float(low) == pytest.approx(delta, rel=1e-9)
    assert float(high) == pytest.approx(delta, rel=1e-9)
    assert low < high


def test_laplace_noise_has_no_delta_at_its_epsilon() -> None:
    pair = moved(DiscreteLaplace(Fraction(1)), 1)
    assert hockey_stick(pair, Fraction(1))[1] < Decimal("1e-11")
    assert hockey_stick(pair, Fraction(99, 100))[0] > Decimal("1e-3")


def test_what_is_missing_widens_the_bracket() -> None:
    whole = OutputLaw.exactly({0: Fraction(1, 2), 1: Fraction(1, 2)})
    short = OutputLaw.exactly({0: Fraction(1, 2), 1: Fraction(4, 10)})
    low, high = hockey_stick(Likelihoods.of(short, whole), Fraction(0))
    assert low == 0
    assert float(high) == pytest.approx(0.1)
    low, _ = hockey_stick(Likelihoods.of(whole, short), Fraction(0))
    assert low == 0


def test_outcomes_that_one_side_never_has_stay_at_every_epsilon() -> None:
    one = OutputLaw.exactly({"hidden": Fraction(99, 100), "shown": Fraction(1, 100)})
    pair = Likelihoods.of(one, OutputLaw.exactly({"hidden": Fraction(1)}))
    assert pair.failure == Decimal("0.01")
    assert [float(bound) for bound in hockey_stick(pair, Fraction(50))] == pytest.approx([0.01, 0.01])
    assert pair.mirrored().failure == 0
