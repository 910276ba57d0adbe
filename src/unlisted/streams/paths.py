"""The running counts of some items over some releases, as arrays: a row for each release, a column for an item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.streams.history import History

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Paths:
    """What was released of some items. Where an item was not shown, `shown` is false and its numbers are 0."""

    labels: pa.Array
    rounds: Numbers
    times: list[datetime | None]
    shown: NDArray[np.bool_]
    count: Numbers
    low: Numbers
    high: Numbers

    @classmethod
    def read(cls, history: History, numbers: Sequence[int], labels: pa.Array) -> Paths:
        """Read the running counts of some labels, all different, out of some releases, and nothing else."""
        size = (len(numbers), len(labels))
        shown = np.zeros(size, dtype=bool)
        found = [np.zeros(size, dtype=np.int64) for _ in range(3)]
        for at, number in enumerate(numbers):
            places, columns = history.values(number, labels)
            shown[at, places] = True
            for numbers_found, column in zip(found, columns, strict=True):
                numbers_found[at, places] = column
        times = [history.time(number) for number in numbers]
        return cls(labels, np.array(numbers, dtype=np.int64), times, shown, *found)

    def within(self, rows: Numbers, rounds: Numbers) -> Paths:
        """Return a part of the releases, whose rounds have other numbers there."""
        times = [self.times[row] for row in rows.tolist()]
        parts = (self.shown[rows], self.count[rows], self.low[rows], self.high[rows])
        return Paths(self.labels, rounds, times, *parts)
