"""Failures are a budget: so many, then nothing more is told until the owner has looked."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import pytest
import sqlalchemy as sa
from tests.ledger.books import budget, charge, cost, delivers

from unlisted.errors import BudgetRefusedError, ChargedFailureError, FrozenError, InvalidArgumentError, LedgerError
from unlisted.ledger import heartbeat
from unlisted.ledger.account import Account
from unlisted.ledger.leases import most_bits
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.schema import accounts, entries, questions
from unlisted.ledger.verify import verify
from unlisted.noise.gaussian.accounting import GAUSSIAN

PATIENCE_SECONDS = 60


class EngineError(Exception):
    """What an engine dies of."""


def breaks():
    raise EngineError


def fail(account: Account, name: str) -> None:
    with pytest.raises(EngineError):
        account.pay(charge(name, "0.01"), breaks)


def opened(ledger: Ledger, name: str = "ads", **terms) -> Account:
    return ledger.open(name, dataset="searches", budget=budget("1"), **terms)


def seen(account: Account) -> tuple[int, int]:
    found = account.balance()
    return found.account.failures.seen, found.dataset.failures.seen


def test_the_third_failure_freezes_an_account_and_a_refusal_costs_nothing(ledger):
    account = opened(ledger)
    for number in range(3):
        assert not account.balance().account.failures.frozen
        fail(account, f"q{number}")
    before = account.balance()
    assert before.account.failures.frozen
    with pytest.raises(FrozenError, match=r"'ads' is frozen: 3 questions.*account thaw.*Nothing was charged"):
        account.pay(charge("q"), delivers())
    assert account.balance().account == before.account
    assert before.account.used.texts[0] == "0.03"
    assert issubclass(FrozenError, BudgetRefusedError)
    assert verify(ledger) == []


def test_other_accounts_go_on_until_the_data_set_is_frozen(ledger):
    ledger.create_dataset("searches", budget=budget(), failures=4)
    accounts = [opened(ledger, name) for name in ("ads", "ops", "risk")]
    for number in range(3):
        fail(accounts[0], f"q{number}")
    assert accounts[1].pay(charge("q"), delivers()).release == b"a release"
    fail(accounts[1], "last")
    for account in accounts[1:]:
        with pytest.raises(FrozenError, match=r"The data set 'searches' is frozen: 4 questions.*dataset thaw"):
            account.pay(charge("more"), delivers())
    assert ledger.thaw(dataset="searches") == 4
    assert accounts[1].pay(charge("more", "0.01"), delivers(used=cost("0.01"))).release == b"a release"
    with pytest.raises(FrozenError, match="The account 'ads'"):
        accounts[0].pay(charge("more"), delivers())
    assert verify(ledger) == []


def test_an_account_may_fail_less_often_than_its_data_set(ledger):
    ledger.create_dataset("searches", budget=budget(), failures=4)
    with pytest.raises(InvalidArgumentError, match="fewer than the 4"):
        opened(ledger, failures=4)
    assert opened(ledger, failures=2).balance().account.failures.allowed == 2
    assert opened(ledger, failures=2).name == "ads"
    with pytest.raises(InvalidArgumentError, match="the account's own, 2"):
        opened(ledger, failures=3)
    with pytest.raises(InvalidArgumentError, match="more than an account's 2"):
        ledger.allow_failures(2, dataset="searches")
    for wrong in (0, True, 1.5, 10**7):
        with pytest.raises(InvalidArgumentError, match="a whole number"):
            ledger.allow_failures(wrong, account="ads")
    # Without a word it is fewer too.
    ledger.create_dataset("orders", budget=budget(), failures=2)
    assert ledger.open("shop", dataset="orders", budget=budget()).balance().account.failures.allowed == 1


def test_stored_answers_are_had_while_frozen(ledger):
    ledger.create_dataset("searches", budget=budget(), version="november")
    account = opened(ledger)
    paid = account.pay(charge("stored"), delivers())
    keyed = account.pay(charge("keyed"), delivers(), "monday")
    for number in range(3):
        with pytest.raises(EngineError):
            account.pay(charge(f"q{number}", "0.01"), breaks, f"key {number}")
    assert account.pay(charge("stored"), breaks) == paid
    assert account.pay(charge("keyed"), breaks, "monday") == keyed
    with pytest.raises(ChargedFailureError):
        account.pay(charge("q0", "0.01"), breaks, "key 0")


def test_a_thaw_starts_anew_and_is_in_the_chain(ledger):
    account = opened(ledger)
    with pytest.raises(InvalidArgumentError, match="none to thaw"):
        ledger.thaw(account="ads")
    for number in range(3):
        fail(account, f"q{number}")
    assert ledger.thaw(account="ads") == 3
    assert seen(account) == (0, 3)
    assert account.pay(charge("q", "0.01"), delivers(used=cost("0.01"))).release == b"a release"
    for number in range(3, 6):
        fail(account, f"q{number}")
    assert seen(account) == (3, 6)
    kinds = [(entry.kind, entry.body.get("failure")) for entry in ledger.history() if entry.kind != "reserved"]
    counted = [("forfeited", number) for number in (1, 2, 3)]
    assert kinds[2:] == [*counted, ("thawed", None), ("settled", None), *counted]
    assert any('"kind":"thawed"' in line for line in ledger.export_lines())
    assert verify(ledger) == []


def test_the_owner_changes_how_many_may_fail(ledger):
    account = opened(ledger)
    fail(account, "q")
    ledger.allow_failures(1, account="ads")
    assert account.balance().account.failures.frozen
    ledger.allow_failures(5, account="ads")
    assert account.pay(charge("more"), delivers()).release == b"a release"
    assert [entry.body for entry in ledger.history() if entry.kind == "allowed"] == [
        {"failures": 1},
        {"failures": 5},
    ]
    assert verify(ledger) == []


def _in_parallel(account: Account, outcomes: tuple[bool, ...]) -> list[object]:
    """Begin questions at once; let them end in order, each with an answer or a failure; say what each came to."""
    may_end = [threading.Event() for _ in outcomes]
    reserved = threading.Barrier(len(outcomes) + 1)

    def ask(number: int) -> object:
        def deliver():
            reserved.wait(PATIENCE_SECONDS)
            may_end[number].wait(PATIENCE_SECONDS)
            return (b"a release", cost("0.001")) if outcomes[number] else breaks()

        try:
            return account.pay(charge(f"{outcomes} {number}", "0.001"), deliver).release
        except (EngineError, ChargedFailureError):
            return "failed"

    with ThreadPoolExecutor(len(outcomes)) as threads:
        asked = [threads.submit(ask, number) for number in range(len(outcomes))]
        reserved.wait(PATIENCE_SECONDS)
        told = []
        for event, one in zip(may_end, asked, strict=True):
            event.set()
            told.append(one.result(PATIENCE_SECONDS))
    return told


def test_what_questions_open_at_a_freeze_came_to_is_not_told(tmp_path):
    """All patterns of five questions that are open at once: what is told is at most two failures of them."""
    patterns = list(product([True, False], repeat=5))
    with Ledger(tmp_path / "budget.db") as ledger:
        account = opened(ledger, failures=2)
        told = set()
        for outcomes in patterns:
            told.add(tuple(_in_parallel(account, outcomes)))
            if seen(account)[0]:
                ledger.thaw(account="ads")
                ledger.thaw(dataset="searches")
        # Where two failed before, the rest is lost, whatever the engine came to.
        assert all(b"a release" not in one[_second_failure(one) + 1 :] for one in told)
        assert len(told) == 1 + 5 + 10
        assert len(told) == round(2 ** most_bits(5, 2))
        assert verify(ledger) == []


def _second_failure(told: tuple[object, ...]) -> int:
    failed = [place for place, one in enumerate(told) if one == "failed"]
    return failed[1] if len(failed) > 1 else len(told)


def test_forfeits_while_frozen_look_alike_and_do_not_count(ledger):
    account, other = opened(ledger, failures=1), opened(ledger, "ops")
    for outcome in (True, False):
        assert _in_parallel(account, (False, outcome, outcome)) == ["failed"] * 3
        # One analyst with many questions open does not use up what the others have.
        assert seen(account) == (1, 1)
        assert [entry.body for entry in ledger.history()][-3:] == [{"failure": 1}, {"failure": 0}, {"failure": 0}]
        ledger.thaw(account="ads")
        ledger.thaw(dataset="searches")
    assert other.pay(charge("q"), delivers()).release == b"a release"
    assert verify(ledger) == []


def test_processes_that_fail_at_once_are_all_counted_and_no_more(ledger, ledger_url):
    ledger.create_dataset("searches", budget=budget("10"), failures=50)
    opened(ledger, failures=10)
    children = []
    for number in range(4):
        child = os.fork()
        if not child:
            told = 0
            try:
                with Ledger(ledger_url) as own:
                    for place in range(8):
                        try:
                            own.account("ads").pay(charge(f"{number} {place}", "0.001"), breaks)
                        except EngineError:
                            told += 1
                        except FrozenError:
                            break
            finally:
                os._exit(told)
        children.append(child)
    told = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    # Of those that were open at the freeze, each process may have one, which ended as any would have.
    assert 10 <= sum(told) <= 13
    assert seen(ledger.account("ads")) == (10, 10)
    assert verify(ledger) == []


def test_processes_of_several_accounts_fail_together_no_more_often_than_their_data_set(ledger, ledger_url):
    ledger.create_dataset("searches", budget=budget("10"), failures=6)
    names = ("ads", "ops", "risk", "shop")
    for name in names:
        opened(ledger, name, failures=4)
    children = []
    for name in names:
        child = os.fork()
        if not child:
            told = 0
            try:
                with Ledger(ledger_url) as own:
                    for place in range(6):
                        try:
                            own.account(name).pay(charge(f"{name} {place}", "0.001"), breaks)
                        except EngineError:
                            told += 1
                        except FrozenError:
                            break
            finally:
                os._exit(told)
        children.append(child)
    told = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert 6 <= sum(told) <= 6 + len(names) - 1
    each = [seen(ledger.account(name)) for name in names]
    assert max(own for own, _ in each) <= 4
    assert sum(own for own, _ in each) == each[0][1] == 6
    assert verify(ledger) == []


def test_a_failure_told_again_by_its_name_is_counted_once(ledger):
    account, other = opened(ledger), opened(ledger, "ops")
    with pytest.raises(EngineError):
        account.pay(charge("q", "0.01"), breaks, "monday")
    before = ledger.history()

    def again(_: int) -> None:
        with pytest.raises(ChargedFailureError):
            account.pay(charge("q", "0.01"), breaks, "monday")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(again, range(24)))
    assert ledger.history() == before
    assert seen(account) == (1, 1)
    # A name is an account's own: another account's question of that name is another question.
    assert other.pay(charge("q", "0.01"), delivers(used=cost("0.01")), "monday").release == b"a release"


def test_accounts_in_gaussian_dp_are_frozen_alike(ledger):
    ledger.create_dataset("searches", budget=budget("1", accounting=GAUSSIAN), kind="gaussian", failures=4)
    account = ledger.open("ads", dataset="searches", budget=budget("1", accounting=GAUSSIAN), failures=2)
    for number in range(2):
        with pytest.raises(EngineError):
            account.pay(charge(f"q{number}", "0.01", accounting=GAUSSIAN), breaks)
    with pytest.raises(FrozenError):
        account.pay(charge("q", "0.01", accounting=GAUSSIAN), delivers())
    assert account.balance().account.used.texts[0] == "0.02"
    ledger.thaw(account="ads")
    used = cost("0.005", accounting=GAUSSIAN)
    assert account.pay(charge("q", "0.01", accounting=GAUSSIAN), delivers(used=used)).release == b"a release"
    assert account.balance().account.used.texts[0] == "0.025"
    assert verify(ledger) == []


def _die_over(url: str, name: str, account: str = "ads") -> None:
    child = os.fork()
    if not child:
        with Ledger(url) as own:
            own.account(account).pay(charge(name, "0.01"), lambda: os.kill(os.getpid(), signal.SIGKILL))
    os.waitpid(child, 0)


def test_processes_that_die_over_questions_freeze_the_account_without_anybody_verifying(ledger, ledger_url):
    account = opened(ledger)
    for number in range(3):
        _die_over(ledger_url, f"q{number}")
    assert seen(account) == (0, 0)
    with pytest.raises(FrozenError):
        account.pay(charge("q"), delivers())
    assert seen(account) == (3, 3)
    assert account.balance().account.reserved.texts[0] == "0"
    assert verify(ledger) == []


def test_the_dead_are_counted_before_a_failure_is(ledger, ledger_url):
    account = opened(ledger)
    for number in range(2):
        _die_over(ledger_url, f"q{number}")
    fail(account, "q")
    assert seen(account) == (3, 3)
    with pytest.raises(FrozenError):
        account.pay(charge("more"), delivers())
    assert verify(ledger) == []


def test_the_dead_of_other_accounts_are_counted_for_the_data_set(ledger, ledger_url):
    ledger.create_dataset("searches", budget=budget(), failures=4)
    names = ("ads", "ops", "risk")
    for name in names:
        opened(ledger, name, failures=3)
    for number, name in enumerate((*names, "ads")):
        _die_over(ledger_url, f"q{number}", name)
    with pytest.raises(FrozenError, match="The data set"):
        ledger.account("risk").pay(charge("q"), delivers())
    assert ledger.dataset("searches").failures.seen == 4
    assert verify(ledger) == []


def test_the_last_who_asks_the_same_is_refused_and_the_forfeit_stays(ledger, ledger_url):
    ledger.create_dataset("searches", budget=budget(), version="november")
    account = opened(ledger, failures=1)
    _die_over(ledger_url, "q")
    for _ in range(2):
        with pytest.raises(FrozenError):
            account.pay(charge("q", "0.01"), delivers())
        assert account.balance().account.failures.frozen
    assert [entry.kind for entry in ledger.history()][2:] == ["reserved", "forfeited"]
    assert verify(ledger) == []


def _elsewhere(ledger: Ledger, account: Account, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave questions open that another machine answers, as far as anybody here can tell."""
    with monkeypatch.context() as patch:
        patch.setattr(heartbeat, "place", lambda: "another machine")
        for name in names:
            with pytest.raises(BaseException, match="unplugged"):
                account.pay(charge(name, "0.01"), _unplug(ledger))
        ledger.store._engine.dispose()
    sa.event.remove(ledger.store._engine, "before_cursor_execute", _unreachable)
    monkeypatch.setattr(heartbeat, "_GIVEN_UP", set())


