"""A release explained to a manager: true for every kind of question, with the release's own numbers."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

import unlisted as ul

BUDGET = ul.Budget(epsilon=2, delta="1e-6")
ROWS = pa.table({"user": list(range(300)) * 2, "dish": ["soup"] * 300 + ["bread"] * 300})
HEADINGS = [
    "What this is",
    "Who is protected, and how",
    "How well",
    "What may be missing",
    "What not to conclude",
]


def _said(question: str, **options: Any) -> tuple[ul.Release, str]:
    plan = getattr(ul.table(ROWS, user="user"), question)("dish", budget=BUDGET, **options)
    release = plan.run()
    return release, " ".join(release.statement().split())


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("histogram", {}),
        ("histogram", {"items_per_user": 3}),
        ("histogram", {"items_per_user": 3, "count": "rows", "rows_per_item": 2, "adjacency": "replace"}),
        ("top", {"k": 2}),
        ("top", {"k": 2, "counts": True}),
        ("top_histogram", {"items_per_user": 2, "fetch": 10}),
        ("labels", {}),
    ],
)
def test_it_has_its_headings_and_the_numbers_of_the_release(question: str, options: dict[str, Any]) -> None:
    release, said = _said(question, **options)
    lines = release.statement().splitlines()
    assert [line for line in lines if line in HEADINGS] == HEADINGS
    assert max(map(len, lines)) <= 88
    assert len(lines) <= 45, "half a page"
    assert "ε = 2 and δ = 1e-06" in said
    assert "one in 1,000,000" in said
    assert "“dish”" in said
    assert "“user”" in said
    needed = release.plan["users_needed"]
    assert f"{needed['50']:,}" in said
    assert f"{needed['99']:,}, 99 %" in said


def test_the_factor_is_not_below_the_true_one() -> None:
    _, said = _said("labels")
    factor = float(said.split("It is at most ")[1].split()[0])
    assert math.exp(2) <= factor <= 1.01 * math.exp(2)


def test_it_says_what_one_person_may_count_for_and_that_heavier_ones_are_protected_too() -> None:
    _, said = _said("histogram", items_per_user=3, count="rows", rows_per_item=2)
    assert "at most 3 values and 2 rows of each" in said
    assert "They are protected exactly as well as everybody else." in said
    assert "With " in said.split("What may be missing")[1]
    _, said = _said("histogram")
    assert "That holds for those with very many rows, too." in said


def test_it_compares_what_the_guarantee_compares() -> None:
    _, said = _said("histogram", items_per_user=3)
    assert "are in the data as if they are not" in said
    _, said = _said("histogram", items_per_user=3, adjacency="replace")
    assert "as if they were anybody else's" in said


def test_a_bound_that_was_only_declared_is_said_to_be() -> None:
    counts = ul.counts(["soup"], [900], items_per_user=4)
    said = " ".join(counts.histogram(budget=BUDGET).run().statement().split())
    assert "was said to count each for at most 4 values: the guarantee rests on that" in said
    assert "random choice" not in said
    assert "could not be read" not in said


def test_a_condition_and_names_cannot_command_a_terminal() -> None:
    rows = ROWS.rename_columns(["user", "di\x1b[31msh"])
    plan = ul.table(rows, user="user").histogram("di\x1b[31msh", budget=BUDGET, where="user < 200")
    said = plan.run().statement()
    assert "\x1b" not in said
    assert "Only rows with user < 200 were looked at." in " ".join(said.split())
