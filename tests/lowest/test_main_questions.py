"""The main questions on every source: what has to work with the lowest versions that we declare to work with.

`make test-lowest` runs these in an environment of just those versions. They run with all other tests too, with the
versions that are there.
"""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.fixtures.kitchen import BOUND, BUDGET, COMMON, PLANTED, cooked
from tests.lowest import requirements
from tests.server.asgi import Inside
from tests.tables.fixtures.engines import MAKERS

import unlisted as ul
from unlisted.query.plan import Plan
from unlisted.server.app import make_app
from unlisted.server.auth import KeyRing
from unlisted.server.config import read_config
from unlisted.server.startup import open_datasets
from unlisted.tables.versions import parts

Ask = Callable[[ul.PrivateTable], Plan]

QUESTIONS: dict[str, Ask] = {
    "histogram": lambda table: table.histogram("dish", budget=BUDGET, items_per_user=BOUND, where="portions > 0"),
    "histogram of two columns": lambda table: table.histogram(
        ["dish", "portions"], budget=BUDGET, items_per_user=BOUND, count="rows", rows_per_item=2
    ),
    "top": lambda table: table.top("dish", k=3, budget=BUDGET, counts=True),
    "top_histogram": lambda table: table.top_histogram("dish", budget=BUDGET),
    "labels": lambda table: table.labels("dish", budget=BUDGET, items_per_user=BOUND, method="adaptive"),
}


@pytest.mark.parametrize("name", MAKERS)
def test_every_main_question_is_answered(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    given = MAKERS[name](cooked(), tmp_path, request)
    for question, ask in QUESTIONS.items():
        table = ul.table(given.source, user="user", **given.keywords)
        release = ask(table).run()
        dishes = {row["dish"] for row in release.rows}
        assert dishes, question
        assert dishes <= {*COMMON}, question
        assert PLANTED not in repr(release)
        assert ul.Release.from_bytes(release.to_bytes()).rows == release.rows


def test_counts_from_elsewhere_are_released() -> None:
    counts = ul.counts(list(COMMON), list(COMMON.values()), items_per_user=BOUND)
    assert len(counts.histogram(budget=BUDGET).run()) == len(COMMON)


def test_a_ledger_pays_and_remembers(tmp_path: Path) -> None:
    with ul.Ledger(tmp_path / "budget.db") as ledger:
        ledger.create_dataset("kitchen", budget=ul.Budget(rho=9, delta="1e-6"), version="1")
        account = ledger.open("cook", dataset="kitchen", budget=ul.Budget(rho=9, delta="1e-6"))
        table = ul.table(cooked(), user="user")
        plans = [table.histogram("dish", budget=BUDGET, items_per_user=BOUND, account=account) for _ in range(2)]
        first, again = (plan.run() for plan in plans)
        assert first.stamp == again.stamp
        assert first.rows == again.rows
        assert account.balance().account.used.loss > 0


@pytest.mark.parametrize("unit", ["event", "user"])
def test_a_stream_takes_rounds_in(unit: str, tmp_path: Path) -> None:
    protected = {"unit": unit, "rounds_per_user": 2 if unit == "user" else None}
    stream = ul.Stream.create(
        tmp_path / "stream", rounds=4, items_per_event=BOUND, budget=BUDGET, item="dish", **protected
    )
    for _ in range(3):
        release = stream.push(cooked())
    assert release is not None
    assert {row["dish"] for row in release.rows} == {*COMMON}
    assert stream.round == 3
    assert len(ul.Stream.open(tmp_path / "stream").export()) == 3 * len(COMMON)


def test_the_service_answers_a_question(tmp_path: Path) -> None:
    pq.write_table(cooked(), tmp_path / "cooked.parquet")
    (tmp_path / "unlisted.toml").write_text(
        'ledger = "budget.db"\n[datasets.kitchen]\nsource = "cooked.parquet"\nuser = "user"\nitems = ["dish"]\n'
        f"items_per_user = {BOUND}\nbudget = {{ rho = 50, delta = 1e-4 }}\n"
    )
    config = read_config(tmp_path / "unlisted.toml")
    with ul.Ledger(config.ledger) as ledger:
        open_datasets(config, ledger)
        ledger.open("cook", dataset="kitchen", budget=ul.Budget(rho=50, delta="1e-4"))
        inside = Inside(make_app(config, ledger), KeyRing(ledger).create("Ana", "analyst", {"kitchen": "cook"}))
        question = {"question": "histogram", "items": ["dish"], "epsilon": 6, "delta": 1e-9}
        reply = inside.post("/v1/datasets/kitchen/releases", question)
        assert reply.status_code in (200, 201), reply.text
        assert {row["dish"] for row in reply.json()["rows"]} == {*COMMON}


def test_no_version_here_is_below_what_is_declared() -> None:
    """Where only the lowest are installed, none is above it either."""
    only_lowest = os.environ.get("UNLISTED_LOWEST") == "1"
    for pinned in requirements.pins():
        name, _, version = pinned.partition("==")
        here, lowest = parts(importlib.metadata.version(name.partition("[")[0])), parts(version)
        assert here == lowest if only_lowest else here >= lowest, name