def _unreachable(*_: object) -> None:
    raise LedgerError("unplugged")


def _unplug(ledger: Ledger):
    def deliver():
        if not sa.event.contains(ledger.store._engine, "before_cursor_execute", _unreachable):
            sa.event.listen(ledger.store._engine, "before_cursor_execute", _unreachable)
        raise LedgerError("unplugged")

    return deliver


def test_questions_that_other_machines_hold_may_all_have_failed(ledger, monkeypatch):
    account = opened(ledger, failures=2)
    _elsewhere(ledger, account, ("one",), monkeypatch)
    assert account.pay(charge("fits", "0.01"), delivers(used=cost("0.01"))).release == b"a release"
    _elsewhere(ledger, account, ("two",), monkeypatch)
    with pytest.raises(LedgerError, match=r"Other machines are answering 2 questions.*nothing was charged"):
        account.pay(charge("q"), delivers())
    assert ledger.forfeit_abandoned() == 0
    # The owner's word is enough.
    ledger.allow_failures(3, account="ads")
    assert account.pay(charge("q"), delivers()).release == b"a release"
    # When they have been silent for long, they count as dead.
    monkeypatch.setattr(heartbeat, "LEASE_SECONDS", -1.0)
    assert ledger.forfeit_abandoned() == 2
    assert seen(account) == (2, 2)
    assert verify(ledger) == []


