"""Upper tails of a symmetric integer law in fixed point, as proved lower and upper bounds.

`low[t] <= 2^precision · P[Z >= t] <= high[t]` for t = 0, 1, …, with the last entry bounding every t beyond it.
All the rest (cumulative probabilities, conditional laws, tables) is arithmetic on these integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


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
