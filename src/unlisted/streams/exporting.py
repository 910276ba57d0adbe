"""Many releases as one table, with the round and its time in front; only what was asked for is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from unlisted.counts.whole_numbers import to_arrow
from unlisted.release.release import Release
from unlisted.streams.folder import Folder
from unlisted.streams.history import History
from unlisted.streams.question import ROUND
from unlisted.streams.releases import plan_of
from unlisted.streams.selecting import Selection
from unlisted.streams.settings import Settings
from unlisted.streams.wanted import as_labels

TIME = pa.timestamp("us", tz="UTC")

_OF_ONE_ROUND = ("threshold", "noise", "round", "half_width_95", "users_needed", "users_needed_above_cut")
"""What a plan says of one release, and would be wrong of others."""


@dataclass(frozen=True)
class Export:
    """What is exported: these releases of a stream, of all items or of some."""

    settings: Settings
    history: History
    numbers: list[int]
    wanted: pa.Array | None
    never_shown: list[Any]

    @classmethod
    def of(cls, folder: Folder, selection: Selection, items: Iterable[Any] | None) -> Export:
        """Find out what is to be read, and read nothing of it yet."""
        settings, history, last = folder.settings, folder.history(), folder.round()
        every = settings.release_every
        releases = range(every, last + 1, every)
        chosen = selection.of(releases, [history.time(number) for number in releases])
        if items is None:
            return cls(settings, history, chosen, None, [])
        wanted, unreadable = as_labels(items, history.label_type(releases))
        return cls(settings, history, chosen, wanted, unreadable)

    @property
    def time_column(self) -> str:
        """What the column with the time of a round is called: otherwise, where the items are called so."""
        return "time" if "time" not in self.settings.item else "round_time"

    def tables(self) -> Iterator[pa.Table]:
        """Read release after release, each as a table; none of those that show nothing."""
        for number in self.numbers:
            table = self.history.rows(number, self.wanted)
            if len(table):
                time = pa.repeat(pa.scalar(self.history.time(number), TIME), len(table))
                timed = table.add_column(0, self.time_column, time)
                yield timed.add_column(0, ROUND, to_arrow(np.full(len(table), number)))

    def empty(self) -> pa.Table:
        """Return the table of an export that has no rows."""
        names = {ROUND: pa.int64(), self.time_column: TIME, **dict.fromkeys(self.settings.item, pa.string())}
        names |= dict.fromkeys(("count", "low", "high"), pa.int64())
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
