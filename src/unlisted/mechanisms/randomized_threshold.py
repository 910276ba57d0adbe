"""A threshold that is one lower for a random part of the labels, to use a δ up.

A threshold is a whole number, so the probability of the failure event under it is usually well below δ, and under
the next one above it. A label that secretly takes the second as often as the mean of both chances allows has a
chance of δ. So each label makes a Bernoulli draw of its own, which is not released: 64 bits compared with a whole
number, so its chance is exact. That whole number is rounded down, from upper bounds of the two chances.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unlisted.counts.bounded_counts import add_noise
from unlisted.errors import InvalidArgumentError
from unlisted.noise.bits import Bits
from unlisted.noise.law import Law
from unlisted.privacy.numbers import whole

SHARE_BITS = 64
_BLOCK = 1 << 18

Numbers = NDArray[np.int64]


class RandomizedThreshold(NamedTuple):
    """Noise, and the threshold that a noisy count must exceed, one lower for `lowered` of 2^64 labels."""

    law: Law
    threshold: int
    lowered: int = 0

    def passing(self, counts: Numbers, bits: Bits) -> tuple[Numbers, Numbers]:
        """Return which of these counts pass, and their noisy values."""
        noisy = add_noise(counts, self.law.sample(len(counts), bits))
        passed = np.flatnonzero(noisy > self.threshold - bernoulli_each(self.lowered, len(counts), bits))
        return passed, noisy[passed]


def bernoulli_each(lowered: int, labels: int, bits: Bits) -> NDArray[np.bool_]:
    """Draw for each of some labels whether it is one of so many in 2^64; where none is, nothing is drawn."""
    if not lowered:
        return np.zeros(labels, dtype=np.bool_)
    succeeded = np.empty(labels, dtype=np.bool_)
    for start in range(0, labels, _BLOCK):
        part = succeeded[start : start + _BLOCK]
        part[:] = bits.words(len(part)) < np.uint64(lowered)
    return succeeded


def require_share(lowered: int, *, can_lower: bool) -> None:
    """Refuse a number that is no share of 2^64, or one at the lowest threshold there is."""
    if whole("lowered", lowered, at_least=0) >= 1 << SHARE_BITS:
        raise InvalidArgumentError("lowered", lowered, "below 2^64, as if always lowered")
    if lowered and not can_lower:
        raise InvalidArgumentError("lowered", lowered, "0 where the threshold is the lowest there is")


def share_of(lowered: int) -> float:
    """Return such a share as a chance, for display; below 1 whatever floating point makes of it."""
    return min(float(Fraction(lowered, 1 << SHARE_BITS)), 1 - 2.0**-53)


def said_beside(noise: object, lowered: int) -> str:
    """Return a noise as plans name it, and which part of the labels has a threshold that is one lower."""
    return f"{noise}; threshold 1 lower for {share_of(lowered):.1%} of labels" if lowered else str(noise)


def mixed_chance(lowered: int, higher: Fraction, lower: Fraction) -> Fraction:
    """Return the mean of two chances of which the second is taken so many of 2^64 times."""
    return higher + Fraction(lowered, 1 << SHARE_BITS) * (lower - higher)


def most_lowered(higher: Fraction, lower: Fraction, allowed: Fraction) -> int:
    """Return how often of 2^64 times the second of two chances may be taken for the mean to be allowed.

    Both are upper bounds, the first is allowed and the second is larger. The mean grows with the second's share,
    so rounding that down keeps it allowed. It is never all of them: that would be the second alone.
    """
    if lower <= allowed:
        return (1 << SHARE_BITS) - 1
    return math.floor((allowed - higher) / (lower - higher) * (1 << SHARE_BITS))


def most_lowered_inside(allows: Callable[[int], bool], steps: int = SHARE_BITS) -> int:
    """Return about how often of 2^64 times a threshold may be one lower, and never more often.

    Where each look takes milliseconds, `steps` says how many of the first bits are enough.
    """
    lowered = 0
    for bit in range(SHARE_BITS - 1, SHARE_BITS - 1 - steps, -1):
        if allows(lowered | 1 << bit):
            lowered |= 1 << bit
    return lowered
