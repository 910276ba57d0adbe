"""What can fail without rows fails before anything is charged, in words, and no row has a part in it."""

from __future__ import annotations

import gzip
import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import polars
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.kitchen import BOUND, BUDGET, COMMON, cooked
from tests.server.asgi import Inside

import unlisted as ul
from unlisted.ledger.account import Account
from unlisted.query.data import REHEARSED, Rehearsed
from unlisted.query.plan import Plan
from unlisted.server.app import make_app
from unlisted.server.config import read_config
from unlisted.server.keys import KeyRing
from unlisted.server.opening import open_datasets
from unlisted.tables.engines.duckdb import DuckDBEngine
from unlisted.tables.engines.duckdb_frames import frame_engine
from unlisted.tables.engines.duckdb_text import Csv
from unlisted.tables.engines.engine import SOURCE, Rows
from unlisted.tables.engines.spark import SparkEngine
from unlisted.tables.failures import OWNER_LOG
from unlisted.tables.old_packages import lowest_versions, parts, too_old
from unlisted.tables.table import Table

MUCH = ul.Budget(rho=90, delta="1e-4")


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    """Whatever ran before, a test rehearses."""
    REHEARSED._names.clear()
    yield
    REHEARSED._names.clear()


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    with ul.Ledger(tmp_path / "budget.db") as ledger:
        ledger.create_dataset("kitchen", budget=MUCH, version="1")
        yield ledger.open("cook", dataset="kitchen", budget=MUCH)


@contextmanager
def kept() -> Iterator[list[str]]:
    """What the owner's log is told."""
    told: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: told.append(logging.Formatter().format(record))  # type: ignore[method-assign]
    OWNER_LOG.addHandler(handler)
    try:
        yield told
    finally:
        OWNER_LOG.removeHandler(handler)


def refused(plan: Plan, account: Account, kind: type[ul.UnlistedError] = ul.CannotAnswerError) -> str:
    """Run a plan that must be refused, see that not even a reservation was made, and return what was said."""
    before = account.ledger.history("kitchen")
    with pytest.raises(ul.UnlistedError) as failure:
        plan.paid_by(account).run()
    assert type(failure.value) is kind, failure.value
    assert account.ledger.history("kitchen") == before
    with pytest.raises(kind):
        plan.paid_by(None).run()
    return str(failure.value)


def histogram(source: Any, **named: Any) -> Plan:
    return ul.table(source, user="user", **named).histogram("dish", budget=BUDGET, items_per_user=BOUND)


def as_parquet(folder: Path) -> Path:
    pq.write_table(cooked(), folder / "cooked.parquet")
    return folder / "cooked.parquet"


# Packages that lack something.


def test_a_function_that_the_library_lacks(monkeypatch: pytest.MonkeyPatch, account: Account) -> None:
    """PyArrow 15 was as PyArrow is without this function, and every question failed charged."""
    monkeypatch.delattr("pyarrow.types.is_string_view")
    with kept() as told:
        said = refused(histogram(cooked()), account)
    assert "no attribute 'is_string_view'" in said
    assert "nothing was charged" in said
    assert "Traceback" in told[0]


def test_an_option_that_the_engine_lacks(
    monkeypatch: pytest.MonkeyPatch, account: Account, tmp_path: Path
) -> None:
    """DuckDB 1.1 did not know `strict_mode`, and every question about a CSV file failed charged."""
    real = Csv.relation
    monkeypatch.setattr(Csv, "relation", lambda self, names: real(self, names).replace("strict_mode", "unknown"))
    (tmp_path / "cooked.csv").write_text("user,dish\n1,soup\n")
    with kept() as told:
        assert "BinderException from duckdb" in refused(histogram(tmp_path / "cooked.csv"), account)
    assert "unknown" in told[0]


@pytest.mark.parametrize("ask", ["histogram", "labels"])
def test_a_function_that_the_engine_lacks(ask: str, monkeypatch: pytest.MonkeyPatch, account: Account) -> None:
    monkeypatch.setattr(DuckDBEngine, "key", lambda _, text: f"NO_SUCH_HASH({text})")
    how = {"budget": BUDGET, "items_per_user": BOUND}
    plan = getattr(ul.table(cooked(), user="user"), ask)(
        "dish", **how | ({"method": "sips"} if ask == "labels" else {})
    )
    assert "CatalogException from duckdb" in refused(plan, account)


