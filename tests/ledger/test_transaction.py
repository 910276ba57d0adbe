"""What a transaction writes is sent together, and is all kept or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from tests.ledger.books import budget, charge, cost, delivers

from unlisted.errors import LedgerError
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.schema import accounts, datasets
from unlisted.ledger.transaction import Write, write
from unlisted.ledger.verify import verify


@contextmanager
def statements_of(ledger: Ledger) -> Iterator[list[str]]:
    """Collect what is sent to the store, without the beginnings and ends of transactions."""
    sent: list[str] = []

    def listen(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if not statement.startswith("BEGIN"):
            sent.append(statement)

    sa.event.listen(ledger.store._engine, "before_cursor_execute", listen)
    try:
        yield sent
    finally:
        sa.event.remove(ledger.store._engine, "before_cursor_execute", listen)


def test_each_half_of_a_payment_reads_once_and_on_postgresql_writes_once(ledger):
    account = ledger.open("ads", dataset="searches", budget=budget())
    # The first question also looks whether another data set is about its source.
    account.pay(charge("first"), delivers())
    with statements_of(ledger) as sent:
        account.pay(charge("q"), delivers())
    reads = [statement for statement in sent if statement.startswith("SELECT")]
    assert (len(reads), len(sent) - len(reads)) == (2, 8 if ledger.store.is_sqlite else 2)


def test_a_row_that_is_not_as_it_was_leaves_nothing_written(ledger):
    ledger.open("ads", dataset="searches", budget=budget())
    rows = [
        Write(datasets, {"version": "december"}, {"name": "searches"}),
        Write(accounts, {"closed": True}, {"name": "ads", "closed": True}),
    ]
    with pytest.raises(LedgerError, match="Nothing was written"), ledger.store.writing() as connection:
        write(connection, rows)
    assert ledger.dataset("searches").version is None
    with ledger.store.writing() as connection:
        write(connection, rows[:1])
    assert ledger.dataset("searches").version == "december"


def test_an_abandoned_question_is_forfeited_and_asked_anew_in_one_transaction(ledger, ledger_url):
    ledger.create_dataset("searches", budget=budget(), version="november")
    account = ledger.open("ads", dataset="searches", budget=budget())
    child = os.fork()
    if not child:
        with Ledger(ledger_url) as own:
            own.account("ads").pay(charge("q", "0.1"), lambda: os._exit(0))
    os.waitpid(child, 0)
    paid = account.pay(charge("q", "0.1"), delivers(used=cost("0.04")))
    assert [entry.kind for entry in ledger.history()][2:] == ["reserved", "forfeited", "reserved", "settled"]
    assert account.balance().account.used.texts[0] == "0.14"
    assert account.pay(charge("q", "0.1"), delivers(b"another")) == paid
    assert verify(ledger) == []


def test_a_data_set_and_its_first_account_are_opened_together(ledger):
    with statements_of(ledger) as sent:
        ledger.open("ads", dataset="searches", budget=budget())
    writes = [statement for statement in sent if not statement.startswith("SELECT")]
    assert len(writes) == (3 if ledger.store.is_sqlite else 1)
    assert [entry.account for entry in ledger.history()] == [None, "ads"]
    assert verify(ledger) == []
