"""Noise on counts of which a user moves a few: which distributions to calibrate with, and what they cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Literal, TypeVar

from unlisted.errors import InvalidArgumentError
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.gaussian.gaussian_dp import mu_squared_of_epsilon_up
from unlisted.noise.law import Law
from unlisted.privacy.calibrate import Family, SelfPriced
from unlisted.privacy.convert import rho_of_epsilon_up
from unlisted.privacy.guarantee import EpsilonDelta, Guarantee
from unlisted.privacy.rounding import exp_up, round_up

Noise = Literal["auto", "laplace", "gaussian"]
M = TypeVar("M", bound=SelfPriced)
OurLaw = DiscreteGaussian | DiscreteLaplace


def families(noise: Noise, build: Callable[[OurLaw, int], M]) -> list[Family[M]]:
    """Return the families to choose from: both for `auto`, else the one that was named."""

    def laplace(scale: Fraction, threshold: int) -> M:
        return build(DiscreteLaplace(scale), threshold)

    def gaussian(variance: Fraction, threshold: int) -> M:
        return build(DiscreteGaussian(variance), threshold)

    both = {
        "laplace": Family("discrete Laplace", laplace, lambda scale: DiscreteLaplace(scale).stddev),
        "gaussian": Family("discrete Gaussian", gaussian, lambda scale: DiscreteGaussian(scale).stddev),
    }
    if noise == "auto":
        return list(both.values())
    if noise not in both:
        raise InvalidArgumentError("noise", noise, "'auto', 'laplace' or 'gaussian'")
    return [both[noise]]


def noise_price(law: Law, coordinates: int, shift: int) -> Guarantee:
    """Price so many counts with independent noise, each moved by at most `shift`; no threshold yet.

    ρ and ε add over the counts that differ. A sampler at total-variation distance tv from its law costs
    (1 + e^ε)·coordinates·tv of δ in the (ε, δ) statement; ρ then follows from that statement, not from the law.
    """
    epsilon = law.epsilon(shift)
    if law.tv == 0:
        direct = None if epsilon is None else EpsilonDelta(coordinates * epsilon, Fraction(0))
        return Guarantee(coordinates * law.rho(shift), Fraction(0), direct)
    if epsilon is None:
        raise InvalidArgumentError(
            "law", law, "exact, or (ε, δ)-private", "Give the law an `epsilon`, or a sampler with tv = 0."
        )
    total = coordinates * epsilon
    inexact = min(Fraction(1), round_up((1 + exp_up(total)) * coordinates * law.tv))
    return Guarantee(rho_of_epsilon_up(total), inexact, EpsilonDelta(total, inexact))


def noise_mu_squared(law: Law, coordinates: int, shift: int) -> Fraction | None:
    """Price the same as a μ², at the δ of `noise_price`; None where the law has none."""
    epsilon = law.epsilon(shift)
    if law.tv == 0 or epsilon is None:
        return law.mu_squared(coordinates, shift)
    # What follows from the (ε, δ) statement, as ρ does.
    return mu_squared_of_epsilon_up(coordinates * epsilon)


def with_failure(price: Guarantee, failure: Fraction) -> Guarantee:
    """Add the δ of the failure event to both statements of a cost (Lemma G, or the union bound for ε)."""
    direct = price.direct and EpsilonDelta(price.direct.epsilon, min(Fraction(1), price.direct.delta + failure))
    return replace(price, delta=min(Fraction(1), price.delta + failure), direct=direct)
