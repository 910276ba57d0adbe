"""Mistakes that other ledgers made, each a test with the name of what went wrong."""

from __future__ import annotations

import os
import signal
from fractions import Fraction
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.fixtures.kitchen import BUDGET, COMMON, asked
from tests.ledger.books import Clock, budget, charge, cost, delivers

import unlisted as ul
from unlisted.cli.account import create
from unlisted.errors import BudgetRefusedError, ChargedFailureError
from unlisted.ledger import schema
from unlisted.ledger.amounts import PLACES, Amount
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.schema import accounts, datasets, entries, questions
from unlisted.ledger.verify import verify

ROOT = Path(__file__).parents[2]
UNIT = Fraction(1, 10**PLACES)


class TestFloats:
    @pytest.fixture
    def ledger_url(self, tmp_path: Path) -> str:
        """One store is enough: this is arithmetic."""
        return str(tmp_path / "budget.db")

    def test_a_budget_refused_for_its_last_binary_digit(self, ledger: Ledger) -> None:
        """OpenDP #2789: "insufficient budget 0.024499999999999997 > 0.024499999999999987"."""
        assert 0.1 + 0.2 > 0.3, "as floats, three tenths do not hold a tenth and two"
        account = ledger.open("ads", dataset="searches", budget=ul.Budget(rho=0.3, delta=3e-9))
        for rho in (0.1, 0.2):
            account.pay(charge(f"q{rho}", str(rho)), delivers(rho=str(rho)))
        assert account.balance().left.texts == ("0", "0.000000001")

    def test_a_thousand_equal_parts_make_the_whole(self, ledger: Ledger) -> None:
        account = ledger.open("ads", dataset="searches", budget=ul.Budget(rho=0.0245, delta=1e-8))
        for number in range(10):
            account.pay(charge(f"q{number}", "0.00245"), delivers(rho="0.00245"))
        assert account.balance().left == Amount()
        assert verify(ledger) == []

    def test_a_tiny_spend_is_not_lost_after_exhaustion(self, ledger: Ledger) -> None:
        """openmed #2457: once 1 - spent was 0, a spend below the last digit of a float was free for ever."""
        account = ledger.open("ads", dataset="searches", budget=budget("1"))
        account.pay(charge("all", "1"), delivers(rho="1"))
        for tiny in ("1e-17", "5e-324", "1e-400"):
            assert 1.0 + float(tiny) == 1.0
            with pytest.raises(BudgetRefusedError, match="too little ρ"):
                account.pay(charge("one more", tiny), delivers())

    def test_tiny_spends_add_up(self, ledger: Ledger) -> None:
        account = ledger.open("ads", dataset="searches", budget=budget("1"))
        account.pay(charge("first", "0.5"), delivers(rho="0.5"))
        for number in range(3):
            account.pay(charge(f"q{number}", "1e-400"), delivers(used=cost("1e-400")))
        assert account.balance().account.used.guarantee().rho == Fraction(1, 2) + 3 * UNIT, (
            "rounded up, never away"
        )

    def test_charges_round_up_and_budgets_down(self) -> None:
        third, digits = Fraction(1, 3), 40
        charged, allowed = Amount.charge(ul.Guarantee(third, third)), Amount.allowance(third, third)
        # Written out here: nothing of the program says what is right.
        assert (charged.loss, charged.delta) == (int("3" * (digits - 1) + "4"),) * 2
        assert (allowed.loss, allowed.delta) == (int("3" * digits),) * 2
        assert charged.texts == ("0." + "3" * (digits - 1) + "4",) * 2
        for part in ("rho", "delta"):
            assert third < getattr(charged.guarantee(), part) < third + UNIT
            assert third - UNIT < getattr(allowed.guarantee(), part) < third
        assert not (charged + charged + charged).fits(Amount.allowance(Fraction(1), Fraction(1)))

    @pytest.mark.parametrize(("rho", "delta"), [("1e-400", "0"), ("0", "1e-400")])
    def test_the_smallest_charge_of_either_kind_is_a_unit(self, rho: str, delta: str) -> None:
        found = Amount.charge(cost(rho, delta))
        assert (found.loss, found.delta) == (int(rho != "0"), int(delta != "0"))
        assert not found.fits(Amount.allowance(Fraction(0), Fraction(0)))

    def test_no_column_of_the_store_can_hold_a_float(self) -> None:
        kept = (datasets, accounts, entries, questions, schema.migrations)
        types = {type(column.type) for table in kept for column in table.columns}
        assert types <= {sa.Text, sa.BigInteger, sa.Boolean, sa.LargeBinary}


