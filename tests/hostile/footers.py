"""Footers of Parquet files, read and written again with other statistics: files that lie.

A footer is one struct in Thrift's compact protocol. It is read into plain values that remember their types, and
written from them; only what a test changes is different. Offsets stay true, because the footer comes last.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

BOOLEANS, BYTE, WHOLE, DOUBLE, BINARY, LIST, STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12
ROW_GROUPS, COLUMNS, META_DATA, STATISTICS, NAMES = 4, 1, 3, 12, 3
OLD_MAX, OLD_MIN, NULLS, DISTINCT, MAX, MIN = 1, 2, 3, 4, 5, 6

Fields = dict[int, tuple[int, Any]]
"""A struct: of each field its type and its value. A list is its elements' type and the elements."""


def rewritten(path: Path, change: Callable[[str, Fields], None]) -> None:
    """Let `change` alter the statistics of each column chunk, given the column's name."""
    data = path.read_bytes()
    (size,) = struct.unpack("<i", data[-8:-4])
    footer = _Reader(data[-8 - size : -8]).fields()
    for group in footer[ROW_GROUPS][1][1]:
        for chunk in group[COLUMNS][1][1]:
            meta = chunk[META_DATA][1]
            statistics = meta.setdefault(STATISTICS, (STRUCT, {}))[1]
            change(meta[NAMES][1][1][0].decode(), statistics)
    written = bytes(_fields(footer))
    path.write_bytes(data[: -8 - size] + written + struct.pack("<i", len(written)) + b"PAR1")


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def fields(self) -> Fields:
        found: Fields = {}
        last = 0
        while (head := self._byte()) != 0:
            kind, step = head & 15, head >> 4
            last = last + step if step else _unzigzag(self._varint())
            found[last] = (kind, kind == 1 if kind in BOOLEANS else self._value(kind))
        return found

    def _value(self, kind: int) -> Any:
        if kind == STRUCT:
            return self.fields()
        if kind in WHOLE:
            return _unzigzag(self._varint())
        if kind == BINARY:
            return self._take(self._varint())
        if kind in LIST:
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else self._varint()
            return (head & 15, [self._value(head & 15) for _ in range(size)])
        return self._take(8 if kind == DOUBLE else 1)

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def _byte(self) -> int:
        return self._take(1)[0]

    def _take(self, size: int) -> bytes:
        self._at += size
        return self._data[self._at - size : self._at]


def _fields(fields: Fields) -> Iterator[int]:
    last = 0
    for number, (kind, value) in sorted(fields.items()):
        if kind in BOOLEANS:
            kind = 1 if value else 2  # noqa: PLW2901 - a boolean is its own type
        step = number - last
        yield from [step << 4 | kind] if step < 16 else [kind, *_varint(_zigzag(number))]
        yield from () if kind in BOOLEANS else _value(kind, value)
        last = number
    yield 0


def _value(kind: int, value: Any) -> Iterator[int]:
    if kind == STRUCT:
        yield from _fields(value)
    elif kind in WHOLE:
        yield from _varint(_zigzag(value))
    elif kind == BINARY:
        yield from [*_varint(len(value)), *value]
    elif kind in LIST:
        of, elements = value
        yield from [len(elements) << 4 | of] if len(elements) < 15 else [15 << 4 | of, *_varint(len(elements))]
        for element in elements:
            yield from _value(of, element)
    else:
        yield from value


def _varint(value: int) -> list[int]:
    written = []
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    return [*written, value]


def _zigzag(value: int) -> int:
    return value << 1 if value >= 0 else (-value << 1) - 1


def _unzigzag(value: int) -> int:
    return value >> 1 if value % 2 == 0 else -(value + 1 >> 1)
