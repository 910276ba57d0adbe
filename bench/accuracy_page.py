"""The comparison at the same promise, as tables and a chart of what `utility/same_promise.py` wrote."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.utility.promise_records import cell, read

DOCS = Path(__file__).resolve().parents[1] / "docs"
CSV = DOCS / "data" / "same_promise.csv"
CHART = DOCS / "images" / "same_promise.svg"
SHOWN = {"epsilon": "1", "delta": "1e-8"}
BOUND = "10"

OURS = "unlisted, histogram (auto)"
DRAWN = (
    OURS,
    "unlisted, labels only (auto)",
    "OpenDP, Gaussian threshold",
    "OpenDP, Laplace threshold",
    "PipelineDP, Gaussian threshold",
    "PipelineDP, Laplace threshold",
    "Tumult Analytics, labels then counts",
)

Row = dict[str, str]


def measured() -> list[Row]:
    """Read all cells."""
    return read(CSV)


def versions(rows: list[Row]) -> str:
    """Return what was compared, each side once for every version in the file."""
    found = dict.fromkeys(f"{row['system'].split(',')[0]} {row['version']}" for row in rows)
    return ", ".join(found)


def table(rows: list[Row]) -> str:
    """Return the labels released by each system at one budget and bound, a column a table, and the rest below."""
    shown = [row for row in rows if _is_shown(row) and row["items_per_user"] == BOUND]
    tables, systems = _names(shown, "table"), _names(shown, "system")
    said = {(row["system"], row["table"]): _briefly(float(row["released"])) for row in shown}
    lines = [[system, *(said.get((system, name), "") for name in tables)] for system in systems]
    where = f"at ε = {SHOWN['epsilon']}, δ = {SHOWN['delta']} and {BOUND} items per user"
    parts = [
        f"Compared: {versions(rows)}. Labels released {where}, means; the intervals are in the notes below:",
        _markdown(["", *(name.replace("_", " ") for name in tables)], lines),
        *(_folded(f"{name}: intervals, recall and error {where}", _details(shown, name)) for name in tables),
    ]
    return "\n\n".join(parts)


def _details(shown: list[Row], name: str) -> str:
    lines = [
        [
            row["system"],
            row["runs"],
            f"{float(row['threshold']):,.1f}" if row["threshold"] else "",
            *(_said(row, column, digits) for column, digits in (("released", 1), ("recall", 3), ("error", 1))),
        ]
        for row in shown
        if row["table"] == name
    ]
    return _markdown(["system", "runs", "threshold", "released", "recall", "error"], lines)


BETTER = {"released": ("more labels", 1), "recall": ("higher recall", 3), "error": ("smaller error", 2)}
"""The ways to be better, with the digits in which they are said. Of errors the smaller one is better."""


def better(rows: list[Row]) -> str:
    """Say where some peer beats our histogram by more than both intervals: how often, and every cell."""
    ours = {cell(row): row for row in rows if row["system"] == OURS}
    theirs = [row for row in rows if not row["system"].startswith("unlisted")]
    ahead = {name: [row for row in theirs if _is_ahead(row, ours[cell(row)], name)] for name in BETTER}
    counted = []
    for system in _names(theirs, "system"):
        wins = [[row["items_per_user"] for row in ahead[name] if row["system"] == system] for name in BETTER]
        cells = sum(row["system"] == system for row in theirs)
        counted.append([system, str(cells), *(_tally(bounds) for bounds in wins)])
    parts = [_markdown(["system", "cells", *(title for title, _ in BETTER.values())], counted)]
    for name, (title, digits) in BETTER.items():
        lines = [
            [*cell(row), row["system"], _said(row, name, digits), _said(ours[cell(row)], name, digits)]
            for row in ahead[name]
        ]
        head = ["table", "ε", "δ", "items per user", "system", "its", "ours"]
        parts.append(_folded(f"Every cell with {title}", _markdown(head, lines)))
    return "\n\n".join(parts)


def _tally(bounds: list[str]) -> str:
    """Return how many cells, and at which items per user."""
    at = ", ".join(sorted(set(bounds), key=int))
    return f"{len(bounds)} (at {at})" if bounds else "0"


def _is_ahead(row: Row, mine: Row, name: str) -> bool:
    """Return whether a peer's number is better than ours by more than both confidence intervals."""
    if not row[name] or not mine[name]:
        return False
    lead = float(row[name]) - float(mine[name])
    return (-lead if name == "error" else lead) > sum(float(one[f"{name}_half_width"]) for one in (row, mine))


def _is_shown(row: Row) -> bool:
    return all(row[key] == value for key, value in SHOWN.items())


def _said(row: Row, name: str, digits: int) -> str:
    if not row[name]:
        return ""
    return f"{float(row[name]):,.{digits}f} ± {float(row[f'{name}_half_width']):,.{digits}f}"


def _briefly(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}"


def _names(rows: Iterable[Row], column: str) -> list[str]:
    return list(dict.fromkeys(row[column] for row in rows))


def _markdown(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    ruler = ["---", *("---:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ruler, *lines))


def _folded(title: str, body: str) -> str:
    indented = "\n".join(f"    {line}" for line in body.splitlines())
    return f'??? note "{title}"\n\n{indented}'


def draw(rows: list[Row]) -> None:
    """Draw the labels released by each system against items per user, one panel a table."""
    import altair as alt

    data: list[dict[str, Any]] = [
        {
            "table": row["table"],
            "system": row["system"],
            "items per user": int(row["items_per_user"]),
            "labels released": float(row["released"]),
        }
        for row in rows
        if row["system"] in DRAWN and _is_shown(row)
    ]
    legend = alt.Legend(orient="bottom", columns=3, title=None, labelLimit=300)
    chart = (
        alt.Chart(alt.Data(values=data))
        .mark_line(point=True)
        .encode(
            x=alt.X("items per user:Q", scale=alt.Scale(type="log"), axis=alt.Axis(values=[1, 3, 10, 50])),
            y=alt.Y("labels released:Q"),
            color=alt.Color("system:N", sort=list(DRAWN), legend=legend),
        )
        .properties(width=200, height=150)
        .facet(facet=alt.Facet("table:N", title=None, sort=_names(rows, "table")), columns=3)
        .resolve_scale(y="independent")
        .resolve_axis(x="independent")
    )
    CHART.parent.mkdir(exist_ok=True)
    chart.save(str(CHART))
