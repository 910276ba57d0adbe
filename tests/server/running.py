"""A real service for the tests: `unlisted serve` in a process of its own, over files and a real PostgreSQL."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from unlisted.ledger.ledger import Ledger
from unlisted.privacy.guarantee import Budget
from unlisted.server.auth import KeyRing
from unlisted.server.config import Limits

SERVE = "import typer; from unlisted.cli.serve import serve; typer.run(serve)"
HIDDEN_LABEL = "my pin is 1234"
PATIENCE_SECONDS = 600
"""After which something that should happen counts as not happening. It is no claim about how fast a machine is."""

Guess = TypeVar("Guess")

TOTAL = Budget(rho=50, delta="1e-4")
TOP = {"question": "top", "items": ["query"], "k": 3, "epsilon": 1, "delta": 1e-8}
HISTOGRAM = {"question": "histogram", "items": ["query"], "epsilon": 1, "delta": 1e-8}
LABELS = {"question": "labels", "items": ["query"], "epsilon": 1, "delta": 1e-8}

DATASETS = ("searches", "empty", "broken", "slow_file", "slow_server")


def make_sources(folder: Path) -> None:
    """Write a small table, an empty one, one that cannot be read, and one that nobody has the time to read."""
    queries = ["soup"] * 700 + ["bread"] * 500 + ["tea"] * 300 + [HIDDEN_LABEL]
    users = [f"user {number}" for number in range(len(queries))]
    devices = ["phone" if number % 2 else "desktop" for number in range(len(queries))]
    salary = list(range(len(queries)))
    rows = pa.table({"user": users, "query": queries, "device": devices, "salary": salary})
    pq.write_table(rows, folder / "searches.parquet")
    pq.write_table(rows.slice(0, 0), folder / "empty.parquet")
    pq.write_table(rows, folder / "broken.parquet", compression="snappy")
    whole = (folder / "broken.parquet").read_bytes()
    # The footer stays, so the columns can be read; the pages hold noughts.
    (folder / "broken.parquet").write_bytes(whole[:4] + bytes(len(whole) // 2) + whole[4 + len(whole) // 2 :])
    with duckdb.connect(str(folder / "slow.duckdb")) as connection:
        connection.execute(
            'CREATE VIEW slow AS SELECT CAST(i % 1000 AS VARCHAR) AS "user", CAST(HASH(i) % 9 AS VARCHAR) '
            "AS query FROM RANGE(100_000_000_000) AS numbers(i)"
        )


def make_slow_view(url: str) -> None:
    """Make a view in PostgreSQL that takes ten hours to read."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            """CREATE VIEW slow AS SELECT 'somebody'::text AS "user", 'tea'::text AS query FROM pg_sleep(36000)"""
        )


MANY_FAILURES = "failures = 1000"
"""One service for all tests: what one of them breaks must not freeze it for the others."""


def config_text(limits: Mapping[str, Any]) -> str:
    """Return a configuration of all these, with the addresses of databases in the environment."""
    budget = f"budget = {{ rho = {TOTAL.rho}, delta = 1e-4 }}"
    lines = ['ledger = { env = "TEST_LEDGER" }', 'listen = "127.0.0.1:0"', 'owner_log = "owner.log"', "[limits]"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in limits.items()]
    for name in ("searches", "empty", "broken"):
        lines += [
            f"[datasets.{name}]",
            f'source = "{name}.parquet"',
            'user = "user"',
            'items = ["query", "device"]',
            'filters = ["device"]',
            "items_per_user = 1",
            budget,
            MANY_FAILURES,
        ]
    slow = {"slow_file": '"slow.duckdb"', "slow_server": '{ env = "TEST_LEDGER" }'}
    for name, source in slow.items():
        lines += [f"[datasets.{name}]", f"source = {source}", 'table = "slow"', 'user = "user"']
        lines += ['items = ["query"]', "items_per_user = 1", budget, MANY_FAILURES]
    return "\n".join(lines)


@dataclass
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Running:
    """A service that runs, and how to ask it."""

    url: str
    process: subprocess.Popen[bytes]
    folder: Path
    keys: Mapping[str, str]

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def owner_log(self) -> str:
        return (self.folder / "owner.log").read_text()

    def ask(
        self, path: str, body: Any = None, who: str | None = "analyst", headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Send a request: GET without a body, else POST with JSON, or with the bytes as they are."""
        sent = {"Content-Type": "application/json", **(headers or {})}
        if who is not None:
            sent["Authorization"] = f"Bearer {self.keys.get(who, who)}"
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, sent)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as reply:
                return Reply(reply.status, dict(reply.headers), reply.read())
        except urllib.error.HTTPError as refusal:
            with refusal:
                return Reply(refusal.code, dict(refusal.headers), refusal.read())

    def raw(self, request: bytes) -> bytes:
        """Send bytes as they are and return all that comes back."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_SECONDS) as line:
            line.sendall(request)
            line.shutdown(socket.SHUT_WR)
            found = b""
            while more := line.recv(65_536):
                found += more
            return found


def make_keys(ledger_url: str) -> dict[str, str]:
    """Open accounts on all data sets and make keys: an analyst's, another one's with one data set, an admin's."""
    with Ledger(ledger_url) as ledger:
        keys = KeyRing(ledger)
        for name in DATASETS:
            ledger.open(f"ads-{name}", dataset=name, budget=TOTAL, failures=900)
        ledger.open("others", dataset="empty", budget=Budget(rho=1, delta="1e-6"))
        return {
            "analyst": keys.create("Ana", "analyst", {name: f"ads-{name}" for name in DATASETS}),
            "other": keys.create("Otto", "analyst", {"empty": "others"}),
            "admin": keys.create("Ada", "admin"),
        }


