"""One round: the labels whose weight plus normal noise is above a threshold. The proof is in one_round.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from unlisted.counts.weight_oracle import WeightOracle
from unlisted.counts.weights import UNIT, Weighing
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.partition_selection.threshold_draws import Drawn, ThresholdDraws
from unlisted.noise.bits import Bits
from unlisted.noise.gaussian.normal import normal_about, normal_tail_bounds
from unlisted.privacy.encoding import Notation
from unlisted.privacy.numbers import positive, whole
from unlisted.privacy.rounding import any_of_up
from unlisted.privacy.search import worst_case_up

HINT_BUCKETS = 64
"""Of labels just above a hint there are many: in finer buckets more of their draws are decided at once."""


@dataclass(frozen=True)
class LabelRound:
    """Release every label whose weight plus normal noise is above a threshold; nothing but the label.

    `variance` is that of the noise where a user's weights have length 1; `threshold` is in units of a weight, and
    at least what a label weighs that only one user has. With a `hint`, a lower weight, labels that are not above
    it are left out of later rounds; who they are is told to nobody.
    """

    notation: ClassVar = Notation("LabelRound", ("weighing", "variance", "threshold"), later={"hint": None})

    weighing: Weighing
    variance: Fraction
    threshold: int
    hint: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", positive("variance", self.variance))
        if whole("threshold", self.threshold) < self.weighing.alone(1):
            raise InvalidArgumentError("threshold", self.threshold, f"{self.weighing.alone(1)} or above")
        if self.hint is not None and whole("hint", self.hint) >= self.threshold:
            raise InvalidArgumentError("hint", self.hint, f"below the threshold, {self.threshold}")

    def draw(self, oracle: WeightOracle, bits: Bits) -> Drawn:
        """Weigh, and draw which labels pass, in no particular order; with a hint, also which stay in play."""
        oracle.weigh(self.weighing)
        if self.hint is None:
            return ThresholdDraws(self.threshold, self._units).draw(oracle, bits)
        return ThresholdDraws(self.hint, self._units, HINT_BUCKETS).draw_above(self.threshold, oracle, bits)

    @cached_property
    def _units(self) -> Fraction:
        """The variance of the noise on weights in units."""
        return self.variance * UNIT**2

    @property
    def mu_squared(self) -> Fraction:
        """How far one user moves the weights, in standard deviations, squared."""
        return self.weighing.reach_squared / self._units

    def mu_squared_beside(self, new: Fraction) -> Fraction:
        """Return the same for labels that others have too, where at least this part of a user's labels is new."""
        if self.weighing.adjacency == "replace":
            return self.mu_squared
        return (self.weighing.reach_squared - new * UNIT**2) / self._units

    @cached_property
    def failure(self) -> Fraction:
        """Bound from above the chance that a label which only one user has is released.

        A user with n such labels gives each at most alone(n): few of more weight, or many of less.
        """
        return worst_case_up(1, self.weighing.items, self._failure)

    def _failure(self, fewest: int, most: int) -> Fraction:
        """Bound from above the chance that any label passes, of a lone user with so many items."""
        gap = self.threshold - self.weighing.alone(fewest)
        return any_of_up(normal_tail_bounds(gap * gap / self._units)[1], most)

    def chance(self, weight: float) -> float:
        """Return about the chance that a label of this weight is released, the item of a lone user weighing 1."""
        return self._chance_above(self.threshold, weight)

    def chance_in_play(self, weight: float) -> float:
        """Return about the chance that a label of this weight is not released and may be in later rounds."""
        not_left_out = 1.0 if self.hint is None else self._chance_above(self.hint, weight)
        return not_left_out - self.chance(weight)

    def _chance_above(self, mark: int, weight: float) -> float:
        return normal_about((mark / UNIT - weight) / math.sqrt(self.variance))
