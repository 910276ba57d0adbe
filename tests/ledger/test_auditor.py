"""An auditor's role on PostgreSQL, by the statements that we ship: it verifies, exports, and changes nothing."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from tests.ledger.books import budget, charge, delivers

from unlisted.errors import LedgerError
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.verify import verify

STATEMENTS = Path(__file__).parents[2] / "deploy" / "auditor.sql"


def test_an_auditor_verifies_and_exports_and_cannot_sign_or_change(postgres_ledger_url):
    with Ledger(postgres_ledger_url) as owners:
        owners.open("ads", dataset="searches", budget=budget()).pay(charge("q"), delivers())
    parts = urlsplit(postgres_ledger_url)
    database = parts.path.lstrip("/")
    role, password = f"auditor_{database[-12:]}", "only-for-this-test"
    statements = STATEMENTS.read_text().replace("DATABASE budget", f'DATABASE "{database}"')
    statements = statements.replace("auditor", role).replace("LOGIN", f"LOGIN PASSWORD '{password}'")
    with psycopg.connect(postgres_ledger_url, autocommit=True) as connection:
        connection.execute(statements)
    try:
        port = f":{parts.port}" if parts.port else ""
        url = parts._replace(netloc=f"{role}:{password}@{parts.hostname}{port}").geturl()
        with Ledger(url, read_only=True) as book:
            assert verify(book) == []
            assert len(list(book.export_lines())) == 4
            assert len(book.public_keys()) == 1
            assert book.signer is None
        with Ledger(url) as book, pytest.raises(LedgerError):
            book.open("mine", dataset="searches", budget=budget())
    finally:
        with psycopg.connect(postgres_ledger_url, autocommit=True) as connection:
            connection.execute(f'DROP OWNED BY "{role}"; DROP ROLE "{role}"')
