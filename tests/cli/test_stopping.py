"""Ctrl-C while a question is being answered: what is said depends on who keeps the books."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import duckdb
import pytest
import typer
from tests.cli.shell import Done, unlisted

import unlisted as ul
from unlisted.cli.stopping import stoppable
from unlisted.errors import ChargedFailureError
from unlisted.tables.cancelling import interruptible

pytestmark = pytest.mark.skipif(os.name != "posix", reason="only POSIX systems send interrupts to a process")

QUESTION = ("--table", "slow", "--user", "user", "--item", "item", "--epsilon", 1, "--delta", "1e-9")
TOUCHED = "unlisted: stopped; data (had|may have) been touched; "
"""On a machine that is busy, Ctrl-C may come before the engine has begun."""


@pytest.fixture(autouse=True)
def _as_a_shell_starts_it() -> Iterator[None]:
    """Take away the handler of whatever ran in this process before: Spark puts one of its own there."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
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


def stopped(*words: object) -> Done:
    """Run a command inside this process and press Ctrl-C once it has begun to answer."""

    def press() -> None:
        while signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            time.sleep(0.01)
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    finger = threading.Thread(target=press, daemon=True)
    finger.start()
    try:
        return unlisted(*words)
    finally:
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        finger.join(10)


@pytest.mark.parametrize("verb", [("histogram", "--items-per-user", 1), ("top", "-k", 3)])
def test_without_an_account_nothing_is_said_to_be_charged(verb: tuple[object, ...], slow: Path) -> None:
    done = stopped(*verb, slow, *QUESTION)
    assert done.code == 4
    assert re.fullmatch(f"{TOUCHED}without an account nothing is recorded\n", done.said)
    assert done.data == b""


def test_on_an_account_it_is_charged_and_said_to_be(slow: Path, tmp_path: Path) -> None:
    with ul.Ledger(tmp_path / "books.db") as ledger:
        ledger.open("ads", dataset="slow", budget=ul.Budget(rho=9, delta="1e-6"))
        paid = ("--ledger", tmp_path / "books.db", "--account", "ads")
        done = stopped("top", "-k", 3, slow, *QUESTION, *paid)
        assert [entry.kind for entry in ledger.history()][-2:] == ["reserved", "forfeited"]
    assert done.code == 4
    assert re.fullmatch(f"{TOUCHED}what the account 'ads' was charged for it stays charged\n", done.said)


def test_a_round_of_a_stream_can_be_pushed_again(slow: Path, tmp_path: Path) -> None:
    folder = tmp_path / "stream"
    ul.Stream.create(folder, rounds=2, items_per_event=1, budget=ul.Budget(epsilon=1, delta="1e-9"))
    done = stopped("stream", "push", folder, slow, "--table", "slow")
    assert done.code == 4
    again = "a round that was not taken in can be pushed again and costs nothing more"
    assert re.fullmatch(f"{TOUCHED}{again}\n", done.said)
    assert ul.Stream.open(folder).round == 0


@contextmanager
def charged_when_interrupted() -> Iterator[None]:
    """Fail as a statement does that is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        raise ChargedFailureError from None


@pytest.mark.parametrize(("began", "touched"), [(True, "had"), (False, "may have")])
def test_what_an_engine_makes_of_an_interrupt_is_no_other_failure(
    began: bool, touched: str, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = interruptible(lambda: None) if began else nullcontext()
    with pytest.raises(typer.Exit) as end, stoppable("so be it"), charged_when_interrupted(), engine:
        signal.raise_signal(signal.SIGINT)
    assert end.value.exit_code == 4
    assert capsys.readouterr().err == f"unlisted: stopped; data {touched} been touched; so be it\n"


def test_a_failure_that_nobody_caused_stays_one() -> None:
    with pytest.raises(ChargedFailureError), stoppable("so be it"):
        raise ChargedFailureError


def test_who_ignores_interrupts_goes_on_ignoring_them() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stoppable("so be it"):
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
