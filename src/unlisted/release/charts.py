"""Charts with Altair: what was released with its error bars, and how likely an item is to appear.

Labels are hostile text: they reach a chart as data, never as a specification; control characters are shown as
escapes, and what could end a script or begin a tag inside a page is broken up where nobody sees it.
"""

from __future__ import annotations

import io
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unlisted.errors import InvalidArgumentError, MissingExtraError
from unlisted.privacy.numbers import whole
from unlisted.release.graphemes import cut
from unlisted.release.release import NUMBERS, printable, short_up

if TYPE_CHECKING:
    import altair

    from unlisted.query.plan import Plan
    from unlisted.release.release import Release

_BLUE, _INK = "#3565a8", "#1f2933"
_WIDTH, _PAGE_WIDTH = 520, 820
_DASHES = [[1, 0], [1, 0], [4, 3]]
PAGE_INK = "#010203"
"""Stands for the colour of the text around a chart; a page puts `currentColor` in its place."""

_FORMATS = (".svg", ".png", ".html", ".json")
_LABEL_COLUMNS, _LEGEND_COLUMNS = 40, 24
"""Longer labels are cut, here and not by what draws: that would cut an emoji in two."""

_TAG = re.compile(r"<(?=[/!?A-Za-z])")
_WORD_JOINER = "\N{WORD JOINER}"


def release_chart(release: Release, most: int = 30) -> altair.LayerChart:
    """Draw the first rows of a release: bars with error bars, a ranking, or a list of labels."""
    rows = release.rows[: whole("most", most)]
    items = [name for name in release.table.column_names if name not in NUMBERS]
    labels = _distinct([cut(" · ".join(_as_data(row[name]) for name in items), _LABEL_COLUMNS) for row in rows])
    data = [
        {"label": label, "said": _said(label, row), **{name: row[name] for name in NUMBERS if name in row}}
        for label, row in zip(labels, rows, strict=True)
    ]
    columns = release.table.column_names
    if "count" in columns:
        layers = _bars(data, items, release.plan["count"])
    else:
        layers = _ranks(data, items) if "rank" in columns else _list(data, items)
    chart: altair.LayerChart = _altair().layer(*layers).properties(width=_WIDTH, title=_title(release, len(rows)))
    return chart


def _bars(data: list[dict[str, Any]], items: list[str], unit: str) -> list[Any]:
    alt = _altair()
    label, base = _label_axis(items), _described(data)
    x = alt.X("count:Q", title=f"noisy count of {unit}")
    return [
        base.mark_bar(color=_BLUE, opacity=0.85).encode(x=x, y=label),
        base.mark_rule(color=_INK, strokeWidth=1.5).encode(x="low:Q", x2="high:Q", y=label),
        base.mark_text(align="left", dx=4, color=_INK).encode(
            x="high:Q", y=label, text=alt.Text("count:Q", format=",d")
        ),
    ]


def _ranks(data: list[dict[str, Any]], items: list[str]) -> list[Any]:
    """Draw a ranking as equal bars with their place: lengths would suggest counts that were not released."""
    alt = _altair()
    label, base = _label_axis(items), _described(data)
    return [
        base.mark_bar(color=_BLUE, opacity=0.2).encode(x=alt.value(0), x2=alt.value(_WIDTH), y=label),
        base.mark_text(align="left", color=_INK, fontWeight="bold").encode(x=alt.value(8), y=label, text="rank:Q"),
    ]


def _list(data: list[dict[str, Any]], items: list[str]) -> list[Any]:
    """Draw labels as a list: there is nothing to measure them by."""
    alt = _altair()
    bare = alt.Axis(labels=False, ticks=False, domain=False)
    line = _label_axis(items).axis(bare)
    written = _described(data).mark_text(align="left", color=_INK)
    return [written.encode(x=alt.value(8), y=line, text="label:N")]


def _described(data: list[dict[str, Any]]) -> Any:
    """Return a chart of rows whose marks are described to a screen reader by us.

    What is made up otherwise holds the names of the columns inside an expression.
    """
    alt = _altair()
    return alt.Chart(alt.Data(values=data)).encode(description=alt.Description("said:N"))


def _said(label: str, row: dict[str, Any]) -> str:
    if "count" in row:
        return f"{label}: {row['count']:,}, from {row['low']:,} to {row['high']:,}"
    return f"{row['rank']}. {label}" if "rank" in row else label


def _label_axis(items: list[str]) -> Any:
    alt = _altair()
    title = ", ".join(_as_data(name) for name in items)
    return alt.Y("label:N", title=title, sort=None, axis=alt.Axis(labelLimit=0))


