"""The same answer without naming the labels that stay hidden. The proof is in lazy_tail.md.

For each small count c, with n labels, the number that pass is Binomial(n, P[Z > threshold - c]), which ones is a
uniform subset, and each has noise conditioned on having passed. Where a threshold is randomized, how
many of those that passed have which side of it is drawn first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts.bounded_counts import add_noise
from unlisted.counts.count_profile import CountProfile
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.randomized_threshold import SHARE_BITS, RandomizedThreshold
from unlisted.noise.bernoulli import Bounds, bernoulli_many, binomial, ratio, subset
from unlisted.noise.bits import Bits
from unlisted.noise.law import ExactLaw

SELDOM = Fraction(1, 100)
"""Counts that pass the threshold less often than this need not be named before it is drawn who passes."""

Numbers = NDArray[np.int64]


class Lifts(NamedTuple):
    """One side of a label's Bernoulli draw: the noise it uses there, and the least of it that lifts the label."""

    law: ExactLaw
    least: int

    @property
    def chance(self) -> Bounds:
        """How likely that much noise is."""
        return self.law.tail_bounds(self.least)


def release_lazily(profile: CountProfile, boundary: RandomizedThreshold, bits: Bits) -> tuple[pa.Array, Numbers]:
    """Return labels and noisy counts above a threshold, in no particular order."""
    law = boundary.law
    if not isinstance(law, ExactLaw):
        raise InvalidArgumentError(
            "law", law, "one whose tails are known exactly", "Give a law of your own all the counts instead."
        )

    def sides(count: int) -> tuple[Lifts, Lifts]:
        least = boundary.threshold - count + 1
        return Lifts(law, least), Lifts(law, least - 1)

    passed, noisy = boundary.passing(profile.large.counts, bits)
    counts, ranks, noise = lift_unnamed(profile.small, sides, boundary.lowered, bits)
    return profile.named(passed, counts, ranks), np.concatenate([noisy, add_noise(counts, noise)])


def lift_unnamed(
    small: Mapping[int, int], sides: Callable[[int], tuple[Lifts, Lifts]], lowered: int, bits: Bits
) -> tuple[Numbers, Numbers, Numbers]:
    """Draw, for so many labels of each small count, who is lifted (by rank) and with which noise.

    `sides` says for a count what lifts a label of it, usually and, `lowered` of 2^64 times, if its draw succeeded.
    """
    counts, ranks, noise = ([np.zeros(0, dtype=np.int64)] for _ in range(3))
    for count, labels in sorted(small.items()):
        usual, other = sides(count)
        whole = _mean(lowered, usual.chance, other.chance) if lowered else usual.chance
        lifted = binomial(labels, whole, bits)
        if lifted:
            counts.append(np.full(lifted, count, dtype=np.int64))
            ranks.append(subset(labels, lifted, bits))
            if lowered:
                succeeded = ratio(_part(lowered, other.chance), whole)
                noise.append(_noise_by_draw(lifted, usual, other, succeeded, bits))
            else:
                noise.append(usual.law.sample_at_least(usual.least, lifted, bits))
    return np.concatenate(counts), np.concatenate(ranks), np.concatenate(noise)


def _noise_by_draw(lifted: int, usual: Lifts, other: Lifts, succeeded: Bounds, bits: Bits) -> Numbers:
    """Draw the noise of so many labels that were lifted, each of which has the other side with this chance."""
    well = subset(lifted, bernoulli_many(succeeded, lifted, bits), bits)
    drawn = np.empty(lifted, dtype=np.int64)
    drawn[well] = other.law.sample_at_least(other.least, len(well), bits)
    rest = np.setdiff1d(np.arange(lifted), well)
    drawn[rest] = usual.law.sample_at_least(usual.least, len(rest), bits)
    return drawn


def _mean(lowered: int, usual: Bounds, other: Bounds) -> Bounds:
    """Return the chance of one of two events, the second taken so many of 2^64 times."""
    first, second = _part((1 << SHARE_BITS) - lowered, usual), _part(lowered, other)

    def bounds(precision: int) -> tuple[int, int]:
        (low, high), (more_low, more_high) = first(precision), second(precision)
        return low + more_low, high + more_high

    return bounds


def _part(times: int, chance: Bounds) -> Bounds:
    """Return so many parts of 2^64 of a chance."""

    def bounds(precision: int) -> tuple[int, int]:
        low, high = chance(precision)
        return times * low >> SHARE_BITS, -(-times * high >> SHARE_BITS)

    return bounds
