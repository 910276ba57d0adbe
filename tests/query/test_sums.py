"""How much: sums and means of an amount, exact in whole units, bounded by user and item, on every engine."""

from __future__ import annotations

import io
import json
import math
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.cli.shell import unlisted

import unlisted as ul
from unlisted.release.export import as_csv

ONE = ul.Budget(epsilon=1, delta="1e-8")
QUIET = ul.Budget(epsilon=50, delta="1e-3")
USERS = 900
COLUMNS = ["dish", "count", "low", "high", "sum", "sum_low", "sum_high", "mean", "mean_low", "mean_high"]


def rows(amounts: list, kind: pa.DataType | None = None) -> pa.Table:
    """Two rows for each user, of soup or tea, with the amounts over and over again."""
    users = [n for n in range(USERS) for _ in range(2)]
    told = [amounts[n % len(amounts)] for n in range(2 * USERS)]
    dishes = ["soup" if n % 3 else "tea" for n in users]
    return pa.table({"user": users, "dish": dishes, "amount": pa.array(told, kind)})


def truth(table: pa.Table, low: int, high: int, units: int) -> dict[str, int]:
    """What is to be summed up, in plain Python: whole units, added up for a user and an item, then bounded."""
    found: dict[tuple[int, str], int] = {}
    for row in table.to_pylist():
        at = (row["user"], row["dish"])
        amount = row["amount"]
        found[at] = found.get(at, 0) + (0 if amount is None or math.isnan(amount) else round(amount * units))
    sums: dict[str, int] = {}
    for (_, dish), amount in found.items():
        sums[dish] = sums.get(dish, 0) + max(low, min(high, amount))
    return sums


@pytest.mark.parametrize(
    ("amounts", "kind"),
    [
        ([1.25, 2.5, 0.01], pa.float64()),
        ([1.25, None, float("nan"), 7.5], pa.float32()),
        ([Decimal("1.10"), Decimal("0.07"), Decimal("-3.33")], pa.decimal128(38, 2)),
        ([3, 0, 5, -2], pa.int64()),
    ],
)
def test_sums_are_exact_in_units_but_for_noise(amounts: list, kind: pa.DataType) -> None:
    table = rows(amounts, kind)
    asked = {"sum": "amount", "max_per_item": 4, "min_per_item": -4, "sum_unit": "0.01"}
    release = ul.table(table, user="user").histogram("dish", budget=QUIET, **asked).run()
    assert release.table.column_names == COLUMNS
    expected = truth(table, -400, 400, 100)
    for row in release:
        width = row["sum_high"] - row["sum"]
        assert 0 < width < 1600, "noise of a few users' amounts"
        assert abs(row["sum"] - expected[row["dish"]]) <= 5 * width + 400  # few users have two of the values
        assert row["mean_low"] <= row["mean"] <= row["mean_high"]
        assert row["mean"] == pytest.approx(expected[row["dish"]] / row["count"], abs=25)