class TestCharging:
    def test_the_charge_comes_before_the_query(self, ledger: Ledger) -> None:
        """Lomas asked first and charged afterwards: whoever could stop it in between asked for nothing."""
        account = ledger.open("ads", dataset="searches", budget=budget("1"))
        seen = []

        def looks() -> tuple[bytes, ul.Guarantee]:
            seen.append(ledger.account("ads").balance().left.texts[0])
            return b"answer", cost("0.1")

        account.pay(charge("q", "0.4"), looks)
        assert seen == ["0.6"]

    def test_a_kill_between_reservation_and_release_is_not_free(self, ledger: Ledger, ledger_url: str) -> None:
        account = ledger.open("ads", dataset="searches", budget=budget("1"))
        _in_a_child(ledger_url, lambda own: own.pay(charge("q", "0.4"), _dies))
        assert account.balance().left.texts[0] == "0.6"
        assert ledger.forfeit_abandoned() == 1
        assert account.balance().left.texts[0] == "0.6"

    def test_a_crash_leaves_nobody_locked_out(self, ledger: Ledger, ledger_url: str) -> None:
        """Lomas set a flag for whoever was asking; a crash left it set."""
        ledger.create_dataset("searches", budget=budget("1"), version="november")
        account = ledger.open("ads", dataset="searches", budget=budget("1"))
        _in_a_child(ledger_url, lambda own: own.pay(charge("q", "0.4"), _dies))
        assert account.pay(charge("another"), delivers(b"yes")).release == b"yes"
        # Also for the very question that died: it is forfeited, asked again and charged again.
        assert account.pay(charge("q", "0.4"), delivers(b"at last", used=cost("0.4"))).release == b"at last"
        assert account.balance().left.texts[0] == "0.1"
        kinds = [entry.kind for entry in ledger.history(account="ads")]
        assert kinds.count("forfeited") == 1
        assert verify(ledger) == []

    def test_two_processes_race_for_the_last_unit(self, ledger: Ledger, ledger_url: str) -> None:
        account = ledger.open("ads", dataset="searches", budget=budget("1"))
        children = [_started(ledger_url, lambda own: own.pay(charge("q", "1"), delivers(rho="1"))) for _ in "ab"]
        ended = sorted(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)
        assert ended == [0, 3], "one is answered, one is refused"
        assert account.balance().left.loss == 0
        assert verify(ledger) == []

    def test_a_failed_query_is_not_refunded(self, ledger: Ledger) -> None:
        """BigQuery gives the budget of failed queries back: a failure that depends on a row is then free."""
        account = ledger.open("ads", dataset="searches", budget=budget("1"))
        with pytest.raises(ChargedFailureError):
            account.pay(charge("q", "0.4"), _fails)
        assert account.balance().left.texts[0] == "0.6"
        assert ledger.history(account="ads")[-1].kind == "forfeited"

    def test_a_question_is_never_priced_at_nothing(self, ledger: Ledger) -> None:
        """Lomas #310: some queries were priced at 0.0."""
        account = ledger.open("ads", dataset="kitchen", budget=budget("100", "0.01"))
        for ask in (
            lambda: asked().top("dish", k=1, budget=BUDGET, account=account),
            lambda: asked().histogram("dish", items_per_user=6, budget=BUDGET, account=account),
            lambda: asked().top_histogram("dish", items_per_user=6, budget=BUDGET, account=account),
        ):
            before = account.balance().account.used
            ask().run()
            charged = account.balance().account.used - before
            assert charged.loss > 0
            assert charged.delta > 0

    def test_the_end_of_a_ranking_is_charged(self, ledger: Ledger) -> None:
        """⊥ is a draw like any other: whoever does not charge it gives an answer about everybody away."""
        account = ledger.open("ads", dataset="kitchen", budget=budget("100", "0.01"))
        nothing = ul.counts([], [], items_per_user=6)
        release = nothing.top(k=5, per_item_epsilon=1, delta="1e-9", account=account).run()
        assert (len(release), release.complete) == (0, False)
        assert account.balance().account.used.guarantee().rho == Fraction(1, 8)

    def test_the_threshold_s_delta_is_in_the_book(self, ledger: Ledger) -> None:
        """Qrlew spent δ in the noise and in the threshold, and wrote it down once."""
        account = ledger.open("ads", dataset="kitchen", budget=budget("100", "0.01"))
        said = ul.Budget(rho="0.5", delta="1e-9")
        plan = asked().histogram("dish", items_per_user=6, budget=said, noise="gaussian", account=account)
        plan.run()
        spent = account.balance().account.used.guarantee()
        assert 0 < plan.guarantee.delta <= spent.delta <= said.delta
        assert 0 < plan.guarantee.rho <= spent.rho <= said.rho


