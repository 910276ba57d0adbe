"""The page about growth: its tables and charts, from what was measured last.

All other words of docs/scaling.md and docs/spark.md are for people to write; between two marks stands what is
written here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Points = list[dict[str, Any]]
Exponent = Callable[[Points, str], float]

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = (DOCS / "scaling.md", DOCS / "spark.md")
PART = re.compile(r"(<!-- scale: (?P<name>\w+) -->\n)(?P<body>.*?)(<!-- end of scale -->)", re.DOTALL)

NAMES = {
    "rows": "rows",
    "users": "users",
    "items": "different items",
    "items_per_user": "items per user",
    "fetch": "counts fetched (k̄)",
    "rounds": "rounds of a stream",
}
MEASURES = {"processor_seconds": ("time", "processor seconds"), "peak_bytes": ("memory", "peak memory, MB")}
BILLION = 1_000_000_000


def write(measured: Mapping[str, Points], exponent: Exponent) -> None:
    """Write the charts, and the parts of the pages that hold numbers."""
    sweeps = {name: measured[name] for name in NAMES if name in measured}
    _draw(sweeps, exponent)
    parts = {name: _table(name, points) for name, points in sweeps.items()}
    if sweeps:
        parts["exponents"] = _exponents(sweeps, exponent)
    if "out_of_core" in measured:
        parts["out_of_core"] = _out_of_core(measured["out_of_core"])
    if "postgres" in measured:
        parts["postgres"] = _postgres(measured["postgres"])
    if "spark" in measured:
        parts["spark"] = _spark(measured["spark"], exponent)
    if "spark_streams" in measured:
        parts["spark_streams"] = _spark_streams(measured["spark_streams"])
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        path.write_text(PART.sub(lambda found: _renewed(found, parts), page), encoding="utf-8")


def _renewed(found: re.Match[str], parts: Mapping[str, str]) -> str:
    if found["name"] not in parts:
        return found[0]
    return f"{found[1]}\n{parts[found['name']]}\n\n{found[4]}"


def _table(name: str, points: Points) -> str:
    lines = [f"| {NAMES[name]} | processor time | peak memory |", "|---:|---:|---:|"]
    lines += [
        f"| {one['at']:,} | {one['processor_seconds']:.2f} s | {one['peak_bytes'] / 1e6:,.0f} MB |"
        for one in points
    ]
    return "\n".join(lines)


def _exponents(sweeps: Mapping[str, Points], exponent: Exponent) -> str:
    lines = ["| what grows | from | to | time grows as | peak memory grows as |", "|---|---:|---:|---:|---:|"]
    for name, points in sweeps.items():
        powers = " | ".join(f"power {_shown(exponent(points, what))}" for what in MEASURES)
        lines.append(f"| {NAMES[name]} | {points[0]['at']:,} | {points[-1]['at']:,} | {powers} |")
    return "\n".join(lines)


def _shown(power: float) -> str:
    """Write a power with two digits, and never a negative zero."""
    return f"{round(power, 2) + 0.0:.2f}"


def _out_of_core(points: Points) -> str:
    head = "| rows | different items | memory set | processor time | wall | peak memory | outside the engine |"
    lines = [head, "|---:|---:|---:|---:|---:|---:|---:|"]
    for one in sorted(points, key=lambda point: (point["rows"], point["items"])):
        peak, outside = one["peak_bytes"] / 1e6, one["outside_bytes"] / 1e6
        lines.append(
            f"| {one['rows']:,} | {one['items']:,} | {one['memory']} | {one['processor_seconds']:,.0f} s "
            f"| {one['seconds']:,.0f} s | {peak:,.0f} MB | {outside:,.0f} MB |"
        )
    return "\n".join(lines)


def _postgres(points: Points) -> str:
    head = "| rows | different items | histogram | plain query | ratio | outside the server |"
    lines = [head, "|---:|---:|---:|---:|---:|---:|"]
    for one in sorted(points, key=lambda point: (point["rows"], point["items"])):
        ratio, outside = one["seconds"] / one["plain_seconds"], one["outside_bytes"] / 1e6
        lines.append(
            f"| {one['rows']:,} | {one['items']:,} | {one['seconds']:,.0f} s | {one['plain_seconds']:,.0f} s "
            f"| {ratio:.1f} | {outside:,.0f} MB |"
        )
    return "\n".join(lines)


def _spark(points: Points, exponent: Exponent) -> str:
    lines = ["| rows | processor time in the cluster | bytes to the driver |", "|---:|---:|---:|"]
    lines += [
        f"| {one['at']:,} | {one['processor_seconds']:.1f} s | {one['collected_bytes'] / 1e3:,.0f} kB |"
        for one in points
    ]
    first, last = points[-2], points[-1]
    slope = (last["processor_seconds"] - first["processor_seconds"]) / (last["at"] - first["at"])
    hours, power = slope * BILLION / 3600, exponent(points, "processor_seconds")
    said = (
        f"From the last two lines: {slope * 1e6:.1f} seconds of one core for each million rows more, so **about "
        f"{hours:.1f} core-hours for a billion rows, an extrapolation from {last['at']:,}**. Time grew with power "
        f"{power:.2f} of the rows between the three largest."
    )
    return "\n".join([*lines, "", said])


def _spark_streams(points: Points) -> str:
    head = "| | rows | processor time in the cluster | in the driver's Python | bytes to the driver |"
    return "\n".join(
        [
            head,
            "|---|---:|---:|---:|---:|",
            *(
                f"| {one['what']} | {one['at']:,} | {one['processor_seconds']:.1f} s "
                f"| {one['driver_seconds']:.1f} s | {one['collected_bytes'] / 1e3:,.0f} kB |"
                for one in points
            ),
        ]
    )


def _draw(sweeps: Mapping[str, Points], exponent: Exponent) -> None:
    """Draw one picture for time and one for memory, a small chart for each thing that grows."""
    import altair as alt

    for what, (word, title) in MEASURES.items():
        charts = []
        for name, points in sweeps.items():
            scale = 1 if what == "processor_seconds" else 1e-6
            data = [{"at": one["at"], "value": one[what] * scale} for one in points]
            charts.append(
                alt.Chart(alt.Data(values=data), title=f"{NAMES[name]}: power {_shown(exponent(points, what))}")
                .mark_line(point=True, color="#3565a8")
                .encode(
                    x=alt.X("at:Q", title=NAMES[name], scale=alt.Scale(type="log"), axis=alt.Axis(format="~s")),
                    y=alt.Y("value:Q", title=title, scale=alt.Scale(type="log", nice=True)),
                )
                .properties(width=210, height=140)
            )
        if charts:
            (DOCS / "images").mkdir(exist_ok=True)
            alt.concat(*charts, columns=2).save(DOCS / "images" / f"scaling-{word}.svg")
