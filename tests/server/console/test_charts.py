"""Charts in a page: shapes and text only, coloured by the style sheet."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import altair as alt
import pytest
from markupsafe import Markup

import unlisted as ul
from unlisted.release.charts import release_chart, spending_chart
from unlisted.server.console import charts
from unlisted.server.console.charts import picture

CSS = (Path(charts.__file__).parent / "static" / "console.css").read_text()
LABELS = ("<script>x</script>", 'a" onload="x', "</svg>", "soup")


def drawn(*labels: str) -> Markup:
    counted = ul.counts(list(labels), [900] * len(labels), items_per_user=1)
    release = counted.histogram(budget=ul.Budget(epsilon=1, delta="1e-8")).run()
    drawn = picture(lambda: release_chart(release), "said")
    assert drawn is not None
    return drawn


def test_a_label_stays_text() -> None:
    svg = drawn(*LABELS)
    assert set(re.findall(r"<(\w+)", svg)) <= {"svg", "g", "path", "rect", "line", "text"}
    assert not re.search(r"<[^>]*\bon\w+=", svg)
    assert "style=" not in svg
    assert "soup" in svg


def test_it_is_one_picture_to_a_screen_reader() -> None:
    svg = drawn("soup")
    assert svg.startswith("<svg ")
    assert 'role="img" aria-label="said"' in svg
    assert svg.count("aria-") == 1


def test_what_is_said_of_it_is_escaped() -> None:
    chart = alt.layer(alt.Chart(alt.Data(values=[{"a": 1}])).mark_point().encode(x="a:Q"))
    assert "<b>" not in (picture(lambda: chart, '"><b>') or "<b>")


def test_every_colour_is_in_the_style_sheet() -> None:
    times = ("2026-01-01T00:00:00", "2026-01-02T00:00:00")
    entries: list[dict[str, Any]] = [
        {"kind": "settled", "account": f"account {number}", "rho": "0.1", "time": time}
        for number in range(10)
        for time in times
    ]
    svg = drawn("soup") + (picture(lambda: spending_chart(entries), "said", slim=True) or Markup(""))
    classes = {name for found in re.findall(r'class="([^"]*)"', svg) for name in found.split()} - {"chart"}
    assert "stroke-series-10" in classes
    assert [name for name in classes if f".{name} {{" not in CSS] == []
    assert not re.search(r'(fill|stroke)="', svg)


@pytest.mark.parametrize("element", ["script", "a", "image", "foreignObject", "style", "use"])
def test_other_elements_do_not_pass(element: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><g><{element} href="x">x</{element}></g></svg>'
    )
    monkeypatch.setattr(charts, "chart_bytes", lambda chart, path: text.encode())
    chart = alt.layer(alt.Chart(alt.Data(values=[{"a": 1}])).mark_point().encode(x="a:Q"))
    assert set(re.findall(r"<(\w+)", picture(lambda: chart, "said") or "")) == {"svg", "g"}


CAKE = "a" * 38 + "\N{BIRTHDAY CAKE}"
FAMILY = "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}"


@pytest.mark.parametrize("label", [CAKE, CAKE * 3, FAMILY * 40, "e" + "\u0301" * 500, "\U0001f1e9\U0001f1ea" * 60])
def test_a_label_of_38_letters_and_a_cake_is_drawn(label: str) -> None:
    assert "\N{HORIZONTAL ELLIPSIS}" in drawn(label + "and more of it, so that it is cut")


def test_a_chart_never_hides_an_answer(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> alt.LayerChart:
        raise RuntimeError("a label says: my pin is 1234")

    assert picture(fail, "said") is None
