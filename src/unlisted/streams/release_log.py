"""The log of a stream's rounds: when each one was, and what was released after it.

One file that only grows, one record a round. A record has a head of fixed size (which stream, which round, when,
how long its parts are, and their checksums), then the labels that were shown for the first time, then the release.
A release needs the labels of earlier records, so every record repeats those of the record before: whichever one
record is damaged, only its own release is lost. Where a head is damaged, the next one is found by how heads begin.

Reading needs no lock. A record whose round has not happened is nobody's: the next attempt writes over it.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from unlisted.errors import StreamError
from unlisted.release.release import Release
from unlisted.streams.disk import (
    continue_journal,
    copy_parts,
    make_entries_durable,
    replace_file,
    told,
)
from unlisted.streams.packing import Rows, labels_of, packed, rows_in, unpacked
from unlisted.streams.shown_names import MissingNamesError, Named, ShownNames, labels_in

_Read = TypeVar("_Read")

_MAGIC = b"\x89round1\n"
_HEAD = struct.Struct(">8s16sQqQQQQQ16s16s")
_CHECK_BYTES = 16
_HEAD_BYTES = _HEAD.size + _CHECK_BYTES
_BLOCK_BYTES = 1 << 16
_EPOCH = datetime.fromtimestamp(0, UTC)
_MICROSECOND = timedelta(microseconds=1)
_NO_TIME = -(2**63)
_NAMELESS = "shows values whose names were in a damaged record"
_LEFT_OUT = 1 << 20
"""So many numbers of names are not given after a record that is lost: it may have given some of them."""


@dataclass(frozen=True)
class Head:
    """What stands in front of a round's record. It lists the names from `first` to `last`, new ones from `new`."""

    tag: bytes
    round: int
    time: datetime | None
    first: int
    new: int
    last: int
    names_bytes: int
    release_bytes: int
    names_check: bytes
    release_check: bytes

    def to_bytes(self) -> bytes:
        """Return the head with its checksum."""
        time = _NO_TIME if self.time is None else (self.time - _EPOCH) // _MICROSECOND
        sizes = (self.first, self.new, self.last, self.names_bytes, self.release_bytes)
        head = _HEAD.pack(_MAGIC, self.tag, self.round, time, *sizes, self.names_check, self.release_check)
        return head + _check(head)

    @classmethod
    def from_bytes(cls, data: bytes) -> Head | None:
        """Read a head; None if there is none, or a damaged one."""
        head, check = data[: _HEAD.size], data[_HEAD.size : _HEAD_BYTES]
        if len(data) < _HEAD_BYTES or not head.startswith(_MAGIC) or check != _check(head):
            return None
        _, tag, number, time, *rest = _HEAD.unpack(head)
        return cls(tag, number, None if time == _NO_TIME else _EPOCH + time * _MICROSECOND, *rest)


@dataclass(frozen=True)
class Record:
    """A round's record: its head, and where it lies in the file."""

    head: Head
    at: int

    @property
    def names_at(self) -> int:
        """Where the names begin."""
        return self.at + _HEAD_BYTES

    @property
    def release_at(self) -> int:
        """Where the release begins."""
        return self.names_at + self.head.names_bytes

    @property
    def end(self) -> int:
        """Where the next record begins."""
        return self.release_at + self.head.release_bytes


