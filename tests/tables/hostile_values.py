"""Values that a column can hold but nobody can read, made as broken writers make them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

LATIN = b"caf\xe9"
LONG_LATIN = b"a longer text, beyond what a view holds in place: caf\xe9"

STORED = {
    pa.string(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
}
"""How the bytes of texts are stored."""


def texts(values: Sequence[bytes | None], kind: pa.DataType = pa.string()) -> pa.Array:  # noqa: B008 - a constant
    """Return an array of texts whose bytes nobody has looked at."""
    return pa.Array.from_buffers(kind, len(values), pa.array(values, STORED[kind]).buffers())


def dictionary(values: Sequence[bytes], kind: pa.DataType) -> pa.Array:
    """Return the same as a dictionary, each text once."""
    entries = sorted(set(values))
    indices = pa.array([entries.index(value) for value in values], pa.int32())
    return pa.DictionaryArray.from_arrays(indices, texts(entries, kind))


def stored(numbers: Sequence[int], kind: pa.DataType) -> pa.Array:
    """Return values of a type by the whole numbers that stand for them."""
    return pa.array(numbers, pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)


def decimals(numbers: Sequence[int], digits: int) -> pa.Array:
    """Return decimals of two places by their unscaled numbers, whether or not they fit."""
    held = b"".join(number.to_bytes(16, "little", signed=True) for number in numbers)
    return pa.Array.from_buffers(pa.decimal128(digits, 2), len(numbers), [None, pa.py_buffer(held)])


def people(count: int, item: Any, **more: Any) -> pa.Table:
    """Return a table with one row for each of so many users."""
    users = pa.array([f"u{i}" for i in range(count)])
    return pa.table({"user": users, "item": item, "age": pa.array([i % 90 for i in range(count)]), **more})
