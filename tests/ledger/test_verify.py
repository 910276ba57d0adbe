"""A changed, cut or restored ledger is found; equal histories give equal exports."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
import sqlalchemy as sa
from tests.ledger.books import Clock, budget, charge, cost, delivers

from unlisted.ledger import rows
from unlisted.ledger.entries import Entry
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.schema import accounts, datasets, entries, questions
from unlisted.ledger.transaction import Change
from unlisted.ledger.verify import verify


def filled(ledger: Ledger) -> Ledger:
    ledger.create_dataset("searches", budget=budget(), version="november")
    account = ledger.open("ads", dataset="searches", budget=budget("0.5"))
    for number in range(3):
        key = "monday" if number == 1 else None
        account.pay(charge(f"q{number}", "0.1"), delivers(used=cost("0.05")), key)
    return ledger


TAMPERED = {
    "an amount": entries.update().where(entries.c.number == 4).values(rho="0.01"),
    "a time": entries.update().where(entries.c.number == 4).values(time="2020-01-01T00:00:00+00:00"),
    "an account": entries.update().where(entries.c.number == 4).values(account="ops"),
    "a body": entries.update().where(entries.c.number == 1).values(body="{}"),
    "a hash": entries.update().where(entries.c.number == 3).values(hash="0" * 64),
    "a row taken out": entries.delete().where(entries.c.number == 5),
    "the last row taken out": entries.delete().where(entries.c.number == 8),
    "a stored answer": questions.update().where(questions.c.reservation == 3).values(release=b"another"),
    "whose a stored answer is": questions.update().where(questions.c.reservation == 3).values(account="ops"),
    "which entry settled an answer": questions.update().where(questions.c.reservation == 3).values(entry=6),
    "a stored answer taken out": questions.delete().where(questions.c.reservation == 3),
    "an idempotency key": questions.update().where(questions.c.reservation == 5).values(idempotency_key="sunday"),
    "an idempotency key taken out": questions.update().values(idempotency_key=None),
    "an idempotency key put in": questions.update()
    .where(questions.c.reservation == 3)
    .values(idempotency_key="sunday"),
    "a settled answer opened again": questions.update().where(questions.c.reservation == 3).values(state="open"),
    "the account's balance": accounts.update().values(rho_used="0"),
    "the account's period": accounts.update().values(period_rho="-1"),
    "the data set's balance": datasets.update().values(rho_used="0"),
    "the data set's total": datasets.update().values(rho="100"),
    "the data set's policy": datasets.update().values(policy='{"kinds":["top"]}'),
    "what a day has used": datasets.update().values(day_rho="0"),
    "the data set's source": datasets.update().values(source="elsewhere.parquet"),
    "the data set's version": datasets.update().values(version="december"),
}


def test_an_untouched_ledger_verifies(ledger):
    assert verify(filled(ledger)) == []


@pytest.mark.parametrize("change", TAMPERED.values(), ids=TAMPERED.keys())
def test_a_tampered_row_is_found(ledger, change):
    filled(ledger)
    with ledger.store.writing() as connection:
        connection.execute(change)
    assert verify(ledger) != []


def forged(ledger: Ledger, number: int, **changed: object) -> None:
    """Change an entry and recompute its own hash, as somebody would who knows how hashes are made."""
    with ledger.store.writing() as connection:
        found = {entry.number: entry for entry, _ in rows.read_entries(connection, "searches")}
        entry = replace(found[number], **changed)
        values = {"hash": entry.hash, "time": entry.time, "previous": entry.previous}
        connection.execute(entries.update().where(entries.c.number == number).values(**values))


def test_a_forged_entry_is_found_by_the_one_after_it(ledger):
    """Its own hash is right, and what it says changes no balance: only the link of the next entry shows it."""
    forged(filled(ledger), 4, time="2020-01-01T00:00:00+00:00")
    assert verify(ledger) == ["data set 'searches': entry 5 was changed, or one before it"]


def test_an_entry_that_is_linked_elsewhere_is_found(ledger):
    forged(filled(ledger), 4, previous="0" * 64)
    assert verify(ledger) == ["data set 'searches': entry 4 was changed, or one before it"]


def test_a_ledger_from_before_keys_were_in_the_chain_still_adds_up(ledger, monkeypatch):
    before = Change.append

    def append_as_before(change: Change, kind: str, **said: object) -> Entry:
        body = said.get("body") or {}
        return before(change, kind, **{**said, "body": {k: v for k, v in body.items() if k != "key_sha256"}})

    with monkeypatch.context() as earlier:
        earlier.setattr(Change, "append", append_as_before)
        filled(ledger)
    assert all("key_sha256" not in entry.body for entry in ledger.history())
    ledger.account("ads").pay(charge("now", "0.1"), delivers(), "tuesday")
    assert verify(ledger) == []
    with ledger.store.writing() as connection:
        now = questions.c.idempotency_key == "tuesday"
        connection.execute(questions.update().where(now).values(idempotency_key="monday"))
    assert len(verify(ledger)) == 1


def test_the_chain_holds_no_idempotency_key_itself(ledger):
    filled(ledger)
    lines = "".join(ledger.export_lines())
    assert "monday" not in lines
    assert hashlib.sha256(b"monday").hexdigest() in lines


def test_a_ledger_restored_from_an_older_copy_is_found_by_a_receipt(ledger, clock: Clock):
    account = filled(ledger).account("ads")
    paid = account.pay(charge("late"), delivers())
    receipt = {"ledger": paid.stamp}
    assert verify(ledger, [receipt]) == []
    with ledger.store.writing() as connection:
        # Cut the last question off and put the cached state back: the chain alone looks whole.
        connection.execute(entries.delete().where(entries.c.number > 8))
        last = connection.execute(sa.select(entries.c.hash).where(entries.c.number == 8)).scalar_one()
        connection.execute(
            datasets.update().values(
                last_number=8,
                last_hash=last,
                rho_used="0.15",
                delta_used="0.000000003",
                day_rho="0.3",
                day_delta="0.000000003",
            )
        )
        connection.execute(accounts.update().values(rho_used="0.15", delta_used="0.000000003"))
        connection.execute(questions.delete().where(questions.c.entry > 8))
    assert verify(ledger) == []
    assert "cut or restored" in verify(ledger, [receipt])[0]
    assert verify(ledger, [{}]) == ["a receipt names no entry of a ledger"]


def test_equal_histories_give_equal_exports(tmp_path, ledger):
    with Ledger(tmp_path / "other.db", clock=Clock()) as other:
        assert list(filled(other).export_lines()) == list(filled(ledger).export_lines())
        other.account("ads").pay(charge("one more"), delivers())
        assert list(other.export_lines()) != list(ledger.export_lines())
