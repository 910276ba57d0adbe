"""What may be asked of a table, what is refused, and that neither touches a row."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.fixtures.kitchen import BOUND, BUDGET, COMMON, asked, cooked, histogram, nobody, top
from tests.tables.fixtures.engines import installed

import unlisted as ul


class Untouchable:
    """A frame that fails the test as soon as anything of it is read."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise AssertionError("the data was touched")

    def __len__(self) -> int:
        raise AssertionError("the data was touched")


def unreadable_rows() -> pa.RecordBatchReader:
    """Return a stream whose schema can be read and whose rows cannot."""

    def batches() -> Iterator[pa.RecordBatch]:
        raise RuntimeError("row 17 says: my secret")
        yield

    return pa.RecordBatchReader.from_batches(cooked().schema, batches())


PLANS = {
    "histogram": lambda table, **how: table.histogram(
        "dish", **({"budget": BUDGET, "items_per_user": BOUND} | how)
    ),
    "top_histogram": lambda table, **how: table.top_histogram(
        "dish", **({"budget": BUDGET, "items_per_user": BOUND} | how)
    ),
    "top": lambda table, **how: table.top("dish", **({"budget": BUDGET, "k": 3} | how)),
    "labels": lambda table, **how: table.labels("dish", **({"budget": BUDGET, "items_per_user": BOUND} | how)),
    "top by labels": lambda table, **how: table.top(
        "dish", **({"budget": BUDGET, "k": 3, "items_per_user": BOUND, "method": "labels"} | how)
    ),
}


@pytest.mark.parametrize("plan", PLANS)
def test_a_plan_touches_no_data(plan: str) -> None:
    """It looks at the schema, so that a slip shows at once, and at no row: reading one fails."""
    made = PLANS[plan](ul.table(unreadable_rows(), user="user"))
    assert "Guarantee" in str(made)
    assert made.preview()["guarantee"]["epsilon"] <= 6
    assert made.accuracy.curve()
    with pytest.raises(ul.ChargedFailureError):
        made.run()
    with pytest.raises(ul.CannotAnswerError, match="AssertionError"):
        PLANS[plan](ul.table(Untouchable(), user="user"))


@pytest.mark.parametrize("plan", PLANS)
def test_a_missing_file_is_fine_until_it_is_planned(plan: str, tmp_path: Path) -> None:
    table = ul.table(tmp_path / "absent.parquet", user="user")
    with pytest.raises(ul.InvalidArgumentError, match="files that exist"):
        PLANS[plan](table)
    with pytest.raises(ul.InvalidArgumentError, match="files that exist"):
        table.columns()


REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("histogram", {"budget": 1.0}, "budget", "ul.Budget"),
    ("histogram", {"budget": None}, "epsilon", "given, or rho"),
    ("histogram", {"items_per_user": None, "count": "rows", "rows_per_item": 2}, "items_per_user", "given"),
    ("histogram", {"items_per_user": None, "noise": "laplace"}, "items_per_user", "given"),
    ("histogram", {"items_per_user": 0}, "items_per_user", "a whole number, 1 or above"),
    ("histogram", {"items_per_user": 2.0}, "items_per_user", "a whole number, 1 or above"),
    ("histogram", {"items_per_user": True}, "items_per_user", "a whole number, 1 or above"),
    ("histogram", {"noise": "uniform"}, "noise", "'auto', 'laplace' or 'gaussian'"),
    ("histogram", {"noise": None}, "noise", "'auto', 'laplace' or 'gaussian'"),
    ("histogram", {"noise": []}, "noise", "'auto', 'laplace' or 'gaussian'"),
    ("histogram", {"count": "people"}, "count", "'users' or 'rows'"),
    ("histogram", {"count": "rows"}, "rows_per_item", "a whole number, 1 or above"),
    ("histogram", {"count": "rows", "rows_per_item": 0}, "rows_per_item", "a whole number, 1 or above"),
    ("histogram", {"rows_per_item": 2}, "rows_per_item", "left out when users are counted"),
    ("histogram", {"max_label_bytes": 0}, "max_label_bytes", "a whole number, 1 or above"),
    ("histogram", {"adjacency": "swap"}, "adjacency", "'add_remove' or 'replace'"),
    ("histogram", {"where": ""}, "where", "a condition on one row"),
    ("histogram", {"where": "dish IN (SELECT dish FROM t)"}, "where", "a condition on one row"),
    ("top_histogram", {"where": "count(*) > 3"}, "where", "a condition on one row"),
    ("top", {"where": "dish = 'soup"}, "where", "a condition on one row"),
    ("top_histogram", {"fetch": 0}, "fetch", "a whole number, 1 or above"),
    ("top_histogram", {"fetch": "all"}, "fetch", "a whole number"),
    ("top_histogram", {"fetch": 2**63}, "fetch", "between 1 and"),
    ("top_histogram", {"noise": "uniform"}, "noise", "'auto', 'laplace' or 'gaussian'"),
    ("top", {"k": 0}, "k", "a whole number, 1 or above"),
    ("top", {"k": None}, "k", "a whole number, 1 or above"),
    ("top", {"k": "3"}, "k", "a whole number, 1 or above"),
    ("top", {"k": 2**62}, "fetch", "between 1 and"),
    ("top", {"fetch": "ALL"}, "fetch", "'all' for a ranking"),
    ("top", {"fetch": "all"}, "items_per_user", "given"),
    ("top", {"fetch": 1.5}, "fetch", "a whole number, 1 or above"),
    ("top", {"budget": None}, "epsilon", "given, or rho"),
    ("top", {"per_item_epsilon": 1}, "per_item_epsilon", "left out with a budget"),
    ("top", {"budget": None, "per_item_epsilon": 0, "delta": 1e-9}, "per_item_epsilon", "above 0"),
    ("top", {"budget": None, "per_item_epsilon": 1, "delta": 0.7}, "delta", "below 1/2"),
    ("top", {"delta": 1e-9}, "delta", "left out with a budget"),
    ("top", {"counts": "yes"}, "counts", "True or False"),
    (
        "top",
        {"budget": None, "per_item_epsilon": 1, "delta": 1e-9, "counts": True},
        "counts",
        "left out with per_item_epsilon",
    ),
    ("top", {"method": "peeling"}, "method", "'auto', 'gumbel', 'labels' or 'find'"),
    ("top", {"method": None}, "method", "'auto', 'gumbel', 'labels' or 'find'"),
    ("top", {"method": "find", "fetch": 10}, "fetch", "left out with method='find'"),
    ("histogram", {"method": "finding"}, "method", "'auto', 'threshold' or 'find'"),
    ("histogram", {"method": "threshold", "items_per_user": None}, "items_per_user", "given"),
    ("top by labels", {"fetch": 100}, "fetch", "left out with method='labels'"),
    ("top by labels", {"fetch": "all"}, "fetch", "left out with method='labels'"),
    ("top by labels", {"budget": None}, "epsilon", "given, or rho"),
    (
        "top by labels",
        {"budget": None, "per_item_epsilon": 1, "delta": 1e-9},
        "per_item_epsilon",
        "left out with method='labels'",
    ),
    ("top by labels", {"delta": 1e-9}, "delta", "left out with a budget"),
    ("top by labels", {"counts": "yes"}, "counts", "True or False"),
    ("top by labels", {"count": "rows", "rows_per_item": 2}, "count", "'users' with method='labels'"),
    ("top by labels", {"k": 0}, "k", "a whole number, 1 or above"),
    ("top by labels", {"items_per_user": 1_000_001}, "items_per_user", "at most 1,000,000"),
    (
        "labels",
        {"method": "best"},
        "method",
        "'auto', 'counts', 'optimal', 'weighted', 'sips', 'adaptive' or 'hints'",
    ),
    (
        "labels",
        {"method": ["sips"]},
        "method",
        "'auto', 'counts', 'optimal', 'weighted', 'sips', 'adaptive' or 'hints'",
    ),
    ("labels", {"items_per_user": 0}, "items_per_user", "a whole number, 1 or above"),
    ("labels", {"items_per_user": 0}, "items_per_user", "a whole number, 1 or above"),
    ("labels", {"items_per_user": 1_000_001}, "items_per_user", "at most 1,000,000"),
    ("labels", {"budget": None}, "epsilon", "given, or rho"),
    ("labels", {"budget": ul.Budget(epsilon=1, delta="1e-300")}, "delta", "1e-290 or above"),
]


