"""The items that a caller asks for, as labels of a stream's own type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from unlisted.counts.labels import encode_all
from unlisted.errors import InvalidArgumentError


def as_labels(items: Iterable[Any], kind: pa.DataType | None) -> pa.Array:
    """Return items as labels of a type, each once; what cannot be of that type is no label of the stream.

    An item of several columns is a tuple or a list. Text is read as the type is written, so a shell can name
    numbers and dates.
    """
    if isinstance(items, str | bytes):
        raise InvalidArgumentError("items", items, "a list of items", "For one item, say [item].")
    asked = list(items)
    if kind is None:
        # Nothing was shown so far.
        return pa.nulls(0, pa.string())
    parts = [field.type for field in kind] if pa.types.is_struct(kind) else [kind]
    read = [_scalars(item if len(parts) > 1 else (item,), parts) for item in asked]
    found = [scalars for scalars in read if scalars is not None]
    columns = [pa.array([one[at] for one in found], part) for at, part in enumerate(parts)]
    labels = columns[0]
    if pa.types.is_struct(kind):
        labels = pa.StructArray.from_arrays(columns, names=[field.name for field in kind])
    once = {name: at for at, name in reversed(list(enumerate(encode_all(labels))))}
    return labels.take(pa.array(sorted(once.values()), pa.int64()))


def _scalars(item: Any, kinds: list[pa.DataType]) -> list[pa.Scalar] | None:
    if not isinstance(item, tuple | list) or len(item) != len(kinds):
        return None
    try:
        read = [pa.scalar(part).cast(kind) for part, kind in zip(item, kinds, strict=True)]
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    return read if all(one.is_valid for one in read) else None
