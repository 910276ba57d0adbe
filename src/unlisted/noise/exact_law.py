"""What our own laws share: everything follows from tails that can be computed as sharply as anyone asks.

A subclass gives `tails(precision)` and one slow, obvious sampler; drawing by table, drawing given Z >= t, and
exact coin flips with a tail's probability are written once, here. Nothing is approximate, so `tv` is 0.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unlisted.noise import lazy
from unlisted.noise.bits import Bits
from unlisted.noise.draws import Draws, SequentialDraws
from unlisted.noise.law import Law
from unlisted.noise.table import Table
from unlisted.noise.tails import Tails
from unlisted.privacy.numbers import whole

ENOUGH_FOR_A_TABLE = 200
"""Building a conditional table takes about as long as this many slow draws."""

_BLOCK = 1 << 18


class ExactLaw(Law):
    """A symmetric, unimodal integer law with tails known to any precision."""

    is_exact: ClassVar = True

    @abstractmethod
    def tails(self, precision: int) -> Tails:
        """Return bounds of all tails whose width is tiny against 2^-64 at precision 128 and shrinks with it."""

    @abstractmethod
    def sample_slowly(self, bits: Bits) -> int:
        """Draw one value by exact rejection: the obvious twin of the table, and the way out when none fits."""

    @abstractmethod
    def sample_slowly_at_least(self, t: int, bits: Bits) -> int:
        """Draw one value given Z >= t by exact rejection."""

    @property
    @abstractmethod
    def fits_a_table(self) -> bool:
        """Whether the scale is small enough for a table."""

    def sample(self, n: int, bits: Bits) -> NDArray[np.int64]:
        """Draw n independent values of exactly this law."""
        values = np.empty(whole("n", n, at_least=0), dtype=np.int64)
        for start in range(0, n, _BLOCK):
            part = values[start : start + _BLOCK]
            part[:] = self.sample_each(SequentialDraws(len(part), bits))
        return values

    def sample_each(self, draws: Draws) -> NDArray[np.int64]:
        """Give each of these draws its value, from its own bits."""
        if self.fits_a_table:
            return self._table.sample(draws)
        return np.array([self.sample_slowly(draws.more(i)) for i in range(len(draws))], dtype=np.int64)

    def sample_at_least(self, t: int, n: int, bits: Bits) -> NDArray[np.int64]:
        """Draw n independent values of exactly this law given Z >= t."""
        n = whole("n", n, at_least=0)
        if self.fits_a_table and n > ENOUGH_FOR_A_TABLE:
            return Table(self.tails, given_at_least=t).sample(SequentialDraws(n, bits))
        return np.array([self.sample_slowly_at_least(t, bits) for _ in range(n)], dtype=np.int64)

    def tail_bounds(self, t: int) -> lazy.Bounds:
        """Return P[Z >= t] as bounds that can be made as sharp as a coin flip needs them."""
        return lambda precision: self.tails(precision).at_least(t)

    @cached_property
    def _table(self) -> Table:
        return Table(self.tails)
