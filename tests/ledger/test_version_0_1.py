"""A ledger that version 0.1 wrote: it opens, verifies with its receipts, replays for free, and goes on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
import sqlalchemy as sa
from tests.ledger.books import Clock, bill, budget, cost, delivers

import unlisted as ul
from unlisted.errors import ChargedFailureError, FrozenError
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.schema import STEPS, accounts, datasets, entries, keys, migrations, questions
from unlisted.ledger.verify import verify
from unlisted.release.release import Release

FIXTURE = Path(__file__).parent / "fixtures" / "version_0_1"
RECEIPTS = [json.loads((FIXTURE / f"{name}.receipt.json").read_text()) for name in ("histogram", "top")]
ADDED = {"failures_allowed", "failures_seen", "questions_open", "shares_source"}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    place = tmp_path / "budget.db"
    shutil.copy(FIXTURE / "budget.db", place)
    return place


@pytest.fixture
def old_on_postgres(old: Path, postgres_ledger_url: str) -> str:
    """The same rows in the tables that version 0.1 made on PostgreSQL."""
    tables = (datasets, accounts, entries, questions)
    Ledger(postgres_ledger_url).close()
    source, target = sa.create_engine(f"sqlite:///{old}"), Ledger(postgres_ledger_url)
    with source.connect() as reading, target.store.writing() as writing:
        for table in tables:
            for column in ADDED & set(table.c.keys()):
                writing.exec_driver_sql(f"ALTER TABLE {table.name} DROP COLUMN {column}")
            names = [name for name in table.c.keys() if name not in ADDED]  # noqa: SIM118 - not a dictionary
            kept = sa.table(table.name, *(sa.column(name, table.c[name].type) for name in names))
            writing.execute(kept.insert(), [row._asdict() for row in reading.execute(sa.select(kept))])
        writing.execute(migrations.delete().where(migrations.c.name == STEPS[-1][0]))
    target.close()
    source.dispose()
    return postgres_ledger_url


@pytest.fixture(params=["sqlite", "postgresql"])
def old_url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("old" if request.param == "sqlite" else "old_on_postgres"))


def rows() -> pa.Table:
    return pa.table({"user": range(400), "query": ["soup" if user % 4 else "tea" for user in range(400)]})


def test_the_fixture_is_from_before_failures_were_counted(old):
    engine = sa.create_engine(f"sqlite:///{old}")
    with engine.connect() as connection:
        assert connection.execute(sa.select(migrations.c.name)).scalars().all() == [one for one, _ in STEPS[:2]]
        there = {column["name"] for column in sa.inspect(connection).get_columns(datasets.name)}
    engine.dispose()
    assert not there & ADDED


@pytest.mark.parametrize("read_only", [True, False])
def test_it_opens_and_verifies_with_its_receipts(old_url, read_only):
    with Ledger(old_url, read_only=read_only) as ledger:
        assert verify(ledger, RECEIPTS) == []
        assert len(list(ledger.export_lines())) == 21
        with ledger.store.reading() as connection:
            assert sa.inspect(connection).has_table(keys.name)


def test_what_failed_before_does_not_count_and_what_is_open_does(old_url):
    with Ledger(old_url) as ledger:
        ads = ledger.account("ads").balance()
        assert [entry.kind for entry in ledger.history("searches", "ads")].count("forfeited") == 4
        assert (ads.account.failures.seen, ads.account.failures.allowed) == (0, 3)
        assert (ads.dataset.failures.seen, ads.dataset.failures.allowed) == (0, 20)
        assert ledger.account("shop").balance().account.failures.open == 1
        assert ledger.forfeit_abandoned() == 1
        shop = ledger.account("shop").balance()
        assert (shop.account.failures.seen, shop.account.failures.open) == (1, 0)
        assert shop.account.used.texts[0] == "0.25"
        assert verify(ledger, RECEIPTS) == []


def test_repeats_are_free(old_url):
    with Ledger(old_url) as ledger:
        before = [one.used for one in ledger.datasets()]
        table = ul.table(rows(), user="user")
        asked = {"budget": ul.Budget(rho="0.1", delta="1e-8"), "items_per_user": 1}
        again = table.histogram("query", account=ledger.account("ads"), **asked).run()
        first = Release.from_bytes((FIXTURE / "histogram.release").read_bytes())
        assert (again.rows, again.time, again.plan) == (first.rows, first.time, first.plan)
        ops = ledger.account("ops")
        retried = table.top("query", k=2, fetch=10, account=ops).run(idempotency_key="monday")
        assert retried.receipt()["ledger"] == RECEIPTS[1]["ledger"]
        with pytest.raises(ChargedFailureError):
            ledger.account("ads").pay(bill("failed 3", source="a data frame"), delivers(), "a key")
        assert [one.used for one in ledger.datasets()] == before


def test_it_goes_on(old_url):
    clock = Clock()
    with Ledger(old_url, clock=clock) as ledger:
        ads = ledger.account("ads")
        assert ads.balance().left.texts[0] == "1"
        ads.pay(bill("new", source="a data frame"), delivers(used=cost("0.05")))

        def breaks():
            raise MemoryError

        for number in range(3):
            with pytest.raises(MemoryError):
                ads.pay(bill(f"new {number}", rho="0.01", source="a data frame"), breaks)
        with pytest.raises(FrozenError):
            ads.pay(bill("more", source="a data frame"), delivers())
        ledger.thaw(account="ads")
        ledger.declare_version("searches", "february")
        ledger.open("new", dataset="searches", budget=budget(), failures=5)
        assert ads.pay(bill("more", source="a data frame"), delivers()).release == b"a release"
        assert verify(ledger, RECEIPTS) == []
    with Ledger(old_url) as again:
        assert verify(again, RECEIPTS) == []
        assert again.account("new").balance().account.failures.allowed == 5
