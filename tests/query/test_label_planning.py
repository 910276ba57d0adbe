"""Which labels method and which way to rank is taken, what it costs, and that neither asks the data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.fixtures.kitchen import BOUND, BUDGET, COMMON, asked, labels, nobody, top
from tests.ledger.books import charged

import unlisted as ul
from unlisted.ledger.account import Account
from unlisted.ledger.amounts import Amount
from unlisted.ledger.ledger import Ledger
from unlisted.privacy.sensitivity import Adjacency
from unlisted.query.choosing import COUNTS_ARE_BETTER, FINDING_IS_BETTER, chosen_for
from unlisted.query.planner import plan_of
from unlisted.query.questions import LabelMethod, Labels, RankingMethod, Top

ONE = ul.Budget(epsilon=1, delta="1e-8")
NAMES = {
    "counts": "counted_labels",
    "optimal": "optimal_labels",
    "weighted": "weighted_labels",
    "sips": "label_rounds",
    "hints": "hinted_label_rounds",
    "adaptive": "adaptive_labels",
}
TOTAL = ul.Budget(rho=100, delta="0.01")


def of_labels(
    items: int, method: LabelMethod = "auto", budget: ul.Budget = ONE, adjacency: Adjacency = "add_remove"
) -> ul.Plan:
    """Plan labels of no source."""
    return plan_of(
        Labels(items=("item",), items_per_user=items, adjacency=adjacency, budget=budget, method=method)
    )


def ranked(k: int, items: int | None, method: RankingMethod = "auto", **priced: Any) -> ul.Plan:
    """Plan a ranking of no source."""
    budget = None if "per_item_epsilon" in priced else ONE
    return plan_of(Top(items=("item",), items_per_user=items, k=k, budget=budget, method=method, **priced))


class TestLabels:
    @pytest.mark.parametrize("method", NAMES)
    def test_every_method_has_a_name_and_stays_inside_the_budget(self, method: Any) -> None:
        plan = of_labels(3, method)
        assert plan.as_dict()["mechanism"] == NAMES[method]
        assert plan.as_dict()["question"] == "labels"
        assert ONE.allows(plan.guarantee)
        assert plan.guarantee.epsilon(Fraction("1e-8")) > Fraction(99, 100)
        assert plan.complete is True

    def test_auto_takes_counts_or_coins_where_they_need_clearly_fewer_users_else_rounds(self) -> None:
        taken = set()
        budgets = (ONE, ul.Budget(epsilon=3, delta="1e-6"), ul.Budget(rho="0.02", delta="1e-8"))
        for items, budget in product((1, 2, 10), budgets):
            ways: tuple[LabelMethod, ...] = ("counts", "optimal", "weighted")
            by_counts, by_coins, by_weights = (of_labels(items, how, budget).accuracy.needed[50] for how in ways)
            better: LabelMethod = "optimal" if by_coins <= by_counts else "counts"
            if min(by_coins, by_counts) >= COUNTS_ARE_BETTER * by_weights:
                better = "hints"
            chosen = of_labels(items, "auto", budget)
            assert chosen.mechanism == of_labels(items, better, budget).mechanism
            # Whoever reads the plan can check the rule.
            assert f"{by_counts:,} users of {items} item" in chosen.reason
            assert f"{by_weights:,} by weights" in chosen.reason
            assert (f"{by_coins:,} by a Bernoulli draw for each label" in chosen.reason) == (by_coins <= by_counts)
            assert chosen.reason in str(chosen)
            taken.add(better)
        assert taken == {"optimal", "hints"}

    def test_auto_does_not_let_an_account_pay_for_coins(self) -> None:
        """ε at once is cheap in ε and dear in ρ."""
        question = Labels(items=("item",), items_per_user=1, budget=ONE)
        once, paid = (chosen_for(question, one_shot=one_shot) for one_shot in (True, False))
        counts = chosen_for(replace(question, method="counts"), one_shot=False)
        assert once.mechanism == of_labels(1, "optimal").mechanism
        assert paid.mechanism == counts.mechanism
        assert "by a Bernoulli draw for each label" not in paid.reason

    def test_auto_does_without_coins_that_would_need_too_many_users(self) -> None:
        with pytest.raises(ul.InvalidArgumentError, match="few, so that 65,536 users suffice"):
            of_labels(10_000, "optimal")
        assert of_labels(10_000).mechanism == of_labels(10_000, "hints").mechanism

    def test_users_of_few_items_are_told_to_lift_more(self) -> None:
        plan = of_labels(10)
        needed, alone = plan.as_dict()["users_needed"], plan.as_dict()["users_needed_of_one_item"]
        assert alone["50"] < needed["50"] / 2
        assert f"users of one item each: {alone['50']:,} (50 %)" in str(plan)
        assert f"of 10: {needed['50']:,} (50 %)" in str(plan)

    def test_counts_do_not_care_how_many_items_a_user_has(self) -> None:
        assert "users_needed_of_one_item" not in of_labels(10, "counts").as_dict()
        assert "of one item each" not in str(of_labels(10, "counts"))

    @pytest.mark.parametrize("method", get_args(LabelMethod))
    def test_exchanging_a_user_costs_more(self, method: LabelMethod) -> None:
        one, other = of_labels(10, method), of_labels(10, method, adjacency="replace")
        assert ONE.allows(other.guarantee)
        assert other.accuracy.needed[50] > one.accuracy.needed[50]
        assert "replaced by another" in str(other)

    def test_with_rho_it_is_rho_that_is_spent(self) -> None:
        plan = of_labels(10, budget=ul.Budget(rho="0.02", delta="1e-8"))
        assert Fraction("0.0199") < plan.guarantee.rho <= Fraction("0.02")
        assert plan.guarantee.delta <= Fraction("1e-8")
        assert plan.preview()["guarantee"]["at_delta"] == 2e-8

    @pytest.mark.parametrize("method", NAMES)
    def test_every_method_finds_what_is_common_and_nothing_else(self, method: Any) -> None:
        release = labels(method=method)
        assert release.rows == [{"dish": dish} for dish in sorted(COMMON)]
        assert labels(nobody(), method=method).to_arrow().schema == release.to_arrow().schema

    def test_a_condition_and_the_exchange_of_users_reach_the_data(self) -> None:
        release = labels(where="dish <> 'soup'", adjacency="replace", budget=ul.Budget(epsilon=20, delta="1e-9"))
        assert [row["dish"] for row in release.rows] == sorted(set(COMMON) - {"soup"})


class TestRankings:
    def test_auto_finds_labels_first_where_they_need_far_less_weight_than_counts_need_users(self) -> None:
        taken = set()
        for k, items in product((5, 200), (3, 100, None)):
            chosen = ranked(k, items)
            gumbel, first = ranked(k, items, "gumbel"), ranked(k, items, "find")
            users, weights = gumbel.accuracy.needed[95], first.accuracy.at_best
            assert weights is not None
            better = first if users > FINDING_IS_BETTER * weights[95] else gumbel
            assert chosen == replace(better, reason=chosen.reason)
            # Whoever reads the plan can check the rule.
            assert f"{users:,} users above the first count left out" in chosen.reason
            assert f"a weight of {weights[95]:,} " in chosen.reason
            assert chosen.reason in str(chosen)
            taken.add(chosen.as_dict()["mechanism"])
        assert taken == {"top_k", "found_top_k"}

    @pytest.mark.parametrize(
        "how",
        [
            {"fetch": 1000},
            {"fetch": "all"},
            {"count": "rows", "rows_per_item": 2},
            {"budget": None, "per_item_epsilon": "0.1", "delta": "1e-9"},
            {"items_per_user": 1_000_001},
            {"budget": ul.Budget(epsilon=1, delta="1e-300")},
        ],
    )
    def test_a_question_that_leaves_no_choice_is_ranked_by_gumbel_noise(self, how: dict[str, Any]) -> None:
        asked_for = {"k": 200, "items_per_user": 3, "budget": ONE}
        assert asked().top("dish", **asked_for).as_dict()["mechanism"] == "found_top_k"
        plan = asked().top("dish", **(asked_for | how))
        assert plan == asked().top("dish", method="gumbel", **(asked_for | how))
        assert plan.as_dict()["mechanism"] == "top_k"

    @pytest.mark.parametrize("counts", [False, True])
    def test_the_first_of_what_is_found_is_a_ranking(self, counts: bool) -> None:
        release = top(k=3, method="find", counts=counts)
        assert [(row["dish"], row["rank"]) for row in release.rows] == [("soup", 1), ("bread", 2), ("curry", 3)]
        assert release.complete is True
        assert ("count" in release.rows[0]) == counts
        assert ("released_too" in release.plan) == counts
        for row in release.rows if counts else ():
            assert row["low"] <= row["count"] <= row["high"]
        short = top(k=9, method="find", counts=counts)
        assert (len(short), short.complete) == (4, False)

    def test_labels_that_are_found_first_need_no_bound_either(self) -> None:
        plan = ranked(5, None, "labels")
        assert plan == ranked(5, 100, "labels")
        assert plan.as_dict()["items_per_user"] == 100

    @pytest.mark.parametrize("counts", [False, True])
    def test_a_ranking_by_labels_is_what_a_ranking_is(self, counts: bool) -> None:
        release = top(k=3, items_per_user=BOUND, method="labels", counts=counts)
        assert [(row["dish"], row["rank"]) for row in release.rows] == [("soup", 1), ("bread", 2), ("curry", 3)]
        assert release.complete is True
        assert ("count" in release.rows[0]) == counts
        for row in release.rows if counts else ():
            assert row["low"] <= row["count"] <= row["high"]
            assert abs(row["count"] - COMMON[row["dish"]]) < 60

    def test_it_ends_early_where_there_are_fewer_labels(self) -> None:
        for source, found in ((None, 4), (nobody(), 0)):
            release = top(source, k=9, items_per_user=BOUND, method="labels")
            assert len(release) == found
            assert release.complete is False

    def test_the_bound_is_for_finding_labels_and_not_for_counting_them(self) -> None:
        generous = ul.Budget(epsilon=60, delta="1e-9")
        release = top(k=2, items_per_user=1, method="labels", counts=True, budget=generous)
        counted = {row["dish"]: row["count"] for row in release.rows}
        assert counted == pytest.approx({dish: COMMON[dish] for dish in ("soup", "bread")}, abs=20)

    def test_the_plan_says_what_is_counted(self) -> None:
        plan = ranked(5, 10, "labels", counts=True)
        assert "of the true count, 95 % of the time" in str(plan)
        assert plan.as_dict()["k"] == 5
        assert "fetch" not in plan.as_dict()
        assert plan.complete is None
        assert "Gumbel" in plan.as_dict()["noise"]

    def test_exchanging_a_user_costs_more(self) -> None:
        one = ranked(5, 10, "labels").accuracy.needed[50]
        told = {"items": ("item",), "items_per_user": 10, "adjacency": "replace", "budget": ONE}
        other = plan_of(Top(**told, k=5, method="labels"))
        assert ONE.allows(other.guarantee)
        assert other.accuracy.needed[50] > one


class TestAccounts:
    @pytest.fixture
    def book(self, tmp_path: Path) -> Iterator[Ledger]:
        with Ledger(tmp_path / "budget.db") as opened:
            yield opened

    @pytest.fixture
    def account(self, book: Ledger) -> Account:
        """An account on a data set whose version is declared, so that a question is free the second time."""
        book.create_dataset("kitchen", budget=TOTAL, version="november")
        return book.open("ads", dataset="kitchen", budget=TOTAL)

    @pytest.mark.parametrize("method", [method for method in get_args(LabelMethod) if method != "optimal"])
    def test_an_account_counts_rho_and_pays_with_a_higher_threshold(
        self, method: LabelMethod, account: Account
    ) -> None:
        once, paid = (
            asked().labels("dish", budget=ONE, items_per_user=10, method=method, account=who)
            for who in (None, account)
        )
        assert once.guarantee.direct is not None
        assert paid.guarantee.direct is None
        assert ONE.allows(paid.guarantee)
        assert paid.accuracy.needed[50] > once.accuracy.needed[50]
        assert "Paid by: the account 'ads'" in str(paid)

    def test_coins_have_one_price(self, account: Account) -> None:
        once, paid = (
            asked().labels("dish", budget=ONE, items_per_user=10, method="optimal", account=who)
            for who in (None, account)
        )
        assert paid.mechanism == once.mechanism
        paid.run()
        assert account.balance().account.used == charged(once.guarantee)

    def test_labels_are_charged_once_and_repeated_for_nothing(self, account: Account) -> None:
        plan = asked().labels("dish", budget=BUDGET, items_per_user=BOUND, account=account)
        first = plan.run()
        assert account.balance().account.used == charged(plan.guarantee)
        assert [row["dish"] for row in first.rows] == sorted(COMMON)
        again = plan.run()
        assert again.as_dict() == first.as_dict()
        assert again.stamp == first.stamp
        assert account.balance().account.used == charged(plan.guarantee)

    def test_another_method_is_another_question(self, account: Account) -> None:
        ways: tuple[LabelMethod, ...] = ("weighted", "sips")
        plans = [
            asked().labels("dish", budget=BUDGET, items_per_user=BOUND, method=how, account=account)
            for how in ways
        ]
        for plan in plans:
            plan.run()
        total = charged(plans[0].guarantee) + charged(plans[1].guarantee)
        assert account.balance().account.used == total

    @pytest.mark.parametrize("k", [2, 9])
    def test_a_ranking_by_labels_pays_for_the_labels_and_for_the_draws_it_made(
        self, k: int, account: Account
    ) -> None:
        plan = asked().top("dish", k=k, budget=BUDGET, items_per_user=BOUND, method="labels", account=account)
        release = plan.run()
        assert len(release) == min(k, len(COMMON))
        mechanism: Any = plan.mechanism
        spent = mechanism.selection.guarantee() + len(release) * mechanism.draw_price()
        assert account.balance().account.used == charged(spent)
        assert (spent.rho < plan.guarantee.rho) == (k == 9)
        assert account.balance().account.reserved == Amount()

    def test_a_price_for_each_result_cannot_buy_labels(self, book: Ledger) -> None:
        survey = ul.ResultsBudget(results=20, questions=3, epsilon="1.5", delta="1e-9")
        account = book.open("survey", dataset="kitchen", budget=survey)
        how: dict[str, Any] = {"k": 2, "items_per_user": BOUND, "account": account}
        assert asked().top("dish", **how).as_dict()["mechanism"] == "top_k"
        with pytest.raises(ul.InvalidArgumentError, match="The labels have a price of their own: give a budget"):
            asked().top("dish", method="labels", **how)

    def test_the_first_of_what_is_found_is_charged_in_full(self, account: Account) -> None:
        plan = asked().top("dish", k=2, budget=BUDGET, method="find", account=account)
        assert "charged for the draws" not in str(plan)
        assert len(plan.run()) == 2
        assert account.balance().account.used == Amount.charge(plan.guarantee)

    def test_a_refusal_does_not_promise_results_that_labels_would_cost(self, book: Ledger) -> None:
        account = book.open("ads", dataset="kitchen", budget=ul.Budget(rho="0.001", delta="1e-6"))
        plan = asked().top("dish", k=3, budget=BUDGET, items_per_user=BOUND, method="labels", account=account)
        with pytest.raises(ul.BudgetRefusedError) as refusal:
            plan.run()
        assert "more results" not in str(refusal.value)


def test_labels_need_no_bound() -> None:
    told: dict[str, Any] = {"items": ("item",), "budget": ONE}
    assert plan_of(Labels(**told)) == of_labels(100)
    assert plan_of(Labels(**told)).as_dict()["mechanism"] == "hinted_label_rounds"


def test_a_plan_is_the_same_with_and_without_a_source() -> None:
    how: dict[str, Any] = {"budget": ONE, "items_per_user": 10}
    for source in (None, nobody()):
        named = asked(source).labels("dish", **how).as_dict()
        assert of_labels(10).as_dict() == named | {"user": None, "items": None}
        named = asked(source).top("dish", k=20, **how).as_dict()
        assert ranked(20, 10).as_dict() == named | {"user": None, "items": None}
    assert json.dumps(of_labels(10).preview(), allow_nan=False)
