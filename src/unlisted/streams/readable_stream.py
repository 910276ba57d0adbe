"""What can be read of a stream: its releases, as they were released. That needs neither the key nor a lock."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.numbers import whole
from unlisted.release.release import Release
from unlisted.streams.backing_up import back_up
from unlisted.streams.exporting import Export
from unlisted.streams.folder import Folder
from unlisted.streams.selecting import Selection
from unlisted.streams.settings import Settings
from unlisted.streams.steady import MOST_SMOOTHED, steadied
from unlisted.streams.times import Duration, Moment
from unlisted.streams.verify import problems_of
from unlisted.streams.windows import between, require_window

if TYPE_CHECKING:
    import altair


MOST_DRAWN = 200
"""So many releases can be told apart in a chart: more would be drawn over each other."""


class ReadableStream:
    """The releases of a stream, in a folder that may lack the key."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._folder = Folder(Path(path))
        self._settings = self._folder.settings

    @property
    def settings(self) -> Settings:
        """What the stream was created with."""
        return self._settings

    @property
    def guarantee(self) -> Guarantee:
        """What the whole life of the stream costs."""
        return self._settings.mechanism.guarantee()

    @property
    def stamp(self) -> Mapping[str, str | int] | None:
        """The entry of a ledger that it was paid with, as its receipts name it; None if no account paid."""
        return self._folder.stamp()

    @property
    def round(self) -> int:
        """How many rounds have been taken in."""
        return self._folder.round()

    def time(self, number: int) -> datetime | None:
        """Return when a round was: as given when it was pushed, or else the moment of the push.

        None for a round that was filled in as empty.

        Args:
            number: which round, from 1.
        """
        return self._folder.history().time(whole("number", number))

    def release(self, number: int) -> Release:
        """Return the release after a round, as it was released.

        Args:
            number: which round, from 1.
        """
        every, last = self._settings.release_every, self.round
        if whole("number", number) > last or number % every:
            allowed = f"one of the {last // every} rounds with a release, up to {last}"
            hint = "" if every == 1 else f"There is a release after every {every} rounds."
            raise InvalidArgumentError("number", number, allowed, hint)
        return self._folder.release(number)

    def releases(self) -> Iterator[tuple[int, Release]]:
        """Yield every release so far, with its round."""
        every, last = self._settings.release_every, self.round
        history, stamp = self._folder.history(), self.stamp
        for number in range(every, last + 1, every):
            yield number, replace(history.release(number), stamp=stamp)

    def last(self, rounds: int | Duration, *, at: int | None = None) -> Release:
        """Return the counts of the last so many rounds, from what was released: it costs nothing more.

        Args:
            rounds: how many rounds, such as 24 for a day of an hourly stream; or how long, such as "24h", up to
                the time of the last round. All there were, if fewer, in the stream or in its present window.
            at: the last round that counts, from 1; by default that of the latest release.
        """
        every = self._settings.release_every
        now = self.round // every * every if at is None else whole("at", at)
        latest = self.release(now)
        before = self._folder.history().before(now, rounds, every)
        if before <= self._settings.window_of(now) * self._settings.counted_rounds:
            return between(self._settings, None, (now, latest))
        require_window(self._settings, before, now)
        return between(self._settings, (before, self.release(before)), (now, latest))

    def export(
        self,
        *,
        start: int | Moment | None = None,
        end: int | Moment | None = None,
        every: int | Duration = 1,
        items: Iterable[Any] | None = None,
        steady: bool = False,
    ) -> Release:
        """Return releases as one, with the columns `round` and `time` in front.

        Args:
            start: the first round or moment; by default the stream's first. A moment is text such as 2026-03-01
                or 2026-03-01T15:00, a date or a datetime, and UTC where it has no zone.
            end: the last round or moment; by default the stream's last. A date ends with that day.
            every: take one of so many releases, counted from the stream's first; or the last of every so long,
                such as "1 day", counted from midnight UTC.
            items: only these; by default all of them. Items of several columns are tuples.
            steady: add the columns `steady`, `steady_low` and `steady_high`: running counts that do not fall, for
                every item from the release on that showed it first, with 95 % intervals. They are computed from
                these releases alone and cost nothing; a later export may say otherwise of the same round. Where an
                item was not shown, `count`, `low` and `high` are null.

        Examples:
            >>> import pyarrow as pa
            >>> asked = {"unit": "user", "items_per_event": 1, "rounds_per_user": 1}
            >>> budget = ul.Budget(epsilon=1, delta=1e-8)
            >>> stream = ul.Stream.create("dishes", rounds=24, budget=budget, **asked)
            >>> orders = pa.table({"user": range(900), "item": ["soup", "bread"] * 450})
            >>> for hour in range(4):
            ...     _ = stream.push(orders.slice(300 * hour, 300), time=f"2026-03-01T{hour:02d}:00")
            >>> [(row["round"], row["item"]) for row in stream.export(start=2, every=2, items=["soup"])]
            [(2, 'soup'), (4, 'soup')]
        """
        return Export.of(self._folder, Selection.read(start, end, every), items, steady=steady).release()

    def verify(self) -> list[str]:
        """Return what is wrong with the stream's files, a sentence each; an empty list if all is in order.

        Every release is read, and it is checked that it is whole and that of its round; so are state, journal and
        settings, and whether the key is private. A damaged release is named; the others can still be read.

        Examples:
            >>> asked = {"unit": "user", "items_per_user": 1, "budget": ul.Budget(epsilon=1, delta=1e-8)}
            >>> ul.Stream.create("checked", rounds=24, **asked).verify()
            []
        """
        return list(problems_of(self._folder))

    def backup(self, to: str | os.PathLike[str], *, releases_only: bool = False) -> int:
        """Copy the stream to a new folder, as it stands after one round, also while somebody pushes to it.

        A copy is as sensitive as the stream. If it goes on with other rounds than the stream did, that is a second
        stream, which nobody has paid for. Return how many rounds the copy has.

        Args:
            to: a folder that does not exist yet.
            releases_only: leave out the key and every count that was not released. What is copied then may be
                published; it can be read like the stream, and nothing can be pushed to it.

        Examples:
            >>> asked = {"unit": "user", "items_per_user": 1, "budget": ul.Budget(epsilon=1, delta=1e-8)}
            >>> ul.Stream.create("mine", rounds=24, **asked).backup("to-publish", releases_only=True)
            0
            >>> ul.Stream.open("to-publish").round
            0
        """
        return back_up(self._folder, Path(to), releases_only=releases_only)

    def write_export(
        self,
        path: str | os.PathLike[str],
        *,
        start: int | Moment | None = None,
        end: int | Moment | None = None,
        every: int | Duration = 1,
        items: Iterable[Any] | None = None,
        steady: bool = False,
        overwrite: bool = False,
    ) -> int:
        """Write an export to a file, a part at a time: it may be larger than memory. Return how many rows it has.

        Args:
            path: a file that ends in .csv or .parquet.
            start: the first round or moment, as in `export`.
            end: the last round or moment, as in `export`.
            every: one of so many releases, or one of every so long, as in `export`.
            items: only these, as in `export`.
            steady: add steady counts, as in `export`.
            overwrite: replace a file that is there.
        """
        target = Path(path)
        if target.suffix.lower() not in (".csv", ".parquet"):
            raise InvalidArgumentError("path", str(path), "a file that ends in .csv or .parquet")
        if target.exists() and not overwrite:
            hint = "It exists already. Pass overwrite=True to replace it."
            raise InvalidArgumentError("path", str(path), "a file that does not exist yet", hint)
        return Export.of(self._folder, Selection.read(start, end, every), items, steady=steady).write(target)

    def chart(
        self,
        *,
        items: Iterable[Any] | None = None,
        most: int = 10,
        start: int | Moment | None = None,
        end: int | Moment | None = None,
        every: int | Duration | None = None,
        axis: Literal["time", "round"] | None = None,
    ) -> altair.LayerChart:
        """Draw running counts: what was released as points, and a steady line through them in a 95 % band.

        Only what is drawn is read. The steady line does not fall, and is computed from what is drawn.

        Args:
            items: draw these; by default the largest of the last release. Items of several columns are tuples.
            most: how many of the largest.
            start: the first round or moment, as in `export`.
            end: the last round or moment, as in `export`.
            every: draw one of so many releases, or one of every so long; by default as many as fit.
            axis: "time" or "round". By default time, or the round where the times of rounds are unknown or were
                taken from the clock less than a minute apart.
        """
        from unlisted.release.charts import stream_chart  # noqa: PLC0415 - an extra

        if axis not in (None, "time", "round"):
            raise InvalidArgumentError("axis", axis, "'time' or 'round'")
        export = Export.of(self._folder, Selection.read(start, end, 1 if every is None else every), items)
        if every is None:
            export = export.thinned(MOST_DRAWN)
        elif len(export.numbers) > MOST_SMOOTHED:
            allowed = f"such that at most {MOST_SMOOTHED:,} releases are drawn"
            raise InvalidArgumentError("every", every, allowed, "Leave it out to draw as many as fit.")
        paths = export.paths(whole("most", most))
        steady = steadied(paths, self._settings)
        return stream_chart(paths, steady, export.release_of(export.empty()), axis)
