"""`unlisted preview`: cost and accuracy, without data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.shell import unlisted
from tests.fixtures.kitchen import BOUND, SHELL
from tests.tables.fixtures.engines import installed

BUDGET = ("--epsilon", "6", "--delta", "1e-9")
VERBS: dict[str, tuple[object, ...]] = {
    "histogram": ("--items-per-user", BOUND),
    "top": ("-k", 3),
    "top-histogram": ("--items-per-user", BOUND, "--fetch", 30),
    "labels": ("--items-per-user", BOUND, "--method", "adaptive"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_it_is_the_answer_without_rows(verb: str, rows: Path) -> None:
    previewed = json.loads(unlisted("preview", verb, *BUDGET, *VERBS[verb], "--format", "json").data)
    answered = json.loads(unlisted(verb, rows, *SHELL, *VERBS[verb], "--format", "json").data)
    assert {"rows", "spent", *previewed} == set(answered)
    assert answered["spent"] is None
    # Whether a ranking is complete is only known from its answer.
    assert previewed["complete"] is (None if verb == "top" else answered["complete"])
    assert previewed["guarantee"] == answered["guarantee"]
    # It needs no columns; all the rest is the same.
    nameless = answered["plan"] | {"user": None, "items": None}
    assert previewed["plan"] == nameless


@pytest.mark.parametrize("verb", VERBS)
def test_it_takes_the_columns_of_a_question_that_was_typed_already(verb: str) -> None:
    named = unlisted(
        "preview", verb, *SHELL, "--table", "t", "--types", "age=int", *VERBS[verb], "--format", "json"
    )
    assert named.code == 0
    assert named.data == unlisted("preview", verb, *BUDGET, *VERBS[verb], "--format", "json").data


@pytest.mark.parametrize("verb", VERBS)
def test_for_a_person_it_is_the_plan(verb: str) -> None:
    done = unlisted("preview", verb, *BUDGET, *VERBS[verb])
    assert done.code == 0
    assert done.text.startswith("Plan: ")
    assert "To appear, an item needs users" in done.text
    assert done.text.endswith("A preview: no data was named, none was touched.\n")


def test_it_can_be_written_and_drawn(tmp_path: Path) -> None:
    installed("altair")
    words = ("preview", "histogram", *BUDGET, *VERBS["histogram"])
    chart = tmp_path / "plan.svg"
    for kind in ("table", "json"):
        output = tmp_path / f"plan.{kind}"
        done = unlisted(*words, "--format", kind, "--output", output, "--chart", chart, "--overwrite")
        assert done.code == 0
        assert done.data == b""
        assert output.read_bytes() == unlisted(*words, "--format", kind).data
        assert chart.read_bytes().startswith(b"<svg")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--format", "csv"), "--format = 'csv'"),
        (("--format", "parquet"), "--format = 'parquet'"),
        (("--receipt", "receipt.json"), "--receipt = 'receipt.json'"),
        (("--item", "count"), "--item = 'count'"),
        (("--output", "nowhere/plan.json"), "--output = 'nowhere/plan.json'"),
    ],
)
def test_what_a_preview_has_not_is_refused(words: tuple[str, ...], named: str) -> None:
    done = unlisted("preview", "histogram", *BUDGET, *VERBS["histogram"], *words)
    assert done.code == 2
    assert named in done.said


@pytest.mark.parametrize("verb", VERBS)
def test_a_predicate_that_cannot_be_read_is_refused_before_it_costs_a_question(verb: str) -> None:
    words = ("preview", verb, *BUDGET, *VERBS[verb], "--where")
    for where in ("dish =", "dish = 'soup", "dish IN (SELECT dish FROM cooked)"):
        done = unlisted(*words, where)
        assert done.code == 2
        assert "--where = " in done.said
        assert done.data == b""
    # Which columns there are, and what they hold, a preview cannot know.
    assert unlisted(*words, "anything = 'soup'").code == 0


def test_a_source_is_not_taken(rows: Path) -> None:
    done = unlisted("preview", "histogram", rows, *BUDGET, *VERBS["histogram"])
    assert done.code == 2
    assert "unexpected extra argument" in done.said


def test_a_bound_is_needed_where_the_question_needs_one() -> None:
    assert unlisted("preview", "histogram", *BUDGET).code == 0
    done = unlisted("preview", "histogram", *BUDGET, "--noise", "laplace")
    assert done.code == 2
    assert "--items-per-user is missing: it must be given" in done.said