def test_what_this_process_answers_is_known_and_not_asked_for(ledger, ledger_url):
    account = opened(ledger)
    looked = []

    def listen(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        looked.append("unlisted_questions.owner" in statement)

    def nested(depth: int):
        def deliver():
            if depth:
                account.pay(charge(f"q{depth}", "0.001"), nested(depth - 1))
            return b"a release", cost("0.001")

        return deliver

    sa.event.listen(ledger.store._engine, "before_cursor_execute", listen)
    account.pay(charge("q", "0.001"), nested(8))
    assert not any(looked)
    assert ledger.running.count("searches") == 0
    # What another process answers is asked for once it could be a failure too many.
    with Ledger(ledger_url) as other:
        child_looks = []

        def also_elsewhere():
            for number in range(2):
                account.pay(charge(f"here {number}", "0.001"), delivers(used=cost("0.001")))
            child_looks.append(ledger.running.count("searches", "ads"))
            return b"a release", cost("0.001")

        ledger.allow_failures(1, account="ads")
        other.account("ads").pay(charge("elsewhere", "0.001"), also_elsewhere)
    assert any(looked)
    assert child_looks == [0]
    assert verify(ledger) == []


def test_a_forked_child_answers_nothing_of_its_parents(ledger):
    account = opened(ledger)

    def deliver():
        assert ledger.running.count("searches", "ads") == 1
        child = os.fork()
        if not child:
            os._exit(ledger.running.count("searches"))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        return b"a release", cost("0.1")

    account.pay(charge("q"), deliver)


def test_as_many_questions_as_anybody_likes_may_be_open_at_once(ledger):
    account = opened(ledger)
    assert _in_parallel(account, (True,) * 16) == [b"a release"] * 16
    assert verify(ledger) == []


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, ChargedFailureError, MemoryError])
def test_whatever_ends_a_question_counts(ledger, stop):
    account = opened(ledger)

    def stopped():
        raise stop

    with pytest.raises(stop):
        account.pay(charge("q", "0.01"), stopped)
    assert seen(account) == (1, 1)


