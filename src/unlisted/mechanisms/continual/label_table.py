"""The labels of a stream, in the order in which they appeared, and columns beside them that only grow.

A stream of a million labels takes in a round of a few thousand. Nothing here copies what was there before: a
longer table shares its memory with the shorter one that it was made from, which stays as it was.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts import labels as label_rules
from unlisted.counts.whole_numbers import to_arrow
from unlisted.errors import InvalidCountsError
from unlisted.noise.keyed import NoiseKey, Tags

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


class LabelTable:
    """Distinct labels of one type, each with its row: the number of labels that appeared before it."""

    def __init__(self, chunks: tuple[pa.Array, ...] = (), rows: dict[object, int] | None = None) -> None:
        self._chunks = chunks
        self._size = sum(len(chunk) for chunk in chunks)
        # Shared with every longer table that grew from this one; it may know labels that this one does not.
        self._rows = rows

    def __len__(self) -> int:
        return self._size

    @property
    def type(self) -> pa.DataType | None:
        """The type of the labels, None before the first one."""
        return self._chunks[0].type if self._size else None

    def rows_of(self, labels: pa.Array) -> NDArray[np.int64]:
        """Return the row of every label, -1 for those that have not appeared."""
        self._require_type(labels)
        known, size = self._known(), self._size
        found = np.array([known.get(name, -1) for name in _names(labels)], dtype=np.int64)
        found[found >= size] = -1
        return found

    def appended(self, fresh: pa.Array) -> LabelTable:
        """Return the table with labels that it did not have; this one stays as it is."""
        if len(fresh) == 0:
            # Before the first label, an empty answer has the type of what was last brought.
            return self if self._size else LabelTable((fresh,))
        self._require_type(fresh)
        known = self._known()
        if len(known) > self._size:
            # Another table grew from this one: its labels have rows that are ours to give.
            known = {name: row for name, row in known.items() if row < self._size}
        known.update(zip(_names(fresh), range(self._size, self._size + len(fresh)), strict=True))
        chunks = [*self._chunks, fresh] if self._size else [fresh]
        # Chunks of doubling sizes: few of them, and each label is copied only a few times.
        while len(chunks) > 1 and len(chunks[-2]) <= 2 * len(chunks[-1]):
            chunks[-2:] = [pa.concat_arrays(chunks[-2:])]
        return LabelTable(tuple(chunks), known)

    def take(self, rows: NDArray[np.int64]) -> pa.Array:
        """Copy some labels into new buffers that hold nothing else."""
        if not self._chunks:
            return pa.nulls(0, pa.string())
        taken = pa.chunked_array(self._chunks).take(to_arrow(rows))
        return pa.concat_arrays(taken.chunks) if taken.num_chunks != 1 else taken.chunk(0)

    def _known(self) -> dict[object, int]:
        if self._rows is None:
            names = (name for chunk in self._chunks for name in _names(chunk))
            self._rows = {name: row for row, name in enumerate(names)}
        return self._rows

    def _require_type(self, labels: pa.Array) -> None:
        # An empty array has no type to speak of: the first label decides it.
        if self.type is not None and len(labels) and labels.type != self.type:
            raise InvalidCountsError("A round's labels are of another type than the stream's. Convert them first.")


def _names(labels: pa.Array) -> list[object]:
    """Return what tells labels of one type apart: a text itself, the bytes of anything else."""
    return list(labels.to_pylist() if is_text(labels) else label_rules.encode_all(labels))


def is_text(labels: pa.Array) -> bool:
    """Return whether labels are texts that lie in Arrow's short form, as nearly all do."""
    return bool(pa.types.is_string(labels.type))


def block_tags(key: NoiseKey, labels: pa.Array) -> Tags:
    """Return the tags of many labels at once."""
    if is_text(labels):
        return key.block_tags(*text_bytes(labels), of=b"text")
    encoded = label_rules.encode_all(labels)
    ends = np.cumsum([0, *map(len, encoded)])
    return key.block_tags(np.frombuffer(b"".join(encoded), np.uint8), ends, of=b"encoded")


def text_bytes(labels: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Return the bytes of texts, one after the other, and where each of them begins and the last one ends."""
    if len(labels) == 0:
        return np.zeros(0, dtype=np.uint8), np.zeros(1, dtype=np.int32)
    _, ends, data = labels.buffers()
    places = np.frombuffer(ends, np.int32)[labels.offset : labels.offset + len(labels) + 1]
    return np.frombuffer(data or b"", np.uint8), places
