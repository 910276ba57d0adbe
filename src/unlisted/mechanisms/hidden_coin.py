"""A coin that each label flips for itself and nobody sees, to use a δ up.

A threshold is a whole number, so the chance that a telling outcome has under it is usually well below δ, and under
the next one above it. A label that secretly takes the second as often as the mean of both chances allows has a
chance of δ. The coin is a number of 64 bits compared with a whole one, so its chance is exact; that whole number
is rounded down, from upper bounds of the two chances.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unlisted.noise.bernoulli import Bounds, bernoulli_many, binomial, ratio, subset
from unlisted.noise.bits import Bits
from unlisted.noise.law import ExactLaw

COIN_BITS = 64
_BLOCK = 1 << 18

Numbers = NDArray[np.int64]


class Lifts(NamedTuple):
    """One side of a label's coin: the noise it uses there, and the least of it that lifts the label."""

    law: ExactLaw
    least: int

    @property
    def chance(self) -> Bounds:
        """How likely that much noise is."""
        return self.law.tail_bounds(self.least)


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
    fell_well = np.empty(labels, dtype=np.bool_)
    for start in range(0, labels, _BLOCK):
        part = fell_well[start : start + _BLOCK]
        part[:] = bits.words(len(part)) < np.uint64(lowered)
    return fell_well


def lift_unnamed(
    small: Mapping[int, int], sides: Callable[[int], tuple[Lifts, Lifts]], lowered: int, bits: Bits
) -> tuple[Numbers, Numbers, Numbers]:
    """Draw, for so many labels of each small count, who is lifted (by rank) and with which noise.

    `sides` says for a count what lifts a label of it, usually and if its coin fell well.
    """
    counts, ranks, noise = ([np.zeros(0, dtype=np.int64)] for _ in range(3))
    for count, labels in sorted(small.items()):
        usual, other = sides(count)
        whole = _mean(lowered, usual.chance, other.chance)
        lifted = binomial(labels, whole, bits)
        if lifted:
            fell_well = ratio(_part(lowered, other.chance), whole)
            well = subset(lifted, bernoulli_many(fell_well, lifted, bits), bits)
            drawn = np.empty(lifted, dtype=np.int64)
            drawn[well] = other.law.sample_at_least(other.least, len(well), bits)
            rest = np.setdiff1d(np.arange(lifted), well)
            drawn[rest] = usual.law.sample_at_least(usual.least, len(rest), bits)
            counts.append(np.full(lifted, count, dtype=np.int64))
            ranks.append(subset(labels, lifted, bits))
            noise.append(drawn)
    return np.concatenate(counts), np.concatenate(ranks), np.concatenate(noise)


def _mean(lowered: int, usual: Bounds, other: Bounds) -> Bounds:
    """Return the chance of one of two events, the second taken so many of 2^64 times."""
    first, second = _part((1 << COIN_BITS) - lowered, usual), _part(lowered, other)

    def bounds(precision: int) -> tuple[int, int]:
        (low, high), (more_low, more_high) = first(precision), second(precision)
        return low + more_low, high + more_high

    return bounds


def _part(times: int, chance: Bounds) -> Bounds:
    """Return so many parts of 2^64 of a chance."""

    def bounds(precision: int) -> tuple[int, int]:
        low, high = chance(precision)
        return times * low >> COIN_BITS, -(-times * high >> COIN_BITS)

    return bounds
