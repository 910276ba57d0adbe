"""Questions about real tables, paid by accounts: what is charged, what is free, and what comes back."""

from __future__ import annotations

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
from tests.fixtures.kitchen import BOUND, BUDGET, COMMON, asked, cooked
from tests.ledger.books import charged

import unlisted as ul
from unlisted.ledger.account import Account
from unlisted.ledger.amounts import Amount
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.verify import verify
from unlisted.privacy.accounting import ZCDP
from unlisted.release.release import short_up

TOTAL = ul.Budget(rho=100, delta="0.01")
EACH, DELTA = Fraction(3, 2), Fraction("1e-9")
SURVEY = ul.ResultsBudget(results=20, questions=3, epsilon=EACH, delta=DELTA)


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "budget.db") as opened:
        yield opened


@pytest.fixture
def account(book: Ledger) -> Account:
    return book.open("ads", dataset="kitchen", budget=TOTAL)


@pytest.fixture
def replaying(book: Ledger) -> Account:
    """An account on a data set whose version is declared."""
    book.create_dataset("kitchen", budget=TOTAL, version="november")
    return book.open("ads", dataset="kitchen", budget=TOTAL)


def used(account: Account) -> Amount:
    return account.balance().account.used


def price_of(release: ul.Release, plan: ul.Plan) -> Amount:
    """Return what a ranking costs: ε²/8 for each label and for the end, and the δ of its threshold."""
    drawn = len(release) + (not release.complete)
    assert plan.guarantee.delta <= DELTA
    return charged(ul.Guarantee(drawn * plan.mechanism.epsilon**2 / 8, plan.guarantee.delta))


def twice(plan: ul.Plan) -> Amount:
    return charged(plan.guarantee) + charged(plan.guarantee)


def untouched(account: Account) -> bool:
    """Return whether nothing was ever reserved."""
    kinds = [entry.kind for entry in account.ledger.history(account.dataset)]
    return kinds == ["opened", "opened"] and verify(account.ledger) == []


def plan_of(kind: str, account: Account | None, source: Any = None, **how: Any) -> ul.Plan:
    bounds: dict[str, Any] = {"k": 3} if kind == "top" else {"items_per_user": BOUND}
    plan: ul.Plan = getattr(asked(source), kind)("dish", **({"budget": BUDGET, "account": account} | bounds | how))
    return plan


KINDS = ("histogram", "top", "top_histogram")


