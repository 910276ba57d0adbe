"""Whole numbers between NumPy and Arrow, buffer to buffer.

PyArrow's own conversions look for pandas first, and importing it where it is installed takes as long as all the
rest of a small answer. A column of 64-bit numbers without nulls is the same bytes on both sides.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def to_arrow(values: NDArray[np.int64], valid: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return an Arrow array of the same numbers, in bytes of its own; null where they are not valid."""
    bits = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())
    return pa.Array.from_buffers(pa.int64(), len(values), [bits, pa.py_buffer(values.astype(np.int64).tobytes())])


def whole_columns(**columns: NDArray[np.int64]) -> pa.Table:
    """Return an Arrow table of columns of whole numbers."""
    return pa.table({name: to_arrow(column) for name, column in columns.items()})


def to_numpy(array: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
    """Return the numbers of a 64-bit integer array without nulls."""
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    parts = [
        np.frombuffer(chunk.buffers()[1], dtype=np.int64, count=len(chunk), offset=8 * chunk.offset)
        for chunk in chunks
        if len(chunk)
    ]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
