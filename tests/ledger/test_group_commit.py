"""What is booked together shares a commit and nothing else."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from tests.ledger.books import PATIENCE_SECONDS, budget, charge, cost, delivers, eventually, held_up

from unlisted.errors import BudgetRefusedError, ChargedFailureError, InvalidArgumentError, LedgerError
from unlisted.ledger.account import Account
from unlisted.ledger.group_commit import Booking
from unlisted.ledger.leases import forfeit
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.schema import datasets
from unlisted.ledger.verify import verify


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


def opened(ledger: Ledger, name: str, rho: str = "1", dataset: str = "searches") -> Account:
    if dataset != "searches":
        ledger.create_dataset(dataset, budget=budget(rho), source="searches.parquet", shares_source=True)
    return ledger.open(name, dataset=dataset, budget=budget(rho))


def asked_together(
    threads: ThreadPoolExecutor, held: Account, pays: list[Callable[[], object]]
) -> list[Future[object]]:
    """Let all ask while the ledger is at work, so that their reservations are booked together."""
    with held_up(held) as wait_for:
        futures = []
        for number, pay in enumerate(pays, start=1):
            futures.append(threads.submit(pay))
            wait_for(number)
    return futures


def outcome(future: Future[object]) -> object:
    failure = future.exception(PATIENCE_SECONDS)
    return type(failure) if failure is not None else future.result()


def test_reservations_that_wait_are_kept_by_one_commit(ledger, threads):
    ledger.create_dataset("searches", budget=budget("9"), shares_source=True)
    accounts = [opened(ledger, f"team {number}") for number in range(3)]
    accounts += [opened(ledger, f"other {number}", dataset=f"other {number}") for number in range(2)]
    commits: list[int] = []
    seen: list[int] = []
    # Only once all are reserved can any be answered: what was kept until then are the reservations.
    reserved = threading.Barrier(len(accounts), action=lambda: seen.append(len(commits)))
    sa.event.listen(ledger.store._engine, "commit", lambda _: commits.append(1))

    def deliver():
        reserved.wait(PATIENCE_SECONDS)
        return b"a release", cost("0.05")

    pays = [lambda account=account: account.pay(charge("q"), deliver) for account in accounts]
    futures = asked_together(threads, accounts[0], pays)
    assert [future.result(PATIENCE_SECONDS).account for future in futures] == [one.name for one in accounts]
    of_the_booking_that_was_held_up = 1
    assert seen == [of_the_booking_that_was_held_up + 1]
    assert [entry.account for entry in ledger.history("searches") if entry.kind == "reserved"] == [
        f"team {number}" for number in range(3)
    ]
    assert all(account.balance().account.used.texts[0] == "0.05" for account in accounts)
    assert verify(ledger) == []


def test_one_that_is_refused_costs_the_others_nothing(ledger, threads):
    ledger.create_dataset("searches", budget=budget("0.25"), unit="user")
    first, poor, second, strange, third = (
        opened(ledger, name, rho)
        for name, rho in (("first", "1"), ("poor", "0.01"), ("second", "1"), ("strange", "1"), ("third", "1"))
    )
    pays = [
        lambda: first.pay(charge("q"), delivers()).release,
        lambda: poor.pay(charge("q"), delivers()),
        lambda: second.pay(charge("q"), delivers()).release,
        lambda: strange.pay(charge("q", unit="session"), delivers()),
        # Two fit, this one does not: those before it in the same transaction count.
        lambda: third.pay(charge("q"), delivers()),
    ]
    futures = asked_together(threads, first, pays)
    answered, refused = b"a release", BudgetRefusedError
    assert [outcome(one) for one in futures] == [answered, refused, answered, InvalidArgumentError, refused]
    assert "ρ = 0.05" in str(futures[4].exception())
    assert ledger.dataset("searches").left.texts[0] == "0.05"
    assert [entry.number for entry in ledger.history()] == list(range(1, 11))
    assert verify(ledger) == []


def test_what_is_forfeited_on_the_way_to_a_refusal_stays_forfeited(ledger, ledger_url, threads):
    ledger.create_dataset("searches", budget=budget(), version="november")
    poor, other = opened(ledger, "poor", "0.15"), opened(ledger, "other")
    child = os.fork()
    if not child:
        with Ledger(ledger_url) as own:
            own.account("poor").pay(charge("q"), lambda: os._exit(0))
    os.waitpid(child, 0)
    # Asking again first forfeits what the dead process held, and then finds that too little is left.
    pays = [lambda: poor.pay(charge("q"), delivers()), lambda: other.pay(charge("q"), delivers()).release]
    assert [outcome(one) for one in asked_together(threads, other, pays)] == [BudgetRefusedError, b"a release"]
    assert [entry.kind for entry in ledger.history()][3:] == ["reserved", "forfeited", "reserved", "settled"]
    assert poor.balance().account.used.texts[0] == "0.1"
    assert poor.balance().account.failures.seen == 1
    assert verify(ledger) == []


def test_what_a_refused_one_had_added_before_is_taken_back(ledger, threads):
    poor, other = opened(ledger, "poor"), opened(ledger, "other")

    def add_and_refuse(change):
        change.append("closed", account="poor")
        raise InvalidArgumentError("account", "poor", "richer")

    refused = Booking(poor.dataset, poor.name, frozenset(), add_and_refuse)
    pays = [lambda: ledger.book(refused), lambda: other.pay(charge("q"), delivers()).release]
    assert [outcome(one) for one in asked_together(threads, other, pays)] == [InvalidArgumentError, b"a release"]
    assert [entry.kind for entry in ledger.history()][3:] == ["reserved", "settled"]
    assert verify(ledger) == []


def test_if_the_transaction_fails_all_are_told_and_nothing_is_booked(ledger, threads):
    accounts = [opened(ledger, f"team {number}") for number in range(3)]
    failures = []

    def fail_once(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if not failures and not statement.startswith(("SELECT", "BEGIN")):
            failures.append(statement)
            raise sa.exc.OperationalError(statement, {}, Exception("database or disk is full"))

    def never():
        raise AssertionError("data was touched without a reservation")

    sa.event.listen(ledger.store._engine, "before_cursor_execute", fail_once)
    pays = [lambda account=account: account.pay(charge("q"), never) for account in accounts]
    told = [future.exception(PATIENCE_SECONDS) for future in asked_together(threads, accounts[0], pays)]
    assert len(failures) == 1
    assert [issubclass(type(one), LedgerError) for one in told] == [True] * 3
    assert {str(one) for one in told} == {"The ledger could not be used: the disk is full. Nothing was written."}
    # One exception raised in several threads would show each the others' traces.
    assert len({id(one) for one in told}) == 3
    assert {entry.kind for entry in ledger.history()} == {"opened"}
    assert accounts[0].pay(charge("q"), delivers()).release == b"a release"
    assert verify(ledger) == []


def test_an_answer_that_comes_too_late_does_not_keep_others_from_being_stored(ledger, threads):
    late, timely = (opened(ledger, name, dataset=name) for name in ("late", "timely"))
    may_answer, reserved = threading.Event(), threading.Barrier(3)

    def deliver():
        reserved.wait(PATIENCE_SECONDS)
        may_answer.wait(PATIENCE_SECONDS)
        return b"a release", cost("0.05")

    futures = [threads.submit(account.pay, charge("q"), deliver) for account in (late, timely)]
    reserved.wait(PATIENCE_SECONDS)
    with ledger.changing("late", "late") as change:
        forfeit(change, 3)
    with held_up(timely) as wait_for:
        may_answer.set()
        wait_for(2)
    assert outcome(futures[0]) is ChargedFailureError
    assert futures[1].result(PATIENCE_SECONDS).release == b"a release"
    assert late.balance().account.used.texts[0] == "0.1"
    assert timely.balance().account.used.texts[0] == "0.05"
    assert verify(ledger) == []


def test_large_answers_that_are_stored_together_are_stored_as_they_are(ledger, threads):
    accounts = [opened(ledger, f"team {number}") for number in range(4)]
    releases = [bytes(range(256)) * size for size in (1, 4_000, 2, 5_000)]
    may_answer, reserved = threading.Event(), threading.Barrier(5)

    def deliver(release: bytes):
        reserved.wait(PATIENCE_SECONDS)
        may_answer.wait(PATIENCE_SECONDS)
        return release, cost("0.05")

    futures = [
        threads.submit(account.pay, charge("q"), lambda release=release: deliver(release), "monday")
        for account, release in zip(accounts, releases, strict=True)
    ]
    reserved.wait(PATIENCE_SECONDS)
    with held_up(accounts[0]) as wait_for:
        may_answer.set()
        wait_for(4)
    assert [future.result(PATIENCE_SECONDS).release for future in futures] == releases
    assert [account.pay(charge("q"), delivers(), "monday").release for account in accounts] == releases
    assert verify(ledger) == []


@pytest.mark.parametrize(("version", "key"), [("november", None), (None, "monday")])
def test_one_question_asked_twice_at_once_is_answered_once(ledger, threads, version, key):
    ledger.create_dataset("searches", budget=budget(), version=version)
    account, other = opened(ledger, "ads"), opened(ledger, "ops")
    answers = []

    def deliver():
        answers.append(b"answer %d" % len(answers))
        return answers[-1], cost("0.05")

    pays = [lambda: account.pay(charge("q"), deliver, key)] * 4 + [
        lambda: other.pay(charge("q"), delivers()).release
    ]
    futures = asked_together(threads, other, pays)
    assert futures.pop().result(PATIENCE_SECONDS) == b"a release"
    # Whoever comes while it is being answered is told so; whoever comes later gets the answer.
    told = [outcome(future) for future in futures]
    assert {LedgerError if one is LedgerError else one.release for one in told} <= {b"answer 0", LedgerError}
    assert any(one is not LedgerError for one in told)
    assert answers == [b"answer 0"]
    assert account.pay(charge("q"), deliver, key).release == b"answer 0"
    assert verify(ledger) == []


@pytest.mark.parametrize("strange", ["half a pair \ud800", "nothing \0"])
def test_what_cannot_be_stored_does_not_keep_others_from_it(ledger, threads, strange):
    first, rude, second = (opened(ledger, name) for name in ("first", "rude", "second"))
    pays = [
        lambda: first.pay(charge("q"), delivers()).release,
        lambda: rude.pay(charge(strange), delivers()).release,
        lambda: second.pay(charge("q"), delivers()).release,
    ]
    futures = asked_together(threads, first, pays)
    assert [outcome(futures[0]), outcome(futures[2])] == [b"a release"] * 2
    is_text_of_the_store = ledger.store.is_sqlite and "\0" in strange
    assert (outcome(futures[1]) == b"a release") is is_text_of_the_store
    assert verify(ledger) == []


def test_a_data_set_that_is_locked_elsewhere_holds_up_its_own_questions_only(
    postgres_ledger, postgres_ledger_url, threads
):
    # SQLite has one lock for all.
    ledger = postgres_ledger
    locked, free = (opened(ledger, name, dataset=name) for name in ("locked", "free"))
    with Ledger(postgres_ledger_url) as elsewhere, elsewhere.store.writing() as connection:
        connection.execute(sa.select(datasets).where(datasets.c.name == "locked").with_for_update())
        waits = [threads.submit(locked.pay, charge(f"q{number}"), delivers()) for number in range(3)]
        eventually(lambda: ledger._booker._turns.is_busy("locked"))
        for number in range(3):
            assert threads.submit(free.pay, charge(f"q{number}"), delivers()).result(PATIENCE_SECONDS).number
        assert not any(one.done() for one in waits)
    assert [one.result(PATIENCE_SECONDS).release for one in waits] == [b"a release"] * 3
    assert locked.balance().account.used.texts[0] == "0.3"
    assert verify(ledger) == []


def test_an_account_that_somebody_took_out_is_refused_alone(ledger, threads):
    there = opened(ledger, "there")
    gone = Account(ledger, "gone", "searches", there.terms)
    pays = [lambda: gone.pay(charge("q"), delivers()), lambda: there.pay(charge("q"), delivers()).release]
    futures = asked_together(threads, there, pays)
    with pytest.raises(LedgerError, match="'gone' is not in the ledger any more"):
        futures[0].result(PATIENCE_SECONDS)
    assert futures[1].result(PATIENCE_SECONDS) == b"a release"
    assert verify(ledger) == []
