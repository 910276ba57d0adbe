"""A weight oracle in NumPy: pairs of user and item as whole numbers, weighed as often as a comparison needs.

An engine reads and counts the rows for every release. A comparison of hundreds of releases of one table need not:
what differs between them is drawn by the mechanism, and by which items of heavy users are kept, here anew each
time labels are weighed. The tests hold it against the oracle in plain Python.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts.bounded_counts import LARGEST_COUNT, BoundedCounts
from unlisted.counts.weights import Weighing, full_weight
from unlisted.privacy.sensitivity import Sensitivity

Whole = NDArray[np.int64]


class ArrayWeights:
    """Users 0, 1, … and items 0, 1, …: one release of them. Pairs come sorted by user and are distinct."""

    def __init__(self, users: NDArray[np.int32], items: NDArray[np.int32], rng: np.random.Generator) -> None:
        self._users, self._items, self._rng = users, items, rng
        self._labels = int(items.max(initial=-1)) + 1
        self._people = int(users.max(initial=-1)) + 1
        self._taken = np.zeros(0, dtype=np.int64)
        self._left = np.ones(self._labels, dtype=bool)
        self._weights = np.zeros(self._labels, dtype=np.int64)
        self._order = self._starts = np.zeros(0, dtype=np.int64)

    def weigh(self, weighing: Weighing) -> None:
        """Weigh all labels that are left."""
        if weighing.rerouting is not None:
            raise NotImplementedError("this oracle gives nothing back")
        left = self._left[self._items]
        users, items = self._users[left], self._items[left]
        sizes = np.bincount(users, minlength=self._people)
        heavy = sizes[users] > weighing.items
        if heavy.any():
            kept = ~heavy
            kept[_some_of_each(np.flatnonzero(heavy), users, weighing.items, self._rng)] = True
            users, items = users[kept], items[kept]
            sizes = np.minimum(sizes, weighing.items)
        each = np.array([0, *(full_weight(n) for n in range(1, int(sizes.max(initial=0)) + 1))], dtype=np.float64)
        # Sums of whole numbers below 2^53 are exact in floating point: two million users of one item.
        self._weights = np.bincount(items, each[sizes[users]], minlength=self._labels).astype(np.int64)

    def buckets(self, width: int, last: int) -> Mapping[int, int]:
        """Return how many labels there are in each bucket."""
        there = np.flatnonzero(self._weights)
        bucket = np.minimum((self._weights[there] - 1) // width, last)
        order = np.argsort(bucket, kind="stable")
        self._order = there[order]
        found, starts, sizes = np.unique(bucket[order], return_index=True, return_counts=True)
        self._starts = np.zeros(int(found.max(initial=-1)) + 1, dtype=np.int64)
        self._starts[found] = starts
        return dict(zip(found.tolist(), sizes.tolist(), strict=True))

    def named(self, buckets: Whole, ranks: Whole) -> tuple[pa.Array, Whole]:
        """Return the labels at these places, and their weights."""
        return pa.array(self._at(buckets, ranks)), self.weights_at(buckets, ranks)

    def weights_at(self, buckets: Whole, ranks: Whole) -> Whole:
        """Return what the labels at these places weigh."""
        return self._weights[self._at(buckets, ranks)]

    def take_out(self, buckets: Whole, ranks: Whole) -> None:
        """Leave the labels at these places out of all further weighing."""
        found = self._at(buckets, ranks)
        self._taken = np.concatenate([self._taken, found])
        self._left[found] = False

    def keep_in_play(self, buckets: Whole, ranks: Whole) -> None:
        """Leave all labels but those at these places out of all further weighing."""
        self._left[:] = False
        self._left[self._at(buckets, ranks)] = True
        self._left[self._taken] = False

    def sizes_of_users(self) -> Mapping[int, int]:
        """Return how many users have m of the labels taken out."""
        found, users = np.unique(self._sizes_of_taken()[0], return_counts=True)
        return {size: n for size, n in zip(found.tolist(), users.tolist(), strict=True) if size}

    def scaled_counts_of_taken(self, weights: Whole) -> BoundedCounts:
        """Return the sum over all users of what each counts for."""
        sizes, users, items = self._sizes_of_taken()
        each = np.concatenate([[0], weights]).astype(np.float64)
        sums = np.bincount(items, each[sizes[users]], minlength=self._labels).astype(np.int64)
        most = Sensitivity(items=None, count=int(weights.max(initial=1)))
        return BoundedCounts(pa.array(self._taken), np.minimum(sums[self._taken], LARGEST_COUNT), most)

    def counts_of_taken(self) -> BoundedCounts:
        """Return how many users have each of the labels taken out."""
        counts = np.bincount(self._items, minlength=self._labels)[self._taken]
        return BoundedCounts(pa.array(self._taken), counts, Sensitivity(items=None, count=1))

    def _sizes_of_taken(self) -> tuple[Whole, NDArray[np.int32], NDArray[np.int32]]:
        """Return how many of the labels taken out each user has, and who has which."""
        taken = np.zeros(self._labels, dtype=bool)
        taken[self._taken] = True
        of = taken[self._items]
        users, items = self._users[of], self._items[of]
        return np.bincount(users, minlength=self._people), users, items

    def _at(self, buckets: Whole, ranks: Whole) -> Whole:
        return self._order[self._starts[buckets] + ranks]


def _some_of_each(
    rows: NDArray[np.intp], users: NDArray[np.int32], most: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return, of the rows of heavy users, so many of each user, drawn at random."""
    order = np.lexsort((rng.random(len(rows)), users[rows]))
    owners = users[rows][order]
    first = np.concatenate([[True], owners[1:] != owners[:-1]])
    start = np.maximum.accumulate(np.where(first, np.arange(len(owners)), 0))
    return rows[order[np.arange(len(owners)) - start < most]]
