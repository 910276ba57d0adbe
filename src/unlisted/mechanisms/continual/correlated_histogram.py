"""A running histogram over a stream with correlated noise. The proof is in correlated_histogram.md."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Unpack

import numpy as np

from unlisted.counts.bounded_counts import LARGEST_COUNT, BoundedCounts, add_noise
from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.mechanisms.continual.binary_histogram import Course, Display
from unlisted.mechanisms.continual.correlated_bounds import class_ends, class_of, has_room, require_room
from unlisted.mechanisms.continual.correlated_price import CorrelatedPrice, Unit
from unlisted.mechanisms.continual.correlated_state import CorrelatedState
from unlisted.mechanisms.continual.recursion import Recursion
from unlisted.mechanisms.continual.wide_gaussian import LARGEST_VARIANCE, WideGaussian, reach_of
from unlisted.mechanisms.mechanism import Answer
from unlisted.noise.keyed import NoiseKey
from unlisted.noise.on_counts import with_escape
from unlisted.privacy.calibrate import Calibrated, Family, calibrate
from unlisted.privacy.guarantee import Budget, Guarantee
from unlisted.privacy.numbers import whole
from unlisted.privacy.sensitivity import Sensitivity

_COARSEST = 2


@dataclass(frozen=True)
class CorrelatedHistogram:
    """After every step, release the labels whose noisy running count is above the step's threshold.

    The noise of a running count is that of `recursion`, driven by draws of `law` on its grid; it grows slowly and
    smoothly with the number of steps. `thresholds` has one number for each class of steps that agree in length
    and first five binary digits (`class_of`). With `display="sticky"` a label once shown stays, with its noisy
    count even below the threshold; with `"live"` it comes and goes. Both cost the same. With `every=k` there is a
    release after each k-th round only. `sensitivity` bounds what one unit adds in one round; a unit takes part in
    at most `rounds_per_unit` rounds, or changes each of `sensitivity.items` labels in one round of its own.
    Guarantees: (ρ, δ) of `guarantee()` for the whole life of the stream. Edge cases: an empty round is a round;
    after the last round the stream is over; the same key, rounds and contents give the same answers byte for
    byte.
    """

    law: WideGaussian
    recursion: Recursion
    thresholds: tuple[int, ...]
    rounds: int
    sensitivity: Sensitivity
    display: Display = "live"
    every: int = 1
    rounds_per_unit: int = 1

    def __post_init__(self) -> None:
        _require_course(self.rounds, self.every, self.rounds_per_unit)
        self.sensitivity.require_items("A running histogram")
        if self.sensitivity.adjacency != "add_remove":
            raise InvalidArgumentError(
                "adjacency", self.sensitivity.adjacency, "'add_remove'", "A stream's events are present or absent."
            )
        if self.display not in ("live", "sticky"):
            raise InvalidArgumentError("display", self.display, "'live' or 'sticky'")
        classes = len(class_ends(self.steps))
        if len(self.thresholds) != classes:
            raise InvalidArgumentError(
                "thresholds", self.thresholds, f"{classes} numbers, one for each class of steps"
            )
        for threshold in self.thresholds:
            whole("thresholds", threshold)
        require_room(self.recursion, self.steps, self.law.reach)

    @classmethod
    def for_budget(
        cls, budget: Budget, rounds: int, sensitivity: Sensitivity, **course: Unpack[Course]
    ) -> Calibrated[CorrelatedHistogram]:
        """Return the one with the lowest thresholds inside a budget: all the same number of deviations up.

        The grid is the shipped one, or as fine as the noise leaves room for.
        """
        every, of_unit = course.get("every", 1), course.get("rounds_per_unit", 1)
        _require_course(rounds, every, of_unit)
        unit = Unit(rounds // every, every, of_unit, sensitivity)
        recursion = Recursion.for_steps(unit.steps)
        while recursion.grid >= _COARSEST:
            found = _calibrated(budget, recursion, unit)
            price = found.mechanism
            too_wide = int(price.variance / LARGEST_VARIANCE).bit_length()
            if not too_wide and has_room(recursion, unit.steps, reach_of(price.variance)):
                law = WideGaussian(price.variance)
                mechanism = cls(law, recursion, price.thresholds, rounds, sensitivity, **course)
                return Calibrated(mechanism, found.reason)
            # In units of counts the noise hardly depends on the grid: go to the first that may leave room.
            recursion = recursion.coarser(max(0, recursion.grid - max(1, (too_wide + 1) // 2)))
        hint = "Give it more, or let one unit change less."
        raise InvalidArgumentError("budget", "this one", "large enough for noise that fits into 64 bits", hint)

    @property
    def steps(self) -> int:
        """How many releases there are."""
        return self.rounds // self.every

    @cached_property
    def _priced(self) -> CorrelatedPrice:
        unit = Unit(self.steps, self.every, self.rounds_per_unit, self.sensitivity)
        return CorrelatedPrice(self.law.variance, self.recursion, self.thresholds, unit)

    @property
    def lowest_threshold(self) -> int:
        """The largest count of a label that one unit alone can make appear."""
        return self._priced.lowest_threshold

    def price(self) -> Guarantee:
        """Return what the draws cost whose centres a unit moves."""
        return self._priced.price()

    def escape(self) -> Fraction:
        """Bound from above the chance that a label only one unit holds is shown in any release."""
        return self._priced.escape()

    def guarantee(self) -> Guarantee:
        """Return the cost of the whole stream, paid before its first round."""
        return self._whole_stream

    @cached_property
    def _whole_stream(self) -> Guarantee:
        # Every round's answer names it, so it is computed once.
        return with_escape(self.price(), self.escape())

    def start(self, key: NoiseKey) -> CorrelatedState:
        """Return the state before the first round."""
        return CorrelatedState.empty(key, self.recursion)

    def step(self, state: CorrelatedState, counts: BoundedCounts) -> tuple[CorrelatedState, Answer | None]:
        """Take in one round; return the state after it and what is shown, None if no release is due."""
        if state.round >= self.rounds:
            raise InvalidArgumentError("round", state.round + 1, f"at most {self.rounds}, the stream's length")
        counts.require(self.sensitivity, minimum_count=1)
        if counts.fetched is not None:
            raise InvalidCountsError("A round needs all of its counts, not only the largest.")
        state = state.after(counts, largest=LARGEST_COUNT // self.rounds)
        if state.round % self.every:
            return state, None
        state = state.closed(self.law, self.recursion)
        noisy = add_noise(state.totals, self.recursion.on_counts(state.numbers))
        shown = noisy > self.threshold_after(state.round)
        if self.display == "sticky":
            shown |= state.shown
            state = state.with_shown(shown)
        rows = np.flatnonzero(shown)
        return state, Answer.by_count(state.labels.take(rows), noisy[rows], self.guarantee())

    def threshold_after(self, rounds: int) -> int:
        """Return the threshold of the release after so many rounds."""
        return self.thresholds[class_of(rounds // self.every)]

    def release(self, rounds: Iterable[BoundedCounts], key: NoiseKey | None = None) -> list[Answer]:
        """Run a whole stream and return what was shown in each release."""
        state, answers = self.start(key or NoiseKey.fresh()), []
        for counts in rounds:
            state, answer = self.step(state, counts)
            if answer is not None:
                answers.append(answer)
        return answers


def _calibrated(budget: Budget, recursion: Recursion, unit: Unit) -> Calibrated[CorrelatedPrice]:
    """Search in units of counts, which do not depend on the grid."""
    fine = 1 << 2 * recursion.grid

    def build(variance: Fraction, highest: int) -> CorrelatedPrice:
        return CorrelatedPrice.spread(variance * fine, recursion, highest, unit)

    name = "correlated discrete Gaussian"
    return calibrate(budget, [Family(name, build, lambda variance: float(variance) ** 0.5)])


def _require_course(rounds: int, every: int, rounds_per_unit: int) -> None:
    whole("rounds", rounds)
    for name, value in (("every", every), ("rounds_per_unit", rounds_per_unit)):
        if whole(name, value) > rounds:
            raise InvalidArgumentError(name, value, f"at most {rounds}, the number of rounds")
