"""What a stream has released, read where it lies: in the log, or in the files of version 0.1, one a release."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts.whole_numbers import to_arrow
from unlisted.errors import InvalidArgumentError, StreamError
from unlisted.mechanisms.continual.label_table import LabelTable
from unlisted.privacy.numbers import whole
from unlisted.release.release import Release
from unlisted.streams.disk import PRIVATE_FILE, read_file, replace_file, told, unsealed
from unlisted.streams.packing import Whole, columns_of, labels_of, table_of
from unlisted.streams.release_log import ReleaseLog, damaged
from unlisted.streams.times import Duration, duration

FOLDER, LOG, RELEASE = "releases", "log", "release"

Numbers = NDArray[np.int64]


class History:
    """The releases of a stream. Reading them needs neither the key nor a lock."""

    def __init__(self, folder: Path, items: tuple[str, ...], tag: bytes | None) -> None:
        self._folder = folder / FOLDER
        self._items = items
        self.log = ReleaseLog(self._folder / LOG, tag)

    def look(self, rounds: int) -> History:
        """Take notice of what has been released up to a round."""
        self.log.look(rounds)
        return self

    def time(self, number: int) -> datetime | None:
        """Return when a round was, if that is known."""
        if number in self.log:
            return self.log.time(number)
        file = self._file(number)
        with told("read"):
            return datetime.fromtimestamp(int(file.stat().st_mtime), UTC) if file.exists() else None

    def time_for(self, number: int, last: int, given: datetime | None) -> datetime | None:
        """Return the time that a round gets: as given, or now. Rounds are in the order of their times."""
        if number <= last:
            known = self.time(number)
            if given not in (None, known):
                when = "no time" if known is None else known.isoformat()
                hint = "A round that was taken in keeps its time. New rows belong to the next round."
                raise InvalidArgumentError("time", str(given), f"{when}, as round {number} was taken in", hint)
            return known
        before = next((found for at in range(last, 0, -1) if (found := self.time(at))), None)
        if given is None:
            now = datetime.now(UTC)
            return now if before is None else max(now, before)
        if before is not None and given <= before:
            hint = "A round is later than the one before it."
            raise InvalidArgumentError("time", str(given), f"after {before.isoformat()}", hint)
        return given

    def copy_to(self, folder: Path, rounds: int) -> None:
        """Copy what was released up to a round into another folder."""
        self.log.copy_to(folder / LOG)
        for number in range(1, rounds + 1):
            if self.is_old(number):
                replace_file(folder / f"{number:08d}", read_file(self._file(number)))
                # When it was made is the time of the file.
                with told("written"):
                    shutil.copystat(self._file(number), folder / f"{number:08d}")
                    (folder / f"{number:08d}").chmod(PRIVATE_FILE)

    def before(self, now: int, length: int | Duration, every: int) -> int:
        """Return the last round before a window of so many rounds, or of so long, that ends with a round."""
        if not isinstance(length, str | timedelta):
            return now - whole("rounds", length)
        if isinstance(length, str) and length.isascii() and length.isdigit():
            return now - whole("rounds", int(length))
        end, long = self.time(now), duration("rounds", length)
        if end is None:
            hint = "Say how many rounds the window has."
            raise InvalidArgumentError("rounds", str(length), "a number where the last round has no time", hint)
        earlier = ((number, self.time(number)) for number in range(now - every, 0, -every))
        return next((number for number, time in earlier if time is not None and time <= end - long), 0)

    def release(self, number: int) -> Release:
        """Read the release after a round."""
        found = self._old(number) if self.is_old(number) else self.log.release(number)
        return replace(found, time=self.time(number) or found.time)

    def rows(self, number: int, wanted: pa.Array | None = None) -> pa.Table:
        """Read the rows of the release after a round: all of them, or those of some labels."""
        if self.is_old(number):
            table = self._old(number).table
            if wanted is None or not len(table):
                return table
            return table.filter(pa.array(LabelTable((wanted,)).rows_of(labels_of(table)) >= 0))
        if wanted is None:
            return self.log.release(number).table
        rows = self.log.rows(number)
        return table_of(rows.of(self.log.names.numbers_of(wanted)), self.log.names, self._items)

    def values(self, number: int, labels: pa.Array) -> tuple[Whole, tuple[Whole, Whole, Whole]]:
        """Read which of some labels the release after a round shows, by their places, and their three numbers."""
        if self.is_old(number):
            table = self._old(number).table
            found = LabelTable((labels,)).rows_of(labels_of(table)) if len(table) else np.zeros(0, dtype=np.int64)
            kept = np.flatnonzero(found >= 0)
            return found[kept], columns_of(table.take(to_arrow(kept)))
        rows, names = self.log.rows(number), self.log.names.numbers_of(labels)
        at = np.searchsorted(rows.names, names)
        places = np.flatnonzero((names >= 0) & (np.append(rows.names, -1)[at] == names))
        return places, (rows.count[at[places]], rows.low[at[places]], rows.high[at[places]])

    def labels(self, releases: Iterable[int]) -> pa.Array:
        """Return the labels that some releases show, each once, in an order of no meaning."""
        found, known = LabelTable(), np.zeros(0, dtype=np.int64)
        for number in releases:
            if self.is_old(number):
                table = self._old(number).table
                shown = labels_of(table) if len(table) else None
            else:
                new = np.setdiff1d(self.log.rows(number).names, known)
                known = np.union1d(known, new)
                shown = self.log.names.take(new) if len(new) else None
            if shown is not None:
                unknown = np.flatnonzero(found.rows_of(shown) < 0)
                found = found.appended(shown.take(to_arrow(unknown)))
        return found.take(np.arange(len(found)))

    def shown_so_far(self, rounds: int) -> pa.Array:
        """Return every label that any release has shown, each once; those whose names are damaged are missing."""
        old = self.labels(number for number in range(1, rounds + 1) if self.is_old(number))
        names = self.log.names.all()
        if not len(names) or not len(old):
            return names if len(names) else old
        return pa.concat_arrays([names, old.take(to_arrow(np.flatnonzero(LabelTable((names,)).rows_of(old) < 0)))])

    def check(self, number: int) -> None:
        """Refuse a release that cannot be read, or is not that of its round."""
        if self.is_old(number):
            self._old(number)
        elif len(rows := self.log.rows(number)):
            self.log.require_names(number, rows)

    def label_type(self, releases: Iterable[int]) -> pa.DataType | None:
        """Return of what type the labels are; None if nothing was shown so far."""
        if self.log.names.type is not None:
            return self.log.names.type
        tables = (self._old(number).table for number in releases if self.is_old(number))
        return next((labels_of(table).type for table in tables if len(table)), None)

    def is_old(self, number: int) -> bool:
        """Return whether a release lies in a file of its own, as version 0.1 kept it."""
        return number not in self.log and self._file(number).exists()

    def _old(self, number: int) -> Release:
        data = read_file(self._file(number))
        try:
            release = Release.from_bytes(unsealed(RELEASE, data))
        except (StreamError, InvalidArgumentError):
            raise StreamError(damaged(number, "is torn or was changed")) from None
        if release.plan.get("round") != number:
            raise StreamError(damaged(number, f"is that of round {release.plan.get('round')}, put in its place"))
        return release

    def _file(self, number: int) -> Path:
        return self._folder / f"{number:08d}"


@dataclass(frozen=True, eq=False)
class Paths:
    """What was released of some items. Where an item was not shown, `shown` is false and its numbers are 0."""

    labels: pa.Array
    rounds: Numbers
    times: list[datetime | None]
    shown: NDArray[np.bool_]
    count: Numbers
    low: Numbers
    high: Numbers

    @classmethod
    def read(cls, history: History, numbers: Sequence[int], labels: pa.Array) -> Paths:
        """Read the running counts of some labels, all different, out of some releases, and nothing else."""
        size = (len(numbers), len(labels))
        shown = np.zeros(size, dtype=bool)
        found = [np.zeros(size, dtype=np.int64) for _ in range(3)]
        for at, number in enumerate(numbers):
            places, columns = history.values(number, labels)
            shown[at, places] = True
            for numbers_found, column in zip(found, columns, strict=True):
                numbers_found[at, places] = column
        times = [history.time(number) for number in numbers]
        return cls(labels, np.array(numbers, dtype=np.int64), times, shown, *found)

    def within(self, rows: Numbers, rounds: Numbers) -> Paths:
        """Return a part of the releases, whose rounds have other numbers there."""
        times = [self.times[row] for row in rows.tolist()]
        parts = (self.shown[rows], self.count[rows], self.low[rows], self.high[rows])
        return Paths(self.labels, rounds, times, *parts)