def test_a_statement_that_only_many_labels_lead_to(monkeypatch: pytest.MonkeyPatch, account: Account) -> None:
    monkeypatch.setattr("unlisted.tables.counting.fetch_query", lambda _: 'SELECT "no such column"')
    assert "BinderException" in refused(histogram(cooked()), account)


def test_labels_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, account: Account) -> None:
    def no_writer(*_: object) -> None:
        raise pa.ArrowNotImplementedError("this type")

    monkeypatch.setattr("unlisted.release.serialize.pa.ipc.new_stream", no_writer)
    assert "ArrowNotImplementedError from pyarrow" in refused(histogram(cooked()), account)
    counts = ul.counts(list(COMMON), list(COMMON.values()), items_per_user=BOUND)
    assert "ArrowNotImplementedError" in refused(counts.histogram(budget=BUDGET), account)


@pytest.mark.parametrize("lazy", [False, True])
def test_what_only_shows_where_a_row_is_shows_on_a_row_of_nobody(*, lazy: bool) -> None:
    """PyArrow finds out only with a row in its hands that it cannot filter string views, say."""
    rows = cooked().set_column(1, "dish", cooked()["dish"].cast(pa.string_view()))
    engine = frame_engine(polars.from_arrow(rows).lazy() if lazy else rows).rehearsal()
    counted = f'SELECT COUNT(*) AS "rows", COUNT("dish") + COUNT("user") AS "known" FROM "{SOURCE}"'
    with engine.world(Rows(("user", "dish"))) as world:
        assert world.answer(counted).to_pylist() == [{"rows": 1, "known": 0}]


@pytest.mark.parametrize("version", ["3.5.4", "3.3.0.dev1"])
def test_a_frame_of_an_older_spark_is_refused(version: str) -> None:
    class Session:
        pass

    class Frame:
        sparkSession = Session()  # noqa: N815 - Spark's name

    Frame.sparkSession.version = version  # type: ignore[attr-defined]
    with pytest.raises(ul.InvalidArgumentError, match=rf"a frame of Spark {version}.*Spark 4\.0 or later"):
        SparkEngine(Frame()).columns()


def test_a_package_that_is_too_old_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"duckdb", "pyarrow", "typer", "psycopg", "pyspark"} <= lowest_versions().keys()
    assert too_old() == []
    monkeypatch.setattr("unlisted.tables.old_packages._installed", {"duckdb": "0.9.2"}.get)
    (said,) = too_old()
    assert said.startswith("duckdb 0.9.2 is older than 1.")
    assert parts("4.0.0") == parts("4") < parts("4.1.0.dev1") < parts("4.10")


# Sources that changed between a plan and its run.


def test_a_file_that_is_gone(account: Account, tmp_path: Path) -> None:
    path = as_parquet(tmp_path)
    plan = histogram(path)
    plan.run()
    path.unlink()
    assert "that can be read" in refused(plan, account, ul.InvalidArgumentError)


def test_a_file_that_was_replaced(account: Account, tmp_path: Path) -> None:
    path = as_parquet(tmp_path)
    plan = histogram(path)
    plan.run()
    pq.write_table(cooked().drop_columns("dish"), path)
    assert "The columns are: user" in refused(plan, account, ul.InvalidArgumentError)


def test_a_view_that_does_not_bind_any_more(account: Account, tmp_path: Path) -> None:
    path = tmp_path / "kitchen.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("given", cooked())
        connection.execute("CREATE TABLE cooked AS FROM given")
        connection.execute('CREATE VIEW seen AS SELECT "user", dish FROM cooked')
    plan = histogram(path, table="seen")
    plan.run()
    with duckdb.connect(str(path)) as connection:
        connection.execute("ALTER TABLE cooked DROP dish")
    assert "a view of something that cannot" in refused(plan, account, ul.InvalidArgumentError)


