"""What a caller wants to read of a stream: which releases, and which items as labels of the stream's own type."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from unlisted.counts.labels import encode_all
from unlisted.errors import InvalidArgumentError
from unlisted.privacy.numbers import whole
from unlisted.streams.times import Duration, Moment, duration, moment

_EPOCH = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True)
class Selection:
    """A choice among the releases of a stream.

    `start` and `end` are the first and the last round, or the first and the last moment; None is no limit. `every`
    is one of so many releases, counted from the stream's first so that two choices fit together; or it is a length
    of time, counted from midnight UTC, and the last release within each is taken.
    """

    start: int | datetime | None = None
    end: int | datetime | None = None
    every: int | timedelta = 1

    @classmethod
    def read(cls, start: int | Moment | None, end: int | Moment | None, every: int | Duration) -> Selection:
        """Read a choice as a caller says it."""
        first, last = _edge("start", start), _edge("end", end)
        return cls(first, last, _step(every))

    def of(self, releases: Sequence[int], times: Sequence[datetime | None]) -> list[int]:
        """Return the chosen ones of all releases, given by their rounds and when these were."""
        known = _carried(times)
        within = [
            at
            for at, number in enumerate(releases)
            if not _is_before(number, known[at], self.start) and not _is_after(number, known[at], self.end)
        ]
        every = self.every
        if isinstance(every, timedelta):
            # The last of each period is the one that is kept.
            last = {_period(known[at], every): at for at in within}
            return [releases[at] for at in sorted(last.values())]
        return [releases[at] for at in within if (at + 1) % every == 0]


def as_labels(items: Iterable[Any], kind: pa.DataType | None) -> pa.Array:
    """Return items as labels of a type, each once; what cannot be of that type is no label of the stream.

    An item of several columns is a tuple or a list. Text is read as the type is written, so a shell can name
    numbers and dates.
    """
    if isinstance(items, str | bytes):
        raise InvalidArgumentError("items", items, "a list of items", "For one item, say [item].")
    asked = list(items)
    if kind is None:
        # Nothing was shown so far.
        return pa.nulls(0, pa.string())
    parts = [field.type for field in kind] if pa.types.is_struct(kind) else [kind]
    read = [_scalars(item if len(parts) > 1 else (item,), parts) for item in asked]
    found = [scalars for scalars in read if scalars is not None]
    columns = [pa.array([one[at] for one in found], part) for at, part in enumerate(parts)]
    labels = columns[0]
    if pa.types.is_struct(kind):
        labels = pa.StructArray.from_arrays(columns, names=[field.name for field in kind])
    once = {name: at for at, name in reversed(list(enumerate(encode_all(labels))))}
    return labels.take(pa.array(sorted(once.values()), pa.int64()))


def _edge(argument: str, value: int | Moment | None) -> int | datetime | None:
    if value is None:
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if isinstance(value, int):
        return whole(argument, value)
    try:
        return moment(argument, value, is_end=argument == "end")
    except InvalidArgumentError:
        allowed = "a round, or a time such as 2026-03-01 or 2026-03-01T15:00"
        raise InvalidArgumentError(argument, value, allowed, "Without a time zone it is UTC.") from None


def _step(every: int | Duration) -> int | timedelta:
    if isinstance(every, str) and every.isascii() and every.isdigit():
        every = int(every)
    if isinstance(every, int):
        return whole("every", every)
    try:
        return duration("every", every)
    except InvalidArgumentError:
        allowed = "a number of releases, or a length of time such as 24h or 7d"
        raise InvalidArgumentError("every", every, allowed) from None


def _carried(times: Sequence[datetime | None]) -> list[datetime | None]:
    """Give rounds without a time that of the round before: they were filled in between."""
    known: list[datetime | None] = []
    for time in times:
        known.append(time if time is not None or not known else known[-1])
    return known


def _is_before(number: int, time: datetime | None, start: int | datetime | None) -> bool:
    if start is None:
        return False
    return number < start if isinstance(start, int) else time is None or time < start


def _is_after(number: int, time: datetime | None, end: int | datetime | None) -> bool:
    if end is None:
        return False
    return number > end if isinstance(end, int) else time is not None and time > end


def _period(time: datetime | None, length: timedelta) -> int:
    return -1 if time is None else (time - _EPOCH) // length


def _scalars(item: Any, kinds: list[pa.DataType]) -> list[pa.Scalar] | None:
    if not isinstance(item, tuple | list) or len(item) != len(kinds):
        return None
    try:
        read = [pa.scalar(part).cast(kind) for part, kind in zip(item, kinds, strict=True)]
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    return read if all(one.is_valid for one in read) else None