def test_the_bound_is_for_a_user_and_an_item_not_for_a_row() -> None:
    many = pa.table(
        {"user": [n // 50 for n in range(50 * 200)], "dish": ["soup"] * 10_000, "amount": [3] * 10_000}
    )
    release = ul.table(many, user="user").histogram("dish", budget=QUIET, sum="amount", max_per_item=10).run()
    assert release[0]["sum"] == pytest.approx(200 * 10, abs=100)
    assert release[0]["mean"] <= 10


@pytest.mark.parametrize("odd", [float("inf"), float("-inf"), 1e308, -1e308, float("nan"), None, 5e-324])
def test_no_amount_makes_a_question_fail(odd: float | None) -> None:
    table = rows([2.0, odd], pa.float64())
    release = ul.table(table, user="user").histogram("dish", budget=ONE, sum="amount", max_per_item=5).run()
    assert set(release["dish"]) == {"soup", "tea"}
    for row in release:
        assert 0 <= row["mean_low"] <= row["mean"] <= row["mean_high"] <= 5


def test_negative_amounts_without_min_count_as_nothing() -> None:
    asked = {"sum": "amount", "max_per_item": 5}
    release = ul.table(rows([-7, -1], pa.int64()), user="user").histogram("dish", budget=QUIET, **asked).run()
    assert all(abs(row["sum"]) < 100 for row in release)


def test_one_rich_user_shows_nothing() -> None:
    table = pa.table({"user": range(601), "dish": ["soup"] * 600 + ["mine"], "amount": [1] * 600 + [10**12]})
    plan = ul.table(table, user="user").histogram("dish", budget=ONE, sum="amount", max_per_item=10**5)
    assert plan.run()["dish"] == ["soup"]


def test_sums_cost_a_share_and_both_signs_more_where_users_are_replaced() -> None:
    table = ul.table(rows([1]), user="user")
    asked = {
        "budget": ul.Budget(rho="0.02", delta="1e-8"),
        "sum": "amount",
        "max_per_item": 3,
        "adjacency": "replace",
    }
    one, both = (table.histogram("dish", **asked, **more) for more in ({}, {"min_per_item": -1}))
    assert float(one.mechanism.sums_rho) == pytest.approx(0.2 * 0.02, rel=0.01)
    assert both.mechanism.sums_variance == pytest.approx(2 * one.mechanism.sums_variance)
    assert one.guarantee.rho <= Decimal("0.02")


def test_the_column_is_part_of_what_is_asked(tmp_path: Path) -> None:
    table = rows([1]).append_column("price", pa.array([2] * (2 * USERS)))
    with ul.Ledger(tmp_path / "budget.db", create=True) as ledger:
        account = ledger.open("team", dataset="dishes", budget=ul.Budget(epsilon=3, delta="1e-6"))
        asked = {"budget": ul.Budget(epsilon="0.5", delta="1e-8"), "max_per_item": 3, "account": account}
        plans = [ul.table(table, user="user").histogram("dish", sum=name, **asked) for name in ("amount", "price")]
        answers = [plan.run(idempotency_key=plan.asked["sum"]) for plan in plans]
        used = account.balance().account.used.guarantee().rho
        assert float(used) == pytest.approx(2 * float(plans[0].guarantee.rho)), "each was paid for"
        assert plans[0].run(idempotency_key="amount").rows == answers[0].rows
        assert account.balance().account.used.guarantee().rho == used
    assert answers[1].receipt()["plan"]["sum"] == "price"
    assert ul.Release.from_bytes(answers[0].to_bytes()).rows == answers[0].rows


def test_by_group_sums_stay_with_their_rows() -> None:
    table = rows([2]).append_column("place", pa.array(["home" if n % 4 < 2 else "work" for n in range(2 * USERS)]))
    asked = {"by": "place", "groups": ["work", "home"], "sum": "amount", "max_per_item": 4}
    release = ul.table(table, user="user").histogram("dish", budget=QUIET, **asked).run()
    assert list(dict.fromkeys(release["place"])) == ["work", "home"]
    assert all(row["sum"] == pytest.approx(4 * row["count"], abs=100) for row in release)


def test_what_is_refused_before_data_is_touched() -> None:
    table = ul.table(rows([1]), user="user")
    wrong: list[tuple[dict, str]] = [
        ({"sum": "amount"}, "max_per_item"),
        ({"max_per_item": 3}, "Say sum, too"),
        ({"sum": "dish", "max_per_item": 3}, "a column of numbers"),
        ({"sum": "nothing", "max_per_item": 3}, "a column of the source"),
        ({"sum": "amount", "max_per_item": 3, "items_per_user": 2}, "leave items_per_user out"),
        ({"sum": "amount", "max_per_item": 3, "other": True}, "left out with sum"),
        ({"sum": "amount", "max_per_item": "0.005"}, "a finer sum_unit"),
        ({"sum": "amount", "max_per_item": 3, "sum_unit": "0.03"}, "cents"),
        ({"sum": "amount", "max_per_item": 3, "sum_unit": 0}, "above 0"),
        ({"sum": "amount", "max_per_item": float("nan")}, "a finite number"),
        ({"sum": "amount", "max_per_item": float("inf")}, "a finite number"),
        ({"sum": "amount", "max_per_item": 3, "min_per_item": 1}, "0 or below"),
        ({"sum": "amount", "max_per_item": -3}, "0 or above"),
        ({"sum": "amount", "max_per_item": 0}, "above 0"),
        ({"sum": "amount", "max_per_item": 10**12}, "units"),
        ({"sum": ["amount"], "max_per_item": 3}, "the name of a column"),
    ]
    for told, said in wrong:
        with pytest.raises(ul.InvalidArgumentError, match=said):
            table.histogram("dish", budget=ONE, **told)
    named = pa.table({"user": [1], "mean": ["x"], "amount": [1]})
    assert ul.table(named, user="user").histogram("mean", budget=ONE).run().item_names == ("mean",)
    with pytest.raises(ul.InvalidArgumentError, match="Rename it"):
        ul.table(named, user="user").histogram("mean", budget=ONE, sum="amount", max_per_item=3)


def test_shell_files_statement_and_chart(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pa.parquet.write_table(rows([2.5, 1.25]), path)
    asked = ("histogram", str(path), "--user", "user", "--item", "dish", "--epsilon", "1", "--sum", "amount")
    asked += ("--max-per-item", "9", "--min-per-item", "-1", "--sum-unit", "0.01")
    told = json.loads(unlisted(*asked, "--format", "json").text)
    assert list(told["rows"][0]) == COLUMNS
    assert told["plan"]["sum_unit"] == "0.01"
    shown = unlisted(*asked).text
    assert "sum_low" in shown
    assert "…" not in shown, "a number that is cut is a wrong one"
    release = ul.table(str(path), user="user").histogram("dish", budget=ONE, sum="amount", max_per_item=9).run()
    assert pa.csv.read_csv(io.BytesIO(as_csv(release))).column_names == COLUMNS
    assert "how much of “amount”" in release.statement().replace("\n", " ")
    assert "units of 1," in release.reading
    assert release.chart().to_dict()
    assert "In the answer" not in release.missing("soup")