@pytest.mark.parametrize(("plan", "how", "argument", "allowed"), REFUSED)
def test_a_wrong_argument_is_refused_by_name_and_costs_nothing(
    plan: str, how: dict[str, Any], argument: str, allowed: str
) -> None:
    with pytest.raises(ul.InvalidArgumentError) as refusal:
        PLANS[plan](ul.table(Untouchable(), user="user"), **how)
    assert refusal.value.argument == argument
    assert allowed in refusal.value.allowed
    # Name, value and what is allowed all stand in the message; what was not given has no value.
    value = how.get(argument, refusal.value.value)
    is_missing = value is None and allowed.startswith("given")
    named = f"{argument} is missing" if is_missing else f"{argument} = {repr(value)[:50]}"
    assert str(refusal.value).startswith(named)
    assert allowed in str(refusal.value)


@pytest.mark.parametrize(
    ("plan", "misspelt"),
    [
        ("histogram", {"wehre": "x"}),
        ("histogram", {"counts": True}),
        ("top", {"noise": "gaussian"}),
        ("labels", {"count": "rows"}),
        ("labels", {"k": 3}),
    ],
)
def test_an_option_that_a_question_does_not_have_is_refused_by_python_itself(
    plan: str, misspelt: dict[str, Any]
) -> None:
    """A misspelt `where` must not be a question without one."""
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        PLANS[plan](ul.table(Untouchable(), user="user"), **misspelt)


@pytest.mark.parametrize("item", [5, None, "", [], ["dish", "dish"], ["dish", 5], "count", "rank", "low", "high"])
@pytest.mark.parametrize("plan", ["histogram", "top", "top_histogram", "labels"])
def test_a_wrong_item_is_refused(item: Any, plan: str) -> None:
    table = ul.table(Untouchable(), user="user")
    bounds = {"k": 3} if plan == "top" else {"items_per_user": BOUND}
    with pytest.raises(ul.InvalidArgumentError, match=r"^item = "):
        getattr(table, plan)(item, budget=BUDGET, **bounds)


def test_an_item_named_like_a_column_of_the_answer_is_told_how_to_be_renamed() -> None:
    with pytest.raises(ul.InvalidArgumentError, match="count AS item_count"):
        asked().histogram("count", budget=BUDGET, items_per_user=BOUND)


@pytest.mark.parametrize(
    ("source", "keywords", "argument"),
    [
        (None, {}, "source"),
        (b"table.csv", {}, "source"),
        ({"user": [1]}, {}, "source"),
        (pa.Table, {}, "source"),
        ("table.docx", {}, "source"),
        ("table", {}, "source"),
        ("", {}, "source"),
        ("table.csv", {"user": 5}, "user"),
        ("table.csv", {"user": ""}, "user"),
        ("table.csv", {"types": "age=int"}, "types"),
        ("table.csv", {"types": {"age": "integer"}}, "types['age']"),
        ("table.csv", {"table": "t"}, "table"),
        ("table.parquet", {"sep": ";"}, "sep"),
        ("table.duckdb", {}, "table"),
        (pa.table({"user": [1]}), {"table": "t"}, "table"),
        (pa.table({"user": [1]}), {"types": {"user": "int"}}, "types"),
    ],
)
def test_a_wrong_source_is_refused(source: Any, keywords: dict[str, Any], argument: str) -> None:
    with pytest.raises(ul.InvalidArgumentError) as refusal:
        ul.table(source, **({"user": "user"} | keywords))
    assert refusal.value.argument == argument


def test_types_of_a_file_that_has_its_own_are_refused_before_a_row_is_read(tmp_path: Path) -> None:
    """Not sooner: a folder on the way to a file may be a column, whose type is declared."""
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"user": list(range(99)), "age": ["5"] * 99}), path)
    data = bytearray(path.read_bytes())
    data[4:200] = bytes(196)
    path.write_bytes(data)
    table = ul.table(path, user="user", types={"age": "int"})
    with pytest.raises(ul.InvalidArgumentError, match="left out for a Parquet file") as refusal:
        table.histogram("age", budget=BUDGET, items_per_user=BOUND)
    assert refusal.value.argument == "types"


