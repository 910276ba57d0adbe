"""Algorithm 2: noise on the k̄ largest counts and a noisy threshold. The proof is in top_histogram.md."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from unlisted.counts import labels as label_rules
from unlisted.counts.bounded_counts import BoundedCounts, Ties, add_noise
from unlisted.counts.count_profile import CountProfile
from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.mechanisms.lazy_tail import release_lazily
from unlisted.mechanisms.mechanism import (
    Accuracy,
    Answer,
    Description,
    Interval,
    LargestCounts,
    Mechanism,
    all_needed,
)
from unlisted.noise.bits import Bits, fresh_bits
from unlisted.noise.intervals import given_shown
from unlisted.noise.on_counts import Noise, OurLaw, families, noise_price, with_escape
from unlisted.privacy.calibrate import Calibrated, calibrate
from unlisted.privacy.encoding import Notation
from unlisted.privacy.guarantee import Budget, Guarantee
from unlisted.privacy.numbers import whole
from unlisted.privacy.sensitivity import Sensitivity


@dataclass(frozen=True)
class TopHistogram(Mechanism[BoundedCounts | CountProfile]):
    """Release those of the k̄ largest counts whose noisy value is above a noisy threshold over the (k̄+1)-th.

    Guarantees: (ρ, δ) of `guarantee()`. The noisy threshold itself is released beside the rows at no charge.
    Edge cases: fewer than k̄ + 1 rows are legal and look like any other input; the missing count is 0 (or one below
    what a `HAVING` cut off).
    """

    notation: ClassVar = Notation("TopHistogram", ("law", "threshold", "fetched", "sensitivity", "ties"))
    complete: ClassVar = False

    law: OurLaw
    threshold: int
    fetched: int
    sensitivity: Sensitivity
    ties: Ties = "label"

    def __post_init__(self) -> None:
        whole("fetched", self.fetched)
        if self.ties not in ("label", "unknown"):
            raise InvalidArgumentError("ties", self.ties, "'label' or 'unknown'")
        if whole("threshold", self.threshold) < self.lowest_threshold:
            raise InvalidArgumentError("threshold", self.threshold, f"{self.lowest_threshold} or above")

    @classmethod
    def for_budget(
        cls,
        budget: Budget,
        sensitivity: Sensitivity,
        fetched: int,
        noise: Noise = "auto",
        ties: Ties = "label",
    ) -> Calibrated[TopHistogram]:
        """Return the one with the lowest threshold inside a budget, and why it is this one."""
        build = families(noise, lambda law, threshold: cls(law, threshold, fetched, sensitivity, ties))
        return calibrate(budget, build)

    @property
    def lowest_threshold(self) -> int:
        """The most by which a label that enters or leaves the top can exceed the (k̄+1)-th count."""
        return self.sensitivity.sides * self.sensitivity.count

    @property
    def rivals(self) -> int:
        """How many labels can enter or leave the top between neighbours."""
        return rivals(self.sensitivity, self.fetched, self.ties)

    def needs(self) -> LargestCounts:
        """Return that the k̄ + 1 largest counts are needed."""
        return LargestCounts(self.fetched)

    def protects(self) -> Sensitivity:
        """Return who is protected."""
        return self.sensitivity

    def price(self) -> Guarantee:
        """Return what the labels that both tops have, and the (k̄+1)-th count, cost together."""
        moved = self.sensitivity.coordinates_within(self.fetched + 1)
        return noise_price(self.law, moved, self.sensitivity.count)

    def escape(self) -> Fraction:
        """Bound from above the chance that a label only one top has is released."""
        return self.law.lead_tail(self.threshold - self.lowest_threshold + 1, self.rivals)

    def guarantee(self) -> Guarantee:
        """Return the ceiling of what a release costs; it is also what each one costs."""
        return with_escape(self.price(), self.escape())

    def release(self, counts: BoundedCounts | CountProfile, bits: Bits | None = None) -> Answer:
        """Draw the noisy threshold first, then keep the noisy counts above it."""
        bits = bits or fresh_bits()
        listed = counts.large if isinstance(counts, CountProfile) else counts
        listed.require(self.sensitivity, listed.minimum_count)
        if listed.ties == "unknown" and self.ties == "label":
            raise InvalidCountsError("Ties were broken in an unknown way; calibrate with ties='unknown'.")
        if isinstance(counts, CountProfile):
            if counts.fetched != self.fetched:
                raise InvalidCountsError(f"The profile must speak of exactly the {self.fetched} largest counts.")
            over = self._noisy_threshold(counts.bottom, bits)
            labels, noisy = release_lazily(counts, self.law, over, bits)
            return Answer.by_count(labels, noisy, self.guarantee(), over)
        top = counts.largest(self.fetched)
        over = self._noisy_threshold(top.bottom, bits)
        noisy = add_noise(top.counts, self.law.sample(len(top.counts), bits))
        passed = np.flatnonzero(noisy > over)
        return Answer.by_count(label_rules.take(top.labels, passed), noisy[passed], self.guarantee(), over)

    def _noisy_threshold(self, bottom: int, bits: Bits) -> int:
        return self.threshold + bottom + int(self.law.sample(1, bits)[0])

    def chance(self, count: int) -> float:
        """Return about the probability that a label is released whose count is so far above the (k̄+1)-th."""
        return float(self.law.lead_survival(np.array([self.threshold - count + 1]))[0])

    def accuracy(self) -> Accuracy:
        """Return how good the answer will be."""
        return Accuracy(all_needed(self.chance), self.law.half_width(), above_cut=True, chance=self.chance)

    def intervals(self, answer: Answer) -> Interval | None:
        """Return intervals of the bounded counts, given that they passed the noisy threshold."""
        if answer.counts is None or answer.noisy_threshold is None:
            return None
        return given_shown(self.law, answer.noisy_threshold, answer.counts)

    def describe(self) -> Description:
        """Return its name, threshold and noise."""
        return Description(
            "top_histogram",
            "top histogram (Algorithm 2)",
            self.threshold,
            str(self.law),
            {"fetch": self.fetched},
        )


def rivals(sensitivity: Sensitivity, fetched: int | None, ties: Ties) -> int:
    """Return ℓ, the most labels that can be in the top of one neighbour and not of the other.

    With ties broken by the label a user moves at most Δ0 labels across the cut; otherwise a single changed count
    may reshuffle all the tied ones. Of all counts (no cut at all) those are the labels that only one neighbour
    has.
    """
    if fetched is None:
        return sensitivity.require_items("A ranking of the whole histogram")
    return sensitivity.items_within(fetched) if ties == "label" else fetched
