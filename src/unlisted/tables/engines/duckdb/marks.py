"""Files that must stay what they are while a question is answered.

What files hold is described first and read afterwards. If one was replaced or written to in between, its columns
may be others, and one answer could be made of two states of it. So a question remembers the marks of its files:
which files they are, their sizes, and when they were last changed. They must be the same after the files were
read; if they are not, the question fails, charged, like any other. What was described is kept with the marks it
was described under, so a table that lives long, as a service's does, never reads new files by an old header.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

__all__ = ["ChangedFileError", "FileMarks", "Remembered", "marks_of"]

FileMarks = tuple[tuple[str | int, ...], ...]
Told = TypeVar("Told")


class ChangedFileError(Exception):
    """A file changed while a question read it. Only the owner's log says so."""

    def __init__(self) -> None:
        super().__init__("a file changed, or was replaced, while a question read it")


class Remembered(Generic[Told]):
    """What was last read from files, and read again if they have changed since."""

    def __init__(self, read: Callable[[], Told]) -> None:
        self._read = read
        self._known: tuple[FileMarks, Told] | None = None

    def about(self, files: Sequence[str]) -> Told:
        """Return what the files say. Safe in many threads: each keeps what it read with the marks from before."""
        marks, known = marks_of(files), self._known
        if known is None or known[0] != marks:
            self._known = known = (marks, self._read())
        return known[1]


def marks_of(files: Sequence[str]) -> FileMarks:
    """Return what tells whether files are still the same; of one that is not there, its name."""
    return tuple(_mark(file) for file in files)


def _mark(file: str) -> tuple[str | int, ...]:
    try:
        found = os.stat(file)  # noqa: PTH116 - a pattern's files may have any name
    except (OSError, ValueError):
        return (file,)
    # Not only when it was written, which programs that copy files set to what it was.
    return (file, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
