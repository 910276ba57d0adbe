"""Keys are in a chain: made, granted, rotated, withdrawn, revoked; a change behind its back is found."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from unlisted import Budget
from unlisted.errors import InvalidArgumentError
from unlisted.ledger.key_chain import read_key_entries
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.schema import grants, key_entries, keys, migrations
from unlisted.ledger.verify import verify
from unlisted.server import auth
from unlisted.server.auth import KeyRing, key_id


@pytest.fixture
def book(tmp_path: Path):
    with Ledger(tmp_path / "budget.db") as ledger:
        for name in ("ads", "ops"):
            ledger.open(name, dataset="searches", budget=Budget(rho=1, delta="1e-6"))
        yield ledger


def test_what_happens_to_a_key_is_chained_with_who_did_it(book):
    ring = KeyRing(book)
    admin = key_id(ring.create("Root", "admin"))
    ana = key_id(ring.on_behalf_of(admin).create("Ana", granted={"searches": "ads"}))
    ring.grant(ana, "searches", "ops")
    ring.rotate(ana)
    ring.withdraw(ana, "searches")
    ring.on_behalf_of(admin).revoke(ana)
    with book.store.reading() as connection:
        found = [entry for entry, _ in read_key_entries(connection)]
    kinds = ["made", "made", "granted", "granted", "rotated", "withdrawn", "revoked"]
    assert [entry.kind for entry in found] == kinds
    assert [entry.body.get("by") for entry in found] == [None, admin, admin, None, None, None, admin]
    assert verify(book) == []


@pytest.mark.parametrize(
    "change",
    [
        keys.update().values(role="admin"),
        keys.update().values(secret_sha256="0" * 64),
        keys.update().values(expires=None),
        keys.insert().values(id="ff" * 6, name="Eve", role="admin", secret_sha256="0" * 64, created="now"),
        grants.delete(),
        grants.update().values(account="ops"),
        key_entries.delete().where(key_entries.c.number == 1),
        key_entries.update().where(key_entries.c.number == 1).values(time="2020-01-01T00:00:00+00:00"),
        key_entries.update().where(key_entries.c.number == 2).values(body="{"),
    ],
)
def test_a_change_behind_its_back_is_found(book, change):
    KeyRing(book).create("Ana", granted={"searches": "ads"}, days=30)
    assert verify(book) == []
    with book.store.writing() as connection:
        connection.execute(change)
    assert verify(book)[0].startswith("keys: ")


def test_a_rotated_key_has_another_secret_and_the_same_grants(book):
    ring = KeyRing(book)
    first = ring.create("Ana", granted={"searches": "ads"})
    second = ring.rotate(key_id(first))
    assert ring.find(first) is None
    assert ring.find(second).grants == {"searches": "ads"}
    ring.revoke(key_id(first))
    with pytest.raises(InvalidArgumentError, match="revoked"):
        ring.rotate(key_id(first))


def test_a_key_ends_when_its_time_is_over_and_says_when_it_was_used(book, monkeypatch):
    ring = KeyRing(book)
    key = ring.create("Ana", days=2)
    assert ring.all()[0].last_used is None
    assert ring.find(key) is not None
    assert ring.all()[0].last_used is not None
    assert ring.all()[0].is_live
    monkeypatch.setattr(auth, "_now", lambda: "2999-01-01T00:00:00+00:00")
    assert ring.find(key) is None
    assert not ring.all()[0].is_live
    assert verify(book) == []


@pytest.mark.parametrize("days", [0, -1, 10**9, True, "7"])
def test_a_life_is_a_number_of_days(book, days):
    with pytest.raises(InvalidArgumentError, match="days"):
        KeyRing(book).create("Ana", days=days)


def test_keys_from_before_the_chain_are_its_beginning(tmp_path):
    place = tmp_path / "old.db"
    with Ledger(place) as ledger:
        ledger.open("ads", dataset="searches", budget=Budget(rho=1, delta="1e-6"))
        ring = KeyRing(ledger)
        key = ring.create("Ana", granted={"searches": "ads"})
        ring.revoke(key_id(ring.create("Eve")))
        with ledger.store.writing() as connection:
            connection.execute(sa.text("DROP TABLE unlisted_key_entries"))
            connection.execute(migrations.delete().where(migrations.c.name == "8 chain keys"))
    with Ledger(place) as ledger:
        assert verify(ledger) == []
        assert KeyRing(ledger).find(key) is not None
        KeyRing(ledger).create("Bo")
        assert verify(ledger) == []
        assert sum('"chain":"keys"' in line for line in ledger.export_lines()) == 5
