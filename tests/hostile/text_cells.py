"""Hostile fields and lines of text files, as bytes: what CSV and JSON lines can carry.

A cell is a field as it stands in the file, quoted or not, or a `Line`, which stands in the place of the whole row.
In these files a row that does not hold what its columns are declared to hold is dropped, whoever reads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from tests.hostile.cells import TEXTS, TEXTS_WITH_NUL, UNDECODABLE, Cell, Kind, Leaves, Line

NOTHING, UNSAID = Leaves.NOTHING, Leaves.UNSAID


NUMBERS = {
    "NaN": b"NaN",
    "minus nan": b"-nan",
    "infinity": b"inf",
    "minus infinity": b"-Infinity",
    "1e999": b"1e999",
    "2^63": b"9223372036854775808",
    "-2^63": b"-9223372036854775808",
    "2^64-1": b"18446744073709551615",
    "2^127": b"170141183460469231731687303715884105728",
    "76 digits": b"9" * 76,
    "400 digits": b"9" * 400,
    "hexadecimal": b"0x10",
    "other digits": "१२३".encode(),
    "underscores": b"1_000",
    "minus zero": b"-0.0",
    "a half": b"1.5",
    "blanks": b"  8  ",
    "no number": b"seven",
    "no text": b"\xff7",
    "the smallest": b"5e-324",
    "NUL": b"1\x002",
}
MOMENTS = {
    "year 10000": b"10000-01-01",
    "no such day": b"2024-02-30",
    "zeros": b"0000-00-00",
    "infinity": b"infinity",
    "minus infinity": b"-infinity",
    "before Christ": b"0044-03-15 (BC)",
    "the epoch": b"epoch",
    "year 290000": b"290000-01-01",
    "no day": b"soon",
    "a leap second": b"2016-12-31 23:59:60",
    "no text": b"\xff",
    "a zone": b"2021-01-01 00:00:00+99:99",
    "nanoseconds": b"2021-01-01 00:00:00.123456789",
    "60 minutes": b"2021-01-01 25:61",
}
DECLARED = {
    "int": ([b"1", b"2", b"3", b"4", b"5", b"6", b"7"], NUMBERS, "int"),
    "float": ([b"1.25", b"2", b"3", b"4", b"5.5", b"6", b"7.75"], NUMBERS, "number"),
    "decimal": ([b"1.25", b"2", b"3", b"4", b"5.5", b"6", b"7.75"], NUMBERS, "number"),
    "bool": ([b"true", b"false"], {"perhaps": b"perhaps", "no text": b"\xff", "2": b"2"}, "bool"),
    "date": ([f"2020-0{n}-01".encode() for n in range(1, 8)], MOMENTS, "date"),
    "timestamp": ([f"2020-0{n}-01 00:00:00".encode() for n in range(1, 8)], MOMENTS, "timestamp"),
}
"""What a column can be declared to hold, with calm and hostile texts of it."""

CALM = (b"a", b"b", b"c", b"d", b"ab", b"bc", b"cd")
VILLAINS_LINE = b"zz-villain-of-a-line,zz-hostile-item-of-a-line,b,calm"


def quoted(text: bytes) -> bytes:
    """A CSV field in quotes."""
    return b'"' + text.replace(b'"', b'""') + b'"'


def _csv_texts(*, by_line: bool) -> Iterable[Cell]:
    breaks = ("newlines of all sorts",)
    for name, text in {**TEXTS, **TEXTS_WITH_NUL}.items():
        if not (by_line and name in breaks):
            yield Cell(name, quoted(text.encode()), text if text else UNSAID)
    yield Cell("a line separator", "zz\u2028zz".encode(), "zz\u2028zz")
    yield Cell("a vertical tab", b"zz\v\f\x1c\x85zz", NOTHING)
    for name, raw in UNDECODABLE.items():
        yield Cell(name, raw, NOTHING)
        yield Cell(f"{name}, in quotes", quoted(raw), NOTHING)
    yield Cell("ten megabytes", b"h" * 10_000_000, too_long=True)
    yield Cell("ten megabytes in quotes", quoted(b"h" * 10_000_000), too_long=True)
    yield Cell("a quote inside", b'zz"zz')
    yield Cell("nothing", b"")
    yield Cell("the separator of our own", b"zz\x1f\x1e\x1f\x1ezz")
    yield Cell("too many fields", Line(VILLAINS_LINE + b",more" * 3))
    yield Cell("a thousand fields", Line(VILLAINS_LINE + b",more" * 1000))
    yield Cell("too few fields", Line(b"zz-villain-of-a-line"))
    yield Cell("an empty line", Line(b""))
    yield Cell("only separators", Line(b",,,"))
    yield Cell("a comment", Line(b"# zz-villain-of-a-line"))
    yield Cell("a BOM inside", Line(b"\xef\xbb\xbf" + VILLAINS_LINE))
    yield Cell("UTF-16", Line("zz-villain-of-a-line,é".encode("utf-16")))
    if by_line:
        yield from _broken_quotes()


def _broken_quotes() -> Iterable[Cell]:
    """What takes the rows of others where quotes may hold line breaks: known, and said in the documentation."""
    yield Cell("an open quote", b'"zz', NOTHING)
    yield Cell("a closed quote that goes on", b'"zz"zz', NOTHING)
    yield Cell("an escaped quote", b'"zz\\"zz', NOTHING)
    yield Cell("three quotes", b'"""', NOTHING)
    yield Cell("an open quote, then megabytes", b'"' + b"h" * 3_000_000, NOTHING)
    yield Cell("a carriage return", b"zz\rzz")
    yield Cell("a carriage return at the end", Line(VILLAINS_LINE + b"\r"))