class TestCost:
    @pytest.mark.parametrize("kind", ["histogram", "top_histogram"])
    def test_counts_cost_their_ceiling(self, kind: str, account: Account) -> None:
        plan = plan_of(kind, account)
        release = plan.run()
        assert release.guarantee == plan.guarantee
        assert used(account) == charged(plan.guarantee) == charged(release.spent)

    @pytest.mark.parametrize("k", [1, 2, 9])
    def test_a_ranking_pays_for_each_label_and_for_the_end(self, k: int, ledger: Ledger) -> None:
        account = ledger.open("ads", dataset="kitchen", budget=TOTAL)
        plan = asked().top("dish", k=k, per_item_epsilon=EACH, delta=DELTA, account=account)
        release = plan.run()
        assert release.complete == (k < 9), "nine dishes are not common enough"
        assert used(account) == price_of(release, plan)
        assert charged(release.spent) == price_of(release, plan)
        assert release.guarantee == plan.guarantee, "what the mechanism promises does not depend on what came out"
        assert (release.spent.rho < release.guarantee.rho) == (k == 9)
        assert account.balance().account.reserved == Amount()
        assert verify(ledger) == []

    def test_a_ranking_on_a_budget_returns_what_it_did_not_use(self, account: Account) -> None:
        plan = plan_of("top", account, k=20)
        plan.run()
        assert 0 < used(account).loss < charged(plan.guarantee).loss

    def test_without_an_account_the_ceiling_is_the_price(self) -> None:
        plan = plan_of("top", None, k=20)
        release = plan.run()
        assert release.guarantee == plan.guarantee
        assert (release.stamp, release.spent) == (None, None)
        assert release.receipt()["spent"] is None
        assert "harged" not in str(release)

    def test_both_are_shown_under_their_names(self, account: Account) -> None:
        release = plan_of("top", account, k=20).run()
        receipt, lines = release.receipt(), str(release).splitlines()
        rho, delta = used(account).guarantee().rho, used(account).guarantee().delta
        assert receipt["spent"] == release.as_dict()["spent"]
        assert receipt["spent"] == {"rho": pytest.approx(float(rho)), "delta": pytest.approx(float(delta))}
        assert receipt["spent"]["rho"] < receipt["guarantee"]["rho"]
        assert lines[-2].startswith("Guarantee: ")
        assert lines[-1] == f"Charged: ρ = {short_up(rho, 6)}, δ = {short_up(delta, 3)}."

    def test_other_parameters_for_each_question_add_up(self, account: Account) -> None:
        total = Amount()
        for k, each, fetch in ((1, 2, 5), (9, Fraction(3, 2), 1000), (3, Fraction("1.25"), 50)):
            plan = asked().top("dish", k=k, fetch=fetch, per_item_epsilon=each, delta=DELTA / k, account=account)
            total += price_of(plan.run(), plan)
        assert used(account) == total

    def test_the_next_question_may_depend_on_the_last_answer(self, account: Account) -> None:
        first = plan_of("top", account, k=1).run()
        where = f"dish <> '{first.rows[0]['dish']}'"
        second = plan_of("top", account, k=1, where=where).run()
        assert [first.rows[0]["dish"], second.rows[0]["dish"]] == ["soup", "bread"]
        assert used(account).loss >= charged(first.guarantee + second.guarantee).loss


class TestResultsBudget:
    def test_it_supplies_epsilon_and_delta(self, book: Ledger) -> None:
        account = book.open("ads", dataset="kitchen", budget=SURVEY)
        plan = asked().top("dish", k=2, account=account)
        assert plan.mechanism.epsilon == EACH
        assert plan.guarantee.delta <= DELTA
        assert account.balance().left == SURVEY.amount(ZCDP)
        release = plan.run()
        assert account.balance().left == SURVEY.amount(ZCDP) - price_of(release, plan)

    def test_what_is_said_in_the_question_goes_first(self, book: Ledger) -> None:
        account = book.open("ads", dataset="kitchen", budget=SURVEY)
        assert asked().top("dish", k=2, per_item_epsilon=2, account=account).mechanism.epsilon == 2
        on_a_budget = asked().top("dish", k=2, budget=BUDGET, account=account)
        assert on_a_budget.guarantee == asked().top("dish", k=2, budget=BUDGET).guarantee

    def test_results_run_out_in_plain_words(self, book: Ledger) -> None:
        small = ul.ResultsBudget(results=10, questions=3, epsilon=EACH, delta=DELTA)
        account = book.open("ads", dataset="kitchen", budget=small)
        assert len(asked().top("dish", k=3, account=account).run()) == 3
        with pytest.raises(ul.BudgetRefusedError, match=r"enough for 7 more results at ε = 1\.5\. Nothing"):
            asked().top("dish", k=8, account=account).run()
        assert len(asked().top("dish", k=3, account=account).run()) == 3

    def test_questions_run_out_too(self, book: Ledger) -> None:
        account = book.open("ads", dataset="kitchen", budget=SURVEY)
        for _ in range(3):
            asked().top("dish", k=1, account=account).run()
        with pytest.raises(ul.BudgetRefusedError, match="too little δ"):
            asked().top("dish", k=1, account=account).run()


