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

from unlisted.counts import labels as label_rules
from unlisted.counts.bounded_counts import add_noise
from unlisted.counts.weight_oracle import WeightOracle
from unlisted.counts.weights import MOST_LABELS, UNIT, Weighing
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.groups import number_of_groups, places_in_groups
from unlisted.mechanisms.mechanism import Accuracy, Answer, Description, Interval, Mechanism, Weights
from unlisted.mechanisms.partition_selection.rounds import SPOKEN_OF, LabelSelection, shares_of
from unlisted.mechanisms.partition_selection.rounds_for_budget import RoundsSearch, require_delta
from unlisted.mechanisms.partition_selection.user_sizes import SizesOfUsers, by_class, size_ends, weights_of_sizes
from unlisted.noise.bits import Bits, fresh_bits
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.gaussian.gaussian_dp import mu_squared_of_gaussian_counts_up
from unlisted.noise.gaussian.normal import normal_delta_up
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
        way = "by its exact δ" if one_shot and budget.epsilon is not None else search.way
        return Calibrated(
            found, f"threshold {threshold} in the last of {len(found.selection.rounds)} rounds, {way}"
        )

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

    def mu_squared(self, draws: int | None = None) -> Fraction:  # noqa: ARG002
        """Bound from above how far one user moves everything, in standard deviations of normal noise, squared."""
        sides = self.protects().sides
        labels = self.selection.mu_squared()
        sizes = mu_squared_of_gaussian_counts_up(self.sizes_variance, sides, sides)
        # At D1 = 1 and the coarsest grain whole-number noise is farthest from normal noise.
        least = self.counts_law(1, self.grain).variance
        return labels + sizes + mu_squared_of_gaussian_counts_up(least, sides * self.grain**2, MOST_LABELS)

    def delta_at(self, epsilon: Fraction, more: Fraction = Fraction(0)) -> Fraction:
        """Bound from above the δ of the whole at ε, and of what follows it with a μ² of `more`."""
        failure = self.selection.failure()
        if failure == 1:
            return Fraction(1)
        lowered = epsilon + log_down(1 - failure)
        return min(Fraction(1), failure + normal_delta_up(self.mu_squared() + more, lowered))

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
        widths = {n: self.half_width_of(n) for n in SPOKEN_OF}
        return replace(self.selection.accuracy(), half_width=widths[SPOKEN_OF[-1]], half_widths=widths)

    def half_width_of(self, in_full: int, confidence: float = 0.95) -> int:
        """Return half the width of an interval of a count, which was rounded to whole users."""
        half = self.counts_law(in_full, self.grain).half_width(confidence)
        return -(-(2 * half + self.grain) // (2 * self.grain))

    def intervals(self, answer: Answer) -> Interval | None:
        """Return intervals of the scaled counts, whose noise had no part in what is shown."""
        if answer.counts is None:
            return None
        half = self.half_width_of(answer.extras["items_in_full"])
        return np.maximum(answer.counts - half, 0), np.maximum(answer.counts + half, 0)

    @property
    def steps(self) -> dict[str, Fraction]:
        """What each step costs of ρ, by its name."""
        return {**self.selection.parts_of_rho(), "choice of D1": self.sizes_rho, "counts": self.counts_rho}

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
                "shares_of_rounds": [round(float(one.mu_squared / 2 / total), 4) for one in self.selection.rounds],
            },
            shares=shares_of(self.steps),
        )


@dataclass(frozen=True)
class FoundTop(Mechanism[WeightOracle]):
    """Release the first k of the labels that were found, by noisy count; with `counts`, their counts too.

    With `groups` it is the first k of each group, which a label's first column names: of so many that are listed,
    or with 0 of those that are found.

    Guarantees: those of `found`, of whose answer this is a part. Edge cases: fewer labels than k, fewer rows.
    """

    notation: ClassVar = Notation("FoundTop", ("found", "k", "counts"), later={"groups": None})
    ranks: ClassVar = True
    complete: ClassVar = None
    counts_are_bounded: ClassVar = False

    found: FindThenCount
    k: int
    counts: bool = False
    groups: int | None = None

    def __post_init__(self) -> None:
        whole("k", self.k)
        if self.groups is not None:
            whole("groups", self.groups, at_least=0)

    def needs(self) -> Weights:
        """Return that labels are to be weighed."""
        return self.found.needs()

    def protects(self) -> Sensitivity:
        """Return who is protected."""
        return self.found.protects()

    def guarantee(self) -> Guarantee:
        """Return the ceiling of what a release costs; it is also what each one costs."""
        return self.found.guarantee()

    def mu_squared(self, draws: int | None = None) -> Fraction:  # noqa: ARG002
        """Return the μ² of all that is found and counted: the cut costs nothing, and saves nothing."""
        return self.found.mu_squared()

    def release(self, oracle: WeightOracle, bits: Bits | None = None) -> Answer:
        """Find and count, and keep the first k; `stopped` says that there were fewer."""
        answer = self.found.release(oracle, bits)
        first, wanted = np.arange(min(self.k, len(answer))), self.k
        if self.groups is not None:
            first = np.flatnonzero(places_in_groups(answer.labels) < self.k)
            wanted *= max(1, self.groups or number_of_groups(answer.labels))
        labels, stopped = label_rules.take(answer.labels, first), len(first) < wanted
        if not self.counts or answer.counts is None:
            return Answer(labels, None, answer.spent, stopped)
        return Answer(labels, answer.counts[first], answer.spent, stopped, extras=answer.extras)

    def accuracy(self) -> Accuracy:
        """Return how good the answer will be: whether a label is found, and how far off its count is."""
        expected = self.found.accuracy()
        return expected if self.counts else replace(expected, half_width=None, half_widths={})

    def intervals(self, answer: Answer) -> Interval | None:
        """Return intervals of the scaled counts."""
        return self.found.intervals(answer)

    def describe(self) -> Description:
        """Return its name, and what it takes the first k of."""
        whole_answer = self.found.describe()
        return replace(
            whole_answer,
            name="found_top_k",
            title=f"the first k of {whole_answer.title}",
            parameters={**whole_answer.parameters, "k": self.k},
        )


def _said(sizes: SizesOfUsers, in_full: int) -> dict[str, object]:
    """Return what was released beside the counts, and what follows from it for them, as plain values."""
    classes = zip(sizes.classes, sizes.users, strict=True)
    labels = sizes.ends[-1] if sizes.ends else 1
    least, most = sizes.hidden_between(in_full)
    of_any = math.ceil(sizes.hidden_at_most(in_full))
    return {
        "items_in_full": in_full,
        "user_sizes": [{"from": first, "to": last, "users": users} for (first, last), users in classes],
        "hidden_on_average": max(0, round(sizes.hidden(in_full) / labels)),
        "hidden_on_average_between": [math.floor(least / labels), min(of_any, math.ceil(most / labels))],
        "hidden_at_most": of_any,
    }


def _rounded(noisy: NDArray[np.int64], grain: int) -> NDArray[np.int64]:
    """Return whole users for grains, halves up."""
    users, rest = np.divmod(noisy, grain)
    rounded: NDArray[np.int64] = users + (2 * rest >= grain) * (grain > 1)
    return rounded
