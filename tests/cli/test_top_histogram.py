"""`unlisted top-histogram`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.shell import unlisted
from tests.fixtures.kitchen import BOUND, BUDGET, COMMON, SHELL, asked

QUESTION = (*SHELL, "--items-per-user", BOUND)


def test_the_largest_counts_come_out(rows: Path) -> None:
    found = json.loads(unlisted("top-histogram", rows, *QUESTION, "--fetch", 30, "--format", "json").data)
    assert [row["dish"] for row in found["rows"]] == list(COMMON)
    assert list(found["rows"][0]) == ["dish", "count", "low", "high"]
    assert found["complete"] is False
    plan = asked().top_histogram("dish", budget=BUDGET, items_per_user=BOUND, fetch=30)
    assert found["plan"] == plan.as_dict()


def test_so_many_counts_are_fetched_unless_said(rows: Path) -> None:
    found = json.loads(unlisted("top-histogram", rows, *QUESTION, "--format", "json").data)
    assert found["plan"]["fetch"] == 1000


def test_what_competes_with_the_first_count_left_out_is_said(rows: Path) -> None:
    done = unlisted("top-histogram", rows, *QUESTION, "--fetch", 3)
    assert done.code == 0
    assert "beyond the first count left out" in done.text.splitlines()[-1]


def test_a_wrong_fetch_is_refused(rows: Path) -> None:
    for fetch in ("0", "-5", "99999999999999999999"):
        done = unlisted("top-histogram", rows, *QUESTION, "--fetch", fetch)
        assert done.code == 2
        assert "--fetch = " in done.said