class TestRepeats:
    @pytest.mark.parametrize("kind", KINDS)
    def test_a_repeat_is_the_same_bytes_and_free(self, kind: str, replaying: Account) -> None:
        first = plan_of(kind, replaying).run()
        before = replaying.balance().left
        again = plan_of(kind, replaying).run()
        assert again.to_bytes() == first.to_bytes()
        assert again.receipt() == first.receipt()
        assert replaying.balance().left == before

    def test_without_a_version_it_is_a_new_answer(self, account: Account) -> None:
        first, second = (plan_of("histogram", account).run() for _ in range(2))
        assert first.to_bytes() != second.to_bytes()
        assert used(account) == twice(plan_of("histogram", account))

    @pytest.mark.parametrize(
        "other",
        [
            {"where": "place = 'home'"},
            {"items_per_user": BOUND + 1},
            {"count": "rows", "rows_per_item": 2},
            {"max_label_bytes": 100},
            {"noise": "laplace"},
            {"budget": ul.Budget(epsilon=5, delta="1e-9")},
        ],
        ids=str,
    )
    def test_another_question_is_not_a_repeat(self, other: dict[str, Any], replaying: Account) -> None:
        first = plan_of("histogram", replaying).run()
        before = used(replaying)
        second = plan_of("histogram", replaying, **other).run()
        assert second.stamp["entry"] != first.stamp["entry"]
        assert used(replaying) != before

    def test_other_columns_are_another_question(self, replaying: Account) -> None:
        plan_of("top", replaying, k=1).run()
        found = asked().top("place", k=1, budget=BUDGET, account=replaying).run()
        assert found.table.column_names == ["place", "rank"]

    def test_other_types_of_the_same_text_are_another_question(self, tmp_path: Path, replaying: Account) -> None:
        path = tmp_path / "cooked.csv"
        pyarrow.csv.write_csv(cooked(), path)
        found = [
            ul.table(path, user="user", types=types).top("portions", k=1, budget=BUDGET, account=replaying).run()
            for types in (None, {"portions": "int"})
        ]
        assert [type(release.rows[0]["portions"]) for release in found] == [str, int]

    def test_an_idempotency_key_brings_the_first_answer_back(self, account: Account) -> None:
        first = plan_of("histogram", account).run(idempotency_key="monday")
        again = plan_of("histogram", account).run(idempotency_key="monday")
        other = plan_of("histogram", account).run(idempotency_key="tuesday")
        assert again.to_bytes() == first.to_bytes()
        assert other.to_bytes() != first.to_bytes()
        assert used(account) == twice(plan_of("histogram", account))
        with pytest.raises(ul.InvalidArgumentError, match="one question only"):
            plan_of("top", account).run(idempotency_key="monday")

    @pytest.mark.parametrize("key", ["", " ", "a\nb", "k" * 201, 5])
    def test_a_key_that_is_no_name_is_refused(self, key: Any, account: Account) -> None:
        with pytest.raises(ul.InvalidArgumentError, match="idempotency_key"):
            plan_of("histogram", account).run(idempotency_key=key)
        assert untouched(account)

    def test_a_key_without_an_account_is_refused(self) -> None:
        with pytest.raises(ul.InvalidArgumentError, match="given with an account"):
            plan_of("histogram", None).run(idempotency_key="monday")

    def test_a_repeat_is_free_on_a_closed_account(self, replaying: Account) -> None:
        first = plan_of("top", replaying).run()
        replaying.ledger.close_account("ads")
        assert plan_of("top", replaying).run().to_bytes() == first.to_bytes()
        with pytest.raises(ul.BudgetRefusedError, match="closed"):
            plan_of("top", replaying, k=1).run()


