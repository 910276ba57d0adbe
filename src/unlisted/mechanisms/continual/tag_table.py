"""Columns that only grow, and a set of keyed tags that does: which were there before, for millions at a time.

Tags are 128 random bits, so eight of their bytes order them well. The table is a few sorted runs whose sizes
double; what is looked up is sorted too, so that memory is gone through from one end to the other. A longer table
shares its runs with the shorter one that it was made from, which stays as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from unlisted.noise.keyed import TAG_BYTES, Tags

Rows = NDArray[np.int64]
_Words = NDArray[np.uint64]
_Scalar = TypeVar("_Scalar", bound=np.generic)
_ROOM = 4
"""A column that is full gets this part of its length as room to grow."""


class Column(Generic[_Scalar]):
    """Numbers, one row for each label, to which rows can only be added."""

    def __init__(self, values: NDArray[_Scalar]) -> None:
        self.values = values
        self._memory = values
        # How much of the memory is taken, by this column or a longer one: whoever is at the end may go on there.
        self._taken = [len(values)]

    def __len__(self) -> int:
        return len(self.values)

    def appended(self, more: NDArray[_Scalar]) -> Column[_Scalar]:
        """Return the column with more rows; this one stays as it is."""
        if len(more) == 0:
            return self
        size, total = len(self), len(self) + len(more)
        longer = Column.__new__(Column)
        if self._taken[0] == size and total <= len(self._memory):
            longer._memory, longer._taken = self._memory, self._taken
        else:
            room = np.empty((total + total // _ROOM, *self.values.shape[1:]), self.values.dtype)
            room[:size] = self.values
            longer._memory, longer._taken = room, [size]
        longer._memory[size:total] = more
        longer._taken[0] = total
        longer.values = longer._memory[:total]
        return longer


@dataclass(frozen=True, eq=False)
class _Run:
    """Tags in the order of their first eight bytes: these, the other eight, and their rows."""

    first: _Words
    second: _Words
    rows: Rows

    @classmethod
    def of(cls, tags: Tags, start: int) -> _Run:
        """Sort tags whose rows begin with `start`."""
        words = words_of(tags)
        order = np.argsort(words[:, 0])
        return cls(words[order, 0], words[order, 1], order + start)

    def with_(self, other: _Run) -> _Run:
        """Return both as one."""
        first = np.concatenate([self.first, other.first])
        # Two sorted halves: a stable sort merges them in one pass.
        order = np.argsort(first, kind="stable")
        second, rows = np.concatenate([self.second, other.second]), np.concatenate([self.rows, other.rows])
        return _Run(first[order], second[order], rows[order])

    def find(self, wanted: _Words, found: Rows) -> None:
        """Write the rows of those tags that are here into `found`."""
        at = np.searchsorted(self.first, wanted[:, 0])
        open_ = np.arange(len(wanted))
        while len(open_):
            # A tag whose first half is another's too stands right behind it.
            inside = at[open_] < len(self.first)
            open_ = open_[inside]
            open_ = open_[self.first[at[open_]] == wanted[open_, 0]]
            same = self.second[at[open_]] == wanted[open_, 1]
            found[open_[same]] = self.rows[at[open_[same]]]
            open_ = open_[~same]
            at[open_] += 1


class TagTable:
    """Distinct tags, each with its row: the number of tags that came before it."""

    def __init__(self, tags: Column[np.uint8] | None = None, runs: tuple[_Run, ...] | None = None) -> None:
        self.tags: Column[np.uint8] = Column(np.zeros((0, TAG_BYTES), dtype=np.uint8)) if tags is None else tags
        self._runs = runs

    def __len__(self) -> int:
        return len(self.tags)

    def rows_of(self, tags: Tags) -> Rows:
        """Return the row of every tag, -1 for those that have not come."""
        found = np.full(len(tags), -1, dtype=np.int64)
        if len(self) == 0:
            return found
        wanted = words_of(tags)
        order = np.argsort(wanted[:, 0])
        wanted, there = wanted[order], np.full(len(tags), -1, dtype=np.int64)
        for run in self._sorted():
            run.find(wanted, there)
        found[order] = there
        return found

    def appended(self, fresh: Tags) -> TagTable:
        """Return the table with tags that it did not have, all different; this one stays as it is."""
        if len(fresh) == 0:
            return self
        if len(self) == 0:
            # Sorted when something is looked up in it.
            return TagTable(self.tags.appended(fresh))
        runs = [*self._sorted(), _Run.of(fresh, len(self))]
        while len(runs) > 1 and len(runs[-2].rows) <= 2 * len(runs[-1].rows):
            last = runs.pop()
            runs[-1] = runs[-1].with_(last)
        return TagTable(self.tags.appended(fresh), tuple(runs))

    def _sorted(self) -> tuple[_Run, ...]:
        if self._runs is None:
            self._runs = (_Run.of(self.tags.values, 0),) if len(self) else ()
        return self._runs


def words_of(tags: Tags) -> _Words:
    """Return tags as two words each."""
    return np.ascontiguousarray(tags).view("<u8").reshape(-1, 2).astype(np.uint64, copy=False)
