"""From the texts of a form to a question: what its kind has no use for is not read, the rest is checked."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pytest
from jinja2 import Environment, PackageLoader

from unlisted.errors import InvalidArgumentError
from unlisted.query.options import Option, read_switch, read_whole
from unlisted.server.console.ask import Wrong
from unlisted.server.console.question_form import PLACED, Draft, _blank, further
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


def test_an_option_without_a_place_gets_a_field_of_its_own() -> None:
    """The page writes out where most options stand. One that is new is shown by its name and its help."""
    options = {
        "smallest": Option("whole", "Smaller counts are not shown.", read_whole),
        "way": Option("choice", "Which way.", read_whole, ("long", "short")),
        "quick": Option("switch", "Whether to hurry.", read_switch),
    }
    draft = Draft(("query",), {"smallest": "7", "way": "short", "quick": "yes"})
    macro = Environment(loader=PackageLoader("unlisted.server.console"), autoescape=True).get_template(
        "fields.html"
    )
    shown = {name: macro.module.option_field(Wrong(), draft.typed, name, about) for name, about in options.items()}
    assert 'name="smallest" value="7"' in shown["smallest"]
    assert '<option value="short" selected>' in shown["way"]
    assert 'name="quick" value="yes" checked' in shown["quick"]
    assert all(about.help in shown[name] for name, about in options.items())


def test_the_page_has_a_place_for_what_it_says_it_has() -> None:
    page = (files("unlisted.server.console") / "templates" / "ask.html").read_text("utf-8")
    missing = [name for name in PLACED if f'name="{name}"' not in page and f'draft, "{name}"' not in page]
    assert missing == []
    assert set(_blank()) == PLACED | further().keys()


def test_what_is_counted_may_be_typed() -> None:
    sent = Draft.sent(Form((("item", ""), ("item", "lower(query)"), *DRAFT.typed.items())))
    assert sent.asked().items == ("lower(query)",)
    assert Draft.sent(Form((("item", "query"), ("item", ""), *DRAFT.typed.items()))).asked().items == ("query",)


@pytest.mark.parametrize("said", [{"with_totals": "yes"}, {"other": "yes"}, {"sum": "paid", "max_per_item": "20"}])
def test_what_comes_where_values_are_found_takes_no_bound_of_the_data_set(said: dict[str, str]) -> None:
    asked = DRAFT.but(**said, count="rows", noise="laplace").asked().said
    assert asked.items() >= {name: True if typed == "yes" else typed for name, typed in said.items()}.items()
    assert not {"items_per_user", "count", "rows_per_item", "noise", "groups"} & set(asked)
    by_threshold = DRAFT.but(**said, counting="threshold").asked().said
    assert by_threshold["items_per_user"] == 10
    assert not {"with_totals", "other", *said} & set(by_threshold)


def test_bounds_of_a_sum_are_not_read_without_it() -> None:
    assert not {"max_per_item", "sum_unit"} & set(DRAFT.but(max_per_item="20", sum_unit="x").asked().said)
