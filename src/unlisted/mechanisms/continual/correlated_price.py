"""What a stream with correlated noise costs: ρ of what a unit moves, δ of labels that it alone brings.

The formulas are proved in `correlated_histogram.md`. A price needs no table and no range, so that calibration may
ask for the price of any amount of noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from unlisted.mechanisms.continual.correlated_bounds import (
    class_ends,
    farthest,
    most_squares,
    response,
)
from unlisted.mechanisms.continual.recursion import Recursion
from unlisted.mechanisms.continual.wide_gaussian import inexact_up
from unlisted.noise.normal import normal_tail_up, theta_excess_up
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.rounding import power_up, round_up, sqrt_up
from unlisted.privacy.sensitivity import Sensitivity

_SMEAR = Fraction(2)
"""r²: the normal noise that is added on paper, to make a density out of a discrete law."""

_BACK = Fraction(961, 100)
_BACK_FACTOR = Fraction(1001, 1000)
"""A normal number is at least -3.1 with a chance above 1/1.001."""

_PER_UNIT = 64


@dataclass(frozen=True)
class Unit:
    """Who is protected over how long: L steps of k rounds, of which one unit takes part in at most C."""

    steps: int
    every: int
    rounds: int
    sensitivity: Sensitivity

    @property
    def items(self) -> int:
        """How many labels the unit changes in one round."""
        return self.sensitivity.require_items("A running histogram")

    def count_by(self, step: int) -> int:
        """Return the most that the unit alone brings to one label by the end of a step."""
        return min(self.rounds, step * self.every) * self.sensitivity.count


@dataclass(frozen=True)
class CorrelatedPrice:
    """The price of a recursion with draws of parameter `variance` and one threshold for each class of steps."""

    variance: Fraction
    recursion: Recursion
    thresholds: tuple[int, ...]
    unit: Unit

    @classmethod
    def spread(cls, variance: Fraction, recursion: Recursion, highest: int, unit: Unit) -> CorrelatedPrice:
        """Return thresholds that stand equally many deviations up in every class, the last being `highest`."""
        above = highest - unit.rounds * unit.sensitivity.count
        thresholds = (
            unit.count_by(end) + math.ceil(above * share)
            for end, share in zip(class_ends(unit.steps), _shares(recursion, unit.steps), strict=True)
        )
        return cls(variance, recursion, tuple(thresholds), unit)

    @property
    def lowest_threshold(self) -> int:
        """The largest count of a label that one unit alone can make appear."""
        return self.unit.rounds * self.unit.sensitivity.count

    def price(self) -> Guarantee:
        """Return what the draws cost whose centres a unit moves."""
        unit = self.unit
        squares = most_squares(self.recursion, unit.steps, unit.sensitivity.count, unit.rounds, unit.every)
        return Guarantee(unit.items * squares / (2 * self.variance), Fraction(0))

    def escape(self) -> Fraction:
        """Bound from above the chance that a label only one unit holds is shown, or that a draw is inexact."""
        unit = self.unit
        places = unit.rounds * unit.items
        moved = farthest(self.recursion, unit.steps, unit.sensitivity.count, unit.rounds, unit.every)
        inexact = places * unit.steps * inexact_up(self.variance, moved)
        return min(Fraction(1), round_up(places * self._shown_alone() + inexact))

    def _shown_alone(self) -> Fraction:
        """Bound from above the chance that a label is ever shown, for each round in which the unit brings it."""
        found, before, unit = Fraction(0), 0, self.unit
        edges = _edges(self.recursion, unit.steps)
        for end, threshold, edge in zip(class_ends(unit.steps), self.thresholds, edges, strict=True):
            # However many rounds brought the label, for each of them one of the two ends is worse.
            ends = {1, min(unit.rounds, end * unit.every)}
            worst = max(self._passes(threshold - n * unit.sensitivity.count, edge) / n for n in ends)
            found += (end - before) * worst
            before = end
        # Each of at most L smeared draws may exceed a normal law by this factor.
        smooth = theta_excess_up(self.variance * _SMEAR / (self.variance + _SMEAR))
        return min(Fraction(1), _BACK_FACTOR * power_up(smooth, unit.steps) * found)

    def _passes(self, above: int, edge: _Edge) -> Fraction:
        """Bound the chance that normal noise as wide as a class's exceeds `above` counts, less what was lost."""
        twice = ((2 * above + 1) << self.recursion.grid) - edge.twice_lost
        spread = (self.variance + _SMEAR) * edge.squares
        # x² in steps of 1/64, rounded down, so that few tails have to be computed.
        steps = (_PER_UNIT * twice**2 * spread.denominator) // (4 * spread.numerator)
        return _beyond(steps) if twice > 0 and steps >= _PER_UNIT else Fraction(1)


@dataclass(frozen=True)
class _Edge:
    """Σ β² at the end of a class, and twice what rounding and smearing take from its threshold, on the grid."""

    squares: Fraction
    twice_lost: int


@lru_cache(maxsize=16)
def _edges(recursion: Recursion, steps: int) -> tuple[_Edge, ...]:
    drift = recursion.drift
    return tuple(
        _Edge(width.squares, math.ceil(2 * (drift * width.total + sqrt_up(_BACK * _SMEAR * width.squares))))
        for width in response(recursion, steps).widths
    )


@lru_cache(maxsize=1 << 14)
def _beyond(steps: int) -> Fraction:
    """Bound the normal law's tail beyond x, x² in steps of 1/64."""
    return normal_tail_up(Fraction(steps, _PER_UNIT))


@lru_cache(maxsize=16)
def _shares(recursion: Recursion, steps: int) -> tuple[Fraction, ...]:
    """Return the deviation at the end of each class as a part of the last one's. Only a proposal: any will do."""
    widths = response(recursion, steps).widths
    last = widths[-1].squares
    return tuple(
        min(Fraction(1), Fraction(math.isqrt(int((width.squares / last) * (1 << 60))) + 1, 1 << 30))
        for width in widths
    )
