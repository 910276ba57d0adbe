"""A release as bars with error bars, as a ranking, or as a list of labels."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from unlisted.privacy.numbers import whole
from unlisted.release.charts.drawing import (
    BLUE,
    GREY,
    INK,
    LABEL_COLUMNS,
    WIDTH,
    altair_module,
    as_data,
    chart_bytes,
    described,
    promised,
    require_format,
    said_of,
    small_multiples,
    told_apart,
)
from unlisted.release.export import write
from unlisted.release.graphemes import cut
from unlisted.release.release import NUMBERS, rows_of
from unlisted.release.released_too import EVERYTHING_ELSE
from unlisted.tables.items import answer_name

if TYPE_CHECKING:
    import altair

    from unlisted.release.release import Release

_TOTALS = {"users": "users", "distinct": "different values"}


def release_chart(release: Release, most: int = 30) -> altair.LayerChart | altair.FacetChart:
    """Draw the first rows of a release: bars with error bars, a ranking, or a list of labels."""
    items = list(release.item_names)
    rows = _in_order(release, _first(release, whole("most", most)))
    labels = told_apart([cut(" · ".join(as_data(row[name]) for name in items), LABEL_COLUMNS) for row in rows])
    data = [
        {"label": label, "said": said_of(label, row), **{name: row[name] for name in NUMBERS if name in row}}
        for label, row in zip(labels, rows, strict=True)
    ]
    columns = release.table.column_names
    if "other" in release.totals and "by" not in release.plan:
        data.append(_everything_else(release, labels))
    by = _group(release)
    if by is not None:
        # A group stands above its rows, whose labels need not say it.
        items = items[1:]
        for one, row in zip(data, rows, strict=True):
            one |= {"label": " · ".join(as_data(row[name]) for name in items), "group": as_data(row[by])}
    if not items:
        # A total has no items: its bar is named by what it counts.
        data, items = [{**row, "label": _TOTALS[release.plan["question"]]} for row in data], [""]
    if "count" in columns:
        unit = release.plan["count"] if release.plan.get("question") != "distinct" else "values"
        layers = _bars(data, items, unit)
    else:
        layers = _ranks(data, items) if "rank" in columns else _list(data, items)
    if by is not None:
        multiples = small_multiples(layers, data, as_data(by), WIDTH // 2)
        return multiples.properties(title=_title(release, len(rows)))
    chart: altair.LayerChart = (
        altair_module().layer(*layers).properties(width=WIDTH, title=_title(release, len(rows)))
    )
    return chart


def _first(release: Release, most: int) -> list[int]:
    """Return the places of the first rows; of groups, of each the first, so that none is left out."""
    by = _group(release)
    if by is None:
        return list(range(min(most, len(release))))
    seen: Counter[Any] = Counter()
    turns = []
    for at, group in enumerate(release.table.column(by).to_pylist()):
        turns.append((seen[group], at))
        seen[group] += 1
    return sorted(at for _, at in sorted(turns)[:most])


def _everything_else(release: Release, labels: list[str]) -> dict[str, Any]:
    """Return the row of all that was held back, which no label of the data is taken for."""
    said = told_apart([*labels, f"({EVERYTHING_ELSE})"])[-1]
    return {"label": said, "said": said_of(said, release.totals["other"]), **release.totals["other"], "rest": True}


def _group(release: Release) -> str | None:
    """Return the column that names the groups of an answer, if there is one."""
    by = release.plan.get("by")
    return None if by is None else answer_name(by)


def write_chart(release: Release, path: str | os.PathLike[str], most: int, *, overwrite: bool) -> None:
    """Draw a release into a file, and refuse to replace one without being told to."""
    require_format(Path(path))
    write(path, chart_bytes(release_chart(release, most), Path(path)), overwrite=overwrite)


def _in_order(release: Release, chosen: list[int]) -> list[dict[str, Any]]:
    """Return rows as they are read: days and moments in their own order, unless an order was released."""
    rows = rows_of(release.table.take(pa.array(chosen, pa.int64())))
    when = _moments(release)
    if when is None:
        return rows
    # By Arrow, to which a moment is a number also where the clocks go back.
    places = pc.rank(release.table.column(when).take(pa.array(chosen, pa.int64()))).to_pylist()
    by = _group(release)
    groups = [] if by is None else list(dict.fromkeys(row[by] for row in rows))
    numbered = zip(rows, places, strict=True)
    keyed = sorted(numbered, key=lambda one: (0 if by is None else groups.index(one[0][by]), one[1]))
    return [row for row, _ in keyed]


def _moments(release: Release) -> str | None:
    """Return the column of days or moments that rows are read along, if there is one."""
    items = [name for name in release.item_names if name != _group(release)]
    if not items or "rank" in release.table.column_names:
        return None
    return items[0] if pa.types.is_temporal(release.table.schema.field(items[0]).type) else None


def _bars(data: list[dict[str, Any]], items: list[str], unit: str) -> list[Any]:
    alt = altair_module()
    label, base = _label_axis(items), described(data)
    # The last number is moved inward, where it would touch the one before it.
    axis = alt.Axis(labelOverlap="greedy", labelSeparation=8)
    x = alt.X("count:Q", title=f"noisy count of {unit}", axis=axis)
    return [
        base.mark_bar(opacity=0.85).encode(
            x=x, y=label, color=alt.condition("datum.rest", alt.value(GREY), alt.value(BLUE))
        ),
        base.mark_rule(color=INK, strokeWidth=1.5).encode(x="low:Q", x2="high:Q", y=label),
        base.mark_text(align="left", dx=4, color=INK).encode(
            x="high:Q", y=label, text=alt.Text("count:Q", format=",d")
        ),
    ]


def _ranks(data: list[dict[str, Any]], items: list[str]) -> list[Any]:
    """Draw a ranking as equal bars with their place: lengths would suggest counts that were not released."""
    alt = altair_module()
    label, base = _label_axis(items), described(data)
    return [
        base.mark_bar(color=BLUE, opacity=0.2).encode(x=alt.value(0), x2=alt.value(WIDTH), y=label),
        base.mark_text(align="left", color=INK, fontWeight="bold").encode(x=alt.value(8), y=label, text="rank:Q"),
    ]


def _list(data: list[dict[str, Any]], items: list[str]) -> list[Any]:
    """Draw labels as a list: there is nothing to measure them by."""
    alt = altair_module()
    bare = alt.Axis(labels=False, ticks=False, domain=False)
    line = _label_axis(items).axis(bare)
    written = described(data).mark_text(align="left", color=INK)
    return [written.encode(x=alt.value(8), y=line, text="label:N")]


def _label_axis(items: list[str]) -> Any:
    alt = altair_module()
    title = ", ".join(as_data(name) for name in items)
    return alt.Y("label:N", title=title, sort=None, axis=alt.Axis(labelLimit=0, maxExtent=WIDTH))


def _title(release: Release, shown: int) -> Any:
    title, reading = _words(release.table.column_names)
    some = ""
    if shown < len(release):
        # Days stand in their own order, and those that are drawn are not the first days.
        largest = _moments(release) is not None and "count" in release.table.column_names
        which = f"the {shown:,} largest" if largest else f"the first {shown:,}"
        which = which if _group(release) is None else f"{shown:,}, the first of each group,"
        some = f"; {which} of {len(release):,}, chart(most={len(release)}) draws all"
    if "other" in release.totals and _group(release) is None:
        # What is not drawn was released, and is no part of everything else.
        reading += ", grey what was held back"
    return {"text": title, "subtitle": f"{promised(release)}; {reading}{some}", "anchor": "start"}


def _words(columns: list[str]) -> tuple[str, str]:
    """Return what an answer with these columns is, and how it is to be read."""
    if "count" in columns:
        return "Private counts", "bars are noisy counts, lines 95 % intervals"
    if "rank" in columns:
        return "Private ranking", "only the order was released"
    return "Private labels", "only the values were released, no counts and no order"
