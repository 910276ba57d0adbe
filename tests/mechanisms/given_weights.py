"""WeightOracle that hold weights somebody chose: what the coins are given when nothing else shall play a part."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.weights import Weighing
from unlisted.privacy.sensitivity import Sensitivity


class GivenWeights:
    """Labels and their weights; those that were named are kept in `seen`."""

    def __init__(self, weights: Mapping[str, int]) -> None:
        self.weights = dict(weights)
        self.seen: set[str] = set()
        self._bucket: dict[int, list[str]] = {}
        self._taken: list[str] = []
        self.in_play: list[str] | None = None

    def weigh(self, weighing: Weighing) -> None:
        left = self.weights if self.in_play is None else self.in_play
        self.weights = {label: self.weights[label] for label in left if label not in self._taken}

    def buckets(self, width: int, last: int) -> Mapping[int, int]:
        self._bucket = {}
        for label in sorted(self.weights):
            self._bucket.setdefault(min((self.weights[label] - 1) // width, last), []).append(label)
        return {bucket: len(labels) for bucket, labels in self._bucket.items()}

    def named(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> tuple[pa.Array, NDArray[np.int64]]:
        labels = self._at(buckets, ranks)
        self.seen |= set(labels)
        return pa.array(labels, pa.string()), self.weights_at(buckets, ranks)

    def weights_at(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.array([self.weights[label] for label in self._at(buckets, ranks)], dtype=np.int64)

    def take_out(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> None:
        self._taken += self._at(buckets, ranks)

    def keep_in_play(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> None:
        self.in_play = self._at(buckets, ranks)

    def counts_of_taken(self) -> BoundedCounts:
        return BoundedCounts(self._taken, [1] * len(self._taken), Sensitivity(items=None))

    def _at(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> list[str]:
        return [self._bucket[b][r] for b, r in zip(buckets.tolist(), ranks.tolist(), strict=True)]
