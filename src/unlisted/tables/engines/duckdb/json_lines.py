"""JSON lines: one object a line, and copies of a file without the lines that are too long to be read.

To find that no line is too long takes no look at the rows: from the start of a line, the last line break within
the longest allowed distance is found from behind, and the search goes on from there. A compressed file has to be
unpacked for it, once as long as the file stays the same. Whatever the lines hold, no more than one piece is in
memory.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Hashable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

from unlisted.tables.column_types import ColumnType
from unlisted.tables.engines.duckdb.columns import quoted
from unlisted.tables.engines.duckdb.engine import Opening, literal
from unlisted.tables.engines.duckdb.files import listed
from unlisted.tables.engines.duckdb.marks import Remembered, marks_of
from unlisted.tables.engines.duckdb.text import CANNOT_OPEN, DECLARED, TextFiles, bytes_of, is_compressed

LONGEST_LINE = 2**24
"""Bytes of a line of JSON; a longer one is dropped, whatever is in it. DuckDB fails on one of twice the size."""

_PIECE = 2**20
_KNOWN: dict[Hashable, bool] = {}
"""Of compressed files, under their marks: whether a line is too long."""
_MOST_KNOWN = 1000


class JsonLines(TextFiles):
    """JSON lines files: one object a line. A key that is missing is NULL.

    A line that is no object, or longer than `LONGEST_LINE`, is dropped. Where there is such a long line, DuckDB
    reads a copy of the file without it.
    """

    kind = "JSON lines"

    def __init__(self, path: str, declared: Mapping[str, ColumnType]) -> None:
        super().__init__(path, declared)
        self._keys = Remembered(self._read_keys)

    def types(self) -> Mapping[str, str]:
        """Read the keys of the first line, and add what is declared."""
        keys = self._keys.about(self.files[:1])
        if not keys and not self.declared:
            raise self.refusal("Its first line is no JSON object. Write one object a line, or declare columns.")
        return {name: DECLARED[self.kind_of(name)] for name in dict.fromkeys((*keys, *self.declared))}

    def relation_of(self, files: Sequence[str], columns: Sequence[str]) -> str:
        """Return the query that reads the files."""
        read = dict.fromkeys((*columns, *self.declared))
        texts = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in read)
        reader = (
            f"read_json({listed(files)}, format = 'newline_delimited', auto_detect = false, "
            f"columns = {{{texts}}}, ignore_errors = true)"
        )
        return self.selected(columns, reader, quoted)

    def open(self, opening: Opening) -> str:
        """Return the query that reads the files, or copies of those with lines that are too long."""
        files = [without_long_lines(file, opening.folder, LONGEST_LINE) for file in self.files]
        return self.relation_of(files, opening.columns)

    def _read_keys(self) -> tuple[str, ...]:
        """Return the keys of the first line that is not empty."""
        try:
            with bytes_of(self.files[0]) as raw:
                lines = islice(iter(lambda: raw.readline(LONGEST_LINE), b""), 100)
                first = next((line for line in lines if line.strip()), b"{}")
        except CANNOT_OPEN:
            raise self.refusal("It cannot be opened.") from None
        try:
            value = json.loads(first)
        except (ValueError, RecursionError):
            return ()
        return tuple(key for key in value if _is_name(key)) if isinstance(value, dict) else ()


def _is_name(key: str) -> bool:
    """Return whether a key can be asked about: it is not empty, and holds no half of a character."""
    return key != "" and not any("\ud800" <= sign <= "\udfff" for sign in key)


def without_long_lines(file: str, folder: Path, longest: int) -> str:
    """Return a file, or the name of a copy in the folder without lines of more than `longest` bytes."""
    try:
        found = _has_long_line(file, longest)
    except (OSError, EOFError, zlib.error):
        # What cannot be unpacked, the engine will say.
        return file
    if not found:
        return file
    copy = folder / f"lines-{len(list(folder.glob('lines-*')))}{''.join(Path(file).suffixes[-2:])}"
    with bytes_of(file) as raw, gzip.open(copy, "wb", 1) if is_compressed(file) else copy.open("wb") as kept:
        _copy_short_lines(raw, cast("BinaryIO", kept), longest)
    return str(copy)


def _has_long_line(file: str, longest: int) -> bool:
    if not is_compressed(file):
        with Path(file).open("rb") as raw:
            return _jumped(raw, longest)
    marks = (marks_of([file]), longest)
    if marks not in _KNOWN:
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        with bytes_of(file) as raw:
            _KNOWN[marks] = _streamed(raw, longest)
    return _KNOWN[marks]


def _jumped(raw: BinaryIO, longest: int) -> bool:
    """Look from line break to line break, each the last one that is near enough."""
    size = raw.seek(0, 2)
    start = 0
    # The last line needs no line break.
    while size - start > longest:
        end = start + longest + 1
        while end > start:
            begin = max(start, end - _PIECE)
            raw.seek(begin)
            found = raw.read(end - begin).rfind(b"\n")
            if found >= 0:
                start = begin + found + 1
                break
            end = begin
        else:
            return True
    return False


def _streamed(raw: BinaryIO, longest: int) -> bool:
    """Look at all of it, piece by piece."""
    length, most = 0, min(_PIECE, longest)
    while piece := raw.read(most):
        first = piece.find(b"\n")
        if length + (len(piece) if first < 0 else first) > longest:
            return True
        # A piece is no longer than the longest line: only its ends can belong to one that is too long.
        length = length + len(piece) if first < 0 else len(piece) - piece.rfind(b"\n") - 1
    return False


def _copy_short_lines(raw: BinaryIO, kept: BinaryIO, longest: int) -> None:
    while line := raw.readline(longest + 1):
        if len(line) <= longest or (len(line) == longest + 1 and line.endswith(b"\n")):
            kept.write(line)
            continue
        while (rest := raw.readline(_PIECE)) and not rest.endswith(b"\n"):
            pass
