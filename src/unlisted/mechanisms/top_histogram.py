"""Algorithm 2: noise on the k̄ largest counts and a noisy threshold. The proof is in top_histogram.md."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from unlisted.counts import labels as label_rules
from unlisted.counts.bounded_counts import BoundedCounts, Ties
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
from unlisted.mechanisms.randomized_threshold import (
    RandomizedThreshold,
    mixed_chance,
    most_lowered_inside,
    require_share,
    said_beside,
    share_of,
)
from unlisted.noise.bits import Bits, fresh_bits
from unlisted.noise.intervals import given_shown
from unlisted.noise.on_counts import Noise, OurLaw, families, noise_mu_squared, noise_price, with_failure
from unlisted.privacy.calibrate import Calibrated, calibrate
from unlisted.privacy.encoding import Notation
from unlisted.privacy.guarantee import Budget, Guarantee
from unlisted.privacy.numbers import whole
from unlisted.privacy.sensitivity import Sensitivity

_COSTLY_STEPS = 16
"""How finely the share of Bernoulli draws is searched: each look takes milliseconds."""


@dataclass(frozen=True)
class TopHistogram(Mechanism[BoundedCounts | CountProfile]):
    """Release those of the k̄ largest counts whose noisy value is above a noisy threshold over the (k̄+1)-th.

    Guarantees: (ρ, δ) of `guarantee()`. The noisy threshold itself is released beside the rows at no charge.
    Edge cases: fewer than k̄ + 1 rows are legal and look like any other input; the missing count is 0 (or one below
    what a `HAVING` cut off). `lowered` of 2^64 labels, each by a draw of its own, have a threshold one lower.

    Args:
        law: the noise on every count and on the threshold.
        threshold: how far above the first count that was left out a noisy count must be.
        fetched: k̄, how many of the largest counts are read.
        sensitivity: what one user can change.
        ties: how equal counts were cut off.
        lowered: of 2^64 labels, how many have a threshold that is one lower.

    Examples:
        >>> found = ul.TopHistogram.for_budget(ul.Budget(epsilon=1, delta=1e-8), ul.Sensitivity(10), fetched=1000)
        >>> found.mechanism.fetched
        1000

    Theorem: Algorithm 2 of the survey (`mechanisms/top_histogram.md`).
    """

    notation: ClassVar = Notation(
        "TopHistogram", ("law", "threshold", "fetched", "sensitivity", "ties"), later={"lowered": 0}
    )
    complete: ClassVar = False

    law: OurLaw
    threshold: int
    fetched: int
    sensitivity: Sensitivity
    ties: Ties = "label"
    lowered: int = 0

    def __post_init__(self) -> None:
        whole("fetched", self.fetched)
        if self.ties not in ("label", "unknown"):
            raise InvalidArgumentError("ties", self.ties, "'label' or 'unknown'")
        if whole("threshold", self.threshold) < self.lowest_threshold:
            raise InvalidArgumentError("threshold", self.threshold, f"{self.lowest_threshold} or above")
        require_share(self.lowered, can_lower=self.threshold > self.lowest_threshold)

    @classmethod
    def for_budget(
        cls,
        budget: Budget,
        sensitivity: Sensitivity,
        fetched: int,
        noise: Noise = "auto",
        ties: Ties = "label",
    ) -> Calibrated[TopHistogram]:
        """Return the one with the lowest threshold inside a budget, and why it is this one.

        Args:
            budget: what the release may cost.
            sensitivity: how much one user can change.
            fetched: how many of the largest counts are looked at (k̄).
            noise: "laplace", "gaussian", or "auto" for the one with the lower threshold.
            ties: how equal counts at the cut are ordered: by label, or unknown.
        """
        build = families(noise, lambda law, threshold: cls(law, threshold, fetched, sensitivity, ties))
        return calibrate(budget, build)

    def with_randomized_threshold(self, budget: Budget) -> TopHistogram:
        """Return the same with a threshold one lower for as many labels as the budget leaves room for."""
        if self.threshold == self.lowest_threshold:
            return self

        def allows(lowered: int) -> bool:
            return budget.allows(replace(self, lowered=lowered).full_guarantee())

        return replace(self, lowered=most_lowered_inside(allows, _COSTLY_STEPS))

    @property
    def lowest_threshold(self) -> int:
        """The most by which a label that enters or leaves the top can exceed the (k̄+1)-th count."""
        return self.sensitivity.sides * self.sensitivity.count

    @property
    def entering(self) -> int:
        """How many labels can enter or leave the top between neighbours."""
        return entering(self.sensitivity, self.fetched, self.ties)

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

    def mu_squared(self, draws: int | None = None) -> Fraction | None:  # noqa: ARG002
        """Return the μ² of the labels that both tops have, and of the (k̄+1)-th count."""
        moved = self.sensitivity.coordinates_within(self.fetched + 1)
        return noise_mu_squared(self.law, moved, self.sensitivity.count)

    def failure(self) -> Fraction:
        """Bound from above the chance that a label only one top has is released."""
        lead = self.threshold - self.lowest_threshold + 1
        if not self.lowered:
            return self.law.lead_tail(lead, self.entering)
        # Each label has a Bernoulli draw of its own, so their chances are added up.
        one = mixed_chance(self.lowered, self.law.lead_tail(lead, 1), self.law.lead_tail(lead - 1, 1))
        return min(Fraction(1), self.entering * one)

    def guarantee(self) -> Guarantee:
        """Return the ceiling of what a release costs; it is also what each one costs."""
        return with_failure(self.price(), self.failure())

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
            labels, noisy = release_lazily(counts, RandomizedThreshold(self.law, over, self.lowered), bits)
            return Answer.by_count(labels, noisy, self.guarantee(), over)
        top = counts.largest(self.fetched)
        over = self._noisy_threshold(top.bottom, bits)
        passed, noisy = RandomizedThreshold(self.law, over, self.lowered).passing(top.counts, bits)
        return Answer.by_count(label_rules.take(top.labels, passed), noisy, self.guarantee(), over)

    def _noisy_threshold(self, bottom: int, bits: Bits) -> int:
        return self.threshold + bottom + int(self.law.sample(1, bits)[0])

    def chance(self, count: int) -> float:
        """Return about the probability that a label is released whose count is so far above the (k̄+1)-th."""
        least, share = self.threshold - count + 1, share_of(self.lowered)
        higher, lower = self.law.lead_survival(np.array([least, least - 1])).tolist()
        return float((1 - share) * higher + share * lower)

    def accuracy(self) -> Accuracy:
        """Return how good the answer will be."""
        return Accuracy(all_needed(self.chance), self.law.half_width(), above_cut=True, chance=self.chance)

    def intervals(self, answer: Answer) -> Interval | None:
        """Return intervals of the bounded counts, given that they passed the noisy threshold."""
        if answer.counts is None or answer.noisy_threshold is None:
            return None
        return given_shown(self.law, answer.noisy_threshold, answer.counts, lowered=share_of(self.lowered))

    def describe(self) -> Description:
        """Return its name, threshold and noise."""
        return Description(
            "top_histogram",
            "top histogram (Algorithm 2)",
            self.threshold,
            said_beside(self.law, self.lowered),
            {"fetch": self.fetched},
        )


def entering(sensitivity: Sensitivity, fetched: int | None, ties: Ties) -> int:
    """Return ℓ, the most labels that can be in the top of one neighbour and not of the other.

    With ties broken by the label a user moves at most Δ0 labels across the cut; otherwise a single changed count
    may reshuffle all the tied ones. Of all counts (no cut at all) those are the labels that only one neighbour
    has.
    """
    if fetched is None:
        return sensitivity.require_items("A ranking of the whole histogram")
    return sensitivity.items_within(fetched) if ties == "label" else fetched
