"""What a stream with correlated noise costs: ρ of what a unit moves, δ of labels that it alone brings.

How far does the recursion carry a change, how wide does its noise get, how large its numbers? Prices follow from
that. The formulas are proved in `histogram.md`. Everything here is whole numbers, or fractions rounded
up. A price needs no table and no range, so that calibration may ask for the price of any amount of noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.continual.correlated.recursion import Recursion
from unlisted.mechanisms.continual.correlated.wide_gaussian import inexact_up
from unlisted.noise.gaussian.normal import normal_tail_up, theta_excess_up
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.rounding import power_up, round_up, sqrt_up
from unlisted.privacy.sensitivity import Sensitivity

_DIGITS_OF_CLASS = 5
_FINE = 96
_KEPT = 30
_LARGEST = 2**63 - 1

_SMEAR = Fraction(2)
"""r²: the normal noise that is added on paper, to make a density out of a discrete law."""

_BACK = Fraction(961, 100)
_BACK_FACTOR = Fraction(1001, 1000)
"""A normal number is at least -3.1 with a chance above 1/1.001."""

_PER_UNIT = 64


@lru_cache(maxsize=16)
def lag_bounds(recursion: Recursion, steps: int, count: int) -> tuple[int, ...]:
    """Return B_0 … B_(L-1): how far the centre of a draw moves at most, k steps after a count moved by `count`.

    The floors of two numbers that differ by d differ by d rounded up, at most. So the same recursion with every
    floor replaced by a ceiling, and nothing but the change put in, bounds what becomes of the change.
    """
    p, both = recursion.precision, recursion.precision + recursion.guard
    change = count << recursion.grid
    pairs = list(zip(recursion.decays, recursion.weights, strict=True))
    states = [change << recursion.guard] * len(pairs)
    bounds = [change]
    for _ in range(steps - 1):
        bounds.append(-(-sum(b * state for (_, b), state in zip(pairs, states, strict=True)) >> both))
        states = [-(-a * state >> p) for (a, _), state in zip(pairs, states, strict=True)]
    return tuple(bounds)


@lru_cache(maxsize=16)
def most_squares(recursion: Recursion, steps: int, count: int, rounds_of_unit: int, rounds_in_step: int) -> int:
    """Return the largest sum, over all steps, of the square of how far a unit's C rounds move the centre.

    The first rounds are the worst. They fill `full` steps and leave a rest for the next one.
    """
    bounds = lag_bounds(recursion, steps, count)
    full, rest = divmod(rounds_of_unit, rounds_in_step)
    total, window = 0, 0
    for t, bound in enumerate(bounds):
        window += bound - (bounds[t - full] if t >= full else 0)
        moved = rounds_in_step * window + (rest * bounds[t - full] if t >= full else 0)
        total += moved**2
    return total


def farthest(recursion: Recursion, steps: int, count: int, rounds_of_unit: int, rounds_in_step: int) -> int:
    """Return how far a unit's C rounds move the centre of one draw at most: in the last steps up to it."""
    bounds = lag_bounds(recursion, steps, count)
    full, rest = divmod(rounds_of_unit, rounds_in_step)
    return rounds_in_step * sum(bounds[:full]) + rest * sum(bounds[full : full + 1])


def class_of(step: int) -> int:
    """Return the number of a step's class, from 0: steps that agree in length and first five binary digits."""
    extra = max(0, step.bit_length() - _DIGITS_OF_CLASS)
    return (extra << (_DIGITS_OF_CLASS - 1)) + (step >> extra) - 1


def class_ends(steps: int) -> tuple[int, ...]:
    """Return the last step of every class that a stream of so many steps meets."""
    ends, first = [], 1
    while first <= steps:
        width = 1 << max(0, first.bit_length() - _DIGITS_OF_CLASS)
        ends.append(min(steps, first + width - 1))
        first += width
    return tuple(ends)


@dataclass(frozen=True)
class Width:
    """Bounds of Σ β² and Σ β over the steps up to one of them: the noise there is β times independent draws."""

    squares: Fraction
    total: Fraction


