"""What an audit says, in a table, to a program, and on a page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction

import pytest

from unlisted.audit.audits import Audit, audit
from unlisted.audit.report import COLUMNS, CURVES, as_dict, as_markdown, as_row, curves_of, page
from unlisted.audit.subject import Pair
from unlisted.audit.subjects.catalogue import OURS
from unlisted.privacy.guarantee import Guarantee


@pytest.fixture(scope="module")
def good() -> Audit:
    return audit(OURS["top-k"](), trials=2000)


@pytest.fixture(scope="module")
def bad() -> Audit:
    subject = OURS["top-k"]()
    hostile = Pair("<script>alert(1)</script>", {}, {"a": 1})
    claim = Guarantee(subject.claim.rho, subject.claim.delta / 2)
    return audit(replace(subject, name="halved", claim=claim, pairs=lambda: [hostile]), trials=0)


def test_a_row_says_claim_findings_margin_and_verdict(good: Audit, bad: Audit) -> None:
    assert len(as_row(good)) == len(COLUMNS)
    assert as_row(good)[0] == "top-k"
    assert as_row(good)[-1] == "holds"
    assert as_row(good)[1].startswith("ρ 0.375, δ 0.002")
    assert as_row(good)[4].endswith("δ 0.0 %")
    assert as_row(bad)[-1] == "violated"
    assert as_row(bad)[3] == ""
    assert "-100.0 %" in as_row(bad)[4]


def test_a_table_is_markdown(good: Audit, bad: Audit) -> None:
    lines = as_markdown(COLUMNS, [as_row(good), as_row(bad)]).splitlines()
    assert len(lines) == 4
    assert {line.count("|") for line in lines} == {len(COLUMNS) + 1}


def test_a_program_gets_everything(good: Audit, bad: Audit) -> None:
    read = json.loads(json.dumps(as_dict(good), allow_nan=False))
    assert read["verdict"] == "holds"
    assert read["exact"]["pairs"] == len(good.exact.findings)
    assert read["black_box"]["confidence"] == 0.999999
    assert "black_box" not in as_dict(bad)
    json.dumps(as_dict(bad), allow_nan=False)


def test_the_page_stands_on_its_own(good: Audit, bad: Audit) -> None:
    text = page([good, bad], {"top-k": "<svg>drawn</svg>"}, version="1", date="2026-01-01")
    assert "<svg>drawn</svg>" in text
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert re.findall(r'(?:src|href)="(?!#)', text) == []
    assert "url(" not in text
    assert "prefers-color-scheme: dark" in text
    assert "At least one claim is false." in text


def test_curves_are_claimed_exact_and_seen(good: Audit, bad: Audit) -> None:
    assert {point["curve"] for point in curves_of(good)} == set(CURVES)
    assert {point["curve"] for point in curves_of(bad)} < set(CURVES)
    assert curves_of(replace(good, exact=None)) == []


def test_what_runs_show_lies_below_what_is_claimed(good: Audit) -> None:
    by_curve = {name: {} for name in CURVES}
    for point in curves_of(good):
        by_curve[point["curve"]][point["epsilon"]] = point["delta"]
    for epsilon, shown in by_curve["seen in runs"].items():
        assert shown <= by_curve["exact"][epsilon] <= by_curve["claimed"][epsilon] * (1 + 1e-6)


def test_a_claim_without_delta_has_no_margin_in_it() -> None:
    subject = OURS["top-k"]()
    claim = Guarantee(Fraction(10), Fraction(0))
    audited = audit(replace(subject, claim=claim, pairs=lambda: [Pair("same", {"a": 1}, {"a": 2})]), trials=0)
    assert "δ none" in as_row(audited)[4]
