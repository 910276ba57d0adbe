"""kill -9 at every step: a reservation is kept or never was, and nothing is refunded that was drawn."""

from __future__ import annotations

import os
import signal
from fractions import Fraction

import pytest
import sqlalchemy as sa
from tests.ledger.books import bill, budget, cost, delivers

from unlisted.errors import ChargedFailureError, LedgerError
from unlisted.ledger.amounts import NOTHING
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.verify import forfeit_abandoned, verify

DELIVERED, KILLED = 0, -signal.SIGKILL


def pay_and_die_at(url: str, step: int) -> int:
    """Pay in a child process that is killed before the database statement of this number; return how it ended."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        with Ledger(url) as own:
            account = own.account("ads")
            left = [step]

            def count_down(*_: object) -> None:
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

            for moment in ("before_cursor_execute", "commit"):
                sa.event.listen(own.store._engine, moment, count_down)
            account.pay(bill(f"step {step}", rho="0.1"), delivers(used=cost("0.04")))
    finally:
        os._exit(DELIVERED)


def test_a_kill_at_any_step_loses_nothing_and_refunds_nothing_wrongly(ledger, ledger_url):
    ledger.open("ads", dataset="searches", budget=budget("10"))
    spent, seen = Fraction(0), set()
    for step in range(1, 60):
        ended = pay_and_die_at(ledger_url, step)
        with Ledger(ledger_url) as fresh:
            before = fresh.account("ads").balance().account
            found = forfeit_abandoned(fresh)
            after = fresh.account("ads").balance().account
            assert verify(fresh) == []
        # Forfeiting is book-keeping: what may still be spent is the same before and after.
        assert after.left == before.left
        assert after.reserved.rho == 0
        charged = after.used.guarantee().rho - spent
        spent += charged
        if ended == DELIVERED:
            assert (charged, found) == (Fraction("0.04"), 0)
            break
        assert ended == KILLED
        # Before the reservation was committed: nothing. After: the whole ceiling. After settling: what was used.
        assert (charged, found) in {(Fraction(0), 0), (Fraction("0.1"), 1), (Fraction("0.04"), 0)}
        seen.add(charged)
    else:
        pytest.fail("the payment never came to an end")
    assert {Fraction(0), Fraction("0.1")} <= seen


def test_a_reservation_of_a_dead_process_is_found_and_forfeited_never_refunded(ledger, ledger_url):
    account = ledger.open("ads", dataset="searches", budget=budget("1"))
    child = os.fork()
    if not child:
        with Ledger(ledger_url) as own:
            own.account("ads").pay(bill("q"), lambda: os._exit(0))
    os.waitpid(child, 0)
    assert account.balance().account.reserved.texts[0] == "0.1"
    assert forfeit_abandoned(ledger) == 1
    assert forfeit_abandoned(ledger) == 0
    assert account.balance().account.used.texts[0] == "0.1"
    assert verify(ledger) == []


def test_a_full_disk_before_the_reservation_costs_nothing(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.open("ads", dataset="searches", budget=budget())
        with ledger.store.writing() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
        long_name = "q" * 100_000
        with pytest.raises(LedgerError, match=r"the disk is full.*Nothing was written"):
            account.pay(bill(long_name), delivers())
        assert account.balance().left.texts[0] == "1"
        assert verify(ledger) == []


def test_a_full_disk_at_settling_is_charged_and_lost(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.open("ads", dataset="searches", budget=budget())

        def fill_the_disk():
            with ledger.store.writing() as connection:
                pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
                connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
            return b"x" * 1_000_000, cost("0.1")

        with pytest.raises(ChargedFailureError):
            account.pay(bill("q"), fill_the_disk)
        ledger.store.close()
        assert account.balance().left.texts[0] == "0.9"
        assert verify(ledger) == []


def test_an_answer_that_cannot_be_stored_is_forfeited_and_can_be_asked_again(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.create_dataset("searches", budget=budget(), version="november")
        account = ledger.open("ads", dataset="searches", budget=budget())
        with pytest.raises(ChargedFailureError):
            account.pay(bill("q", rho="0.1"), delivers(used=cost("0.2")))
        assert account.balance().account.reserved == NOTHING
        assert account.pay(bill("q"), delivers()).release == b"a release"
        assert account.balance().left.texts[0] == "0.8"
        assert verify(ledger) == []


def test_a_ledger_that_is_lost_while_answering_does_not_block_the_question(ledger):
    ledger.create_dataset("searches", budget=budget(), version="november")
    account = ledger.open("ads", dataset="searches", budget=budget())

    def unreachable(*_: object) -> None:
        raise LedgerError("The ledger could not be used.")

    def lose_the_ledger():
        sa.event.listen(ledger.store._engine, "before_cursor_execute", unreachable)
        return b"lost", cost("0.1")

    with pytest.raises(ChargedFailureError):
        account.pay(bill("q"), lose_the_ledger, "monday")
    sa.event.remove(ledger.store._engine, "before_cursor_execute", unreachable)
    assert account.balance().account.reserved.texts[0] == "0.1"
    with pytest.raises(ChargedFailureError):
        account.pay(bill("q"), delivers(), "monday")
    assert account.pay(bill("q"), delivers(), "tuesday").release == b"a release"
    assert account.balance().account.reserved == NOTHING
    assert account.balance().left.texts[0] == "0.8"
    assert verify(ledger) == []


def test_a_read_only_file_is_a_clear_error(tmp_path):
    path = tmp_path / "budget.db"
    with Ledger(path) as ledger:
        ledger.open("ads", dataset="searches", budget=budget())
    with Ledger(f"sqlite:///file:{path}?mode=ro&uri=true") as ledger:
        account = ledger.account("ads")
        with pytest.raises(LedgerError, match="cannot be written to"):
            account.pay(bill("q"), delivers())


def test_a_file_that_is_no_ledger_is_a_clear_error(tmp_path):
    path = tmp_path / "budget.db"
    path.write_bytes(b"this is not a database" * 100)
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger(path)
