"""Texts in the order of their bytes, for a hundred thousand at a time.

Most texts differ in the first eight bytes behind what they all begin with, and eight bytes are a number, which
sorts in a fraction of the time. Those that do not differ there are compared as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from unlisted.counts.whole_numbers import to_arrow, to_numpy

_WORD = 8
_KEPT = (np.tri(_WORD + 1, _WORD, -1, dtype=np.uint8) * np.uint8(255)).view(">u8").ravel().astype(np.uint64)
"""In row n the first n bytes are full: which bytes of a word belong to a text of which n are left."""


class TextOrder(NamedTuple):
    """The positions that sort texts by their bytes, and whether two of them are equal."""

    positions: NDArray[np.int64]
    has_equal: bool


def text_order(texts: pa.Array) -> TextOrder:
    """Sort texts by their bytes. There must be no nulls."""
    if len(texts) < 2:
        return TextOrder(np.arange(len(texts)), has_equal=False)
    words = _first_different_words(*text_bytes(texts))
    order = np.argsort(words)
    ordered = words[order]
    same = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(same) == 0:
        return TextOrder(order, has_equal=False)
    # Equal words stand together, so whatever else tells their texts apart changes places among them only.
    places = np.union1d(same, same + 1)
    some = texts.take(to_arrow(order[places]))
    among = pc.sort_indices(some)
    order[places] = order[places][to_numpy(among.cast(pa.int64()))]
    some = some.take(among)
    return TextOrder(order, bool(pc.any(pc.equal(some[1:], some[:-1])).as_py()))


def is_text(labels: pa.Array) -> bool:
    """Return whether labels are texts that lie in Arrow's short form, as nearly all do."""
    return bool(pa.types.is_string(labels.type))


def text_bytes(texts: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Return the bytes of texts, one after the other, and where each of them begins and the last one ends."""
    if len(texts) == 0:
        return np.zeros(0, dtype=np.uint8), np.zeros(1, dtype=np.int32)
    _, ends, data = texts.buffers()
    places = np.frombuffer(ends, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return np.frombuffer(data or b"", np.uint8), places


def _first_different_words(data: NDArray[np.uint8], ends: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return eight bytes of each text as a number, from where not all are the same; what lies beyond is 0."""
    padded = np.concatenate([data, np.zeros(_WORD, dtype=np.uint8)])
    # The 8 bytes that begin at each place.
    at_once = np.ndarray(len(data) + 1, dtype=">u8", buffer=padded, strides=(1,))
    starts, lengths = ends[:-1].astype(np.int64), np.diff(ends).astype(np.int64)
    shortest = int(lengths.min())
    skipped = 0
    while True:
        left = np.minimum(lengths - skipped, _WORD)
        words: NDArray[np.uint64] = at_once[starts + skipped].astype(np.uint64) & _KEPT[left]
        differing = int(np.bitwise_or.reduce(words ^ words[0]))
        common = (_WORD * 8 - differing.bit_length()) // 8
        # No further than the shortest one goes: what lies behind it is another text's.
        common = min(common, shortest - skipped)
        if common == 0:
            return words
        skipped += common