class TestFailures:
    @pytest.mark.parametrize("kind", KINDS)
    def test_a_failure_in_the_engine_is_charged_in_full(self, kind: str, tmp_path: Path, account: Account) -> None:
        path = tmp_path / "kitchen.duckdb"
        with duckdb.connect(str(path)) as database:
            database.execute(
                "CREATE VIEW cooked AS SELECT n AS user, "
                "CASE WHEN n < 500 THEN 'soup' ELSE error('row ' || n) END AS dish FROM range(600) AS rows(n)"
            )
        bounds: dict[str, Any] = {"k": 3} if kind == "top" else {"items_per_user": BOUND}
        table = ul.table(path, user="user", table="cooked")
        plan: ul.Plan = getattr(table, kind)("dish", budget=BUDGET, account=account, **bounds)
        with pytest.raises(ul.ChargedFailureError) as failure:
            plan.run(idempotency_key="once")
        assert str(failure.value) == "could not be answered; charged; see the log"
        assert failure.value.__cause__ is None
        assert used(account) == charged(plan.guarantee)
        assert account.ledger.history(account="ads")[-1].kind == "forfeited"
        with pytest.raises(ul.ChargedFailureError):
            plan.run(idempotency_key="once")
        assert used(account) == charged(plan.guarantee), "a retry of what failed costs nothing more"
        assert verify(account.ledger) == []

    @pytest.mark.parametrize(
        "wrong",
        [
            {"item": "meal"},
            {"where": "meal = 'soup'"},
            {"where": "dish = 5"},
            {"where": "dish ="},
            {"items_per_user": 0},
            {"noise": "uniform"},
            {"count": "rows"},
            {"budget": ul.Budget(rho=101, delta="1e-9")},
        ],
        ids=str,
    )
    def test_an_error_before_data_is_touched_costs_nothing(self, wrong: dict[str, Any], account: Account) -> None:
        how: dict[str, Any] = {"item": "dish", "budget": BUDGET, "items_per_user": BOUND} | wrong
        with pytest.raises((ul.InvalidArgumentError, ul.BudgetRefusedError)):
            asked().histogram(**how, account=account).run()
        assert untouched(account)

    def test_a_missing_file_costs_nothing(self, tmp_path: Path, account: Account) -> None:
        plan = ul.table(tmp_path / "none.parquet", user="user").top("dish", k=1, budget=BUDGET, account=account)
        with pytest.raises(ul.InvalidArgumentError):
            plan.run()
        assert untouched(account)

    def test_a_wrong_user_column_costs_nothing(self, account: Account) -> None:
        with pytest.raises(ul.InvalidArgumentError, match="cook"):
            ul.table(cooked(), user="cook").top("dish", k=1, budget=BUDGET, account=account)
        assert untouched(account)

    @pytest.mark.parametrize("nobody", ["ads", 7, object()])
    def test_a_name_is_no_account(self, nobody: Any) -> None:
        with pytest.raises(ul.InvalidArgumentError, match=r"ul\.Ledger\("):
            plan_of("top", nobody)


class TestSameData:
    def test_the_first_question_fixes_what_the_data_set_is_about(self, account: Account) -> None:
        plan_of("top", account, k=1).run()
        about = account.ledger.dataset("kitchen")
        assert (about.unit, about.adjacency, about.source) == ("user", "add_remove", "a data frame")

    def test_another_user_column_is_refused(self, account: Account) -> None:
        plan_of("top", account, k=1).run()
        before = account.balance().left
        other = ul.table(cooked(), user="portions").top("dish", k=1, budget=BUDGET, account=account)
        with pytest.raises(ul.InvalidArgumentError, match=r"user = 'portions'.*Nothing was charged"):
            other.run()
        assert account.balance().left == before

    def test_another_adjacency_is_refused(self, account: Account) -> None:
        plan_of("top", account, k=1).run()
        with pytest.raises(ul.InvalidArgumentError, match="adjacency = 'replace'"):
            plan_of("top", account, k=1, adjacency="replace").run()

    def test_another_source_is_refused_even_for_a_repeat(self, tmp_path: Path, replaying: Account) -> None:
        paths = [tmp_path / "monday.parquet", tmp_path / "tuesday.parquet"]
        for path in paths:
            pq.write_table(cooked(), path)
        plan_of("top", replaying, str(paths[0])).run()
        before = replaying.balance().left
        with pytest.raises(ul.InvalidArgumentError, match="source = "):
            plan_of("top", replaying, str(paths[1])).run()
        assert replaying.balance().left == before

    def test_a_declared_data_set_refuses_from_the_start(self, book: Ledger) -> None:
        book.create_dataset("kitchen", budget=TOTAL, unit="cook", source="elsewhere", adjacency="replace")
        account = book.open("ads", dataset="kitchen", budget=TOTAL)
        with pytest.raises(ul.InvalidArgumentError, match="which the data set 'kitchen' is about"):
            plan_of("top", account).run()
        assert untouched(account)


