"""The exact chance that a silent label is ever shown by a running histogram: slow, and without a union bound.

F_j(s, p) is the chance of a crossing in an aligned block of 2^j rounds that starts with p active nodes whose noise
adds up to s: its first half starts alike, its second half has one more active node.

    F_0(s, p) = 1 if p >= 1 and s > x_p,     F_j(s, p) = 1 - (1 - F_{j-1}(s, p))·(1 - E F_{j-1}(s + Z, p + 1))

The rounds 0 … L are the dyadic blocks of L + 1, largest first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tests.mechanisms.small_worlds import Mass


class TreeFailure:
    """The recursion on a grid of sums from -reach to reach; above it every tested round has crossed."""

    def __init__(self, mass: Mass, above: Sequence[int], reach: int) -> None:
        self._above = above
        self._sums = np.arange(-reach, reach + 1)
        self._mass = np.array([mass(z) for z in range(-reach, reach + 1)])
        self._blocks: dict[tuple[int, int], NDArray[np.float64]] = {}

    def chance(self, rounds: int) -> float:
        """Return the chance of a crossing in the rounds 1 … L."""
        blocks = [level for level in reversed(range((rounds + 1).bit_length())) if (rounds + 1) >> level & 1]
        failure = np.zeros(len(self._sums))
        # From the last block to the first: what follows a block has one more active node than the block.
        for active, level in reversed(list(enumerate(blocks))):
            follows = self._one_more(failure) if level != blocks[-1] else failure
            own = self.block(level, active)
            failure = own + follows - own * follows
        return float(failure[len(self._sums) // 2])

    def block(self, level: int, active: int) -> NDArray[np.float64]:
        """Return F_level(s, active) for every sum s."""
        if (level, active) not in self._blocks:
            if level == 0:
                found = (
                    (self._sums > self._above[active - 1]).astype(float) if active else np.zeros(len(self._sums))
                )
            else:
                first, second = self.block(level - 1, active), self.block(level - 1, active + 1)
                later = self._one_more(second)
                found = first + later - first * later
            self._blocks[level, active] = found
        return self._blocks[level, active]

    def _one_more(self, failure: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return E failure(s + Z); a sum above the grid has crossed, one below it has not and will not."""
        reach = len(self._sums) // 2
        wide = np.concatenate([np.zeros(2 * reach), failure, np.ones(2 * reach)])
        return np.convolve(wide, self._mass, mode="valid")[reach : reach + len(self._sums)]
