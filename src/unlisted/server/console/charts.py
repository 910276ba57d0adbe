"""Charts as parts of a page: SVG that takes its colours from the page's own style sheet.

A chart is drawn by Altair on the server. What comes out is read as XML and written anew from the few elements and
attributes that a chart has, so that no label in it can become anything but text; colours become classes, since a
colour that reads well on white does not on black.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from markupsafe import Markup

from unlisted.release.charts import chart_bytes
from unlisted.tables.failures import OWNER_LOG

if TYPE_CHECKING:
    import altair

    Drawable = altair.LayerChart | altair.FacetChart


_SVG = "{http://www.w3.org/2000/svg}"
_ELEMENTS = frozenset({"svg", "g", "path", "rect", "line", "text", "tspan", "circle"})
_SHAPE = frozenset(
    {"d", "x", "y", "x1", "y1", "x2", "y2", "dx", "dy", "r", "width", "height", "transform", "display"}
)
_LOOK = frozenset(
    {"opacity", "fill-opacity", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-linecap"}
)
_LETTERS = frozenset({"text-anchor", "font-size", "font-weight"})
_COLOURS = {
    "#3565a8": "bar",
    "#1f2933": "ink",
    "#000": "ink",
    "black": "ink",
    "#888": "axis",
    "#ddd": "grid",
    "none": "none",
    "transparent": "none",
}
_CODE = re.compile(r", chart\(most=\d+\) draws all$", re.ASCII)
_SERIES = tuple(f"#0000{number:02}" for number in range(1, 11))
"""Stand for the colours of the style sheet in charts with several lines."""


def picture(make: Callable[[], Drawable], said: str, *, slim: bool = False) -> Markup | None:
    """Draw a chart for a page; `said` is what a screen reader reads in its place.

    A chart must never hide an answer: what cannot be drawn is None, and why not is for the owner's log. `slim`
    adds a second drawing for narrow windows, with the legend below.
    """
    try:
        wide = _drawn(make(), said)
        return wide if not slim else _only("wide", wide) + _only("slim", _drawn(_narrow(make()), said))
    except Exception:
        OWNER_LOG.exception("A chart could not be drawn; the page is shown without it.")
        return None


def _only(name: str, drawn: Markup) -> Markup:
    return Markup('<div class="{}">{}</div>').format(name, drawn)


def _narrow(chart: Drawable) -> altair.LayerChart:
    """Return a chart that fits a phone, at letters that can be read."""
    narrow: altair.LayerChart = chart.properties(width=260, height=220, title="").configure_legend(
        orient="bottom", columns=1
    )
    return narrow


def _drawn(chart: Drawable, said: str) -> Markup:
    _without_code(chart)
    drawn = ET.fromstring(chart_bytes(_plain(chart), Path("chart.svg")))  # noqa: S314 - we drew it ourselves
    size = {name: drawn.get(name, "") for name in ("viewBox", "width", "height")}
    _clean(drawn)
    drawn.attrib = {**size, "class": "chart", "role": "img", "aria-label": said, "focusable": "false"}
    return Markup(ET.tostring(drawn, encoding="unicode"))  # noqa: S704 - nothing is left in it but shapes and text


def _without_code(chart: Drawable) -> None:
    """Take out what only somebody who writes Python can do about a chart that shows a part."""
    if isinstance(chart.title, dict) and isinstance(chart.title.get("subtitle"), str):
        chart.title["subtitle"] = _CODE.sub("", chart.title["subtitle"])


def _plain(chart: Drawable) -> Any:
    """Return the chart without a background or a frame, in letters of a readable size."""
    return (
        chart.configure(background="transparent", font="system-ui")
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=12, titleFontSize=12, titleFontWeight="normal", titlePadding=8, tickCount=6)
        .configure_title(fontSize=14, subtitleFontSize=12)
        .configure_legend(labelFontSize=12, titleFontSize=12, symbolOpacity=1, **_legend_of(chart))
        .configure_range(category=list(_SERIES))
        .configure_text(fontSize=12)
    )


def _legend_of(chart: Drawable) -> dict[str, Any]:
    """Return where a chart wants its legend."""
    said = chart.to_dict().get("config", {}).get("legend", {})
    return {name: said[name] for name in ("orient", "columns") if name in said}


def _clean(element: ET.Element) -> None:
    """Leave the shapes and the text of a drawing, and write its colours as classes."""
    element.tag = element.tag.removeprefix(_SVG)
    colours = [f"{part}-{_colour(element.attrib[part])}" for part in ("fill", "stroke") if part in element.attrib]
    element.attrib = {name: value for name, value in element.attrib.items() if name in _SHAPE | _LOOK | _LETTERS}
    if colours:
        element.set("class", " ".join(colours))
    for child in list(element):
        _clean(child)
        if child.tag not in _ELEMENTS:
            element.remove(child)


def _colour(colour: str) -> str:
    """Return the class that stands for a colour; one that nobody expected is ink."""
    if colour in _SERIES:
        return f"series-{_SERIES.index(colour) + 1}"
    return _COLOURS.get(colour, "ink")
