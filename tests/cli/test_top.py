"""`unlisted top`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.shell import unlisted
from tests.fixtures.kitchen import BOUND, BUDGET, COMMON, SHELL, asked


def test_a_ranking_has_ranks_and_no_counts(rows: Path) -> None:
    found = json.loads(unlisted("top", rows, *SHELL, "-k", 2, "--format", "json").data)
    assert found["rows"] == [{"dish": "soup", "rank": 1}, {"dish": "bread", "rank": 2}]
    assert found["complete"] is True
    assert found["plan"] == asked().top("dish", k=2, budget=BUDGET).as_dict()


def test_with_counts_it_has_both(rows: Path) -> None:
    found = json.loads(unlisted("top", rows, *SHELL, "-k", 2, "--counts", "--format", "json").data)
    assert list(found["rows"][0]) == ["dish", "rank", "count", "low", "high"]
    for row in found["rows"]:
        assert row["low"] <= row["count"] <= row["high"]
        assert abs(row["count"] - COMMON[row["dish"]]) < 60


def test_a_ranking_that_ends_early_says_so(rows: Path) -> None:
    done = unlisted("top", rows, *SHELL, "--k", 9)
    assert done.code == 0
    assert "The ranking ended after" in done.text
    assert json.loads(unlisted("top", rows, *SHELL, "-k", 9, "--format", "json").data)["complete"] is False
    assert "ended" not in unlisted("top", rows, *SHELL, "-k", 2).text


def test_a_ranking_of_nothing_speaks_of_nothing_else(rows: Path) -> None:
    done = unlisted("top", rows, *SHELL, "-k", 2, "--where", "dish = 'nothing of the kind'")
    assert "The ranking ended after 0 of 2: nothing was common enough to tell.\n" in done.text


@pytest.mark.parametrize(
    ("words", "fetch"), [((), 1000), (("--fetch", 50), 50), (("--fetch", "all", "--items-per-user", BOUND), "all")]
)
def test_how_many_counts_are_read(rows: Path, words: tuple[object, ...], fetch: object) -> None:
    found = json.loads(unlisted("top", rows, *SHELL, "-k", 2, *words, "--format", "json").data)
    assert found["plan"]["fetch"] == fetch
    assert [row["dish"] for row in found["rows"]] == ["soup", "bread"]


@pytest.mark.parametrize("fetch", ["0", "-1", "1.5", "some", "ALL", "", "²", "99999999999999999999"])
def test_a_wrong_fetch_is_refused(rows: Path, fetch: str) -> None:
    done = unlisted("top", rows, *SHELL, "-k", 2, "--fetch", fetch)
    assert done.code == 2
    assert "--fetch = " in done.said


def test_all_counts_need_a_bound(rows: Path) -> None:
    done = unlisted("top", rows, *SHELL, "-k", 2, "--fetch", "all")
    assert done.code == 2
    assert "--items-per-user is missing" in done.said


def test_a_price_for_each_draw(rows: Path) -> None:
    question = ("--user", "user", "--item", "dish", "-k", 3, "--per-item-epsilon", "0.4", "--format", "json")
    found = json.loads(unlisted("top", rows, *question, "--delta", "1e-9").data)
    assert found["guarantee"]["rho"] == pytest.approx(3 * 0.4**2 / 8)
    assert found["guarantee"]["at_delta"] == 2e-9
    assert json.loads(unlisted("top", rows, *question).data)["guarantee"]["at_delta"] == 2e-8
    both = unlisted("top", rows, *question, "--delta", "1e-9", "--epsilon", "1")
    assert both.code == 2
    assert "--per-item-epsilon = '0.4'" in both.said


def test_rows_bounds_and_conditions(rows: Path) -> None:
    words = ("--count", "rows", "--rows-per-item", 2, "--items-per-user", 3, "--where", "place = 'away'")
    plan = json.loads(unlisted("top", rows, *SHELL, "-k", 2, *words, "--format", "json").data)["plan"]
    asked_for = (plan["count"], plan["rows_per_item"], plan["items_per_user"], plan["where"])
    assert asked_for == ("rows", 2, 3, "place = 'away'")