@contextmanager
def running(
    folder: Path, ledger_url: str, keys: Mapping[str, str], limits: Mapping[str, Any] = {}
) -> Iterator[Running]:
    """Start a service on the sources of a folder; stop it at the end."""
    with serving(folder, config_text(limits), {"TEST_LEDGER": ledger_url}, keys) as service:
        yield service


@contextmanager
def serving(
    folder: Path, config: str, environment: Mapping[str, str], keys: Mapping[str, str]
) -> Iterator[Running]:
    """Start a service with a configuration; stop it at the end."""
    (folder / "unlisted.toml").write_text(config)
    command = [sys.executable, "-c", SERVE, "--config", str(folder / "unlisted.toml")]
    environment = {**os.environ, **environment, "PYTHONUNBUFFERED": "1"}
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment)
    try:
        assert process.stdout is not None
        said = process.stdout.readline().decode()
        assert said.startswith("Listening on "), (folder / "log").read_text()
        service = Running(said.split()[2], process, folder, keys)
        wait_until(lambda: _is_up(service))
        yield service
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)
        assert process.stdout is not None
        process.stdout.close()


def padded_to(seconds: float) -> Limits:
    """Return limits with a fixed time of answer and, in a test's own process, no limit on what comes before it.

    With one, how fast the machine is would decide what is answered.
    """
    limits = Limits(pad_to=seconds, time_limit=seconds)
    object.__setattr__(limits, "time_limit", float("inf"))
    return limits


def locked_out(guess: Callable[[], Guess], status: Callable[[Guess], int]) -> list[Guess]:
    """Guess until a guess has to wait. On a slow machine the first waits, of a second or two, are over by then."""
    guesses = [guess()]
    while status(guesses[-1]) != 429:
        assert len(guesses) < 30, "each wait is twice as long as the one before"
        guesses.append(guess())
    return guesses


def wait_until(holds: Any) -> None:
    """Wait for something to become true; how long only says when to give up."""
    ends = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < ends, "waited in vain"
        time.sleep(0.05)


def _is_up(service: Running) -> bool:
    try:
        return service.ask("/health", who=None).status == 200
    except OSError:
        return False
