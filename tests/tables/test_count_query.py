"""What is refused before any data is touched, and how it is said."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.tables.count_query import CountQuery
from unlisted.tables.table import table

ROWS = pa.table(
    {
        "user": ["a"],
        "item": ["x"],
        "Item": ["y"],
        "number": [1],
        "list": [[1]],
        "count": [5],
    }
)


@pytest.mark.parametrize("name", ["count", "rank", "low", "high"])
def test_an_item_column_with_the_name_of_an_answers_column_is_refused_with_the_way_out(name: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"{name} AS item_{name}"):
        CountQuery(("item", name))


@pytest.mark.parametrize("items", [[], ("",), (1,), 5, ("item", "item")])
def test_items_must_be_names_of_different_columns(items: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="item = "):
        CountQuery(items)


def test_one_name_is_one_column() -> None:
    assert CountQuery("item").items == ("item",)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"count": "people"}, "'users' or 'rows'"),
        ({"count": "rows"}, "rows_per_item = None"),
        ({"count": "rows", "rows_per_item": 0}, "rows_per_item = 0"),
        ({"rows_per_item": 2}, 'count="rows"'),
        ({"items_per_user": 0}, "items_per_user = 0"),
        ({"items_per_user": 2.5}, "items_per_user = 2.5"),
        ({"items_per_user": True}, "items_per_user = True"),
        ({"max_label_bytes": 0}, "max_label_bytes = 0"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(how: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=re.escape(message)):
        CountQuery(("item",), **how)


@pytest.mark.parametrize("where", ["item =", "item = 'x", "item = (SELECT 1)", "", 5])
def test_a_predicate_that_no_table_could_have_is_refused_before_there_is_a_table(where: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="where = "):
        CountQuery(("item",), where=where)


def test_sensitivity_is_what_was_asked_for_and_nothing_from_the_data() -> None:
    """Peer 31."""
    assert CountQuery(("item",), items_per_user=7).sensitivity == Sensitivity(7, 1)
    by_rows = CountQuery(("item",), count="rows", rows_per_item=4, items_per_user=2, adjacency="replace")
    assert by_rows.sensitivity == Sensitivity(2, 4, "replace")
    assert CountQuery(("item",)).sensitivity == Sensitivity(None, 1)


@pytest.mark.parametrize(
    ("user", "question", "message"),
    [
        ("nobody", CountQuery(("item",)), "The columns are: user, item, Item, number, list, count."),
        ("user", CountQuery(("thing",)), "The columns are: user, item, Item, number, list, count."),
        ("user", CountQuery(("list",)), "a column of plain values"),
        ("user", CountQuery(("user",)), "a column other than the user's"),
        ("user", CountQuery(("item", "Item")), "differ in more than case"),
        ("user", CountQuery(("item",), where="thing = 1"), "the columns are: user, item"),
        ("user", CountQuery(("item",), where="number = 'x'"), "where"),
    ],
)
def test_a_question_that_does_not_fit_the_table_is_refused(user: str, question: CountQuery, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=re.escape(message)):
        table(ROWS, user=user).rows(question)


def test_a_question_that_fits_says_what_it_reads() -> None:
    rows = table(ROWS, user="user").rows(CountQuery(("item", "number"), where='"count" > 3'))
    assert rows.columns == ("user", "item", "number")
    assert rows.where is not None
    assert rows.where.columns == {"count"}


@pytest.mark.parametrize("series", ["pandas", "pyarrow", "numpy"])
def test_a_column_of_data_is_no_name_and_is_not_shown(series: str) -> None:
    given = pa.array(["alice", "bob"])
    column = {"pandas": given.to_pandas(), "pyarrow": given, "numpy": given.to_numpy(zero_copy_only=False)}[series]
    with pytest.raises(InvalidArgumentError, match="the name of a column") as refused:
        CountQuery(column)
    assert "alice" not in str(refused.value)
    with pytest.raises(InvalidArgumentError) as refused:
        table(ROWS, user=column)
    assert "alice" not in str(refused.value)
