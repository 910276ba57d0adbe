"""A database that hangs and a disk that is full: the service says so, charges nobody, and goes on afterwards."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.server.running import HISTOGRAM, TOP, TOTAL, Running, make_slow_view, serving, wait_until
from tests.services import postgres

from unlisted.ledger.ledger import Ledger
from unlisted.ledger.verify import verify
from unlisted.server.auth import KeyRing

PLACE = "/v1/datasets/searches/releases"


def configured(folder: Path, limits: str, *more: str) -> str:
    """Write a small table and return a configuration of it, with the ledger in the environment."""
    users = [f"user {number}" for number in range(900)]
    pq.write_table(pa.table({"user": users, "query": ["soup"] * 900}), folder / "searches.parquet")
    head = ['ledger = { env = "TEST_LEDGER" }', 'listen = "127.0.0.1:0"', 'owner_log = "owner.log"']
    offered = ['user = "user"', 'items = ["query"]', "items_per_user = 1", "failures = 1000"]
    budget = f"budget = {{ rho = {TOTAL.rho}, delta = 1e-4 }}"
    return "\n".join(
        [*head, "[limits]", limits, "[datasets.searches]", 'source = "searches.parquet"', *offered, budget]
        + ([*more, *offered, budget] if more else [])
    )


def open_accounts(url: str, *datasets: str) -> dict[str, str]:
    with Ledger(url) as ledger:
        for name in datasets:
            ledger.open(f"ads-{name}", dataset=name, budget=TOTAL, failures=900)
        return {"analyst": KeyRing(ledger).create("Ana", "analyst", {name: f"ads-{name}" for name in datasets})}


@pytest.fixture(scope="module")
def own_postgres() -> Iterator[str]:
    """A server of its own: it will hang."""
    if (reason := postgres.why_not()) is not None:
        pytest.skip(reason)
    with postgres.running_server() as url:
        yield url


@contextmanager
def hanging(url: str) -> Iterator[None]:
    """Stop every process of a server, so that it holds its connections and says nothing."""
    with psycopg.connect(url) as connection:
        backend = connection.info.backend_pid
        server = _parent(Path(f"/proc/{backend}"))
    parents = {int(one.name): _parent(one) for one in Path("/proc").iterdir() if one.name.isdigit()}
    processes = [server, *(child for child, parent in parents.items() if parent == server and child != backend)]
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


def _parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def entries(url: str) -> list[str]:
    with Ledger(url, read_only=True) as book:
        assert verify(book) == []
        return [entry.kind for entry in book.history()]


def is_ready(service: Running) -> bool:
    return service.ask("/ready", who=None).status == 200


def test_a_hung_ledger_times_out_everywhere_and_ready_says_so(tmp_path: Path, own_postgres: str):
    config = configured(tmp_path, 'ledger_limit = "1s"')
    with serving(tmp_path, config, {"TEST_LEDGER": own_postgres}, {}) as service:
        service.keys = open_accounts(own_postgres, "searches")
        assert service.ask(PLACE, TOP).status == 200
        before = entries(own_postgres)
        with hanging(own_postgres):
            wait_until(lambda: not is_ready(service))
            assert service.ask("/health", who=None).status == 200
            replies: list[Any] = [
                service.ask(PLACE, HISTOGRAM),
                service.ask("/v1/datasets/searches/balance"),
                service.ask("/v1/datasets/searches/preview", TOP),
                service.ask("/v1/datasets"),
            ]
            for reply in replies:
                assert reply.status == 503
                assert reply.json()["charged"] in (False, None)
                assert int(reply.headers["retry-after"]) >= 1
        wait_until(lambda: is_ready(service))
        assert service.ask(PLACE, HISTOGRAM).status == 200
        assert entries(own_postgres)[: len(before)] == before


def test_a_hung_source_frees_its_place(tmp_path: Path, own_postgres: str, fresh_postgres: str):
    """There is one place for questions. The source hangs in the middle of one, which fails; others go on."""
    make_slow_view(own_postgres)
    config = configured(
        tmp_path,
        'time_limit = "10s"\nquestions_at_once = 1',
        "[datasets.slow]",
        'source = { env = "TEST_SOURCE" }',
        'table = "slow"',
    )
    environment = {"TEST_LEDGER": fresh_postgres, "TEST_SOURCE": own_postgres}
    with serving(tmp_path, config, environment, {}) as service, ThreadPoolExecutor(1) as thread:
        service.keys = open_accounts(fresh_postgres, "searches", "slow")
        asked = thread.submit(service.ask, "/v1/datasets/slow/releases", TOP)
        wait_until(lambda: is_counting(own_postgres))
        with hanging(own_postgres):
            reply = asked.result()
            assert (reply.status, reply.json()["charged"]) == (500, True)
            refused = service.ask("/v1/datasets/slow/releases", TOP)
            assert (refused.status, refused.json()["charged"]) == (503, False), "it never began"
            wait_until(lambda: service.ask(PLACE, TOP).status == 200)
        kinds = entries(fresh_postgres)
        assert (kinds.count("forfeited"), kinds.count("settled")) == (1, 1)


def is_counting(url: str) -> bool:
    counting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    with psycopg.connect(url) as connection:
        return connection.execute(counting).fetchone() != (0,)


def test_on_a_full_disk_ready_says_so_and_nothing_is_charged(tmp_path: Path):
    url = str(tmp_path / "budget.db")
    with serving(tmp_path, configured(tmp_path, ""), {"TEST_LEDGER": url}, {}) as service:
        service.keys = open_accounts(url, "searches")
        assert is_ready(service)
        before = entries(url)
        whole = resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE)
        # No file may grow any more, as if there were no room.
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (0, whole[1]))
        wait_until(lambda: not is_ready(service))
        reply = service.ask(PLACE, TOP)
        assert reply.status == 503
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, whole)
        wait_until(lambda: is_ready(service))
        assert entries(url) == before
        assert service.ask(PLACE, TOP).status == 200
