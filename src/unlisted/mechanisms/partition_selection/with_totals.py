"""Labels and counts, out of how many, and everything that is not shown. Proof: with_totals.md.

Once labels are found they are a list that everybody knows. How many users have a value at all, and how many have
one that is not on the list, are then numbers that a user moves by 1: noise, and no threshold. How many values all
users have together, and how many different ones are not on the list, a user moves by as many as count of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from unlisted.counts.bounded_counts import add_noise
from unlisted.counts.bounded_total import BoundedTotal
from unlisted.counts.weight_oracle import WeightOracle
from unlisted.counts.weights import Weighing
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.mechanism import Accuracy, Answer, Description, Interval, Mechanism, Weights
from unlisted.mechanisms.partition_selection.rounds import LabelSelection, shares_of
from unlisted.mechanisms.partition_selection.rounds_for_budget import RoundsSearch, require_delta
from unlisted.mechanisms.partition_selection.then_count import (
    COUNTS_SHARE,
    LABELS_SHARE,
    SIZES_SHARE,
    FindThenCount,
)
from unlisted.noise.bits import Bits, fresh_bits
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.gaussian.gaussian_dp import mu_squared_of_gaussian_counts_up
from unlisted.privacy.calibrate import Calibrated
from unlisted.privacy.encoding import Notation
from unlisted.privacy.guarantee import Budget, EpsilonDelta, Guarantee
from unlisted.privacy.numbers import positive, whole
from unlisted.privacy.rounding import round_up
from unlisted.privacy.sensitivity import Sensitivity

TOTAL_SHARE = Fraction(1, 100)
"""The part of ρ that each total gets. Labels and counts share the rest."""

VALUES_OF_A_USER = 10
"""So many values of a user count where values are added up: one user moves such a total by no more."""

USERS, PAIRS, OTHER, OTHER_VALUES = "users", "user_values", "other", "other_values"
"""The totals by name: users with any value, the values of all users, users with another value, other values."""

SHARES_CONFIDENCE = 0.975
"""How often a count lies within the ends that a share is made of, and so the number of users; both, 95 %."""

_DIGITS = 9


@dataclass(frozen=True)
class FoundWithTotals(Mechanism[WeightOracle]):
    """Release labels, counts, and totals: of all there is (`users`), and of what is not shown (`other`).

    Guarantees: (ρ, δ) of `guarantee()`, and with `at_epsilon` the δ of the whole at that ε. `totals_variance` is
    that of the noise on a total that a user moves by 1; totals of values, `values` of a user at most, have
    `values`² times as much. A total below 0 is shown as 0. Edge cases: nothing found, and every user has something
    that is not shown.
    """

    notation: ClassVar = Notation(
        "FoundWithTotals", ("found", "totals_variance", "users", "other", "values", "at_epsilon")
    )
    counts_are_bounded: ClassVar = False

    found: FindThenCount
    totals_variance: Fraction
    users: bool = True
    other: bool = True
    values: int = VALUES_OF_A_USER
    at_epsilon: Fraction | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "totals_variance", positive("totals_variance", self.totals_variance))
        object.__setattr__(self, "values", whole("values", self.values))
        if not (self.users or self.other):
            raise InvalidArgumentError(
                "users", self.users, "true, or other true", "Without totals: FindThenCount."
            )
        if self.found.at_epsilon is not None:
            hint = "The whole has one: give at_epsilon here."
            raise InvalidArgumentError("found", "with at_epsilon", "labels and counts without at_epsilon", hint)

    @classmethod
    def for_budget(
        cls, budget: Budget, weighing: Weighing, *, users: bool, other: bool, one_shot: bool = True
    ) -> Calibrated[FoundWithTotals]:
        """Return labels, counts and totals inside a budget, and how it is shared."""
        require_delta(budget)
        at_epsilon = budget.epsilon if one_shot else None
        left = 1 - TOTAL_SHARE * 2 * (users + other)

        def build(labels: LabelSelection, variance: Fraction) -> FoundWithTotals:
            shares = (SIZES_SHARE * left, COUNTS_SHARE * left, TOTAL_SHARE)
            sizes, counts, total = (round_up(variance / share, _DIGITS) for share in shares)
            return cls(FindThenCount(labels, sizes, counts), total, users, other, values, at_epsilon)

        values = min(VALUES_OF_A_USER, weighing.items)

        search = RoundsSearch(budget, weighing, "hints", one_shot, LABELS_SHARE * left)
        made = search.proved(search.best_exponent(), build)
        way = "by its exact δ" if one_shot and budget.epsilon is not None else search.way
        each = f"{float(TOTAL_SHARE):.0%} of ρ for each of {len(made.shifts)} totals"
        widths = f"±{made.law(1).half_width():,} users, ±{made.law(values).half_width():,} values"
        rest = f"of the rest {float(LABELS_SHARE):.0%} finds labels and {float(COUNTS_SHARE):.0%} counts"
        return Calibrated(made, f"{each}, {widths}; {rest}, {way}")

    @property
    def shifts(self) -> dict[str, int]:
        """The totals that are released, in their order, with how far one user can move each."""
        of_all = {USERS: 1, PAIRS: self.values} if self.users else {}
        return of_all | ({OTHER: 1, OTHER_VALUES: self.values} if self.other else {})

    def law(self, shift: int) -> DiscreteGaussian:
        """Return the noise on a total that a user moves by `shift`."""
        return DiscreteGaussian(self.totals_variance * shift**2)

    @property
    def totals_rho(self) -> Fraction:
        """What the totals cost: a user moves each by its shift at most, present, absent or replaced."""
        return sum((self.law(shift).rho(shift) for shift in self.shifts.values()), Fraction(0))

    @property
    def totals_mu_squared(self) -> Fraction:
        """Bound from above the μ² of the totals."""
        moved = (
            mu_squared_of_gaussian_counts_up(self.law(shift).variance, shift**2, 1)
            for shift in self.shifts.values()
        )
        return sum(moved, Fraction(0))

    def needs(self) -> Weights:
        """Return that labels are to be weighed."""
        return self.found.needs()

    def protects(self) -> Sensitivity:
        """Return who is protected."""
        return self.found.protects()

    def mu_squared(self, draws: int | None = None) -> Fraction:  # noqa: ARG002
        """Bound from above how far one user moves everything, in standard deviations of normal noise, squared."""
        return self.found.mu_squared() + self.totals_mu_squared

    def delta_at(self, epsilon: Fraction) -> Fraction:
        """Bound from above the δ of the whole at ε."""
        return self.found.delta_at(epsilon, self.totals_mu_squared)

    def guarantee(self) -> Guarantee:
        """Return the ceiling of what a release costs; it is also what each one costs."""
        return self._guarantee

    @cached_property
    def _guarantee(self) -> Guarantee:
        found = self.found.guarantee()
        promised = Guarantee(found.rho + self.totals_rho, found.delta)
        if self.at_epsilon is None:
            return promised
        return replace(promised, direct=EpsilonDelta(self.at_epsilon, self.delta_at(self.at_epsilon)))

    def release(self, oracle: WeightOracle, bits: Bits | None = None) -> Answer:
        """Find and count, and then add up: users and values, and those that were not found."""
        bits = bits or fresh_bits()
        answer = self.found.release(oracle, bits)
        asked: dict[str, Callable[[], BoundedTotal]] = {
            USERS: oracle.users,
            PAIRS: lambda: oracle.values_of_users(self.values),
            OTHER: oracle.users_of_others,
            OTHER_VALUES: lambda: oracle.other_values(self.values),
        }
        totals = {name: self._noisy(asked[name](), shift, bits) for name, shift in self.shifts.items()}
        said = {name: self._said(total, self.shifts[name]) for name, total in totals.items()}
        extras = {**answer.extras, "totals": said, "values_of_a_user": self.values}
        if self.users:
            extras["for_shares"] = self._for_shares(totals[USERS], answer.extras["items_in_full"])
        return replace(answer, spent=self.guarantee(), extras=extras)

    def _noisy(self, total: BoundedTotal, shift: int, bits: Bits) -> int:
        total.require(shift)
        noisy = add_noise(np.array([total.value], dtype=np.int64), self.law(shift).sample(1, bits))
        return max(0, int(noisy[0]))

    def _said(self, total: int, shift: int) -> dict[str, int]:
        half = self.law(shift).half_width()
        return {"count": total, "low": max(0, total - half), "high": total + half}

    def _for_shares(self, users: int, in_full: int) -> dict[str, int]:
        """Return the ends that shares are made of: how far off a count is, and between what the users lie."""
        half = self.law(1).half_width(SHARES_CONFIDENCE)
        count = self.found.half_width_of(in_full, SHARES_CONFIDENCE)
        return {"count_within": count, "users_low": max(0, users - half), "users_high": users + half}

    def accuracy(self) -> Accuracy:
        """Return how good the labels and counts will be."""
        return self.found.accuracy()

    def intervals(self, answer: Answer) -> Interval | None:
        """Return intervals of the scaled counts."""
        return self.found.intervals(answer)

    def describe(self) -> Description:
        """Return its name, and what comes with labels and counts."""
        inner, rho = self.found.describe(), self.guarantee().rho
        share = self.found.guarantee().rho / rho
        parts = {name: round(part * float(share), 4) for name, part in inner.parameters["shares_of_rho"].items()}
        rounds = [round(part * float(share), 4) for part in inner.parameters["shares_of_rounds"]]
        parts["totals"] = round(float(self.totals_rho / rho), 4)
        said = [("out of how many", self.users), ("everything else", self.other)]
        return Description(
            name="find_then_count_with_totals",
            title=f"{inner.title}; {' and '.join(name for name, asked in said if asked)}",
            threshold=inner.threshold,
            noise=f"{inner.noise}; totals: discrete Gaussian, scale {math.sqrt(self.totals_variance):.6g}",
            parameters={
                **inner.parameters,
                "shares_of_rho": parts,
                "shares_of_rounds": rounds,
                **self._asked(),
            },
            shares=shares_of({**self.found.steps, "totals": self.totals_rho}),
        )

    def _asked(self) -> dict[str, Any]:
        within = {name: self.law(shift).half_width() for name, shift in self.shifts.items()}
        return {"with_totals": self.users, "other": self.other, "totals_within_95": within}
