"""Algorithm 1 with a threshold that is one lower by a coin, so that δ is used up. Proved in threshold_coin.md.

The lowest whole threshold inside a budget leaves some δ over, up to a factor of e^(1/b) with Laplace noise. Each
label flips a coin of its own, and has a threshold one lower as often as that δ allows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from unlisted.counts import labels as label_rules
from unlisted.counts.bounded_counts import BoundedCounts, add_noise
from unlisted.counts.count_profile import CountProfile
from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.mechanisms.hidden_coin import COIN_BITS, Lifts, flipped, lift_unnamed, mixed_chance
from unlisted.mechanisms.mechanism import Accuracy, AllCounts, Answer, Description, Interval, Mechanism, all_needed
from unlisted.mechanisms.sparse_histogram import sparse_delta_up
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.noise.bits import Bits, fresh_bits
from unlisted.noise.discrete_gaussian import DiscreteGaussian
from unlisted.noise.intervals import given_shown
from unlisted.noise.law import ExactLaw
from unlisted.noise.on_counts import Noise, with_escape
from unlisted.privacy.calibrate import Calibrated
from unlisted.privacy.encoding import Notation
from unlisted.privacy.guarantee import Budget, EpsilonDelta, Guarantee
from unlisted.privacy.numbers import whole
from unlisted.privacy.rounding import any_of_up
from unlisted.privacy.sensitivity import Sensitivity

_STEPS, _COSTLY_STEPS = 64, 16
"""How finely the share of coins is searched: to the last bit, or where each look takes milliseconds, less."""


@dataclass(frozen=True)
class CoinHistogram(Mechanism[BoundedCounts | CountProfile]):
    """Release what is above a threshold, which for some labels, chosen by coins, is one lower.

    Guarantees: (ρ, δ) of `guarantee()`, and (ε, δ) where the histogram has it, as `ThresholdHistogram`. Of 2^64
    times a label's threshold is lower `lowered` times. Rows, order and edge cases are those of that mechanism;
    with `lowered` = 0 it is that mechanism.
    """

    notation: ClassVar = Notation("CoinHistogram", ("histogram", "lowered"))

    histogram: ThresholdHistogram
    lowered: int

    def __post_init__(self) -> None:
        if whole("lowered", self.lowered, at_least=0) >= 1 << COIN_BITS:
            raise InvalidArgumentError("lowered", self.lowered, "below 2^64, as if always lowered")
        if self.lowered and self.histogram.threshold == self.histogram.lowest_threshold:
            raise InvalidArgumentError("lowered", self.lowered, "0 where the threshold is the lowest there is")

    @classmethod
    def for_budget(
        cls,
        budget: Budget,
        sensitivity: Sensitivity,
        noise: Noise = "auto",
        minimum_count: int = 1,
        *,
        one_shot: bool = True,
    ) -> Calibrated[CoinHistogram]:
        """Return the one whose threshold is lowest on the mean inside a budget, and why it is this one."""
        kinds: tuple[Noise, ...] = ("laplace", "gaussian") if noise == "auto" else (noise,)
        found = []
        for kind in kinds:
            made = ThresholdHistogram.for_budget(budget, sensitivity, kind, minimum_count, one_shot=one_shot)
            found.append(cls(made.mechanism, _most_lowered(made.mechanism, budget)))
        best = min(found, key=lambda one: one.mean_threshold)
        reason = f"{best.histogram.law} has the lowest threshold on the mean, {float(best.mean_threshold):.4g}"
        return Calibrated(best, f"{reason}.")

    def needs(self) -> AllCounts:
        """Return that all counts are needed; a count that seldom passes may pass by its coin."""
        return AllCounts(cut=max(0, self.histogram.needs().cut - 1))

    def protects(self) -> Sensitivity:
        """Return who is protected."""
        return self.sensitivity

    @property
    def sensitivity(self) -> Sensitivity:
        """How much one user can change."""
        return self.histogram.sensitivity

    @property
    def _share(self) -> float:
        return float(Fraction(self.lowered, 1 << COIN_BITS))

    def chance(self, count: int) -> float:
        """Return about the probability that a label of this count is released."""
        least = self.histogram.threshold - count + 1
        higher, lower = self.histogram.law.survival(np.array([least, least - 1]))
        return (1 - self._share) * float(higher) + self._share * float(lower)

    def accuracy(self) -> Accuracy:
        """Return how good the answer will be."""
        wide = self.histogram.law.half_width()
        return Accuracy(all_needed(self.chance), wide, above_cut=False, chance=self.chance)

    def intervals(self, answer: Answer) -> Interval | None:
        """Return intervals of the bounded counts, given that they were released."""
        if answer.counts is None:
            return None
        law, threshold = self.histogram.law, self.histogram.threshold
        return given_shown(law, threshold, answer.counts, lowered=self._share)

    def describe(self) -> Description:
        """Return its name, the mean of its thresholds, and the noise."""
        title = "threshold histogram (Algorithm 1) with a boundary coin"
        return Description("coin_histogram", title, self.mean_threshold, str(self.histogram.law))

    @property
    def mean_threshold(self) -> Fraction:
        """The threshold's mean over the coin."""
        return self.histogram.threshold - Fraction(self.lowered, 1 << COIN_BITS)

    def price(self) -> Guarantee:
        """Return what the labels that both neighbours have cost."""
        return self.histogram.price()

    def escape(self) -> Fraction:
        """Bound from above the chance that a label only one neighbour has is released."""
        return any_of_up(self._one_escape(), self.sensitivity.require_items("A histogram"))

    def guarantee(self) -> Guarantee:
        """Return the ceiling of what a release costs; it is also what each one costs."""
        promised, law, epsilon = (
            with_escape(self.price(), self.escape()),
            self.histogram.law,
            self.histogram.at_epsilon,
        )
        if epsilon is None or not isinstance(law, DiscreteGaussian):
            return promised
        delta = sparse_delta_up(law, self._one_escape(), self.sensitivity, epsilon)
        return replace(promised, direct=EpsilonDelta(epsilon, delta))

    def _one_escape(self) -> Fraction:
        """Bound from above the chance that one label of a lone user is released, on the mean over its coin."""
        beyond = self.histogram.threshold - self.histogram.lowest_threshold + 1
        return mixed_chance(self.lowered, self.histogram.law.tail(beyond), self.histogram.law.tail(beyond - 1))

    def release(self, counts: BoundedCounts | CountProfile, bits: Bits | None = None) -> Answer:
        """Add noise, flip coins, keep what is above its threshold, and order it by what is released."""
        bits = bits or fresh_bits()
        if self.lowered == 0:
            return self.histogram.release(counts, bits)
        listed = counts.large if isinstance(counts, CountProfile) else counts
        listed.require(self.sensitivity, self.histogram.minimum_count)
        if listed.fetched is not None or (isinstance(counts, CountProfile) and counts.fetched is not None):
            raise InvalidCountsError("A histogram needs all counts. From the largest ones only, use TopHistogram.")
        noisy = add_noise(listed.counts, self.histogram.law.sample(len(listed), bits))
        passed = np.flatnonzero(noisy > self.histogram.threshold - flipped(self.lowered, len(listed), bits))
        if not isinstance(counts, CountProfile):
            return Answer.by_count(label_rules.take(counts.labels, passed), noisy[passed], self.guarantee())
        small, ranks, lifted = lift_unnamed(counts.small, self._lifts, self.lowered, bits)
        found = np.concatenate([noisy[passed], add_noise(small, lifted)])
        return Answer.by_count(counts.named(passed, small, ranks), found, self.guarantee())

    def _lifts(self, count: int) -> tuple[Lifts, Lifts]:
        """Return what lifts a label of this count over its threshold, with either side of its coin."""
        law, least = self.histogram.law, self.histogram.threshold - count + 1
        if not isinstance(law, ExactLaw):
            raise InvalidArgumentError(
                "law", law, "one whose tails are known exactly", "Give a law of your own all the counts instead."
            )
        return Lifts(law, least), Lifts(law, least - 1)


def _most_lowered(histogram: ThresholdHistogram, budget: Budget) -> int:
    """Return about how often of 2^64 times a threshold can be one lower inside a budget, and never more often."""
    if histogram.threshold == histogram.lowest_threshold:
        return 0
    lowered, steps = 0, _COSTLY_STEPS if histogram.knows_delta else _STEPS
    for bit in range(COIN_BITS - 1, COIN_BITS - 1 - steps, -1):
        if budget.allows(CoinHistogram(histogram, lowered | 1 << bit).guarantee()):
            lowered |= 1 << bit
    return lowered