@pytest.mark.parametrize(
    ("user", "item", "how", "said"),
    [
        ("usr", "dish", {}, "The columns are: user, dish, portions, place."),
        ("user", "meal", {}, "The columns are: user, dish, portions, place."),
        ("user", "user", {}, "a column other than the user's"),
        ("user", "dish", {"where": "plaice = 'home'"}, "`plaice`"),
        ("user", "dish", {"where": "portions = 'two'"}, "where"),
    ],
)
def test_what_the_schema_shows_is_refused_before_a_row_is_read(
    user: str, item: str, how: dict[str, Any], said: str
) -> None:
    table = ul.table(unreadable_rows(), user=user)
    with pytest.raises(ul.InvalidArgumentError) as refusal:
        table.histogram(item, budget=BUDGET, items_per_user=BOUND, **how)
    assert said in str(refusal.value)


def test_what_fails_after_a_row_was_read_has_one_message() -> None:
    plan = ul.table(unreadable_rows(), user="user").histogram("dish", budget=BUDGET, items_per_user=BOUND)
    with pytest.raises(
        ul.ChargedFailureError,
        match=r"^could not be answered; no account pays, so nothing was charged; see the log$",
    ):
        plan.run()


@pytest.mark.parametrize(("k", "fetched"), [(1, 1000), (100, 1000), (101, 1010), (5000, 50_000)])
def test_a_ranking_is_read_from_a_public_number_of_counts(k: int, fetched: int) -> None:
    assert asked().top("dish", k=k, budget=BUDGET, method="gumbel").preview()["plan"]["fetch"] == fetched


def test_a_ranking_of_all_counts_needs_a_bound_and_then_has_one() -> None:
    plan = asked().top("dish", k=3, fetch="all", items_per_user=BOUND, budget=BUDGET)
    assert plan.preview()["plan"]["fetch"] == "all"
    # ℓ is then the bound, and not the number of labels.
    assert plan.mechanism.ranking.entering == BOUND
    assert plan.run().to_arrow().column("dish").to_pylist() == ["soup", "bread", "curry"]


def test_with_epsilon_the_total_delta_is_what_was_given() -> None:
    found = asked().histogram("dish", budget=ul.Budget(epsilon=1, delta=1e-8), items_per_user=3).preview()
    assert found["guarantee"]["at_delta"] == 1e-8
    assert 0 < found["guarantee"]["delta"] <= 1e-8
    assert 0.99 < found["guarantee"]["epsilon"] <= 1


def test_with_rho_epsilon_is_told_at_twice_the_delta() -> None:
    found = asked().histogram("dish", budget=ul.Budget(rho=0.1, delta=1e-8), items_per_user=3).preview()
    assert found["guarantee"]["at_delta"] == 2e-8
    assert 0.5e-8 < found["guarantee"]["delta"] <= 1e-8
    assert 0.0999 < found["guarantee"]["rho"] <= 0.1


def test_a_price_for_each_draw_is_charged_for_all_of_them() -> None:
    found = asked().top("dish", k=10, per_item_epsilon=0.4, delta=1e-9).preview()
    assert found["guarantee"]["rho"] == pytest.approx(10 * 0.4**2 / 8)
    assert found["guarantee"]["at_delta"] == 2e-9


def test_numbers_are_read_as_the_decimals_they_print() -> None:
    assert ul.Budget(epsilon=0.1, delta=1e-8).epsilon == Fraction(1, 10)
    same = [
        asked().histogram("dish", budget=ul.Budget(epsilon=epsilon, delta=delta), items_per_user=3)
        for epsilon, delta in ((0.1, 1e-8), ("0.1", "1e-8"), (Fraction(1, 10), "0.00000001"))
    ]
    assert same[0].mechanism == same[1].mechanism == same[2].mechanism


@pytest.mark.parametrize("plan", PLANS)
def test_the_choice_does_not_look_at_the_data(plan: str) -> None:
    assert (
        PLANS[plan](asked())
        == PLANS[plan](asked(nobody()))
        == PLANS[plan](ul.table(unreadable_rows(), user="user"))
    )


