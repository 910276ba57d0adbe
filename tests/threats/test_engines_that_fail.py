"""Engines that fail in the middle of a question, by real means: each costs the ceiling and says one sentence."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.threats.costs import BUDGET, MESSAGE, an_account, fails_charged, was_forfeited

import unlisted as ul
from unlisted.errors import CannotAnswerError, InvalidArgumentError
from unlisted.ledger.account import Account
from unlisted.query.plan import Plan

HOW_LONG = 60
"""Seconds after which a test that waits for another process gives up; nothing is decided by it."""

SPILLS = """
import logging, os, resource, signal, sys
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])  # each thread of DuckDB wants memory of its own
import unlisted as ul
logging.getLogger("unlisted.owner").addHandler(logging.FileHandler(sys.argv[3]))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), resource.RLIM_INFINITY))
with ul.Ledger(sys.argv[2]) as ledger:
    plan = ul.table(sys.argv[1], user="user").histogram(
        "item", budget=ul.Budget(epsilon=1, delta="1e-8"), items_per_user=2, account=ledger.account("ads")
    )
    try:
        plan.run()
    except ul.errors.ChargedFailureError as failure:
        print(failure)
"""

WAITS = """
import signal, sys
import unlisted as ul
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has what it starts in the background ignore it
with ul.Ledger(sys.argv[2]) as ledger:
    ul.table(sys.argv[1], table=sys.argv[3], user="who").top(
        "item", k=1, budget=ul.Budget(epsilon=1, delta="1e-8"), account=ledger.account("ads")
    ).run()
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file whose count needs some fifty megabytes."""
    path = tmp_path_factory.mktemp("large") / "rows.parquet"
    rows = 300_000
    items = pa.array([f"{number:_>40} is the item" for number in range(rows)])
    pq.write_table(pa.table({"user": pa.array(n % (rows // 4) for n in range(rows)), "item": items}), path)
    return path


def histogram(path: Path) -> Plan:
    return ul.table(path, user="user").histogram("item", budget=BUDGET, items_per_user=2)


def test_too_little_memory(large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with an_account(tmp_path) as account:
        monkeypatch.setenv("UNLISTED_MEMORY_LIMIT", "2MB")
        fails_charged(histogram(large), account)
        monkeypatch.setenv("UNLISTED_MEMORY_LIMIT", "2GB")
        assert histogram(large).paid_by(account).run().complete


@pytest.mark.parametrize(("room", "said"), [(500_000, MESSAGE), (2**40, "")], ids=["full", "roomy"])
def test_a_disk_too_full_for_what_does_not_fit_into_memory(
    large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int, said: str
) -> None:
    """The system itself refuses to write more than so many bytes into a file."""
    monkeypatch.setenv("UNLISTED_MEMORY_LIMIT", "70MB")
    with an_account(tmp_path) as account:
        words = [large, tmp_path / "books.db", tmp_path / "owner.log", room]
        done = subprocess.run(
            [sys.executable, "-c", SPILLS, *map(str, words)], capture_output=True, text=True, check=True
        )
        assert (done.stdout.strip(), done.stderr) == (said, "")
        log = (tmp_path / "owner.log").read_text()
        if said:
            assert "Could not write file" in log
            was_forfeited(account)
        else:
            assert log == ""
            assert account.ledger.history()[-1].kind == "settled"


@pytest.mark.parametrize("where", [None, "other = 'x'", "other = 'nobody'"])
def test_a_damaged_page(where: str | None, tmp_path: Path) -> None:
    """Whether it is read depends on the columns that a question reads, and on no row: nothing is passed over."""
    path = tmp_path / "rows.parquet"
    names = [f"u{number}" for number in range(100)]
    rows = pa.table({"user": names, "item": names, "other": ["x"] * 100})
    pq.write_table(rows, path, use_dictionary=False, compression="none")
    written = bytearray(path.read_bytes())
    at = pq.read_metadata(path).row_group(0).column(1).data_page_offset
    written[at : at + 12] = b"\xff" * 12
    path.write_bytes(written)
    source = ul.table(path, user="user")
    with an_account(tmp_path) as account:
        fails_charged(source.histogram("item", budget=BUDGET, items_per_user=2, where=where), account)
        other = source.histogram("other", budget=BUDGET, items_per_user=2, where=where)
        assert other.paid_by(account).run().complete


@pytest.fixture
def server(postgres_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def view(server: psycopg.Connection[Any]) -> Iterator[Callable[[str], str]]:
    """Make views, and drop them afterwards."""
    names: list[str] = []

    def made(query: str) -> str:
        names.append(f"threat_{uuid.uuid4().hex}")
        server.execute(f'CREATE VIEW "{names[-1]}" AS {query}'.encode())
        return names[-1]

    yield made
    for name in names:
        server.execute(f'DROP VIEW "{name}"'.encode())


ENDLESS = "SELECT 'a'::text AS who, 'b'::text AS item FROM pg_sleep(3600)"


def asked(url: str, name: str, where: str | None = None, **settings: str) -> Plan:
    options = quote(" ".join(f"-c {setting}={value}" for setting, value in settings.items()))
    source = ul.table(f"{url}?options={options}" if settings else url, table=name, user="who")
    return source.top("item", k=1, budget=BUDGET, where=where)


def fails_at_its_limit(plan: Plan, account: Account) -> None:
    """Run a plan that must meet a time limit of the server after data was touched.

    A busy machine may meet it before, in a description or a rehearsal. That is refused at no charge: ask again.
    """
    while True:
        with suppress(CannotAnswerError, InvalidArgumentError):
            fails_charged(plan, account)
            return


def until_it_runs(server: psycopg.Connection[Any], name: str) -> int:
    """Wait until the server works on a question about a view, and return the number of its process."""
    for _ in range(HOW_LONG * 20):
        found = server.execute(
            "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state = 'active' "
            "AND wait_event = 'PgSleep' AND position(%s IN query) > 0",
            [name],
        ).fetchone()
        if found is not None:
            return int(found[0])
        time.sleep(0.05)
    pytest.fail("the question never began")


def test_a_connection_that_is_cut(
    server: psycopg.Connection[Any], view: Callable[[str], str], postgres_url: str, tmp_path: Path
) -> None:
    name = view(ENDLESS)

    def cut() -> None:
        with psycopg.connect(postgres_url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", [until_it_runs(other, name)])

    knife = threading.Thread(target=cut)
    knife.start()
    with an_account(tmp_path) as account:
        fails_charged(asked(postgres_url, name), account)
    knife.join()


def test_a_time_limit_of_the_database(view: Callable[[str], str], postgres_url: str, tmp_path: Path) -> None:
    with an_account(tmp_path) as account:
        fails_at_its_limit(asked(postgres_url, view(ENDLESS), statement_timeout="3s"), account)


def test_a_full_disk_of_the_database(view: Callable[[str], str], postgres_url: str, tmp_path: Path) -> None:
    name = view("SELECT g % 50000 AS who, md5(g::text) AS item FROM generate_series(1, 200000) g")
    with an_account(tmp_path) as account:
        fails_charged(asked(postgres_url, name, work_mem="64kB", temp_file_limit="64kB"), account)
        assert asked(postgres_url, name, work_mem="64kB").paid_by(account).run() is not None


@pytest.mark.parametrize("there", [True, False], ids=["with the row", "without it"])
def test_an_engine_that_raises_on_a_row_tells_one_bit(
    view: Callable[[str], str], postgres_url: str, tmp_path: Path, there: bool
) -> None:
    """Of a view that fails on somebody's row nobody can make one that does not: the ledger bounds how often."""
    rows = "('ann', 'x', 1), ('bob', 'y', 2)" + (", ('eve', 'z', 0)" if there else "")
    name = view(f"SELECT who, item, 1 / n AS share FROM (VALUES {rows}) AS given(who, item, n)")
    plan = ul.table(postgres_url, table=name, user="who").top("item", k=1, budget=BUDGET, where="share >= 0")
    with an_account(tmp_path) as account:
        if there:
            fails_charged(plan, account)
        else:
            assert plan.paid_by(account).run().complete is not None


