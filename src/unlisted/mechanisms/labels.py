"""Labels: plain Arrow arrays, ordered and named by their bytes, never by anything else in the data.

A label can betray a person, so three things are settled here and nowhere else. What a label may be: any plain,
non-null value, or a struct of them when the item is several columns. How labels are ordered: by value for
numbers and dates, by bytes for text, field by field for structs, which is a total order that no row can change.
And what leaves: fresh arrays with no dictionary, metadata or buffer of a larger array behind them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from unlisted.errors import InvalidCountsError
from unlisted.mechanisms.duplicates import has_equal_rows
from unlisted.mechanisms.whole_numbers import to_arrow, to_numpy


def plain(labels: object) -> pa.Array:
    """Return labels as one plain Arrow array; refuse nulls, NaN, mixed types and nested values."""
    try:
        array = labels if isinstance(labels, pa.Array | pa.ChunkedArray) else pa.array(_listed(labels))
    except (pa.ArrowException, TypeError, OverflowError, UnicodeEncodeError):
        raise InvalidCountsError(
            "Labels must all be of one type, and of a type that Arrow knows. Convert them first, for example "
            "to text."
        ) from None
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    array = _decoded(array)
    if array.null_count or (pa.types.is_struct(array.type) and any(f.null_count for f in array.flatten())):
        raise InvalidCountsError("A label is null. Drop null items before counting.")
    for field in _fields(array):
        if pa.types.is_floating(field.type) and pc.any(pc.is_nan(field)).as_py():
            raise InvalidCountsError("A label is NaN. Drop NaN items, or convert them to text, before counting.")
    return array


def has_duplicates(labels: pa.Array) -> bool:
    """Return whether two labels are the same, compared by their bytes."""
    return has_equal_rows(_order_keys(labels))


def order(labels: pa.Array, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions that sort by count, largest first, and within a count by label."""
    keys = _order_keys(labels)
    names = _names(keys)
    # Arrow sorts ascending and descending keys in one pass; counts are the first key, labels break ties.
    table = pa.table([to_arrow(counts), *keys], names=["count", *names])
    sorting = [("count", "descending"), *((name, "ascending") for name in names)]
    return to_numpy(pc.sort_indices(table, sort_keys=sorting))


def take(labels: pa.Array, positions: NDArray[np.int64]) -> pa.Array:
    """Copy some labels into new buffers that hold nothing else."""
    return labels.take(to_arrow(positions))


def encode(label: object) -> bytes:
    """Return an injective encoding of a label: its type, its length, its bytes.

    Two labels of any types have the same encoding only if they are the same label, so `1`, `True`, `"1"`, `1.0`
    and `-0.0` against `0.0` are all told apart, and no label can run into what is hashed after it.
    """
    if isinstance(label, dict):
        parts = [encode(part) for part in label.values()]
        return _tagged(b"struct", b"".join(parts))
    if isinstance(label, bool):
        return _tagged(b"bool", b"1" if label else b"0")
    if isinstance(label, str):
        return _tagged(b"text", label.encode("utf-8", "surrogatepass"))
    if isinstance(label, bytes):
        return _tagged(b"bytes", label)
    if isinstance(label, int):
        return _tagged(b"int", str(label).encode())
    if isinstance(label, float):
        return _tagged(b"float", struct.pack(">d", label))
    if isinstance(label, Decimal):
        return _tagged(b"decimal", str(label).encode())
    if isinstance(label, datetime | date | time):
        return _tagged(type(label).__name__.encode(), label.isoformat().encode())
    raise InvalidCountsError("A label is of a type that cannot be named by its bytes. Convert it to text.")


def encode_all(labels: pa.Array) -> list[bytes]:
    """Return the injective encoding of every label of an array.

    Dates and times are read as the whole numbers they are stored as: Python's own know no nanoseconds and end with
    the year 9999, so two labels could become one, or none.
    """
    kind = labels.type
    if pa.types.is_struct(kind):
        fields = [encode_all(field) for field in labels.flatten()]
        return [_tagged(b"struct", b"".join(parts)) for parts in zip(*fields, strict=True)]
    if pa.types.is_temporal(kind):
        stored = labels.view(pa.int32() if kind.bit_width == 32 else pa.int64())
        return [_tagged(str(kind).encode(), str(number).encode()) for number in stored.to_pylist()]
    if pa.types.is_string(kind):
        return [_tagged(b"text", text) for text in labels.cast(pa.binary()).to_pylist()]
    return [encode(label) for label in labels.to_pylist()]


def _tagged(kind: bytes, body: bytes) -> bytes:
    return b"%s:%d:%s;" % (kind, len(body), body)


def _listed(labels: object) -> Any:
    if not isinstance(labels, Iterable) or (isinstance(labels, np.ndarray) and labels.dtype != object):
        return labels
    listed = list(labels)
    # Arrow would read a mixture as one of its types: a date and a time as two dates, text and bytes as bytes. Then
    # the type of what is released would tell of labels that are not.
    if len({_kind(label) for label in listed if label is not None}) > 1:
        raise TypeError
    return listed


def _kind(label: object) -> object:
    """Return what decides the Arrow type of a Python value, as far as it may depend on the value."""
    if isinstance(label, dict):
        return tuple((name, _kind(part)) for name, part in label.items())
    if isinstance(label, Decimal):
        raise InvalidCountsError(
            "Decimals in a list get the digits of the longest one, which may be a label that nobody should see. "
            "Give an Arrow array of a type of your choice, or text."
        )
    return (type(label), str(label.tzinfo)) if isinstance(label, datetime) else type(label)


def _decoded(array: pa.Array) -> pa.Array:
    """Undo dictionaries, views and extension wrappers; refuse what is left nested or has no order."""
    if isinstance(array, pa.ExtensionArray):
        return _decoded(array.storage)
    if pa.types.is_struct(array.type):
        fields = [_decoded_field(field) for field in array.flatten()]
        return pa.StructArray.from_arrays(fields, names=[field.name for field in array.type])
    return _decoded_field(array)


def _decoded_field(array: pa.Array) -> pa.Array:
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return _decoded_field(array.storage)
    if pa.types.is_dictionary(kind):
        return _decoded_field(array.dictionary_decode())
    if pa.types.is_string_view(kind):
        return array.cast(pa.large_string())
    if pa.types.is_binary_view(kind):
        return array.cast(pa.large_binary())
    if pa.types.is_null(kind) and len(array) == 0:
        return array.cast(pa.string())
    if pa.types.is_nested(kind) or pa.types.is_null(kind) or pa.types.is_interval(kind):
        raise InvalidCountsError(
            "Labels are of a nested, empty or unordered type. A label is one plain value, or a struct of plain "
            "values."
        )
    return array


def _fields(array: pa.Array) -> list[pa.Array]:
    return list(array.flatten()) if pa.types.is_struct(array.type) else [array]


def _order_keys(labels: pa.Array) -> list[pa.Array]:
    """Return arrays whose order and equality are those of the labels, -0.0 and 0.0 told apart."""
    keys = []
    for field in _fields(labels):
        if pa.types.is_floating(field.type):
            wide = np.asarray(field.cast(pa.float64()))
            keys += [pa.array(wide), pa.array(~np.signbit(wide))]
        elif pa.types.is_decimal(field.type):
            keys.append(field)
        elif pa.types.is_boolean(field.type):
            keys.append(field.cast(pa.int8()))
        else:
            keys.append(field)
    return keys


def _names(keys: list[pa.Array]) -> list[str]:
    return [f"label{i}" for i in range(len(keys))]
