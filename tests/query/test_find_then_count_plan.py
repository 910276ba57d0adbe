"""A histogram without a bound on items: values are found first, then counted over all their users."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from tests.fixtures.kitchen import BUDGET, COMMON, PLANTED, asked, nobody
from tests.ledger.books import charged

import unlisted as ul
from unlisted.ledger.ledger import Ledger
from unlisted.mechanisms.partition_selection.then_count import FindThenCount
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.truncated_laplace import TruncatedHistogram
from unlisted.query.options import ITEMS_LOOKED_AT

ONE = ul.Budget(epsilon=1, delta="1e-8")


def test_a_bound_still_means_algorithm_1() -> None:
    assert isinstance(asked().histogram("dish", budget=ONE).mechanism, FindThenCount)
    assert isinstance(asked().histogram("dish", budget=ONE, items_per_user=10).mechanism, ThresholdHistogram)


def test_a_method_says_it_whatever_the_bound() -> None:
    found = asked().histogram("dish", budget=ONE, items_per_user=20, method="find")
    assert isinstance(found.mechanism, FindThenCount)
    assert found.as_dict()["items_looked_at"] == 20
    assert found.as_dict()["items_per_user"] is None
    with pytest.raises(ul.InvalidArgumentError, match="needs a bound on how many"):
        asked().histogram("dish", budget=ONE, method="threshold")
    for wrong in ({"count": "rows", "rows_per_item": 2}, {"noise": "laplace"}):
        with pytest.raises(ul.InvalidArgumentError, match="with method='find'"):
            asked().histogram("dish", budget=ONE, items_per_user=20, method="find", **wrong)


def test_users_of_one_to_three_items_get_noise_that_ends() -> None:
    for budget in (ONE, ul.Budget(epsilon=3, delta="1e-6")):
        kinds = [type(asked().histogram("dish", budget=budget, items_per_user=n).mechanism) for n in range(1, 6)]
        assert kinds == [TruncatedHistogram] * 3 + [ThresholdHistogram] * 2
    for noise in ("laplace", "gaussian"):
        named = asked().histogram("dish", budget=ONE, items_per_user=1, noise=noise)
        assert isinstance(named.mechanism, ThresholdHistogram)


def test_common_values_come_out_with_their_counts_and_the_planted_one_does_not() -> None:
    plan = asked().histogram("dish", budget=BUDGET)
    release = plan.run()
    shown = {row["dish"]: row for row in release.rows}
    assert shown.keys() == set(COMMON)
    assert PLANTED not in str(release)
    # At ε = 6 noise and what scaling hides are far below these counts.
    assert all(abs(row["count"] - COMMON[dish]) < 60 for dish, row in shown.items())
    assert [row["count"] for row in release.rows] == sorted((row["count"] for row in release.rows), reverse=True)
    assert BUDGET.allows(release.guarantee)
    said = release.receipt()["plan"]
    assert said["items_per_user"] is None
    assert said["items_looked_at"] == ITEMS_LOOKED_AT == 100
    assert said["shares_of_rho"] == {"labels": 0.7, "sizes": 0.01, "counts": 0.29}
    assert said["shares_of_rounds"] == [0.014, 0.14, 0.546]
    assert said["released_too"]["user_sizes"]


def test_the_plan_says_what_items_of_users_of_1_10_and_100_need() -> None:
    plan = asked().histogram("dish", budget=ONE)
    needed = plan.preview()["plan"]
    text = str(plan)
    by_items = needed["users_needed_by_items"]
    assert list(by_items) == ["1", "10", "100"]
    assert by_items["1"] == needed["users_needed_of_one_item"]
    assert by_items["100"] == needed["users_needed"]
    assert f"users of one item each: {by_items['1']['50']:,} (50 %)" in text
    assert f"of 10: {by_items['10']['50']:,} (50 %)" in text
    assert f"of 100: {by_items['100']['50']:,} (50 %)" in text
    assert plan.complete


def test_the_plan_says_the_share_of_every_step() -> None:
    plan = asked().histogram("dish", budget=ONE)
    shares = "1.4 % (round 1), 14 % (round 2), 54.6 % (round 3), 1 % (choice of D1), 29 % (counts)"
    assert f"Shares of ρ: {shares}" in str(plan).splitlines()
    assert sum(plan.preview()["plan"]["shares"].values()) == pytest.approx(1)
    labels = asked().labels("dish", budget=ONE, method="hints")
    assert "Shares of ρ: 2 % (round 1), 20 % (round 2), 78 % (round 3)" in str(labels).splitlines()
    assert list(labels.preview()["plan"]["users_needed_by_items"]) == ["1", "10", "100"]
    ranking = asked().top("dish", k=3, budget=ONE, method="labels")
    assert "Shares of ρ: 50 % (labels), 50 % (ranking)" in str(ranking).splitlines()
    assert "Shares" not in str(asked().histogram("dish", budget=ONE, items_per_user=5))


def test_nothing_there_is_an_answer_of_the_usual_shape() -> None:
    release = asked(nobody()).histogram("dish", budget=ONE).run()
    assert release.rows == []
    assert release.to_arrow().column_names == ["dish", "count", "low", "high"]
    assert release.receipt()["plan"]["released_too"]["user_sizes"] == []


def test_an_account_pays_by_rho_and_a_repeat_is_free(tmp_path: Path) -> None:
    total = ul.Budget(rho=100, delta="0.01")
    with Ledger(tmp_path / "budget.db") as book:
        book.create_dataset("kitchen", budget=total, version="november")
        account = book.open("ads", dataset="kitchen", budget=total)
        plan = asked().histogram("dish", budget=BUDGET, account=account)
        assert plan.guarantee.direct is None
        first = plan.run()
        assert account.balance().account.used == charged(plan.guarantee)
        again = plan.run()
        assert again.as_dict() == first.as_dict()
        assert again.reading == first.reading
        assert account.balance().account.used == charged(plan.guarantee)


def test_replacing_a_user_needs_more() -> None:
    one, other = (asked().histogram("dish", budget=ONE, adjacency=way) for way in ("add_remove", "replace"))
    assert ONE.allows(other.guarantee)
    assert other.accuracy.needed[50] > one.accuracy.needed[50]


@pytest.mark.parametrize("items", [1, 30, 300])
def test_no_user_s_items_are_dropped_however_many(items: int) -> None:
    """Each of 3,000 users has the same items: all counts are of all users, but for noise and scaling."""
    users, labels = range(3000), [f"l{i}" for i in range(items)]
    rows = pa.table({"user": [u for u in users for _ in labels], "item": labels * len(users)})
    release = ul.table(rows, user="user").histogram("item", budget=ul.Budget(epsilon=8, delta="1e-6")).run()
    assert len(release) == items
    counts = [row["count"] for row in release.rows]
    assert sum(counts) / items == pytest.approx(3000, rel=0.05)
