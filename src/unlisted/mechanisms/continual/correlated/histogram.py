"""A running histogram over a stream with correlated noise. The proof is in histogram.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.continual.continual_histogram import (
    ContinualHistogram,
    Display,
    StepNoise,
    require_rounds,
)
from unlisted.mechanisms.continual.correlated.noise import CorrelatedNoise
from unlisted.mechanisms.continual.correlated.price import (
    CorrelatedPrice,
    Unit,
    class_ends,
    class_of,
    has_room,
    require_room,
    response,
)
from unlisted.mechanisms.continual.correlated.recursion import Recursion
from unlisted.mechanisms.continual.correlated.wide_gaussian import LARGEST_VARIANCE, WideGaussian, reach_of
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.calibrate import Calibrated, Family, calibrate
from unlisted.privacy.guarantee import Budget, Guarantee
from unlisted.privacy.numbers import whole
from unlisted.privacy.sensitivity import Sensitivity

_COARSEST = 2
_AT_ONCE = 4096


@dataclass(frozen=True)
class CorrelatedHistogram(ContinualHistogram):
    """A histogram over a stream with correlated noise.

    The noise of a running count is that of `recursion`, driven by draws of `law` on its grid; it grows slowly and
    smoothly with the number of steps. `thresholds` has one number for each class of steps that agree in length
    and first five binary digits (`class_of`). All else is as for every `ContinualHistogram`.
    """

    law: WideGaussian
    recursion: Recursion
    thresholds: tuple[int, ...]
    rounds: int
    sensitivity: Sensitivity
    display: Display = "live"
    every: int = 1
    rounds_per_unit: int = 1
    windows_per_unit: int = 1

    def __post_init__(self) -> None:
        self._require_course()
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
        cls,
        budget: Budget,
        rounds: int,
        sensitivity: Sensitivity,
        *,
        display: Display = "live",
        every: int = 1,
        rounds_per_unit: int = 1,
        windows_per_unit: int = 1,
    ) -> Calibrated[CorrelatedHistogram]:
        """Return the one with the lowest thresholds inside a budget: all the same number of deviations up.

        The grid is the shipped one, or as fine as the noise leaves room for.
        """
        require_rounds(rounds, every, rounds_per_unit)
        unit = Unit(rounds // every, every, rounds_per_unit, sensitivity, windows_per_unit)
        recursion = Recursion.for_steps(unit.steps)
        while recursion.grid >= _COARSEST:
            found = _calibrated(budget, recursion, unit)
            price = found.mechanism
            too_wide = int(price.variance / LARGEST_VARIANCE).bit_length()
            if not too_wide and has_room(recursion, unit.steps, reach_of(price.variance)):
                law, course = WideGaussian(price.variance), (display, every, rounds_per_unit, windows_per_unit)
                mechanism = cls(law, recursion, price.thresholds, rounds, sensitivity, *course)
                return Calibrated(mechanism, found.reason)
            # In units of counts the noise hardly depends on the grid: go to the first that may leave room.
            recursion = recursion.coarser(max(0, recursion.grid - max(1, (too_wide + 1) // 2)))
        hint = "Give it more, or let one unit change less."
        raise InvalidArgumentError("budget", "this one", "large enough for noise that fits into 64 bits", hint)

    @cached_property
    def _priced(self) -> CorrelatedPrice:
        unit = Unit(self.steps, self.every, self.rounds_per_unit, self.sensitivity, self.windows_per_unit)
        return CorrelatedPrice(self.law.variance, self.recursion, self.thresholds, unit)

    def price(self) -> Guarantee:
        """Return what the draws cost whose centres a unit moves."""
        return self._priced.price()

    def failure(self) -> Fraction:
        """Bound from above the chance that a label only one unit holds is shown in any release."""
        return self._priced.failure()

    def no_noise(self) -> CorrelatedNoise:
        """Return the noise before the first step."""
        return CorrelatedNoise.none(self.law, self.recursion)

    def threshold_after(self, rounds: int) -> int:
        """Return the threshold of the release after so many rounds."""
        return self.thresholds[class_of(rounds // self.every)]

    def noise_after(self, rounds: int) -> StepNoise:
        """Return about the noise of the release after so many rounds.

        A sum of many draws, rounded to whole counts, is a discrete Gaussian but for less than anyone could see.
        """
        width = response(self.recursion, self.steps).widths[class_of(rounds // self.every)]
        law = _about(self.law.variance * width.squares / (1 << 2 * self.recursion.grid))
        return StepNoise(law, f"correlated {law}")

    def covariance(self, rounds: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how the noise of releases varies together: by the draws that they share, and how much of each."""
        steps, variance = rounds // self.every, float(self.law.variance / (1 << 2 * self.recursion.grid))
        beta, last = _responses(self.recursion, self.steps), int(steps.max(initial=0))
        together = np.eye(len(steps)) / 12
        for first in range(0, last, _AT_ONCE):
            ages = steps[:, None] - 1 - np.arange(first, min(first + _AT_ONCE, last))
            part = np.where(ages >= 0, beta[np.maximum(ages, 0)], 0.0)
            together += variance * (part @ part.T)
        return together

    def noise_between(self, before: int, now: int) -> DiscreteGaussian:
        """Return about the noise on what the rounds between two releases brought.

        The noise of step t is Σ β_j·z_(t-j): of two steps w apart, the last w draws stand alone, and of the others
        what β has fallen by meanwhile remains.
        """
        beta = _responses(self.recursion, self.steps)[: now // self.every]
        apart = (now - before) // self.every
        squares = np.sum(beta[:apart] ** 2) + np.sum((beta[apart:] - beta[: len(beta) - apart]) ** 2)
        return _about(Fraction(float(squares)) * self.law.variance / (1 << 2 * self.recursion.grid))


@lru_cache(maxsize=16)
def _responses(recursion: Recursion, steps: int) -> NDArray[np.float64]:
    """Return about β_0 … β_(L-1), in floating point, to describe noise."""
    one = 1 << recursion.precision
    pairs = [(a / one, b / one) for a, b in zip(recursion.decays, recursion.weights, strict=True)]
    beta, states, found = 1.0, [1.0] * len(pairs), []
    for _ in range(steps):
        found.append(beta)
        n = -sum(b * state for (_, b), state in zip(pairs, states, strict=True))
        states = [a * state + n for (a, _), state in zip(pairs, states, strict=True)]
        beta += n
    return np.array(found)


@lru_cache(maxsize=256)
def _about(variance: Fraction) -> DiscreteGaussian:
    # Rounding to whole counts adds a twelfth; to describe noise, six digits of a deviation are plenty.
    deviation = round(math.sqrt(float(variance) + 1 / 12), 6)
    return DiscreteGaussian(Fraction(str(deviation)) ** 2)


def _calibrated(budget: Budget, recursion: Recursion, unit: Unit) -> Calibrated[CorrelatedPrice]:
    """Search in units of counts, which do not depend on the grid."""
    fine = 1 << 2 * recursion.grid

    def build(variance: Fraction, highest: int) -> CorrelatedPrice:
        return CorrelatedPrice.spread(variance * fine, recursion, highest, unit)

    name = "correlated discrete Gaussian"
    return calibrate(budget, [Family(name, build, lambda variance: float(variance) ** 0.5)])
