"""What CSV and JSON have in common: files without types, and without a promise that every line is well formed.

Nothing is guessed from rows. Columns are text unless the user declares them, and a row that does not hold what a
column is declared to hold, of those columns that a question reads, is dropped without a word: an error that
depends on a row tells about the row. Names of columns count as public.

DuckDB reads UTF-8. A file in another encoding is copied to UTF-8 first, into the private folder of the question;
bytes that are no text in that encoding become bytes that are no text in UTF-8, so that they cost the same.

A line may be too long to be read; then a copy of the file without it is. To find that no line is too long takes no
look at the rows: from the start of a line, the last line break within the longest allowed distance is found from
behind, and the search goes on from there. A compressed file has to be unpacked for it, once as long as the file
stays the same. Whatever the lines hold, no more than one piece is in memory.
"""

# ruff: noqa: S608 - statements are made of quoted names

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from unlisted.tables.column_types import ColumnType
from unlisted.tables.engines.duckdb.columns import quoted
from unlisted.tables.engines.duckdb.engine import Opening
from unlisted.tables.engines.duckdb.files import COMPRESSED, FILE, Files
from unlisted.tables.engines.duckdb.marks import marks_of

CANNOT_OPEN = (OSError, EOFError, zlib.error)
"""What opening and unpacking a file may raise."""

UTF_8 = "utf-8"
UNREADABLE = "\udcff"
"""A character that becomes a byte which is no UTF-8: what stands for bytes that are no text."""

_PIECE = 2**20
_KNOWN: dict[Hashable, bool] = {}
"""Of compressed files, under their marks: whether a line is too long."""
_MOST_KNOWN = 1000
_UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class TextFiles(Files):
    """Files whose columns are text unless they are declared."""

    @property
    def encoding(self) -> str:
        """How the files are encoded."""
        return self.reading.encoding or UTF_8

    def selected(self, columns: Sequence[str], reader: str, text_of: Callable[[str], str], *good: str) -> str:
        """Return the columns, of those rows that hold in them what is declared."""
        read = {name: self.declared(name, text_of(name)) for name in columns if name != FILE}
        values = [f"{column.value} AS {quoted(name)}" for name, column in read.items()]
        values += [quoted(FILE)] if FILE in columns else []
        conditions = [*good, *(column.parses for column in read.values() if column.kind is not ColumnType.TEXT)]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"(SELECT {', '.join(values)} FROM {reader}{where})"

    def open(self, opening: Opening) -> str:
        """Return the query that reads the files, or copies of those that DuckDB could not read as they are."""
        return self.reading_of([self.ready(file, opening.folder) for file in self.files], opening.columns)

    def ready(self, file: str, folder: Path) -> str:
        """Return a file that DuckDB reads: itself, or a copy in the folder."""
        return file if self.encoding == UTF_8 else in_utf_8(file, folder, self.encoding)

    def first_bytes_hint(self, raw: BinaryIO) -> str:
        """Say which encoding the first bytes of a file speak for, if they do; no row is looked at."""
        if raw.read(2) in _UTF_16_MARKS and not self.encoding.startswith("utf-16"):
            return "It begins as UTF-16 does: say encoding='utf-16'."
        return "If it is not UTF-8, say its encoding: encoding='latin-1' or 'windows-1252', say."


@contextmanager
def bytes_of(file: str) -> Iterator[BinaryIO]:
    """Open a file that may be compressed."""
    with gzip.open(file) if is_compressed(file) else Path(file).open("rb") as raw:
        yield cast("BinaryIO", raw)


def is_compressed(file: str) -> bool:
    """Return whether a file is named as a compressed one."""
    return file.lower().endswith(COMPRESSED)


def copy_of(file: str, folder: Path, ending: str) -> Path:
    """Return the path of a new file in the folder, below the same `key=value` folders as the original."""
    keys = [part for part in Path(file).parts[:-1] if "=" in part]
    place = folder.joinpath(f"copy-{len(list(folder.glob('copy-*')))}", *keys)
    place.mkdir(parents=True)
    return place / f"copy{ending}"


def in_utf_8(file: str, folder: Path, encoding: str) -> str:
    """Copy a file to UTF-8, unpacked, piece by piece."""
    copy = copy_of(file, folder, Path(file.removesuffix(COMPRESSED)).suffix)
    decoder = codecs.getincrementaldecoder(encoding)(_UNREADABLE_HANDLER)
    with bytes_of(file) as raw, copy.open("wb") as written:
        while piece := raw.read(_PIECE):
            written.write(decoder.decode(piece).encode(UTF_8, "surrogateescape"))
        written.write(decoder.decode(b"", final=True).encode(UTF_8, "surrogateescape"))
    return str(copy)


def _unreadable(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return UNREADABLE, error.end


_UNREADABLE_HANDLER = "unlisted_unreadable"
codecs.register_error(_UNREADABLE_HANDLER, _unreadable)


def without_long_lines(file: str, folder: Path, longest: int) -> str:
    """Return a file, or the name of a copy in the folder without lines of more than `longest` bytes."""
    try:
        found = _has_long_line(file, longest)
    except CANNOT_OPEN:
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
