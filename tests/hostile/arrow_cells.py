"""Hostile cells of Arrow columns, down to the bits: what Parquet files and frames can carry.

A cell is what goes into the column's storage: bytes for text, the bits of a float, the whole number behind a
moment. So nothing that pyarrow refuses to make of Python's values is out of reach.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
from tests.hostile.cells import (
    HUGE,
    TEXTS,
    TEXTS_WITH_NUL,
    TOO_LONG,
    UNDECODABLE,
    Cell,
    Kind,
    Leaves,
)

NOTHING = Leaves.NOTHING
MISSING = Cell("NULL", None, NOTHING)
LEAST, MOST = -(2**63), 2**63 - 1
DAY = 86_400


def array(kind: Kind, cells: Sequence[Any]) -> pa.Array:
    """Write cells into a column of their kind."""
    typed, storage = kind.typed, STORAGE.get(kind.typed)
    if storage is not None:
        return pa.array(cells, storage).view(typed)
    if pa.types.is_dictionary(typed):
        distinct = list(dict.fromkeys(cells))
        values = array(replace(kind, typed=typed.value_type), distinct)
        return pa.DictionaryArray.from_arrays(pa.array(map(distinct.index, cells), pa.int32()), values)
    if pa.types.is_run_end_encoded(typed):
        values = array(replace(kind, typed=typed.value_type), cells)
        ends = pa.array(range(1, len(cells) + 1), pa.int32())
        return pa.Array.from_buffers(typed, len(cells), [None], children=[ends, values])
    if typed in UNCHECKED_DECIMALS:
        width = typed.byte_width
        unscaled = (b"" if cell is None else int(cell).to_bytes(width, "little", signed=True) for cell in cells)
        data = pa.py_buffer(b"".join(one or bytes(width) for one in unscaled))
        return pa.Array.from_buffers(typed, len(cells), [_validity(cells), data])
    if isinstance(typed, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(typed, array(replace(kind, typed=typed.storage_type), cells))
    if binary := BINARY_OF.get(typed):
        raw = pa.array(cells, binary)
        return pa.Array.from_buffers(typed, len(raw), raw.buffers())
    if pa.types.is_list(typed) and typed.value_type == pa.string():
        raw = pa.array(cells, pa.list_(pa.binary()))
        values = pa.Array.from_buffers(pa.string(), len(raw.values), raw.values.buffers())
        return pa.Array.from_buffers(typed, len(raw), raw.buffers()[:2], children=[values])
    return pa.array(cells, typed)


def _validity(cells: Sequence[Any]) -> pa.Buffer | None:
    return pa.array([None if cell is None else 0 for cell in cells], pa.int8()).buffers()[0]


BINARY_OF = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}

STORAGE = {
    pa.float16(): pa.uint16(),
    pa.float32(): pa.uint32(),
    pa.float64(): pa.uint64(),
    pa.date32(): pa.int32(),
    pa.date64(): pa.int64(),
    **{pa.timestamp(unit): pa.int64() for unit in ("s", "ms", "us", "ns")},
    pa.timestamp("us", "UTC"): pa.int64(),
    pa.time32("ms"): pa.int32(),
    pa.time64("us"): pa.int64(),
    pa.duration("us"): pa.int64(),
}
"""What bits a type is a view of."""

UNCHECKED_DECIMALS = {pa.decimal128(10, 2), pa.decimal128(18, 0)}
"""Decimals whose values can have more digits than their type says."""


def text_kind(name: str, typed: pa.DataType) -> Kind:
    cells = [
        *(Cell(name, text.encode(), text) for name, text in {**TEXTS, **TEXTS_WITH_NUL}.items()),
        *(Cell(name, raw, raw.decode(), too_long=True) for name, raw in TOO_LONG.items()),
        Cell("ten megabytes", HUGE, HUGE.decode(), too_long=True),
        *(Cell(name, raw, NOTHING) for name, raw in UNDECODABLE.items()),
        Cell("ten undecodable megabytes", HUGE + b"\xff", NOTHING),
        MISSING,
    ]
    # DuckDB looks at the bytes of a column until it has seen a letter that is not ASCII, and then no more.
    return Kind(name, "text", typed, ("é".encode(), b"b", b"c", b"d", b"ab", b"bc", b"cd"), tuple(cells))


def float_kind(typed: pa.DataType, exponent: int, mantissa: int) -> Kind:
    """A type of so many bits of exponent and mantissa; a cell is its bits."""
    sign, ones = 1 << (exponent + mantissa), ((1 << exponent) - 1) << mantissa
    quiet = ones | 1 << (mantissa - 1)
    nan = {
        "a quiet NaN": quiet,
        "a negative NaN": sign | quiet,
        "a signalling NaN": ones | 1,
        "NaN with a payload": quiet | 0x2A,
        "NaN of all ones": sign | ones | ((1 << mantissa) - 1),
    }
    cells = [
        *(Cell(name, bits, NOTHING) for name, bits in nan.items()),
        Cell("infinity", ones, float("inf")),
        Cell("minus infinity", sign | ones, float("-inf")),
        Cell("zero", 0, 0.0, again=(sign,)),
        Cell("minus zero", sign, -0.0, again=(0,)),
        Cell("the smallest", 1),
        Cell("the largest", ones - 1),
        MISSING,
    ]
    storage = STORAGE[typed]
    numbers = [1.25, 2.0, 3.0, 4.0, 5.5, 6.0, 7.75]
    calm = pa.array(numbers, pa.float32()).cast(typed).view(storage).to_pylist()
    return Kind(str(typed), "number", typed, tuple(calm), tuple(cells))


def whole_kind(typed: pa.DataType) -> Kind:
    bits, signed = typed.bit_width, pa.types.is_signed_integer(typed)
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    edges = {"the least": least, "the most": most, "zero": 0, "one less than the most": most - 1}
    cells = [*(Cell(name, value, value) for name, value in edges.items()), MISSING]
    return Kind(str(typed), "int", typed, (1, 2, 3, 4, 5, 6, 7), tuple(cells))


def decimal_kind(typed: pa.DataType) -> Kind:
    digits = Decimal((0, (9,) * typed.precision, -typed.scale))
    smallest = Decimal((0, (1,), -typed.scale))
    values = {"all nines": digits, "minus all nines": digits.copy_negate(), "the smallest": smallest}
    zero = Cell("minus zero", Decimal((1, (0,), -typed.scale)))
    room = typed.precision - typed.scale
    calm = tuple(Decimal(n) if room > 1 else Decimal((0, (n,), -typed.scale)) for n in range(2, 9))
    return Kind(str(typed), "number", typed, calm, (*(Cell(n, v, v) for n, v in values.items()), zero, MISSING))


def lying_decimal_kind(typed: pa.DataType) -> Kind:
    cells = [
        Cell("more digits than declared", 10 ** (typed.precision + 3)),
        Cell("twice the digits", 10 ** min(2 * typed.precision, 37) + 1),
        Cell("2^64", 2**64),
        Cell("-2^127", -(2**127)),
        MISSING,
    ]
    calm = tuple(n * 10**typed.scale for n in range(1, 8))
    return Kind(f"{typed} with too many digits", "number", typed, calm, tuple(cells))


def moment_kind(typed: pa.DataType, word: str, second: float) -> Kind:
    """A day or a moment; `second` is how many units of its storage a second is."""
    epoch = datetime.datetime(1970, 1, 1)
    months = [datetime.datetime(2020, month, 1) - epoch for month in range(1, 8)]
    calm = tuple(round(month.total_seconds() * second) for month in months)
    least, most = (-(2**31), 2**31 - 1) if STORAGE[typed] == pa.int32() else (LEAST, MOST)
    far = {
        "year 10000": 253_402_300_800,
        "year 0": -62_167_219_200,
        "before the calendar": -210_895_000_000 * 10,
        "year 290000": 9_000_000_000_000,
    }
    scaled = {name: round(at * second) for name, at in far.items()}
    extremes = {"the least": least, "the most": most, "one above the least": least + 1, "minus the most": -most}
    # 2262 is as far as nanoseconds reach: everything they say is in the calendar.
    # A moment with a zone can only be a user, whose text is all that counts.
    in_calendar = second > 1e8 or word == "other"
    fits = {name: at for name, at in {**scaled, **extremes}.items() if least <= at <= most}
    cells = [Cell(name, at, Leaves.UNSAID if in_calendar else NOTHING) for name, at in fits.items()]
    cells += [Cell("the epoch", 0), Cell("the last of 9999", round(253_402_214_400 * second))][
        : 1 + (not in_calendar)
    ]
    return Kind(str(typed), word, typed, calm, (*cells, MISSING))


def other_kind(name: str, typed: Any, calm: Iterable[Any], **hostile: Any) -> Kind:
    """A kind that can only be a user, be missing, or be left alone."""
    cells = (Cell(said.replace("_", " "), value) for said, value in hostile.items())
    return Kind(name, "other", typed, tuple(calm), (*cells, MISSING))


def _kinds() -> Iterable[Kind]:
    yield text_kind("string", pa.string())
    yield text_kind("large_string", pa.large_string())
    yield text_kind("string_view", pa.string_view())
    yield text_kind("dictionary of string", pa.dictionary(pa.int32(), pa.string()))
    yield text_kind("dictionary of large_string", pa.dictionary(pa.int32(), pa.large_string()))
    yield text_kind("runs of string", pa.run_end_encoded(pa.int32(), pa.string()))
    yield float_kind(pa.float64(), 11, 52)
    yield float_kind(pa.float32(), 8, 23)
    yield float_kind(pa.float16(), 5, 10)
    for bits in (pa.int8(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64()):
        yield whole_kind(bits)
    for precision, scale in ((38, 0), (38, 38), (38, 18), (9, 2)):
        yield decimal_kind(pa.decimal128(precision, scale))
    yield decimal_kind(pa.decimal256(76, 0))
    yield decimal_kind(pa.decimal256(76, 38))
    for lying in sorted(UNCHECKED_DECIMALS, key=str):
        yield lying_decimal_kind(lying)
    yield moment_kind(pa.date32(), "date", 1 / DAY)
    yield moment_kind(pa.date64(), "date", 1e3)
    yield moment_kind(pa.timestamp("s"), "timestamp", 1)
    yield moment_kind(pa.timestamp("ms"), "timestamp", 1e3)
    yield moment_kind(pa.timestamp("us"), "timestamp", 1e6)
    yield moment_kind(pa.timestamp("ns"), "timestamp", 1e9)
    yield moment_kind(pa.timestamp("us", "UTC"), "other", 1e6)
    yield Kind("bool", "bool", pa.bool_(), (True, False), (MISSING,))
    times = [n * 3_600_000 for n in range(1, 8)]
    yield other_kind("time32[ms]", pa.time32("ms"), times, negative=-1, after_midnight=86_400_000, most=2**31 - 1)
    micros = [n * 1000 for n in times]
    yield other_kind(
        "time64[us]", pa.time64("us"), micros, negative=-1, after=86_400_000_000, most=MOST, least=LEAST
    )
    yield other_kind("duration", pa.duration("us"), micros, most=MOST, least=LEAST, zero=0)
    interval = pa.month_day_nano_interval()
    most, calm_intervals = (
        pa.MonthDayNano([2**31 - 1, 2**31 - 1, MOST]),
        [pa.MonthDayNano([0, n, 0]) for n in range(7)],
    )
    yield other_kind("interval", interval, calm_intervals, most=most, least=pa.MonthDayNano([-(2**31), 0, LEAST]))
    calm_bytes = (b"a", b"b", b"c", b"d", b"ab", b"bc")
    blobs = {"empty": b"", "no text": b"\xff\x00", "huge": HUGE}
    yield other_kind("binary", pa.binary(), calm_bytes, **blobs)
    yield other_kind("binary_view", pa.binary_view(), calm_bytes, **blobs)
    yield other_kind("fixed binary", pa.binary(2), [f"{n:02}".encode() for n in range(7)], no_text=b"\xff\x00")
    lists = [[b"a"], [b"b"], [b"a", b"b"], [], [b"c"], [b"d"]]
    nested = {
        "nested_null": [None, b"a", None],
        "no_text": [b"caf\xe9"],
        "all_null": [None],
        "long": [b"x"] * 5000,
    }
    yield other_kind("list of string", pa.list_(pa.string()), lists, **nested)
    of_floats = [[float(n)] for n in range(7)]
    yield other_kind("list of float", pa.list_(pa.float64()), of_floats, nan=[float("nan")], null=[None, -0.0])
    struct = pa.struct({"a": pa.float64(), "b": pa.string()})
    fields = [{"a": float(n), "b": "b"} for n in range(7)]
    yield other_kind("struct", struct, fields, nan={"a": float("nan"), "b": None}, nulls={"a": None, "b": None})
    maps = [[("k", n)] for n in range(7)]
    yield other_kind(
        "map", pa.map_(pa.string(), pa.int64()), maps, same_key=[("k", 1), ("k", 2)], null=[("k", None)]
    )
    deep = b"[" * 10_000 + b"]" * 10_000
    json = [
        Cell("deep", deep),
        Cell("no JSON", b"{"),
        Cell("no text", b'"\xff"', NOTHING),
        Cell("NUL", b'"\\u0000"'),
    ]
    yield Kind("json", "text", pa.json_(), tuple(b'"%d"' % n for n in range(7)), (*json, MISSING))
    uuids = [bytes([n] * 16) for n in range(1, 8)]
    yield Kind("uuid", "text", pa.uuid(), tuple(uuids), (Cell("all ones", b"\xff" * 16), Cell("zero", bytes(16))))


KINDS = {kind.name: kind for kind in _kinds()}
