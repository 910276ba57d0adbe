"""Charts: what they draw, that labels stay text in every format, and what is said when Altair is missing."""

from __future__ import annotations

import builtins
import json
import re
import struct
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pyarrow as pa
import pytest
from tests.fixtures.kitchen import BOUND, BUDGET, COMMON, PLANTED, asked, histogram, labels, nobody, top
from tests.tables.fixtures.engines import installed

import unlisted as ul
from unlisted.release.charts import chart_bytes, require_format, save_chart, spending_chart


@pytest.fixture(autouse=True)
def _extra() -> None:
    installed("altair")
    installed("vl_convert")


HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!-- <script>",
    "<img src=x onerror=alert(1)>",
    "&amp;<b>\"'",
    "\x1b[31mred",
    "a\u202eb",
    "two\nlines",
    "datum.label",
    "{{7*7}}",
    "${x}",
    "x" * 500,
    "",
    "null",
    "\x00",
]


def of(labels: list[str], column: str = "dish") -> ul.Release:
    numbers = list(range(100, 100 - len(labels), -1))
    rows = {column: labels, "count": numbers, "low": [n - 5 for n in numbers], "high": [n + 5 for n in numbers]}
    return ul.Release(
        table=pa.table(rows),
        complete=True,
        guarantee=ul.Guarantee(Fraction(1, 10), Fraction("1e-9")),
        at_delta=Fraction("2e-9"),
        plan={"count": "users"},
    )


def values(chart: Any) -> list[dict[str, Any]]:
    """The rows that the layers of a chart draw."""
    drawn = chart.to_dict()
    found = [layer["data"]["values"] for layer in drawn["layer"] if "data" in layer]
    return list(found[0] if found else drawn["data"]["values"])


def test_bars_are_the_released_rows_in_their_order() -> None:
    release = histogram()
    drawn = values(release.chart())
    assert [row["label"] for row in drawn] == list(COMMON)
    assert [(row["count"], row["low"], row["high"]) for row in drawn] == [
        (row["count"], row["low"], row["high"]) for row in release.rows
    ]
    kinds = [layer["mark"]["type"] for layer in release.chart().to_dict()["layer"]]
    assert kinds == ["bar", "rule", "text"]
    assert PLANTED not in json.dumps(release.chart().to_dict())


def test_a_ranking_is_drawn_without_lengths_that_would_look_like_counts() -> None:
    chart = top().chart().to_dict()
    assert all("count" not in json.dumps(layer["encoding"]) for layer in chart["layer"])
    assert [row["rank"] for row in values(top().chart())] == [1, 2, 3]
    assert "only the order was released" in chart["title"]["subtitle"]


def test_marks_are_described_by_what_was_released() -> None:
    picture = chart_bytes(of(["soup\\x41"], column='x" + "y\\x41').chart(), Path("chart.svg"))
    said = {element.get("aria-label") for element in ET.fromstring(picture).iter()}
    assert "soup\\x41: 100, from 95 to 105" in said
    # The name of a column is never read as an expression.
    assert "xyA" not in "".join(filter(None, said))
    ranked = chart_bytes(top().chart(), Path("chart.svg"))
    assert b'aria-label="1. soup"' in ranked


def test_the_title_says_the_promise_and_what_is_left_out() -> None:
    many = of([f"dish {n}" for n in range(40)])
    assert many.chart().to_dict()["title"]["subtitle"].endswith("; the first 30 of 40, chart(most=40) draws all")
    assert len(values(many.chart(most=7))) == 7
    assert "first" not in many.chart(most=40).to_dict()["title"]["subtitle"]
    assert many.chart().to_dict()["title"]["subtitle"].startswith("(")


@pytest.mark.parametrize("most", [0, -1, 1.5, "all", None])
def test_a_wrong_number_of_rows_is_refused(most: Any) -> None:
    with pytest.raises(ul.InvalidArgumentError, match=r"^most = "):
        histogram().chart(most=most)


def test_labels_that_print_alike_stay_apart() -> None:
    alike = ["a\nb", "a\\nb", "a\\nb (2)", "x" * 100, "x" * 101]
    drawn = [row["label"] for row in values(of(alike).chart())]
    assert len(set(drawn)) == len(alike)