def csv_kinds(*, by_line: bool = False) -> dict[str, Kind]:
    """Kinds of CSV columns."""
    kinds = [Kind("text", "text", "text", CALM, tuple(_csv_texts(by_line=by_line)))]
    for word, (calm, hostile, where) in DECLARED.items():
        cells = tuple(Cell(name, value) for name, value in hostile.items())
        kinds.append(Kind(word, where, word, tuple(calm), cells))
    return {kind.name: kind for kind in kinds}


def _json(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode()


def _json_texts() -> Iterable[Cell]:
    for name, text in {**TEXTS, **TEXTS_WITH_NUL}.items():
        yield Cell(name, _json(text), text)
        yield Cell(f"{name}, escaped", json.dumps(text).encode(), text)
    for name, raw in UNDECODABLE.items():
        yield Cell(name, b'"' + raw + b'"', NOTHING)
    surrogates = {
        "high": r'"\ud800"',
        "low": r'"zz\udc00"',
        "swapped": r'"\udc00\ud800"',
        "high twice": r'"\ud800\ud800"',
    }
    for name, raw_json in surrogates.items():
        yield Cell(f"a lone surrogate, {name}", raw_json.encode(), NOTHING)
    yield Cell("ten megabytes", b'"' + b"h" * 10_000_000 + b'"', too_long=True)
    yield Cell("a control character", b'"zz\x01\x00\x1fzz"')
    values = {
        "null": b"null",
        "NaN": b"NaN",
        "infinity": b"-Infinity",
        "1e999": b"1e999",
        "400 digits": b"9" * 400,
        "nested nulls": b'[null, {"a": null, "b": [null]}]',
        "an object": b'{"user": "u0", "item": "i0"}',
        "the same key twice": b'{"a": 1, "a": 2}',
        "a list": b"[]",
        "true": b"true",
        "2^64": b"18446744073709551616",
        "deep lists": b"[" * 20_000 + b"]" * 20_000,
        "deep objects": b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
        "an open string": b'"zz',
        "nothing": b"",
        "a single quote": b"'zz'",
        "a bad escape": rb'"\x41"',
        "half an escape": rb'"\u12"',
        "an escape at the end": b'"zz\\',
        "a carriage return": b'"zz"\r',
    }
    for name, raw in values.items():
        yield Cell(name, raw)
    yield from _json_lines()


def _json_lines() -> Iterable[Cell]:
    row = b'{"user": "zz-villain-of-a-line", "item": "zz-hostile-item-of-a-line", "seen": "b", "spare": "calm"}'
    lines = {
        "a user twice": b'{"user": "zz-villain-of-a-line", "user": "u0", ' + row.partition(b", ")[2],
        "a thousand keys": b"{"
        + b", ".join(b'"k%d": 1' % n for n in range(1000))
        + b', "user": "zz-villain-of-a-line"}',
        "an empty line": b"",
        "only blanks": b" \t ",
        "no object": b"[1, 2]",
        "a text": b'"zz-villain-of-a-line"',
        "an open object": b'{"user": "zz-villain-of-a-line", "item": "i0"',
        "closed twice": row + b"}",
        "two on a line": row + row,
        "a comment": b"// zz-villain-of-a-line",
        "a BOM inside": b"\xef\xbb\xbf" + row,
        "a trailing comma": row[:-1] + b",}",
        "NUL": b"\0" * 100,
        "bytes": b"\xff" * 100,
        "a deep line": b'{"a":' * 20_000,
        "deep lists, never closed": b"[" * 20_000,
        "an empty key": b'{"": "", "user": "zz-villain-of-a-line", "item": "i0"}',
        "a null line": b"null",
        "UTF-16": row.decode().encode("utf-16"),
    }
    for name, text in lines.items():
        yield Cell(name, Line(text))


LONG = 33 << 20
_ROW = b'{"user": "zz-villain-of-a-line", "item": "zz-hostile-item-of-a-line", "seen": "b", "spare": '
LONG_LINES = {
    "a long text": Line(_ROW + b'"', b"x", LONG, b'"}'),
    "a long label": Line(
        b'{"user": "zz-villain-of-a-line", "item": "', b"x", LONG, b'", "seen": "b", "spare": "calm"}'
    ),
    "brackets": Line(_ROW, b"[", LONG),
    "no brace": Line(b"", b"x", LONG),
    "NUL": Line(b"", b"\0", LONG),
    "blanks": Line(_ROW, b" ", LONG, b'"calm"}'),
}
"""More than DuckDB reads of one object."""


def json_kinds() -> dict[str, Kind]:
    """Kinds of columns of JSON lines."""
    kinds = [Kind("text", "text", "text", tuple(_json(one.decode()) for one in CALM), tuple(_json_texts()))]
    long = tuple(Cell(name, line) for name, line in LONG_LINES.items())
    kinds.append(Kind("long lines", "text", "text", kinds[0].calm, long))
    for word, (calm, hostile, where) in DECLARED.items():
        cells = [Cell(name, value) for name, value in hostile.items()]
        cells += [Cell(f"{name}, as text", b'"' + value + b'"') for name, value in hostile.items()]
        plain = (
            tuple(calm)
            if word in ("int", "float", "decimal", "bool")
            else tuple(b'"' + one + b'"' for one in calm)
        )
        kinds.append(Kind(word, where, word, plain, tuple(cells)))
    return {kind.name: kind for kind in kinds}
