"""The unknown-domain binary mechanism: a running histogram over a stream. The proof is in running_histogram.md."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np

from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.mechanisms import labels as label_rules
from unlisted.mechanisms.answer import Answer
from unlisted.mechanisms.counts import LARGEST_COUNT, BoundedCounts, add_noise
from unlisted.mechanisms.pricing import noise_price, with_escape
from unlisted.mechanisms.running_state import RunningState
from unlisted.noise.discrete_gaussian import DiscreteGaussian
from unlisted.noise.keyed import NoiseKey
from unlisted.privacy.calibrate import Calibrated, Family, calibrate
from unlisted.privacy.guarantee import Budget, Guarantee
from unlisted.privacy.numbers import whole
from unlisted.privacy.rounding import any_of_up, sqrt_up
from unlisted.privacy.sensitivity import Sensitivity

Display = Literal["live", "sticky"]


@dataclass(frozen=True)
class RunningHistogram:
    """After every round, release the labels whose noisy running count is above the round's threshold.

    `thresholds[p-1]` is for rounds whose number has p ones in binary: such a prefix is made of p noisy nodes. With
    `display="sticky"` a label once shown stays, with its noisy count even below the threshold; with `"live"` it
    comes and goes. Both cost the same. Guarantees: (ρ, δ) of `guarantee()` for the whole life of the stream, one
    event being what one unit adds in one round. Edge cases: an empty round is a round; after the last round the
    stream is over; the same key, rounds and contents give the same answers byte for byte.
    """

    law: DiscreteGaussian
    thresholds: tuple[int, ...]
    rounds: int
    sensitivity: Sensitivity
    display: Display = "live"

    def __post_init__(self) -> None:
        whole("rounds", self.rounds)
        self.sensitivity.require_items("A running histogram")
        if self.sensitivity.adjacency != "add_remove":
            raise InvalidArgumentError(
                "adjacency", self.sensitivity.adjacency, "'add_remove'", "A stream's events are present or absent."
            )
        if self.display not in ("live", "sticky"):
            raise InvalidArgumentError("display", self.display, "'live' or 'sticky'")
        if len(self.thresholds) != largest_popcount(self.rounds):
            raise InvalidArgumentError(
                "thresholds", self.thresholds, f"{largest_popcount(self.rounds)} numbers, one for each popcount"
            )
        for threshold in self.thresholds:
            if whole("thresholds", threshold) < self.lowest_threshold:
                raise InvalidArgumentError("thresholds", threshold, f"{self.lowest_threshold} or above")

    @classmethod
    def for_budget(
        cls, budget: Budget, rounds: int, sensitivity: Sensitivity, display: Display = "live"
    ) -> Calibrated[RunningHistogram]:
        """Return the one with the lowest thresholds inside a budget: all the same number of deviations up."""
        whole("rounds", rounds)

        def build(variance: Fraction, highest: int) -> RunningHistogram:
            thresholds = spread_by_popcount(highest, sensitivity.count, rounds)
            return cls(DiscreteGaussian(variance), thresholds, rounds, sensitivity, display)

        gaussian = Family("discrete Gaussian", build, lambda variance: DiscreteGaussian(variance).stddev)
        return calibrate(budget, [gaussian])

    @property
    def lowest_threshold(self) -> int:
        """The largest count of a label that one event alone can make appear."""
        return self.sensitivity.count

    def price(self) -> Guarantee:
        """Return what the nodes that contain one event cost."""
        items = self.sensitivity.require_items("A running histogram")
        return noise_price(self.law, items * nodes_of_one_round(self.rounds), self.sensitivity.count)

    def escape(self) -> Fraction:
        """Bound from above the chance that a label only one event holds is shown in any round."""
        one = sum(
            (
                rounds_with_popcount(ones, self.rounds)
                * self.law.sum_tail(ones, threshold - self.lowest_threshold + 1)
                for ones, threshold in enumerate(self.thresholds, start=1)
            ),
            start=Fraction(0),
        )
        return any_of_up(min(one, Fraction(1)), self.sensitivity.require_items("A running histogram"))

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

    def step(self, state: RunningState, counts: BoundedCounts) -> tuple[RunningState, Answer]:
        """Take in one round; return the state after it and what is shown."""
        if state.round >= self.rounds:
            raise InvalidArgumentError("round", state.round + 1, f"at most {self.rounds}, the stream's length")
        counts.require(self.sensitivity, minimum_count=1)
        if counts.fetched is not None:
            raise InvalidCountsError("A round needs all of its counts, not only the largest.")
        state = state.after(counts, self.law, largest=LARGEST_COUNT // self.rounds)
        noisy = add_noise(state.totals, state.noise())
        shown = noisy > self.thresholds[state.round.bit_count() - 1]
        if self.display == "sticky":
            shown |= state.shown
            state = state.with_shown(shown)
        rows = np.flatnonzero(shown)
        answer = Answer.by_count(label_rules.take(state.labels, rows), noisy[rows], self.guarantee())
        return state, answer

    def release(self, rounds: Iterable[BoundedCounts], key: NoiseKey | None = None) -> list[Answer]:
        """Run a whole stream and return what was shown after each round."""
        state, answers = self.start(key or NoiseKey.fresh()), []
        for counts in rounds:
            state, answer = self.step(state, counts)
            answers.append(answer)
        return answers


def nodes_of_one_round(rounds: int) -> int:
    """Return m, the most nodes that contain one round: floor(log2 L) + 1, attained by the first."""
    return rounds.bit_length()


def largest_popcount(rounds: int) -> int:
    """Return the most ones that a number up to L has in binary, floor(log2(L + 1))."""
    return (rounds + 1).bit_length() - 1


def rounds_with_popcount(ones: int, rounds: int) -> int:
    """Return how many of the rounds 1 … L have so many ones in binary."""
    found, seen = 0, 0
    limit = rounds + 1
    for bit in reversed(range(limit.bit_length())):
        if limit >> bit & 1:
            # Numbers that agree with the limit above this bit and have a 0 here: the lower bits are free.
            found += _choose(bit, ones - seen)
            seen += 1
    return found - (1 if ones == 0 else 0)


def spread_by_popcount(highest: int, lowest: int, rounds: int) -> tuple[int, ...]:
    """Return thresholds that stand equally many deviations up for every popcount, the last being `highest`."""
    most = largest_popcount(rounds)
    above = highest - lowest
    return tuple(
        lowest + min(above, math.ceil(above * sqrt_up(Fraction(ones, most)))) for ones in range(1, most + 1)
    )


def _choose(n: int, k: int) -> int:
    return math.comb(n, k) if 0 <= k <= n else 0