def _as_data(label: object) -> str:
    """Return a label as text that is only text, also where a chart becomes part of a page."""
    return _TAG.sub(f"<{_WORD_JOINER}", printable(label))


def _distinct(labels: list[str]) -> list[str]:
    """Tell apart labels that print alike, so that a chart does not draw them into one bar."""
    taken: set[str] = set()
    told = []
    for label in labels:
        name, again = label, 1
        while name in taken:
            again += 1
            name = f"{label} ({again})"
        taken.add(name)
        told.append(name)
    return told


def plan_chart(plan: Plan) -> altair.LayerChart:
    """Draw the chance to appear against the number of users who share an item."""
    alt = _altair()
    expected = plan.accuracy
    beyond = ", beyond the first count left out" if expected.above_cut else ""
    items = plan.asked["items_per_user"]
    each = f", who have {items:,} items each" if expected.at_best is not None and items > 1 else ""
    curve = [{"users": count, "chance": chance} for count, chance in expected.curve()]
    marks = [
        {"users": count, "chance": percent / 100, "text": f"{count:,}"}
        for percent, count in expected.needed.items()
    ]
    x = alt.X("users:Q", title=f"{plan.asked['count']} with the item{beyond}{each}")
    y = alt.Y("chance:Q", title="chance to appear", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]))
    line = alt.Chart(alt.Data(values=curve)).mark_line(color=_BLUE).encode(x=x, y=y)
    points = alt.Chart(alt.Data(values=marks)).mark_point(filled=True, size=60, color=_INK).encode(x=x, y=y)
    texts = alt.Chart(alt.Data(values=marks)).mark_text(align="left", dx=8, dy=10, color=_INK)
    chart: altair.LayerChart = alt.layer(line, points, texts.encode(x=x, y=y, text="text:N")).properties(
        width=_WIDTH, height=260, title="How many must share an item for it to appear?"
    )
    return chart


def spending_chart(entries: list[dict[str, Any]]) -> altair.LayerChart:
    """Draw what was spent over time: settled and forfeited ρ, added up for every account."""
    alt = _altair()
    totals: dict[str, float] = {}
    steps = []
    for entry in entries:
        # An account begins with nothing spent; what it was opened with is not spent by that.
        spent = {"settled": entry["rho"], "forfeited": entry["rho"], "opened": 0}.get(entry["kind"])
        if entry["account"] is not None and spent is not None:
            account = cut(_as_data(entry["account"]), _LEGEND_COLUMNS)
            totals[account] = totals.get(account, 0.0) + float(spent)
            steps.append({"time": entry["time"], "spent": totals[account], "account": account})
    # Every line goes on to the end, at what it stands.
    steps += [
        {"time": entries[-1]["time"], "spent": spent, "account": account} for account, spent in totals.items()
    ]
    # Within a day the hour tells, over months the day does.
    short = bool(steps) and steps[0]["time"][:10] == steps[-1]["time"][:10]
    axis = alt.Axis(format="%H:%M:%S" if short else "%d %b %Y", tickCount=5, labelOverlap=True)
    when = f"UTC, {steps[0]['time'][:10]}" if short else None
    base = alt.Chart(alt.Data(values=steps)).encode(
        x=alt.X("time:T", title=when, axis=axis, scale=alt.Scale(type="utc")),
        y=alt.Y("spent:Q", title="ρ spent"),
        color=alt.Color("account:N", legend=alt.Legend(labelLimit=0)),
    )
    drawn = alt.layer(base.mark_line(interpolate="step-after"), base.mark_point(filled=True))
    chart: altair.LayerChart = drawn.properties(width=_WIDTH, height=260, title="Spending over time")
    return chart


def stream_chart(export: Release, items: list[Any] | None, most: int) -> altair.LayerChart:
    """Draw the running counts of some items over the rounds of a stream, each a line in its error band."""
    alt = _altair()
    columns = [name for name in export.table.column_names if name not in (*NUMBERS, "round")]
    rows = [{**row, "label": " · ".join(_as_data(row[name]) for name in columns)} for row in export.rows]
    if items is None:
        last = max((row["round"] for row in rows), default=0)
        wanted = [row["label"] for row in rows if row["round"] == last][:most]
    else:
        several = (item if isinstance(item, tuple | list) else (item,) for item in items)
        wanted = [" · ".join(_as_data(part) for part in item) for item in several]
    short = dict(zip(wanted, _distinct([cut(label, _LEGEND_COLUMNS) for label in wanted]), strict=True))
    data = [
        {"said": f"round {row['round']}: {_said(row['label'], row)}", "label": short[row["label"]]}
        | {name: row[name] for name in ("round", "count", "low", "high")}
        for row in rows
        if row["label"] in short
    ]
    base = _described(data).encode(
        x=alt.X("round:Q", title="round", axis=alt.Axis(tickMinStep=1)),
        color=alt.Color(
            "label:N",
            title=", ".join(map(_as_data, columns)),
            sort=list(short.values()),
            legend=alt.Legend(labelLimit=0),
        ),
    )
    drawn = alt.layer(
        base.mark_area(opacity=0.2).encode(y="low:Q", y2="high:Q"),
        base.mark_line().encode(y=alt.Y("count:Q", title=f"noisy running count of {export.plan['count']}")),
    )
    title = _title(export, len(export)) | {"text": "Private running counts"}
    title["subtitle"] = title["subtitle"].replace("bars are noisy counts, lines", "lines are noisy counts, bands")
    chart: altair.LayerChart = drawn.properties(width=_WIDTH, height=320, title=title)
    return chart


