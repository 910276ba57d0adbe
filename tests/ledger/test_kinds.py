"""What a data set counts, ρ or μ²: fixed for its life, in the chain, and shown under its own name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.ledger.books import budget, charge, cost

import unlisted as ul
from unlisted.errors import BudgetRefusedError, InvalidArgumentError, LedgerError
from unlisted.ledger.amounts import Amount
from unlisted.ledger.display import balance_as_dict, said
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.schema import accounts, datasets, entries
from unlisted.ledger.terms import ResultsBudget, amount_of
from unlisted.ledger.verify import verify
from unlisted.mechanisms.mechanism import Mechanism
from unlisted.mechanisms.registry import MECHANISMS
from unlisted.noise.gaussian.accounting import ACCOUNTINGS, GAUSSIAN
from unlisted.noise.gaussian.gaussian_dp import mu_squared_of_range_up
from unlisted.noise.gaussian.normal import normal_delta_up
from unlisted.privacy.accounting import ZCDP, Accounting

COUNTS = ul.counts(["soup", "bread", "tea"], [900, 500, 300], items_per_user=1)
KINDS = pytest.mark.parametrize("accounting", ACCOUNTINGS.values(), ids=str)


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "budget.db") as ledger:
        yield ledger


class TestOneKind:
    def test_it_is_in_the_chain_and_stays(self, ledger: Ledger) -> None:
        ledger.create_dataset("searches", budget=ul.Budget(epsilon=1, delta=1e-6), kind="gaussian")
        account = ledger.open("ads", dataset="searches", budget=ul.Budget(mu_squared="0.01", delta=1e-7))
        assert (ledger.dataset("searches").kind, account.terms.kind) == ("gaussian", "gaussian")
        opened, share = (json.loads(line) for line in ledger.export_lines())
        assert opened["body"]["kind"] == share["body"]["terms"]["kind"] == "gaussian"
        assert share["mu_squared"] == share["body"]["terms"]["mu_squared"] == "0.01"
        assert "rho" not in {*opened, *share, *share["body"]["terms"]}
        assert verify(ledger) == []

    def test_a_data_set_that_counts_rho_says_what_it_always_said(self, ledger: Ledger) -> None:
        """Else a chain of version 0.1 could not go on, nor be written again with equal hashes."""
        ledger.create_dataset("searches", budget=budget())
        ledger.open("ads", dataset="searches", budget=budget())
        opened, share = (json.loads(line) for line in ledger.export_lines())
        assert opened["body"] == {"failures": 20, "shares_source": False}
        assert share["body"] == {"terms": {"rho": "1", "delta": "0.000001"}, "failures": 3}

    def test_a_budget_in_mu_squared_says_the_kind(self, book: Ledger) -> None:
        assert (
            book.open("ads", dataset="searches", budget=ul.Budget(mu_squared=1, delta=1e-6)).accounting is GAUSSIAN
        )
        assert book.create_dataset("orders", budget=ul.Budget(mu_squared=1, delta=1e-6)).kind == "gaussian"

    @KINDS
    def test_an_account_has_the_kind_of_its_data_set(self, accounting: Accounting, book: Ledger) -> None:
        book.create_dataset("searches", budget=ul.Budget(epsilon=1, delta=1e-6), kind=accounting.name)
        assert book.open("a", dataset="searches", budget=ul.Budget(epsilon=1, delta=1e-6)).accounting is accounting
        other = next(one for one in ACCOUNTINGS.values() if one is not accounting)
        with pytest.raises(InvalidArgumentError, match="either of which may still have room, are no limit"):
            book.open("b", dataset="searches", budget=ul.Budget(epsilon=1, delta=1e-6), kind=other.name)
        with pytest.raises(InvalidArgumentError, match=f"given in epsilon or {accounting.option}"):
            book.open("b", dataset="searches", budget=budget("0.1", accounting=other))
        assert [one.name for _, one in book.accounts()] == ["a"]

    def test_an_unknown_kind_is_refused(self, book: Ledger) -> None:
        with pytest.raises(InvalidArgumentError, match="'zcdp' or 'gaussian'"):
            book.create_dataset("searches", budget=budget(), kind="renyi")
        assert book.datasets() == []

    @pytest.mark.parametrize(
        "change",
        [
            datasets.update().values(kind="zcdp"),
            datasets.update().values(kind="mystery"),
            accounts.update().values(terms='{"rho":"1","delta":"0.000001"}'),
            entries.update().where(entries.c.number == 1).values(body='{"failures":20,"shares_source":false}'),
        ],
        ids=["of the data set", "of no meaning", "of the account", "of the entry"],
    )
    def test_a_kind_that_was_changed_is_found(self, change: sa.Update, book: Ledger) -> None:
        book.create_dataset("searches", budget=budget(accounting=GAUSSIAN))
        book.open("ads", dataset="searches", budget=budget(accounting=GAUSSIAN))
        with book.store.writing() as connection:
            connection.execute(change)
        assert verify(book) != []

    def test_amounts_of_two_kinds_are_never_added(self) -> None:
        one, other = Amount(1, 1), Amount(1, 1, GAUSSIAN)
        for mixed in (lambda: one + other, lambda: one - other, lambda: one.fits(other), lambda: one.least(other)):
            with pytest.raises(LedgerError, match="cannot be added"):
                mixed()


class TestTotalsInEpsilon:
    @KINDS
    @pytest.mark.parametrize("epsilon", ["0.001", "0.5", "1", "8"])
    def test_half_of_delta_converts_and_nothing_more_would(self, accounting: Accounting, epsilon: str) -> None:
        total = amount_of(ul.Budget(epsilon=epsilon, delta=2e-8), accounting)
        loss, delta = total.exact
        assert delta == Fraction(1, 10**8)
        assert accounting.delta_up(loss, Fraction(epsilon)) <= delta
        assert accounting.delta_up(loss * Fraction(1001, 1000), Fraction(epsilon)) > delta
        assert total.epsilon(2 * delta) <= Fraction(epsilon)

    def test_gaussian_totals_hold_a_tenth_more(self) -> None:
        """The survey's ε at 1e-8: what theory promises for fixed questions with normal noise."""
        ratios = {
            epsilon: GAUSSIAN.loss_down(Fraction(epsilon), Fraction(1, 10**8))
            / (2 * ZCDP.loss_down(Fraction(epsilon), Fraction(1, 10**8)))
            for epsilon in ("0.5", "1", "2", "4", "8")
        }
        assert all(Fraction(109, 100) < ratio < Fraction(113, 100) for ratio in ratios.values())

    @pytest.mark.parametrize("epsilon", ["1", "4"])
    def test_as_many_more_questions_are_really_answered(self, epsilon: str, book: Ledger) -> None:
        """The same histogram, with about the same noise, until the account refuses."""
        answered, noise = {}, []
        each = ZCDP.loss_down(Fraction(epsilon), Fraction(1, 10**8)) / 30
        for accounting in ACCOUNTINGS.values():
            total = ul.Budget(epsilon=epsilon, delta=2e-8)
            account = book.open(
                accounting.name, dataset=f"of {accounting.name}", budget=total, kind=accounting.name
            )
            asked = budget(each * (1 if accounting is ZCDP else 2), "1e-12", accounting)
            plan = COUNTS.histogram(budget=asked, noise="gaussian", account=account)
            noise.append(plan.mechanism.law.stddev)
            answered[accounting.name] = _until_refused(plan)
        assert answered["zcdp"] == 30
        assert 1.09 <= answered["gaussian"] / answered["zcdp"] <= 1.13
        assert max(noise) <= 1.01 * min(noise), "whole-number noise has a little more μ² than normal noise"
        assert verify(book) == []

    def test_a_total_too_small_to_spend_is_refused(self, book: Ledger) -> None:
        with pytest.raises(InvalidArgumentError, match="large enough for some"):
            book.open("ads", dataset="searches", budget=ul.Budget(epsilon="1e-60", delta="1e-300"))


