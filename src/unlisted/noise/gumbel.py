"""The order of scores with Gumbel noise, exactly.

Adding Gumbel noise of scale 1 to scores s_i and sorting is the same as a race: runner i arrives at time
E_i·e^(-s_i) with E_i exponential of mean 1, and the first to arrive comes first. (-log of the arrival time is
s_i plus Gumbel noise.) The race is also the exponential mechanism repeated without replacement.

No float ever decides who is first. E_i = -log u_i with u_i uniform, of which 64 bits are drawn. From these, log
E_i - s_i is computed in floating point *with a bound on its error*; two runners whose error bars do not touch
are ordered, and every other pair is compared with exact rationals, proved bounds of the logarithms, and as many
more bits of u as it takes.

The error bars assume that numpy's log and log1p are right to 40 of their 53 bits. Bits that leave u within 2^-44
of 0 or 1 get an infinite bar, so they are always compared exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key

import numpy as np
from numpy.typing import NDArray

from unlisted.noise.bits import Bits
from unlisted.privacy.rounding import log_down, log_up

_TRUSTED = 2.0**-40
_EDGE = 2.0**20
_STEP = 64
_AT_ONCE = 1 << 18
"""So many runners are drawn at a time."""


@dataclass
class _Runner:
    """One score in the race: its value in units of `rate`, and the bits of u drawn so far."""

    position: int
    value: Fraction
    estimate: float
    error: float
    drawn: int
    width: int = _STEP
    is_bottom: bool = False

    def sharpen(self, width: int, bits: Bits) -> None:
        while self.width < width:
            self.drawn, self.width = (self.drawn << _STEP) | bits.integer(_STEP), self.width + _STEP

    def log_exponential(self, digits: int) -> tuple[Fraction, Fraction] | None:
        """Bound log E = log(-log u); None while u may still be 0 or 1."""
        if self.drawn == 0 or self.drawn + 1 == 1 << self.width:
            return None
        longest = -log_down(Fraction(self.drawn, 1 << self.width), digits)
        shortest = -log_up(Fraction(self.drawn + 1, 1 << self.width), digits)
        if shortest <= 0:
            return None
        return log_down(shortest, digits), log_up(longest, digits)


def first_in_race(
    values: NDArray[np.int64],
    bottom: Fraction | None,
    rate: Fraction,
    first: int,
    bits: Bits,
    times: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], bool]:
    """Rank counts and ⊥ by rate·value plus Gumbel noise; return who comes before ⊥ and whether ⊥ was reached.

    Law: positions are drawn one after the other without replacement with probability proportional to
    e^(rate·value), among the counts and a ⊥ of value `bottom`, until `first` positions are out or ⊥ is drawn.
    Without a `bottom` there is no ⊥, and the race ends when all positions are out. With `times`, value i is that
    of `times[i]` runners in a row, and positions count them all.
    """
    runners = _fastest(_Field(values, times, bottom), rate, first, bits)
    race = _Race(rate, bits)
    runners.sort(key=cmp_to_key(race.compare))
    order = [runner.position for runner in runners[:first]]
    for place, runner in enumerate(runners[:first]):
        if runner.is_bottom:
            return np.array(order[:place], dtype=np.int64), True
    return np.array(order, dtype=np.int64), False


class _Race:
    """Exact comparison of arrival times."""

    def __init__(self, rate: Fraction, bits: Bits) -> None:
        self._rate = rate
        self._bits = bits

    def compare(self, one: _Runner, other: _Runner) -> int:
        if one.position == other.position:
            return 0
        if one.estimate + one.error < other.estimate - other.error:
            return -1
        if other.estimate + other.error < one.estimate - one.error:
            return 1
        return self._exactly(one, other)

    def _exactly(self, one: _Runner, other: _Runner) -> int:
        # log E_one - s_one against log E_other - s_other
        gap = self._rate * (one.value - other.value)
        width = 2 * _STEP
        while True:
            one.sharpen(width, self._bits)
            other.sharpen(width, self._bits)
            a, b = one.log_exponential(width // 2), other.log_exponential(width // 2)
            if a and b and a[1] - b[0] < gap:
                return -1
            if a and b and a[0] - b[1] > gap:
                return 1
            width *= 2


class _Field:
    """Everybody in the race, by position; ⊥, if there is one, has the last."""

    def __init__(
        self, values: NDArray[np.int64], times: NDArray[np.int64] | None, bottom: Fraction | None
    ) -> None:
        self._values = values
        self._ends = None if times is None else np.cumsum(times)
        self._bottom = bottom
        self._counted = len(values) if self._ends is None else int(self._ends[-1]) if len(values) else 0
        self._top = int(values.max()) if len(values) else 0

    def __len__(self) -> int:
        return self._counted + (self._bottom is not None)

    def behind(self, begin: int, end: int) -> NDArray[np.float64]:
        """Return how far some are from the highest value."""
        behind = np.empty(end - begin)
        counted = np.arange(begin, min(end, self._counted))
        behind[: len(counted)] = (self._values_at(counted) - self._top).astype(np.float64)
        if self._bottom is not None and end > self._counted:
            behind[-1] = float(self._bottom - self._top)
        return behind

    def runner(self, position: int, drawn: int, estimate: float, error: float) -> _Runner:
        if self._bottom is not None and position == self._counted:
            return _Runner(position, self._bottom, estimate, error, drawn, is_bottom=True)
        value = Fraction(int(self._values_at(np.array([position]))[0]))
        return _Runner(position, value, estimate, error, drawn)

    def _values_at(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        if self._ends is None:
            return self._values[positions]
        return self._values[np.searchsorted(self._ends, positions, side="right")]


def _fastest(field: _Field, rate: Fraction, first: int, bits: Bits) -> list[_Runner]:
    """Keep every runner that could be among the first so many, with certainty."""
    positions, drawn = np.zeros(0, np.int64), np.zeros(0, np.uint64)
    estimate, error = np.zeros(0), np.zeros(0)
    # A part of them at a time, and of those before only who can still be first: millions need little memory.
    for begin in range(0, len(field), _AT_ONCE):
        end = min(begin + _AT_ONCE, len(field))
        words, ahead = bits.words(end - begin), float(rate) * field.behind(begin, end)
        log_exponential, inexact = _log_exponential(words)
        positions = np.concatenate([positions, np.arange(begin, end)])
        drawn = np.concatenate([drawn, words])
        estimate = np.concatenate([estimate, log_exponential - ahead])
        error = np.concatenate([error, inexact + _TRUSTED * (np.abs(log_exponential) + np.abs(ahead))])
        last = min(first, len(positions)) - 1
        kept = np.flatnonzero(estimate - error <= np.partition(estimate + error, last)[last])
        positions, drawn, estimate, error = positions[kept], drawn[kept], estimate[kept], error[kept]
    columns = (column.tolist() for column in (positions, drawn, estimate, error))
    return [field.runner(*one) for one in zip(*columns, strict=True)]


def _log_exponential(drawn: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return log(-log u) for u in [drawn, drawn + 1)/2^64, and a bound on its error."""
    from_zero = drawn.astype(np.float64) + 0.5
    from_one = (~drawn).astype(np.float64) + 0.5
    nearest = np.minimum(from_zero, from_one)
    # Both ways are computed for every draw, so both are asked for the nearer end only: log1p(-1) would warn.
    part = nearest * 2.0**-64
    exponential = np.where(from_zero < from_one, -np.log(part), -np.log1p(-part))
    error = np.where(nearest < _EDGE, np.inf, 2.0 / nearest + 2 * _TRUSTED)
    return np.log(exponential), error
