"""What several servers of one ledger share besides the books: rates, lockouts, sign-ins and sign-outs, notes.

It lies in the ledger's database, in tables of its own that are made when a server starts. None of it is part of
the books: whoever empties these tables lifts lockouts and ends nobody's budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql, sqlite

from unlisted.ledger.store import Store

metadata = sa.MetaData()

buckets = sa.Table(
    "unlisted_rate_buckets",
    metadata,
    # How many requests a key may still make, as of a time.
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("tokens", sa.Float(53), nullable=False),
    sa.Column("since", sa.Float(53), nullable=False),
)

lockouts = sa.Table(
    "unlisted_lockouts",
    metadata,
    # How many wrong keys came from an address, and until when it waits.
    sa.Column("who", sa.Text, primary_key=True),
    sa.Column("count", sa.BigInteger, nullable=False),
    sa.Column("until", sa.Float(53), nullable=False),
)

ended_sessions = sa.Table(
    "unlisted_ended_sessions",
    metadata,
    # Sessions of the console that somebody signed out of.
    sa.Column("number", sa.Text, primary_key=True),
    sa.Column("ended", sa.Float(53), nullable=False),
)

notes = sa.Table(
    "unlisted_notes",
    metadata,
    # What one page of the console has to say to the next, sealed.
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("owner", sa.Text, nullable=False, index=True),
    sa.Column("sealed", sa.Text, nullable=False),
    sa.Column("written", sa.Float(53), nullable=False),
)

sign_on_sessions = sa.Table(
    "unlisted_sign_on_sessions",
    metadata,
    # Who signed in at the OpenID provider, sealed, and until when that counts.
    sa.Column("token_sha256", sa.Text, primary_key=True),
    sa.Column("person", sa.Text, nullable=False, index=True),
    sa.Column("sealed", sa.Text, nullable=False),
    sa.Column("until", sa.Float(53), nullable=False),
)

used_sign_ins = sa.Table(
    "unlisted_used_sign_ins",
    metadata,
    # Sign-ins that came back from the provider: none counts twice.
    sa.Column("state", sa.Text, primary_key=True),
    sa.Column("used", sa.Float(53), nullable=False),
)

signs_of_life = sa.Table(
    "unlisted_signs_of_life",
    metadata,
    # Written to see whether the store can be written to.
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("time", sa.Float(53), nullable=False),
)


def make_tables(store: Store) -> None:
    """Make the tables that are not there yet."""
    with store.writing(creates=True) as connection:
        metadata.create_all(connection)


def put_once(connection: Connection, table: sa.Table, row: Mapping[str, Any]) -> bool:
    """Write a row, and return whether there was none with the same key."""
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    return connection.execute(dialect.insert(table).values(**row).on_conflict_do_nothing()).rowcount > 0


def put(connection: Connection, table: sa.Table, row: Mapping[str, Any]) -> None:
    """Write a row, in the place of the one with the same key if there is one."""
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    (key,) = table.primary_key
    others = {name: value for name, value in row.items() if name != key.name}
    inserted = dialect.insert(table).values(**row)
    connection.execute(inserted.on_conflict_do_update(index_elements=[key], set_=others))


def locked(connection: Connection, table: sa.Table, key: str) -> Any:
    """Return the row of a key, which nobody else changes until the transaction ends; None if there is none."""
    (column,) = table.primary_key
    return connection.execute(sa.select(table).where(column == key).with_for_update()).one_or_none()
