"""A service starts: beside another one, on a socket that answers at once."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import unlisted as ul
from unlisted.errors import InvalidArgumentError
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.verify import verify
from unlisted.server.config import Config, Offer
from unlisted.server.run import _listening
from unlisted.server.startup import open_datasets

TOTAL = ul.Budget(rho=1, delta="1e-6")


@pytest.fixture
def places(tmp_path: Path) -> list[Offer]:
    offers = []
    for name in ("searches", "visits", "orders"):
        pq.write_table(pa.table({"user": ["a"], "query": ["tea"]}), tmp_path / f"{name}.parquet")
        offers.append(Offer(name, str(tmp_path / f"{name}.parquet"), "user", ("query",), TOTAL))
    return offers


def start_together(url: str, configs: list[Config]) -> list[BaseException | None]:
    """Open the data sets of several services at one moment; return what each failed with."""
    together = threading.Barrier(len(configs))

    def start(config: Config) -> BaseException | None:
        with Ledger(url) as ledger:
            together.wait()
            try:
                open_datasets(config, ledger)
            except InvalidArgumentError as failure:
                return failure
        return None

    with ThreadPoolExecutor(len(configs)) as threads:
        return list(threads.map(start, configs))


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_two_servers_start_a_new_data_set_at_once_without_a_race(
    store: str, tmp_path: Path, request: pytest.FixtureRequest, places: list[Offer]
):
    url = str(tmp_path / "budget.db") if store == "sqlite" else request.getfixturevalue("fresh_postgres")
    config = Config(url, {one.name: one for one in places})
    assert start_together(url, [config] * 4) == [None] * 4
    with Ledger(url) as ledger:
        assert [(one.dataset, one.kind) for one in ledger.history()] == [
            (name, "opened") for name in ("orders", "searches", "visits")
        ]
        assert verify(ledger) == []


def test_of_two_servers_with_other_terms_one_starts(tmp_path: Path, places: list[Offer]):
    url = str(tmp_path / "budget.db")
    smaller = Offer("searches", places[0].source, "user", ("query",), ul.Budget(rho="0.5", delta="1e-6"))
    failures = start_together(url, [Config(url, {"searches": one}) for one in (places[0], smaller)])
    (failed,) = [one for one in failures if one is not None]
    assert "as it was opened" in str(failed)


def test_an_older_configuration_does_not_move_a_version_back(
    tmp_path: Path, places: list[Offer], caplog: pytest.LogCaptureFixture
):
    def start(version: str | None) -> str | None:
        caplog.clear()
        with Ledger(tmp_path / "budget.db") as ledger:
            open_datasets(Config("unused", {"searches": replace(places[0], version=version)}), ledger)
            return ledger.dataset("searches").version

    assert [start("january"), start("february")] == ["january", "february"]
    assert not caplog.records
    assert start("january") == "february"
    assert "The ledger's stands" in caplog.text
    assert start(None) == "february"
    with Ledger(tmp_path / "budget.db") as ledger:
        # Whoever means it says so.
        ledger.declare_version("searches", "january")
        assert ledger.declared_versions("searches") == {"january", "february"}
    assert start("february") == "january"


@pytest.mark.parametrize(("rho", "warned"), [("0.5", False), ("1000", True)])
def test_a_total_that_protects_nobody_is_warned_of_at_every_start(
    rho: str, warned: bool, tmp_path: Path, places: list[Offer], caplog: pytest.LogCaptureFixture
):
    offer = replace(places[0], budget=ul.Budget(rho=rho, delta="1e-6"))
    for _ in range(2):
        caplog.clear()
        with Ledger(tmp_path / "budget.db") as ledger:
            open_datasets(Config("unused", {"searches": offer}), ledger)
        assert ("protects nobody" in caplog.text) is warned


def test_a_connection_does_not_wait_to_be_confirmed():
    """With Nagle's algorithm a reply in two pieces takes 40 ms on a connection that is kept."""
    with _listening(Config("unused", {}, port=0)) as door:
        door.listen()
        assert door.proto == socket.IPPROTO_TCP, "else asyncio does not set it on what it accepts"
        with socket.create_connection(door.getsockname()):
            accepted, _ = door.accept()
            with accepted:
                assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
