"""Lines of a text file that are too long to be read, and copies of the file without them.

To find that no line is too long takes no look at the rows: from the start of a line, the last line break within
the longest allowed distance is found from behind, and the search goes on from there. A compressed file has to be
unpacked for it, once as long as the file stays the same. Whatever the lines hold, no more than one piece is in
memory.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Hashable
from pathlib import Path
from typing import BinaryIO, cast

from unlisted.tables.engines.duckdb.marks import marks_of
from unlisted.tables.engines.duckdb.text import bytes_of, copy_of, is_compressed

_PIECE = 2**20
_KNOWN: dict[Hashable, bool] = {}
"""Of compressed files, under their marks: whether a line is too long."""
_MOST_KNOWN = 1000


def without_long_lines(file: str, folder: Path, longest: int) -> str:
    """Return a file, or the name of a copy in the folder without lines of more than `longest` bytes."""
    try:
        found = _has_long_line(file, longest)
    except (OSError, EOFError, zlib.error):
        # What cannot be unpacked, the engine will say.
        return file
    if not found:
        return file
    copy = copy_of(file, folder, "".join(Path(file).suffixes[-2:]))
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