class ReleaseLog:
    """The log of one stream. It knows the heads of the records, and reads a release when it is asked for one.

    `tag` says which stream it is. A reader without the key does not know it, and goes by the first record.
    """

    def __init__(self, path: Path, tag: bytes | None) -> None:
        self._path = path
        self._tag = tag
        self._file = 0
        self._names = ShownNames()
        self._learned: list[Named] = []
        self._forget()

    def look(self, rounds: int) -> None:
        """Take notice of the records up to a round; what was seen before is not read again."""
        with self._opened() as file:
            found = None if file is None else os.fstat(file)
            if found is None or found.st_ino != self._file or found.st_size < self._end:
                # There is no file, or another one is in its place.
                self._forget()
            if file is not None and found is not None:
                self._file = found.st_ino
                self._walk(file, rounds)

    def __contains__(self, number: int) -> bool:
        return number in self._records

    def __iter__(self) -> Iterator[Head]:
        return (record.head for record in self._records.values())

    def time(self, number: int) -> datetime | None:
        """Return when a round was, if that is known."""
        return self._records[number].head.time if number in self._records else None

    @property
    def names(self) -> ShownNames:
        """The labels that were shown so far, with their numbers."""
        if self._learned:
            # All at once: a year has thousands of records that name a few.
            self._names, self._learned = self._names.with_all(self._learned), []
        return self._names

    def release(self, number: int) -> Release:
        """Read the release after a round."""
        return self._read(number, unpacked)

    def rows(self, number: int) -> Rows:
        """Read what the release after a round shows, by the numbers of names."""
        return self._read(number, rows_in)

    def require_names(self, number: int, rows: Rows) -> None:
        """Refuse a release that shows values whose names are lost."""
        if not self.names.has(rows.names):
            raise StreamError(damaged(number, _NAMELESS))

    def append(self, tag: bytes, number: int, time: datetime | None, release: Release | None) -> None:
        """Write the record of a round durably. All earlier rounds have happened; what is behind them has not."""
        self.look(number - 1)
        before = self._records.get(number - 1)
        if before is not None:
            first, new, end = before.head.new, before.head.last, before.end
        else:
            # The first record, or the one behind a record that is lost: nobody knows what that one had in it.
            new = self.names.end + _LEFT_OUT if self._records else 0
            first, end = new, 0 if number == 1 else self._free_end()
        names, data = self.names, b""
        if release is not None:
            names = names.with_shown(labels_of(release.table), new) if len(release) else names
            data = packed(release, names)
        listed = names.to_bytes(first)
        sizes = (first, new, max(new, names.end), len(listed), len(data))
        head = Head(tag, number, time, *sizes, _check(listed), _check(data))
        if not self._path.exists():
            replace_file(self._path, b"")
        continue_journal(self._path, end, b"".join((head.to_bytes(), listed, data)))

    def copy_to(self, path: Path) -> None:
        """Copy the records that have happened, and nothing that lies between or behind them."""
        ours = sorted(
            (one for one in self._records.values() if one.head.tag == self._expected), key=lambda one: one.at
        )
        parts: list[tuple[int, int]] = []
        for record in ours:
            start = parts.pop()[0] if parts and parts[-1][1] == record.at else record.at
            parts.append((start, record.end))
        copy_parts(self._path, path, parts)
        make_entries_durable(path.parent)

    def _forget(self) -> None:
        self._records: dict[int, Record] = {}
        self._expected = self._tag
        self._names = ShownNames()
        self._learned = []
        self._names_end = 0
        self._end = 0
        self._has_not_happened: int | None = None

    def _walk(self, file: int, rounds: int) -> None:
        """Go from head to head up to the first record of a later round, or to the end."""
        self._has_not_happened = None
        at: int | None = self._end
        while at is not None:
            head = Head.from_bytes(os.pread(file, _HEAD_BYTES, at))
            if head is None:
                at = _next_head(file, at + 1)
                continue
            record = Record(head, at)
            if head.round > rounds:
                self._has_not_happened = at
                return
            self._expected = self._expected or head.tag
            self._records[head.round] = record
            at = self._end = record.end
            if head.tag == self._expected:
                self._learn(file, record)

    def _learn(self, file: int, record: Record) -> None:
        """Take in the names of a record, if there are any that are not known, and if they are whole."""
        head = record.head
        if head.names_bytes == 0 or head.last <= self._names_end:
            return
        data = os.pread(file, head.names_bytes, record.names_at)
        if _check(data) == head.names_check:
            new = Named(labels_in(data), head.first).since(self._names_end)
            self._learned.append(new)
            self._names_end = new.end

    def _read(self, number: int, made: Callable[[bytes, ShownNames], _Read]) -> _Read:
        record = self._records.get(number)
        if record is None:
            raise StreamError(damaged(number, "is missing, or its record in the log is damaged"))
        if record.head.tag != self._expected:
            raise StreamError(damaged(number, "is that of another stream"))
        with self._opened() as file:
            data = b"" if file is None else os.pread(file, record.head.release_bytes, record.release_at)
        if _check(data) != record.head.release_check:
            raise StreamError(damaged(number, "is torn or was changed: its checksum is wrong"))
        try:
            return made(data, self.names)
        except MissingNamesError:
            raise StreamError(damaged(number, _NAMELESS)) from None

    def _free_end(self) -> int:
        """Return where to write if the end of what has happened is not known: nothing that may have is cut off."""
        if self._has_not_happened is not None:
            return self._has_not_happened
        with told("read"):
            return self._path.stat().st_size if self._path.exists() else 0

    @contextmanager
    def _opened(self) -> Iterator[int | None]:
        with told("read"):
            try:
                file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                yield None
                return
            try:
                yield file
            finally:
                os.close(file)


def damaged(number: int, how: str) -> str:
    """Say which release cannot be read, and what to do."""
    return (
        f"The release after round {number} {how}. The others can be read; restore the folder to have this one too."
    )


def _next_head(file: int, at: int) -> int | None:
    """Return where the next whole head begins, if there is one."""
    while block := os.pread(file, _BLOCK_BYTES, at):
        found = block.find(_MAGIC)
        while found >= 0:
            if Head.from_bytes(os.pread(file, _HEAD_BYTES, at + found)) is not None:
                return at + found
            found = block.find(_MAGIC, found + 1)
        if len(block) <= len(_MAGIC):
            return None
        # What begins at the end of a block is found at the beginning of the next one.
        at += len(block) - len(_MAGIC) + 1
    return None


def _check(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:_CHECK_BYTES]
