"""Labels that mean harm: on the page, in the chart and in the files they are text, and nothing is hidden."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

import pytest
from tests.browser.service import HOSTILE
from tests.browser.visitor import KINDS, Visitor, download, pay_for
from tests.server.running import HIDDEN_LABEL


@pytest.fixture(scope="module")
def paid() -> list[str]:
    """Where the answer is, once it was paid for."""
    return []


@pytest.fixture
def answer(visitor: Callable[..., Visitor], paid: list[str]) -> Visitor:
    window = visitor(**KINDS["light"]).sign_in()
    if not paid:
        paid.append(pay_for(window, "histogram", epsilon="2"))
    window.go(paid[0])
    return window


def test_a_label_is_text(answer: Visitor) -> None:
    assert answer.page.title().startswith("Answer ")
    assert answer.page.locator("main script, main img, svg img, svg script, svg a").count() == 0
    # A long label is there whole for whoever opens it.
    shown = "\n".join(answer.page.locator("table").all_text_contents())
    for label in HOSTILE:
        if label.isprintable() and label == label.strip():
            assert label in shown


def test_what_cannot_be_seen_is_marked(answer: Visitor) -> None:
    marks = answer.page.locator("table .unseen").all_inner_texts()
    assert {"U+202E", "U+200B", "U+0020"} <= set(marks)
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in answer.page.content()
    assert "\N{ZERO WIDTH SPACE}" not in answer.page.content()


def test_the_chart_has_the_same_text(answer: Visitor) -> None:
    assert "soup" in answer.page.locator("svg.chart text").all_text_contents()
    assert "fdp.exe" in "".join(answer.page.locator("svg.chart text").all_text_contents())


def test_a_spreadsheet_gets_no_formula(answer: Visitor) -> None:
    rows = list(csv.DictReader(io.StringIO(download(answer, "CSV").decode())))
    assert not any(row["query"].startswith(("=", "+", "-", "@")) for row in rows)
    assert any("HYPERLINK" in row["query"] for row in rows)


def test_what_one_person_typed_is_nowhere(answer: Visitor) -> None:
    assert HIDDEN_LABEL not in answer.page.content()


def test_names_are_text_too(answer: Visitor) -> None:
    assert "Ana <b>" in answer.text(".who")
    assert answer.page.locator(".who b").count() == 0