def test_a_frame_that_lost_a_column(account: Account) -> None:
    frame = cooked().to_pandas()
    plan = histogram(frame)
    plan.run()
    del frame["dish"]
    assert "a column of the source" in refused(plan, account, ul.InvalidArgumentError)


SERVER: dict[str, tuple[str, type[ul.UnlistedError]]] = {
    "dropped": ("DROP TABLE cooked", ul.InvalidArgumentError),
    "column lost": ("ALTER TABLE cooked DROP dish", ul.InvalidArgumentError),
    "no permission": ("REVOKE SELECT ON cooked FROM analyst", ul.InvalidArgumentError),
    "no function": ("REVOKE EXECUTE ON FUNCTION pg_catalog.sha256(bytea) FROM PUBLIC", ul.CannotAnswerError),
}


@pytest.mark.parametrize("change", SERVER)
def test_a_database_that_changed(change: str, account: Account, postgres_url: str) -> None:
    name, password = f"kitchen_{uuid.uuid4().hex}", "for-this-test-only"
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{name}"')
        server.execute(f"DO $$ BEGIN CREATE ROLE analyst LOGIN PASSWORD '{password}'; "
                       "EXCEPTION WHEN duplicate_object THEN NULL; END $$")  # fmt: skip
    at, _, _ = postgres_url.partition("//")[2].rpartition("@")[2].partition("/")
    with psycopg.connect(f"{postgres_url.rpartition('/')[0]}/{name}", autocommit=True) as owner:
        owner.execute(
            """CREATE TABLE cooked AS SELECT n AS "user", 'soup'::text AS dish FROM generate_series(1, 99) n"""
        )
        owner.execute("GRANT SELECT ON cooked TO analyst")
        plan = histogram(f"postgresql://analyst:{password}@{at}/{name}", table="cooked")
        plan.run()
        statement, kind = SERVER[change]
        owner.execute(statement)
        said = refused(plan, account, kind)
    assert password not in said
    assert "soup" not in said


# Nothing in a rehearsal depends on a row.


def charged(plan: Plan, account: Account) -> None:
    with pytest.raises(ul.ChargedFailureError):
        plan.paid_by(account).run()
    assert [entry.kind for entry in account.ledger.history("kitchen")][-2:] == ["reserved", "forfeited"]


