"""The comparison at the same promise, as a table and a chart of what `utility/same_promise.py` wrote."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1] / "docs"
CSV = DOCS / "data" / "same_promise.csv"
CHART = DOCS / "images" / "same_promise.svg"
SHOWN = {"epsilon": "1", "delta": "1e-8"}
BOUND = "10"

DRAWN = (
    "unlisted, histogram (auto)",
    "OpenDP, Gaussian threshold",
    "OpenDP, Laplace threshold",
    "PipelineDP, Gaussian threshold",
    "PipelineDP, Laplace threshold",
)


def measured() -> list[dict[str, str]]:
    """Read all cells."""
    with CSV.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def table(rows: list[dict[str, str]]) -> str:
    """Return the cells at one budget and one bound."""
    lines = [
        f"At ε = {SHOWN['epsilon']}, δ = {SHOWN['delta']} and {BOUND} items per user:\n",
        "| table | system | threshold | released | recall | error |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for row in rows:
        if _is_shown(row) and row["items_per_user"] == BOUND:
            cells = [_said(row, "released", 1), _said(row, "recall", 3), _said(row, "error", 1)]
            numbers = " | ".join([f"{float(row['threshold']):.1f}", *cells])
            lines.append(f"| {row['table']} | {row['system']} | {numbers} |")
    return "\n".join(lines)


def _is_shown(row: dict[str, str]) -> bool:
    return all(row[key] == value for key, value in SHOWN.items())


def _said(row: dict[str, str], name: str, digits: int) -> str:
    if not row[name]:
        return ""
    return f"{float(row[name]):,.{digits}f} ± {float(row[f'{name}_half_width']):,.{digits}f}"


def better(rows: list[dict[str, str]]) -> str:
    """List the cells in which some peer's labels beat ours by more than both intervals."""
    ours = {_cell(row): row for row in rows if row["system"] == DRAWN[0]}
    found = []
    for row in rows:
        mine = ours[_cell(row)]
        lead = float(row["released"]) - float(mine["released"])
        doubt = float(row["released_half_width"]) + float(mine["released_half_width"])
        if not row["system"].startswith("unlisted") and lead > doubt:
            by = f"{float(row['released']):,.1f} labels against {float(mine['released']):,.1f}"
            name, epsilon, delta, bound = _cell(row)
            found.append(
                f"- {row['system']} on {name} at ε = {epsilon}, δ = {delta}, {bound} items per user: {by}"
            )
    return "\n".join(found) or "- nowhere in these cells, beyond the confidence intervals"


def _cell(row: dict[str, str]) -> tuple[str, str, str, str]:
    return row["table"], row["epsilon"], row["delta"], row["items_per_user"]


def draw(rows: list[dict[str, str]]) -> None:
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
    legend = alt.Legend(orient="bottom", columns=3, title=None)
    chart = (
        alt.Chart(alt.Data(values=data))
        .mark_line(point=True)
        .encode(
            x=alt.X("items per user:Q", scale=alt.Scale(type="log"), axis=alt.Axis(values=[1, 3, 10, 50])),
            y=alt.Y("labels released:Q"),
            color=alt.Color("system:N", sort=list(DRAWN), legend=legend),
        )
        .properties(width=200, height=150)
        .facet(facet=alt.Facet("table:N", title=None), columns=3)
        .resolve_scale(y="independent")
    )
    CHART.parent.mkdir(exist_ok=True)
    chart.save(str(CHART))