class TestPeriods:
    @pytest.fixture
    def ledger_url(self, tmp_path: Path) -> str:
        """One store is enough: time is not its business."""
        return str(tmp_path / "budget.db")

    def test_a_clock_moved_back_at_the_refresh(self, ledger: Ledger, clock: Clock) -> None:
        account = ledger.open(
            "ads", dataset="searches", budget=budget("1"), period="month", period_budget=budget("0.2")
        )
        clock.move(days=16)
        account.pay(charge("december", "0.2"), delivers(rho="0.2"))
        # Back to November, to the autumn of the year before, and almost to December again: its allowance is spent.
        for back in (-16, -400, 415):
            clock.move(days=back)
            with pytest.raises(BudgetRefusedError, match="in 2026-12"):
                account.pay(charge("again", "0.1"), delivers())
        assert account.balance().account.used.texts[0] == "0.2"
        # A new month is a new allowance: it was the period that refused, and nothing else.
        clock.move(days=32)
        account.pay(charge("january", "0.1"), delivers(rho="0.1"))
        assert account.balance().account.used.texts[0] == "0.3"

    def test_refreshed_allowances_add_up_to_the_total_and_no_further(self, ledger: Ledger, clock: Clock) -> None:
        """Snowflake-like resets: an allowance that starts anew hides that the loss does not."""
        account = ledger.open(
            "ads", dataset="searches", budget=budget("0.5"), period="day", period_budget=budget("0.2")
        )
        answered = 0
        for day in range(6):
            try:
                account.pay(charge(f"day {day}", "0.2"), delivers(rho="0.2"))
                answered += 1
            except BudgetRefusedError:
                pass
            clock.move(days=1)
        assert answered == 2
        assert account.balance().left.texts[0] == "0.1"

    def test_accounts_add_up_on_their_data_set(self, ledger: Ledger) -> None:
        """Budgets of their own for each analyst: two who talk know twice as much."""
        ledger.create_dataset("searches", budget=budget("0.3"))
        one, two = (ledger.open(name, dataset="searches", budget=budget("0.2")) for name in ("one", "two"))
        one.pay(charge("q", "0.2"), delivers(rho="0.2"))
        assert two.balance().account.left.texts[0] == "0.2", "its own share is untouched"
        with pytest.raises(BudgetRefusedError, match="which all its accounts share"):
            two.pay(charge("q", "0.2"), delivers(rho="0.2"))

    def test_the_docs_and_the_help_say_that_loss_adds_up(self) -> None:
        page = " ".join((ROOT / "docs" / "ledger.md").read_text(encoding="utf-8").split())
        assert "Loss adds up across accounts and across periods" in page
        assert "Loss adds up: over all accounts, and over all periods" in " ".join((create.__doc__ or "").split())


