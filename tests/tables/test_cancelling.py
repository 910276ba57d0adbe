"""A question can be stopped from another thread, inside the engine, and ends like any other failure."""

from __future__ import annotations

import threading
import time
import uuid
from pathlib import Path

import duckdb
import psycopg
import pyarrow as pa
import pytest

import unlisted as ul
from unlisted.errors import CannotAnswerError, ChargedFailureError
from unlisted.query.plan import Plan
from unlisted.tables.stopping import Cancellation, interruptible

BUDGET = ul.Budget(epsilon=1, delta="1e-8")


@pytest.fixture
def slow_file(tmp_path: Path) -> Plan:
    """A view in a DuckDB file that would take days to read."""
    with duckdb.connect(str(tmp_path / "slow.duckdb")) as connection:
        connection.execute(
            'CREATE VIEW slow AS SELECT CAST(i % 99 AS VARCHAR) AS "user", CAST(HASH(i) % 9 AS VARCHAR) AS query '
            "FROM RANGE(1_000_000_000_000) AS numbers(i)"
        )
    return ul.table(tmp_path / "slow.duckdb", table="slow", user="user").top("query", k=2, budget=BUDGET)


@pytest.fixture
def slow_server(postgres_url: str) -> Plan:
    """A view in PostgreSQL that would take an hour to read."""
    name = f"slow_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            f"""CREATE VIEW "{name}" AS SELECT 'a'::text AS "user", 'b'::text AS query FROM pg_sleep(3600)"""
        )
    return ul.table(postgres_url, table=name, user="user").top("query", k=2, budget=BUDGET)


def run_until_stopped(plan: Plan) -> BaseException | None:
    """Run a plan in a thread, stop it, and return what it raised."""
    cancellation, raised = Cancellation(), []

    def work() -> None:
        with cancellation.watching():
            try:
                plan.run()
            except ChargedFailureError as failure:
                raised.append(failure)

    worker = threading.Thread(target=work)
    worker.start()
    for _ in range(1200):
        if not worker.is_alive():
            break
        time.sleep(0.1)
        if cancellation.began:
            cancellation.cancel()
    worker.join(1)
    return raised[0] if raised else None


@pytest.mark.parametrize("engine", ["slow_file", "slow_server"])
def test_a_running_question_is_stopped_inside_the_engine(engine: str, request: pytest.FixtureRequest) -> None:
    failure = run_until_stopped(request.getfixturevalue(engine))
    assert isinstance(failure, ChargedFailureError)
    assert str(failure) == "could not be answered; no account pays, so nothing was charged; see the log"


def test_a_question_that_was_cancelled_before_does_not_begin() -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    plan = ul.table(_frame(), user="user").top("query", k=1, budget=BUDGET)
    with cancellation.watching(), pytest.raises(CannotAnswerError, match="it was stopped before it began"):
        plan.run()
    assert not cancellation.began


def test_a_question_that_is_stopped_in_its_rehearsal_is_not_charged(postgres_url: str) -> None:
    """Somebody holds the table, so that even its schema has to wait."""
    name = f"held_{uuid.uuid4().hex}"
    cancellation, raised = Cancellation(), []
    with psycopg.connect(postgres_url) as holder:
        holder.execute(f"""CREATE TABLE "{name}" AS SELECT 'a'::text AS "user", 'b'::text AS query""")
        holder.commit()
        plan = ul.table(postgres_url, table=name, user="user").top("query", k=2, budget=BUDGET)
        plan.run()
        holder.execute(f'LOCK TABLE "{name}"')

        def work() -> None:
            with cancellation.watching():
                try:
                    plan.run()
                except ul.UnlistedError as failure:
                    raised.append(failure)

        worker = threading.Thread(target=work)
        worker.start()
        waiting = f"SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND relation = '\"{name}\"'::regclass"
        while holder.execute(waiting).fetchone() == (0,):
            assert worker.is_alive()
        while worker.is_alive():
            cancellation.cancel()
            worker.join(0.1)
    assert [type(failure) for failure in raised] == [CannotAnswerError]
    assert not cancellation.began


def test_without_a_watcher_nothing_changes() -> None:
    stopped = []
    with interruptible(lambda: stopped.append(True)):
        pass
    assert stopped == []
    assert ul.table(_frame(), user="user").top("query", k=1, budget=BUDGET).run().complete is False


def test_a_watcher_stops_only_what_runs_inside_it() -> None:
    stopped: list[str] = []
    cancellation = Cancellation()
    with cancellation.watching(), interruptible(lambda: stopped.append("inside")):
        cancellation.cancel()
    with interruptible(lambda: stopped.append("outside")):
        cancellation.cancel()
    assert stopped == ["inside"]


def _frame() -> pa.Table:
    return pa.table({"user": ["a"], "query": ["tea"]})
