"""What a notebook shows: no script, no network, and labels that are only text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pytest

import unlisted as ul

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a\u202eb", "", "  ", "x" * 900, "\x00"]
ALLOWED = {"div", "strong", "table", "tr", "th", "td", "span", "bdi", "pre"}


class Tags(HTMLParser):
    """Collects what a browser would take for tags and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def _safe(page: str) -> str:
    found = Tags()
    found.feed(page)
    assert found.tags <= ALLOWED
    assert found.attributes <= {"style", "title"}
    assert "http" not in page
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00]", page)
    return page


@pytest.fixture(scope="module")
def release() -> ul.Release:
    rows = pa.table(
        {"user": list(range(300)) * len(HOSTILE), "dish": [one for one in HOSTILE for _ in range(300)]}
    )
    table = ul.table(rows, user="user")
    return table.histogram("dish", epsilon=30, items_per_user=len(HOSTILE)).run()


def test_a_release_shows_its_rows_with_bars_and_what_it_promises(release: ul.Release) -> None:
    page = _safe(release._repr_html_())
    assert "&lt;script&gt;" in page
    assert page.count("<tr>") == len(HOSTILE) + 1
    assert "U+202E" in page
    assert "(30, 1e-08)-DP" in page


def test_a_long_release_says_how_many_rows_are_left_out() -> None:
    labels = [f"label {at}" for at in range(40)]
    release = ul.counts(labels, [10**6] * 40, items_per_user=1).histogram(epsilon=1).run()
    page = _safe(release._repr_html_())
    assert page.count("<tr>") == 21
    assert "… and 20 more rows" in page


def test_rankings_and_empty_answers_are_shown_too() -> None:
    rows = pa.table({"user": list(range(400)), "dish": ["soup"] * 400})
    table = ul.table(rows, user="user")
    assert "only the order" in _safe(table.top("dish", k=1, epsilon=1).run()._repr_html_())
    assert "Release of 0 rows" in _safe(table.labels("dish", epsilon=1, where="user < 3").run()._repr_html_())


def test_tables_and_plans(tmp_path: Path) -> None:
    rows = pa.table({"user": [1], "<b>dish</b>": ["soup"]})
    table = ul.table(rows, user="user")
    assert "&lt;b&gt;dish&lt;/b&gt;: text" in _safe(table._repr_html_())
    plan = table.histogram("<b>dish</b>", epsilon=1)
    assert "Guarantee: (1, 1e-08)-DP" in _safe(plan._repr_html_())
    assert "files that exist" in _safe(ul.table(tmp_path / "gone.csv", user="user")._repr_html_())
    (tmp_path / "rows.csv").write_text("user,secret\n1,2\n")
    assert "secret" not in _safe(ul.table(tmp_path / "rows.csv", user="user")._repr_html_()), (
        "a first line is a row perhaps"
    )


def test_balances(tmp_path: Path) -> None:
    with ul.Ledger(str(tmp_path / "budget.db"), create=True) as ledger:
        account = ledger.open("<i>me</i>", dataset="kitchen", budget=ul.Budget(rho=1, delta="1e-6"))
        page = _safe(account.balance()._repr_html_())
    assert "Account &lt;i&gt;me&lt;/i&gt; of kitchen" in page