def privacy_chart(points: list[dict[str, Any]], marks: dict[str, str]) -> altair.Chart:
    """Draw curves of δ against ε; a point has an `epsilon`, a `delta` and the name of its `curve`.

    `marks` has the names of the curves and their colours. All else has the colour of the text around the chart.
    """
    alt = _altair()
    shown = [point for point in points if point["delta"] > 0]
    lowest = min((point["delta"] for point in shown), default=0.1)
    decades = [10.0**power for power in range(math.floor(math.log10(lowest)), 1)]
    colours = alt.Scale(domain=list(marks), range=list(marks.values()))
    base = alt.Chart(alt.Data(values=shown)).encode(
        x=alt.X("epsilon:Q", title="ε"),
        y=alt.Y("delta:Q", title="δ", scale=alt.Scale(type="log"), axis=alt.Axis(format=".0e", values=decades)),
        color=alt.Color("curve:N", scale=colours, legend=alt.Legend(title=None, orient="top")),
        strokeDash=alt.StrokeDash("curve:N", scale=alt.Scale(domain=list(marks), range=_DASHES), legend=None),
    )
    drawn = base.mark_line(strokeWidth=2).properties(width=_PAGE_WIDTH, height=240, background="transparent")
    chart: altair.Chart = drawn.configure(
        axis={
            **dict.fromkeys(("labelColor", "titleColor", "gridColor", "domainColor", "tickColor"), PAGE_INK),
            "gridOpacity": 0.15,
            "labelFontSize": 12,
            "titleFontSize": 13,
        },
        legend={"labelColor": PAGE_INK, "labelFontSize": 12},
        view={"stroke": None},
    )
    return chart


def save_chart(chart: altair.LayerChart, path: Path) -> None:
    """Write a chart as SVG, PNG, HTML or JSON, by the file's ending."""
    path.write_bytes(chart_bytes(chart, path))


def chart_bytes(chart: altair.LayerChart | altair.Chart, path: Path) -> bytes:
    """Return what a file of that name is to hold."""
    require_format(path)
    kind: Any = path.suffix.lower().removeprefix(".")
    if kind == "png":
        picture = io.BytesIO()
        chart.save(picture, format=kind, scale_factor=2)
        return picture.getvalue()
    text = io.StringIO()
    # HTML has everything inside the file: a chart is looked at where no network is.
    chart.save(text, format=kind, inline=kind == "html")
    return text.getvalue().encode()


def require_format(path: Path) -> None:
    """Refuse a file that no chart can be written to, before anything is spent on one."""
    if path.suffix.lower() not in _FORMATS:
        raise InvalidArgumentError("chart", str(path), f"a file that ends in {', '.join(_FORMATS)}")
    _altair()


def _altair() -> Any:
    try:
        import altair  # noqa: PLC0415 - an extra
        import vl_convert  # noqa: F401, PLC0415 - writes SVG and PNG without a browser
    except ImportError:
        raise MissingExtraError("A chart", "Altair", "charts") from None
    return altair


def _title(release: Release, shown: int) -> Any:
    promised = f"({short_up(release.guarantee.epsilon(release.at_delta), 3)}, {short_up(release.at_delta, 3)})-DP"
    title, reading = _words(release.table.column_names)
    first = f"; the first {shown:,} of {len(release):,}" if shown < len(release) else ""
    return {"text": title, "subtitle": f"{promised}; {reading}{first}", "anchor": "start"}


def _words(columns: list[str]) -> tuple[str, str]:
    """Return what an answer with these columns is, and how it is to be read."""
    if "count" in columns:
        return "Private counts", "bars are noisy counts, lines 95 % intervals"
    if "rank" in columns:
        return "Private ranking", "only the order was released"
    return "Private labels", "only the values were released, no counts and no order"
