"""The same answer without naming the labels that stay hidden. The proof is in lazy_tail.md.

For each small count c, with n labels, the number that pass is Binomial(n, P[Z > threshold - c]), which ones is a
uniform subset, and each has noise conditioned on having passed.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts.bounded_counts import add_noise
from unlisted.counts.count_profile import CountProfile
from unlisted.errors import InvalidArgumentError
from unlisted.noise.bernoulli import binomial, subset
from unlisted.noise.bits import Bits
from unlisted.noise.law import ExactLaw, Law

SELDOM = Fraction(1, 100)
"""Counts that pass the threshold less often than this need not be named before it is drawn who passes."""


def release_lazily(
    profile: CountProfile, law: Law, threshold: int, bits: Bits
) -> tuple[pa.Array, NDArray[np.int64]]:
    """Return labels and noisy counts above a threshold, in no particular order."""
    if not isinstance(law, ExactLaw):
        raise InvalidArgumentError(
            "law", law, "one whose tails are known exactly", "Give a law of your own all the counts instead."
        )
    large = profile.large
    noisy = add_noise(large.counts, law.sample(len(large), bits))
    passed = np.flatnonzero(noisy > threshold)
    counts, ranks, noise = _draw_small(profile, law, threshold, bits)
    return profile.named(passed, counts, ranks), np.concatenate([noisy[passed], add_noise(counts, noise)])


def _draw_small(
    profile: CountProfile, law: ExactLaw, threshold: int, bits: Bits
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Draw, for every small count, who passes (by rank) and with which noise."""
    counts, ranks, noise = [], [], []
    for count, labels in sorted(profile.small.items()):
        least = threshold - count + 1
        passing = binomial(labels, law.tail_bounds(least), bits)
        if passing:
            counts.append(np.full(passing, count, dtype=np.int64))
            ranks.append(subset(labels, passing, bits))
            noise.append(law.sample_at_least(least, passing, bits))
    if not counts:
        return (np.zeros(0, dtype=np.int64),) * 3
    return np.concatenate(counts), np.concatenate(ranks), np.concatenate(noise)
