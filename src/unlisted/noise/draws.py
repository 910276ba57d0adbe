"""Where the bits of each draw come from: one after the other, or each from a place of its own.

A table draws many values at once. It asks for 16 bits of every draw, for 64 more of the few that these leave open,
and for an endless row of the one in 2^50 that even those leave open. `SequentialDraws` answers from one row of
bits; `keyed.py` answers from a function of what the noise belongs to.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from unlisted.noise.bits import Bits


class Draws(Protocol):
    """The bits of some independent draws."""

    def __len__(self) -> int:
        """Return how many draws there are."""
        ...

    def leading(self) -> NDArray[np.uint16]:
        """Return the first 16 bits of every draw."""
        ...

    def following(self, which: NDArray[np.intp]) -> NDArray[np.uint64]:
        """Return the next 64 bits of these draws."""
        ...

    def more(self, which: int) -> Bits:
        """Return the bits of one draw after those, without end."""
        ...


class SequentialDraws:
    """Draws that take what they need from one row of bits, in the order they ask."""

    def __init__(self, n: int, bits: Bits) -> None:
        self._n = n
        self._bits = bits

    def __len__(self) -> int:
        return self._n

    def leading(self) -> NDArray[np.uint16]:
        """Return the first 16 bits of every draw."""
        return self._bits.shorts(self._n)

    def following(self, which: NDArray[np.intp]) -> NDArray[np.uint64]:
        """Return the next 64 bits of these draws."""
        return self._bits.words(len(which))

    def more(self, which: int) -> Bits:  # noqa: ARG002 - every draw continues the same row
        """Return the row itself."""
        return self._bits
