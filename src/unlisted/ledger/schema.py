"""The tables of the store, and the steps that make them. A step and the record of it share a transaction."""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sa
from sqlalchemy import Connection

from unlisted.ledger.state import ACCOUNT_FAILURES, DATASET_FAILURES

metadata = sa.MetaData()

migrations = sa.Table(
    "unlisted_migrations",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
)

datasets = sa.Table(
    "unlisted_datasets",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    # What a question must agree with; null until the owner or the first question says it.
    sa.Column("unit", sa.Text),
    sa.Column("adjacency", sa.Text),
    sa.Column("source", sa.Text),
    sa.Column("version", sa.Text),
    sa.Column("rho", sa.Text, nullable=False),
    sa.Column("delta", sa.Text, nullable=False),
    # The cached fold: what is spent or reserved, and the end of the chain.
    sa.Column("rho_used", sa.Text, nullable=False),
    sa.Column("delta_used", sa.Text, nullable=False),
    sa.Column("rho_reserved", sa.Text, nullable=False),
    sa.Column("delta_reserved", sa.Text, nullable=False),
    # How many questions may fail, how many did since the last thaw, and how many are open.
    sa.Column("failures_allowed", sa.BigInteger, nullable=False),
    sa.Column("failures_seen", sa.BigInteger, nullable=False),
    sa.Column("questions_open", sa.BigInteger, nullable=False),
    # Whether another data set may be about the same source.
    sa.Column("shares_source", sa.Boolean, nullable=False),
    sa.Column("last_number", sa.BigInteger, nullable=False),
    sa.Column("last_hash", sa.Text, nullable=False),
    sa.Column("last_time", sa.Text, nullable=False),
)

accounts = sa.Table(
    "unlisted_accounts",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("dataset", sa.Text, sa.ForeignKey("unlisted_datasets.name"), nullable=False),
    sa.Column("terms", sa.Text, nullable=False),
    sa.Column("closed", sa.Boolean, nullable=False),
    sa.Column("rho_used", sa.Text, nullable=False),
    sa.Column("delta_used", sa.Text, nullable=False),
    sa.Column("rho_reserved", sa.Text, nullable=False),
    sa.Column("delta_reserved", sa.Text, nullable=False),
    # What the present period has used or reserved.
    sa.Column("period_name", sa.Text),
    sa.Column("period_rho", sa.Text, nullable=False),
    sa.Column("period_delta", sa.Text, nullable=False),
    sa.Column("failures_allowed", sa.BigInteger, nullable=False),
    sa.Column("failures_seen", sa.BigInteger, nullable=False),
    sa.Column("questions_open", sa.BigInteger, nullable=False),
)

entries = sa.Table(
    "unlisted_entries",
    metadata,
    sa.Column("dataset", sa.Text, sa.ForeignKey("unlisted_datasets.name"), primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("time", sa.Text, nullable=False),
    sa.Column("account", sa.Text, index=True),
    sa.Column("reservation", sa.BigInteger),
    sa.Column("rho", sa.Text, nullable=False),
    sa.Column("delta", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("previous", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
)

questions = sa.Table(
    "unlisted_questions",
    metadata,
    # One row for each reservation: who asked what, and the release once there is one.
    sa.Column("dataset", sa.Text, primary_key=True),
    sa.Column("reservation", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("account", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("question", sa.Text, nullable=False),
    sa.Column("version", sa.Text),
    sa.Column("idempotency_key", sa.Text),
    sa.Column("period_name", sa.Text),
    sa.Column("rho", sa.Text, nullable=False),
    sa.Column("delta", sa.Text, nullable=False),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("entry", sa.BigInteger),
    sa.Column("release", sa.LargeBinary),
    sa.Index("unlisted_questions_repeats", "account", "question", "version"),
    sa.Index("unlisted_questions_keys", "account", "idempotency_key"),
    sa.Index("unlisted_questions_open", "dataset", "state"),
)

keys = sa.Table(
    "unlisted_keys",
    metadata,
    # Who may ask a service. Of the secret half of a key only a hash is kept.
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("secret_sha256", sa.Text, nullable=False),
    sa.Column("created", sa.Text, nullable=False),
    sa.Column("revoked", sa.Text),
)

grants = sa.Table(
    "unlisted_grants",
    metadata,
    # Which data sets a key may ask about, and the account that pays for it.
    sa.Column("key", sa.Text, sa.ForeignKey("unlisted_keys.id"), primary_key=True),
    sa.Column("dataset", sa.Text, sa.ForeignKey("unlisted_datasets.name"), primary_key=True),
    sa.Column("account", sa.Text, sa.ForeignKey("unlisted_accounts.name"), nullable=False),
)


def _create_tables(connection: Connection) -> None:
    metadata.create_all(connection, tables=[datasets, accounts, entries, questions])


def _create_keys(connection: Connection) -> None:
    metadata.create_all(connection, tables=[keys, grants])


def _count_failures(connection: Connection) -> None:
    """Add what counts failures. What failed before is not counted, and what is open is."""
    counted = {"failures_seen": "BIGINT NOT NULL DEFAULT 0", "questions_open": "BIGINT NOT NULL DEFAULT 0"}
    whose = {datasets: ("dataset", DATASET_FAILURES), accounts: ("account", ACCOUNT_FAILURES)}
    for table, (named_in, allowed) in whose.items():
        columns = {"failures_allowed": f"BIGINT NOT NULL DEFAULT {allowed}", **counted}
        if table is datasets:
            columns["shares_source"] = "BOOLEAN NOT NULL DEFAULT true"
        # A ledger that is made now has them from its first step on.
        there = {column["name"] for column in sa.inspect(connection).get_columns(table.name)}
        for name, kind in columns.items():
            if name not in there:
                connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {name} {kind}")
        still_open = sa.select(sa.func.count()).where(
            questions.c[named_in] == table.c.name, questions.c.state == "open"
        )
        connection.execute(table.update().values(questions_open=still_open.scalar_subquery()))


STEPS: tuple[tuple[str, Callable[[Connection], None]], ...] = (
    ("1 create tables", _create_tables),
    ("2 create keys", _create_keys),
    ("3 count failures", _count_failures),
)
"""Named steps, in order. A step that was released is never changed; new ones are added at the end."""


def migrate(connection: Connection) -> None:
    """Bring a store up to date, inside the caller's transaction."""
    metadata.create_all(connection, tables=[migrations])
    done = set(connection.execute(sa.select(migrations.c.name)).scalars())
    for name, step in STEPS:
        if name not in done:
            step(connection)
            connection.execute(migrations.insert().values(name=name))


def newest_known() -> set[str]:
    """Return the names of all steps this version knows."""
    return {name for name, _ in STEPS}
