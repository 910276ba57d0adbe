"""A long history is read a page at a time, by the database: no page costs more for what is not on it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from tests.server.asgi import Inside

import unlisted as ul
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.schema import entries, questions
from unlisted.server.app import make_app
from unlisted.server.auth import KeyRing
from unlisted.server.config import Config, Limits, Offer

MANY = 20_000
TOTAL = ul.Budget(rho=10, delta="1e-5")
PLACE = "/v1/datasets/searches"


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """A ledger with so many releases, all of one small answer; what lies before them is real."""
    with Ledger(tmp_path_factory.mktemp("long") / "budget.db") as book:
        yield book


@pytest.fixture(scope="module")
def service(ledger: Ledger) -> Inside:
    rows = pa.table({"user": [f"user {n}" for n in range(300)], "query": ["tea"] * 300})
    offer = Offer("searches", rows, "user", ("query",), TOTAL)
    limits = Limits(requests_per_minute=100_000)
    app = make_app(Config("unused", {"searches": offer}, limits=limits), ledger)
    ledger.open("ads", dataset="searches", budget=TOTAL)
    ledger.open("rare", dataset="searches", budget=TOTAL)
    key = KeyRing(ledger).create("Ada", "admin", {"searches": "ads"})
    asked = {"question": "top", "items": ["query"], "k": 1, "epsilon": 1, "delta": 1e-8}
    inside = Inside(app, key)
    assert inside.post(f"{PLACE}/releases", asked).status_code == 200
    _repeat_the_last(ledger, MANY)
    return inside


def _repeat_the_last(ledger: Ledger, times: int) -> None:
    """Write the last question and its two entries again and again, under new numbers."""
    with ledger.store.writing() as connection:
        last = connection.execute(sa.select(entries).order_by(entries.c.number.desc()).limit(2)).mappings().all()
        question = dict(connection.execute(sa.select(questions)).mappings().one())
        settled, reserved = dict(last[0]), dict(last[1])
        number = settled["number"]
        steps, asked = [], []
        for _ in range(times):
            steps.append({**reserved, "number": number + 1})
            steps.append({**settled, "number": number + 2, "reservation": number + 1})
            asked.append({**question, "reservation": number + 1, "entry": number + 2})
            number += 2
        connection.execute(entries.insert(), steps)
        connection.execute(questions.insert(), asked)


def last_number(ledger: Ledger) -> int:
    with ledger.store.reading() as connection:
        return int(connection.execute(sa.select(sa.func.max(entries.c.number))).scalar_one())


def plans_of(ledger: Ledger, work: Callable[[], Any]) -> list[str]:
    """Return how SQLite goes about each statement that reads entries or questions."""
    found: list[str] = []

    def explain(connection: Any, cursor: Any, statement: str, values: Any, *_: Any) -> None:
        if statement.startswith("SELECT") and ("unlisted_entries" in statement):
            steps = connection.connection.driver_connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)
            found.extend(str(step[3]) for step in steps)

    sa.event.listen(ledger.store._engine, "before_cursor_execute", explain)
    try:
        work()
    finally:
        sa.event.remove(ledger.store._engine, "before_cursor_execute", explain)
    return found


def pages(ledger: Ledger) -> dict[str, str]:
    middle = last_number(ledger) // 2
    return {
        "newest": f"{PLACE}/releases",
        "middle": f"{PLACE}/releases?before={middle}",
        "oldest": f"{PLACE}/releases?before=20",
        "history": f"{PLACE}/history?after={middle}",
        "the end": f"{PLACE}/history?after={last_number(ledger) - 10}",
    }


def test_every_page_is_found_by_an_index(ledger: Ledger, service: Inside):
    for name, path in pages(ledger).items():
        steps = plans_of(ledger, lambda path=path: service.get(path))
        assert steps, name
        assert not [step for step in steps if step.startswith("SCAN") or "TEMP B-TREE" in step], name


def test_a_balance_reads_the_end_of_a_long_history(ledger: Ledger, service: Inside):
    assert service is not None
    steps = plans_of(ledger, lambda: ledger.account("ads").balance())
    assert steps
    assert not [step for step in steps if step.startswith("SCAN") or "TEMP B-TREE" in step]


def test_who_asked_little_finds_it_without_reading_what_others_asked(ledger: Ledger, service: Inside):
    rare = Inside(service.app, KeyRing(ledger).create("Otto", "analyst", {"searches": "rare"}))
    for path in (f"{PLACE}/releases", f"{PLACE}/history"):
        found: list[Any] = []
        steps = plans_of(ledger, lambda path=path, found=found: found.extend(rare.get(path).json()))
        assert len(found) == (0 if path.endswith("releases") else 1)
        assert any("account=?" in step for step in steps), steps
        assert not [step for step in steps if step.startswith("SCAN") or "TEMP B-TREE" in step]


def test_a_page_has_what_belongs_on_it(ledger: Ledger, service: Inside):
    last = last_number(ledger)
    newest = service.get(f"{PLACE}/releases?most=2").json()
    assert [one["entry"] for one in newest] == [last, last - 2]
    before = service.get(f"{PLACE}/releases?most=2&before={last - 2}").json()
    assert [one["entry"] for one in before] == [last - 4, last - 6]
    after = service.get(f"{PLACE}/history?after={last - 3}").json()
    assert [one["number"] for one in after] == [last - 2, last - 1, last]


def test_memory_does_not_grow_with_the_history(ledger: Ledger, service: Inside):
    """A page in the middle of very many takes what one at the beginning takes."""
    paths = pages(ledger)
    service.get(paths["oldest"])
    tracemalloc.start()
    try:
        peaks = {}
        for name, path in paths.items():
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            assert service.get(path).status_code == 200
            peaks[name] = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert max(peaks.values()) < 20_000_000, peaks
