"""Find the labels, then count them without dropping anything. The proof is in then_count.md.

A histogram with a threshold keeps a few items of each user, so that few labels pass and all counts are low. Here
the labels come first, in rounds with hints. Once they are released they are a list that everybody knows, and their
counts need noise but no threshold: every user counts for every label, and users with many count for less in each.
How much less is chosen from a noisy histogram of how many of the labels users have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unlisted.counts.bounded_counts import add_noise
from unlisted.counts.weight_oracle import WeightOracle
from unlisted.counts.weights import MOST_LABELS, UNIT, Weighing
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.mechanism import Accuracy, Answer, Description, Interval, Mechanism, Weights, all_needed
from unlisted.mechanisms.partition_selection.rounds import LabelSelection
from unlisted.mechanisms.partition_selection.rounds_for_budget import RoundsSearch, require_delta
from unlisted.mechanisms.partition_selection.user_sizes import SizesOfUsers, by_class, size_ends, weights_of_sizes
from unlisted.noise.bits import Bits, fresh_bits
from unlisted.noise.discrete_gaussian import DiscreteGaussian
from unlisted.noise.gaussian_dp import mu_squared_of_gaussian_counts_up
from unlisted.noise.normal import normal_delta_up
from unlisted.privacy.calibrate import Calibrated
from unlisted.privacy.encoding import Notation
from unlisted.privacy.guarantee import Budget, EpsilonDelta, Guarantee
from unlisted.privacy.numbers import positive, whole
from unlisted.privacy.rounding import log_down, round_up
from unlisted.privacy.sensitivity import Sensitivity

GRAIN = 1 << 10
"""What a user who counts in full adds to a label: parts of a user are whole numbers of such grains."""

LABELS_SHARE = Fraction(70, 100)
SIZES_SHARE = Fraction(1, 100)
COUNTS_SHARE = 1 - LABELS_SHARE - SIZES_SHARE
"""The parts of ρ that find the labels, look at how many of them users have, and count."""

_DIGITS = 9

SPOKEN_OF = (1, 10, 100)
"""Users of so many items are those that a plan speaks of."""


@dataclass(frozen=True)
class FindThenCount(Mechanism[WeightOracle]):
    """Release labels, how many users have how many of them, and the labels' counts.

    Guarantees: (ρ, δ) of `guarantee()`, and with `at_epsilon` the δ of the whole at that ε. Rows come in the order
    of noisy count. `sizes_variance` is that of the noise on numbers of users by size, `counts_variance` that of a
    count if users count in full for one label only; for D1 labels it is D1 times as much.
    """

    notation: ClassVar = Notation(
        "FindThenCount", ("selection", "sizes_variance", "counts_variance", "grain", "at_epsilon")
    )
    counts_are_bounded: ClassVar = False

    selection: LabelSelection
    sizes_variance: Fraction
    counts_variance: Fraction
    grain: int = GRAIN
    at_epsilon: Fraction | None = None

    def __post_init__(self) -> None:
        for name in ("sizes_variance", "counts_variance"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))
        object.__setattr__(self, "grain", whole("grain", self.grain))
        if self.selection.at_epsilon is not None:
            hint = "The whole has one: give at_epsilon here."
            raise InvalidArgumentError("selection", "with at_epsilon", "a selection without at_epsilon", hint)

    @classmethod
    def for_budget(cls, budget: Budget, weighing: Weighing, *, one_shot: bool = True) -> Calibrated[FindThenCount]:
        """Return labels and counts inside a budget, and how it is shared.

        A budget in (ε, δ) that is spent at once needs no way through ρ; one paid from an account, which counts ρ,
        should say `one_shot=False`.
        """
        require_delta(budget)
        at_epsilon = budget.epsilon if one_shot else None

        def build(labels: LabelSelection, variance: Fraction) -> FindThenCount:
            sizes, counts = (round_up(variance / share, _DIGITS) for share in (SIZES_SHARE, COUNTS_SHARE))
            return cls(labels, sizes, counts, at_epsilon=at_epsilon)

        search = RoundsSearch(budget, weighing, "hints", one_shot, LABELS_SHARE)
        found = search.proved(search.best_exponent(), build)
        threshold = f"{float(round_up(Fraction(found.selection.last.threshold, UNIT), 6)):.6g}"
        way = "by ρ" if budget.epsilon is None else "by its exact δ" if one_shot else "by ρ converted"
        labels, sizes, counts = (f"{float(share):.0%}" for share in (LABELS_SHARE, SIZES_SHARE, COUNTS_SHARE))
        shares = f"{labels} of ρ finds labels, {sizes} says how many of them users have, {counts} counts"
        return Calibrated(found, f"{shares}; threshold {threshold} in the last of 3 rounds, {way}")

    def needs(self) -> Weights:
        """Return that labels are to be weighed."""
        return Weights()

    def protects(self) -> Sensitivity:
        """Return who is protected: a user with any number of items, for the counts are of all of them."""
        return Sensitivity(None, 1, self.selection.last.weighing.adjacency)

    @property
    def sizes_law(self) -> DiscreteGaussian:
        """The noise on the numbers of users by size."""
        return DiscreteGaussian(self.sizes_variance)

    @property
    def sizes_rho(self) -> Fraction:
        """What the numbers of users by size cost: a user is in one class, and moves its number by 1."""
        return self.protects().sides * self.sizes_law.rho(1)

    @property
    def counts_rho(self) -> Fraction:
        """What the counts cost: a user moves them by a vector of squared length D1, and noise grows with D1."""
        return self.protects().sides / (2 * self.counts_variance)

    def mu_squared(self) -> Fraction:
        """Bound from above how far one user moves everything, in standard deviations of normal noise, squared."""
        sides = self.protects().sides
        labels = sum((one.mu_squared for one in self.selection.rounds), Fraction(0))
        sizes = mu_squared_of_gaussian_counts_up(self.sizes_variance, sides, sides)
        # At D1 = 1 and the coarsest grain whole-number noise is farthest from normal noise.
        least = self.counts_law(1, self.grain).variance
        return labels + sizes + mu_squared_of_gaussian_counts_up(least, sides * self.grain**2, MOST_LABELS)

    def delta_at(self, epsilon: Fraction) -> Fraction:
        """Bound from above the δ of the whole at ε."""
        escape = self.selection.escape()
        if escape == 1:
            return Fraction(1)
        lowered = epsilon + log_down(1 - escape)
        return min(Fraction(1), escape + normal_delta_up(self.mu_squared(), lowered))

    def guarantee(self) -> Guarantee:
        """Return the ceiling of what a release costs; it is also what each one costs."""
        return self._guarantee

    @cached_property
    def _guarantee(self) -> Guarantee:
        labels = self.selection.guarantee()
        promised = Guarantee(labels.rho + self.sizes_rho + self.counts_rho, labels.delta)
        if self.at_epsilon is None:
            return promised
        return replace(promised, direct=EpsilonDelta(self.at_epsilon, self.delta_at(self.at_epsilon)))

    def counts_law(self, in_full: int, grain: int) -> DiscreteGaussian:
        """Return the noise on counts, in grains, if users count in full for D1 = `in_full` labels."""
        return DiscreteGaussian(grain**2 * in_full * self.counts_variance)

    def grain_for(self, labels: int) -> int:
        """Return the grain where so many labels were found: a user who has them all still adds 1 to each."""
        return max(self.grain, math.isqrt(labels) + 1)

    def release(self, oracle: WeightOracle, bits: Bits | None = None) -> Answer:
        """Find the labels, look at how many of them users have, and count."""
        bits = bits or fresh_bits()
        found = len(self.selection.draw(oracle, bits))
        sizes = self._sizes(oracle, found, bits)
        in_full, grain = sizes.best_in_full(math.sqrt(self.counts_variance)), self.grain_for(found)
        counts = oracle.scaled_counts_of_taken(weights_of_sizes(found, in_full, grain))
        noisy = add_noise(counts.counts, self.counts_law(in_full, grain).sample(len(counts), bits))
        extras = _said(sizes, in_full)
        return Answer.by_count(counts.labels, _rounded(noisy, grain), self.guarantee(), extras=extras)

    def _sizes(self, oracle: WeightOracle, found: int, bits: Bits) -> SizesOfUsers:
        """Return how many users have how many of the labels, with noise on every class, the empty ones too."""
        ends = size_ends(found)
        noise = self.sizes_law.sample(len(ends), bits)
        users = by_class(oracle.sizes_of_users(), ends) + noise
        return SizesOfUsers(tuple(ends), tuple(users.tolist()), self.sizes_law.stddev)

    def accuracy(self) -> Accuracy:
        """Return how good the answer will be, for users of 1, 10 and as many items as are looked at.

        How wide intervals are depends on the D1 that is chosen: `half_width` is for the largest one spoken of.
        """
        most = self.selection.last.weighing.items
        between = {n: all_needed(self.selection.chance_of_users(n)) for n in SPOKEN_OF[1:] if n < most}
        widths = {n: self._half_width(n) for n in SPOKEN_OF}
        found = self.selection.accuracy()
        return replace(found, half_width=widths[SPOKEN_OF[-1]], between=between, half_widths=widths)

    def _half_width(self, in_full: int) -> int:
        """Return half the width of an interval of a count, which was rounded to whole users."""
        half = self.counts_law(in_full, self.grain).half_width()
        return -(-(2 * half + self.grain) // (2 * self.grain))

    def intervals(self, answer: Answer) -> Interval | None:
        """Return intervals of the scaled counts, whose noise had no part in what is shown."""
        if answer.counts is None:
            return None
        half = self._half_width(answer.extras["items_in_full"])
        return np.maximum(answer.counts - half, 0), np.maximum(answer.counts + half, 0)

    def describe(self) -> Description:
        """Return its name, the threshold of the labels, the noise of all three steps, and their shares of ρ."""
        found, total = self.selection.describe(), self.guarantee().rho
        parts = {
            "labels": total - self.sizes_rho - self.counts_rho,
            "sizes": self.sizes_rho,
            "counts": self.counts_rho,
        }
        counts = f"discrete Gaussian, scale {math.sqrt(self.counts_variance):.6g}·√D1"
        return Description(
            name="find_then_count",
            title=f"{found.title}; then their counts, nobody's items dropped",
            threshold=found.threshold,
            noise=f"{found.noise}; sizes of users: {self.sizes_law}; counts: {counts}",
            parameters={
                "items_looked_at": self.selection.last.weighing.items,
                "shares_of_rho": {name: round(float(part / total), 4) for name, part in parts.items()},
            },
        )


def _said(sizes: SizesOfUsers, in_full: int) -> dict[str, object]:
    """Return what was released beside the counts, and what follows from it for them, as plain values."""
    classes = zip(sizes.classes, sizes.users, strict=True)
    labels = sizes.ends[-1] if sizes.ends else 1
    return {
        "items_in_full": in_full,
        "user_sizes": [{"from": first, "to": last, "users": users} for (first, last), users in classes],
        "hidden_on_average": max(0, round(sizes.hidden(in_full) / labels)),
        "hidden_at_most": math.ceil(sizes.hidden_at_most(in_full)),
    }


def _rounded(noisy: NDArray[np.int64], grain: int) -> NDArray[np.int64]:
    """Return whole users for grains, halves up."""
    users, rest = np.divmod(noisy, grain)
    rounded: NDArray[np.int64] = users + (2 * rest >= grain) * (grain > 1)
    return rounded
