"""How many users there are, and how many different values: one number with noise. The proof is in total.md.

A total needs no threshold. It is a number whoever is in the table, so nothing is there or not there because of one
user, and δ is 0.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
import pyarrow as pa

from unlisted.counts.bounded_counts import add_noise
from unlisted.counts.bounded_total import BoundedTotal
from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.mechanisms.mechanism import (
    Accuracy,
    Answer,
    Description,
    DistinctValues,
    Interval,
    Mechanism,
    Needs,
    UserCount,
)
from unlisted.noise.bits import Bits, fresh_bits
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.accounting import GAUSSIAN
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.intervals import plain
from unlisted.noise.law import Law
from unlisted.noise.on_counts import noise_mu_squared, noise_price
from unlisted.privacy.calibrate import Calibrated
from unlisted.privacy.encoding import Notation
from unlisted.privacy.guarantee import Budget, Guarantee
from unlisted.privacy.rounding import round_up
from unlisted.privacy.sensitivity import Sensitivity

_DIGITS = 9
"""Digits that a scale is rounded up to: noise that a person can read."""


@dataclass(frozen=True)
class Total(Mechanism[BoundedTotal]):
    """Release one number that a user moves by at most `shift`, with noise; below 0 it is shown as 0.

    Guarantees: (ρ, 0) of `guarantee()`, and ε where the noise has one. Edge cases: an empty table has the total 0,
    and noise as any other; a total near the largest whole number saturates.
    """

    law: Law
    sensitivity: Sensitivity

    names_items: ClassVar[bool] = False

    @property
    @abstractmethod
    def shift(self) -> int:
        """The most by which the total differs between neighbours."""

    @property
    @abstractmethod
    def what(self) -> str:
        """What is counted, in a word or two."""

    @classmethod
    def for_budget(cls, budget: Budget, sensitivity: Sensitivity, *, one_shot: bool = True) -> Calibrated[Self]:
        """Return the one with the narrowest interval inside a budget, and why it is this one.

        A budget in (ε, δ) that is spent at once may go to Laplace noise as it is. One that is paid from an account
        goes by what the account counts: of that, Laplace noise of the same ε costs many times more.
        """
        laws = _laws(budget, cls(DiscreteLaplace(Fraction(1)), sensitivity).shift, one_shot=one_shot)
        made = (cls(law, sensitivity) for law in laws)
        fitting = [one for one in made if budget.allows(one.full_guarantee())]
        if not fitting:
            raise InvalidArgumentError("budget", "this one", "large enough for some amount of noise")
        best, *others = sorted(fitting, key=lambda one: one.law.half_width())
        against = "".join(f"; with {one.law}, ±{one.law.half_width():,}" for one in others)
        return Calibrated(best, f"{best.law} has the narrowest interval, ±{best.law.half_width():,}{against}.")

    def protects(self) -> Sensitivity:
        """Return who is protected."""
        return self.sensitivity

    def guarantee(self) -> Guarantee:
        """Return what a release costs."""
        return noise_price(self.law, 1, self.shift)

    def mu_squared(self, draws: int | None = None) -> Fraction | None:  # noqa: ARG002
        """Return the μ² of one number."""
        return noise_mu_squared(self.law, 1, self.shift)

    def release(self, counts: BoundedTotal, bits: Bits | None = None) -> Answer:
        """Add noise to the total."""
        if not isinstance(counts, BoundedTotal):
            raise InvalidCountsError(
                "A total needs a BoundedTotal, which says by how much one user can change it."
            )
        counts.require(self.shift)
        noise = self.law.sample(1, bits or fresh_bits())
        noisy = add_noise(np.array([counts.value], dtype=np.int64), noise)
        return Answer(pa.array([self.what]), np.maximum(noisy, 0), self.guarantee())

    def accuracy(self) -> Accuracy:
        """Return how good the answer will be: it always comes."""
        return Accuracy({}, self.law.half_width(), above_cut=False, chance=lambda _: 1.0)

    def intervals(self, answer: Answer) -> Interval | None:
        """Return the interval of the total."""
        return None if answer.counts is None else plain(self.law, answer.counts, smallest=0)

    def describe(self) -> Description:
        """Return its name and noise; it has no threshold."""
        return Description(f"{self.what}_total", f"the number of {self._said}", None, str(self.law))

    @property
    @abstractmethod
    def _said(self) -> str:
        """What is counted, as a plan says it."""


@dataclass(frozen=True)
class UserTotal(Total):
    """How many users there are. One of them, with whatever rows, changes it by 1."""

    notation: ClassVar = Notation("UserTotal", ("law", "sensitivity"))

    shift: ClassVar[int] = 1
    what: ClassVar[str] = "users"
    _said: ClassVar[str] = "users"

    def needs(self) -> Needs[BoundedTotal]:
        """Return that the number of users is needed."""
        return UserCount()


@dataclass(frozen=True)
class DistinctTotal(Total):
    """How many different values users have, of each at most `sensitivity.items`, chosen at random."""

    notation: ClassVar = Notation("DistinctTotal", ("law", "sensitivity"))

    what: ClassVar[str] = "distinct"
    _said: ClassVar[str] = "different values"

    def __post_init__(self) -> None:
        self.sensitivity.require_items("The number of different values")

    @property
    def shift(self) -> int:
        """One user alone may have all values that the bound allows."""
        return self.sensitivity.require_items("The number of different values")

    def needs(self) -> Needs[BoundedTotal]:
        """Return that the number of different values is needed."""
        return DistinctValues()


def _laws(budget: Budget, shift: int, *, one_shot: bool) -> Iterator[Law]:
    """Yield noise to choose from: Gaussian by what is counted, and Laplace where an ε is spent at once."""
    # A μ² is what Gaussian DP counts, whoever pays.
    accounting = budget.accounting if budget.mu_squared is None else GAUSSIAN
    if budget.epsilon is not None:
        loss = accounting.loss_down(budget.epsilon, budget.delta)
    else:
        loss = budget.rho if budget.rho is not None else budget.mu_squared or Fraction(0)
    if loss > 0:
        yield DiscreteGaussian(round_up(accounting.variance_up(shift**2, 1, loss), _DIGITS))
    if budget.epsilon is not None and one_shot:
        yield DiscreteLaplace(round_up(shift / budget.epsilon, _DIGITS))