def test_an_answer_that_cannot_be_settled_counts(ledger):
    account = opened(ledger)
    with pytest.raises(ChargedFailureError):
        account.pay(charge("q", "0.01"), delivers(used=cost("0.5")))
    assert seen(account) == (1, 1)
    assert verify(ledger) == []


def test_what_is_refused_before_data_is_touched_does_not_count(ledger):
    account = opened(ledger)
    for wrong in (charge("q", "2"), charge("q", unit="other")):
        with pytest.raises((BudgetRefusedError, InvalidArgumentError)):
            opened(ledger).pay(wrong, delivers())
        account.pay(charge("first"), delivers())
    assert seen(account) == (0, 0)


@pytest.mark.parametrize("column", ["failures_seen", "failures_allowed", "questions_open"])
def test_a_count_that_somebody_changed_is_found(ledger, column):
    fail(opened(ledger), "q")
    with ledger.store.writing() as connection:
        connection.execute(accounts.update().values({column: 9}))
    assert any("cached balance of account 'ads'" in found for found in verify(ledger))


def test_an_entry_whose_count_somebody_changed_is_found(ledger):
    fail(opened(ledger), "q")
    with ledger.store.writing() as connection:
        connection.execute(entries.update().where(entries.c.kind == "forfeited").values(body='{"failure":0}'))
    assert any("was changed" in found for found in verify(ledger))


