"""`ul.Stream`: a running histogram that lives in a folder, one release after another, as long as it was paid for.

Noise is a function of key, label, node and contents, so a round that is done again is done in the same way, and
one with other contents never meets old noise. `folder.py` says what lies where and when a round has happened.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from unlisted.errors import ChargedFailureError, InvalidArgumentError
from unlisted.mechanisms.continual.continual_histogram import Display
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import whole
from unlisted.query.charging import Payer
from unlisted.query.options import require_budget
from unlisted.release.release import Release, promise
from unlisted.streams import folder
from unlisted.streams.folder import EXPOSED, ExposedKeyWarning
from unlisted.streams.incoming import nothing, offered
from unlisted.streams.question import (
    PROTECTS_EVENTS,
    EventLevelWarning,
    StreamCount,
    StreamNoise,
    StreamQuestion,
    Unit,
)
from unlisted.streams.readable_stream import ReadableStream
from unlisted.streams.releases import released
from unlisted.streams.renewing import next_question, renew
from unlisted.streams.rounds import Kept
from unlisted.streams.saved import Saved
from unlisted.streams.settings import Settings
from unlisted.streams.times import Moment, moment
from unlisted.tables.count_query import LONGEST_LABEL
from unlisted.tables.stopping import outcome_of


class Stream(ReadableStream):
    """A private running histogram in a folder.

    Guarantees: (ρ, δ) of `guarantee` for everything it ever releases, charged once, when it was created. A round
    is taken in once: brought again it gives the same release, and with other contents it is refused. Killed at any
    moment, it stands before the round or after it. One process writes at a time, any number may read.

    Args:
        path: the folder of a stream; `Stream.create` makes one.

    Examples:
        >>> budget = ul.Budget(epsilon=1, delta=1e-8)
        >>> stream = ul.Stream.create("sales", rounds=30, unit="event", items_per_event=1, budget=budget)
        >>> release = stream.push({"soup": 5000, "tea": 3})
        >>> release["item"]
        ['soup']

    Theorem: continual release with correlated noise, or by the binary mechanism
    (`mechanisms/continual/correlated/histogram.md`, `mechanisms/continual/binary/histogram.md`).
    """

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
            item: the column whose values are counted, or what is computed from columns, such as "lower(query)" or
                "date_trunc('month', day) AS month"; or several that together name an item.
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
        """Open a stream that was created before, to push to it or to read its releases.

        Args:
            path: the stream's folder.
        """
        return cls(path)

    def renew(
        self,
        path: str | os.PathLike[str],
        *,
        budget: Budget,
        rounds: int | None = None,
        noise: StreamNoise | None = None,
        keep_values: bool = True,
        account: Payer | None = None,
    ) -> Stream:
        """Create the stream that follows this one: the same question on a new budget, in a new folder.

        Counts begin anew, and so does what each user may contribute. Somebody who is in both streams is protected
        by both guarantees together. Values that this stream has shown need no threshold in the next one: they are
        shown as soon as their count stands out from the noise. Values that were counted and never shown are as
        unknown as any other. This stream stays as it is, and can be read like any other.

        Args:
            path: a folder that does not exist yet.
            budget: what the whole life of the next stream may cost.
            rounds: how many rounds it has at most; as many as this one unless said.
            noise: "correlated" or "tree"; that of this stream unless said.
            keep_values: False to begin with no values, as a new stream does.
            account: an account of a ledger that pays.

        Examples:
            >>> asked = {"unit": "user", "items_per_user": 1, "budget": ul.Budget(epsilon=1, delta=1e-8)}
            >>> last_year = ul.Stream.create("visits-2026", rounds=365, **asked)
            >>> this_year = last_year.renew("visits-2027", budget=ul.Budget(epsilon=1, delta=1e-8))
            >>> this_year.round
            0
        """
        question = next_question(self._settings, rounds, noise)
        settings = Settings.for_budget(require_budget(budget), question)
        renew(self._folder, Path(path), settings, account, keep_values=keep_values)
        return Stream(path)

    def push(
        self,
        rows: Any,
        *,
        number: int | None = None,
        time: Moment | None = None,
        fill_gaps: bool = False,
        wait: bool = False,
    ) -> Release | None:
        """Take in one round, and return its release; None if no release is due after it.

        Args:
            rows: any source of `ul.table`, or what `ul.table` returns, with a user and an item column. With unit
                "event" also counts that are bounded already: a mapping of item to count, or `ul.BoundedCounts`.
            number: which round it is, from 1; by default the next one. A round that was taken in before gives the
                same release again, and is refused with other contents.
            time: when the round was: text such as 2026-03-01T15:00, a date or a datetime, UTC where it has no
                zone; by default now. A round is later than the one before it.
            fill_gaps: take the rounds that were left out as empty ones. A gap is refused otherwise.
            wait: wait while another process writes to the stream, in place of being refused.

        Examples:
            >>> import pyarrow as pa
            >>> asked = {"unit": "user", "items_per_event": 1, "rounds_per_user": 1}
            >>> stream = ul.Stream.create("orders", rounds=24, budget=ul.Budget(epsilon=1, delta=1e-8), **asked)
            >>> orders = pa.table({"user": range(901), "item": ["soup"] * 900 + ["my pin is 1234"]})
            >>> [row["item"] for row in stream.push(orders, number=1, time="2026-03-01T00:00")]
            ['soup']
        """
        given = None if time is None else moment("time", time)
        taken_in = outcome_of(lambda: self._taken_in(rows, number, given, fill_gaps=fill_gaps, wait=wait))
        if isinstance(taken_in, ChargedFailureError):
            raise ChargedFailureError("the round was not taken in, and nothing more was charged")
        if isinstance(taken_in, BaseException):
            taken_in.add_note("A round that was not taken in can be pushed again and costs nothing more.")
            raise taken_in
        return taken_in

    def _taken_in(
        self, rows: Any, number: int | None, given: datetime | None, *, fill_gaps: bool, wait: bool
    ) -> Release | None:
        key = self._folder.key()
        if self._folder.key_is_exposed():
            warnings.warn(EXPOSED, ExposedKeyWarning, stacklevel=5)
        with self._folder.only_writer(wait=wait):
            saved = self._folder.saved(self._settings, key)
            wanted = saved.round + 1 if number is None else whole("number", number)
            self._require_turn(wanted, saved.round, fill_gaps=fill_gaps)
            time = self._folder.history().time_for(wanted, saved.round, given)
            with offered(self._settings, rows, wanted, key) as round_:
                digest = round_.digest()
                kept = round_.within(saved.contributions, wanted) if wanted > saved.round else None
            if kept is None:
                self._require_known(saved, wanted, digest)
                return self._due(wanted)
            # Gaps are filled once the round behind them was read: what is refused must not use rounds up.
            while saved.round + 1 < wanted:
                empty = nothing(self._settings)
                within = empty.within(saved.contributions, saved.round + 1)
                saved = self._happened(saved, empty.digest(), within, time=None)
            self._happened(saved, digest, kept, time=time)
            return self._due(wanted)

    def sink(self, after: int = 0) -> Callable[[Any, int], None]:
        """Return a function for Spark's `foreachBatch`: micro-batch b, from 0, becomes round `after` + b + 1.

        Spark does a batch again after a failure; the round is known then, and nothing happens twice.

        Args:
            after: how many rounds the stream had before this sink.
        """
        first = whole("after", after, at_least=0) + 1

        def take_in(batch: Any, batch_number: int) -> None:
            self.push(batch, number=first + batch_number)

        return take_in

    def __repr__(self) -> str:
        settings = self._settings
        lowest, highest = min(settings.thresholds), max(settings.thresholds)
        thresholds = f"Threshold: {lowest:,}" if lowest == highest else f"Thresholds: {lowest:,} to {highest:,}"
        if settings.known is not None:
            thresholds += f"    Known values: {settings.mechanism.known_threshold_after(settings.last_release):,}"
        lines = (
            f"Stream: round {self.round:,} of {settings.rounds:,}",
            promise(self.guarantee, settings.at_delta),
            f"Protects: {settings.protection}",
            f"{thresholds}    Noise: {settings.mechanism.noise_after(settings.last_release).text}",
        )
        return "\n".join(lines)

    def _require_turn(self, wanted: int, last: int, *, fill_gaps: bool) -> None:
        if wanted > self._settings.rounds:
            hint = "The stream has ended. Renew it, which is paid for again (renew, unlisted stream renew)."
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

    def _happened(self, saved: Saved, digest: bytes, kept: Kept, *, time: datetime | None) -> Saved:
        """Do a round and make it last."""
        saved = saved.in_window(self._settings, saved.round + 1, self._folder.key())
        counts, contributions = kept
        running, answer = self._settings.mechanism.step(saved.running, counts)
        after, record = saved.after(running, contributions, digest)
        release = None if answer is None else released(self._settings, running, after.round, answer)
        self._folder.commit(saved, after, record, release, time)
        return after
