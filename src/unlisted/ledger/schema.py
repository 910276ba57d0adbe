"""The tables of the store, and the steps that make them. A step and the record of it share a transaction."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy import Connection

from unlisted.ledger.amounts import NOTHING, Amount
from unlisted.ledger.entries import FIRST, KeyEntry, KeyKind, canonical
from unlisted.ledger.state import ACCOUNT_FAILURES, DATASET_FAILURES, DAY
from unlisted.privacy.accounting import ZCDP

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
    # What is counted: ρ if the kind is zcdp, μ² if it is gaussian. Every column called rho holds that.
    sa.Column("kind", sa.Text, nullable=False),
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
    # What may be asked, as JSON, and what the questions of the last day could cost at most.
    sa.Column("policy", sa.Text),
    sa.Column("day_name", sa.Text),
    sa.Column("day_rho", sa.Text, nullable=False),
    sa.Column("day_delta", sa.Text, nullable=False),
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
    sa.Index("unlisted_entries_pages", "dataset", "account", "number"),
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
    sa.Index("unlisted_questions_pages", "dataset", "entry"),
    sa.Index("unlisted_questions_own_pages", "dataset", "account", "entry"),
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
    # From when on it is refused, and on which day it was last used.
    sa.Column("expires", sa.Text),
    sa.Column("last_used", sa.Text),
)

key_entries = sa.Table(
    "unlisted_key_entries",
    metadata,
    # What happened to keys and grants, chained as the entries of a data set are.
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("time", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False, index=True),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("previous", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
)

processes = sa.Table(
    "unlisted_processes",
    metadata,
    # Who answers questions, and when each last said that it lives, by the database's clock.
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("beat", sa.Float(53), nullable=False),
)

signing_keys = sa.Table(
    "unlisted_signing_keys",
    metadata,
    # What signs receipts: the public half names it, the private one is as secret as the ledger.
    sa.Column("public", sa.Text, primary_key=True),
    sa.Column("private", sa.Text, nullable=False),
    sa.Column("created", sa.Text, nullable=False),
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


def _index_pages(connection: Connection) -> None:
    """Let a page of a long history be found without reading all of it."""
    for table in (entries, questions):
        for index in table.indexes:
            index.create(connection, checkfirst=True)


def _name_kinds(connection: Connection) -> None:
    """Add what a data set counts. What was opened before counts ρ."""
    there = {column["name"] for column in sa.inspect(connection).get_columns(datasets.name)}
    if "kind" not in there:
        column = f"kind TEXT NOT NULL DEFAULT '{ZCDP.name}'"
        connection.exec_driver_sql(f"ALTER TABLE {datasets.name} ADD COLUMN {column}")


def add_signing_key(connection: Connection) -> None:
    """Make a new key that signs receipts from now on."""
    # Only a new ledger needs it.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    made = Ed25519PrivateKey.generate()
    halves = {"public": made.public_key().public_bytes_raw().hex(), "private": made.private_bytes_raw().hex()}
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    connection.execute(signing_keys.insert().values(**halves, created=now))


def _add_columns(connection: Connection, table: sa.Table, columns: dict[str, str]) -> None:
    """Add columns that a ledger which is made now has from its first step on."""
    there = {column["name"] for column in sa.inspect(connection).get_columns(table.name)}
    for name, kind in columns.items():
        if name not in there:
            connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {name} {kind}")


def _know_processes(connection: Connection) -> None:
    """Add who answers questions, and what signs receipts."""
    metadata.create_all(connection, tables=[processes, signing_keys])
    add_signing_key(connection)


def _set_policies(connection: Connection) -> None:
    """Add what may be asked, and what the questions of the last day could cost."""
    nothing = "TEXT NOT NULL DEFAULT '0'"
    _add_columns(
        connection, datasets, {"policy": "TEXT", "day_name": "TEXT", "day_rho": nothing, "day_delta": nothing}
    )
    reserved = sa.select(entries.c.time, entries.c.rho, entries.c.delta).where(entries.c.kind == "reserved")
    for dataset in connection.execute(sa.select(datasets.c.name)).scalars().all():
        own = reserved.where(entries.c.dataset == dataset)
        last = connection.execute(own.order_by(entries.c.number.desc()).limit(1)).one_or_none()
        if last is None:
            continue
        day = last.time[:DAY]
        spent = [
            Amount.read(row.rho, row.delta)
            for row in connection.execute(own.where(entries.c.time >= day))
            if row.time[:DAY] == day
        ]
        rho, delta = sum(spent, NOTHING).texts
        changed = datasets.update().where(datasets.c.name == dataset)
        connection.execute(changed.values(day_name=day, day_rho=rho, day_delta=delta))


def _chain_keys(connection: Connection) -> None:
    """Begin the chain of keys with those that are there, as they are."""
    _add_columns(connection, keys, {"expires": "TEXT", "last_used": "TEXT"})
    metadata.create_all(connection, tables=[key_entries])
    last, number = FIRST, 0
    for row in connection.execute(sa.select(keys).order_by(keys.c.created, keys.c.id)).all():
        about = {"name": row.name, "role": row.role, "secret_sha256": row.secret_sha256, "created": row.created}
        found: list[tuple[KeyKind, dict[str, str]]] = [("made", about)]
        own = sa.select(grants).where(grants.c.key == row.id).order_by(grants.c.dataset)
        found += [("granted", {"dataset": of.dataset, "account": of.account}) for of in connection.execute(own)]
        found += [] if row.revoked is None else [("revoked", {"revoked": row.revoked})]
        for kind, body in found:
            number += 1
            entry = KeyEntry(number, kind, row.created, row.id, body, last)
            last = entry.hash
            values = {"kind": kind, "time": entry.time, "key": entry.key, "body": canonical(body)}
            hashes = {"previous": entry.previous, "hash": last}
            connection.execute(key_entries.insert().values(number=number, **values, **hashes))


STEPS: tuple[tuple[str, Callable[[Connection], None]], ...] = (
    ("1 create tables", _create_tables),
    ("2 create keys", _create_keys),
    ("3 count failures", _count_failures),
    ("4 index pages", _index_pages),
    ("5 name kinds", _name_kinds),
    ("6 know processes", _know_processes),
    ("7 set policies", _set_policies),
    ("8 chain keys", _chain_keys),
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
