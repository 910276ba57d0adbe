"""Labels by a Bernoulli draw each, as likely to succeed as the promise allows. The proof is in optimal.md.

Between a label of n users and one of n + 1 the chance to be released may grow by so much and no more. Taking all
of it at every step gives the largest chances there are for a promise made label by label (Desfontaines, Voss,
Gipson and Mandayam).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unlisted.counts import labels as label_rules
from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.count_profile import CountProfile
from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.mechanisms.lazy_tail import SELDOM
from unlisted.mechanisms.mechanism import PERCENTS, Accuracy, AllCounts, Answer, Description, Mechanism
from unlisted.noise.bernoulli import Bounds, binomial, subset
from unlisted.noise.bits import Bits, fresh_bits
from unlisted.noise.gaussian.gaussian_dp import mu_squared_of_epsilon_up, range_of_mu_squared_down
from unlisted.privacy.calibrate import Calibrated
from unlisted.privacy.convert import rho_of_epsilon_up
from unlisted.privacy.encoding import Notation
from unlisted.privacy.guarantee import Budget, EpsilonDelta, Guarantee
from unlisted.privacy.numbers import positive
from unlisted.privacy.rounding import exp_down, exp_up, log_up, round_down
from unlisted.privacy.sensitivity import Sensitivity

LONGEST_TABLE = 2**16
"""The most chances that are computed: where a label needs more users than this, other ways need fewer."""

_SHARPER = 128
"""How many bits finer than δ chances are: what rounding loses is this small against δ."""

_EPSILON_DIGITS = 9


@dataclass(frozen=True)
class OptimalLabels(Mechanism[BoundedCounts | CountProfile]):
    """Release each label with a chance that depends on how many users have it, independently of the others.

    Guarantees: (ε, δ)-DP with the ε and δ given, and the (ρ, δ) of `guarantee()`. Rows come in the order of
    labels. Labels nobody has are never released. Edge cases: no counts, no rows; a label of very many users
    always comes.
    """

    notation: ClassVar = Notation("OptimalLabels", ("epsilon", "delta", "sensitivity"))

    epsilon: Fraction
    delta: Fraction
    sensitivity: Sensitivity

    def __post_init__(self) -> None:
        if self.sensitivity.count != 1:
            raise InvalidArgumentError(
                "count", self.sensitivity.count, "1", "Optimal selection counts users, not rows."
            )
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))
        object.__setattr__(self, "delta", positive("delta", self.delta))
        if self.delta >= 1:
            raise InvalidArgumentError("delta", self.delta, "above 0 and below 1")
        self.sensitivity.require_items("A selection of labels")
        # Chances grow by δ at least, and by a factor of about e^ε up to a half; above it is the same backwards.
        steps = min(1 / self.one_delta, 2 * log_up(1 + 1 / self.one_delta) / self.one_epsilon)
        if steps > LONGEST_TABLE:
            hint = "Find them by weights, or with a larger ε."
            raise InvalidArgumentError(
                "items", self.sensitivity.items, f"few, so that {LONGEST_TABLE:,} users suffice", hint
            )

    @classmethod
    def for_budget(cls, budget: Budget, sensitivity: Sensitivity) -> Calibrated[OptimalLabels]:
        """Return the one that spends all of a budget."""
        epsilon = budget.epsilon
        if epsilon is None:
            coordinates = _coordinates(sensitivity)
            epsilon = coordinates * _epsilon_of(budget, coordinates)
        found = cls(epsilon, budget.delta, sensitivity)
        return Calibrated(found, f"{found.even} users have an even chance, {found.certain} are certain")

    def needs(self) -> AllCounts:
        """Return that all counts are needed; labels that seldom pass need no name before they do."""
        return AllCounts(cut=self.least(SELDOM) - 1)

    def protects(self) -> Sensitivity:
        """Return who is protected."""
        return self.sensitivity

    @property
    def one_epsilon(self) -> Fraction:
        """The ε of one label."""
        return self.epsilon / _coordinates(self.sensitivity)

    @property
    def one_delta(self) -> Fraction:
        """The δ of one label."""
        return self.delta / _coordinates(self.sensitivity)

    def guarantee(self) -> Guarantee:
        """Return the ceiling of what a release costs; it is also what each one costs."""
        rho = _coordinates(self.sensitivity) * rho_of_epsilon_up(self.one_epsilon)
        return Guarantee(rho, self.delta, EpsilonDelta(self.epsilon, self.delta))

    def mu_squared(self, draws: int | None = None) -> Fraction | None:  # noqa: ARG002
        """Return the μ² of labels each of which is (ε₁, δ₁)-DP."""
        return _coordinates(self.sensitivity) * mu_squared_of_epsilon_up(self.one_epsilon)

    def chance(self, users: int) -> Fraction:
        """Return the exact chance that a label of so many users is released."""
        return Fraction(self._chances[min(users, self.certain)], 1 << self._bits)

    def least(self, wanted: Fraction) -> int:
        """Return the fewest users whose label is released with at least a wanted chance."""
        return next(users for users in range(self.certain + 1) if self.chance(users) >= wanted)

    @property
    def even(self) -> int:
        """The fewest users whose label is released at least every second time."""
        return self.least(Fraction(1, 2))

    @property
    def certain(self) -> int:
        """The fewest users whose label is always released."""
        return len(self._chances) - 1

    @property
    def _bits(self) -> int:
        """Chances are whole multiples of 2 to the power of minus this."""
        delta = self.one_delta
        return _SHARPER + delta.denominator.bit_length() - delta.numerator.bit_length()

    @cached_property
    def _chances(self) -> tuple[int, ...]:
        """The chances of labels of 0, 1, 2, … users, up to the first that is certain."""
        bits, one = self._bits, 1 << self._bits
        grown = math.floor(max(Fraction(1), exp_down(self.one_epsilon)) * one)
        shrunk = math.ceil(min(Fraction(1), exp_up(-self.one_epsilon)) * one)
        added = math.floor(self.one_delta * one)
        chances = [0]
        while chances[-1] < one:
            last = chances[-1]
            shown = (grown * last >> bits) + added
            hidden = -(-shrunk * (one - last - added) >> bits)
            chances.append(min(shown, one - hidden, one))
        return tuple(chances)

    def release(self, counts: BoundedCounts | CountProfile, bits: Bits | None = None) -> Answer:
        """Make the Bernoulli draws of all labels, and release those that succeeded."""
        bits = bits or fresh_bits()
        listed = counts.large if isinstance(counts, CountProfile) else counts
        listed.require(self.sensitivity, 1)
        if listed.fetched is not None or (isinstance(counts, CountProfile) and counts.fetched is not None):
            raise InvalidCountsError("Optimal selection needs all counts, not only the largest.")
        passed = self._listed(listed.counts, bits)
        if isinstance(counts, CountProfile):
            found = counts.named(passed, *self._unnamed(counts.small, bits))
        else:
            found = label_rules.take(counts.labels, passed)
        return Answer.of_labels(found, self.guarantee())

    def accuracy(self) -> Accuracy:
        """Return how good the answer will be: the probabilities are listed."""
        needed = {percent: self.least(Fraction(percent, 100)) for percent in PERCENTS}
        return Accuracy(needed, None, above_cut=False, chance=lambda count: float(self.chance(count)))

    def describe(self) -> Description:
        """Return its name and, for a threshold, the count at which the probability is about one half."""
        title = "labels by a Bernoulli draw each (optimal partition selection)"
        return Description("optimal_labels", title, self.even, "none: a Bernoulli draw for each label")

    def _listed(self, counts: NDArray[np.int64], bits: Bits) -> NDArray[np.int64]:
        """Return the positions of the labels that are released, of those with these counts."""
        capped = np.minimum(counts, self.certain)
        order = np.argsort(capped, kind="stable")
        alike, starts = np.unique(capped[order], return_index=True)
        found = [np.zeros(0, dtype=np.int64)]
        # Split before every start, the first one too: of no labels there are no groups.
        for users, at in zip(alike.tolist(), np.split(order, starts)[1:], strict=True):
            found.append(at[self._passing(users, len(at), bits)])
        return np.concatenate(found)

    def _unnamed(self, small: Mapping[int, int], bits: Bits) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the counts and ranks of those released, of so many labels of each count."""
        counts, ranks = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for users, labels in sorted(small.items()):
            ranks.append(self._passing(users, labels, bits))
            counts.append(np.full(len(ranks[-1]), users, dtype=np.int64))
        return np.concatenate(counts), np.concatenate(ranks)

    def _passing(self, users: int, labels: int, bits: Bits) -> NDArray[np.int64]:
        """Return which of some labels of equally many users are released."""
        if users >= self.certain:
            return np.arange(labels)
        return subset(labels, binomial(labels, self._bounds_of(users), bits), bits)

    def _bounds_of(self, users: int) -> Bounds:
        chance, fine = self._chances[users], self._bits

        def bounds(precision: int) -> tuple[int, int]:
            return (chance << precision) >> fine, -(-(chance << precision) >> fine)

        return bounds


def _coordinates(sensitivity: Sensitivity) -> int:
    """Return the most labels that differ between neighbours, each by one user."""
    return sensitivity.sides * sensitivity.require_items("A selection of labels")


def _epsilon_of(budget: Budget, coordinates: int) -> Fraction:
    """Return about the largest ε of one label inside a budget that is said in what adds up."""
    if budget.mu_squared is not None:
        # (ε, δ)-DP is priced as a draw of range 2ε.
        return round_down(range_of_mu_squared_down(budget.mu_squared / coordinates) / 2, _EPSILON_DIGITS)
    return _epsilon_of_rho((budget.rho or 0) / Fraction(coordinates))


def _epsilon_of_rho(rho: Fraction) -> Fraction:
    """Return about the largest ε of one label that costs at most ρ, and none that costs more."""
    # ε·tanh(ε/2) lies between ε - 1 and ε²/2.
    low, high = Fraction(0), rho + 1
    while True:
        middle = round_down((low + high) / 2, _EPSILON_DIGITS)
        if middle in (low, high):
            return low
        low, high = (middle, high) if rho_of_epsilon_up(middle) <= rho else (low, middle)
