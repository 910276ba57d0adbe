"""The running counts of a stream: what was released, and a steady line in its band."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from unlisted.release.charts.drawing import (
    LEGEND_COLUMNS,
    SAID,
    WIDTH,
    altair_module,
    as_data,
    promised,
    said_of,
    told_apart,
)
from unlisted.release.graphemes import cut
from unlisted.tables.items import answer_name

if TYPE_CHECKING:
    import altair

    from unlisted.release.release import Release
    from unlisted.streams.history import Paths
    from unlisted.streams.steady import Steady

_LONG_PAUSE = 3
"""A line breaks where rounds are so many times further apart than usual."""


def stream_chart(
    paths: Paths, steady: Steady, about: Release, axis: Literal["time", "round"] | None = None
) -> altair.LayerChart:
    """Draw running counts: points for what was released, and a steady line in its band, which is dashed in gaps.

    `about` has the plan and the guarantee of the stream. Without an axis, rounds are drawn at their times where
    that tells more than their numbers.
    """
    alt = altair_module()
    by_time = axis == "time" or (axis is None and _is_worth_a_time_axis(paths))
    written = [" · ".join(map(as_data, _parts(label))) for label in paths.labels.to_pylist()]
    labels = told_apart([cut(label, LEGEND_COLUMNS) for label in written])
    x = alt.X("round:Q", title="round", axis=alt.Axis(tickMinStep=1))
    if by_time:
        x = alt.X("time:T", title="time (UTC)", scale=alt.Scale(type="utc"), axis=alt.Axis(labelOverlap=True))
    color = alt.Color(
        "label:N",
        title=", ".join(as_data(answer_name(item)) for item in about.plan["items"]),
        sort=labels,
        legend=alt.Legend(labelLimit=0, symbolOpacity=1),
    )
    lines = alt.Chart().encode(x=x, color=color, description=SAID)
    points = alt.Chart(alt.Data(values=_released_rows(paths, labels, by_time=by_time))).encode(x=x, color=color)
    y = alt.Y("steady:Q", title=f"running count of {about.plan['count']}")
    reading = "points are released counts, lines are smoothed from them and do not fall, bands 95 % intervals"
    title = {"text": "Private running counts", "subtitle": [promised(about), reading], "anchor": "start"}
    chart: altair.LayerChart = alt.layer(
        lines.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title=None), y2="high:Q", detail="run:N"),
        points.mark_circle(size=10, opacity=0.5, aria=False).encode(y="count:Q"),
        lines.mark_line(strokeWidth=1, strokeDash=[3, 3]).encode(y=y, detail="run:N"),
        lines.mark_line(strokeWidth=2).encode(y=y, detail="segment:N").transform_filter("datum.is_shown"),
        # Once, for all that are drawn from it: a year is long.
        data=alt.Data(values=_steady_rows(paths, steady, labels, by_time=by_time)),
        width=WIDTH,
        height=320,
        title=title,
    )
    return chart


def _is_worth_a_time_axis(paths: Paths) -> bool:
    """Return whether times of rounds tell more than their numbers: they are known, and rounds were not hurried."""
    known = [(time, number) for time, number in zip(paths.times, paths.rounds.tolist(), strict=True) if time]
    if len(known) < 2:
        return False
    (first, one), (last, other) = known[0], known[-1]
    return bool((last - first).total_seconds() >= 60 * (other - one))


def _runs(paths: Paths, *, by_time: bool) -> list[int]:
    """Return for each round the number of the run that it belongs to: a run ends where rounds are missing."""
    at = [time.timestamp() if time else None for time in paths.times] if by_time else paths.rounds.tolist()
    steps = [later - earlier for earlier, later in pairwise(at) if earlier is not None and later is not None]
    usual = sorted(steps)[len(steps) // 2] if steps else 0
    runs, run = [0] if at else [], 0
    for earlier, later in pairwise(at):
        run += earlier is None or later is None or later - earlier > _LONG_PAUSE * usual
        runs.append(run)
    return runs


def _places(paths: Paths, *, by_time: bool) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield where rounds are drawn; on an axis of times, not those that have none."""
    for at, (number, time) in enumerate(zip(paths.rounds.tolist(), paths.times, strict=True)):
        if not by_time:
            yield at, {"round": number}
        elif time is not None:
            yield at, {"time": time.isoformat()}


def _released_rows(paths: Paths, labels: list[str], *, by_time: bool) -> list[dict[str, Any]]:
    return [
        {**place, "label": labels[item], "count": int(paths.count[at, item])}
        for at, place in _places(paths, by_time=by_time)
        for item in paths.shown[at].nonzero()[0].tolist()
    ]


def _steady_rows(paths: Paths, steady: Steady, labels: list[str], *, by_time: bool) -> list[dict[str, Any]]:
    # Where a stream counts anew, a line begins anew.
    pauses = _runs(paths, by_time=by_time)
    runs = [f"{pause} {window}" for pause, window in zip(pauses, steady.windows.tolist(), strict=True)]
    rows = []
    # A segment ends with its run, and where the item is not shown.
    segments = (~paths.shown).cumsum(axis=0)
    for at, place in _places(paths, by_time=by_time):
        for item in steady.since[at].nonzero()[0].tolist():
            count, half = int(steady.count[at, item]), int(steady.half_width[at])
            row = {"count": count, "low": max(1, count - half), "high": count + half}
            said = f"{next(iter(place.values()))}: {said_of(labels[item], row)}"
            run, segment = runs[at], int(segments[at, item])
            drawn = {"label": labels[item], "run": run, "segment": f"{run} {segment}", "said": said}
            shown = {"is_shown": bool(paths.shown[at, item]), "steady": count}
            rows.append({**place, **drawn, **shown, "low": row["low"], "high": row["high"]})
    return rows


def _parts(label: Any) -> list[Any]:
    return list(label.values()) if isinstance(label, dict) else [label]
