"""On paper every row is there; on a phone bars are to scale, legends can be read, tables say if there is more."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.browser.service import COMMON, HOSTILE
from tests.browser.visitor import KINDS, Visitor, pay_for
from tests.server.running import wait_until

# Which of an answer's rows can be seen: inside their frame, and inside every frame around it.
SEEN = """() => [...document.querySelectorAll("tbody tr")].filter(row => {
  const box = row.getBoundingClientRect();
  for (let at = row.parentElement; at; at = at.parentElement) {
    const style = getComputedStyle(at), frame = at.getBoundingClientRect();
    if (style.display === "none") return false;
    if (style.overflowY !== "visible" && at !== document.body && at !== document.documentElement
        && box.bottom > frame.bottom + 1) return false;
  }
  return box.height > 0;
}).length"""


@pytest.fixture(scope="module")
def paid() -> dict[str, str]:
    return {}


def answer(window: Visitor, paid: dict[str, str]) -> str:
    """Return where an answer with all labels is; the first window pays for it."""
    if not paid:
        paid["counts"] = pay_for(window, "histogram")
    return paid["counts"]


def test_every_row_is_printed(visitor: Callable[..., Visitor], paid: dict[str, str]) -> None:
    window = visitor(viewport={"width": 1200, "height": 500}).sign_in()
    window.go(answer(window, paid))
    rows = window.page.locator("tbody tr").count()
    assert rows == len(HOSTILE) + len(COMMON)
    # Many values, in place of a table that would take long to answer.
    window.page.evaluate("""() => { const body = document.querySelector(".tall tbody");
      for (let n = 0; n < 300; n++) body.append(body.rows[0].cloneNode(true)); }""")
    assert window.page.evaluate(SEEN) < rows + 300
    window.page.emulate_media(media="print")
    window.keep_picture("answer-counts-print")
    assert window.page.evaluate(SEEN) == rows + 300
    for gone in (".top nav", ".actions", "form button"):
        assert not window.page.locator(gone).first.is_visible()
    ink = "getComputedStyle(document.body).backgroundColor + getComputedStyle(document.body).color"
    assert window.page.evaluate(ink) == "rgb(255, 255, 255)rgb(0, 0, 0)"


def test_paper_is_white_in_a_dark_window_too(visitor: Callable[..., Visitor]) -> None:
    window = visitor(**KINDS["dark"]).sign_in()
    window.page.wait_for_load_state()
    window.page.emulate_media(media="print", color_scheme="dark")
    colour = "getComputedStyle(document.body).backgroundColor"
    wait_until(lambda: window.page.evaluate(colour) == "rgb(255, 255, 255)")


def test_bars_on_a_phone_are_to_scale(visitor: Callable[..., Visitor], paid: dict[str, str]) -> None:
    window = visitor(**KINDS["phone"]).sign_in()
    window.go(answer(window, paid))
    assert not window.page.locator(".picture").is_visible()
    bars = window.page.evaluate("""() => [...document.querySelectorAll("tbody tr")].map(row => [
      Number(row.querySelector("td.number").textContent.replaceAll(",", "")),
      row.querySelector(".row-bar rect").getBoundingClientRect().width,
      row.querySelector(".row-bar").getBoundingClientRect().width])""")
    largest = max(count for count, _, _ in bars)
    for count, width, whole in bars:
        assert width == pytest.approx(whole * count / largest, abs=2)


def test_a_phone_sees_the_whole_legend_and_that_tables_go_on(visitor: Callable[..., Visitor]) -> None:
    window = visitor(**KINDS["phone"]).sign_in()
    window.go("/streams/dishes")
    sides = window.page.evaluate("""() => [...document.querySelectorAll(".slim .chart text")].map(text => {
      const box = text.getBoundingClientRect(); return [box.left, box.right]; })""")
    assert sides
    assert all(left >= -1 and right <= 391 for left, right in sides)
    assert not window.page.locator(".wide .chart").is_visible()
    window.go("/budget")
    table = window.page.locator(".scroll").first
    assert table.evaluate("frame => frame.scrollWidth > frame.clientWidth")
    assert "gradient" in table.evaluate("frame => getComputedStyle(frame).backgroundImage")


def test_the_page_after_a_session_says_that_it_ended(visitor: Callable[..., Visitor]) -> None:
    for kind in ("light", "phone"):
        window = visitor(**KINDS[kind])
        window.go("/sign-in?ended=1&dataset=searches&draft=x")
        assert "Your session has ended" in window.text()
        assert "comes back as you filled it in" in window.text()
        assert not window.is_too_wide()
        assert window.barriers() == []
