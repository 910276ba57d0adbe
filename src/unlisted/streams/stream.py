"""`ul.Stream`: a running histogram that lives in a folder, one release after another, as long as it was paid for.

Noise is a function of key, label, node and contents, so a round that is done again is done in the same way, and
one with other contents never meets old noise. `folder.py` says what lies where and when a round has happened.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unlisted.errors import ChargedFailureError, InvalidArgumentError
from unlisted.mechanisms.continual.continual_histogram import Display
from unlisted.privacy.guarantee import Budget, Guarantee
from unlisted.privacy.numbers import whole
from unlisted.query.charging import Payer
from unlisted.query.options import require_budget
from unlisted.release.release import Release, promise
from unlisted.streams import folder
from unlisted.streams.folder import Folder
from unlisted.streams.question import (
    PROTECTS_EVENTS,
    EventLevelWarning,
    StreamCount,
    StreamNoise,
    StreamQuestion,
    Unit,
)
from unlisted.streams.reading import nothing, offered
from unlisted.streams.releases import joined, released
from unlisted.streams.rounds import Kept
from unlisted.streams.saved import Saved
from unlisted.streams.settings import Settings
from unlisted.streams.windows import between, require_window
from unlisted.tables.count_query import LONGEST_LABEL
from unlisted.tables.stopping import outcome_of

if TYPE_CHECKING:
    import altair


class Stream:
    """A private running histogram in a folder.

    Guarantees: (ρ, δ) of `guarantee` for everything it ever releases, charged once, when it was created. A round
    is taken in once: brought again it gives the same release, and with other contents it is refused. Killed at any
    moment, it stands before the round or after it. One process writes at a time, any number may read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._folder = Folder(Path(path))
        self._settings = self._folder.settings()
        self._key = self._folder.key()

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        rounds: int,
        unit: Unit | None = None,
        budget: Budget,
        count: StreamCount | None = None,
        items_per_user: int | None = None,
        items_per_event: int | None = None,
        count_per_item: int = 1,
        rounds_per_user: int | None = None,
        period: int | None = None,
        per_period: int | None = None,
        round_length: str | None = None,
        window: int | str | None = None,
        windows_per_user: int | None = None,
        noise: StreamNoise = "correlated",
        display: Display = "live",
        release_every: int = 1,
        where: str | None = None,
        max_label_bytes: int = LONGEST_LABEL,
        user: str = "user",
        item: str | list[str] | tuple[str, ...] = ("item",),
        source: str = "a stream",
        account: Payer | None = None,
    ) -> Stream:
        """Make a folder for a new stream; its whole guarantee is charged to the account now, once.

        Args:
            path: a folder that does not exist yet. It is as sensitive as the data: it holds counts and the key.
            rounds: how many rounds there will be at most.
            unit: who is protected, which must be said. "user": a person over the whole stream. "event": what a
                person does in one round, and no more.
            budget: what the whole life of the stream may cost.
            count: with the unit "user", "first" counts a user once for each item, when they first have it; "every"
                counts them again in every round. "first" unless `rounds_per_user` is given.
            items_per_user: with the unit "user", the most different items that one user counts for over the whole
                stream.
            items_per_event: the most different items that one user's rows in one round count for, with the unit
                "event" or `rounds_per_user`.
            count_per_item: the most that one user adds to one item in one round (1: has it or not).
            rounds_per_user: with the unit "user" and count "every", the most rounds that one user counts in; the
                rest is dropped.
            period: with the unit "user", how many rounds make a period, to limit users in each.
            per_period: how many of a user's items (or with `rounds_per_user`, rounds) count in one period.
            round_length: how long a round is, such as "1 hour": for windows of time, and where an account pays for
                events.
            window: count anew in every window of so many rounds, or of a length of time such as "1 day".
            windows_per_user: with windows and the unit "user", the most windows that one user counts in;
                `items_per_user` is then in each.
            noise: "correlated", of which much cancels from round to round, or the survey's binary "tree".
            display: "live" shows an item while it is over the threshold, "sticky" from then on for ever.
            release_every: k for a release after each k-th round only.
            where: a condition on rows, such as "device = 'phone'".
            max_label_bytes: longer labels are not counted.
            user: the column that says whose row it is.
            item: the column whose values are counted, or several that together name an item.
            source: what a ledger calls the rows.
            account: an account of a ledger that pays.

        Examples:
            >>> budget = ul.Budget(epsilon=1, delta=1e-8)
            >>> stream = ul.Stream.create("visits", rounds=365, unit="user", items_per_user=3, budget=budget)
            >>> stream.round
            0
        """
        told: dict[str, Any] = {"rounds": rounds, "unit": unit, "count": count, "items_per_user": items_per_user}
        told |= {"items_per_event": items_per_event, "count_per_item": count_per_item, "noise": noise}
        told |= {"rounds_per_user": rounds_per_user, "period": period, "per_period": per_period}
        told |= {"round_length": round_length, "window": window, "windows_per_user": windows_per_user}
        told |= {"display": display, "release_every": release_every, "where": where}
        told |= {"max_label_bytes": max_label_bytes, "user": user, "item": item, "source": source}
        settings = Settings.for_budget(require_budget(budget), StreamQuestion(**told))
        if settings.unit == "event":
            warnings.warn(PROTECTS_EVENTS, EventLevelWarning, stacklevel=2)
        folder.create(Path(path), settings, account)
        return cls(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Stream:
        """Open a stream that was created before, to push to it or to read its releases."""
        return cls(path)

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

    def push(self, rows: Any, *, number: int | None = None, fill_gaps: bool = False) -> Release | None:
        """Take in one round, and return its release; None if no release is due after it.

        Args:
            rows: any source of `ul.table`, or what `ul.table` returns, with a user and an item column. With unit
                "event" also counts that are bounded already: a mapping of item to count, or `ul.BoundedCounts`.
            number: which round it is, from 1; the next one unless said. A round that was taken in before gives the
                same release again, and is refused with other contents.
            fill_gaps: take the rounds that were left out as empty ones. A gap is refused otherwise.
        """
        taken_in = outcome_of(lambda: self._taken_in(rows, number, fill_gaps=fill_gaps))
        if isinstance(taken_in, ChargedFailureError):
            raise ChargedFailureError("the round was not taken in, and nothing more was charged")
        if isinstance(taken_in, BaseException):
            taken_in.add_note("A round that was not taken in can be pushed again and costs nothing more.")
            raise taken_in
        return taken_in

    def _taken_in(self, rows: Any, number: int | None, *, fill_gaps: bool) -> Release | None:
        with self._folder.only_writer():
            saved = self._folder.saved(self._settings, self._key)
            wanted = saved.round + 1 if number is None else whole("number", number)
            self._require_turn(wanted, saved.round, fill_gaps=fill_gaps)
            with offered(self._settings, rows, wanted, self._key) as round_:
                digest = round_.digest()
                kept = round_.within(saved.contributions, wanted) if wanted > saved.round else None
            if kept is None:
                self._require_known(saved, wanted, digest)
                return self._due(wanted)
            # Gaps are filled once the round behind them was read: what is refused must not use rounds up.
            for missing in range(saved.round + 1, wanted):
                empty = nothing(self._settings)
                saved = self._happened(saved, missing, empty.digest(), empty.within(saved.contributions, missing))
            self._happened(saved, wanted, digest, kept)
            return self._due(wanted)

    def release(self, number: int) -> Release:
        """Return the release after a round, as it was released."""
        every, last = self._settings.release_every, self.round
        if whole("number", number) > last or number % every:
            allowed = f"one of the {last // every} rounds with a release, up to {last}"
            hint = "" if every == 1 else f"There is a release after every {every} rounds."
            raise InvalidArgumentError("number", number, allowed, hint)
        return self._folder.release(number)

    def releases(self) -> Iterator[tuple[int, Release]]:
        """Yield every release so far, with its round."""
        every = self._settings.release_every
        for number in range(every, self.round + 1, every):
            yield number, self._folder.release(number)

    def last(self, rounds: int, *, at: int | None = None) -> Release:
        """Return the counts of the last so many rounds, from what was released: it costs nothing more.

        Args:
            rounds: how many rounds, such as 24 for a day of an hourly stream; all of them if there were fewer, in
                the stream or in its present window.
            at: the last round that counts, from 1; the latest release unless said.
        """
        every = self._settings.release_every
        now = self.round // every * every if at is None else whole("at", at)
        latest = self.release(now)
        before = now - whole("rounds", rounds)
        if before <= self._settings.window_of(now) * self._settings.counted_rounds:
            return between(self._settings, None, (now, latest))
        require_window(self._settings, before, now)
        return between(self._settings, (before, self.release(before)), (now, latest))

    def export(self) -> Release:
        """Return all releases so far as one, with the column `round` in front."""
        return joined(self._settings, self.releases())

    def chart(self, items: Iterable[Any] | None = None, most: int = 10) -> altair.LayerChart:
        """Draw running counts with their error bands: of these items, or of the largest of the last release."""
        from unlisted.release.charts import stream_chart  # noqa: PLC0415 - an extra

        return stream_chart(self.export(), None if items is None else list(items), whole("most", most))

    def sink(self, after: int = 0) -> Callable[[Any, int], None]:
        """Return a function for Spark's `foreachBatch`: micro-batch b, from 0, becomes round `after` + b + 1.

        Spark does a batch again after a failure; the round is known then, and nothing happens twice.
        """
        first = whole("after", after, at_least=0) + 1

        def take_in(batch: Any, batch_number: int) -> None:
            self.push(batch, number=first + batch_number)

        return take_in

    def __repr__(self) -> str:
        settings = self._settings
        lowest, highest = min(settings.thresholds), max(settings.thresholds)
        thresholds = f"Threshold: {lowest:,}" if lowest == highest else f"Thresholds: {lowest:,} to {highest:,}"
        lines = (
            f"Stream: round {self.round:,} of {settings.rounds:,}",
            promise(self.guarantee, settings.at_delta),
            f"Protects: {settings.protection}",
            f"{thresholds}    Noise: {settings.mechanism.noise_after(settings.last_release).text}",
        )
        return "\n".join(lines)

    def _require_turn(self, wanted: int, last: int, *, fill_gaps: bool) -> None:
        if wanted > self._settings.rounds:
            hint = "The stream is over. Create a new one, which is paid for anew."
            raise InvalidArgumentError("number", wanted, f"at most {self._settings.rounds}", hint)
        if wanted > last + 1 and not fill_gaps:
            hint = f"Push round {last + 1} first, or fill the gap if it was empty (fill_gaps, --fill-gaps)."
            raise InvalidArgumentError("number", wanted, f"at most {last + 1}, the next round", hint)

    def _require_known(self, saved: Saved, number: int, digest: bytes) -> None:
        """Refuse other contents for a round that was taken in before."""
        if digest != saved.digests[number - 1]:
            hint = "It was taken in with other contents, and happens once. New rows belong to the next round."
            raise InvalidArgumentError("number", number, f"{saved.round + 1}, the next round", hint)
        self._folder.make_durable()

    def _due(self, number: int) -> Release | None:
        """Return the release after a round, if one is due."""
        return None if number % self._settings.release_every else self._folder.release(number)

    def _happened(self, saved: Saved, number: int, digest: bytes, kept: Kept) -> Saved:
        """Do a round and make it last."""
        saved = saved.in_window(self._settings, number, self._key)
        counts, contributions = kept
        running, answer = self._settings.mechanism.step(saved.running, counts)
        after, record = saved.after(running, contributions, digest)
        release = None if answer is None else released(self._settings, number, answer)
        self._folder.commit(saved, after, record, release)
        return after
