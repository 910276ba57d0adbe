"""Counts of the last so many rounds, from releases that are out already: the difference of two of them.

Whatever is computed from releases costs nothing more. The noise of two releases of one item is correlated, and
much of it cancels in their difference, so its interval is computed from the difference and not from two intervals.

Near the threshold a release is flattered by its noise, and a difference may be so on either side. There an
interval is as wide as both releases' own intervals allow. An item that was not shown before had a count that was
hidden: it is between 0 and what the threshold hides, and the middle is taken for it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts import labels as label_rules
from unlisted.counts.whole_numbers import to_arrow, to_numpy
from unlisted.errors import InvalidArgumentError
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.release.release import Release
from unlisted.streams.settings import Settings

_WIDER = 2.2414 / 1.9600
"""Two intervals that hold with 97.5 % each hold together with 95 %: so much wider they are than those of 95 %."""

_FAR = 4
"""So many deviations over the threshold, that a value was shown says nothing about its noise."""

Whole = NDArray[np.int64]


def require_window(settings: Settings, before: int, now: int) -> None:
    """Refuse ends between which no difference can be taken."""
    every = settings.release_every
    if (now - before) % every or before < 0:
        allowed = f"a number of rounds up to {now:,}" + (f", in steps of {every:,}" if every > 1 else "")
        raise InvalidArgumentError("rounds", now - before, allowed, "A window lies between two releases.")


def between(settings: Settings, before: tuple[int, Release] | None, now: tuple[int, Release]) -> Release:
    """Return the counts of the rounds after one release up to another; None for the beginning of the stream.

    Args:
        settings: what the stream was created with.
        before: the round that the window begins after, with the release after it.
        now: the last round of the window, with the release after it.
    """
    number, last = now
    if before is None:
        # From the beginning of the stream, or of its window: the release itself.
        begun = settings.window_of(number) * settings.counted_rounds
        return replace(last, plan=_plan(settings, last, begun, number))
    start, first = before
    require_window(settings, start, number)
    items = list(settings.item)
    later = last.table
    rows = _rows_of(first.table, later, items)
    shown = rows >= 0
    count, low, high = _both_shown(settings, before, now, rows)
    hidden = _first_shown(settings, before, now)
    for values, others in zip((count, low, high), hidden, strict=True):
        values[~shown] = others[~shown]
    # What came out below 1 in these rounds is as good as nothing.
    there = np.flatnonzero(count > 0)
    order = there[label_rules.order(_labels(later, items).take(to_arrow(there)), count[there])]
    columns: dict[str, Any] = {name: later.column(name).take(to_arrow(order)) for name in items}
    columns |= {name: to_arrow(of[order]) for name, of in (("count", count), ("low", low), ("high", high))}
    return replace(last, table=pa.table(columns), plan=_plan(settings, last, start, number))


def _both_shown(
    settings: Settings, before: tuple[int, Release], now: tuple[int, Release], rows: Whole
) -> tuple[Whole, Whole, Whole]:
    """Return the difference of what two releases show, with its interval."""
    (start, first), (number, last) = before, now
    at = to_arrow(np.maximum(rows, 0))
    then = {
        name: to_numpy(first.table.column(name).take(at)) if len(first) else np.zeros(len(rows), np.int64)
        for name in ("count", "low", "high")
    }
    latest = {name: to_numpy(last.table.column(name)) for name in ("count", "low", "high")}
    count = latest["count"] - then["count"]
    half = _noise(settings, start, number).half_width()
    low, high = count - half, count + half
    near = _near(settings, number, latest["count"]) | _near(settings, start, then["count"])
    low = np.where(near, np.minimum(low, latest["low"] - then["high"]), low)
    high = np.where(near, np.maximum(high, latest["high"] - then["low"]), high)
    return count, np.maximum(low, 0), np.maximum(high, 0)


def _first_shown(
    settings: Settings, before: tuple[int, Release], now: tuple[int, Release]
) -> tuple[Whole, Whole, Whole]:
    """Return the counts of items that were hidden before: all but what the threshold may have hidden."""
    (start, _), (_, last) = before, now
    mechanism = settings.mechanism
    place = settings.in_window(start)
    threshold, law = mechanism.threshold_after(place), mechanism.noise_after(place).law
    most = threshold + int(np.ceil(_WIDER * law.half_width()))
    latest = {name: to_numpy(last.table.column(name)) for name in ("count", "low", "high")}
    wider = np.ceil((_WIDER - 1) * (latest["high"] - latest["low"]) / 2).astype(np.int64)
    count = np.maximum(latest["count"] - threshold // 2, 1)
    return count, np.maximum(latest["low"] - wider - most, 0), latest["high"] + wider


def _near(settings: Settings, number: int, counts: Whole) -> NDArray[np.bool_]:
    """Return which values are so close to the threshold that being shown flatters them."""
    mechanism = settings.mechanism
    place = settings.in_window(number)
    far = mechanism.threshold_after(place) + _FAR * mechanism.noise_after(place).law.stddev
    return counts < far


def _noise(settings: Settings, start: int, number: int) -> DiscreteGaussian:
    """Return about the noise on a difference; both ends lie in one window of the stream, or at its beginning."""
    place = settings.in_window(number)
    return settings.mechanism.noise_between(place - (number - start), place)


def _plan(settings: Settings, last: Release, start: int, number: int) -> dict[str, Any]:
    """Return what was asked and how: the last release's, and which rounds the counts are of."""
    plan: dict[str, Any] = {**last.plan, "window": {"from_round": start + 1, "to_round": number}}
    half = _noise(settings, start, number).half_width()
    return {**plan, "half_width_95": half}


def _rows_of(first: pa.Table, later: pa.Table, items: list[str]) -> Whole:
    """Return where each item of the later release stands in the first, -1 where it was not shown."""
    known = {name: row for row, name in enumerate(_names(first, items))}
    return np.array([known.get(name, -1) for name in _names(later, items)], dtype=np.int64)


def _names(table: pa.Table, items: list[str]) -> list[bytes]:
    return list(label_rules.encode_all(_labels(table, items))) if len(table) else []


def _labels(table: pa.Table, items: list[str]) -> pa.Array:
    """Return the items of a release as one array."""
    columns = [table.column(name).combine_chunks() for name in items]
    return columns[0] if len(columns) == 1 else pa.StructArray.from_arrays(columns, names=items)
