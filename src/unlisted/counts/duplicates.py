"""Whether two rows are the same, by their bytes: quick, small, and exact.

Each row gets a fingerprint of 64 bits; equal rows have equal fingerprints. If all fingerprints differ, so do all
rows. If some do not, the rows that share one, nearly always none or the duplicates themselves, are compared as
they are. So a collision costs time and changes no verdict, and eight bytes a row are all that is needed besides
the rows, where a table of everything seen would take a hundred and more.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Words = NDArray[np.uint64]

BYTES_AT_ONCE = 1 << 17
"""Text is read in pieces of about this size, so that what is computed on the way stays small."""

RADIX = 0x9E3779B97F4A7C15
INVERSE = pow(RADIX, -1, 2**64)
"""Nothing depends on which number it is, but that it is odd and its powers look like chance."""


def has_equal_rows(columns: list[pa.Array]) -> bool:
    """Return whether two rows of these columns are equal in all of them. There must be no nulls."""
    if len(columns[0]) < 2:
        return False
    seen = fingerprints(columns)
    seen.sort()
    shared = np.unique(seen[1:][seen[1:] == seen[:-1]])
    if len(shared) == 0:
        return False
    suspects = pa.array(np.isin(fingerprints(columns), shared))
    names = [f"column{at}" for at in range(len(columns))]
    rows = pa.table([column.filter(suspects) for column in columns], names=names)
    return bool(rows.group_by(names).aggregate([]).num_rows != rows.num_rows)


def fingerprints(columns: list[pa.Array]) -> Words:
    """Return a number for each row, the same for equal rows."""
    total = np.zeros(len(columns[0]), dtype=np.uint64)
    for at, column in enumerate(columns):
        # A factor for each column, so that rows whose values are exchanged differ.
        total += _of_column(column) * _powers(RADIX, at + 1)[at]
    return total


def _of_column(column: pa.Array) -> Words:
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _of_texts(column, np.dtype(np.int32))
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return _of_texts(column, np.dtype(np.int64))
    if pa.types.is_boolean(kind):
        return np.asarray(column.cast(pa.uint8())).astype(np.uint64)
    width, buffer = kind.bit_width // 8, column.buffers()[1]
    raw = np.frombuffer(buffer, np.uint8, len(column) * width, column.offset * width)
    if width in (1, 2, 4, 8):
        return _scrambled(raw.view(f"u{width}").astype(np.uint64))
    return _of_piece(raw, np.arange(0, len(raw) + 1, width))


def _of_texts(column: pa.Array, offset_type: np.dtype[np.signedinteger]) -> Words:
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, offset_type, len(column) + 1, column.offset * offset_type.itemsize)
    raw = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    total = np.zeros(len(column), dtype=np.uint64)
    first = 0
    while first < len(column):
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + BYTES_AT_ONCE, side="right")) - 1)
        total[first:last] = _of_piece(raw[ends[first] : ends[last]], ends[first : last + 1] - ends[first])
        first = last
    return total


def _of_piece(raw: NDArray[np.uint8], ends: NDArray[np.signedinteger]) -> Words:
    """Return for each text b0 b1 b2 ... the number (b0+1) + (b1+1)·r + (b2+1)·r² + ..., modulo 2^64.

    All texts are one sum, of which a text is a difference: its bytes are multiplied with powers from where it
    begins, and that power is divided out again. One is added, so that no text equals one with zero bytes behind.
    """
    terms = (raw.astype(np.uint64) + np.uint64(1)) * _powers(RADIX, len(raw))
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)])
    found: Words = (sums[ends[1:]] - sums[ends[:-1]]) * _powers(INVERSE, len(raw) + 1)[ends[:-1]]
    return found


def _powers(base: int, least: int) -> Words:
    """Return at least so many powers of a number, modulo 2^64."""
    return _table(base, max(BYTES_AT_ONCE + 1, least))[:least]


@lru_cache(maxsize=2)
def _table(base: int, size: int) -> Words:
    factors = np.full(size, base, dtype=np.uint64)
    factors[0] = 1
    return np.cumprod(factors, dtype=np.uint64)


def _scrambled(numbers: Words) -> Words:
    """Spread whole numbers over 64 bits, one to one."""
    mixed: Words = (numbers + np.uint64(1)) * np.uint64(RADIX)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(RADIX)
    return mixed
