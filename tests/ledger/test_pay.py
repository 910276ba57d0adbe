"""Reserve, run, settle: what is charged, what comes back, and what stays when things go wrong."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tests.ledger.books import Clock, budget, charge, charged, cost, delivers

from unlisted import Budget
from unlisted.errors import BudgetRefusedError, ChargedFailureError, InvalidArgumentError, LedgerError
from unlisted.ledger.leases import forfeit
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.terms import ResultsBudget
from unlisted.ledger.verify import verify
from unlisted.privacy.convert import delta_cks_up


def left(ledger: Ledger, account: str = "ads") -> tuple[str, str]:
    return ledger.account(account).balance().left.texts


def test_settling_returns_what_was_not_used(ledger):
    account = ledger.open("ads", dataset="searches", budget=budget())
    account.pay(charge("q", "0.5"), delivers(used=cost("0.2")))
    assert left(ledger) == ("0.8", "0.000000999")
    assert verify(ledger) == []


def test_delta_of_a_settled_question_is_what_it_used(ledger):
    account = ledger.open("ads", dataset="searches", budget=budget())
    account.pay(charge("q", "0.5", delta="1e-7"), delivers(used=cost("0.2", "1e-7")))
    assert left(ledger)[1] == "0.0000009"


def test_a_question_that_does_not_fit_is_refused_and_costs_nothing(ledger):
    account = ledger.open("ads", dataset="searches", budget=budget("1"))
    per_result = cost("0.00125", "0")
    with pytest.raises(BudgetRefusedError, match=r"enough for 800 more results at ε = 0\.1.*Nothing was charged"):
        account.pay(charge("q", "1.1", result=per_result, result_epsilon=Fraction(1, 10)), delivers())
    assert left(ledger) == ("1", "0.000001")


def test_no_results_are_spoken_of_where_not_one_fits_and_none_was_promised(ledger):
    account = ledger.open("ads", dataset="searches", budget=budget("1"))
    with pytest.raises(BudgetRefusedError, match="too little ρ") as refusal:
        account.pay(charge("q", "2", result=cost("2", "0"), result_epsilon=Fraction(4)), delivers())
    assert "results at" not in str(refusal.value)


def test_delta_alone_can_be_what_is_short(ledger):
    account = ledger.open("ads", dataset="searches", budget=budget("1", "1e-9"))
    account.pay(charge("one", delta="1e-9"), delivers())
    with pytest.raises(BudgetRefusedError, match="too little δ"):
        account.pay(charge("two", delta="1e-9"), delivers())


def test_accounts_together_cannot_exceed_the_data_set(ledger):
    ledger.create_dataset("searches", budget=budget("1"))
    one = ledger.open("one", dataset="searches", budget=budget("0.8"))
    two = ledger.open("two", dataset="searches", budget=budget("0.8"))
    one.pay(charge("a", "0.8"), delivers(rho="0.8"))
    with pytest.raises(BudgetRefusedError, match="data set 'searches', which all its accounts share"):
        two.pay(charge("b", "0.3"), delivers())
    two.pay(charge("c", "0.2"), delivers(rho="0.2"))
    assert ledger.dataset("searches").left == charged(cost("0", "0.000000998"))


@pytest.mark.parametrize("failure", [RuntimeError("boom"), KeyboardInterrupt(), SystemExit(1)])
def test_a_failure_after_data_was_touched_is_charged_in_full(ledger, failure):
    account = ledger.open("ads", dataset="searches", budget=budget())

    def fails():
        raise failure

    with pytest.raises(type(failure)):
        account.pay(charge("q", "0.3"), fails)
    assert left(ledger) == ("0.7", "0.000000999")
    assert [entry.kind for entry in ledger.history(account="ads")] == ["opened", "reserved", "forfeited"]
    assert verify(ledger) == []


def test_using_more_than_was_reserved_is_charged_and_lost(ledger):
    account = ledger.open("ads", dataset="searches", budget=budget())
    with pytest.raises(ChargedFailureError):
        account.pay(charge("q", "0.1"), delivers(used=cost("0.2")))
    assert left(ledger)[0] == "0.9"


def test_a_reservation_forfeited_meanwhile_cannot_be_settled(ledger):
    account = ledger.open("ads", dataset="searches", budget=budget())

    def slow():
        reserved = ledger.history(account="ads")[-1]
        with ledger.changing("searches", "ads") as change:
            forfeit(change, reserved.number)
        return b"too late", cost("0.1")

    with pytest.raises(ChargedFailureError):
        account.pay(charge("q"), slow)
    assert left(ledger)[0] == "0.9"
    assert verify(ledger) == []


class TestRepeats:
    def test_the_same_question_on_the_same_version_is_free_and_the_same_bytes(self, ledger):
        ledger.create_dataset("searches", budget=budget(), version="november")
        account = ledger.open("ads", dataset="searches", budget=budget())
        first = account.pay(charge("q"), delivers(b"first"))
        again = account.pay(charge("q"), delivers(b"second"))
        assert again == first
        assert left(ledger)[0] == "0.9"

    def test_a_new_version_is_a_new_question(self, ledger):
        ledger.create_dataset("searches", budget=budget(), version="november")
        account = ledger.open("ads", dataset="searches", budget=budget())
        account.pay(charge("q"), delivers(b"first"))
        ledger.declare_version("searches", "december")
        assert account.pay(charge("q"), delivers(b"second")).release == b"second"
        assert left(ledger)[0] == "0.8"
        assert verify(ledger) == []

    def test_without_a_version_nothing_is_replayed(self, ledger):
        account = ledger.open("ads", dataset="searches", budget=budget())
        account.pay(charge("q"), delivers(b"first"))
        assert account.pay(charge("q"), delivers(b"second")).release == b"second"

    def test_another_account_pays_for_itself(self, ledger):
        ledger.create_dataset("searches", budget=budget(), version="november")
        ledger.open("ads", dataset="searches", budget=budget()).pay(charge("q"), delivers(b"first"))
        other = ledger.open("ops", dataset="searches", budget=budget())
        assert other.pay(charge("q"), delivers(b"second")).release == b"second"

    def test_an_idempotency_key_returns_the_first_answer(self, ledger):
        account = ledger.open("ads", dataset="searches", budget=budget())
        first = account.pay(charge("q"), delivers(b"first"), "key")
        assert account.pay(charge("q"), delivers(b"second"), "key") == first
        with pytest.raises(InvalidArgumentError, match="one question only"):
            account.pay(charge("other"), delivers(), "key")
        assert left(ledger)[0] == "0.9"

    def test_a_key_whose_first_try_failed_stays_failed(self, ledger):
        account = ledger.open("ads", dataset="searches", budget=budget())
        with pytest.raises(ZeroDivisionError):
            account.pay(charge("q"), lambda: 1 / 0, "key")
        with pytest.raises(ChargedFailureError):
            account.pay(charge("q"), delivers(), "key")
        assert left(ledger)[0] == "0.9"

    def test_the_same_question_asked_while_it_is_being_answered_is_refused(self, ledger):
        ledger.create_dataset("searches", budget=budget(), version="november")
        account = ledger.open("ads", dataset="searches", budget=budget())

        def meanwhile():
            with pytest.raises(LedgerError, match="being answered right now"):
                account.pay(charge("q"), delivers())
            return b"first", cost("0.1")

        assert account.pay(charge("q"), meanwhile).release == b"first"
        assert left(ledger)[0] == "0.9"


class TestTerms:
    def test_survey_budget(self, ledger):
        said = ResultsBudget(results=100, questions=10, epsilon="0.1", delta="1e-9")
        account = ledger.open("ads", dataset="searches", budget=said)
        assert left(ledger) == ("0.125", "0.00000001")
        assert (account.result_epsilon, account.question_delta) == (Fraction(1, 10), Fraction(1, 10**9))

    def test_opening_again_attaches_with_equal_terms_only(self, ledger):
        ledger.open("ads", dataset="searches", budget=budget("0.5"))
        assert ledger.open("ads", dataset="searches", budget=budget("0.50")).name == "ads"
        with pytest.raises(InvalidArgumentError, match="Terms never change"):
            ledger.open("ads", dataset="searches", budget=budget("0.6"))
        with pytest.raises(InvalidArgumentError, match="opened on"):
            ledger.open("ads", dataset="orders", budget=budget("0.5"))

    def test_an_account_on_an_unknown_data_set_opens_it_with_its_budget(self, ledger):
        ledger.open("ads", dataset="searches", budget=budget("0.5"))
        assert ledger.dataset("searches").total == charged(cost("0.5", "1e-6"))

    def test_a_budget_in_epsilon_is_the_largest_rho_that_keeps_it(self, ledger):
        account = ledger.open("ads", dataset="searches", budget=Budget(epsilon=1, delta=1e-6))
        rho, delta = account.terms.total.exact
        assert delta == Fraction(1, 2 * 10**6)
        assert delta_cks_up(rho, 1) <= delta < delta_cks_up(rho * Fraction(1001, 1000), 1)

    @pytest.mark.parametrize("changed", [{"unit": "visitor"}, {"adjacency": "replace"}, {"source": "other.csv"}])
    def test_a_question_about_something_else_is_refused(self, ledger, changed):
        account = ledger.open("ads", dataset="searches", budget=budget())
        account.pay(charge("q"), delivers())
        with pytest.raises(InvalidArgumentError, match="which the data set 'searches' is about"):
            account.pay(charge("other", **changed), delivers())
        assert left(ledger)[0] == "0.9"

    def test_a_closed_account_refuses(self, ledger):
        account = ledger.open("ads", dataset="searches", budget=budget())
        ledger.close_account("ads")
        with pytest.raises(BudgetRefusedError, match="is closed"):
            account.pay(charge("q"), delivers())
        with pytest.raises(InvalidArgumentError, match="closed before"):
            ledger.close_account("ads")


class TestPeriods:
    def test_the_allowance_starts_anew_and_the_total_does_not(self, ledger, clock: Clock):
        account = ledger.open(
            "ads", dataset="searches", budget=budget("0.5"), period="month", period_budget=budget("0.2")
        )
        account.pay(charge("a", "0.2"), delivers(rho="0.2"))
        with pytest.raises(BudgetRefusedError, match="in 2026-11"):
            account.pay(charge("b"), delivers())
        clock.move(days=31)
        account.pay(charge("c", "0.2"), delivers(rho="0.2"))
        clock.move(days=31)
        with pytest.raises(BudgetRefusedError):
            account.pay(charge("d", "0.2"), delivers())
        assert left(ledger)[0] == "0.1"
        assert verify(ledger) == []

    def test_a_clock_moved_back_gives_no_second_allowance(self, ledger, clock: Clock):
        account = ledger.open(
            "ads", dataset="searches", budget=budget("1"), period="month", period_budget=budget("0.2")
        )
        clock.move(days=31)
        account.pay(charge("a", "0.2"), delivers(rho="0.2"))
        clock.move(days=-31)
        with pytest.raises(BudgetRefusedError):
            account.pay(charge("b"), delivers())
        times = [entry.time for entry in ledger.history("searches")]
        assert times == sorted(times)

    def test_a_refund_goes_back_to_the_period_it_came_from(self, ledger, clock: Clock):
        account = ledger.open(
            "ads", dataset="searches", budget=budget("1"), period="day", period_budget=budget("0.2")
        )

        def over_midnight():
            clock.move(days=1)
            account.pay(charge("next day", "0.2"), delivers(rho="0.2"))
            return b"late", cost("0.05")

        account.pay(charge("a", "0.2"), over_midnight)
        assert ledger.account("ads").balance().left_in_period == charged(cost("0", "0.000000999"))
        assert verify(ledger) == []