def test_a_hostile_label_is_only_text_in_every_format() -> None:
    chart = of(HOSTILE, column="<script>alert(2)</script>\x1b").chart()
    page = chart_bytes(chart, Path("chart.html")).decode()
    plain = chart_bytes(of(["soup"]).chart(), Path("chart.html")).decode()
    for tag in ("<script", "</script", "<img", "<!--", "<b>"):
        assert page.lower().count(tag) == plain.lower().count(tag), tag
    picture = chart_bytes(chart, Path("chart.svg"))
    elements = {element.tag.rpartition("}")[2] for element in ET.fromstring(picture).iter()}
    assert elements <= {"svg", "g", "path", "rect", "line", "text", "style", "defs", "clipPath", "tspan", "title"}
    shown = "".join(ET.fromstring(picture).itertext())
    assert "alert(1)" in shown, "the label is drawn, as text"
    for data in (page.encode(), picture, chart_bytes(chart, Path("chart.json"))):
        assert b"\x1b" not in data
        assert "\u202e".encode() not in data


@pytest.mark.parametrize("ending", ["svg", "png", "html", "json", "SVG", "PNG"])
@pytest.mark.parametrize("source", [None, nobody()], ids=["rows", "no rows"])
def test_every_format_is_written(ending: str, source: Any, tmp_path: Path) -> None:
    path = tmp_path / f"chart.{ending}"
    save_chart(histogram(source).chart(), path)
    data = path.read_bytes()
    if ending.lower() == "png":
        assert data.startswith(b"\x89PNG")
        width, height = struct.unpack(">II", data[16:24])
        assert width > 200
        assert height > 50
    elif ending.lower() == "svg":
        assert ET.fromstring(data).tag.endswith("svg")
    elif ending == "json":
        assert json.loads(data)["title"]["text"] == "Private counts"
    else:
        # Nothing is loaded from elsewhere: a chart is looked at where no network is.
        assert not re.search(rb"<script[^>]+src=", data)
        assert b"vegaEmbed" in data


def test_altairs_own_way_to_save_works(tmp_path: Path) -> None:
    histogram().chart().save(tmp_path / "queries.svg")
    assert ET.parse(tmp_path / "queries.svg").getroot().tag.endswith("svg")


@pytest.mark.parametrize("path", ["chart.gif", "chart", "chart.svg.txt", ".svg"])
def test_an_unknown_ending_is_refused(path: str) -> None:
    with pytest.raises(ul.InvalidArgumentError, match=r"\.svg, \.png, \.html, \.json"):
        require_format(Path(path))


def test_labels_are_a_list_without_a_number() -> None:
    release = labels()
    chart = release.chart().to_dict()
    assert [(row["label"], row["said"]) for row in values(release.chart())] == [
        (one, one) for one in sorted(COMMON)
    ]
    assert [layer["mark"]["type"] for layer in chart["layer"]] == ["text"]
    assert chart["title"]["text"] == "Private labels"
    assert "only the values were released" in chart["title"]["subtitle"]
    picture = ET.fromstring(chart_bytes(release.chart(), Path("labels.svg")))
    drawn = [text.strip() for text in picture.itertext() if text.strip()]
    assert sorted(drawn) == sorted([*COMMON, "dish", "Private labels", chart["title"]["subtitle"]])
    assert "the first 2 of 4" in release.chart(most=2).to_dict()["title"]["subtitle"]
    assert chart_bytes(labels(nobody()).chart(), Path("labels.svg")).startswith(b"<svg")


def test_a_long_or_hostile_label_of_a_list_stays_inside_it() -> None:
    release = of(HOSTILE)
    bare = ul.Release(
        release.table.select(["dish"]), release.complete, release.guarantee, release.at_delta, release.plan
    )
    picture = ET.fromstring(chart_bytes(bare.chart(), Path("labels.svg")))
    assert float(picture.attrib["width"]) < 700
    assert "x" * 500 not in "".join(picture.itertext())
    assert "alert(1)" in "".join(picture.itertext())


@pytest.mark.parametrize("kind", ["histogram", "top", "top_histogram", "labels"])
def test_a_plan_is_drawn_as_the_chance_to_appear(kind: str) -> None:
    bounds: dict[str, Any] = {"k": 3} if kind == "top" else {"items_per_user": BOUND}
    plan = getattr(asked(), kind)("dish", budget=BUDGET, **bounds)
    chart = plan.chart().to_dict()
    assert chart["title"] == "How many must share an item for it to appear?"
    line, points = (layer["data"]["values"] for layer in chart["layer"][:2])
    assert [(row["users"], row["chance"]) for row in line] == plan.accuracy.curve()
    assert [row["users"] for row in points] == list(plan.accuracy.needed.values())
    title = chart["layer"][0]["encoding"]["x"]["title"]
    assert ("beyond the first count left out" in title) == (kind in ("top", "top_histogram"))
    assert ("who have 6 items each" in title) == (kind == "labels")
    assert chart_bytes(plan.chart(), Path("plan.svg")).startswith(b"<svg")


