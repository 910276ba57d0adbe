"""Labels, their counts, and how much users have of each: sums without a threshold on money. Proof: then_sum.md.

Labels are found by their users, so that one rich user cannot show a value. Once they are found they are a list
that everybody knows, and the sum of a bounded amount for each of them needs noise only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unlisted.counts import labels as label_rules
from unlisted.counts.weight_oracle import WeightOracle
from unlisted.counts.weights import MOST_LABELS, Weighing
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
from unlisted.mechanisms.partition_selection.user_sizes import weights_of_sizes
from unlisted.noise.bits import Bits, fresh_bits
from unlisted.noise.gaussian.discrete_gaussian import LARGEST_VARIANCE, DiscreteGaussian
from unlisted.noise.gaussian.gaussian_dp import mu_squared_of_gaussian_counts_up
from unlisted.privacy.calibrate import Calibrated
from unlisted.privacy.encoding import Notation
from unlisted.privacy.guarantee import Budget, EpsilonDelta, Guarantee
from unlisted.privacy.numbers import positive
from unlisted.privacy.rounding import round_up
from unlisted.privacy.sensitivity import Sensitivity

SUMS_SHARE = Fraction(20, 100)
"""The part of ρ that the sums get. Labels and counts share the rest."""

MEANS_CONFIDENCE = 0.975
"""How often a sum lies within the ends that a mean is made of, and so a count; both, 95 %."""

_DIGITS = 9
_LARGEST_SUM = 2**63 - 1
_WIDEST_SCALING = 2**34
"""More than D1, times the square of the grain in usual grains, can be with a hundred million labels."""


@dataclass(frozen=True)
class FindThenSum(Mechanism[WeightOracle]):
    """Release labels, counts, and sums of what users have of each label, `low` to `high` units a user.

    Guarantees: (ρ, δ) of `guarantee()`, and with `at_epsilon` the δ of the whole at that ε. `sums_variance` is
    that of a sum if users have at most 1 unit and count in full for one label only. Edge cases: nothing found; a
    sum too large for 64 bits saturates; of a count near 0 the mean may be anything between the bounds.
    """

    notation: ClassVar = Notation("FindThenSum", ("found", "sums_variance", "low", "high", "at_epsilon"))
    counts_are_bounded: ClassVar = False

    found: FindThenCount
    sums_variance: Fraction
    low: int
    high: int
    at_epsilon: Fraction | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sums_variance", positive("sums_variance", self.sums_variance))
        if not self.low <= 0 <= self.high or self.low == self.high:
            raise InvalidArgumentError("low", self.low, "0 or below, with high 0 or above, and not both 0")
        if self.found.at_epsilon is not None:
            hint = "The whole has one: give at_epsilon here."
            raise InvalidArgumentError("found", "with at_epsilon", "labels and counts without at_epsilon", hint)
        if (self.most * self.found.grain) ** 2 * _WIDEST_SCALING * self.sums_variance > LARGEST_VARIANCE:
            hint = "Say a smaller max_per_item, a larger sum_unit, or a larger budget."
            raise InvalidArgumentError(
                "max_per_item", f"{self.most:,} units", "small enough for noise that fits into 64 bits", hint
            )

    @classmethod
    def for_budget(
        cls, budget: Budget, weighing: Weighing, *, low: int, high: int, one_shot: bool = True
    ) -> Calibrated[FindThenSum]:
        """Return labels, counts and sums inside a budget, and how it is shared."""
        require_delta(budget)
        at_epsilon = budget.epsilon if one_shot else None
        left = 1 - SUMS_SHARE
        moved = _moved(low, high, Sensitivity(None, 1, weighing.adjacency))
        sides = Sensitivity(None, 1, weighing.adjacency).sides

        def build(labels: LabelSelection, variance: Fraction) -> FindThenSum:
            shares = (SIZES_SHARE * left, COUNTS_SHARE * left, SUMS_SHARE * sides / moved)
            sizes, counts, sums = (round_up(variance / share, _DIGITS) for share in shares)
            return cls(FindThenCount(labels, sizes, counts), sums, low, high, at_epsilon)

        search = RoundsSearch(budget, weighing, "hints", one_shot, LABELS_SHARE * left)
        made = search.proved(search.best_exponent(), build)
        way = "by its exact δ" if one_shot and budget.epsilon is not None else search.way
        shares = f"{float(LABELS_SHARE):.0%} finds labels by their users and {float(COUNTS_SHARE):.0%} counts"
        return Calibrated(made, f"{float(SUMS_SHARE):.0%} of ρ for the sums; of the rest {shares}, {way}")

    @property
    def most(self) -> int:
        """The largest amount of one user for one label, whatever its sign."""
        return max(-self.low, self.high)

    def sums_law(self, in_full: int, grain: int) -> DiscreteGaussian:
        """Return the noise on sums, in grains of a unit, if users count in full for D1 = `in_full` labels."""
        return DiscreteGaussian((grain * self.most) ** 2 * in_full * self.sums_variance)

    @property
    def sums_rho(self) -> Fraction:
        """What the sums cost: noise grows with how far a user can move them."""
        return _moved(self.low, self.high, self.protects()) / (2 * self.sums_variance)

    @property
    def sums_mu_squared(self) -> Fraction:
        """Bound from above the μ² of the sums."""
        # At D1 = 1 and the coarsest grain whole-number noise is farthest from normal noise.
        least = self.sums_law(1, self.found.grain).variance
        squared = _moved(self.low, self.high, self.protects()) * (self.found.grain * self.most) ** 2
        return mu_squared_of_gaussian_counts_up(least, squared, MOST_LABELS)

    def needs(self) -> Weights:
        """Return that labels are to be weighed."""
        return self.found.needs()

    def protects(self) -> Sensitivity:
        """Return who is protected."""
        return self.found.protects()

    def mu_squared(self, draws: int | None = None) -> Fraction:  # noqa: ARG002
        """Bound from above how far one user moves everything, in standard deviations of normal noise, squared."""
        return self.found.mu_squared() + self.sums_mu_squared

    def delta_at(self, epsilon: Fraction) -> Fraction:
        """Bound from above the δ of the whole at ε."""
        return self.found.delta_at(epsilon, self.sums_mu_squared)

    def guarantee(self) -> Guarantee:
        """Return the ceiling of what a release costs; it is also what each one costs."""
        return self._guarantee

    @cached_property
    def _guarantee(self) -> Guarantee:
        found = self.found.guarantee()
        promised = Guarantee(found.rho + self.sums_rho, found.delta)
        if self.at_epsilon is None:
            return promised
        return replace(promised, direct=EpsilonDelta(self.at_epsilon, self.delta_at(self.at_epsilon)))

    def release(self, oracle: WeightOracle, bits: Bits | None = None) -> Answer:
        """Find and count, and then sum up for what was found, each user weighed as in the counts."""
        bits = bits or fresh_bits()
        answer = self.found.release(oracle, bits)
        sizes, in_full = answer.extras["user_sizes"], answer.extras["items_in_full"]
        labels = sizes[-1]["to"] if sizes else 0
        grain = self.found.grain_for(labels)
        bounded = oracle.scaled_sums_of_taken(weights_of_sizes(labels, in_full, grain))
        bounded.require(self.low, self.high)
        noise = self.sums_law(in_full, grain).sample(len(bounded.sums), bits)
        noisy = dict(zip(label_rules.encode_all(bounded.labels), _added(bounded.sums, noise), strict=True))
        shown = [noisy[label] for label in label_rules.encode_all(answer.labels)]
        sums = np.array([(2 * one + grain) // (2 * grain) for one in shown], dtype=np.int64)
        return replace(answer, spent=self.guarantee(), columns=self._columns(answer, sums, in_full))

    def _columns(self, answer: Answer, sums: NDArray[np.int64], in_full: int) -> dict[str, NDArray[Any]]:
        """Return sums with their intervals, and means: a sum over a count, both of users weighed alike."""
        half = self.half_width_of(in_full)
        counts = np.zeros(len(answer), dtype=np.int64) if answer.counts is None else answer.counts
        means = [self.mean_of(int(s), int(n), in_full) for s, n in zip(sums, counts, strict=True)]
        ends = np.array(means, dtype=np.float64).reshape(-1, 3)
        return {
            "sum": sums,
            "sum_low": sums - half,
            "sum_high": sums + half,
            "mean": ends[:, 0],
            "mean_low": ends[:, 1],
            "mean_high": ends[:, 2],
        }

    def mean_of(self, total: int, count: int, in_full: int) -> tuple[float, float, float]:
        """Return a mean and the ends between which it lies 95 % of the time, all within the bounds."""
        within = self.half_width_of(in_full, MEANS_CONFIDENCE)
        few = count - self.found.half_width_of(in_full, MEANS_CONFIDENCE)
        many = count + self.found.half_width_of(in_full, MEANS_CONFIDENCE)
        mean = _between(total / count if count > 0 else 0.0, self.low, self.high)
        if few <= 0:
            return mean, float(self.low), float(self.high)
        low = min((total - within) / few, (total - within) / many)
        high = max((total + within) / few, (total + within) / many)
        return mean, _between(low, self.low, self.high), _between(high, self.low, self.high)

    def half_width_of(self, in_full: int, confidence: float = 0.95) -> int:
        """Return half the width of an interval of a sum, which was rounded to whole units."""
        grain = self.found.grain
        half = self.sums_law(in_full, grain).half_width(confidence)
        return -(-(2 * half + grain) // (2 * grain))

    def accuracy(self) -> Accuracy:
        """Return how good the labels and counts will be."""
        return self.found.accuracy()

    def intervals(self, answer: Answer) -> Interval | None:
        """Return intervals of the scaled counts."""
        return self.found.intervals(answer)

    def describe(self) -> Description:
        """Return its name, and what comes with labels and counts."""
        inner, rho = self.found.describe(), self.guarantee().rho
        share = float(self.found.guarantee().rho / rho)
        parts = {name: round(part * share, 4) for name, part in inner.parameters["shares_of_rho"].items()}
        parts["sums"] = round(float(self.sums_rho / rho), 4)
        scale = f"{self.most * math.sqrt(self.sums_variance):.6g}·√D1"
        widths = {str(n): self.half_width_of(n) for n in (1, 10, 100)}
        return Description(
            name="find_then_sum",
            title=f"{inner.title}; and how much users have of each",
            threshold=inner.threshold,
            noise=f"{inner.noise}; sums: discrete Gaussian, scale {scale}",
            parameters={
                **inner.parameters,
                "shares_of_rho": parts,
                "shares_of_rounds": [round(part * share, 4) for part in inner.parameters["shares_of_rounds"]],
                "amounts_between": [self.low, self.high],
                "sums_within_95": widths,
            },
            shares=shares_of({**self.found.steps, "sums": self.sums_rho}),
        )


def _moved(low: int, high: int, whom: Sensitivity) -> int:
    """Return by what squared length sums move, in parts of what one user adds at most.

    A user who comes or goes moves them by what it adds. One in another's place moves them by the difference, whose
    squared length is at most twice as much where all amounts have one sign, and four times where they have not.
    """
    if whom.sides == 1:
        return 1
    return 2 if low == 0 or high == 0 else 4


def _added(sums: NDArray[np.int64], noise: NDArray[np.int64]) -> list[int]:
    """Add noise in whole numbers of any size, and bring what does not fit into 64 bits to the end of what does."""
    pairs = zip(sums.tolist(), noise.tolist(), strict=True)
    return [max(-_LARGEST_SUM, min(_LARGEST_SUM, one + more)) for one, more in pairs]


def _between(number: float, low: float, high: float) -> float:
    return max(float(low), min(float(high), round(number, 3)))
