"""Allowances that start anew, of accounts in zCDP and in Gaussian DP: seen, and nothing drawn as fitting."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import get_args

import pytest
from tests.server.console.test_attacks import Stranger, place_of
from tests.server.console.test_forms import QUESTION
from tests.server.test_frozen import Rows

import unlisted as ul
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.terms import Period, period_of
from unlisted.server.app import make_app
from unlisted.server.auth import KeyRing
from unlisted.server.config import Config, Offer
from unlisted.server.console.budget import _next_start, standing_of

KINDS = {"zcdp": ("rho", "ρ"), "gaussian": ("mu_squared", "μ²")}


def budget(kind: str, loss: str, delta: str = "1e-5") -> ul.Budget:
    return ul.Budget(**{KINDS[kind][0]: loss}, delta=delta)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "book.db") as book:
        yield book


def visitor(ledger: Ledger, tmp_path: Path, kind: str, total: str, life: str, each: str) -> Stranger:
    """Sign somebody in whose account has an allowance each month."""
    rows = Rows(tmp_path / "rows.parquet")
    offer = Offer("searches", str(rows.file), "user", ("query",), budget(kind, total), items_per_user=1, kind=kind)
    app = make_app(Config("unused", {"searches": offer}, secure_cookies=False), ledger)
    allowance = {"period": "month", "period_budget": budget(kind, each, "1e-6")}
    ledger.open("ads", dataset="searches", budget=budget(kind, life), **allowance)
    one = Stranger(app)
    one.sign_in(KeyRing(ledger).create("Ana", "analyst", {"searches": "ads"}))
    return one


def preview(one: Stranger, epsilon: str) -> str:
    return one.post("/datasets/searches/ask/preview", {**QUESTION, "epsilon": epsilon, "token": one.token}).text


@pytest.mark.parametrize("kind", KINDS)
def test_a_question_that_does_not_fit_the_month_is_not_drawn_as_fitting(kind: str, ledger: Ledger, tmp_path: Path):
    symbol = KINDS[kind][1]
    ana = visitor(ledger, tmp_path, kind, "50", "20", "0.3")
    page = ana.get("/").text
    assert re.search(rf"<strong>{symbol} = 0.3</strong> of 0.3 this month", page)
    assert re.search(r"is allowed each month, anew on <span class=\"when\">\d{4}-\d\d-01</span>; in all 20", page)
    fits, large = preview(ana, "0.2"), preview(ana, "9")
    assert 'class="asked"' in fits
    assert "The allowance starts anew on" in fits
    assert "disabled" not in fits
    assert 'rect class="over"' in large
    assert 'rect class="asked"' not in large
    assert "this month. Its allowance starts anew on" in large
    assert "<button disabled>" in large
    assert place_of(ana.post("/datasets/searches/answers", {**QUESTION, "epsilon": "0.2", "token": ana.token}))
    left = standing_of(ledger.account("ads").balance())
    assert left.period is not None
    assert 0 < left.period.loss.left < Fraction(3, 10)
    assert left.period.loss.gone == left.loss.gone == Fraction(3, 10) - left.period.loss.left
    assert "left this month, anew on" in ana.get("/budget").text


@pytest.mark.parametrize("kind", KINDS)
def test_what_runs_out_first_is_drawn_and_said(kind: str, ledger: Ledger, tmp_path: Path):
    # The month allows more than the account has in all, and the account more than the data set has.
    ana = visitor(ledger, tmp_path, kind, "50", "0.05", "30")
    said = preview(ana, "3")
    assert "This does not fit" in said
    assert "Its allowance starts anew" not in said
    assert standing_of(ledger.account("ads").balance()).now == ""
    ledger.open("all", dataset="searches", budget=budget(kind, "50"))
    standing = standing_of(ledger.account("all").balance())
    plan = ul.counts(["tea"], [5], items_per_user=1).histogram(budget=ul.Budget(epsilon="500", delta="1e-8"))
    assert standing.lacks(plan.guarantee) == "account"


def test_a_data_set_that_others_have_spent_is_said(ledger: Ledger, tmp_path: Path):
    ana = visitor(ledger, tmp_path, "zcdp", "0.02", "20", "10")
    assert "because all accounts on the data set together have spent the rest" in preview(ana, "3")


@pytest.mark.parametrize("period", get_args(Period))
@pytest.mark.parametrize("today", ["2026-02-28", "2028-02-28", "2026-12-31", "2027-01-03", "2026-11-18"])
def test_a_period_starts_anew_on_the_first_day_that_has_another_name(period: Period, today: str):
    from datetime import datetime, timedelta

    day = date.fromisoformat(today)
    following = _next_start(period, day)

    def name(of: date) -> str:
        return period_of(period, datetime(of.year, of.month, of.day))

    assert name(following) != name(day) == name(following - timedelta(days=1))
