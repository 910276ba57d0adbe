"""A histogram said shortly: its large counts one by one, and how many labels have each small count.

Long tails are mostly labels that almost surely stay hidden. An engine can count them by size without naming
them, and name afterwards the few that noise lifts over the threshold. `lazy_tail.py` shows that nothing changes
in the law of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts import labels as label_rules
from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.errors import ChargedFailureError, InvalidCountsError

FetchLabels = Callable[[NDArray[np.int64], NDArray[np.int64]], pa.Array]
"""(counts, ranks) -> labels, one each: the label at `rank` (from 0) among those counts.

Ranks are in label order, or with all counts in any order that the draws have no part in."""


@dataclass(frozen=True, eq=False)
class CountProfile:
    """All labels above a cut with their counts, the number at each count up to it, and a way to name those.

    `large` is complete above the cut. With `fetched` = k̄ the profile speaks of the k̄ largest counts only, and
    `bottom` is the (k̄+1)-th; without, it speaks of all labels.
    """

    large: BoundedCounts
    small: Mapping[int, int]
    fetch: FetchLabels
    fetched: int | None = None
    bottom: int = 0

    def __post_init__(self) -> None:
        if self.large.fetched is not None:
            raise InvalidCountsError("A profile's large counts must be complete above its small ones.")
        if any(count < 1 or labels < 0 for count, labels in self.small.items()):
            raise InvalidCountsError("A profile's counts are 1 or above and its numbers of labels 0 or above.")
        if len(self.large) and self.small and max(self.small) >= int(self.large.counts.min()):
            raise InvalidCountsError("A profile's small counts must all lie below its large ones.")
        if self.fetched is not None:
            self._check_top(self.fetched)

    def in_a_row(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all counts, the large ones first and the small ones by size, and how many labels have each."""
        small = sorted(self.small.items())
        counts = np.array([count for count, _ in small], dtype=np.int64)
        labels = np.array([labels for _, labels in small], dtype=np.int64)
        ones = np.ones(len(self.large), dtype=np.int64)
        return np.concatenate([self.large.counts, counts]), np.concatenate([ones, labels])

    def at(self, positions: NDArray[np.int64]) -> tuple[pa.Array, NDArray[np.int64]]:
        """Return the labels at some positions of that row, in which each has its own, and their counts."""
        counts, times = self.in_a_row()
        ends = np.cumsum(times)
        found = np.searchsorted(ends, positions, side="right")
        ranks = positions - (ends - times)[found]
        large, small = np.flatnonzero(found < len(self.large)), np.flatnonzero(found >= len(self.large))
        labels = self.named(found[large], counts[found[small]], ranks[small])
        return label_rules.take(labels, np.argsort(np.concatenate([large, small]))), counts[found]

    def named(self, large: NDArray[np.int64], counts: NDArray[np.int64], ranks: NDArray[np.int64]) -> pa.Array:
        """Return some of the large labels, and then those at these ranks of these small counts."""
        named = label_rules.take(self.large.labels, large)
        if len(counts) == 0:
            return named
        fetched = label_rules.named(self.fetch(counts, ranks))
        if len(fetched) != len(counts):
            # The data changed between two looks at it. What was drawn is spent.
            raise ChargedFailureError
        return pa.concat_arrays([named, fetched.cast(named.type)]) if len(named) else fetched

    def _check_top(self, fetched: int) -> None:
        listed = len(self.large) + sum(self.small.values())
        if listed > fetched:
            raise InvalidCountsError(f"A profile of the {fetched} largest counts speaks of more labels than that.")
        # Too low a bottom would lower the threshold. Without a (k̄+1)-th count it is what an unlisted label may
        # have.
        if self.bottom < self.large.floor or (listed < fetched and self.bottom != self.large.floor):
            raise InvalidCountsError(
                f"A profile's bottom is the count after its {fetched} largest, and {self.large.floor} without one."
            )


def forms_of(counts: Any) -> tuple[Any, ...]:
    """Return what a mechanism may get in the place of this: of a profile, also its large counts alone."""
    return (counts.large, counts) if isinstance(counts, CountProfile) else (counts,)
