"""Counts that another system made: what they must declare, and which questions their declarations can bear."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tests.fixtures.kitchen import BOUND, BUDGET, COMMON, PLANTED
from tests.release.test_release import every_output

import unlisted as ul

LABELS = [*COMMON, PLANTED]
NUMBERS = [*COMMON.values(), 1]


def given(**declared: Any) -> ul.PrivateCounts:
    return ul.counts(LABELS, NUMBERS, **({"items_per_user": BOUND, "item": "dish"} | declared))


def test_all_questions_can_be_asked_of_all_counts() -> None:
    histogram = given().histogram(budget=BUDGET).run()
    assert [row["dish"] for row in histogram.rows] == list(COMMON)
    assert histogram.to_arrow().column_names == ["dish", "count", "low", "high"]
    largest = given().top_histogram(budget=BUDGET).run()
    assert [row["dish"] for row in largest.rows] == list(COMMON)
    assert not largest.complete
    ranking = given().top(k=2, budget=BUDGET).run()
    assert ranking.rows == [{"dish": "soup", "rank": 1}, {"dish": "bread", "rank": 2}]
    everything = given().top(k=2, budget=BUDGET, fetch="all").run()
    assert everything.rows == ranking.rows


def test_nothing_unreleased_is_in_any_output() -> None:
    for plan in (given().histogram(budget=BUDGET), given().top(k=3, budget=BUDGET, counts=True)):
        for name, data in every_output(plan.run()):
            assert PLANTED.encode() not in data, name


def test_the_largest_counts_alone_are_read_as_declared() -> None:
    fetched = ul.counts(["soup", "bread", "cake"], [900, 700, 500], items_per_user=None, fetch=2)
    plan = fetched.top_histogram(budget=BUDGET)
    assert plan.preview()["plan"]["fetch"] == 2
    # The third count is the first that was left out: never released, whatever it is.
    assert [row["item"] for row in plan.run().rows] == ["soup", "bread"]
    assert fetched.top(k=2, budget=BUDGET).preview()["plan"]["fetch"] == 2


def test_ties_are_unknown_where_a_cut_was_made_elsewhere_and_nothing_is_said() -> None:
    def entering(**declared: Any) -> int:
        mechanism = ul.counts(LABELS, NUMBERS, items_per_user=2, **declared).top(k=2, budget=BUDGET).mechanism
        return int(mechanism.ranking.entering)  # type: ignore[union-attr]

    assert entering() == 2, "all counts are here, and the cut is made here"
    assert entering(fetch=100) == 100
    assert entering(fetch=100, ties="unknown") == 100
    assert entering(fetch=100, ties="label") == 2


def test_a_cut_below_raises_the_threshold_by_what_it_hides() -> None:
    thresholds = [given(minimum_count=kappa).histogram(budget=BUDGET).mechanism.threshold for kappa in (1, 11)]
    assert thresholds[1] == thresholds[0] + 10


def test_declared_bounds_are_in_plan_and_receipt() -> None:
    plan = given(count_per_item=3, adjacency="replace").histogram(budget=BUDGET)
    receipt = plan.run().receipt()
    assert receipt["bounds"]["items_per_user"] == BOUND
    assert receipt["bounds"]["rows_per_item"] == 3
    assert receipt["adjacency"] == "replace"
    assert receipt["unit"] == {"protected": "user", "column": None}
    assert receipt["plan"]["count"] == "rows"


@pytest.mark.parametrize(
    ("declared", "argument"),
    [
        ({"items_per_user": 0}, "items_per_user"),
        ({"items_per_user": "6"}, "items_per_user"),
        ({"count_per_item": 0}, "count_per_item"),
        ({"fetch": 0}, "fetch"),
        ({"fetch": "all"}, "fetch"),
        ({"minimum_count": 0}, "minimum_count"),
        ({"ties": "random"}, "ties"),
        ({"adjacency": "swap"}, "adjacency"),
        ({"item": "count"}, "item"),
        ({"item": ["dish", "place"]}, "item"),
        ({"item": 5}, "item"),
    ],
)
def test_a_wrong_declaration_is_refused_by_name(declared: dict[str, Any], argument: str) -> None:
    with pytest.raises(ul.InvalidArgumentError) as refusal:
        given(**declared)
    assert refusal.value.argument == argument


@pytest.mark.parametrize(
    ("labels", "counts"),
    [
        (["a", "b"], [1]),
        (["a", "a"], [1, 2]),
        (["a", None], [1, 2]),
        (["a", 1], [1, 2]),
        (["a"], [-1]),
        (["a"], [1.5]),
        (["a"], [None]),
        (["a"], "1"),
        (None, None),
        ([float("nan")], [1]),
        ([["a"]], [1]),
        (["a", "b", "c"], [1, 2, 3]),
    ],
)
def test_counts_that_break_their_declaration_are_refused(labels: Any, counts: Any) -> None:
    with pytest.raises(ul.InvalidCountsError):
        ul.counts(labels, counts, items_per_user=1, fetch=1)


@pytest.mark.parametrize(
    ("declared", "ask", "argument"),
    [
        ({"fetch": 10}, lambda one: one.histogram(budget=BUDGET), "fetch"),
        ({"fetch": 10}, lambda one: one.top(k=2, budget=BUDGET, fetch="all"), "fetch"),
        ({"fetch": 10}, lambda one: one.top(k=2, budget=BUDGET, fetch=11), "fetch"),
        ({"fetch": 10}, lambda one: one.top_histogram(budget=BUDGET, fetch=11), "fetch"),
        ({"items_per_user": None}, lambda one: one.histogram(budget=BUDGET), "items_per_user"),
        ({"items_per_user": None}, lambda one: one.top(k=2, budget=BUDGET, fetch="all"), "items_per_user"),
        ({}, lambda one: one.top(k=None, budget=BUDGET), "k"),
        ({}, lambda one: one.top(k=2), "epsilon"),
        ({}, lambda one: one.histogram(budget=1), "budget"),
        ({}, lambda one: one.histogram(budget=BUDGET, noise="x"), "noise"),
        ({}, lambda one: one.top_histogram(budget=BUDGET, fetch=0), "fetch"),
        ({}, lambda one: one.top(k=2, budget=BUDGET, method="labels"), "method"),
        ({}, lambda one: one.top(k=2, budget=BUDGET, method="peeling"), "method"),
    ],
)
def test_a_question_that_the_declaration_cannot_bear_is_refused_when_planned(
    declared: dict[str, Any], ask: Any, argument: str
) -> None:
    with pytest.raises(ul.InvalidArgumentError) as refusal:
        ask(given(**declared))
    assert refusal.value.argument == argument


def test_counts_no_longer_tell_what_each_user_has() -> None:
    with pytest.raises(ul.InvalidArgumentError, match=r"'gumbel' for counts\. Labels are weighed by the items"):
        given().top(k=2, budget=BUDGET, method="labels")
    assert given().top(k=2, budget=BUDGET, method="gumbel") == given().top(k=2, budget=BUDGET)


def test_items_of_several_columns_come_as_structs() -> None:
    labels = pa.array([{"dish": dish, "place": "home"} for dish in COMMON])
    counts = ul.counts(labels, list(COMMON.values()), items_per_user=BOUND, item=["dish", "place"])
    release = counts.histogram(budget=BUDGET).run()
    assert release.to_arrow().column_names == ["dish", "place", "count", "low", "high"]
    assert release.rows[0]["dish"] == "soup"
    with pytest.raises(ul.InvalidArgumentError, match="2 names"):
        ul.counts(labels, list(COMMON.values()), items_per_user=BOUND)


def test_no_counts_at_all_look_like_any_other() -> None:
    for item in ("dish", ["dish", "place"]):
        release = ul.counts([], [], items_per_user=BOUND, item=item).histogram(budget=BUDGET).run()
        names = [item] if isinstance(item, str) else item
        assert release.to_arrow().column_names == [*names, "count", "low", "high"]
        assert release.complete
        assert len(release) == 0


def test_a_repr_shows_no_data() -> None:
    assert PLANTED not in repr(given())
    assert str(len(LABELS)) not in repr(given())


def test_an_empty_answer_looks_the_same_whatever_it_does_not_show() -> None:
    """Of a list of labels only the labels know the type, and none of them is shown."""
    tables = [
        ul.counts(labels, [1] * len(labels), items_per_user=1).histogram(budget=BUDGET).run().to_arrow()
        for labels in ([], [7], ["seven"], [b"7"], [True])
    ]
    assert {(table.num_rows, str(table.schema)) for table in tables} == {(0, str(tables[0].schema))}
    typed = ul.counts(pa.array([7], pa.int64()), [1], items_per_user=1).histogram(budget=BUDGET).run().to_arrow()
    assert typed.schema.field("item").type == pa.int64()
