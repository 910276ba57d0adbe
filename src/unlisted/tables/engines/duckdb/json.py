"""JSON: one object a line, or one array of objects.

An array is first written out as lines, each element on its own, by looking for the marks between them and at
nothing else: whatever is inside an element, or wrong with it, is for whoever reads its line.
"""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from unlisted.tables.engines.duckdb.columns import DECLARED, literal, quoted
from unlisted.tables.engines.duckdb.files import FILE, Place, ending, listed
from unlisted.tables.engines.duckdb.marks import Remembered
from unlisted.tables.engines.duckdb.text import (
    CANNOT_OPEN,
    UTF_8,
    TextFiles,
    bytes_of,
    copy_of,
    without_long_lines,
)
from unlisted.tables.reading import Reading

LONGEST_LINE = 2**24
"""Bytes of a line of JSON; a longer one is dropped, whatever is in it. DuckDB fails on one of twice the size."""

_PIECE = 2**20
_STEP = 2**12
_MARKS = re.compile(rb'\\[^\n]|["{}\[\],\n]')


class Json(TextFiles):
    """JSON files: one object a line, or an array of objects. A key that is missing is NULL.

    What is no object, or longer than `LONGEST_LINE`, is dropped. Where there is such a long line, DuckDB reads a
    copy of the file without it.
    """

    kind = "a JSON file"
    takes = ("types", "encoding", "date_format")

    def __init__(self, place: Place, reading: Reading | None = None, table: str | None = None) -> None:
        super().__init__(place, reading, table)
        self._keys = Remembered(self._read_keys)

    def own_types(self) -> Mapping[str, str]:
        """Read the keys of the first object, and add what is declared."""
        keys = self._keys.about(self.files[:1])
        if not keys and not self.reading.types:
            problem = (
                "It does not begin with a JSON object. Write one object a line or an array of them, or declare "
                "columns."
            )
            raise self.refusal(problem)
        declared = (name for name in self.reading.types if name not in self.place.partitions)
        return {name: DECLARED[self.kind_of(name)] for name in dict.fromkeys((*keys, *declared))}

    def _check_declared(self, own: Mapping[str, str]) -> None:
        """Do nothing: what is declared is a column."""

    def relation_of(self, files: Sequence[str], columns: Sequence[str], more: str = "") -> str:
        """Return the query that reads the files."""
        texts = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in columns if name != FILE)
        reader = (
            f"read_json({listed(files)}, format = 'newline_delimited', auto_detect = false, "
            f"columns = {{{texts}}}, ignore_errors = true{more})"
        )
        return self.selected(columns, reader, quoted)

    def ready(self, file: str, folder: Path) -> str:
        """Return a file of lines that are short enough: itself, or a copy in the folder."""
        try:
            file = without_an_array(super().ready(file, folder), folder)
        except CANNOT_OPEN:
            # What cannot be unpacked, the engine will say.
            return file
        return without_long_lines(file, folder, LONGEST_LINE)

    def _read_keys(self) -> tuple[str, ...]:
        """Return the keys of the first object."""
        try:
            value = json.loads(self._first(self.files[0]))
        except CANNOT_OPEN:
            raise self.refusal("It cannot be opened.") from None
        except (ValueError, RecursionError):
            return ()
        return tuple(key for key in value if _is_name(key)) if isinstance(value, dict) else ()

    def _first(self, file: str) -> str:
        """Return the first line that is not empty, of an array the first element."""
        decoder = codecs.getincrementaldecoder("utf-8-sig" if self.encoding == UTF_8 else self.encoding)
        with bytes_of(file) as raw:
            begin = decoder("replace").decode(raw.read(LONGEST_LINE)).removeprefix("\ufeff")
        if not _begins_an_array(file, begin):
            return next(filter(str.strip, io.StringIO(begin)), "{}")
        lines = as_lines(begin[at : at + _STEP].encode() for at in range(0, len(begin), _STEP))
        return next(filter(str.strip, _whole_lines(lines)), "{}")


def _is_name(key: str) -> bool:
    """Return whether a key can be asked about: it is not empty, and holds no half of a character."""
    return key != "" and not any("\ud800" <= sign <= "\udfff" for sign in key)


def _whole_lines(pieces: Iterable[bytes]) -> Iterator[str]:
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from (line.decode("utf-8", "replace") for line in whole)
    yield rest.decode("utf-8", "replace")


def _begins_an_array(file: str, begin: str) -> bool:
    """Return whether a file is an array, as only a .json file may be."""
    return ending(file) == ".json" and begin.lstrip("\ufeff \t\r\n").startswith("[")


def without_an_array(file: str, folder: Path) -> str:
    """Return a file of lines: itself, or the elements of its array, copied."""
    with bytes_of(file) as raw:
        if not _begins_an_array(file, raw.read(_PIECE).decode("utf-8", "replace")):
            return file
    copy = copy_of(file, folder, ".json")
    with bytes_of(file) as raw, copy.open("wb") as written:
        written.writelines(as_lines(iter(lambda: raw.read(_PIECE), b"")))
    return str(copy)


def as_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Write each element of an array on a line of its own. What follows the array stays as it is, line by line.

    Between two elements there is a comma or the end of a line. No text goes over the end of a line: if one seems
    to, its element is broken, and ends there.
    """
    state, rest = _Elements(), b""
    for piece in pieces:
        text = rest + piece
        written, at = [], 0
        for mark in _MARKS.finditer(text):
            written += [text[at : mark.start()], state.after(mark[0])]
            at = mark.end()
        # What is escaped may be in the next piece.
        rest = b"\\" if text.endswith(b"\\") and at < len(text) else b""
        yield b"".join(written) + text[at : len(text) - len(rest)]
    yield rest


class _Elements:
    """Where in an array of elements one is."""

    def __init__(self) -> None:
        self.in_array = self.in_text = False
        self.depth = 0

    def after(self, mark: bytes) -> bytes:
        """Go over a mark, and return what is written for it."""
        if mark == b"\n":
            is_between = self.depth == 0 or self.in_text or not self.in_array
            self.in_text = False
            self.depth = 0 if is_between else self.depth
            return b"\n" if is_between else b" "
        if mark == b'"':
            self.in_text = not self.in_text
        if self.in_text or mark[0] in b'"\\':
            return mark
        if self.depth == 0 and mark == (b"]" if self.in_array else b"["):
            self.in_array = not self.in_array
            return b"\n"
        if mark == b",":
            return b"\n" if self.depth == 0 and self.in_array else mark
        self.depth = max(0, self.depth + (1 if mark in b"[{" else -1))
        return mark