def test_rows_that_cannot_be_read_are_not_met_in_a_rehearsal(account: Account, tmp_path: Path) -> None:
    path = tmp_path / "cooked.csv.gz"
    whole = gzip.compress(b"user,dish\n" + b"".join(b"%d,soup %d\n" % (n, n * n) for n in range(60_000)))
    # The header can still be read; what comes later is no gzip.
    path.write_bytes(whole[: len(whole) // 2] + bytes(len(whole) // 2))
    charged(histogram(path), account)


def test_a_row_that_a_view_fails_on_is_not_met_in_a_rehearsal(account: Account, postgres_url: str) -> None:
    name = f"fails_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        owner.execute(
            f"""CREATE VIEW "{name}" AS SELECT n AS "user", (1 / (n - 5))::text AS dish
            FROM generate_series(1, 9) AS n"""
        )
    charged(histogram(postgres_url, table=name), account)


def test_a_row_that_a_spark_frame_fails_on_is_not_met_in_a_rehearsal(account: Account, spark_session: Any) -> None:
    frame = spark_session.range(9).selectExpr(
        "id AS user", "CASE WHEN id = 5 THEN raise_error('a secret row') ELSE 'soup' END AS dish"
    )
    charged(histogram(frame), account)


def test_a_stream_is_not_used_up_by_a_rehearsal(account: Account) -> None:
    reader = pa.RecordBatchReader.from_batches(cooked().schema, cooked().to_batches())
    assert len(histogram(reader).paid_by(account).run()) == len(COMMON)


# What was done before is not done again.


@pytest.fixture
def rehearsals(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    done: list[str] = []
    real = Table.rehearsal
    monkeypatch.setattr(Table, "rehearsal", lambda self, asked: done.append(self.source) or real(self, asked))
    return done


def test_a_question_is_rehearsed_once_for_each_state_of_a_file(rehearsals: list[str], tmp_path: Path) -> None:
    path = as_parquet(tmp_path)
    for _ in range(3):
        histogram(path).run()
    assert len(rehearsals) == 1
    ul.table(path, user="user").histogram("dish", budget=BUDGET, items_per_user=BOUND + 1).run()
    assert len(rehearsals) == 2
    pq.write_table(cooked().slice(1), path)
    histogram(path).run()
    assert len(rehearsals) == 3


def test_a_question_to_a_database_is_rehearsed_every_time(rehearsals: list[str], postgres_url: str) -> None:
    name = f"cooked_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        owner.execute(f"""CREATE TABLE "{name}" AS SELECT 1 AS "user", 'soup'::text AS dish""")
    plan = histogram(postgres_url, table=name)
    plan.run()
    plan.run()
    assert len(rehearsals) == 2


def test_a_failure_is_not_remembered(monkeypatch: pytest.MonkeyPatch, account: Account) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(DuckDBEngine, "key", lambda _, text: f"NO_SUCH_HASH({text})")
        refused(histogram(cooked()), account)
    assert len(histogram(cooked()).paid_by(account).run()) == len(COMMON)


def test_the_oldest_are_forgotten() -> None:
    remembered = Rehearsed(most=2)
    for name in "abc":
        remembered.add(name)
    assert [name in remembered for name in "abc"] == [False, True, True]
    assert None not in remembered


@pytest.mark.parametrize("key", [None, "request 1"])
def test_a_stored_answer_needs_no_source(key: str | None, account: Account, tmp_path: Path) -> None:
    path = as_parquet(tmp_path)
    plan = histogram(path).paid_by(account)
    first = plan.run(idempotency_key=key)
    path.unlink()
    assert plan.run(idempotency_key=key).rows == first.rows
    with pytest.raises(ul.InvalidArgumentError):
        ul.table(path, user="user").top("dish", k=2, budget=BUDGET, account=account).run()


# Streams and the service.


@pytest.mark.parametrize("unit", ["event", "user"])
def test_a_round_that_cannot_be_taken_in_is_not_used_up(
    unit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    protected: Any = {"unit": "user", "rounds_per_user": 2} if unit == "user" else {}
    stream = ul.Stream.create(
        tmp_path / "stream",
        rounds=4,
        items_per_event=BOUND,
        budget=BUDGET,
        item="dish",
        release_every=2,
        **protected,
    )
    with monkeypatch.context() as broken:
        broken.setattr("unlisted.tables.bounding.KEY_DIGITS", '"no such column"')
        with pytest.raises(ul.CannotAnswerError, match="BinderException"):
            stream.push(cooked())
    assert stream.round == 0
    assert stream.push(cooked()) is None
    release = stream.push(cooked())
    assert release is not None
    assert {row["dish"] for row in release.rows} == {*COMMON}


def test_the_service_says_that_nothing_was_charged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_parquet(tmp_path)
    (tmp_path / "unlisted.toml").write_text(
        'ledger = "service.db"\n[datasets.kitchen]\nsource = "cooked.parquet"\nuser = "user"\nitems = ["dish"]\n'
        f"items_per_user = {BOUND}\nbudget = {{ rho = 50, delta = 1e-4 }}\n"
    )
    monkeypatch.setattr(DuckDBEngine, "key", lambda _, text: f"NO_SUCH_HASH({text})")
    config = read_config(tmp_path / "unlisted.toml")
    with ul.Ledger(config.ledger) as ledger:
        open_datasets(config, ledger)
        ledger.open("cook", dataset="kitchen", budget=ul.Budget(rho=50, delta="1e-4"))
        inside = Inside(make_app(config, ledger), KeyRing(ledger).create("Ana", "analyst", {"kitchen": "cook"}))
        question = {"question": "histogram", "items": ["dish"], "epsilon": 6, "delta": 1e-9}
        reply = inside.post("/v1/datasets/kitchen/releases", question)
        assert (reply.status_code, reply.json()["charged"]) == (503, False)
        assert "NO_SUCH_HASH" not in reply.text
        assert {entry.kind for entry in ledger.history("kitchen")} == {"opened"}
