"""Algorithm 1: noise on every positive count, and a threshold. The proof is in threshold_histogram.md.

The lowest whole threshold inside a budget leaves some δ over, up to a factor of e^(1/b) with Laplace noise. With a
Bernoulli draw (`lowered`) each label has a threshold one lower as often as that δ allows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from unlisted.counts import labels as label_rules
from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.count_profile import CountProfile
from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.mechanisms.lazy_tail import SELDOM, release_lazily
from unlisted.mechanisms.mechanism import Accuracy, AllCounts, Answer, Description, Interval, Mechanism, all_needed
from unlisted.mechanisms.randomized_threshold import (
    SHARE_BITS,
    RandomizedThreshold,
    mixed_chance,
    most_lowered_inside,
    require_share,
    said_beside,
    share_of,
)
from unlisted.mechanisms.sparse_histogram import failure_about, sparse_delta_about, sparse_delta_up
from unlisted.noise.bits import Bits, fresh_bits
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.intervals import given_shown
from unlisted.noise.law import Law
from unlisted.noise.on_counts import Noise, families, noise_mu_squared, noise_price, with_failure
from unlisted.privacy.calibrate import Calibrated, calibrate
from unlisted.privacy.encoding import Notation
from unlisted.privacy.guarantee import Budget, EpsilonDelta, Guarantee
from unlisted.privacy.numbers import whole
from unlisted.privacy.rounding import any_of_up
from unlisted.privacy.sensitivity import Sensitivity

_COSTLY_STEPS = 16
"""How finely the share of Bernoulli draws is searched where each look takes milliseconds."""


@dataclass(frozen=True)
class ThresholdHistogram(Mechanism[BoundedCounts | CountProfile]):
    """Release every label whose count plus noise is above a threshold, with that noisy count.

    Guarantees: (ρ, δ) of `guarantee()` for neighbours as `sensitivity` declares, with any law. Rows come in the
    order of noisy count and label. Labels nobody has are never released. Edge cases: no counts, no rows; a count
    near the largest whole number saturates. With `at_epsilon` and Gaussian noise the guarantee also says the δ of
    the whole at that ε (`sparse_histogram.md`). `lowered` of 2^64 labels, each by a draw of its own that nobody
    sees, have a threshold that is one lower.

    Args:
        law: the noise on every count.
        threshold: T; what is not above it is not shown.
        sensitivity: what one user can change.
        minimum_count: smaller counts were cut off before.
        at_epsilon: the ε at which the δ of the whole is stated.
        lowered: of 2^64 labels, how many have a threshold that is one lower.

    Examples:
        >>> found = ul.ThresholdHistogram.for_budget(ul.Budget(epsilon=1, delta=1e-8), ul.Sensitivity(1))
        >>> found.mechanism.threshold
        19

    Theorem: Algorithm 1 of the survey (`mechanisms/threshold_histogram.md`).
    """

    notation: ClassVar = Notation(
        "ThresholdHistogram",
        ("law", "threshold", "sensitivity", "minimum_count", "at_epsilon"),
        later={"lowered": 0},
    )

    law: Law
    threshold: int
    sensitivity: Sensitivity
    minimum_count: int = 1
    at_epsilon: Fraction | None = None
    lowered: int = 0

    def __post_init__(self) -> None:
        self.sensitivity.require_items("A histogram")
        whole("minimum_count", self.minimum_count)
        if whole("threshold", self.threshold) < self.lowest_threshold:
            raise InvalidArgumentError("threshold", self.threshold, f"{self.lowest_threshold} or above")
        require_share(self.lowered, can_lower=self.threshold > self.lowest_threshold)

    @classmethod
    def for_budget(
        cls,
        budget: Budget,
        sensitivity: Sensitivity,
        noise: Noise = "auto",
        minimum_count: int = 1,
        *,
        one_shot: bool = True,
    ) -> Calibrated[ThresholdHistogram]:
        """Return the one with the lowest threshold inside a budget, and why it is this one.

        A budget in (ε, δ) that is spent at once needs no way through ρ. One that is paid from an account, which
        counts ρ, should say `one_shot=False`: the lower threshold would cost more ρ.

        Args:
            budget: what the release may cost.
            sensitivity: how much one user can change.
            noise: "laplace", "gaussian", or "auto" for the one with the lower threshold.
            minimum_count: smaller counts were left out before.
            one_shot: whether the budget is spent at once, and not from an account.
        """
        at = budget.epsilon if one_shot else None
        build = families(noise, lambda law, threshold: cls(law, threshold, sensitivity, minimum_count, at))
        return calibrate(budget, build)

    def with_randomized_threshold(self, budget: Budget) -> ThresholdHistogram:
        """Return the same with a threshold one lower for as many labels as the budget leaves room for."""
        if self.threshold == self.lowest_threshold:
            return self

        def allows(lowered: int) -> bool:
            return budget.allows(replace(self, lowered=lowered).full_guarantee())

        return replace(
            self, lowered=most_lowered_inside(allows, _COSTLY_STEPS if self.knows_delta else SHARE_BITS)
        )

    @property
    def mean_threshold(self) -> Fraction:
        """The threshold's mean over the Bernoulli draw."""
        return self.threshold - Fraction(self.lowered, 1 << SHARE_BITS)

    @property
    def lowest_threshold(self) -> int:
        """The largest count of a label that one user alone can make appear."""
        return self.sensitivity.count + self.minimum_count - 1

    def needs(self) -> AllCounts:
        """Return that all counts are needed; those that seldom pass the threshold are left to the lazy tail."""
        # A law of a user's own may not know its tails exactly, and then every count is named.
        seldom = self.threshold + 1 - self.law.quantile(SELDOM) if self.law.is_exact else 0
        return AllCounts(cut=max(0, seldom - (self.lowered > 0)))

    def protects(self) -> Sensitivity:
        """Return who is protected."""
        return self.sensitivity

    def price(self) -> Guarantee:
        """Return what the labels that both neighbours have cost."""
        items = self.sensitivity.require_items("A histogram")
        return noise_price(self.law, self.sensitivity.sides * items, self.sensitivity.count)

    def mu_squared(self, draws: int | None = None) -> Fraction | None:  # noqa: ARG002
        """Return the μ² of the labels that both neighbours have."""
        items = self.sensitivity.require_items("A histogram")
        return noise_mu_squared(self.law, self.sensitivity.sides * items, self.sensitivity.count)

    def failure(self) -> Fraction:
        """Bound from above the chance that a label only one neighbour has is released."""
        return any_of_up(self._one_failure(), self.sensitivity.require_items("A histogram"))

    @property
    def knows_delta(self) -> bool:
        """Whether the δ of the whole mechanism is to be stated at an ε, and the noise is one that allows it."""
        return self.at_epsilon is not None and isinstance(self.law, DiscreteGaussian)

    def delta_at(self, epsilon: Fraction) -> Fraction:
        """Bound from above the δ of the whole mechanism at ε."""
        return sparse_delta_up(self._gaussian(), self._one_failure(), self.sensitivity, epsilon)

    def delta_about(self, epsilon: float) -> float:
        """Return about that δ, in floating point."""
        return sparse_delta_about(self._gaussian(), self._beyond, self.sensitivity, epsilon)

    def failure_about(self) -> float:
        """Return about the probability of the failure event, in floating point."""
        return failure_about(self._gaussian(), self._beyond, self.sensitivity)

    def guarantee(self) -> Guarantee:
        """Return the ceiling of what a release costs; it is also what each one costs."""
        promised = with_failure(self.price(), self.failure())
        if self.at_epsilon is None or not self.knows_delta:
            return promised
        return replace(promised, direct=EpsilonDelta(self.at_epsilon, self.delta_at(self.at_epsilon)))

    def _gaussian(self) -> DiscreteGaussian:
        if not isinstance(self.law, DiscreteGaussian):
            raise InvalidArgumentError("law", self.law, "discrete Gaussian, to know its δ at an ε")
        return self.law

    def _one_failure(self) -> Fraction:
        """Bound from above the chance that one label of a lone user is released, on the mean over its draw."""
        higher = self.law.tail(self._beyond)
        return mixed_chance(self.lowered, higher, self.law.tail(self._beyond - 1)) if self.lowered else higher

    @property
    def _beyond(self) -> int:
        """The least noise that lifts a label of one user alone strictly above the threshold."""
        return self.threshold - self.lowest_threshold + 1

    def release(self, counts: BoundedCounts | CountProfile, bits: Bits | None = None) -> Answer:
        """Add noise, keep what is above the threshold, and order it by what is released."""
        bits = bits or fresh_bits()
        complete = counts.large if isinstance(counts, CountProfile) else counts
        complete.require(self.sensitivity, self.minimum_count)
        if complete.fetched is not None or (isinstance(counts, CountProfile) and counts.fetched is not None):
            raise InvalidCountsError("A histogram needs all counts. From the largest ones only, use TopHistogram.")
        boundary = RandomizedThreshold(self.law, self.threshold, self.lowered)
        if isinstance(counts, CountProfile):
            return Answer.by_count(*release_lazily(counts, boundary, bits), self.guarantee())
        passed, noisy = boundary.passing(counts.counts, bits)
        return Answer.by_count(label_rules.take(counts.labels, passed), noisy, self.guarantee())

    def chance(self, count: int) -> float:
        """Return about the probability that a label of this count is released."""
        least, share = self.threshold - count + 1, share_of(self.lowered)
        higher, lower = self.law.survival(np.array([least, least - 1])).tolist()
        return float((1 - share) * higher + share * lower)

    def accuracy(self) -> Accuracy:
        """Return how good the answer will be."""
        return Accuracy(all_needed(self.chance), self.law.half_width(), above_cut=False, chance=self.chance)

    def intervals(self, answer: Answer) -> Interval | None:
        """Return intervals of the bounded counts, given that they were released."""
        if answer.counts is None:
            return None
        return given_shown(self.law, self.threshold, answer.counts, lowered=share_of(self.lowered))

    def describe(self) -> Description:
        """Return its name, threshold and noise."""
        noise = said_beside(self.law, self.lowered)
        return Description("threshold_histogram", "threshold histogram (Algorithm 1)", self.threshold, noise)
