"""Gaussian DP: what questions cost as a μ², which adds, and what a total of it promises. Proved in gaussian_dp.md.

A question is μ-Gaussian if two neighbours' answers are no easier to tell apart than a normal number from one that
is μ higher. Along a row of questions μ² adds, also where each is chosen knowing all answers before, and the total
converts to (ε, δ) with nothing lost: 9 to 13 % more Gaussian questions fit than by way of ρ. A Gumbel draw costs
more than half again of what it costs in ρ. So which of the two an account counts is settled when it is opened.

All prices are rounded up and all budgets down. Searches halve an interval whose ends are proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from unlisted.errors import InvalidArgumentError
from unlisted.noise.gaussian.normal import normal_delta_about, normal_delta_up, normal_tail_bounds, theta_excess_up
from unlisted.privacy.numbers import Number, exact, failure_probability, not_negative, positive, whole
from unlisted.privacy.rounding import exp_up, log_down, log_up, round_down, round_up, sqrt_down, sqrt_up

ROUNDINGS = tuple(Fraction(n, 8) for n in (4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 24, 32))
"""The r² with which a discrete Gaussian is taken for a rounded normal number: any is valid, the best is used."""

LARGEST_RANGE = 10**4

_MILLS = Fraction(348, 100)
"""A little more than Q(-1)/φ(-1) = 3.47705."""
_ROOM = Fraction(1, 64)
_SHORT = 20
"""Digits that the ends of a search carry."""
_CLOSE = Fraction(1, 10**12)
_LEAST_LOOKED_AT, _MOST_LOOKED_AT, _LOOKS = 1e-30, 1e7, 60


@dataclass(frozen=True)
class GaussianGuarantee:
    """δ-approximate √μ²-Gaussian DP: parts of both laws of mass 1 - δ that are √μ²-Gaussian to each other.

    Guarantees: `a + b` holds for a and b run one after the other, b chosen knowing a's answer; `n * a` equals n
    additions; `a.covers(b)` is true only if whoever was promised b has everything that a says.
    """

    mu_squared: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu_squared", not_negative("mu_squared", self.mu_squared))
        object.__setattr__(self, "delta", exact("delta", self.delta))
        if not 0 <= self.delta <= 1:
            raise InvalidArgumentError("delta", self.delta, "between 0 and 1")

    def __add__(self, other: GaussianGuarantee) -> GaussianGuarantee:
        return GaussianGuarantee(self.mu_squared + other.mu_squared, min(Fraction(1), self.delta + other.delta))

    def __mul__(self, times: int) -> GaussianGuarantee:
        n = whole("times", times, at_least=0)
        return GaussianGuarantee(n * self.mu_squared, min(Fraction(1), n * self.delta))

    __rmul__ = __mul__

    def covers(self, other: GaussianGuarantee) -> bool:
        """Return whether what is said here follows from `other`."""
        return other.mu_squared <= self.mu_squared and other.delta <= self.delta

    def implies(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Return whether (ε, δ)-DP follows."""
        return self.delta + normal_delta_up(self.mu_squared, epsilon) <= delta

    def epsilon(self, at_delta: Number) -> Fraction:
        """Return the ε at a total δ, rounded up."""
        total = exact("at_delta", at_delta)
        if self.mu_squared == 0 and self.delta <= total:
            return Fraction(0)
        if not self.delta < total < 1:
            allowed = f"above {float(self.delta):.6g} and below 1"
            raise InvalidArgumentError("at_delta", at_delta, allowed, "ε needs a δ of its own.")
        return epsilon_gaussian_up(self.mu_squared, total - self.delta)


@lru_cache(maxsize=256)
def epsilon_gaussian_up(mu_squared: Number, delta: Number) -> Fraction:
    """Bound from above the smallest ε at which μ-Gaussian DP implies (ε, δ)-DP."""
    mu_squared_, d = not_negative("mu_squared", mu_squared), _open_unit(delta)
    about = _crossing(lambda epsilon: normal_delta_about(float(mu_squared_), epsilon) - float(d))
    return _lowest_end(lambda epsilon: normal_delta_up(mu_squared_, epsilon) <= d, about)


