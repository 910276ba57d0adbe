"""The unknown-domain binary mechanism: a running histogram over a stream. The proof is in binary_histogram.md."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, TypedDict, Unpack

import numpy as np

from unlisted.counts.bounded_counts import LARGEST_COUNT, BoundedCounts, add_noise
from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.mechanisms.continual.binary_tree import (
    largest_popcount,
    most_squares,
    spread_by_popcount,
    steps_with_popcount,
)
from unlisted.mechanisms.continual.stream_state import RunningState
from unlisted.mechanisms.mechanism import Answer
from unlisted.noise.discrete_gaussian import DiscreteGaussian
from unlisted.noise.keyed import NoiseKey
from unlisted.noise.on_counts import noise_price, with_escape
from unlisted.privacy.calibrate import Calibrated, Family, calibrate
from unlisted.privacy.guarantee import Budget, Guarantee
from unlisted.privacy.numbers import whole
from unlisted.privacy.rounding import any_of_up
from unlisted.privacy.sensitivity import Sensitivity

Display = Literal["live", "sticky"]


class Course(TypedDict, total=False):
    """How a stream goes: what stays shown, how often it releases, in how many rounds one unit takes part."""

    display: Display
    every: int
    rounds_per_unit: int


@dataclass(frozen=True)
class RunningHistogram:
    """After every round, release the labels whose noisy running count is above the round's threshold.

    `thresholds[p-1]` is for releases whose number has p ones in binary: such a prefix is made of p noisy nodes.
    With `display="sticky"` a label once shown stays, with its noisy count even below the threshold; with `"live"`
    it comes and goes. Both cost the same. With `every=k` there is a release after each k-th round only, and k
    rounds make one leaf of the tree. `sensitivity` bounds what one unit adds in one round; a unit takes part in at
    most `rounds_per_unit` rounds. Guarantees: (ρ, δ) of `guarantee()` for the whole life of the stream. Edge
    cases: an empty round is a round; after the last round the stream is over; the same key, rounds and contents
    give the same answers byte for byte.
    """

    law: DiscreteGaussian
    thresholds: tuple[int, ...]
    rounds: int
    sensitivity: Sensitivity
    display: Display = "live"
    every: int = 1
    rounds_per_unit: int = 1

    def __post_init__(self) -> None:
        whole("rounds", self.rounds)
        for name in ("every", "rounds_per_unit"):
            if whole(name, getattr(self, name)) > self.rounds:
                raise InvalidArgumentError(
                    name, getattr(self, name), f"at most {self.rounds}, the number of rounds"
                )
        self.sensitivity.require_items("A running histogram")
        if self.sensitivity.adjacency != "add_remove":
            raise InvalidArgumentError(
                "adjacency", self.sensitivity.adjacency, "'add_remove'", "A stream's events are present or absent."
            )
        if self.display not in ("live", "sticky"):
            raise InvalidArgumentError("display", self.display, "'live' or 'sticky'")
        if len(self.thresholds) != largest_popcount(self.steps):
            raise InvalidArgumentError(
                "thresholds", self.thresholds, f"{largest_popcount(self.steps)} numbers, one for each popcount"
            )
        for threshold in self.thresholds:
            if whole("thresholds", threshold) < self.lowest_threshold:
                raise InvalidArgumentError("thresholds", threshold, f"{self.lowest_threshold} or above")

    @classmethod
    def for_budget(
        cls, budget: Budget, rounds: int, sensitivity: Sensitivity, **course: Unpack[Course]
    ) -> Calibrated[RunningHistogram]:
        """Return the one with the lowest thresholds inside a budget: all the same number of deviations up."""
        steps = whole("rounds", rounds) // whole("every", course.get("every", 1)) or 1
        lowest = whole("rounds_per_unit", course.get("rounds_per_unit", 1)) * sensitivity.count

        def build(variance: Fraction, highest: int) -> RunningHistogram:
            thresholds = spread_by_popcount(highest, lowest, steps)
            return cls(DiscreteGaussian(variance), thresholds, rounds, sensitivity, **course)

        gaussian = Family("discrete Gaussian", build, lambda variance: DiscreteGaussian(variance).stddev)
        return calibrate(budget, [gaussian])

    @property
    def steps(self) -> int:
        """How many releases there are: the leaves of the tree."""
        return self.rounds // self.every

    @property
    def lowest_threshold(self) -> int:
        """The largest count of a label that one unit alone can make appear."""
        return self.rounds_per_unit * self.sensitivity.count

    def price(self) -> Guarantee:
        """Return what the nodes that contain a unit's rounds cost."""
        items = self.sensitivity.require_items("A running histogram")
        squares = most_squares(self.rounds_per_unit, self.steps, self.every)
        # A count that moves by r·Δ∞ costs as much as r² counts that move by Δ∞: ρ goes by squares.
        return noise_price(self.law, items * squares, self.sensitivity.count)

    def escape(self) -> Fraction:
        """Bound from above the chance that a label only one unit holds is shown in any release.

        However a unit shares its rounds among labels, nothing is worse than one of the two ends: all rounds in the
        same few labels, or every round in others.
        """
        places = self.rounds_per_unit * self.sensitivity.require_items("A running histogram")
        ends = {1, self.rounds_per_unit}
        return max(any_of_up(self._shown_alone(rounds), places // rounds) for rounds in ends)

    def _shown_alone(self, rounds: int) -> Fraction:
        """Bound from above the chance that a label is ever shown that one unit alone brings, in so many rounds."""
        count = rounds * self.sensitivity.count
        chance = sum(
            (
                steps_with_popcount(ones, self.steps) * self.law.sum_tail(ones, threshold - count + 1)
                for ones, threshold in enumerate(self.thresholds, start=1)
            ),
            start=Fraction(0),
        )
        return min(chance, Fraction(1))

    def guarantee(self) -> Guarantee:
        """Return the cost of the whole stream, paid before its first round."""
        return self._whole_stream

    @cached_property
    def _whole_stream(self) -> Guarantee:
        # Every round's answer names it, so it is computed once.
        return with_escape(self.price(), self.escape())

    def start(self, key: NoiseKey) -> RunningState:
        """Return the state before the first round."""
        return RunningState.empty(key)

    def step(self, state: RunningState, counts: BoundedCounts) -> tuple[RunningState, Answer | None]:
        """Take in one round; return the state after it and what is shown, None if no release is due."""
        if state.round >= self.rounds:
            raise InvalidArgumentError("round", state.round + 1, f"at most {self.rounds}, the stream's length")
        counts.require(self.sensitivity, minimum_count=1)
        if counts.fetched is not None:
            raise InvalidCountsError("A round needs all of its counts, not only the largest.")
        state = state.after(counts, largest=LARGEST_COUNT // self.rounds)
        if state.round % self.every:
            return state, None
        state = state.closed(self.law)
        noisy = add_noise(state.totals, state.noise())
        shown = noisy > self.threshold_after(state.round)
        if self.display == "sticky":
            shown |= state.shown
            state = state.with_shown(shown)
        rows = np.flatnonzero(shown)
        return state, Answer.by_count(state.labels.take(rows), noisy[rows], self.guarantee())

    def ones_after(self, rounds: int) -> int:
        """Return how many noisy nodes the release after so many rounds is made of."""
        return (rounds // self.every).bit_count()

    def threshold_after(self, rounds: int) -> int:
        """Return the threshold of the release after so many rounds."""
        return self.thresholds[self.ones_after(rounds) - 1]

    def release(self, rounds: Iterable[BoundedCounts], key: NoiseKey | None = None) -> list[Answer]:
        """Run a whole stream and return what was shown in each release."""
        state, answers = self.start(key or NoiseKey.fresh()), []
        for counts in rounds:
            state, answer = self.step(state, counts)
            if answer is not None:
                answers.append(answer)
        return answers