def test_an_answer_that_was_settled_while_frozen_is_found(ledger):
    """The fold is the verifier's too: a chain that somebody wrote anew must follow the rules as well."""
    account = opened(ledger, failures=1)
    state = {}

    def deliver():
        fail(account, "other")
        return b"a release", cost("0.1")

    with pytest.raises(ChargedFailureError):
        account.pay(charge("q"), deliver)
    with ledger.changing("searches", "ads") as change:
        state["frozen"] = change.state.is_frozen("ads")
        for kind in ("reserved", "settled"):
            with pytest.raises(LedgerError), change.step():
                change.append(kind, account="ads", reservation=3)
    assert state == {"frozen": True}


def test_bits_are_counted_from_above():
    assert most_bits(10, 0) == 0
    assert most_bits(3, 20) == 3
    assert round(most_bits(10, 3), 2) == 7.46
    assert most_bits(1000, 3) < 28


def test_a_reservation_that_is_open_is_counted_as_open(ledger):
    account = opened(ledger)
    inside = []

    def deliver():
        inside.append((account.balance().account.failures.open, account.balance().dataset.failures.open))
        return b"a release", cost("0.1")

    account.pay(charge("q"), deliver)
    assert inside == [(1, 1)]
    with ledger.store.reading() as connection:
        assert connection.execute(sa.select(questions.c.state)).scalars().all() == ["settled"]
    assert account.balance().account.failures.open == 0
