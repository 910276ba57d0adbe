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


@dataclass
class _Runner:
    """One score in the race: its value in units of `rate`, and the bits of u drawn so far."""

    position: int
    value: Fraction
    estimate: float
    error: float
    drawn: int
    width: int = _STEP

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
    values: NDArray[np.int64], bottom: Fraction, rate: Fraction, first: int, bits: Bits
) -> tuple[NDArray[np.int64], bool]:
    """Rank counts and ⊥ by rate·value plus Gumbel noise; return who comes before ⊥ and whether ⊥ was reached.

    Law: positions are drawn one after the other without replacement with probability proportional to
    e^(rate·value), among the counts and a ⊥ of value `bottom`, until `first` positions are out or ⊥ is drawn.
    """
    runners = _fastest(values, bottom, rate, first, bits)
    race = _Race(rate, bits)
    runners.sort(key=cmp_to_key(race.compare))
    order = [runner.position for runner in runners[:first]]
    if len(values) in order:
        return np.array(order[: order.index(len(values))], dtype=np.int64), True
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


def _fastest(values: NDArray[np.int64], bottom: Fraction, rate: Fraction, first: int, bits: Bits) -> list[_Runner]:
    """Keep every runner that could be among the first so many, with certainty; ⊥ has the last position."""
    everyone = len(values) + 1
    top = int(values.max()) if len(values) else 0
    behind = np.empty(everyone)
    behind[:-1] = (values - top).astype(np.float64)
    behind[-1] = float(bottom - top)
    drawn = bits.words(everyone)
    log_exponential, error = _log_exponential(drawn)
    estimate = log_exponential - float(rate) * behind
    error += _TRUSTED * (np.abs(log_exponential) + np.abs(float(rate) * behind))
    latest = np.partition(estimate + error, min(first, everyone) - 1)[min(first, everyone) - 1]
    kept = np.flatnonzero(estimate - error <= latest)
    return [
        _Runner(
            position=int(i),
            value=Fraction(int(values[i])) if i < len(values) else bottom,
            estimate=float(estimate[i]),
            error=float(error[i]),
            drawn=int(drawn[i]),
        )
        for i in kept
    ]


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
