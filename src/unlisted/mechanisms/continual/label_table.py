"""The labels of a stream, in the order in which they appeared.

A stream of a million labels takes in a round of a few thousand. Hardly anything of what was there before is
copied: a longer table shares its memory with the shorter one that it was made from, which stays as it was.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts import labels as label_rules
from unlisted.counts.whole_numbers import to_arrow
from unlisted.errors import InvalidCountsError
from unlisted.mechanisms.continual.tag_table import TagTable
from unlisted.noise.keyed import NoiseKey, Tags


class LabelTable:
    """Distinct labels of one type, each with its row: the number of labels that appeared before it.

    Labels are looked up by tags of 128 bits, under a key that a table and those that grow from it have for
    themselves: two labels share one with probability below n²/2^129.
    """

    def __init__(
        self, chunks: tuple[pa.Array, ...] = (), index: TagTable | None = None, key: NoiseKey | None = None
    ) -> None:
        self._chunks = chunks
        self._size = sum(len(chunk) for chunk in chunks)
        self._key = key or NoiseKey.fresh()
        self._index = index

    def __len__(self) -> int:
        return self._size

    @property
    def type(self) -> pa.DataType | None:
        """The type of the labels, None before the first one."""
        return self._chunks[0].type if self._size else None

    def rows_of(self, labels: pa.Array) -> NDArray[np.int64]:
        """Return the row of every label, -1 for those that have not appeared."""
        self._require_type(labels)
        return self._indexed().rows_of(block_tags(self._key, labels))

    def appended(self, fresh: pa.Array) -> LabelTable:
        """Return the table with labels that it did not have; this one stays as it is."""
        if len(fresh) == 0:
            # Before the first label, an empty answer has the type of what was last brought.
            return self if self._size else LabelTable((fresh,))
        self._require_type(fresh)
        chunks = [*self._chunks, fresh] if self._size else [fresh]
        # Chunks of doubling sizes: few of them, and each label is copied only a few times.
        while len(chunks) > 1 and len(chunks[-2]) <= 2 * len(chunks[-1]):
            chunks[-2:] = [pa.concat_arrays(chunks[-2:])]
        return LabelTable(tuple(chunks), self._indexed().appended(block_tags(self._key, fresh)), self._key)

    def take(self, rows: NDArray[np.int64]) -> pa.Array:
        """Copy some labels into new buffers that hold nothing else."""
        if not self._chunks:
            return pa.nulls(0, pa.string())
        taken = pa.chunked_array(self._chunks).take(to_arrow(rows))
        return pa.concat_arrays(taken.chunks) if taken.num_chunks != 1 else taken.chunk(0)

    def _indexed(self) -> TagTable:
        if self._index is None:
            index = TagTable()
            for chunk in self._chunks:
                index = index.appended(block_tags(self._key, chunk))
            self._index = index
        return self._index

    def _require_type(self, labels: pa.Array) -> None:
        # An empty array has no type to speak of: the first label decides it.
        if self.type is not None and len(labels) and labels.type != self.type:
            raise InvalidCountsError("A round's labels are of another type than the stream's. Convert them first.")


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
