"""A histogram with totals, shares and everything else: never negative, and marked as what it is."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.cli.shell import unlisted

import unlisted as ul
from unlisted.release.export import as_csv, as_parquet
from unlisted.release.statement import statement_of

ONE = ul.Budget(epsilon=1, delta="1e-8")
USERS = 2000
RARE = [f"mine {n}" for n in range(USERS // 2)]
ROWS = pa.table(
    {
        "user": [*range(USERS), *range(USERS // 2)],
        "dish": ["soup" if n % 4 else "tea" for n in range(USERS)] + RARE,
    }
)
TABLE = ul.table(ROWS, user="user")
NAMES = ["users", "user_values", "other", "other_values"]


@pytest.fixture(scope="module")
def release() -> ul.Release:
    return TABLE.histogram("dish", budget=ONE, with_totals=True, other=True).run()


def test_totals_are_near_the_truth(release: ul.Release) -> None:
    truth = {"users": USERS, "user_values": USERS + len(RARE), "other": len(RARE), "other_values": len(RARE)}
    shift = {"users": 1, "user_values": 10, "other": 1, "other_values": 10}
    assert list(release.totals) == NAMES
    for name, total in release.totals.items():
        assert abs(total["count"] - truth[name]) <= 500 * shift[name]  # nine standard deviations
        assert 0 <= total["low"] <= total["count"] <= total["high"]
    assert release["dish"] == ["soup", "tea"]


def test_totals_cost_a_share_of_the_budget_and_hardly_move_the_threshold() -> None:
    without = TABLE.histogram("dish", budget=ONE)
    both = TABLE.histogram("dish", budget=ONE, with_totals=True, other=True)
    assert both.guarantee.epsilon(both.at_delta) <= 1
    assert float(both.mechanism.totals_rho / both.guarantee.rho) == pytest.approx(0.04, rel=0.01)
    needed, plain = both.mechanism.accuracy().needed[50], without.mechanism.accuracy().needed[50]
    assert plain <= needed <= 1.03 * plain
    assert list(both.preview()["plan"]["totals_within_95"]) == NAMES


def test_shares_are_in_per_cent_with_intervals(release: ul.Release) -> None:
    soup, tea = release.shares()
    assert soup["dish"] == "soup"
    for share, truth in ((soup, 75), (tea, 25)):
        assert 0 <= share["low"] <= share["percent"] <= share["high"] <= 100
        assert share["low"] - 20 <= truth <= share["high"] + 20
    with pytest.raises(ul.InvalidArgumentError, match="with_totals=True"):
        TABLE.histogram("dish", budget=ONE, other=True).run().shares()


def test_what_people_see_marks_everything_else_as_what_it_is(release: ul.Release) -> None:
    for text in (repr(release), release._repr_html_()):
        assert "Everything else: users with a value that is not shown" in text
        assert "at most 10 of each user" in text
    assert "share of users" in repr(release)
    said = statement_of(release)
    assert "Everything else is one row" in said.replace("\n", " ")
    assert "out of how many users" in said.replace("\n", " ")
    bars = json.dumps(release.chart().to_dict())
    assert "(everything else)" in bars
    assert "grey what was held back" in bars


def test_a_value_that_is_called_so_is_told_apart() -> None:
    rows = pa.table({"user": range(900), "dish": ["(everything else)"] * 900})
    release = ul.table(rows, user="user").histogram("dish", budget=ONE, other=True).run()
    values = release.chart().to_dict()["data"]["values"]
    assert [one["label"] for one in values] == ["(everything else)", "(everything else) (2)"]
    assert [one.get("rest", False) for one in values] == [False, True]


def test_files_have_a_column_that_says_what_a_row_is(release: ul.Release) -> None:
    csv = pa.csv.read_csv(io.BytesIO(as_csv(release)))
    parquet = pa.parquet.read_table(io.BytesIO(as_parquet(release)))
    for table in (csv, parquet):
        assert table.column("row").to_pylist() == ["item", "item", *NAMES]
        assert table.column("percent").to_pylist()[2:] == [None] * 4
        assert min(table.column("count").to_pylist()) >= 0
    named_row = pa.table({"user": range(900), "row": ["soup"] * 900})
    odd = ul.table(named_row, user="user").histogram("row", budget=ONE, other=True).run()
    assert as_csv(odd).splitlines()[0] == b"row,count,low,high,row_"


def test_totals_survive_a_ledger_and_a_receipt(release: ul.Release, tmp_path: Path) -> None:
    assert ul.Release.from_bytes(release.to_bytes()).totals == release.totals
    assert release.receipt()["totals"] == release.totals
    with ul.Ledger(tmp_path / "budget.db", create=True) as ledger:
        account = ledger.open("team", dataset="dishes", budget=ul.Budget(epsilon=2, delta="1e-6"))
        plan = TABLE.histogram("dish", budget=ONE, with_totals=True, account=account)
        first = plan.run(idempotency_key="once")
        assert plan.run(idempotency_key="once").totals == first.totals
        used = account.balance().account.used.guarantee().rho
        assert float(used) == pytest.approx(float(plan.guarantee.rho))


def test_nothing_found_and_nobody_there() -> None:
    rare = ul.table(ROWS.slice(USERS), user="user").histogram("dish", budget=ONE, with_totals=True, other=True)
    nothing = rare.run()
    assert len(nothing) == 0
    assert nothing.shares() == []
    empty = ul.table(ROWS.slice(0, 0), user="user")
    for _ in range(5):
        totals = empty.histogram("dish", budget=ONE, with_totals=True, other=True).run().totals
        assert all(total["count"] >= total["low"] >= 0 for total in totals.values())


def test_by_group_totals_are_of_all_groups() -> None:
    rows = ROWS.append_column("place", pa.array(["home" if n % 2 else "work" for n in range(len(ROWS))]))
    asked = {"by": "place", "groups": ["home", "work"], "with_totals": True, "other": True}
    release = ul.table(rows, user="user").histogram("dish", budget=ONE, **asked).run()
    assert abs(release.totals["users"]["count"] - USERS) <= 500
    assert release.chart().to_dict()


def test_a_threshold_has_no_totals() -> None:
    for name in ("with_totals", "other"):
        with pytest.raises(ul.InvalidArgumentError, match="leave items_per_user out"):
            TABLE.histogram("dish", budget=ONE, items_per_user=3, **{name: True})
        with pytest.raises(ul.InvalidArgumentError, match="True or False"):
            TABLE.histogram("dish", budget=ONE, **{name: "yes"})


def test_a_shell_prints_and_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pa.parquet.write_table(ROWS, path)
    asked = (
        "histogram",
        str(path),
        "--user",
        "user",
        "--item",
        "dish",
        "--epsilon",
        "1",
        "--with-totals",
        "--other",
    )
    shown = unlisted(*asked).text
    assert "Everything else: users with a value that is not shown" in shown
    assert "share of users" in shown
    told = json.loads(unlisted(*asked, "--format", "json").text)
    assert list(told["totals"]) == NAMES