@lru_cache(maxsize=256)
def mu_squared_down(epsilon: Number, delta: Number) -> Fraction:
    """Bound from below the largest μ² for which μ-Gaussian DP implies (ε, δ)-DP."""
    eps, d = not_negative("epsilon", epsilon), failure_probability("delta", delta)
    about = _crossing(lambda mu_squared: float(d) - normal_delta_about(mu_squared, float(eps)))
    return _highest_end(lambda mu_squared: normal_delta_up(mu_squared, eps) <= d, about)


def mu_squared_of_normal_up(length_squared: Number, variance: Number) -> Fraction:
    """Bound from above the μ² of numbers with normal noise, moved by a vector of this squared length; tight."""
    return round_up(not_negative("length_squared", length_squared) / positive("variance", variance))


@lru_cache(maxsize=256)
def mu_squared_of_range_up(range_: Fraction) -> Fraction:
    """Bound from above the μ² of a draw whose chances change by factors that lie within e^`range_` of each other.

    One draw of the exponential mechanism, or the first of scores with Gumbel noise, is such a draw.
    """
    if not_negative("range_", range_) > LARGEST_RANGE:
        raise InvalidArgumentError(
            "range_", range_, f"at most {LARGEST_RANGE:,}", "Above that, nobody is protected."
        )
    if range_ == 0:
        return Fraction(0)
    least = 1 / (1 + exp_up(range_ / 2))
    about = _quantile(float(least)) ** 2
    # √x² >= isf(least) iff the tail beyond √x² is at most `least`; μ is twice that.
    return 4 * _lowest_end(lambda x_squared: normal_tail_bounds(x_squared)[1] <= least, about)


def range_of_mu_squared_down(mu_squared: Fraction) -> Fraction:
    """Bound from below the largest range of a draw that costs at most this μ²."""
    tail = normal_tail_bounds(not_negative("mu_squared", mu_squared) / 4)[1]
    if 2 * tail >= 1:
        return Fraction(0)
    # Q(μ/2) <= 1/(1 + e^(ε0/2)) iff ε0/2 <= log(1/Q(μ/2) - 1).
    found = min(Fraction(LARGEST_RANGE), round_down(2 * log_down(1 / tail - 1), _SHORT))
    while found and mu_squared_of_range_up(found) > mu_squared:
        found = round_down(found * (1 - 2 * _CLOSE), _SHORT)
    return found


def mu_squared_of_epsilon_up(epsilon: Number) -> Fraction:
    """Bound from above the μ² of an (ε, δ)-DP mechanism, which is δ-approximate Gaussian DP; this is tight."""
    return mu_squared_of_range_up(2 * not_negative("epsilon", epsilon))


@lru_cache(maxsize=256)
def mu_squared_of_discrete_gaussian_up(variance: Fraction, moved: int, shift: int) -> Fraction:
    """Bound from above the μ² of so many counts, each moved by at most `shift`, with discrete Gaussian noise."""
    squared = whole("moved", moved, at_least=0) * whole("shift", shift, at_least=0) ** 2
    return _gaussian_counts_up(positive("variance", variance), squared, moved)


@lru_cache(maxsize=256)
def mu_squared_of_gaussian_counts_up(variance: Fraction, squared: int, moved: int) -> Fraction:
    """Bound from above the μ² of counts with discrete Gaussian noise, moved by a vector of whole numbers.

    Its squared length is at most `squared`, and at most `moved` counts move.
    """
    whole("moved", moved, at_least=0)
    return _gaussian_counts_up(positive("variance", variance), whole("squared", squared, at_least=0), moved)


def _gaussian_counts_up(variance: Fraction, squared: int, moved: int) -> Fraction:
    price = _counts_or_none(variance, squared, moved)
    if price is None:
        allowed = f"above {ROUNDINGS[0]}, and large enough for what one user can change"
        raise InvalidArgumentError("variance", variance, allowed, "Use more noise, or an account that counts ρ.")
    return price


@lru_cache(maxsize=256)
def mu_squared_of_counts_or_none(variance: Fraction, squared: int, moved: int) -> Fraction | None:
    """Return that bound, or None where the noise is too small for one."""
    return _counts_or_none(variance, squared, moved)


def _counts_or_none(variance: Fraction, squared: int, moved: int) -> Fraction | None:
    if squared == 0:
        return Fraction(0)
    prices = (_rounded_normal_up(squared, moved, variance, r_squared) for r_squared in ROUNDINGS)
    return min((price for price in prices if price is not None), default=None)


