"""What all charts share: Altair, colours, labels that are only text, a chart for each group, charts as files.

Labels are hostile text: they reach a chart as data, never as a specification; control characters are shown as
escapes, and what could end a script or begin a tag inside a page is broken up where nobody sees it.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unlisted.errors import InvalidArgumentError, MissingExtraError
from unlisted.release.graphemes import unheaped
from unlisted.release.release import printable, short_up

if TYPE_CHECKING:
    import altair

    from unlisted.release.release import Release

BLUE, INK, GREY = "#3565a8", "#1f2933", "#888"
WIDTH = 520
LABEL_COLUMNS, LEGEND_COLUMNS = 40, 24
"""Longer labels are cut, here and not by what draws: that would cut an emoji in two."""

SAID = "said:N"
"""The column that says a row to a screen reader."""

_FORMATS = (".svg", ".png", ".html", ".json")
_TAG = re.compile(r"<(?=[/!?A-Za-z])")
_WORD_JOINER = "\N{WORD JOINER}"


def altair_module() -> Any:
    """Import Altair and what writes its pictures, or say what to install."""
    try:
        import altair  # noqa: PLC0415 - an extra
        import vl_convert  # noqa: F401, PLC0415 - writes SVG and PNG without a browser
    except ImportError:
        raise MissingExtraError("A chart", "Altair", "charts") from None
    return altair


def described(data: list[dict[str, Any]]) -> Any:
    """Return a chart of rows whose marks are described to a screen reader by us.

    What is made up otherwise holds the names of the columns inside an expression.
    """
    alt = altair_module()
    return alt.Chart(alt.Data(values=data)).encode(description=SAID)


def said_of(label: str, row: dict[str, Any]) -> str:
    """Say a row to a screen reader."""
    if "count" in row:
        return f"{label}: {row['count']:,}, from {row['low']:,} to {row['high']:,}"
    return f"{row['rank']}. {label}" if "rank" in row else label


def as_data(label: object) -> str:
    """Return a label as text that is only text, also where a chart becomes part of a page."""
    return _TAG.sub(f"<{_WORD_JOINER}", unheaped(printable(label)))


def told_apart(labels: list[str]) -> list[str]:
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


def promised(release: Release) -> str:
    """Say a guarantee as short as a title needs it."""
    epsilon, delta = release.guarantee.epsilon(release.at_delta), release.at_delta
    # As people write it: 1e-8, not 1e-08.
    return re.sub(r"e-0+", "e-", f"({short_up(epsilon, 3)}, {short_up(delta, 3)})-DP")


def small_multiples(layers: list[Any], data: list[dict[str, Any]], by: str, width: int) -> altair.FacetChart:
    """Draw the layers of a chart once for each `group` of the data, in the order in which groups come.

    `by` is what groups are called. Each chart has labels of its own, and a width of so many points.
    """
    alt = altair_module()
    order = list(dict.fromkeys(row["group"] for row in data))
    bare = [layer.properties(data=alt.Undefined) for layer in layers]
    one = alt.layer(*bare, data=alt.Data(values=data)).properties(width=width)
    faceted = one.facet(facet=alt.Facet("group:N", title=by, sort=order), columns=2)
    independent: altair.FacetChart = faceted.resolve_scale(y="independent")
    return independent


def save_chart(chart: altair.LayerChart, path: Path) -> None:
    """Write a chart as SVG, PNG, HTML or JSON, by the file's ending."""
    path.write_bytes(chart_bytes(chart, path))


def chart_bytes(chart: altair.LayerChart | altair.Chart | altair.FacetChart, path: Path) -> bytes:
    """Return what a file of that name is to hold."""
    require_format(path)
    kind: Any = path.suffix.lower().removeprefix(".")
    if kind in ("svg", "png"):
        return _picture(chart, kind)
    text = io.StringIO()
    # HTML has everything inside the file: a chart is looked at where no network is.
    chart.save(text, format=kind, inline=kind == "html")
    return text.getvalue().encode()


def _picture(chart: altair.LayerChart | altair.Chart | altair.FacetChart, kind: Literal["svg", "png"]) -> bytes:
    """Draw as Altair would, in less memory: it would compare every row with its schema first."""
    import vl_convert  # noqa: PLC0415 - an extra

    said = chart.to_dict(validate=False)
    version = "_".join(altair_module().SCHEMA_VERSION.split(".")[:2])
    if kind == "png":
        picture: bytes = vl_convert.vegalite_to_png(said, vl_version=version, scale=2)
        return picture
    text: str = vl_convert.vegalite_to_svg(said, vl_version=version)
    return text.encode()


def require_format(path: Path) -> None:
    """Refuse a file that no chart can be written to, before anything is spent on one."""
    if path.suffix.lower() not in _FORMATS:
        raise InvalidArgumentError("chart", str(path), f"a file that ends in {', '.join(_FORMATS)}")
    altair_module()