class TestReplay:
    def test_a_replayed_answer_costs_nothing(self, ledger: Ledger) -> None:
        ledger.create_dataset("kitchen", budget=budget("100", "0.01"), version="november")
        account = ledger.open("ads", dataset="kitchen", budget=budget("100", "0.01"))
        plan = asked().top("dish", k=2, budget=BUDGET, account=account)
        first = plan.run()
        before, known = account.balance().left, len(ledger.history())
        for _ in range(3):
            assert plan.run().to_bytes() == first.to_bytes()
        assert (account.balance().left, len(ledger.history())) == (before, known)

    def test_an_answer_is_never_given_with_two_noises(self, ledger: Ledger) -> None:
        """Averaging repeated answers takes the noise away. Asked a hundred times, there is one answer."""
        ledger.create_dataset("kitchen", budget=budget("100", "0.01"), version="november")
        account = ledger.open("ads", dataset="kitchen", budget=budget("100", "0.01"))
        given = ul.counts(list(COMMON), list(COMMON.values()), items_per_user=6)
        answers = {given.histogram(budget=BUDGET, account=account).run().to_bytes() for _ in range(100)}
        assert len(answers) == 1


class TestTampering:
    RUBBISH = (
        entries.update().where(entries.c.number == 3).values(rho="a lot"),
        entries.update().where(entries.c.number == 3).values(body="{"),
        entries.update().where(entries.c.number == 3).values(kind="gift"),
        entries.update().where(entries.c.number == 3).values(time="yesterday"),
        accounts.update().values(rho_used="nothing"),
        accounts.update().values(terms="[]"),
        datasets.update().values(delta="1e-6"),
        questions.update().where(questions.c.reservation == 3).values(question="another"),
        questions.update().where(questions.c.reservation == 3).values(version="december"),
        questions.update().where(questions.c.reservation == 3).values(state="forfeited"),
        questions.update().where(questions.c.reservation == 3).values(state="rubbish"),
        accounts.delete(),
    )

    @pytest.mark.parametrize("change", RUBBISH, ids=range(len(RUBBISH)))
    def test_rubbish_in_a_row_is_found_and_is_no_crash(self, ledger: Ledger, change: sa.Update) -> None:
        ledger.create_dataset("searches", budget=budget(), version="november")
        ledger.open("ads", dataset="searches", budget=budget()).pay(charge("q"), delivers())
        assert verify(ledger) == []
        with ledger.store.writing() as connection:
            connection.execute(change)
        assert len(verify(ledger)) == 1
        assert verify(ledger)[0].startswith("data set 'searches': ")

    def test_a_chain_written_anew_that_overspends_is_found(self, ledger: Ledger) -> None:
        """Who can write the whole chain can forge hashes, and still cannot make too much fit."""
        account = ledger.open("ads", dataset="searches", budget=budget("0.1"))
        account.pay(charge("q", "0.1"), delivers())
        with ledger.changing("searches", "ads") as change:
            body = {"unit": "user", "adjacency": "add_remove", "source": "searches.parquet", "question": "free"}
            change.append("reserved", account="ads", amount=Amount.charge(cost("0.1")), body=body)
        assert "spends more than the data set's total" in verify(ledger)[0]

    @pytest.mark.parametrize(
        "stamp",
        [
            None,
            5,
            {},
            {"dataset": "searches"},
            {"dataset": "searches", "entry": "x", "hash": "y"},
            {"dataset": 1, "entry": 1, "hash": "y"},
            {"dataset": "searches", "entry": 10**30, "hash": "y"},
        ],
        ids=str,
    )
    def test_a_rubbish_receipt_is_no_crash(self, ledger: Ledger, stamp: object) -> None:
        ledger.open("ads", dataset="searches", budget=budget())
        assert len(verify(ledger, [{"ledger": stamp}])) == 1


def _dies() -> tuple[bytes, ul.Guarantee]:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


def _fails() -> tuple[bytes, ul.Guarantee]:
    raise ChargedFailureError


def _started(url: str, ask) -> int:
    """Ask in a child process; its exit code says how that ended."""
    child = os.fork()
    if child:
        return child
    code = 9
    try:
        with Ledger(url) as own:
            ask(own.account("ads"))
            code = 0
    except BudgetRefusedError:
        code = 3
    finally:
        os._exit(code)


def _in_a_child(url: str, ask) -> None:
    _, status = os.waitpid(_started(url, ask), 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
