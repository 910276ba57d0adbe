"""A real service for the browser: `unlisted serve` over PostgreSQL, with labels that mean harm in its tables."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.server.running import HIDDEN_LABEL, PATIENCE_SECONDS, SERVE, make_sources, wait_until

from unlisted.ledger.ledger import Ledger
from unlisted.privacy.guarantee import Budget
from unlisted.server.auth import KeyRing
from unlisted.server.config import read_config
from unlisted.server.startup import open_datasets
from unlisted.streams.stream import Stream

USERS = 500
HOSTILE = (
    "<script>document.title = 'taken'</script>",
    "</text></svg><img src=x onerror=\"document.title='taken'\">",
    "invoice\N{RIGHT-TO-LEFT OVERRIDE}fdp.exe",
    "zero\N{ZERO WIDTH SPACE}width",
    "=HYPERLINK(\"http://127.0.0.1:9/\", 'click')",
    "{{ 7 * 7 }}",
    " blanks around ",
    "a very " + "long " * 60 + "label",
)
COMMON = ("soup", "bread")

CONFIG = """
ledger = { env = "TEST_LEDGER" }
listen = "127.0.0.1:0"
owner_log = "owner.log"
secure_cookies = false

[limits]
requests_per_minute = 100000
time_limit = "3600s"

[datasets.searches]
source = "hostile.parquet"
description = "What people typed into a search box."
user = "user"
items = ["query", "device"]
filters = ["day", "device"]
items_per_user = 12
budget = { rho = 1, delta = 1e-5 }

[datasets.broken]
source = "broken.parquet"
user = "user"
items = ["query"]
items_per_user = 1
budget = { rho = 1, delta = 1e-5 }

[datasets.empty]
source = "empty.parquet"
user = "user"
items = ["query"]
items_per_user = 1
budget = { rho = 1, delta = 1e-5 }

[datasets.clinic]
source = "searches.parquet"
description = "Nobody but an admin may know that this is here."
user = "user"
items = ["query"]
items_per_user = 1
budget = { rho = 1, delta = 1e-5 }

[streams.dishes]
folder = "dishes"
dataset = "searches"
description = "Dishes, day by day."
outside_budget = true
"""
SEEN = ("searches", "broken", "empty")
SHARE = Budget(rho="0.5", delta="5e-6")


@dataclass(frozen=True)
class Site:
    """A service that runs, and the keys it knows."""

    url: str
    keys: Mapping[str, str]
    ledger_url: str

    def is_up(self) -> bool:
        """Return whether it answers."""
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=PATIENCE_SECONDS) as reply:
                return bool(reply.status == 200)
        except OSError:
            return False

    def charged(self) -> int:
        """Return how many entries the ledger has: asking adds some, looking none."""
        with Ledger(self.ledger_url) as ledger:
            return len(ledger.history())


@contextmanager
def running_site(folder: Path, ledger_url: str) -> Iterator[Site]:
    """Start the service in a folder, and stop it at the end."""
    make_sources(folder)
    _make_hostile(folder)
    config = folder / "unlisted.toml"
    config.write_text(CONFIG)
    environment = {**os.environ, "TEST_LEDGER": ledger_url, "PYTHONUNBUFFERED": "1"}
    keys = _make_keys(config, ledger_url)
    with (folder / "log").open("wb") as log:
        command = [sys.executable, "-c", SERVE, "--config", str(config)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment)
    try:
        assert process.stdout is not None
        said = process.stdout.readline().decode()
        assert said.startswith("Listening on "), (folder / "log").read_text()
        site = Site(said.split()[2], keys, ledger_url)
        wait_until(site.is_up)
        yield site
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)
        if process.stdout is not None:
            process.stdout.close()


def _make_hostile(folder: Path) -> None:
    """Write a table in which enough people share each hostile label, and a stream of them."""
    queries = (*HOSTILE, *COMMON)
    rows = [(user, query) for user in range(USERS) for query in queries] + [(USERS, HIDDEN_LABEL)]
    users, labels = zip(*rows, strict=True)
    devices = ["phone" if user % 2 else "desktop" for user in users]
    days = ["2025-12-01" if user % 3 else "2025-12-02" for user in users]
    table = pa.table({"user": users, "query": labels, "device": devices, "day": days})
    pq.write_table(table, folder / "hostile.parquet")
    budget = Budget(epsilon=2, delta="1e-6")
    stream = Stream.create(folder / "dishes", rounds=30, unit="event", items_per_event=3, budget=budget)
    for number in range(6):
        stream.push({"soup": 90 + 5 * number, "bread": 60, HOSTILE[2]: 50, HIDDEN_LABEL: 1})


def _make_keys(config: Path, ledger_url: str) -> dict[str, str]:
    with Ledger(ledger_url) as ledger, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEST_LEDGER", ledger_url)
        open_datasets(read_config(config), ledger)
        keys = KeyRing(ledger)
        for name in SEEN:
            ledger.open(f"ads-{name}", dataset=name, budget=SHARE)
        ledger.open("doctors", dataset="clinic", budget=SHARE)
        granted = {name: f"ads-{name}" for name in SEEN}
        return {
            "analyst": keys.create("Ana <b>", "analyst", granted),
            "admin": keys.create("Ada", "admin", {"searches": "ads-searches"}),
            "stranger": keys.create("Otto", "analyst"),
        }
