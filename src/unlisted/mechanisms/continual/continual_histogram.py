"""What every histogram over a stream does: take in rounds, add the noise of the step, show what passes.

The mechanisms differ in their noise: `binary/histogram.py` is the survey's binary tree, `correlated/histogram.py`
adds noise of which much cancels. Each has its own proof.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts.bounded_counts import LARGEST_COUNT, BoundedCounts, add_noise
from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.mechanisms.continual.stream_state import StreamNoise, StreamState
from unlisted.mechanisms.mechanism import Answer
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.keyed import NoiseKey
from unlisted.noise.on_counts import with_failure
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.numbers import whole
from unlisted.privacy.sensitivity import Sensitivity

Display = Literal["live", "sticky"]


@dataclass(frozen=True)
class StepNoise:
    """The noise on running counts after a step, to describe it: about which law, and in words."""

    law: DiscreteGaussian
    text: str


class ContinualHistogram(ABC):
    """After every step, release the labels whose noisy running count is above the step's threshold.

    With `display="sticky"` a label once shown stays, with its noisy count even below the threshold; with `"live"`
    it comes and goes. Both cost the same. With `every=k` there is a release after each k-th round only: these k
    rounds are a step. `sensitivity` bounds what one unit adds in one round; a unit takes part in at most
    `rounds_per_unit` rounds, or changes each of `sensitivity.items` labels in one round of its own. Where such
    streams follow each other as windows, each begun anew with a key of its own, it does so in at most
    `windows_per_unit` of them. Guarantees: (ρ, δ) of `guarantee()` for the whole life of the stream, or of all
    windows together. Edge cases: an empty round is a round; after the last
    round the stream is over; the same key, rounds and contents give the same answers byte for byte.
    """

    thresholds: tuple[int, ...]
    rounds: int
    sensitivity: Sensitivity
    display: Display
    every: int
    rounds_per_unit: int
    windows_per_unit: int

    @property
    def steps(self) -> int:
        """How many releases there are."""
        return self.rounds // self.every

    @property
    def lowest_threshold(self) -> int:
        """The largest count of a label that one unit alone can make appear."""
        return self.rounds_per_unit * self.sensitivity.count

    @abstractmethod
    def price(self) -> Guarantee:
        """Return what the draws cost that a unit moves."""

    def mu_squared(self, draws: int | None = None) -> Fraction | None:  # noqa: ARG002 - no ranking draws here
        """Return the μ² that the whole stream costs, at the δ of `guarantee()`; None where none is proved."""
        return None

    def full_guarantee(self) -> Guarantee:
        """Return `guarantee()` with its μ² beside it."""
        return replace(self.guarantee(), mu_squared=self.mu_squared())

    @abstractmethod
    def failure(self) -> Fraction:
        """Bound from above the chance that a label only one unit holds is shown in any release."""

    @abstractmethod
    def threshold_after(self, rounds: int) -> int:
        """Return the threshold of the release after so many rounds."""

    @abstractmethod
    def noise_after(self, rounds: int) -> StepNoise:
        """Return the noise of the release after so many rounds."""

    @abstractmethod
    def covariance(self, rounds: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return about how the noise of the releases after some rounds varies together, to smooth them."""

    @abstractmethod
    def noise_between(self, before: int, now: int) -> DiscreteGaussian:
        """Return about the noise on the difference of two releases: on what the rounds between them brought."""

    @abstractmethod
    def no_noise(self) -> StreamNoise:
        """Return the noise before the first step."""

    def guarantee(self) -> Guarantee:
        """Return the cost of the whole stream, paid before its first round."""
        return self._whole_stream

    @cached_property
    def _whole_stream(self) -> Guarantee:
        # Every round's answer names it, so it is computed once.
        return with_failure(self.price(), self.failure())

    def known_threshold_after(self, rounds: int) -> int:
        """Return the threshold of labels that were known before the stream began: what noise alone rarely passes.

        Nothing depends on it but what is worth showing: known labels need no threshold at all.
        """
        return min(self.noise_after(rounds).law.half_width(), self.threshold_after(rounds))

    def start(self, key: NoiseKey, known: pa.Array | None = None) -> StreamState:
        """Return the state before the first round; `known` labels are public, and all different."""
        return StreamState.empty(key, self.no_noise(), known)

    def step(self, state: StreamState, counts: BoundedCounts) -> tuple[StreamState, Answer | None]:
        """Take in one round; return the state after it and what is shown, None if no release is due."""
        if state.round >= self.rounds:
            raise InvalidArgumentError("round", state.round + 1, f"at most {self.rounds}, the stream's length")
        counts.require(self.sensitivity, minimum_count=1)
        if counts.fetched is not None:
            raise InvalidCountsError("A round needs all of its counts, not only the largest.")
        state = state.after(counts, largest=LARGEST_COUNT // self.rounds)
        if state.round % self.every:
            return state, None
        state = state.closed()
        noisy = add_noise(state.totals, state.noise.on_counts())
        shown = noisy > self.threshold_after(state.round)
        if state.known:
            shown[: state.known] = noisy[: state.known] > self.known_threshold_after(state.round)
        if self.display == "sticky":
            shown |= state.shown
            state = state.with_shown(shown)
        rows = np.flatnonzero(shown)
        return state, Answer.by_count(state.labels.take(rows), noisy[rows], self.guarantee())

    def release(self, rounds: Iterable[BoundedCounts], key: NoiseKey | None = None) -> list[Answer]:
        """Run a whole stream and return what was shown in each release."""
        state, answers = self.start(key or NoiseKey.fresh()), []
        for counts in rounds:
            state, answer = self.step(state, counts)
            if answer is not None:
                answers.append(answer)
        return answers

    def _require_course(self) -> None:
        """Refuse a course that is none."""
        require_rounds(self.rounds, self.every, self.rounds_per_unit)
        self.sensitivity.require_items("A running histogram")
        if self.sensitivity.adjacency != "add_remove":
            raise InvalidArgumentError(
                "adjacency", self.sensitivity.adjacency, "'add_remove'", "A stream's events are present or absent."
            )
        if self.display not in ("live", "sticky"):
            raise InvalidArgumentError("display", self.display, "'live' or 'sticky'")


def require_rounds(rounds: int, every: int, rounds_per_unit: int) -> None:
    """Refuse numbers of rounds that do not go together."""
    whole("rounds", rounds)
    for name, value in (("every", every), ("rounds_per_unit", rounds_per_unit)):
        if whole(name, value) > rounds:
            raise InvalidArgumentError(name, value, f"at most {rounds}, the number of rounds")
