"""A release in few bytes: labels are numbers in a table of names that all releases of a stream share.

Every release stands for itself. What it shows is a bit for each name; its counts follow in the order of the names,
byte by byte of their significance, so that the many small ones compress well. The ends of intervals are a function
of the count, so they are kept once for each distinct count. The order of the rows is a function of what they say,
so it is not kept at all. (The difference to the release before would be no smaller: it is noise.)

A release of another shape is kept as it is: what `unpacked` returns is always exactly what `packed` was given.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts import labels as label_rules
from unlisted.counts.whole_numbers import to_arrow, to_numpy
from unlisted.release.release import NUMBERS, Release, item_columns
from unlisted.streams.shown_names import ShownNames

Whole = NDArray[np.int64]

_COUNTS = ["count", "low", "high"]
_NO_TIME = datetime.fromtimestamp(0, UTC)
"""The bytes of a release are a function of key and contents; when it was made is kept beside them."""

_LENGTH_BYTES = 8
_WHOLE, _PACKED = b"w", b"p"


@dataclass(frozen=True)
class Rows:
    """What a release shows, in the order of the names: their numbers, and the counts with their intervals."""

    names: Whole
    count: Whole
    low: Whole
    high: Whole

    def __len__(self) -> int:
        return len(self.names)

    def of(self, names: Whole) -> Rows:
        """Return the rows of some names."""
        kept = np.isin(self.names, names)
        return Rows(self.names[kept], self.count[kept], self.low[kept], self.high[kept])


def labels_of(table: pa.Table) -> pa.Array:
    """Return the labels of a release's table as one array: several item columns as a struct."""
    columns = [name for name in table.column_names if name not in NUMBERS]
    arrays = [_joined(table.column(name)) for name in columns]
    return arrays[0] if len(arrays) == 1 else pa.StructArray.from_arrays(arrays, names=columns)


def columns_of(table: pa.Table) -> tuple[Whole, Whole, Whole]:
    """Return the counts of a release's table and the ends of their intervals."""
    count, low, high = (to_numpy(_joined(table.column(name))) for name in _COUNTS)
    return count, low, high


def packed(release: Release, names: ShownNames) -> bytes:
    """Return a release as bytes; every label that it shows must have its name in the table."""
    bare = replace(release, time=_NO_TIME, stamp=None)
    rows = _rows_of(bare, names)
    if rows is not None:
        head = replace(bare, table=bare.table.schema.empty_table()).to_bytes()
        body = b"".join((_PACKED, len(head).to_bytes(_LENGTH_BYTES), head, _rows_to_bytes(rows)))
        data = zlib.compress(body)
        if unpacked(data, names).table.equals(bare.table, check_metadata=True):
            return data
    return zlib.compress(_WHOLE + bare.to_bytes())


def unpacked(data: bytes, names: ShownNames) -> Release:
    """Return the release that `packed` was given."""
    body = zlib.decompress(data)
    if body[:1] == _WHOLE:
        return Release.from_bytes(body[1:])
    head, rows = _parted(body)
    release = Release.from_bytes(head)
    if not len(rows):
        return release
    items = tuple(name for name in release.table.column_names if name not in NUMBERS)
    return replace(release, table=table_of(rows, names, items))


def rows_in(data: bytes, names: ShownNames) -> Rows:
    """Return what a release shows, without making a release of it."""
    body = zlib.decompress(data)
    if body[:1] != _WHOLE:
        return _parted(body)[1]
    release = Release.from_bytes(body[1:])
    rows = names.numbers_of(labels_of(release.table))
    order = np.argsort(rows)
    return Rows(rows[order], *(column[order] for column in columns_of(release.table)))


def table_of(rows: Rows, names: ShownNames, items: tuple[str, ...]) -> pa.Table:
    """Return rows as a table, in the order of a release: by count, largest first, and then by label."""
    labels = names.take(rows.names)
    order = label_rules.order(labels, rows.count)
    columns = {
        **item_columns(label_rules.take(labels, order), items),
        **{name: to_arrow(getattr(rows, name)[order]) for name in _COUNTS},
    }
    return pa.table(columns)


def _rows_of(release: Release, names: ShownNames) -> Rows | None:
    """Return the rows of a release as they are packed; None if they are of another shape."""
    table = release.table
    if table.column_names[-len(_COUNTS) :] != _COUNTS or "rank" in table.column_names:
        return None
    if not len(release):
        nobody = np.zeros(0, dtype=np.int64)
        return Rows(nobody, nobody, nobody, nobody)
    numbers = names.numbers_of(labels_of(release.table))
    order = np.argsort(numbers)
    return Rows(numbers[order], *(column[order] for column in columns_of(table)))


def _rows_to_bytes(rows: Rows) -> bytes:
    size = int(rows.names[-1]) + 1 if len(rows) else 0
    shown = np.zeros(size, dtype=bool)
    shown[rows.names] = True
    _, first = np.unique(rows.count, return_index=True)
    below, above = (rows.count - rows.low)[first], (rows.high - rows.count)[first]
    lengths = size.to_bytes(_LENGTH_BYTES)
    planes = [_planes(numbers) for numbers in (rows.count, _steps(below), _steps(above))]
    return b"".join((lengths, np.packbits(shown).tobytes(), *planes))


def _rows_from_bytes(data: memoryview) -> Rows:
    size = int.from_bytes(data[:_LENGTH_BYTES])
    bits_end = _LENGTH_BYTES + -(-size // 8)
    shown = np.unpackbits(np.frombuffer(data[_LENGTH_BYTES:bits_end], np.uint8), count=size)
    names = np.flatnonzero(shown)
    counts_end = bits_end + 8 * len(names)
    count = _numbers(data[bits_end:counts_end])
    _, place = np.unique(count, return_inverse=True)
    middle = counts_end + (len(data) - counts_end) // 2
    below, above = (np.cumsum(_numbers(part)) for part in (data[counts_end:middle], data[middle:]))
    return Rows(names, count, count - below[place], count + above[place])


def _parted(body: bytes) -> tuple[bytes, Rows]:
    start = len(_PACKED) + _LENGTH_BYTES
    end = start + int.from_bytes(body[len(_PACKED) : start])
    return body[start:end], _rows_from_bytes(memoryview(body)[end:])


def _steps(numbers: Whole) -> Whole:
    return np.diff(numbers, prepend=np.int64(0))


def _planes(numbers: Whole) -> bytes:
    """Return whole numbers byte by byte of their significance: first the lowest byte of each, then the next."""
    return numbers.astype("<i8").view(np.uint8).reshape(-1, 8).T.tobytes()


def _numbers(planes: memoryview) -> Whole:
    numbers: Whole = np.frombuffer(planes, np.uint8).reshape(8, -1).T.copy().view("<i8").ravel().astype(np.int64)
    return numbers


def _joined(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
