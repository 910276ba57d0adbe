"""From the texts of a form to a question: what its kind has no use for is not read, the rest is checked."""

from __future__ import annotations

from typing import Any

import pytest

from unlisted.errors import InvalidArgumentError
from unlisted.server.console.question_form import Draft
from unlisted.server.console.visits import Form
from unlisted.server.planning import Asked
from unlisted.server.query_service import DatasetView
from unlisted.tables.column_types import ColumnType

VIEW = DatasetView(
    name="searches",
    description="",
    user="user",
    items={"query": ColumnType.TEXT, "device": ColumnType.TEXT},
    filters={},
    items_per_user=10,
    rows_per_item=3,
    adjacency="add_remove",
    version=None,
    account=None,
)
DRAFT = Draft.blank(VIEW)


def changed_to(changed: dict[str, Any]) -> Draft:
    """Return the form with some fields typed otherwise, the columns among them."""
    typed = {name: text for name, text in changed.items() if name != "item"}
    return Draft(changed.get("item", DRAFT.item), {**DRAFT.typed, **typed})


def test_a_draft_survives_a_form() -> None:
    assert Draft.sent(Form(tuple(DRAFT.hidden()))) == DRAFT


def test_all_counts() -> None:
    asked = DRAFT.asked()
    assert (asked.question, asked.items) == ("histogram", ("query",))
    assert (asked.said["items_per_user"], asked.said["noise"]) == (10, "auto")
    assert not {"k", "fetch", "rows_per_item", "where", "counts"} & set(asked.said)


def test_a_ranking_takes_no_bound_and_no_noise() -> None:
    said = DRAFT.but(question="top", noise="laplace", counts="yes").asked().said
    assert (said["k"], said["fetch"], said["counts"]) == (20, 1000, True)
    assert not {"items_per_user", "noise"} & set(said)


def test_a_ranking_of_labels_takes_a_bound_and_looks_at_no_largest_counts() -> None:
    said = DRAFT.but(question="top", ranking="labels", count="rows").asked().said
    assert (said["method"], said["items_per_user"], said["k"]) == ("labels", 10, 20)
    assert not {"fetch", "count", "rows_per_item"} & set(said)
    assert DRAFT.but(question="top").asked().said["method"] == "gumbel"


def test_labels_are_found_by_users() -> None:
    asked = DRAFT.but(question="labels", method="sips", count="rows", noise="laplace", counts="yes", ranking="x")
    said = {"epsilon": "1", "delta": "1e-8", "items_per_user": 10, "method": "sips", "max_label_bytes": 1024}
    assert asked.asked() == Asked.of("labels", ("query",), said)


def test_rows_have_their_bound() -> None:
    assert DRAFT.but(count="rows").asked().said["rows_per_item"] == 3


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
        changed_to(changed).asked()
    assert refused.value.argument == argument
