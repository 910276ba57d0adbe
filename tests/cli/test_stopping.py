"""Ctrl-C while a question is being answered: what is said depends on who keeps the books."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest
from tests.cli.shell import Done, unlisted

import unlisted as ul
from unlisted.cli.exits import stoppable
from unlisted.errors import ChargedFailureError
from unlisted.release.release import short_up
from unlisted.tables.stopping import Cancellation, Interrupt

pytestmark = pytest.mark.skipif(os.name != "posix", reason="only POSIX systems send interrupts to a process")

QUESTION = ("--table", "slow", "--user", "user", "--item", "item", "--epsilon", 1, "--delta", "1e-9")


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
    """Run a command inside this process and press Ctrl-C once its engine has begun to answer."""
    attached = Cancellation.attached

    @contextmanager
    def pressed(self: Cancellation, interrupt: Interrupt, *, touches_data: bool) -> Iterator[None]:
        with attached(self, interrupt, touches_data=touches_data):
            # A rehearsal touches nothing.
            if touches_data:
                finger.start()
            yield

    finger = threading.Thread(target=lambda: os.kill(os.getpid(), signal.SIGINT), daemon=True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Cancellation, "attached", pressed)
        try:
            return unlisted(*words)
        finally:
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
            finger.join()


@pytest.mark.parametrize("verb", [("histogram", "--items-per-user", 1), ("top", "-k", 3)])
def test_without_an_account_nothing_is_said_to_be_charged(verb: tuple[object, ...], slow: Path) -> None:
    done = stopped(*verb, slow, *QUESTION)
    assert done.code == 4
    assert done.said == "unlisted: stopped. Data had been touched. No account pays, so nothing was charged.\n"
    assert done.data == b""


def test_on_an_account_it_is_charged_and_said_to_be(slow: Path, tmp_path: Path) -> None:
    with ul.Ledger(tmp_path / "books.db") as ledger:
        ledger.open("ads", dataset="slow", budget=ul.Budget(rho=9, delta="1e-6"))
        paid = ("--ledger", tmp_path / "books.db", "--account", "ads")
        done = stopped("top", "-k", 3, slow, *QUESTION, *paid)
        assert [entry.kind for entry in ledger.history()][-2:] == ["reserved", "forfeited"]
        used = ledger.account("ads").balance().account.used.guarantee()
    assert done.code == 4
    amount = f"ρ = {short_up(used.rho, 6)}, δ = {short_up(used.delta, 3)}"
    assert done.said == f"unlisted: stopped. Data had been touched. The account 'ads' was charged {amount}.\n"


def test_a_round_of_a_stream_can_be_pushed_again(slow: Path, tmp_path: Path) -> None:
    folder = tmp_path / "stream"
    ul.Stream.create(folder, rounds=2, unit="event", items_per_event=1, budget=ul.Budget(epsilon=1, delta="1e-9"))
    done = stopped("stream", "push", folder, slow, "--table", "slow")
    assert done.code == 4
    again = "A round that was not taken in can be pushed again and costs nothing more."
    assert done.said == f"unlisted: stopped. Data had been touched. {again}\n"
    assert ul.Stream.open(folder).round == 0


def test_before_anything_has_begun_nothing_is_said_of_it() -> None:
    with pytest.raises(KeyboardInterrupt), stoppable():
        raise KeyboardInterrupt


def test_a_failure_that_nobody_caused_stays_one() -> None:
    with pytest.raises(ChargedFailureError), stoppable():
        raise ChargedFailureError
