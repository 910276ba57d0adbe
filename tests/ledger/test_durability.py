"""A commit that returned survives a power cut: settings of both stores, read back from their own connections."""

from __future__ import annotations

import sqlite3

import psycopg
import sqlalchemy as sa

from unlisted.ledger.ledger import Ledger


def settings_of(ledger: Ledger, *names: str) -> dict[str, str]:
    """Return what the store's own connection says, inside a transaction that may write."""
    word = "PRAGMA" if ledger.store.is_sqlite else "SHOW"
    with ledger.store.writing() as connection:
        return {name: str(connection.execute(sa.text(f"{word} {name}")).scalar_one()) for name in names}


def test_sqlite_waits_until_a_commit_is_on_the_disk(tmp_path) -> None:
    with Ledger(tmp_path / "budget.db") as ledger:
        found = settings_of(ledger, "journal_mode", "synchronous", "foreign_keys")
        # Every thread's connection, not only the first.
        with ledger.store.reading() as one, ledger.store.reading() as other:
            for connection in (one, other):
                assert connection.execute(sa.text("PRAGMA synchronous")).scalar_one() == 2
    full = "2"
    assert found == {"journal_mode": "wal", "synchronous": full, "foreign_keys": "1"}


def test_the_log_of_sqlite_is_synchronised_with_every_commit(tmp_path) -> None:
    """The setting belongs to a connection: one of another program must not be taken for ours."""
    with Ledger(tmp_path / "budget.db") as ledger:
        with sqlite3.connect(tmp_path / "budget.db") as theirs:
            theirs.execute("PRAGMA synchronous = OFF")
        assert settings_of(ledger, "synchronous") == {"synchronous": "2"}


def test_postgresql_commits_as_durably_as_its_server_was_set_up_to(postgres_ledger: Ledger, postgres_url) -> None:
    names = ("synchronous_commit", "fsync", "full_page_writes")
    with psycopg.connect(postgres_url) as plain:
        served = {name: plain.execute(f"SHOW {name}").fetchone()[0] for name in names}
    assert settings_of(postgres_ledger, *names) == served
    assert served["synchronous_commit"] == "on"


def test_a_reading_transaction_sees_one_state(postgres_ledger: Ledger) -> None:
    with postgres_ledger.store.reading() as connection:
        level = connection.execute(sa.text("SHOW transaction_isolation")).scalar_one()
    assert level == "repeatable read"