class TestPaying:
    @KINDS
    def test_what_a_plan_costs_is_what_is_charged(self, accounting: Accounting, book: Ledger) -> None:
        book.create_dataset("searches", budget=ul.Budget(epsilon=8, delta=1e-6), kind=accounting.name)
        account = book.open("ads", dataset="searches", budget=ul.Budget(epsilon=8, delta=1e-6))
        plan = COUNTS.histogram(budget=ul.Budget(epsilon="0.5", delta=1e-8), account=account)
        release = plan.run()
        assert account.balance().account.used == Amount.charge(plan.guarantee, accounting)
        assert accounting.charge(release.spent) == accounting.charge(plan.guarantee)
        assert release.receipt()["spent"].keys() == {accounting.option, "delta"}
        assert f"Charged: {accounting.symbol} = " in str(release)
        assert release.guarantee.epsilon("1e-8") <= Fraction(1, 2)
        assert ul.Release.from_bytes(release.to_bytes()).guarantee == release.guarantee
        assert verify(book) == []

    def test_a_plan_is_calibrated_for_its_account(self, book: Ledger) -> None:
        """The same (ε, δ) with less noise, because nothing is lost in the conversion."""
        asked = ul.Budget(epsilon="0.5", delta=1e-8)
        plans = {}
        for accounting in ACCOUNTINGS.values():
            account = book.open(accounting.name, dataset=accounting.name, budget=asked, kind=accounting.name)
            plans[accounting] = COUNTS.histogram(budget=asked, noise="gaussian", account=account)
        variances = {kind: plan.mechanism.law.variance for kind, plan in plans.items()}
        assert variances[GAUSSIAN] < Fraction(95, 100) * variances[ZCDP]
        assert plans[GAUSSIAN].mechanism.threshold <= plans[ZCDP].mechanism.threshold
        promised = plans[GAUSSIAN].guarantee
        assert promised.delta + normal_delta_up(promised.mu_squared, asked.epsilon) <= asked.delta
        assert "by μ² converted" in plans[GAUSSIAN].reason
        assert "Gaussian DP with μ² = " in str(plans[GAUSSIAN])

    @pytest.mark.parametrize("counts", [False, True])
    def test_a_ranking_pays_for_its_draws(self, counts: bool, book: Ledger) -> None:
        account = book.open("ads", dataset="searches", budget=ul.Budget(mu_squared=1, delta=1e-6))
        plan = COUNTS.top(k=3, fetch=2, budget=ul.Budget(epsilon=2, delta=1e-8), counts=counts, account=account)
        release = plan.run()
        draws = len(release) + (not release.complete)
        assert release.spent.mu_squared == plan.mechanism.mu_squared(draws) <= plan.guarantee.mu_squared
        each = mu_squared_of_range_up(plan.mechanism.epsilon)
        assert plan.mechanism.mu_squared(2) - plan.mechanism.mu_squared(1) == each

    def test_results_and_questions(self, book: Ledger) -> None:
        """As many results as were bought fit exactly, and not one more."""
        total = ResultsBudget(results=3, questions=2, epsilon="0.5", delta="1e-8")
        account = book.open("ads", dataset="searches", budget=total, kind="gaussian")
        one = cost(mu_squared_of_range_up(Fraction(1, 2)), Fraction(0), GAUSSIAN)
        for name in ("a", "b", "c"):
            account.pay(charge(name, ceiling=one), lambda: (b"r", one))
        with pytest.raises(BudgetRefusedError):
            account.pay(charge("d", ceiling=one), lambda: (b"r", one))

    def test_a_mechanism_that_has_only_a_rho_is_refused_with_the_way_out(self, book: Ledger) -> None:
        account = book.open("ads", dataset="searches", budget=ul.Budget(mu_squared=1, delta=1e-6))
        with pytest.raises(
            InvalidArgumentError, match="No μ² follows from a ρ alone: ask from an account of kind 'z"
        ):
            account.pay(charge("q", ceiling=ul.Guarantee(Fraction(1, 100), Fraction(1, 10**9))), _never)
        assert account.balance().account.used.texts == ("0", "0")

    def test_an_epsilon_of_its_own_is_enough(self, book: Ledger) -> None:
        """A mechanism of yours that proves an (ε, δ) is priced by the conversion that is tight for it."""
        direct = ul.EpsilonDelta(Fraction(1, 10), Fraction(1, 10**8))
        asked = ul.Guarantee(Fraction(1), Fraction(1, 10**9), direct)
        account = book.open("ads", dataset="searches", budget=ul.Budget(mu_squared=1, delta=1e-6))
        account.pay(charge("q", ceiling=asked), lambda: (b"r", asked))
        loss, delta = account.balance().account.used.exact
        assert loss == mu_squared_of_range_up(Fraction(1, 5))
        assert delta == Fraction(1, 10**8)

    def test_a_stream_is_paid_in_mu_squared(self, tmp_path: Path, book: Ledger) -> None:
        account = book.open("ads", dataset="searches", budget=ul.Budget(mu_squared=1, delta=1e-6))
        asked = ul.Budget(rho="0.1", delta="1e-8")
        told = {"rounds": 4, "items_per_event": 1, "unit": "event", "round_length": "1 hour", "budget": asked}
        told["account"] = account
        with pytest.raises(InvalidArgumentError, match="No μ² follows from a ρ alone"):
            ul.Stream.create(tmp_path / "correlated", **told)
        assert not (tmp_path / "correlated").exists()
        stream = ul.Stream.create(tmp_path / "s", noise="tree", **told)
        used = account.balance().account.used.exact[0]
        assert 2 * stream.guarantee.rho < used < Fraction(5, 2) * stream.guarantee.rho

    def test_every_mechanism_of_ours_says_its_own(self) -> None:
        assert [one.__name__ for one in MECHANISMS if one.mu_squared is Mechanism.mu_squared] == []


