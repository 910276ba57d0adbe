"""A ledger that version 0.1 wrote: it opens, verifies with its receipts, replays for free, and goes on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
import sqlalchemy as sa
from tests.ledger.books import Clock, budget, charge, cost, delivers

import unlisted as ul
from unlisted.errors import ChargedFailureError, FrozenError, InvalidArgumentError
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.schema import STEPS, accounts, datasets, entries, keys, migrations, questions
from unlisted.ledger.verify import verify
from unlisted.release.release import Release

FIXTURE = Path(__file__).parent / "fixtures" / "version_0_1"
RECEIPTS = [json.loads((FIXTURE / f"{name}.receipt.json").read_text()) for name in ("histogram", "top")]
COUNTED = {"failures_allowed", "failures_seen", "questions_open"}
DAY = {"policy", "day_name", "day_rho", "day_delta"}
ADDED = {datasets: {*COUNTED, *DAY, "shares_source", "kind"}, accounts: COUNTED, entries: set(), questions: set()}
LATER = [name for name, _ in STEPS[2:]]


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
            for column in ADDED[table]:
                writing.exec_driver_sql(f"ALTER TABLE {table.name} DROP COLUMN {column}")
            names = [name for name in table.c.keys() if name not in ADDED[table]]  # noqa: SIM118 - no dictionary
            kept = sa.table(table.name, *(sa.column(name, table.c[name].type) for name in names))
            writing.execute(kept.insert(), [row._asdict() for row in reading.execute(sa.select(kept))])
        writing.execute(migrations.delete().where(migrations.c.name.in_(LATER)))
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
    assert not there & ADDED[datasets]


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
        assert retried.receipt()["ledger"].items() >= RECEIPTS[1]["ledger"].items()
        with pytest.raises(ChargedFailureError):
            ledger.account("ads").pay(charge("failed 3", source="a data frame"), delivers(), "a key")
        assert [one.used for one in ledger.datasets()] == before


def test_it_goes_on(old_url):
    clock = Clock()
    with Ledger(old_url, clock=clock) as ledger:
        ads = ledger.account("ads")
        assert ads.balance().left.texts[0] == "1"
        ads.pay(charge("new", source="a data frame"), delivers(used=cost("0.05")))

        def breaks():
            raise MemoryError

        for number in range(3):
            with pytest.raises(MemoryError):
                ads.pay(charge(f"new {number}", "0.01", source="a data frame"), breaks)
        with pytest.raises(FrozenError):
            ads.pay(charge("more", source="a data frame"), delivers())
        ledger.thaw(account="ads")
        ledger.declare_version("searches", "february")
        ledger.open("new", dataset="searches", budget=budget(), failures=5)
        assert ads.pay(charge("more", source="a data frame"), delivers()).release == b"a release"
        assert verify(ledger, RECEIPTS) == []
    with Ledger(old_url) as again:
        assert verify(again, RECEIPTS) == []
        assert again.account("new").balance().account.failures.allowed == 5


def test_what_was_opened_before_counts_rho_and_stays_so(old_url):
    """A ledger that is brought up to date may hold both kinds, each in a data set of its own."""
    with Ledger(old_url) as ledger:
        before = [line for line in ledger.export_lines() if '"rho"' in line]
        assert len(before) == 21
        assert {one.kind for one in ledger.datasets()} == {"zcdp"}
        with pytest.raises(InvalidArgumentError, match="kind = 'gaussian' is not allowed"):
            ledger.open("new", dataset="searches", budget=ul.Budget(epsilon=1, delta=1e-9), kind="gaussian")
        new = ledger.open("new", dataset="visits", budget=ul.Budget(epsilon=1, delta=1e-6), kind="gaussian")
        plan = ul.table(rows(), user="user").histogram(
            "query", budget=ul.Budget(epsilon="0.5", delta="1e-8"), items_per_user=1, account=new
        )
        assert plan.run().spent.mu_squared == plan.guarantee.mu_squared
        after = list(ledger.export_lines())
        assert [line for line in after if '"rho"' in line] == before
        assert sum('"mu_squared"' in line for line in after) == 4
        assert verify(ledger, RECEIPTS) == []
