"""kill -9 at every step: a reservation is kept or never was, and nothing is refunded that was drawn."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest
import sqlalchemy as sa
from tests.ledger.books import budget, charge, cost, delivers, held_up

from unlisted.errors import ChargedFailureError, LedgerError
from unlisted.ledger import account as account_module
from unlisted.ledger.amounts import NOTHING
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.verify import verify

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
            account.pay(charge(f"step {step}", "0.1"), delivers(used=cost("0.04")))
    finally:
        os._exit(DELIVERED)


def test_a_kill_at_any_step_loses_nothing_and_refunds_nothing_wrongly(ledger, ledger_url):
    ledger.create_dataset("searches", budget=budget("10"), failures=100)
    ledger.open("ads", dataset="searches", budget=budget("10"), failures=99)
    spent, seen, failures = Fraction(0), set(), 0
    for step in range(1, 60):
        ended = pay_and_die_at(ledger_url, step)
        with Ledger(ledger_url) as fresh:
            before = fresh.account("ads").balance().account
            found = fresh.forfeit_abandoned()
            after = fresh.account("ads").balance().account
            assert verify(fresh) == []
        # Forfeiting is book-keeping: what may still be spent is the same before and after.
        assert after.left == before.left
        assert after.reserved.loss == 0
        # Whoever died over a question has failed, once, however often somebody looks.
        failures += found
        assert (after.failures.seen, after.failures.open) == (failures, 0)
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
            own.account("ads").pay(charge("q"), lambda: os._exit(0))
    os.waitpid(child, 0)
    assert account.balance().account.reserved.texts[0] == "0.1"
    assert ledger.forfeit_abandoned() == 1
    assert ledger.forfeit_abandoned() == 0
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
            account.pay(charge(long_name), delivers())
        assert account.balance().left.texts[0] == "1"
        assert verify(ledger) == []


def test_a_full_disk_at_settling_is_charged_and_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(account_module, "_BETWEEN_SETTLINGS", (0.01,))
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.open("ads", dataset="searches", budget=budget())

        def fill_the_disk():
            with ledger.store.writing() as connection:
                pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
                connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
            return b"x" * 1_000_000, cost("0.1")

        with pytest.raises(ChargedFailureError):
            account.pay(charge("q"), fill_the_disk)
        ledger.store.close()
        assert account.balance().left.texts[0] == "0.9"
        assert verify(ledger) == []


def test_an_answer_that_cannot_be_stored_is_forfeited_and_can_be_asked_again(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.create_dataset("searches", budget=budget(), version="november")
        account = ledger.open("ads", dataset="searches", budget=budget())
        with pytest.raises(ChargedFailureError):
            account.pay(charge("q", "0.1"), delivers(used=cost("0.2")))
        assert account.balance().account.reserved == NOTHING
        assert account.pay(charge("q"), delivers()).release == b"a release"
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
        account.pay(charge("q"), lose_the_ledger, "monday")
    sa.event.remove(ledger.store._engine, "before_cursor_execute", unreachable)
    assert account.balance().account.reserved.texts[0] == "0.1"
    with pytest.raises(ChargedFailureError):
        account.pay(charge("q"), delivers(), "monday")
    assert account.pay(charge("q"), delivers(), "tuesday").release == b"a release"
    assert account.balance().account.reserved == NOTHING
    assert account.balance().left.texts[0] == "0.8"
    assert verify(ledger) == []


def test_a_kill_while_many_are_booked_together_keeps_all_of_them_or_none(ledger, ledger_url):
    names = [f"team {number}" for number in range(3)]
    for name in names:
        ledger.open(name, dataset="searches", budget=budget("10"))
    seen = set()
    for step in range(1, 20):
        ended = _pay_together_and_die_at(ledger_url, names, step)
        reserved = [ledger.account(name).balance().account.reserved.texts[0] for name in names]
        assert len(set(reserved)) == 1
        assert ledger.forfeit_abandoned() == (0 if reserved[0] == "0" else 3)
        assert verify(ledger) == []
        seen.add((ended, reserved[0]))
        if ended == DELIVERED:
            break
    assert seen == {(KILLED, "0"), (DELIVERED, "0.1")}


def _pay_together_and_die_at(url: str, names: list[str], step: int) -> int:
    """Ask for several accounts at once in a child that is killed at a statement, or else when all are reserved."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        with Ledger(url) as own, ThreadPoolExecutor(len(names)) as threads:
            accounts = [own.account(name) for name in names]
            reserved = threading.Barrier(len(names), action=lambda: os._exit(DELIVERED))
            left = [step]

            def count_down(*_: object) -> None:
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

            with held_up(accounts[0]) as wait_for:
                for account in accounts:
                    threads.submit(account.pay, charge(f"step {step}", "0.1"), reserved.wait)
                wait_for(len(names))
                for moment in ("before_cursor_execute", "commit"):
                    sa.event.listen(own.store._engine, moment, count_down)
    finally:
        os._exit(9)