class TestShown:
    @KINDS
    def test_a_balance_names_its_currency(self, accounting: Accounting, book: Ledger) -> None:
        account = book.open("ads", dataset="searches", budget=budget("1", accounting=accounting))
        assert account.balance().more_like_last is None
        account.pay(charge("q", "0.3", accounting=accounting), lambda: (b"r", cost("0.1", accounting=accounting)))
        shown = balance_as_dict(account.balance())
        assert shown["kind"] == accounting.name
        assert shown["spent"][accounting.option] == "0.1"
        assert shown["left"][accounting.option] == shown["dataset_left"][accounting.option] == "0.9"
        assert shown["more_like_last"] == 3, "like the ceiling of the last one, not like what it used"
        assert said(account.balance().left).startswith(f"{accounting.symbol} = 0.9, ")

    @KINDS
    def test_a_refusal_says_how_many_more_fit(self, accounting: Accounting, book: Ledger) -> None:
        book.create_dataset("searches", budget=budget("1", accounting=accounting))
        account = book.open("ads", dataset="searches", budget=budget("1", "2.5e-9", accounting=accounting))
        for name in ("a", "b"):
            account.pay(
                charge(name, "0.1", accounting=accounting), lambda: (b"r", cost("0.1", accounting=accounting))
            )
        with pytest.raises(BudgetRefusedError, match=f"cost {accounting.symbol} = 0.1 .+ too little δ"):
            account.pay(charge("c", "0.1", accounting=accounting), _never)

    def test_a_charge_that_was_stopped_is_said_in_mu_squared(self, book: Ledger) -> None:
        account = book.open("ads", dataset="searches", budget=budget("1", accounting=GAUSSIAN))

        def stop() -> tuple[bytes, ul.Guarantee]:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt) as stopped:
            account.pay(charge("q", "0.3", accounting=GAUSSIAN), stop)
        assert "was charged μ² = 0.3" in stopped.value.__notes__[0]


def _until_refused(plan: ul.Plan) -> int:
    """Run a plan until nothing is left for it; return how often that was."""
    for times in range(1000):
        try:
            plan.run()
        except BudgetRefusedError:
            return times
    raise AssertionError


def _never() -> tuple[bytes, ul.Guarantee]:
    raise AssertionError("data was touched")
