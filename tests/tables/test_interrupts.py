"""Ctrl-C in a Python program that asks: it ends the program's loop and says what was charged."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from tests.fixtures.kitchen import BOUND, BUDGET, asked

import unlisted as ul
from unlisted.release.release import short_up
from unlisted.tables.failures import charged
from unlisted.tables.stopping import outcome_of

pytestmark = pytest.mark.skipif(os.name != "posix", reason="only POSIX systems send interrupts to a process")

PROGRAM = """
import contextlib, os, signal, sys, threading
import unlisted as ul
from unlisted.tables.stopping import Cancellation

running = threading.Event()
attached = Cancellation.attached

@contextlib.contextmanager
def seen(self, interrupt, *, touches_data):
    with attached(self, interrupt, touches_data=touches_data):
        if touches_data:
            running.set()
        yield

Cancellation.attached = seen
threading.Thread(target=lambda: running.wait() and os.kill(os.getpid(), signal.SIGINT), daemon=True).start()
table = ul.table(sys.argv[1], table="slow", user="user")
budget = ul.Budget(rho="0.5", delta="1e-9")
with contextlib.ExitStack() as stack:
    account = None
    if len(sys.argv) > 2:
        ledger = stack.enter_context(ul.Ledger(sys.argv[2]))
        account = ledger.open("ads", dataset="slow", budget=ul.Budget(rho=9, delta="1e-6"))
    for _ in range(3):
        try:
            table.histogram("item", budget=budget, items_per_user=1, account=account).run()
        except ul.UnlistedError as failure:
            print("swallowed", failure)
"""


@pytest.fixture(autouse=True)
def _as_python_starts() -> Iterator[None]:
    """Take away the handler of whatever ran in this process before: Spark puts one of its own there."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    """A DuckDB file with a view that would take days to read."""
    path = tmp_path / "slow.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            'CREATE VIEW slow AS SELECT CAST(i % 99 AS VARCHAR) AS "user", CAST(HASH(i) % 9 AS VARCHAR) AS item '
            "FROM RANGE(1_000_000_000_000) AS numbers(i)"
        )
    return path


def ended(*words: object) -> str:
    """Run the program, which interrupts itself once its engine has begun; return how its error ends."""
    command = [sys.executable, "-c", PROGRAM, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "", "a loop over questions ends"
    assert done.returncode == -signal.SIGINT
    return done.stderr.partition("KeyboardInterrupt\n")[2]


def test_a_loop_ends_and_nothing_was_charged_without_an_account(slow: Path) -> None:
    assert ended(slow) == "Data had been touched.\nNo account pays, so nothing was charged.\n"


def test_a_loop_ends_and_the_account_was_charged(slow: Path, tmp_path: Path) -> None:
    said = ended(slow, tmp_path / "books.db")
    with ul.Ledger(tmp_path / "books.db") as ledger:
        kinds = [entry.kind for entry in ledger.history()]
        used = ledger.account("ads").balance().account.used.guarantee()
    assert kinds[-2:] == ["reserved", "forfeited"]
    assert kinds.count("reserved") == 1
    assert used.rho > 0
    amount = f"ρ = {short_up(used.rho, 6)}, δ = {short_up(used.delta, 3)}"
    assert said == f"Data had been touched.\nThe account 'ads' was charged {amount}.\n"


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_what_an_engine_makes_of_it_does_not_matter() -> None:
    def engine() -> None:
        with charged():
            try:
                press()
            except KeyboardInterrupt:
                raise RuntimeError("Query interrupted") from None

    stop = outcome_of(engine)
    assert type(stop) is KeyboardInterrupt
    assert stop.__notes__ == ["Data may have been touched."]


def test_it_is_not_lost_where_something_swallows_it() -> None:
    def swallows() -> str:
        try:
            press()
        except KeyboardInterrupt:
            return "an answer"
        return "no interrupt came"

    assert type(outcome_of(swallows)) is KeyboardInterrupt


def test_no_frame_that_saw_data_hangs_on_it() -> None:
    class Seen:
        """Stands for rows."""

    def engine() -> None:
        rows = Seen()
        with charged():
            press()
            raise AssertionError(rows)

    stop = outcome_of(engine)
    assert isinstance(stop, KeyboardInterrupt)
    assert (stop.__traceback__, stop.__context__, stop.__cause__) == (None, None, None)
    gc.collect()
    assert not [one for one in gc.get_objects() if isinstance(one, Seen)]


def test_a_failure_that_nobody_caused_stays_one() -> None:
    def fails() -> None:
        with charged():
            raise RuntimeError("a row")

    failure = outcome_of(fails)
    assert type(failure) is ul.ChargedFailureError
    assert failure.__context__ is None


def test_a_refusal_stays_one() -> None:
    def refuses() -> None:
        raise ul.InvalidArgumentError("k", 0, "1 or above")

    with pytest.raises(ul.InvalidArgumentError):
        outcome_of(refuses)


def test_a_handler_of_ones_own_decides_what_is_raised() -> None:
    class EnoughError(Exception):
        pass

    def enough(*_: object) -> None:
        raise EnoughError

    signal.signal(signal.SIGINT, enough)
    try:
        stop = outcome_of(press)
        assert signal.getsignal(signal.SIGINT) is enough
        signal.signal(signal.SIGINT, lambda *_: None)
        assert outcome_of(lambda: press() or "an answer") == "an answer"
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert isinstance(stop, EnoughError)


def test_who_ignores_interrupts_goes_on_ignoring_them() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert outcome_of(lambda: press() or "an answer") == "an answer"
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_whoever_listens_for_signals_hears_them_all_the_same() -> None:
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    signal.set_wakeup_fd(writes)
    try:
        assert isinstance(outcome_of(press), KeyboardInterrupt)
        assert os.read(reads, 1) == bytes([signal.SIGINT])
        assert signal.set_wakeup_fd(-1) == writes
    finally:
        signal.set_wakeup_fd(-1)
        os.close(reads)
        os.close(writes)


def test_other_threads_are_left_alone() -> None:
    found = []
    thread = threading.Thread(
        target=lambda: found.append(outcome_of(lambda: signal.getsignal(signal.SIGINT))), daemon=True
    )
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


def test_where_nobody_presses_nothing_changes() -> None:
    release = asked().histogram("dish", budget=BUDGET, items_per_user=BOUND).run()
    assert len(release) > 0