def _lose_the_next_commit(ledger: Ledger, *, kept: bool) -> None:
    """Cut the connection at the next commit, just before it reaches the server or just after."""

    def cut(connection: sa.Connection) -> None:
        driver = connection.connection.driver_connection
        if kept:
            driver.execute("COMMIT")
        driver.close()

    sa.event.listen(ledger.store._engine, "commit", cut, once=True)


@pytest.mark.parametrize("kept", [True, False])
def test_a_connection_lost_at_the_commit_of_a_reservation_promises_nothing(postgres_ledger, kept):
    ledger = postgres_ledger
    ledger.create_dataset("searches", budget=budget(), version="november")
    account = ledger.open("ads", dataset="searches", budget=budget())
    _lose_the_next_commit(ledger, kept=kept)
    with pytest.raises(LedgerError, match=r"may or may not have been booked.*ledger history") as told:
        account.pay(charge("q"), delivers(b"never drawn"))
    assert "Nothing was written" not in str(told.value)
    assert account.balance().account.reserved.texts[0] == ("0.1" if kept else "0")
    # Asked again, what was reserved is forfeited: this process will not settle it.
    assert account.pay(charge("q"), delivers()).release == b"a release"
    assert account.balance().account.used.texts[0] == ("0.2" if kept else "0.1")
    assert verify(ledger) == []


@pytest.mark.parametrize("kept", [True, False])
def test_a_connection_lost_at_the_commit_of_an_answer_loses_nothing(postgres_ledger, kept):
    """What was stored is never called failed, and what was not is stored now."""
    ledger = postgres_ledger
    ledger.create_dataset("searches", budget=budget(), version="november")
    account = ledger.open("ads", dataset="searches", budget=budget())

    def lose_the_answer():
        _lose_the_next_commit(ledger, kept=kept)
        return b"drawn once", cost("0.1")

    assert account.pay(charge("q"), lose_the_answer).release == b"drawn once"
    assert account.balance().account.used.texts[0] == "0.1"
    assert account.pay(charge("q"), delivers(b"drawn later")).release == b"drawn once"
    assert [entry.kind for entry in ledger.history()].count("settled") == 1
    assert verify(ledger) == []


def test_a_read_only_file_is_a_clear_error(tmp_path):
    path = tmp_path / "budget.db"
    with Ledger(path) as ledger:
        ledger.open("ads", dataset="searches", budget=budget())
    with Ledger(f"sqlite:///file:{path}?mode=ro&uri=true") as ledger:
        account = ledger.account("ads")
        with pytest.raises(LedgerError, match="cannot be written to"):
            account.pay(charge("q"), delivers())


def test_a_file_that_is_no_ledger_is_a_clear_error(tmp_path):
    path = tmp_path / "budget.db"
    path.write_bytes(b"this is not a database" * 100)
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger(path)
