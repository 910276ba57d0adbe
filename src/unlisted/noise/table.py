"""Inverse-CDF sampling from a table, vectorised, and exact, for a law that is known by its tails.

`Tails` are upper tails of a symmetric law in fixed point, as proved bounds from both sides. All the rest
(cumulative probabilities, conditional laws, tables) is arithmetic on these integers.

A uniform number u picks the value z with P[Z <= z-1] <= u < P[Z <= z]. Its first 16 bits decide almost every draw
by one look-up; where a boundary falls inside those 16 bits, 48 more decide by binary search; where the 64 bits
coincide with a boundary (once in about 2^50 draws) more bits are drawn and the boundary is computed sharper, until
they part. So the law drawn is the law stated, and nothing is added to δ.

Proof. Let F(z) = P[Z <= z] and let low(z), high(z) be the first 64 bits of a lower and an upper bound of it. A
prefix U of 64 bits says u ∈ [U, U+1)/2^64. If U > high(z) then u >= F(z); if U < low(z) then u < F(z); these are
the only two answers the table ever gives. The guide keeps a 16-bit prefix only if all 64-bit prefixes that
extend it get the same such answer; the rest go on to the next stage with the bits already drawn.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unlisted.noise.bits import Bits, Draws


@dataclass(frozen=True, eq=False)
class Tails:
    """Bounds of P[Z >= t] for t >= 0, scaled by 2^precision. Beyond the last t: from 0 to the last high."""

    precision: int
    low: Sequence[int]
    high: Sequence[int]

    def at_least(self, t: int) -> tuple[int, int]:
        """Bound 2^precision · P[Z >= t] for any whole t; for t <= 0 by symmetry, P[Z >= t] = 1 - P[Z >= 1 - t]."""
        if t <= 0:
            low, high = self.at_least(1 - t)
            one = 1 << self.precision
            return one - high, one - low
        if t < len(self.low):
            return self.low[t], self.high[t]
        return 0, self.high[-1]

    def at_most(self, z: int) -> tuple[int, int]:
        """Bound 2^precision · P[Z <= z], which is P[Z >= -z]."""
        return self.at_least(-z)

    def mass_high(self, z: int) -> int:
        """Bound 2^precision · P[Z = z] from above."""
        z = abs(z)
        return max(0, self.at_least(z)[1] - self.at_least(z + 1)[0])


_UNDECIDED = np.iinfo(np.int32).min
_WORD = 64
_FIRST_PRECISION = 128


class _Boundaries(NamedTuple):
    """F(z) for z = first, first + 1, …, as the first 64 bits of its lower and its upper bound."""

    first: int
    low: NDArray[np.uint64]
    high: NDArray[np.uint64]


class Table:
    """A sampler of Z, or of Z given Z >= `given_at_least`, for a law known by its tails."""

    def __init__(self, tails: Callable[[int], Tails], given_at_least: int | None = None) -> None:
        self._tails = tails
        self._given = given_at_least
        self._boundaries = self._prefixes()
        self._guide = self._first_look()

    def sample(self, draws: Draws) -> NDArray[np.int64]:
        """Give every draw its value, exactly."""
        leading = draws.leading()
        values = self._guide[leading]
        undecided = np.flatnonzero(values == _UNDECIDED)
        if undecided.size:
            first_bits = leading[undecided].astype(np.uint64) << np.uint64(48)
            prefixes = first_bits | (draws.following(undecided) >> np.uint64(16))
            values[undecided] = self._search(prefixes, lambda i: draws.more(int(undecided[i])))
        return values

    def _search(self, prefixes: NDArray[np.uint64], more: Callable[[int], Bits]) -> NDArray[np.int64]:
        first, low, high = self._boundaries
        passed = np.searchsorted(low, prefixes, side="right")
        values = first + passed.astype(np.int64)
        # The lowest boundary has prefix 0, so every prefix has passed at least one.
        for i in np.flatnonzero(prefixes <= high[passed - 1]):
            values[i] = self._decide(int(prefixes[i]), more(int(i)))
        return values

    def _decide(self, prefix: int, bits: Bits) -> int:
        """Invert the CDF for a uniform number of which 64 bits are known, drawing more until they suffice."""
        width = _WORD
        while True:
            prefix, width = (prefix << _WORD) | bits.integer(_WORD), width + _WORD
            cdf = self._cdf(width + _WORD)
            at_least, at_most = prefix << _WORD, (prefix + 1) << _WORD
            reach = len(self._tails(width + _WORD).low) + 1
            lowest = -reach if self._given is None else self._given - 1
            candidates = range(lowest, reach + 1)
            # The first z whose upper bound lies above u is the only value that can be proved right.
            z = lowest + bisect_right(candidates, at_least, key=lambda value: cdf(value)[1])
            if cdf(z)[0] >= at_most and cdf(z - 1)[1] <= at_least:
                return z

    def _cdf(self, precision: int) -> Callable[[int], tuple[int, int]]:
        """Return a function z -> bounds of 2^precision · P[Z <= z], given the condition."""
        if self._given is None:
            return self._tails(precision).at_most
        # P[Z <= z | Z >= t] = 1 - P[Z > z] / P[Z >= t]; an unlikely condition costs precision, which is added
        # first.
        tails, given = self._tails_sharp_at(self._given, precision), self._given
        condition_low, condition_high = tails.at_least(given)
        one = 1 << precision

        def conditional(z: int) -> tuple[int, int]:
            if z < given:
                return 0, 0
            beyond_low, beyond_high = tails.at_least(z + 1)
            low = one + (-beyond_high << precision) // condition_low
            return max(0, low), one - (beyond_low << precision) // condition_high

        return conditional

    def _tails_sharp_at(self, t: int, precision: int) -> Tails:
        extra = precision
        while True:
            tails = self._tails(precision + extra)
            if tails.at_least(t)[0].bit_length() > precision:
                return tails
            extra *= 2

    def _prefixes(self) -> _Boundaries:
        """Collect the boundaries whose first 64 bits are not all equal, and one more on either side."""
        cdf, shift = self._cdf(_FIRST_PRECISION), _FIRST_PRECISION - _WORD
        start = 0 if self._given is None else max(0, self._given)
        up: list[tuple[int, int]] = []
        down: list[tuple[int, int]] = []
        z = start
        while not up or up[-1][0] < (1 << _WORD) - 1:
            low, high = cdf(z)
            up.append((low >> shift, min(high >> shift, (1 << _WORD) - 1)))
            z += 1
        z = start - 1
        while not down or down[-1][0] > 0:
            low, high = cdf(z)
            down.append((low >> shift, high >> shift))
            z -= 1
        both = down[::-1] + up
        bounds = np.array(both, dtype=np.uint64)
        # Bounds of neighbours may cross by a unit; taking running maxima keeps them bounds and makes them sorted.
        ordered = np.maximum.accumulate(bounds, axis=0)
        return _Boundaries(start - len(down), ordered[:, 0].copy(), ordered[:, 1].copy())

    def _first_look(self) -> NDArray[np.int64]:
        first, low, high = self._boundaries
        start = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
        end = start | np.uint64((1 << 48) - 1)
        passed = np.searchsorted(low, start, side="right")
        same = (passed == np.searchsorted(low, end, side="right")) & (passed > 0)
        decided = same & (start > high[np.maximum(passed, 1) - 1])
        return np.where(decided, first + passed, _UNDECIDED).astype(np.int64)
