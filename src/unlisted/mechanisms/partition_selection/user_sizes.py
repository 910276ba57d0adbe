"""How much a user may count for in all: chosen from a noisy histogram of how many labels users have.

Counts of labels that were found need no threshold, only noise, and the noise grows with the length of what one
user adds. Nobody's items are dropped: a user with m labels adds 1 to each of them if m is at most D1, and √(D1/m)
to each else, so that the squared length is at most D1. A small D1 hides a part of what busy users add, a large one
needs more noise. Which is better depends on how many busy users there are; that is asked of the data with noise of
its own, and everything here is a function of the noisy answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

NOISE_WEIGHT = 0.8
"""The mean size of normal noise, in standard deviations."""

SHRUNK = 2
"""Noisy numbers are brought nearer to 0 by so many deviations: large classes have few users, and their noise would
decide. `bench/utility/find_then_count.py` compares others."""


def size_ends(labels: int) -> list[int]:
    """Return the largest size of each class of users, where so many labels were found.

    That is 1, 2, 3, 4, 6, 8, 12, and so on; the last class ends with a user who has them all.
    """
    ends, power = [], 1
    while power < labels:
        ends += [power, 3 * power // 2] if power > 1 else [power]
        power *= 2
    return [*(end for end in ends if end < labels), labels] if labels else []


def by_class(sizes: Mapping[int, int], ends: Sequence[int]) -> NDArray[np.int64]:
    """Return how many users are in each class, from how many have m labels."""
    users = np.zeros(len(ends), dtype=np.int64)
    for size, times in sizes.items():
        # A user with more labels than were found cannot be; the last class would hold one.
        users[min(int(np.searchsorted(ends, size)), len(ends) - 1)] += times
    return users


def weights_of_sizes(labels: int, in_full: int, grain: int) -> NDArray[np.int64]:
    """Return what a user with m = 1, 2, … labels adds to each: `grain`, or `grain`·√(D1/m) rounded down."""
    full = grain * grain * in_full
    weights = [grain if m <= in_full else math.isqrt(full // m) for m in range(1, labels + 1)]
    return np.array(weights, dtype=np.int64)


@dataclass(frozen=True)
class SizesOfUsers:
    """Noisy numbers of users by how many of the labels they have, from 1; no number is of 0 labels.

    `ends` are the largest sizes of the classes, `users` the noisy numbers, `deviation` about that of their noise.
    """

    ends: tuple[int, ...]
    users: tuple[int, ...]
    deviation: float

    @property
    def classes(self) -> list[tuple[int, int]]:
        """The smallest and the largest size of each class."""
        return [(before + 1, end) for before, end in pairwise([0, *self.ends])]

    def best_in_full(self, deviation: float) -> int:
        """Return the D1 with the least mean error, where counts have noise of this deviation at D1 = 1.

        That of the noise, and what is hidden of all users' labels, shared by the labels.
        """
        if not self.ends:
            return 1

        def error(in_full: int) -> float:
            hidden = _hidden(self._sizes, self._shrunk, in_full)
            return NOISE_WEIGHT * deviation * math.sqrt(in_full) + hidden / self.ends[-1]

        return min(self.ends, key=error)

    def hidden(self, in_full: int) -> float:
        """Return about how many counts of users are hidden by scaling, in all labels together."""
        return _hidden(self._sizes, self.users, in_full)

    def hidden_between(self, in_full: int) -> tuple[float, float]:
        """Return between how many counts are hidden in all labels together, as far as noise and classes tell.

        At least as if all users had the smallest sizes of their classes, at most as if they had the largest.
        """
        ends = ([size[end] for size in self.classes] for end in (0, 1))
        least, most = (_hidden(sizes, self.users, in_full) for sizes in ends)
        margin = 2 * self.deviation * math.hypot(*(_hidden([last], [1], in_full) for last in self.ends))
        return max(0.0, least - margin), max(0.0, most + margin)

    def hidden_at_most(self, in_full: int) -> float:
        """Return about how many users at most are hidden in any one label: as if all scaled ones had it."""
        shares = [1 - min(1.0, math.sqrt(in_full / end)) for end in self.ends]
        found = sum(share * n for share, n in zip(shares, self.users, strict=True))
        return max(0.0, found + 2 * self.deviation * math.hypot(*shares))

    @property
    def _sizes(self) -> list[float]:
        """A size for each class: the geometric mean of its ends."""
        return [math.sqrt(first * last) for first, last in self.classes]

    @property
    def _shrunk(self) -> list[float]:
        by = SHRUNK * self.deviation
        return [math.copysign(max(0.0, abs(n) - by), n) for n in self.users]


def _hidden(sizes: Sequence[float], users: Sequence[float], in_full: int) -> float:
    """Return how many counts are hidden of so many users of these sizes: of m counts, m - √(D1·m) where m > D1."""
    return sum(n * (m - min(m, math.sqrt(in_full * m))) for m, n in zip(sizes, users, strict=True))
