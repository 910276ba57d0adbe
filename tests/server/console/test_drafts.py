"""From the texts of a form to a question: what its kind has no use for is not read, the rest is checked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from unlisted.errors import InvalidArgumentError
from unlisted.server.console.drafts import Draft
from unlisted.server.console.forms import Form
from unlisted.server.questions import Asked

DRAFT = Draft(item=("query",), items_per_user="10", rows_per_item="3")


def test_a_draft_survives_a_form() -> None:
    assert Draft.sent(Form(tuple(DRAFT.hidden()))) == DRAFT


def test_all_counts() -> None:
    asked = DRAFT.asked()
    assert (asked.question, asked.items, asked.items_per_user, asked.noise) == (
        "histogram",
        ("query",),
        10,
        "auto",
    )
    assert (asked.k, asked.fetch, asked.rows_per_item, asked.where, asked.counts) == (
        None,
        None,
        None,
        None,
        False,
    )


def test_a_ranking_takes_no_bound_and_no_noise() -> None:
    asked = replace(DRAFT, question="top", noise="laplace", counts="yes").asked()
    assert (asked.k, asked.fetch, asked.counts) == (20, 1000, True)
    assert (asked.items_per_user, asked.noise) == (None, "auto")


def test_a_ranking_of_labels_takes_a_bound_and_looks_at_no_largest_counts() -> None:
    asked = replace(DRAFT, question="top", ranking="labels", count="rows").asked()
    assert (asked.method, asked.items_per_user, asked.k) == ("labels", 10, 20)
    assert (asked.fetch, asked.count, asked.rows_per_item) == (None, "users", None)
    assert replace(DRAFT, question="top").asked().method == "gumbel"


def test_labels_are_found_by_users() -> None:
    asked = replace(
        DRAFT, question="labels", method="sips", count="rows", noise="laplace", counts="yes", ranking="x"
    )
    expected = Asked("labels", ("query",), "1", delta="1e-8", items_per_user=10, method="sips")
    assert asked.asked() == expected


def test_rows_have_their_bound() -> None:
    assert replace(DRAFT, count="rows").asked().rows_per_item == 3


@pytest.mark.parametrize(
    ("changed", "argument"),
    [
        ({"item": ()}, "items"),
        ({"question": "SELECT"}, "question"),
        ({"count": "people"}, "count"),
        ({"noise": "none"}, "noise"),
        ({"items_per_user": "0"}, "items_per_user"),
        ({"items_per_user": "-1"}, "items_per_user"),
        ({"items_per_user": "1.5"}, "items_per_user"),
        ({"items_per_user": "²"}, "items_per_user"),
        ({"items_per_user": "9" * 5000}, "items_per_user"),
        ({"question": "top", "k": "many"}, "k"),
        ({"question": "top", "ranking": "auto"}, "ranking"),
        ({"question": "labels", "method": "gumbel"}, "method"),
        ({"question": "labels", "items_per_user": "all"}, "items_per_user"),
    ],
)
def test_what_cannot_be_read_is_refused(changed: dict[str, Any], argument: str) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        replace(DRAFT, **changed).asked()
    assert refused.value.argument == argument