def test_without_altair_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real, release = builtins.__import__, histogram()

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] in ("altair", "vl_convert"):
            raise ModuleNotFoundError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    for attempt in (release.chart, lambda: require_format(Path("chart.svg"))):
        with pytest.raises(ul.MissingExtraError, match=r'pip install "unlisted\[charts\]"'):
            attempt()


def test_spending_starts_at_nothing_and_goes_on_to_the_end() -> None:
    def entry(kind: str, hour: int, account: str | None, rho: str = "0.5") -> dict[str, object]:
        return {"kind": kind, "time": f"2026-01-01T{hour:02}:00:00+00:00", "account": account, "rho": rho}

    history = [
        entry("opened", 1, None),
        entry("opened", 2, "ads"),
        entry("opened", 2, "ops"),
        entry("reserved", 3, "ads"),
        entry("settled", 3, "ads", "0.25"),
        entry("forfeited", 4, "ads", "0.125"),
        entry("settled", 5, "ops", "0.1"),
    ]
    drawn = spending_chart(history).to_dict()["data"]["values"]
    lines: dict[str, list[tuple[str, float]]] = {"ads": [], "ops": []}
    for step in drawn:
        lines[step["account"]].append((step["time"][11:13], step["spent"]))
    assert lines["ads"] == [("02", 0.0), ("03", 0.25), ("04", 0.375), ("05", 0.375)]
    assert lines["ops"] == [("02", 0.0), ("05", 0.1), ("05", 0.1)]
    assert spending_chart([]).to_dict()


def test_days_are_drawn_in_their_order_and_what_is_left_out_is_named() -> None:
    days = [date(2025, 1, at) for at in range(1, 29)]
    counts = pa.array([10_000 - 100 * (at * 7 % 28) for at in range(28)])
    release = ul.counts(pa.array(days), counts, items_per_user=1, item="day").histogram(epsilon=5).run()
    drawn = release.chart(10).to_dict()
    shown = [row["label"] for row in drawn["data"]["values"]]
    assert len(shown) == 10
    assert shown == sorted(shown)
    assert set(shown) == {str(row["day"]) for row in release[:10]}
    assert "; the 10 largest of 28, chart(most=28) draws all" in drawn["title"]["subtitle"]


def hours_of(moment: Any) -> float:
    """Return a moment as a number; of nanoseconds there is text."""
    return datetime.fromisoformat(str(moment)).timestamp()


def test_moments_are_drawn_in_their_order_and_rankings_in_theirs() -> None:
    # In this night the clocks go back.
    hours = [datetime(2025, 10, 25, 12, tzinfo=UTC) + timedelta(hours=at) for at in range(20)]
    for kind in (pa.timestamp("ns", tz="Europe/Paris"), pa.timestamp("s")):
        counts = ul.counts(
            pa.array(hours, kind), [10_000 - 400 * (at * 7 % 20) for at in range(20)], items_per_user=1
        )
        release = counts.histogram(epsilon=5).run()
        shown = [row["label"] for row in values(release.chart())]
        assert len(shown) == 20
        assert shown == [str(row["item"]) for row in sorted(release, key=lambda row: hours_of(row["item"]))]
        ranking = counts.top(k=5, epsilon=5).run()
        assert [row["label"] for row in values(ranking.chart())] == [str(row["item"]) for row in ranking]


def test_a_picture_from_python_is_as_sharp_as_one_from_the_shell(tmp_path: Path) -> None:
    release = ul.counts(["soup"], [10_000], items_per_user=1).histogram(epsilon=1).run()
    release.write_chart(tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes() == chart_bytes(release.chart(), tmp_path / "chart.png")
    with pytest.raises(ul.InvalidArgumentError, match="overwrite=True"):
        release.write_chart(tmp_path / "chart.png")
    with pytest.raises(ul.InvalidArgumentError, match="ends in"):
        release.write_chart(tmp_path / "chart.gif")


def test_no_group_is_left_out_because_another_is_long() -> None:
    rows = [(group, f"dish {n}") for group, most in (("long", 40), ("short", 5)) for n in range(most)]
    users = range(2000 * len(rows))
    held = {
        "user": users,
        "place": [rows[n % len(rows)][0] for n in users],
        "dish": [rows[n % len(rows)][1] for n in users],
    }
    budget = ul.Budget(epsilon=1, delta="1e-8")
    release = ul.table(pa.table(held), user="user").histogram("dish", by="place", budget=budget).run()
    drawn = release.chart(most=12)
    assert Counter(one["group"] for one in drawn.to_dict()["data"]["values"]) == {"long": 7, "short": 5}
    assert "12, the first of each group, of 45" in drawn.to_dict()["title"]["subtitle"]
