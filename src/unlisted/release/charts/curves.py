"""Curves: the chance to appear that a plan gives, what accounts spent over time, and δ against ε."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from unlisted.errors import InvalidArgumentError
from unlisted.release.charts.drawing import BLUE, INK, LEGEND_COLUMNS, WIDTH, altair_module, as_data, told_apart
from unlisted.release.graphemes import cut

if TYPE_CHECKING:
    import altair

    from unlisted.query.plan import Plan

PAGE_INK = "#010203"
"""Stands for the colour of the text around a chart; a page puts `currentColor` in its place."""

_PAGE_WIDTH = 820
_DASHES = [[1, 0], [1, 0], [4, 3]]


def plan_chart(plan: Plan) -> altair.LayerChart:
    """Draw the chance to appear against the number of users who share an item."""
    alt = altair_module()
    expected = plan.accuracy
    if not expected.needed:
        hint = "A total is always released; `plan.accuracy.half_width` says how accurate it is."
        raise InvalidArgumentError(
            "chart", plan.asked["question"], "one of a question whose values may or may not appear", hint
        )
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
    line = alt.Chart(alt.Data(values=curve)).mark_line(color=BLUE).encode(x=x, y=y)
    points = alt.Chart(alt.Data(values=marks)).mark_point(filled=True, size=60, color=INK).encode(x=x, y=y)
    texts = alt.Chart(alt.Data(values=marks)).mark_text(align="left", dx=8, dy=10, color=INK)
    chart: altair.LayerChart = alt.layer(line, points, texts.encode(x=x, y=y, text="text:N")).properties(
        width=WIDTH, height=260, title="How many must share an item for it to appear?"
    )
    return chart


def spending_chart(entries: list[dict[str, Any]]) -> altair.LayerChart:
    """Draw what was spent over time: settled and forfeited ρ or μ², added up for every account."""
    alt = altair_module()
    totals: dict[str, float] = {}
    steps, symbols = [], set[str]()
    for entry in entries:
        # An account begins with nothing spent; what it was opened with is not spent by that.
        symbol = "ρ" if "rho" in entry else "μ²"
        loss = entry["rho" if "rho" in entry else "mu_squared"]
        spent = {"settled": loss, "forfeited": loss, "opened": 0}.get(entry["kind"])
        if entry["account"] is not None and spent is not None:
            symbols.add(symbol)
            account = entry["account"]
            totals[account] = totals.get(account, 0.0) + float(spent)
            steps.append({"time": entry["time"], "spent": totals[account], "account": account})
    # Every line goes on to the end, at what it stands.
    steps += [
        {"time": entries[-1]["time"], "spent": spent, "account": account} for account, spent in totals.items()
    ]
    # Accounts whose names begin alike stay two lines.
    written = told_apart([cut(as_data(account), LEGEND_COLUMNS) for account in totals])
    names = dict(zip(totals, written, strict=True))
    steps = [step | {"account": names[step["account"]]} for step in steps]
    # Within a day the hour tells, over months the day does.
    short = bool(steps) and steps[0]["time"][:10] == steps[-1]["time"][:10]
    axis = alt.Axis(format="%H:%M:%S" if short else "%d %b %Y", tickCount=5, labelOverlap=True)
    when = f"UTC, {steps[0]['time'][:10]}" if short else None
    base = alt.Chart(alt.Data(values=steps)).encode(
        x=alt.X("time:T", title=when, axis=axis, scale=alt.Scale(type="utc")),
        y=alt.Y("spent:Q", title=f"{' or '.join(sorted(symbols)) or 'ρ'} spent"),
        color=alt.Color("account:N", legend=alt.Legend(labelLimit=0)),
    )
    drawn = alt.layer(base.mark_line(interpolate="step-after"), base.mark_point(filled=True))
    chart: altair.LayerChart = drawn.properties(width=WIDTH, height=260, title="Spending over time")
    return chart


def privacy_chart(points: list[dict[str, Any]], marks: dict[str, str]) -> altair.Chart:
    """Draw curves of δ against ε; a point has an `epsilon`, a `delta` and the name of its `curve`.

    `marks` has the names of the curves and their colours. All else has the colour of the text around the chart.
    """
    alt = altair_module()
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
