"""The labels of Algorithm 1 without their counts: for users of one item, whom counts serve best.

What is released is a function of a histogram that could have been released, so its guarantee is the histogram's
(label_counts.md).
"""

from __future__ import annotations

from dataclasses import dataclass

from unlisted.mechanisms.answer import Answer
from unlisted.mechanisms.counts import BoundedCounts
from unlisted.mechanisms.profile import CountProfile
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.noise.bits import Bits
from unlisted.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class CountedLabels:
    """Release the labels of a histogram, in the order of labels."""

    histogram: ThresholdHistogram

    def guarantee(self) -> Guarantee:
        """Return the ceiling of what a release costs; it is also what each one costs."""
        return self.histogram.guarantee()

    def release(self, counts: BoundedCounts | CountProfile, bits: Bits | None = None) -> Answer:
        """Release the histogram, and keep the labels."""
        return Answer.of_labels(self.histogram.release(counts, bits).labels, self.guarantee())