def test_ctrl_c(
    server: psycopg.Connection[Any], view: Callable[[str], str], postgres_url: str, tmp_path: Path
) -> None:
    name = view(ENDLESS)
    with an_account(tmp_path) as account:
        words = [sys.executable, "-c", WAITS, postgres_url, str(tmp_path / "books.db"), name]
        asking = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until_it_runs(server, name)
        asking.send_signal(signal.SIGINT)
        out, _ = asking.communicate(timeout=HOW_LONG)
        assert asking.returncode != 0
        assert out == ""
        was_forfeited(account)


def test_a_process_that_dies(
    server: psycopg.Connection[Any], view: Callable[[str], str], postgres_url: str, tmp_path: Path
) -> None:
    """Nothing comes back; the ledger's own tests show how the reservation is found and forfeited."""
    name = view(ENDLESS)
    with an_account(tmp_path) as account:
        words = [sys.executable, "-c", WAITS, postgres_url, str(tmp_path / "books.db"), name]
        asking = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process = until_it_runs(server, name)
        held = account.balance()
        assert held.account.reserved.loss > 0
        asking.kill()
        asking.communicate()
        assert account.balance().left == held.left
        server.execute("SELECT pg_terminate_backend(%s)", [process])


def test_failures_of_every_kind_freeze_the_account_together(
    view: Callable[[str], str], postgres_url: str, tmp_path: Path
) -> None:
    """Two causes, three failures: the account is frozen, and no further question touches data."""
    name = view(
        "SELECT 'eve'::text AS who, 'z'::text AS item, 1 / g AS share, "
        "(SELECT g FROM pg_sleep(3600)) AS patience FROM generate_series(0, 3) g"
    )
    raises = asked(postgres_url, name, where="share >= 0")
    slow = asked(postgres_url, name, where="patience >= 0", statement_timeout="3s")
    with an_account(tmp_path) as account:
        fails_charged(raises, account)
        fails_at_its_limit(slow, account)
        fails_charged(raises, account)
        before = account.ledger.history()
        with pytest.raises(ul.FrozenError, match="3 questions failed"):
            raises.paid_by(account).run()
        assert account.ledger.history() == before
        account.ledger.thaw(account="ads")
        fails_charged(raises, account)


def test_the_folder_for_what_does_not_fit_is_gone_afterwards(
    large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("UNLISTED_MEMORY_LIMIT", "2MB")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    with an_account(tmp_path) as account:
        fails_charged(histogram(large), account)
    assert list((tmp_path / "tmp").iterdir()) == []