class TestGivenCounts:
    def test_counts_from_elsewhere_are_paid_alike(self, account: Account) -> None:
        given = ul.counts(list(COMMON), list(COMMON.values()), items_per_user=BOUND, item="dish")
        histogram = given.histogram(budget=BUDGET, account=account)
        assert {row["dish"] for row in histogram.run().rows} == set(COMMON)
        ranking = given.top(k=9, per_item_epsilon=EACH, delta=DELTA, account=account)
        price = price_of(ranking.run(), ranking)
        assert used(account) == charged(histogram.guarantee) + price
        given.top_histogram(budget=BUDGET, account=account).run()
        assert verify(account.ledger) == []

    def test_an_account_supplies_its_price(self, book: Ledger) -> None:
        account = book.open("ads", dataset="kitchen", budget=SURVEY)
        given = ul.counts(list(COMMON), list(COMMON.values()), items_per_user=BOUND)
        assert given.top(k=2, account=account).mechanism.epsilon == EACH

    def test_they_say_whose_they_are(self, book: Ledger) -> None:
        book.create_dataset("kitchen", budget=TOTAL, unit="cook", source="pinot")
        account = book.open("ads", dataset="kitchen", budget=TOTAL)
        labels, numbers = list(COMMON), list(COMMON.values())
        with pytest.raises(ul.InvalidArgumentError, match="user = 'user'"):
            ul.counts(labels, numbers, items_per_user=BOUND).top(k=1, budget=BUDGET, account=account).run()
        named = ul.counts(labels, numbers, items_per_user=BOUND, user="cook", source="pinot")
        assert named.top(k=1, budget=BUDGET, account=account).run().rows[0]["item"] == "soup"


class TestReceipts:
    def test_a_receipt_carries_its_entry(self, account: Account) -> None:
        release = plan_of("top", account).run()
        stamp = json.loads(json.dumps(release.receipt()))["ledger"]
        settled = account.ledger.history(account="ads")[-1]
        named = {"dataset": "kitchen", "account": "ads", "entry": settled.number, "hash": settled.hash}
        assert stamp.items() >= (named | settled.amount.as_dict() | {"version": None}).items()
        assert verify(account.ledger, [release.receipt()]) == []

    def test_a_plan_says_who_pays(self, account: Account) -> None:
        assert "Paid by: the account 'ads', charged for the draws that are made" in repr(plan_of("top", account))
        assert repr(plan_of("histogram", account)).endswith("Paid by: the account 'ads'")
        assert "Paid by" not in repr(plan_of("histogram", None))

    def test_every_type_of_label_survives_the_store(self, replaying: Account) -> None:
        columns = {
            "text": pa.array(["soup", "tea"]),
            "label": pa.array(["a", "b"]),
            "day": pa.array([20_000, 20_001], pa.date32()),
            "moment": pa.array([1, 2], pa.timestamp("us")),
            "whole": pa.array([1, 2], pa.int32()),
            "share": pa.array([0.5, -0.5]),
            "yes": pa.array([True, False]),
        }
        repeated = {name: pa.concat_arrays([column] * 500) for name, column in columns.items()}
        table = pa.table({"user": pa.array(range(1000)), **repeated})
        for name in columns.keys() - {"label"}:
            plan = ul.table(table, user="user").top([name, "label"], k=2, budget=BUDGET, account=replaying)
            first, again = plan.run(), plan.run()
            assert len(first) == 2
            assert again.table.equals(first.table)
