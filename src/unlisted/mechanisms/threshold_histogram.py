"""Algorithm 1: noise on every positive count, and a threshold. The proof is in threshold_histogram.md."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.mechanisms import labels as label_rules
from unlisted.mechanisms.answer import Answer
from unlisted.mechanisms.counts import BoundedCounts, add_noise
from unlisted.mechanisms.families import Noise, families
from unlisted.mechanisms.lazy_tail import release_lazily
from unlisted.mechanisms.pricing import noise_price, with_escape
from unlisted.mechanisms.profile import CountProfile
from unlisted.noise.bits import Bits, fresh_bits
from unlisted.noise.law import Law
from unlisted.privacy.calibrate import Calibrated, calibrate
from unlisted.privacy.guarantee import Budget, Guarantee
from unlisted.privacy.numbers import whole
from unlisted.privacy.rounding import any_of_up
from unlisted.privacy.sensitivity import Sensitivity


@dataclass(frozen=True)
class ThresholdHistogram:
    """Release every label whose count plus noise is above a threshold, with that noisy count.

    Guarantees: (ρ, δ) of `guarantee()` for neighbours as `sensitivity` declares, with any law. Rows come in the
    order of noisy count and label. Labels nobody has are never released. Edge cases: no counts, no rows; a count
    near the largest whole number saturates.
    """

    law: Law
    threshold: int
    sensitivity: Sensitivity
    minimum_count: int = 1

    def __post_init__(self) -> None:
        self.sensitivity.require_items("A histogram")
        whole("minimum_count", self.minimum_count)
        if whole("threshold", self.threshold) < self.lowest_threshold:
            raise InvalidArgumentError("threshold", self.threshold, f"{self.lowest_threshold} or above")

    @classmethod
    def for_budget(
        cls, budget: Budget, sensitivity: Sensitivity, noise: Noise = "auto", minimum_count: int = 1
    ) -> Calibrated[ThresholdHistogram]:
        """Return the one with the lowest threshold inside a budget, and why it is this one."""
        build = families(noise, lambda law, threshold: cls(law, threshold, sensitivity, minimum_count))
        return calibrate(budget, build)

    @property
    def lowest_threshold(self) -> int:
        """The largest count of a label that one user alone can make appear."""
        return self.sensitivity.count + self.minimum_count - 1

    def price(self) -> Guarantee:
        """Return what the labels that both neighbours have cost."""
        items = self.sensitivity.require_items("A histogram")
        return noise_price(self.law, self.sensitivity.sides * items, self.sensitivity.count)

    def escape(self) -> Fraction:
        """Bound from above the chance that a label only one neighbour has is released."""
        one = self.law.tail(self.threshold - self.lowest_threshold + 1)
        return any_of_up(one, self.sensitivity.require_items("A histogram"))

    def guarantee(self) -> Guarantee:
        """Return the ceiling of what a release costs; it is also what each one costs."""
        return with_escape(self.price(), self.escape())

    def release(self, counts: BoundedCounts | CountProfile, bits: Bits | None = None) -> Answer:
        """Add noise, keep what is above the threshold, and order it by what is released."""
        bits = bits or fresh_bits()
        complete = counts.large if isinstance(counts, CountProfile) else counts
        complete.require(self.sensitivity, self.minimum_count)
        if complete.fetched is not None or (isinstance(counts, CountProfile) and counts.fetched is not None):
            raise InvalidCountsError("A histogram needs all counts. From the largest ones only, use TopHistogram.")
        if isinstance(counts, CountProfile):
            labels, noisy = release_lazily(counts, self.law, self.threshold, bits)
            return Answer.by_count(labels, noisy, self.guarantee())
        noisy = add_noise(counts.counts, self.law.sample(len(counts), bits))
        passed = np.flatnonzero(noisy > self.threshold)
        return Answer.by_count(label_rules.take(counts.labels, passed), noisy[passed], self.guarantee())
