"""Which values can be read as what their column holds. What cannot be read is as if it were not there.

This is the rule for every engine and every format, and it is written here only:

- A text is readable if its bytes are UTF-8. A number is readable unless it is NaN, and a decimal has no more
  digits than its column. A date or timestamp is readable in the years 1 to 9999, a time within one day. An index
  into a dictionary is readable if the dictionary has an entry there. Of a Python object, what it says of itself
  is readable, if it can say and compare itself at all. A list, a struct or a map in a table is there or it is
  not: nobody can ask about what is in it, so nobody looks.
- A row whose user or item cannot be read is not counted, nor is one of a user whose name has more bytes than
  `LONGEST_USER`. In a predicate a value that cannot be read is NULL.
- A line of a text file is readable if it is no longer than what its format allows and holds what is declared.
- No row decides whether a question is answered, and none decides what becomes of another user's rows.

The rule is applied three times. Where Arrow data enters an engine, each batch is validated, and only one that
fails is looked at value by value. Inside an engine, statements say it in SQL (`Engine.plain`), and the optimiser
is kept from deciding it by statistics. Where labels leave an engine, they are mapped once more, and what is not
readable is dropped without a word.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

LONGEST_USER = 4096
"""Bytes of a user's name. It is kept once for each item of the user: a megabyte of it, which takes no more room in
a file than one row, would fill a disk; and a gigabyte is more than some engines can put anything before."""


def readable(column: pa.Array) -> pa.Array:
    """Return a column of the same type in which whatever cannot be read is null.

    It is the column itself if all of it can be read. A column whose buffers contradict each other, so that nobody
    can say where its values lie, is an error.
    """
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        column.validate()
        column = _mended(column)
    return _without_least(_without_nan(column))


def readable_as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return a readable column as another type, null where a value does not fit into it."""
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        return _kept(column, _one_by_one(column, lambda some: some.cast(kind))).cast(kind)


def readable_labels(labels: pa.Array) -> pa.Array:
    """Return labels, null where they cannot be read; one of several fields is null if one of them cannot."""
    if not pa.types.is_struct(labels.type):
        return readable(labels)
    fields = [readable(field) for field in labels.flatten()]
    if not any(field.null_count for field in fields):
        return labels if labels.null_count == 0 else _struct(fields, labels.type, labels.is_null())
    missing = fields[0].is_null()
    for field in fields[1:]:
        missing = pc.or_(missing, field.is_null())
    return _struct(fields, labels.type, missing)


def _struct(fields: list[pa.Array], kind: pa.DataType, missing: pa.Array) -> pa.Array:
    names = [field.name for field in kind]
    return pa.StructArray.from_arrays(fields, names=names, mask=missing)


def _mended(column: pa.Array) -> pa.Array:
    """Return a column that failed its validation, without the values that made it fail."""
    kind = column.type
    if isinstance(column, pa.ExtensionArray):
        return pa.ExtensionArray.from_storage(kind, readable(column.storage))
    if pa.types.is_dictionary(kind):
        return _mended_dictionary(column)
    if pa.types.is_run_end_encoded(kind):
        return _mended_runs(column)
    if _is_text(kind):
        return pa.array([_text(value) for value in column.cast(pa.large_binary()).to_pylist()], kind)
    return _kept(column, _one_by_one(column, _valid))


def _mended_dictionary(column: pa.DictionaryArray) -> pa.Array:
    values = readable(column.dictionary)
    there = np.asarray(values.is_valid())
    indices = np.asarray(_signed(column.indices).fill_null(-1))
    good = (indices >= 0) & (indices < len(values))
    good[good] = there[indices[good]]
    # An entry that cannot be read must not stay, not even as null: the others move up.
    moved = np.cumsum(there) - 1
    kept = pa.array(moved[indices[good]]).cast(column.indices.type)
    places = pa.array(np.cumsum(good) - 1, mask=~good)
    return pa.DictionaryArray.from_arrays(kept.take(places), _present(values), ordered=column.type.ordered)


def _mended_runs(column: pa.RunEndEncodedArray) -> pa.Array:
    """Return runs whose values can be read; a slice of runs still holds all of them, and keeps its place."""
    values = readable(column.values)
    whole = pa.RunEndEncodedArray.from_arrays(column.run_ends, values, column.type)
    return whole.slice(column.offset, len(column))


def _signed(indices: pa.Array) -> pa.Array:
    """Return indices as whole numbers with a sign; those beyond them are below zero then, and lead nowhere."""
    return indices.cast(pa.int64(), safe=False)


def _present(values: pa.Array) -> pa.Array:
    """Return what is not null; Arrow cannot filter views."""
    if _is_text_view(values.type):
        return pa.array([value for value in values.to_pylist() if value is not None], values.type)
    return values.drop_null()


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or _is_text_view(kind)


def _is_text_view(kind: pa.DataType) -> bool:
    # Older versions of Arrow have no views.
    return str(kind) == "string_view"


def _text(value: bytes | None) -> str | None:
    """Return what bytes say, or None."""
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _valid(column: pa.Array) -> None:
    column.validate(full=True)


def _one_by_one(column: pa.Array, check: Callable[[pa.Array], object]) -> NDArray[np.bool_]:
    """Return which values of any type pass a check that raises, by halves: few do not."""
    try:
        check(column)
    except pa.ArrowInvalid:
        if len(column) == 1:
            return np.zeros(1, dtype=np.bool_)
    else:
        return np.ones(len(column), dtype=np.bool_)
    middle = len(column) // 2
    # Taken, not sliced: what lies inside a slice of lists or structs is validated as a whole.
    halves = [np.arange(middle), np.arange(middle, len(column))]
    return np.concatenate([_one_by_one(column.take(pa.array(half)), check) for half in halves])


def _kept(column: pa.Array, good: NDArray[np.bool_]) -> pa.Array:
    """Return the column with null in the place of every value that is not good."""
    return column.take(pa.array(np.arange(len(column)), mask=~good))


def _without_nan(column: pa.Array) -> pa.Array:
    if not pa.types.is_floating(column.type) or len(column) == 0:
        return column
    wide = column.cast(pa.float32()) if pa.types.is_float16(column.type) else column
    nan = pc.is_nan(wide)
    return _kept(column, ~np.asarray(nan.fill_null(True))) if pc.any(nan).as_py() else column  # noqa: FBT003


def _without_least(column: pa.Array) -> pa.Array:
    """Return decimals without the least that their bits can hold: it fits no type, and Arrow holds it valid.

    Arrow looks at how large a number is without its sign, and this one has no such number in as many bits. DuckDB
    would read whatever is in its memory, somebody else's number perhaps.
    """
    if (inside := _inside(column)) is not None:
        return column if inside is _without_least(inside) else _mended(column)
    if not pa.types.is_decimal(column.type) or len(column) == 0:
        return column
    width = column.type.byte_width
    word = np.dtype("<i4" if width == 4 else "<i8")
    raw = np.frombuffer(column.buffers()[1], np.uint8, len(column) * width, column.offset * width)
    # The last word of a number has its sign.
    is_least = raw.view(word)[width // word.itemsize - 1 :: width // word.itemsize] == np.iinfo(word).min
    return _kept(column, ~is_least) if is_least.any() else column


def _inside(column: pa.Array) -> pa.Array | None:
    """Return the values of a column that only says where they are, or how they are meant."""
    if isinstance(column, pa.ExtensionArray):
        return column.storage
    if isinstance(column, pa.DictionaryArray):
        return column.dictionary
    return column.values if isinstance(column, pa.RunEndEncodedArray) else None
