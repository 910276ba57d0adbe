"""Charts of processor time and memory, from what `speed/tables.py` and `speed/startup.py` printed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

CHART = Path(__file__).resolve().parents[1] / "docs" / "images" / "speed.svg"

_PART = re.compile(r"^\((?P<part>[abc])\) ")
_WORKLOAD = re.compile(r"^(?P<name>W\d)[:,]")
_SIDE = re.compile(r"^(?P<side>\w+) +[\d.]+ s +(?P<processor>[\d.]+) s .* (?P<memory>[\d,]+) MB$")
_START = re.compile(r"^(?P<side>bare|unlisted top) +(?P<processor>[\d.]+) s ")
_QUESTIONS = {"a": "histogram", "b": "top", "c": "whole process"}


def measured(kept: Mapping[str, Any]) -> Iterator[dict[str, str | float]]:
    """Read the numbers back, each with the question and the workload it belongs to."""
    part = workload = ""
    for line in kept.get("speed.tables", {}).get("said", "").splitlines():
        if found := _PART.match(line):
            part = found["part"]
        elif found := _WORKLOAD.match(line):
            workload = found["name"]
        elif found := _SIDE.match(line):
            asked = {"asked": f"{workload}, {_QUESTIONS[part]}", "side": found["side"]}
            yield {**asked, "measure": "processor seconds", "value": float(found["processor"])}
            yield {**asked, "measure": "peak memory, MB", "value": float(found["memory"].replace(",", ""))}
    for line in kept.get("speed.startup", {}).get("said", "").splitlines():
        if found := _START.match(line):
            side = found["side"].split()[0]
            value = float(found["processor"])
            yield {"asked": "start-up", "side": side, "measure": "processor seconds", "value": value}


def draw(kept: Mapping[str, Any]) -> None:
    """Draw one panel for time and one for memory; a bar a side, a group a question."""
    import altair as alt

    bars = (
        alt.Chart(alt.Data(values=list(measured(kept))))
        .mark_bar()
        .encode(
            x=alt.X("value:Q", title=None),
            y=alt.Y("side:N", title=None, sort=["plain", "bare", "unlisted"]),
            color=alt.Color("side:N", legend=None),
            row=alt.Row("asked:N", title=None, header=alt.Header(labelAngle=0, labelAlign="left"), sort=None),
            column=alt.Column("measure:N", title=None, sort="descending"),
        )
        .properties(width=260)
        .resolve_scale(x="independent", y="independent")
    )
    bars.save(str(CHART))
