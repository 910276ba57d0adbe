"""The labels of Algorithm 1 without their counts: for users of one item, whom counts serve best.

What is released is a function of a histogram that could have been released, so its guarantee is the histogram's
(from_counts.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.count_profile import CountProfile
from unlisted.mechanisms.mechanism import Accuracy, AllCounts, Answer, Description, Mechanism
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.noise.bits import Bits
from unlisted.privacy.encoding import Notation
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.sensitivity import Sensitivity


@dataclass(frozen=True)
class CountedLabels(Mechanism[BoundedCounts | CountProfile]):
    """Release the labels of a histogram, in the order of labels."""

    notation: ClassVar = Notation("CountedLabels", ("histogram",))

    histogram: ThresholdHistogram

    def needs(self) -> AllCounts:
        """Return what the histogram needs."""
        return self.histogram.needs()

    def protects(self) -> Sensitivity:
        """Return who is protected."""
        return self.histogram.sensitivity

    def guarantee(self) -> Guarantee:
        """Return the ceiling of what a release costs; it is also what each one costs."""
        return self.histogram.guarantee()

    def mu_squared(self, draws: int | None = None) -> Fraction | None:  # noqa: ARG002
        """Return the histogram's μ²."""
        return self.histogram.mu_squared()

    def release(self, counts: BoundedCounts | CountProfile, bits: Bits | None = None) -> Answer:
        """Release the histogram, and keep the labels."""
        return Answer.of_labels(self.histogram.release(counts, bits).labels, self.guarantee())

    def accuracy(self) -> Accuracy:
        """Return how good the answer will be."""
        return replace(self.histogram.accuracy(), half_width=None)

    def describe(self) -> Description:
        """Return its name, threshold and noise."""
        return replace(
            self.histogram.describe(),
            name="counted_labels",
            title="labels of a threshold histogram (Algorithm 1)",
        )
