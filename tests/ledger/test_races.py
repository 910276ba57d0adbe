"""Many hands reaching for the last unit: nothing is overspent, nothing is stranded."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tests.ledger.books import PATIENCE_SECONDS, budget, charge, cost, delivers

from unlisted.errors import BudgetRefusedError
from unlisted.ledger.account import Account
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.verify import verify

UNIT = "0.01"


def try_to_pay(account: Account, name: str) -> bool:
    try:
        account.pay(charge(name, UNIT, delta="1e-12"), delivers(used=cost(UNIT, "1e-12")))
    except BudgetRefusedError:
        return False
    return True


def test_two_hundred_threads_never_overspend_and_never_strand_budget(ledger):
    account = ledger.open("ads", dataset="searches", budget=budget("0.3"))
    together = threading.Barrier(200, timeout=PATIENCE_SECONDS)

    def one(number: int) -> bool:
        together.wait()
        return try_to_pay(account, f"q{number}")

    with ThreadPoolExecutor(200) as threads:
        paid = list(threads.map(one, range(200)))
    assert sum(paid) == 30
    assert account.balance().left.loss == 0
    assert verify(ledger) == []


def test_eight_processes_never_overspend_and_never_strand_budget(ledger, ledger_url):
    ledger.open("ads", dataset="searches", budget=budget("0.2"))

    def ask(own: Ledger, number: int) -> int:
        account = own.account("ads")
        return sum(try_to_pay(account, f"q{number}.{place}") for place in range(5))

    assert _answered_in_processes(ledger_url, 8, ask) == 20
    assert ledger.account("ads").balance().left.loss == 0
    assert verify(ledger) == []


def test_processes_of_many_threads_share_totals_that_none_of_their_accounts_knows(ledger, ledger_url):
    """Bookings of several accounts and data sets share transactions, within a process and never between them."""
    for dataset in ("searches", "orders"):
        ledger.create_dataset(dataset, budget=budget("0.3"), shares_source=True)
        for number in range(4):
            ledger.open(f"{dataset} {number}", dataset=dataset, budget=budget("1"))

    def ask(own: Ledger, number: int) -> int:
        accounts = [own.account(one.name) for _, one in own.accounts()]
        with ThreadPoolExecutor(8) as threads:
            paid = (threads.submit(try_to_pay, accounts[place % 8], f"q{number}.{place}") for place in range(40))
            return sum(one.result() for one in list(paid))

    assert _answered_in_processes(ledger_url, 3, ask) == 60
    assert [one.left.loss for one in ledger.datasets()] == [0, 0]
    assert verify(ledger) == []


def _answered_in_processes(url: str, processes: int, ask: Callable[[Ledger, int], int]) -> int:
    """Ask in many processes at once; return how often they were answered in all."""
    children = []
    for number in range(processes):
        child = os.fork()
        if not child:
            answered = 99
            try:
                with Ledger(url) as own:
                    answered = ask(own, number)
            finally:
                os._exit(answered)
        children.append(child)
    return sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)


def test_a_ledger_used_on_in_a_forked_child_speaks_on_its_own_connections(ledger):
    account = ledger.open("ads", dataset="searches", budget=budget("0.3"))
    child = os.fork()
    if not child:
        code = 9
        try:
            code = 0 if try_to_pay(account, "in the child") else 1
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert try_to_pay(account, "in the parent")
    assert verify(ledger) == []


def test_eight_processes_open_the_same_new_account_at_once(ledger_url):
    children = []
    for _ in range(8):
        child = os.fork()
        if not child:
            code = 9
            try:
                with Ledger(ledger_url) as own:
                    own.open("ads", dataset="searches", budget=budget("0.3"))
                    code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 8
    with Ledger(ledger_url) as ledger:
        assert [entry.kind for entry in ledger.history()] == ["opened", "opened"]
        assert verify(ledger) == []
