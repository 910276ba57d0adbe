"""A coin that each label flips for itself and nobody sees, to use a δ up.

A threshold is a whole number, so the chance that a telling outcome has under it is usually well below δ, and under
the next one above it. A label that secretly takes the second as often as the mean of both chances allows has a
chance of δ. The coin is a number of 64 bits compared with a whole one, so its chance is exact; that whole number
is rounded down, from upper bounds of the two chances.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from unlisted.noise.bits import Bits

COIN_BITS = 64


def most_lowered(higher: Fraction, lower: Fraction, allowed: Fraction) -> int:
    """Return how often of 2^64 times the second of two chances may be taken for the mean to be allowed.

    Both are upper bounds, the first is allowed and the second is larger. The mean grows with the second's share,
    so rounding that down keeps it allowed. It is never all of them: that would be the second alone.
    """
    if lower <= allowed:
        return (1 << COIN_BITS) - 1
    return math.floor((allowed - higher) / (lower - higher) * (1 << COIN_BITS))


def mixed_chance(lowered: int, higher: Fraction, lower: Fraction) -> Fraction:
    """Return the mean of two chances of which the second is taken so many of 2^64 times."""
    return higher + Fraction(lowered, 1 << COIN_BITS) * (lower - higher)


def flipped(lowered: int, labels: int, bits: Bits) -> NDArray[np.bool_]:
    """Flip one coin for each of some labels: true so many of 2^64 times."""
    return bits.words(labels) < np.uint64(lowered)
