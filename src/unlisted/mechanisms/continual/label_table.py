"""The labels of a stream, in the order in which they appeared.

A stream of a million labels takes in a round of a few thousand. Hardly anything of what was there before is
copied: a longer table shares its memory with the shorter one that it was made from, which stays as it was.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts import labels as label_rules
from unlisted.counts.text_order import is_text, text_bytes
from unlisted.counts.whole_numbers import to_arrow
from unlisted.errors import InvalidCountsError
from unlisted.mechanisms.continual.tag_table import TagTable
from unlisted.noise.keyed import NoiseKey, Tags


class LabelTable:
    """Distinct labels of one type, each with its row: the number of labels that appeared before it.

    Labels are looked up by tags of 128 bits, under a key that a table shares with those that grow from it: two
    labels share one with probability below n²/2^129.
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

    def tags(self, labels: pa.Array) -> Tags:
        """Return what these labels are looked up by."""
        self._require_type(labels)
        return block_tags(self._key, labels)

    def rows_of(self, labels: pa.Array, tags: Tags | None = None) -> NDArray[np.int64]:
        """Return the row of every label, -1 for those that have not appeared; their tags may be at hand."""
        self._require_type(labels)
        return self._indexed().rows_of(self.tags(labels) if tags is None else tags)

    def appended(self, fresh: pa.Array, tags: Tags | None = None) -> LabelTable:
        """Return the table with labels that it did not have; this one stays as it is."""
        if len(fresh) == 0:
            # Before the first label, an empty answer has the type of what was last brought.
            return self if self._size else LabelTable((fresh,), key=self._key)
        self._require_type(fresh)
        chunks = [*self._chunks, fresh] if self._size else [fresh]
        # Chunks of doubling sizes: few of them, and each label is copied only a few times.
        while len(chunks) > 1 and len(chunks[-2]) <= 2 * len(chunks[-1]):
            chunks[-2:] = [pa.concat_arrays(chunks[-2:])]
        index = self._indexed().appended(self.tags(fresh) if tags is None else tags)
        return LabelTable(tuple(chunks), index, self._key)

    def take(self, rows: NDArray[np.int64]) -> pa.Array:
        """Copy some labels into new buffers that hold nothing else."""
        if not self._chunks:
            return pa.nulls(0, pa.string())
        taken = pa.chunked_array(self._chunks).take(to_arrow(rows))
        return pa.concat_arrays(taken.chunks) if taken.num_chunks != 1 else taken.chunk(0)

    def since(self, rows: int) -> pa.Array:
        """Return the labels that were added to the first so many."""
        if not self._chunks:
            return pa.nulls(0, pa.string())
        chunks = pa.chunked_array(self._chunks).slice(rows).chunks or [self._chunks[0][:0]]
        return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)

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


def block_tags(key: NoiseKey, labels: pa.Array) -> Tags:
    """Return the tags of many labels at once."""
    if is_text(labels):
        return key.block_tags(*text_bytes(labels), of=b"text")
    encoded = label_rules.encode_all(labels)
    ends = np.cumsum([0, *map(len, encoded)])
    return key.block_tags(np.frombuffer(b"".join(encoded), np.uint8), ends, of=b"encoded")
