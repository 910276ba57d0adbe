"""A histogram with noise that ends, and a Bernoulli draw that uses δ up. The proof is in truncated_laplace.md.

Noise that is never larger than k lets no label of nobody over a threshold of k, so the threshold costs no δ. What
costs δ are the noise's two ends, and there a whole number k leaves some of it over; so each label secretly uses
k - 1 instead, noise and threshold both, as often as δ allows. For users of few items this shows a label as often
as the best choice of labels alone does (`partition_selection/optimal.py`), and its count with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unlisted.counts import labels as label_rules
from unlisted.counts.bounded_counts import BoundedCounts, add_noise
from unlisted.counts.count_profile import CountProfile
from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.mechanisms.lazy_tail import SELDOM, Lifts, lift_unnamed
from unlisted.mechanisms.mechanism import Accuracy, AllCounts, Answer, Description, Interval, Mechanism, all_needed
from unlisted.mechanisms.randomized_threshold import bernoulli_each, mixed_chance, most_lowered, share_of
from unlisted.noise.bits import Bits, fresh_bits
from unlisted.noise.discrete_laplace import LARGEST_SCALE, DiscreteLaplace
from unlisted.noise.gaussian.gaussian_dp import mu_squared_of_epsilon_up, range_of_mu_squared_down
from unlisted.noise.intervals import Shown, given_log_shown
from unlisted.noise.on_counts import noise_price, with_failure
from unlisted.noise.truncated_laplace import LARGEST_REACH, TruncatedLaplace
from unlisted.privacy.calibrate import Calibrated
from unlisted.privacy.encoding import Notation
from unlisted.privacy.guarantee import Budget, Guarantee
from unlisted.privacy.numbers import failure_probability, positive, whole
from unlisted.privacy.rounding import any_of_up, round_down
from unlisted.privacy.search import smallest
from unlisted.privacy.sensitivity import Sensitivity

_EPSILON_DIGITS = 9

Numbers = NDArray[np.int64]
Logs = NDArray[np.float64]


@dataclass(frozen=True)
class TruncatedHistogram(Mechanism[BoundedCounts | CountProfile]):
    """Release every label whose count plus noise that ends is above where noise alone can come, with that count.

    Guarantees: (ε, δ)-DP with the ε and δ given, and the (ρ, δ) of `guarantee()`. Rows come in the order of noisy
    count and label. Labels nobody has are never released. Edge cases: no counts, no rows; a label of more than
    twice the noise's reach always comes; a count near the largest whole number saturates.
    """

    notation: ClassVar = Notation("TruncatedHistogram", ("epsilon", "delta", "sensitivity", "minimum_count"))

    epsilon: Fraction
    delta: Fraction
    sensitivity: Sensitivity
    minimum_count: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))
        object.__setattr__(self, "delta", failure_probability("delta", self.delta))
        whole("minimum_count", self.minimum_count)
        self.sensitivity.require_items("A histogram")
        if self.scale > LARGEST_SCALE or self._edge(LARGEST_REACH) > self.one_delta:
            raise InvalidArgumentError("epsilon", self.epsilon, "large enough for noise of at most 61 bits")

    @classmethod
    def for_budget(
        cls, budget: Budget, sensitivity: Sensitivity, minimum_count: int = 1
    ) -> Calibrated[TruncatedHistogram]:
        """Return the one that spends all of a budget."""
        epsilon = budget.epsilon
        if epsilon is None:
            labels = sensitivity.sides * sensitivity.require_items("A histogram")
            epsilon = labels * _epsilon_of(budget, labels, sensitivity.count)
        found = cls(epsilon, budget.delta, sensitivity, minimum_count)
        return Calibrated(
            found, f"{found.wide}: a label needs noise above {found.threshold}, or one less by a Bernoulli draw"
        )

    def needs(self) -> AllCounts:
        """Return that all counts are needed; those that seldom pass are left to the lazy tail."""
        return AllCounts(cut=max(0, self.threshold + 1 - self.wide.quantile(SELDOM)))

    def protects(self) -> Sensitivity:
        """Return who is protected."""
        return self.sensitivity

    @property
    def labels(self) -> int:
        """The most labels that differ between neighbours."""
        return self.sensitivity.sides * self.sensitivity.require_items("A histogram")

    @property
    def one_epsilon(self) -> Fraction:
        """The ε of one label."""
        return self.epsilon / self.labels

    @property
    def one_delta(self) -> Fraction:
        """The δ of one label."""
        return self.delta / self.labels

    @property
    def scale(self) -> Fraction:
        """The scale b of the noise: a count that moves by as much as one user can has ε₁."""
        return self.sensitivity.count / self.one_epsilon

    @cached_property
    def reach(self) -> int:
        """The smallest k whose ends cost no more than one label's δ."""
        return smallest(lambda k: self._edge(k) <= self.one_delta, self.sensitivity.count)

    @cached_property
    def narrowed(self) -> int:
        """Out of 2^64 times, how often a label uses k - 1: as often as one label's δ allows, rounded down."""
        return most_lowered(self._edge(self.reach), self._edge(self.reach - 1), self.one_delta)

    @cached_property
    def wide(self) -> TruncatedLaplace:
        """The noise of most labels."""
        return TruncatedLaplace(self.scale, self.reach)

    @cached_property
    def narrow(self) -> TruncatedLaplace:
        """The noise of labels whose Bernoulli draw succeeded."""
        return TruncatedLaplace(self.scale, self.reach - 1)

    @property
    def threshold(self) -> int:
        """What noise of reach k must lift a label above; with k - 1 it is one less."""
        return self.reach + self.minimum_count - 1

    def price(self) -> Guarantee:
        """Return what outcomes cost that both neighbours have."""
        return noise_price(DiscreteLaplace(self.scale), self.labels, self.sensitivity.count)

    def mu_squared(self, draws: int | None = None) -> Fraction | None:  # noqa: ARG002
        """Return the μ² of labels each of which is (ε₁, δ₁)-DP."""
        return self.labels * mu_squared_of_epsilon_up(self.one_epsilon)

    def failure(self) -> Fraction:
        """Bound from above the chance of an outcome that the other neighbour has not; it is at most δ."""
        one = mixed_chance(self.narrowed, self._edge(self.reach), self._edge(self.reach - 1))
        return min(self.delta, any_of_up(one, self.labels))

    def guarantee(self) -> Guarantee:
        """Return the ceiling of what a release costs; it is also what each one costs."""
        return with_failure(self.price(), self.delta)

    def _edge(self, reach: int) -> Fraction:
        """Bound from above the chance of noise so near its end that a moved count has it nowhere."""
        return TruncatedLaplace(self.scale, reach).tail(reach - self.sensitivity.count + 1)

    def release(self, counts: BoundedCounts | CountProfile, bits: Bits | None = None) -> Answer:
        """Make the draws, add noise, keep what is above the threshold, and order it by what is released."""
        bits = bits or fresh_bits()
        listed = counts.large if isinstance(counts, CountProfile) else counts
        listed.require(self.sensitivity, self.minimum_count)
        if listed.fetched is not None or (isinstance(counts, CountProfile) and counts.fetched is not None):
            raise InvalidCountsError("A histogram needs all counts. From the largest ones only, use TopHistogram.")
        narrow = bernoulli_each(self.narrowed, len(listed), bits)
        noise = np.empty(len(listed), dtype=np.int64)
        noise[narrow] = self.narrow.sample(int(narrow.sum()), bits)
        noise[~narrow] = self.wide.sample(int((~narrow).sum()), bits)
        noisy = add_noise(listed.counts, noise)
        passed = np.flatnonzero(noisy > self.threshold - narrow)
        if not isinstance(counts, CountProfile):
            return Answer.by_count(label_rules.take(counts.labels, passed), noisy[passed], self.guarantee())
        listable = {count: labels for count, labels in counts.small.items() if count >= self.minimum_count}
        small, ranks, lifted = lift_unnamed(listable, self._lifts, self.narrowed, bits)
        found = np.concatenate([noisy[passed], add_noise(small, lifted)])
        return Answer.by_count(counts.named(passed, small, ranks), found, self.guarantee())

    def _lifts(self, count: int) -> tuple[Lifts, Lifts]:
        """Return what lifts a label of this count over its threshold, with either side of its Bernoulli draw."""
        least = self.threshold - count + 1
        return Lifts(self.wide, least), Lifts(self.narrow, least - 1)

    def chance(self, count: int) -> float:
        """Return about the chance that a label of so many users appears, for display."""
        return float(np.exp(self.log_shown(np.array([count]), np.array([self.lowest_shown])))[0])

    def accuracy(self) -> Accuracy:
        """Return how good the answer will be."""
        return Accuracy(all_needed(self.chance), self.wide.half_width(), above_cut=False, chance=self.chance)

    def intervals(self, answer: Answer) -> Interval | None:
        """Return intervals of the bounded counts, given that they were released.

        The noise, a mean of two distributions around one centre, is log-concave, and the one value that only one
        side of the Bernoulli draw can show is the smallest: so probabilities are monotone in the count.
        """
        if answer.counts is None:
            return None
        # From twice the reach on every count is shown, and no interval is wider than the noise.
        shown = Shown(self.threshold, 3 * self.reach + 8, self.minimum_count)
        return given_log_shown(self.log_shown, shown, answer.counts)

    def describe(self) -> Description:
        """Return its name, threshold and noise."""
        title = "histogram with truncated noise and a randomized threshold"
        return Description("truncated_histogram", title, self.threshold, str(self.wide))

    @property
    def lowest_shown(self) -> int:
        """The smallest count that is ever shown."""
        return self.threshold + (self.narrowed == 0)

    def log_shown(self, counts: Numbers, values: Numbers) -> Logs:
        """Return about log P[shown, and at least as this value] for labels of these counts, for display."""
        share = share_of(self.narrowed)
        wide = self.wide.log_survival(np.maximum(values, self.threshold + 1) - counts)
        narrow = self.narrow.log_survival(np.maximum(values, self.threshold) - counts)
        with np.errstate(divide="ignore"):
            logs: Logs = np.logaddexp(np.log1p(-share) + wide, np.log(share) + narrow)
        return logs


def _epsilon_of(budget: Budget, labels: int, count: int) -> Fraction:
    """Return about the largest ε of one label inside a budget that is said in what adds up."""
    if budget.mu_squared is not None:
        # (ε, δ)-DP is priced as a draw of range 2ε.
        return round_down(range_of_mu_squared_down(budget.mu_squared / labels) / 2, _EPSILON_DIGITS)
    return _epsilon_of_rho((budget.rho or Fraction(0)) / labels, count)


def _epsilon_of_rho(rho: Fraction, count: int) -> Fraction:
    """Return about the largest ε of one label that costs at most ρ, and none that costs more."""
    # ρ lies between ε - 1 and ε²/2, for moves of any size.
    low, high = Fraction(0), rho + 1
    while True:
        middle = round_down((low + high) / 2, _EPSILON_DIGITS)
        if middle in (low, high):
            return low
        low, high = (middle, high) if DiscreteLaplace(count / middle).rho(count) <= rho else (low, middle)
