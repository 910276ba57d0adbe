"""What an answer says about what is not in it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import unlisted as ul
from unlisted.server.console.answers import why_missing

BUDGET = ul.Budget(epsilon=1, delta="1e-8")
TABLE = ul.table(pa.table({"user": [1], "query": ["soup"]}), user="user")


def said(plan: ul.Plan, *, complete: bool = True) -> str:
    return " ".join(why_missing(plan.as_dict(), complete=complete))


@pytest.mark.parametrize("method", ["counts", "optimal", "weighted", "sips", "adaptive", "hints"])
def test_labels_say_how_many_users_they_need_and_nothing_of_counts_being_low(method: Any) -> None:
    plan = TABLE.labels("query", budget=BUDGET, items_per_user=20, method=method)
    text, needed, alone = said(plan), plan.accuracy.needed, plan.accuracy.at_best
    assert f"{needed[50]:,} users" in text
    assert f"{needed[99]:,}" in text
    assert ("1/√n" in text) == (alone is not None)
    if alone is not None:
        assert f"or with {alone[50]:,} of one" in text
    assert "at most 20 values at a time" in text
    assert "lower than in the data" not in text


def test_with_one_item_each_a_weight_is_a_count() -> None:
    plan = TABLE.labels("query", budget=BUDGET, items_per_user=1, method="weighted")
    assert "when its count is above" in said(plan)


def test_a_histogram_says_that_its_counts_can_be_low() -> None:
    assert "lower than in the data" in said(TABLE.histogram("query", budget=BUDGET, items_per_user=20))


def test_a_short_ranking_says_why() -> None:
    found = TABLE.top("query", k=3, budget=BUDGET, items_per_user=5, method="labels")
    assert "no more values were shared by enough users" in said(found, complete=False)
    assert "ranked by all their users" in said(found)
    drawn = TABLE.top("query", k=3, budget=BUDGET)
    assert "stay unnamed" in said(drawn, complete=False)
    assert "shorter" not in said(drawn)
