"""Asking, as a person does it: with scripts and without, from the form to the file that is taken home."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import expect
from tests.browser.visitor import KINDS, Visitor, download
from tests.server.running import wait_until

Open = Callable[..., Visitor]


@pytest.mark.parametrize("kind", ["light", "no-script"])
def test_the_cost_is_shown_before_anything_is_spent(kind: str, visitor: Open) -> None:
    window = visitor(**KINDS[kind]).sign_in()
    before = window.site.charged()
    window.page.get_by_role("link", name="Ask searches").click()
    window.ask(where="device = 'phone'", epsilon="2")
    shown = window.text("#preview")
    assert "ρ, at most" in shown
    assert "Left after it: ρ = " in shown
    assert "for a chance of 95 %" in shown
    expect(window.page.locator("#preview svg.chart:visible")).to_have_count(1)  # once the style sheet is there
    assert window.page.locator("#where").input_value() == "device = 'phone'"
    assert window.site.charged() == before


@pytest.mark.parametrize("kind", ["light", "no-script"])
def test_an_answer_is_paid_for_once_and_taken_home(kind: str, visitor: Open) -> None:
    window = visitor(**KINDS[kind]).sign_in()
    before = window.site.charged()
    window.go("/datasets/searches/ask")
    window.ask(epsilon="1")
    window.pay()
    assert window.site.charged() == before + 2  # reserved, settled
    assert "soup" in window.text("table")
    assert "may be published" in window.text()
    files = {name: download(window, name) for name in ("CSV", "Parquet", "Receipt")}
    assert window.site.charged() == before + 2
    rows = list(csv.DictReader(io.StringIO(files["CSV"].decode())))
    assert {"query", "count", "low", "high"} == set(rows[0])
    assert pq.read_table(io.BytesIO(files["Parquet"])).num_rows == len(rows)
    assert json.loads(files["Receipt"])["released_rows"] == len(rows)
    window.go("/history")
    assert "Counts of query" in window.text("table")


def test_a_question_sent_twice_is_paid_for_once(visitor: Open) -> None:
    window = visitor(**KINDS["no-script"]).sign_in()
    window.go("/datasets/searches/ask")
    window.ask(epsilon="1")
    fields = window.page.locator("#preview form input").all()
    sent = {one.get_attribute("name"): one.get_attribute("value") for one in fields}
    window.pay()
    once = window.site.charged()
    again = window.context.request.post(f"{window.site.url}/console/datasets/searches/answers", form=sent)
    assert again.url == window.page.url
    assert window.site.charged() == once


def test_the_preview_follows_the_form(visitor: Open) -> None:
    window = visitor(**KINDS["light"]).sign_in()
    window.go("/datasets/searches/ask")
    address, before = window.page.url, window.text("#preview")
    slider, held = window.page.get_by_role("slider"), []

    def hold_back(route: Any) -> None:
        """Keep the preview away until the page was looked at without it."""
        held.append(route)

    window.page.route("**/preview", hold_back)
    slider.focus()
    with window.page.expect_request("**/preview"):
        slider.press("ArrowRight")
    assert window.page.locator("#preview button").is_disabled()
    for route in held:
        route.continue_()
    window.page.unroute("**/preview")
    window.page.wait_for_selector("#preview:not([aria-busy]) button:enabled")
    assert window.page.locator("#epsilon").input_value() == "1.1"
    assert window.text("#preview") != before
    assert window.text("#said").startswith("Left after it: ρ = ")
    assert window.page.url == address
    window.page.locator("#where").fill("no such column = 1")
    window.page.wait_for_selector("#preview [role=alert]")
    assert "where" in window.text("#preview [role=alert]")


def test_without_scripts_a_changed_form_is_not_what_is_paid_for(visitor: Open) -> None:
    window = visitor(**KINDS["no-script"]).sign_in()
    window.go("/datasets/searches/ask")
    window.ask(epsilon="0.5")
    window.page.locator("#epsilon").fill("3")
    window.pay()
    assert "(0.5, 1e-8)-differential privacy" in window.text()


@pytest.mark.parametrize("kind", ["light", "no-script"])
def test_values_alone_are_asked_for_and_taken_home(kind: str, visitor: Open) -> None:
    window = visitor(**KINDS[kind]).sign_in()
    window.go("/datasets/searches/ask")
    window.page.locator("#question-labels").check()
    window.page.locator("summary", has_text="More options").click()
    window.page.locator("#method").select_option("sips")
    window.ask(epsilon="2")
    assert "of 12 items each" in window.text("#preview")
    assert "no other item" in window.text("#preview")
    assert "±" not in window.text("#preview")
    expect(window.page.locator("#preview svg.chart:visible")).to_have_count(1)  # once the style sheet is there
    window.keep_picture(f"ask-values-{kind}")
    window.pay()
    assert "Values of query" in window.text("h1")
    assert window.page.locator("main svg").count() == 0, "there is nothing to measure values by"
    assert "Only the values were released, no counts and no order." in window.text("table")
    assert "soup" in window.text("table")
    rows = list(csv.DictReader(io.StringIO(download(window, "CSV").decode())))
    assert set(rows[0]) == {"query"}
    assert pq.read_table(io.BytesIO(download(window, "Parquet"))).num_rows == len(rows)
    window.go("/history")
    assert "Values of query" in window.text("table")


def test_a_ranking_by_way_of_labels(visitor: Open) -> None:
    window = visitor(**KINDS["no-script"]).sign_in()
    window.go("/datasets/searches/ask")
    window.page.locator("#question-top").check()
    window.page.locator("summary", has_text="More options").click()
    assert window.page.locator("#fetch").is_visible()
    assert not window.page.locator("#items_per_user").is_visible()
    window.page.locator("#ranking-labels").check()
    assert not window.page.locator("#fetch").is_visible()
    window.ask(epsilon="2", items_per_user="5", k="4")
    assert window.page.locator("#ranking-labels").is_checked()
    assert "of 5 items each" in window.text("#preview")
    window.keep_picture("ask-ranking-of-values")
    window.pay()
    assert "Ranking of query" in window.text("h1")
    assert window.page.locator("tbody tr").count() == 4


def test_fields_are_shown_where_they_are_of_use(visitor: Open) -> None:
    window = visitor(**KINDS["no-script"]).sign_in()
    window.go("/datasets/searches/ask")
    assert not window.page.locator("#k").is_visible()
    window.page.locator("#question-top").check()
    assert window.page.locator("#k").is_visible()
    window.page.locator("summary", has_text="More options").click()
    counting = ("#k", "#fetch", "#count-users", "#noise")
    assert not window.page.locator("#method").is_visible()
    window.page.locator("#question-labels").check()
    assert not any(window.page.locator(field).is_visible() for field in counting)
    assert window.page.locator("#method").is_visible()
    assert window.page.locator("#items_per_user").is_visible()


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({"epsilon": "-1"}, "epsilon"),
        ({"epsilon": "much"}, "epsilon"),
        ({"where": "query = 'soup'"}, "where"),
        ({"where": "device = (SELECT 1)"}, "where"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(fields: dict[str, str], at: str, visitor: Open) -> None:
    window = visitor(**KINDS["no-script"]).sign_in()
    window.go("/datasets/searches/ask")
    window.complaints_expected("422")
    window.ask(**fields)
    assert window.page.locator(f"#{at}").get_attribute("aria-invalid") == "true"
    assert "is not allowed" in window.text(f"#{at}-wrong")
    assert window.page.get_by_role("button", name="Ask, for at most").count() == 0


def test_too_much_cannot_be_asked(visitor: Open) -> None:
    window = visitor(**KINDS["no-script"]).sign_in()
    window.go("/datasets/searches/ask")
    window.ask(epsilon="30")
    assert "This does not fit" in window.text("#preview")
    assert window.page.get_by_role("button", name="Ask, for at most").is_disabled()


def test_a_failure_after_data_was_touched_says_one_thing(visitor: Open) -> None:
    window = visitor(**KINDS["no-script"]).sign_in()
    before = window.site.charged()
    window.go("/datasets/broken/ask")
    window.complaints_expected("500")
    window.ask(epsilon="1")
    window.page.get_by_role("button", name="Ask, for at most").click()
    assert "could not be answered; charged; see the log" in window.text()
    assert window.site.charged() == before + 2  # reserved, forfeited


def test_an_empty_table_is_an_answer_like_any_other(visitor: Open) -> None:
    window = visitor(**KINDS["light"]).sign_in()
    window.go("/datasets/empty/ask")
    window.ask(epsilon="1")
    window.pay()
    assert "No value came out" in window.text()
    assert "What is missing, and why" in window.text()


@pytest.mark.parametrize("kind", ["light", "no-script"])
def test_an_accuracy_is_said_and_its_epsilon_found(kind: str, visitor: Open) -> None:
    window = visitor(**KINDS[kind]).sign_in()
    before = window.site.charged()
    window.go("/datasets/searches/ask")
    window.page.get_by_text("Say the accuracy").click()
    window.page.locator("#appears_at").fill("60")
    window.page.get_by_role("button", name="Find the smallest ε").click()
    wait_until(lambda: window.page.locator("#epsilon").input_value() != "1")
    assert float(window.page.locator("#epsilon").input_value()) > 0
    assert window.page.locator("#appears_at").input_value() == "60"
    if kind == "light":
        assert window.page.get_by_role("slider").count() == 2
        assert window.barriers() == []
    assert window.site.charged() == before