@dataclass(frozen=True)
class Response:
    """What one draw does to later steps: `widths` at the end of each class, and Σ |S_i| / 2^q per unit of draw."""

    widths: tuple[Width, ...]
    states: tuple[Fraction, ...]


@lru_cache(maxsize=16)
def response(recursion: Recursion, steps: int) -> Response:
    """Follow one draw of size 1 through the recursion, in fixed point, so that every β is rounded up."""
    p, one = recursion.precision, 1 << recursion.precision
    pairs = list(zip(recursion.decays, recursion.weights, strict=True))
    unit = 1 << _FINE
    beta, states = unit, [unit] * len(pairs)
    # A state is rounded by less than this in all, see the proof; it is added to each of its values.
    wrong = 2 * steps * (1 + sum(b // (one - a) + 1 for a, b in pairs)) + one
    squares = total = 0
    sizes, widths = [0] * len(pairs), []
    ends = iter((*class_ends(steps), None))
    end = next(ends)
    for t in range(1, steps + 1):
        squares += beta**2
        total += beta
        sizes = [size + abs(state) + wrong for size, state in zip(sizes, states, strict=True)]
        if t == end:
            widths.append(Width(_kept(squares, 2 * _FINE), _kept(total, _FINE)))
            end = next(ends)
        n = -(sum(b * state for (_, b), state in zip(pairs, states, strict=True)) >> p)
        states = [(a * state >> p) + n for (a, _), state in zip(pairs, states, strict=True)]
        beta += n
    return Response(tuple(widths), tuple(_kept(size, _FINE) for size in sizes))


def require_room(recursion: Recursion, steps: int, reach: int) -> None:
    """Refuse a recursion whose numbers might leave 64 bits with draws of up to this size."""
    if not has_room(recursion, steps, reach):
        hint = "Take a coarser grid, fewer steps, or more budget."
        raise InvalidArgumentError("grid", recursion.grid, "coarse enough for 64-bit integers", hint)


def has_room(recursion: Recursion, steps: int, reach: int) -> bool:
    """Return whether all numbers stay inside 64 bits."""
    return most_of(recursion, steps, reach) <= _LARGEST


def most_of(recursion: Recursion, steps: int, reach: int) -> int:
    """Return a bound of the size of every number that the recursion makes on the way."""
    one, q = 1 << recursion.precision, recursion.guard
    # What stands in place of a draw once all rounding is put into it.
    draw = reach + recursion.drift
    found = response(recursion, steps)
    sums = [(draw * width) * (1 << q) + Fraction(one, one - a) for a, width in _states(recursion, found)]
    step = 2 * draw * (1 << q)
    products = sum((b * size for b, size in zip(recursion.weights, sums, strict=True)), start=Fraction(0))
    numbers = [
        draw * found.widths[-1].total + (1 << recursion.grid),
        products + (1 << (recursion.precision + q)),
        *((one - a) * size for a, size in zip(recursion.decays, sums, strict=True)),
        *(2 * size + step for size in sums),
    ]
    return int(max(numbers)) + 1


def _states(recursion: Recursion, found: Response) -> list[tuple[int, Fraction]]:
    return list(zip(recursion.decays, found.states, strict=True))


def _kept(number: int, bits: int) -> Fraction:
    return round_up(Fraction(number, 1 << bits), _KEPT)


@dataclass(frozen=True)
class Unit:
    """Who is protected over how long: L steps of k rounds, of which one unit takes part in at most C.

    Where such streams follow each other, it does so in some windows of them.
    """

    steps: int
    every: int
    rounds: int
    sensitivity: Sensitivity
    windows: int = 1

    @property
    def items(self) -> int:
        """How many labels the unit changes in one round, in all of its windows together."""
        return self.windows * self.sensitivity.require_items("A running histogram")

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

    def mu_squared(self, draws: int | None = None) -> None:
        """Return that no μ² is proved: the draws' centres are functions of what came before."""

    def failure(self) -> Fraction:
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
