"""What weighs labels: an engine that holds the rows, or a list in memory.

Labels are not named before they are chosen. They lie in buckets by their weight, and are spoken of as "the label
at rank r of bucket b", ranks being from 0 in the order of labels. So what leaves an engine is how many labels
there are in each bucket, and the names of those that were drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.weights import Weighing


class Scales(Protocol):
    """The labels of one unchanging state of the data, weighed as often as asked."""

    def weigh(self, weighing: Weighing) -> None:
        """Weigh all labels that were not taken out, bounding each user to `weighing.items` of them first."""

    def buckets(self, width: int, last: int) -> Mapping[int, int]:
        """Return how many labels there are in each bucket: b holds weights above b·width up to (b + 1)·width.

        The bucket `last` also holds all that are heavier.
        """

    def named(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> tuple[pa.Array, NDArray[np.int64]]:
        """Return the labels at these places, in this order, and their weights; buckets as last asked for."""

    def take_out(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> None:
        """Leave the labels at these places out of all further weighing: they are released."""

    def weights_at(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what the labels at these places weigh, in this order; no label is named."""

    def keep_in_play(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> None:
        """Leave all labels but those at these places out of all further weighing."""

    def sizes_of_users(self) -> Mapping[int, int]:
        """Return how many users have m of the labels taken out, for every m from 1 that somebody has."""

    def scaled_counts_of_taken(self, weights: NDArray[np.int64]) -> BoundedCounts:
        """Return, of the labels taken out, the sum over all users who have each of what that user counts for.

        A user who has m of these labels counts for weights[m - 1], which is 1 or more, in each of them.
        """

    def counts_of_taken(self) -> BoundedCounts:
        """Return, of the labels taken out, how many users have each; no bound on the items of a user."""
