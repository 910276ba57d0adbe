"""Items chosen by keys so short that they tie: the statements that bound users, run on DuckDB, and a twin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import duckdb
import pyarrow as pa
from tests.tables import twin
from tests.tables.asked import SECRET

from unlisted.tables.bounding import Choice, ItemColumn
from unlisted.tables.column_types import ColumnType

Items = Mapping[str, list[str]]
"""The items of each user."""


@dataclass(frozen=True)
class OneMachine:
    """An engine that does all by itself, with keys of so many hexadecimal digits."""

    digits: int

    def key(self, text: str) -> str:
        return f"LEFT(SHA256({text}), {self.digits})"


@dataclass(frozen=True)
class Cluster(OneMachine):
    """An engine of many machines, to which everybody is a giant who can be thinned out at all."""

    giant: int = 0


def kept_by_statement(engine: OneMachine, users: Items, bound: int) -> dict[str, list[str]]:
    """Run the clauses that bound users, and return what each keeps."""
    choice = Choice(engine, (ItemColumn("item", ColumnType.TEXT, 0),), SECRET)  # type: ignore[arg-type]
    pairs = [(user, item) for user, items in users.items() for item in items]
    rows = pa.table({"u": [user for user, _ in pairs], "i0": [item for _, item in pairs]})
    with duckdb.connect() as connection:
        connection.register("pairs", rows)
        kept = choice.kept(bound, '"i0"', '"u", "i0"')
        found = connection.execute(f'WITH {kept} SELECT "u", "i0" FROM "kept"').fetchall()
    return {user: sorted(item for owner, item in found if owner == user) for user in users}


def kept_by_definition(engine: OneMachine, users: Items, bound: int) -> dict[str, list[str]]:
    """Keep an item if at most so many of its user's items have a key at or below its own."""
    kept = {}
    for user, items in users.items():
        keys = {item: twin.sha256(twin.encoded(SECRET, user, (item,)))[: engine.digits] for item in items}
        kept[user] = sorted(item for item in items if sum(key <= keys[item] for key in keys.values()) <= bound)
    return kept