def test_auto_takes_the_lower_threshold() -> None:
    def threshold(items: int, noise: Any) -> int:
        budget = ul.Budget(epsilon=1, delta="1e-8")
        return int(asked().histogram("dish", budget=budget, items_per_user=items, noise=noise).mechanism.threshold)

    chosen = {items: (threshold(items, "laplace"), threshold(items, "gaussian")) for items in (1, 10)}
    assert chosen[1][0] < chosen[1][1]
    assert chosen[10][1] < chosen[10][0]
    # Noise that ends needs a threshold that is lower still, where users have one item.
    assert threshold(1, "auto") < chosen[1][0]
    assert threshold(10, "auto") == chosen[10][1]


def test_rows_are_counted_up_to_a_bound_each() -> None:
    twice = pa.concat_tables([cooked()] * 3)
    release = histogram(twice, count="rows", rows_per_item=2, budget=ul.Budget(epsilon=60, delta="1e-9"))
    counted = dict(
        zip(release.to_arrow()["dish"].to_pylist(), release.to_arrow()["count"].to_pylist(), strict=True)
    )
    assert counted["soup"] == pytest.approx(2 * COMMON["soup"], abs=40)


def test_a_condition_keeps_rows() -> None:
    release = histogram(where="place = 'home' AND portions <= 4", budget=ul.Budget(epsilon=60, delta="1e-9"))
    assert release.rows[0]["dish"] == "soup"
    assert release.rows[0]["count"] == pytest.approx(COMMON["soup"] / 2, abs=20)


def test_columns_are_told_without_reading_a_row() -> None:
    table = ul.table(unreadable_rows(), user="user")
    assert {name: kind.value for name, kind in table.columns().items()} == {
        "user": "int",
        "dish": "text",
        "portions": "int",
        "place": "text",
    }
    assert repr(table) == "<Table: duckdb, user 'user'>"


def sources(folder: Path) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Make the same rows readable in every way that needs no server."""
    polars, pandas = installed("polars"), installed("pandas")
    rows = cooked()
    pa.csv.write_csv(rows, folder / "rows.csv")
    (folder / "rows.csv.gz").write_bytes(gzip.compress((folder / "rows.csv").read_bytes()))
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows.to_pylist()))
    pq.write_table(rows, folder / "rows.parquet")
    for part in range(3):
        pq.write_table(rows.slice(part * 1000, 1000), folder / f"part{part}.parquet")
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        connection.execute(f"CREATE TABLE cooked AS FROM read_parquet('{folder / 'rows.parquet'}')")
    pandas_frame = pandas.DataFrame({name: rows[name].to_pylist() for name in rows.column_names})
    return {
        "csv": (str(folder / "rows.csv"), {}),
        "csv, declared": (folder / "rows.csv", {"types": {"user": "int", "portions": "int"}}),
        "csv.gz": (folder / "rows.csv.gz", {}),
        "json lines": (folder / "rows.jsonl", {}),
        "parquet": (folder / "rows.parquet", {}),
        "glob": (str(folder / "part*.parquet"), {}),
        "duckdb": (folder / "rows.duckdb", {"table": "cooked"}),
        "arrow": (rows, {}),
        "polars": (polars.from_arrow(rows), {}),
        "polars, lazy": (polars.from_arrow(rows).lazy(), {}),
        "pandas": (pandas_frame, {}),
    }


def test_every_source_gives_the_same_answer(tmp_path: Path) -> None:
    for name, (source, keywords) in sources(tmp_path).items():
        table = ul.table(source, user="user", **keywords)
        plan = table.histogram("dish", budget=BUDGET, items_per_user=BOUND)
        release = plan.run()
        assert [row["dish"] for row in release.rows] == list(COMMON), name
        for row in release.rows:
            assert abs(row["count"] - COMMON[row["dish"]]) < 40, name


def test_the_answer_of_a_ranking_with_counts_has_them_all() -> None:
    release = top(counts=True)
    assert release.to_arrow().column_names == ["dish", "rank", "count", "low", "high"]
    assert [row["rank"] for row in release.rows] == [1, 2, 3]