def _rounded_normal_up(squared: int, moved: int, variance: Fraction, r_squared: Fraction) -> Fraction | None:
    """Bound that μ² from above, by a rounded normal number of variance s² - r²; None where that does not do."""
    if r_squared >= variance:
        return None
    mu_squared = squared / (variance - r_squared)
    # Each law is within e^±σ of its rounded normal number.
    sigma = moved * log_up(theta_excess_up(variance) / (2 - theta_excess_up(r_squared)))
    mu, most = sqrt_up(mu_squared), sqrt_up(mu_squared) + _ROOM
    if most**2 > LARGEST_RANGE or 2 * sigma > sqrt_down(mu_squared):
        return None
    raised = mu + sigma * (2 * _MILLS + most * exp_up(most**2 / 8))
    return round_up(raised**2) if raised <= most else None


def variance_of_mu_squared_up(squared: int, moved: int, mu_squared: Fraction) -> Fraction:
    """Bound from above the least variance of discrete Gaussian noise with which changed counts cost this μ²."""
    positive("mu_squared", mu_squared)
    # A little more than normal noise needs; then by as much more as the price is too high, which is soon enough.
    variance = round_up(whole("squared", squared) / mu_squared + ROUNDINGS[0], _SHORT)
    while True:
        price = mu_squared_of_counts_or_none(variance, squared, whole("moved", moved))
        if price is not None and price <= mu_squared:
            return variance
        growth = Fraction(2) if price is None else price / mu_squared
        variance = round_up(variance * (growth + _CLOSE), _SHORT)


def _lowest_end(holds: Callable[[Fraction], bool], about: float = 0.0) -> Fraction:
    """Return a number for which a condition holds that, once true, stays true; hardly above the first such.

    Where somebody knows about where that is, a number just below and one just above it spare the search.
    """
    if holds(Fraction(0)):
        return Fraction(0)
    if _is_known(about):
        low, high = _just_below(about), _just_above(about)
        if not holds(low) and holds(high):
            return high
    low, high = _around(lambda x: not holds(x))
    while low and high - low > _CLOSE * high:
        middle = round_up((low + high) / 2, _SHORT)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _highest_end(holds: Callable[[Fraction], bool], about: float = 0.0) -> Fraction:
    """Return a number for which a condition holds that, once false, stays false; hardly below the last such."""
    if _is_known(about):
        low, high = _just_below(about), _just_above(about)
        if holds(low) and not holds(high):
            return low
    low, high = _around(holds)
    while low and high - low > _CLOSE * high:
        middle = round_down((low + high) / 2, _SHORT)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _around(holds: Callable[[Fraction], bool]) -> tuple[Fraction, Fraction]:
    """Return a power of two for which a condition holds, or 0 if none was found, and one for which it does not."""
    high = Fraction(1)
    while holds(high):
        high *= 2
    low = high / 2
    while not holds(low) and low > Fraction(1, 2**400):
        low, high = low / 2, low
    return (low if holds(low) else Fraction(0)), high


def _is_known(about: float) -> bool:
    return math.isfinite(about) and about > 0


def _just_below(about: float) -> Fraction:
    return round_down(Fraction(about) * (1 - _CLOSE), _SHORT)


def _just_above(about: float) -> Fraction:
    return round_up(Fraction(about) * (1 + _CLOSE), _SHORT)


def _crossing(falling: Callable[[float], float]) -> float:
    """Return about where a falling function of positive numbers is 0; 0 if floating point does not know."""
    low, high = _LEAST_LOOKED_AT, _MOST_LOOKED_AT
    if not falling(low) > 0 > falling(high):
        return 0.0
    for _ in range(_LOOKS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return math.sqrt(low * high)


def _quantile(chance: float) -> float:
    """Return about the x with Q(x) = `chance`; 0 if floating point does not know."""
    return -NormalDist().inv_cdf(chance) if 0 < chance < 1 else 0.0


def _open_unit(delta: Number) -> Fraction:
    d = exact("delta", delta)
    if not 0 < d < 1:
        raise InvalidArgumentError("delta", delta, "above 0 and below 1")
    return d
