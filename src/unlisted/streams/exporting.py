"""Many releases as one table, with the round and its time in front; only what was asked for is read.

Beside the released counts there may be steady ones (`steady.py`), then also for rounds in which an item is not
shown that was shown before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from unlisted.counts import labels as label_rules
from unlisted.counts.whole_numbers import to_arrow
from unlisted.errors import InvalidArgumentError
from unlisted.release.export import csv_head, csv_rows
from unlisted.release.release import STEADY, Release, item_columns
from unlisted.streams.folder import Folder
from unlisted.streams.history import History, Paths
from unlisted.streams.packing import labels_of
from unlisted.streams.question import ROUND
from unlisted.streams.releases import plan_of
from unlisted.streams.selecting import Selection, as_labels
from unlisted.streams.settings import Settings
from unlisted.streams.steady import require_few, steadied

TIME = pa.timestamp("us", tz="UTC")
COUNTS = ("count", "low", "high")

_AT_ONCE = 200_000

_OF_ONE_ROUND = (
    "threshold",
    "known_threshold",
    "noise",
    "round",
    "half_width_95",
    "users_needed",
    "users_needed_above_cut",
)
"""What a plan says of one release, and would be wrong of others."""


@dataclass(frozen=True)
class Export:
    """What is exported: these releases of a stream, of all items or of some."""

    settings: Settings
    history: History
    numbers: list[int]
    wanted: pa.Array | None
    steady: bool = False

    @classmethod
    def of(
        cls, folder: Folder, selection: Selection, items: Iterable[Any] | None = None, *, steady: bool = False
    ) -> Export:
        """Find out what is to be read, and read nothing of it yet."""
        settings, last = folder.settings, folder.round()
        # Somebody may push meanwhile: what is read is the stream as it stood at one moment.
        history, every = folder.history_up_to(last), settings.release_every
        releases = range(every, last + 1, every)
        chosen = selection.of(releases, [history.time(number) for number in releases])
        if steady:
            _require_room(settings)
            require_few(len(chosen))
        wanted = None if items is None else as_labels(items, history.label_type(releases))
        return cls(settings, history, chosen, wanted, steady)

    @property
    def time_column(self) -> str:
        """What the column with the time of a round is called: otherwise, where the items are called so."""
        return "time" if "time" not in self.settings.item else "round_time"

    def thinned(self, most: int) -> Export:
        """Return an export of at most so many of the releases, as far apart from each other, the last included."""
        step = max(1, -(-len(self.numbers) // most))
        return replace(self, numbers=self.numbers[(len(self.numbers) - 1) % step :: step])

    def paths(self, most: int) -> Paths:
        """Read the running counts of the items that are asked for, or else of the largest of the last release."""
        labels = self.wanted
        if labels is None:
            last = self.history.rows(self.numbers[-1]).slice(0, most) if self.numbers else self.empty()
            labels = labels_of(last) if len(last) else pa.nulls(0, pa.string())
        return Paths.read(self.history, self.numbers, labels)

    def tables(self) -> Iterator[pa.Table]:
        """Read release after release, each as a table; none of those that show nothing."""
        released = ((number, self.history.rows(number, self.wanted)) for number in self.numbers)
        for number, table in self._steadied() if self.steady else released:
            if len(table):
                time = pa.repeat(pa.scalar(self.history.time(number), TIME), len(table))
                timed = table.add_column(0, self.time_column, time)
                yield timed.add_column(0, ROUND, to_arrow(np.full(len(table), number)))

    def _steadied(self) -> Iterator[tuple[int, pa.Table]]:
        """Read all that is asked for, and then yield release after release with its steady counts."""
        labels = self.wanted if self.wanted is not None else self.history.labels(self.numbers)
        paths = Paths.read(self.history, self.numbers, labels)
        steady = steadied(paths, self.settings)
        for at, number in enumerate(self.numbers):
            since = np.flatnonzero(steady.since[at])
            count = steady.count[at, since]
            order = label_rules.order(labels.take(to_arrow(since)), count)
            items, count, half = since[order], count[order], steady.half_width[at]
            shown = paths.shown[at, items]
            released = (to_arrow(one[at, items], shown) for one in (paths.count, paths.low, paths.high))
            smooth = (to_arrow(one) for one in (count, np.maximum(count - half, 1), count + half))
            columns = item_columns(labels.take(to_arrow(items)), self.settings.item)
            numbers = zip((*COUNTS, *STEADY), (*released, *smooth), strict=True)
            yield number, pa.table({**columns, **dict(numbers)})

    def empty(self) -> pa.Table:
        """Return the table of an export that has no rows."""
        names = {ROUND: pa.int64(), self.time_column: TIME, **dict.fromkeys(self.settings.item, pa.string())}
        names |= dict.fromkeys((*COUNTS, *STEADY) if self.steady else COUNTS, pa.int64())
        return pa.table({name: pa.nulls(0, kind) for name, kind in names.items()})

    def release_of(self, table: pa.Table) -> Release:
        """Return rows of the export as a release, with what the stream promises and what is true of all rounds."""
        settings, guarantee = self.settings, self.settings.mechanism.guarantee()
        said = plan_of(settings, settings.release_every)
        plan = {name: value for name, value in said.items() if name not in _OF_ONE_ROUND}
        plan["releases"] = [self.numbers[0], self.numbers[-1]] if self.numbers else []
        return Release(table, complete=True, guarantee=guarantee, at_delta=settings.at_delta, plan=plan)

    def release(self) -> Release:
        """Read everything, as one release."""
        parts = list(self.tables())
        return self.release_of(pa.concat_tables(parts).combine_chunks() if parts else self.empty())

    def write(self, path: Path) -> int:
        """Write everything to a CSV or Parquet file, a part at a time; return how many rows that were."""
        write, count = {".csv": _write_csv, ".parquet": _write_parquet}[path.suffix.lower()], 0
        beside = path.with_name(f"{path.name}.unlisted")
        try:
            with beside.open("wb") as file:
                count = write(file, self.empty(), self._parts())
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        return count

    def _parts(self) -> Iterator[pa.Table]:
        """Put tables together until they are worth writing."""
        parts: list[pa.Table] = []
        for table in self.tables():
            parts.append(table)
            if sum(map(len, parts)) >= _AT_ONCE:
                yield pa.concat_tables(parts).combine_chunks()
                parts = []
        if parts:
            yield pa.concat_tables(parts).combine_chunks()


def _write_csv(file: BinaryIO, empty: pa.Table, parts: Iterable[pa.Table]) -> int:
    count = 0
    file.write(csv_head(empty))
    for part in parts:
        file.write(csv_rows(part))
        count += len(part)
    return count


def _write_parquet(file: BinaryIO, empty: pa.Table, parts: Iterable[pa.Table]) -> int:
    import pyarrow.parquet as pq  # noqa: PLC0415 - only this format needs it

    parts = iter(parts)
    first = next(parts, empty)
    count = len(first)
    with pq.ParquetWriter(file, first.schema) as writer:
        writer.write_table(first)
        for part in parts:
            writer.write_table(part)
            count += len(part)
    return count


def _require_room(settings: Settings) -> None:
    """Refuse steady counts where the items are called like their columns."""
    for name in STEADY:
        if name in settings.item:
            hint = f"The items of this stream are called {name}, as a column of steady counts is."
            raise InvalidArgumentError("steady", name, "left out", hint)
