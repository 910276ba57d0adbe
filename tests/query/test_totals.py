"""How many users, how many different values: plans, answers, accounts, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import unlisted as ul
from unlisted.release.export import as_csv
from unlisted.release.statement import statement_of

ONE = ul.Budget(epsilon=1, delta="1e-8")
ROWS = pa.table(
    {"user": [n for n in range(500) for _ in range(2)], "dish": [f"dish {n % 40}" for n in range(1000)]}
)
TABLE = ul.table(ROWS, user="user")


def test_the_number_of_users_is_one_row_without_items() -> None:
    release = TABLE.users(budget=ONE).run()
    assert release.table.column_names == ["count", "low", "high"]
    assert abs(release[0]["count"] - 500) <= 40  # e^-40
    assert release[0]["low"] <= release[0]["count"] <= release[0]["high"]
    assert release.complete
    assert "number of users" in release.reading
    assert as_csv(release).startswith(b"count,low,high\n")
    assert "one number: how many users" in statement_of(release)


def test_the_number_of_different_values_knows_its_bound() -> None:
    plan = TABLE.distinct("dish", budget=ONE, items_per_user=2)
    assert plan.mechanism.shift == 2
    assert "threshold" not in repr(plan).lower()
    assert plan.preview()["plan"]["users_needed"] == {}
    assert abs(plan.run()[0]["count"] - 40) <= 80
    assert TABLE.distinct("dish", budget=ONE).mechanism.shift == 100


@pytest.mark.parametrize("question", ["users", "distinct"])
@pytest.mark.parametrize("kind", ["zcdp", "gaussian"])
def test_an_account_is_charged_by_what_it_counts(question: str, kind: str, tmp_path: Path) -> None:
    with ul.Ledger(tmp_path / "budget.db", create=True) as ledger:
        account = ledger.open("team", dataset="dishes", budget=ul.Budget(epsilon=1, delta="1e-7"), kind=kind)
        items = () if question == "users" else ("dish",)
        plan = getattr(TABLE, question)(*items, budget=ul.Budget(epsilon="0.5", delta="1e-8"), account=account)
        release = plan.run(idempotency_key="once")
        assert release.spent is not None
        assert release.spent.delta == 0
        # Half of an ε is about a quarter of what an account of that ε adds up.
        used = account.balance().account.used.guarantee()
        loss = used.rho if kind == "zcdp" else used.mu_squared
        counted = plan.guarantee.rho if kind == "zcdp" else plan.guarantee.mu_squared
        assert loss is not None
        assert float(loss) == pytest.approx(float(counted))
        assert plan.run(idempotency_key="once").rows == release.rows, "a repeat is free, and the same"
        assert account.balance().account.used.guarantee() == used


def test_a_total_has_a_chart_and_its_plan_has_none() -> None:
    plan = TABLE.users(budget=ONE)
    assert plan.run().chart().to_dict()
    with pytest.raises(ul.InvalidArgumentError, match="A total is always released"):
        plan.chart()


def test_what_is_refused_before_data_is_touched() -> None:
    with pytest.raises(ul.InvalidArgumentError, match="a column of the source"):
        TABLE.distinct("dishes", budget=ONE).run()
    with pytest.raises(ul.InvalidArgumentError):
        TABLE.distinct("dish", budget=ONE, items_per_user=0)
    with pytest.raises(ul.InvalidArgumentError, match="the name of a column"):
        TABLE.histogram((), budget=ONE)
    with pytest.raises(ul.InvalidArgumentError, match="epsilon"):
        TABLE.users(budget=None)


def test_declared_counts_know_their_labels_and_not_their_users() -> None:
    counts = ul.counts(["soup", "tea"], [5, 6], items_per_user=1)
    assert abs(counts.distinct(budget=ONE).run()[0]["count"] - 2) <= 40
    with pytest.raises(ul.InvalidArgumentError, match="needs all counts"):
        ul.counts(["soup"], [5], items_per_user=1, fetch=10).distinct(budget=ONE)


def test_an_empty_table_has_a_number_too() -> None:
    release = ul.table(ROWS.slice(0, 0), user="user").users(budget=ONE).run()
    assert len(release) == 1
    assert 0 <= release[0]["count"] <= 40
