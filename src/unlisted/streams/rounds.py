"""From what is pushed to bounded counts: rows in any engine, or counts that were bounded before.

With unit "user" a round also says who is in it, and can be counted again without some of them. The pairs of user
and item are computed once, inside the engine; users leave it as numbers and names, the names become keyed tags at
once, and the numbers of those to be dropped go back in.
"""

# ruff: noqa: S608 - statements are made of names of our own

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.count_profile import CountProfile
from unlisted.counts.readable import readable
from unlisted.errors import InvalidArgumentError
from unlisted.noise.keyed import NoiseKey
from unlisted.query.private_table import PrivateTable
from unlisted.streams.contributions import TAG, as_labels
from unlisted.streams.offers import Offered, People
from unlisted.streams.rehearsing import rehearse
from unlisted.streams.settings import Settings
from unlisted.tables.bounding import bounded_pairs, total_of
from unlisted.tables.column_types import ColumnType
from unlisted.tables.count_query import CountQuery
from unlisted.tables.counting import count_all, counted, selected
from unlisted.tables.engines.engine import Engine, OwnKey, Rows, World
from unlisted.tables.items import ItemColumn, item_columns, keys_of
from unlisted.tables.table import Table
from unlisted.tables.table import table as open_table

PAIRS, USERS, DROPPED = "unlisted_pairs", "unlisted_users", "unlisted_dropped"


@contextmanager
def offered(settings: Settings, brought: Any, number: int, key: NoiseKey) -> Iterator[Offered]:
    """Bound and count what was brought for a round; counting without some users works until the context ends."""
    if isinstance(brought, Mapping | BoundedCounts):
        yield Offered(_given(settings, brought))
        return
    table = _opened(settings, brought)
    if isinstance(table.engine, OwnKey):
        # One choice for a round, for ever, on every engine: brought again, a heavy user keeps the same items.
        table = Table(_Portable(table.engine), table.user, table.source)
    # Under a key of its own: nothing of it may meet what the stream's key makes.
    rehearse(settings, table, lambda empty: _counted(settings, empty, NoiseKey.fresh()))
    with _counted(settings, table, key, number) as round_:
        yield round_


@contextmanager
def _counted(settings: Settings, table: Table, key: NoiseKey, number: int = 1) -> Iterator[Offered]:
    """Bound and count the rows of a round's table."""
    secret = key.secret(f"bounding of round {number}")
    if settings.unit == "user":
        with _with_users(settings, table, secret, key) as round_:
            yield round_
        return
    with count_all(table, settings.question, cut=0, secret=secret) as counts:
        # Nothing is below a cut of 0, so a profile, which a rehearsal gets, has no labels but its large ones.
        found = widened(counts.large if isinstance(counts, CountProfile) else counts)
    yield Offered(found)


def nothing(settings: Settings) -> Offered:
    """Return a round in which nobody was there."""
    counts = BoundedCounts.from_dict({}, settings.sensitivity)
    return Offered(counts, People(pa.array([], TAG), lambda _: counts) if settings.unit == "user" else None)


def widened(counts: BoundedCounts) -> BoundedCounts:
    """Return the same labels in the form of a stream: sources differ in how wide their texts and numbers are."""
    kind = counts.labels.type
    if pa.types.is_large_string(kind):
        wide = pa.string()
    elif pa.types.is_signed_integer(kind) or (pa.types.is_unsigned_integer(kind) and kind != pa.uint64()):
        wide = pa.int64()
    elif pa.types.is_floating(kind):
        wide = pa.float64()
    else:
        return counts
    # What else the counts declare stays declared: the mechanism refuses by it.
    return replace(counts, labels=counts.labels.cast(wide))


def _opened(settings: Settings, brought: Any) -> Table:
    """Open the rows of a round. Whose rows they are was fixed, and paid for, when the stream was created."""
    if not isinstance(brought, PrivateTable):
        return open_table(brought, user=settings.user)
    table = brought._table
    if table.user != settings.user:
        hint = "Rename the column in the source, for example in a view."
        raise InvalidArgumentError("user", table.user, f"{settings.user!r}, the user column of this stream", hint)
    return table


def _given(settings: Settings, brought: Mapping[Any, int] | BoundedCounts) -> BoundedCounts:
    """Take counts that were bounded before; they do not say whose they are."""
    if settings.unit == "user":
        hint = "Only rows say who has contributed how often. Push rows, or create a stream with the unit event."
        raise InvalidArgumentError("round", "counts", "rows of users in a stream with the unit user", hint)
    if isinstance(brought, BoundedCounts):
        return widened(brought)
    if len(settings.item) > 1:
        hint = f"An item of this stream is made of {', '.join(settings.item)}."
        raise InvalidArgumentError("round", "a mapping", "rows, or BoundedCounts of structs", hint)
    return widened(BoundedCounts.from_dict(brought, settings.sensitivity))


@contextmanager
def _with_users(settings: Settings, table: Table, secret: bytes, key: NoiseKey) -> Iterator[Offered]:
    if table.columns()[table.user] not in (ColumnType.TEXT, ColumnType.INTEGER):
        # The same person must have the same name in every round, whatever engine the round came from.
        hint = "Make it text in the source."
        allowed = "a column of texts or whole numbers with the unit user"
        raise InvalidArgumentError("user", table.user, allowed, hint)
    # What can be read once tells its columns until it is opened.
    rows = table.rows(settings.question)
    kept = bounded_pairs(table.engine, table.user, settings.question, secret)
    items = item_columns(settings.question, table.columns())
    with table.world(rows) as world:
        world.keep(PAIRS, kept)
        world.keep(
            USERS,
            f'SELECT "u" AS "who", ROW_NUMBER() OVER (ORDER BY "u") AS "number" '
            f'FROM (SELECT DISTINCT "u" FROM "{PAIRS}") AS "distinct"',
        )
        there = world.answer(f'SELECT "number", CAST("who" AS VARCHAR) AS "name" FROM "{USERS}"')
        numbers = np.asarray(there.column("number").combine_chunks().cast(pa.int64()))
        names = readable(there.column("name").combine_chunks())
        # No engine should have counted somebody without a name; whoever it did count is left out.
        is_named = np.asarray(names.is_valid())
        nobody, numbers = numbers[~is_named], numbers[is_named]
        tags = as_labels(key.tags((name.encode() for name in names.drop_null().to_pylist()), of=b"user"))
        pairs = _Pairs(world, settings.question, items)
        counts = pairs.counts(nobody if len(nobody) else None)
        yield Offered(counts, People(tags, lambda places: pairs.counts(np.concatenate([nobody, numbers[places]]))))


@dataclass(frozen=True)
class _Pairs:
    """The bounded pairs of a round, kept inside one world."""

    world: World
    question: CountQuery
    items: tuple[ItemColumn, ...]

    def counts(self, dropped: NDArray[np.int64] | None = None) -> BoundedCounts:
        keys = keys_of(self.items)
        condition = ""
        if dropped is not None:
            self.world.lend(DROPPED, pa.table({"number": pa.array(dropped, pa.int64())}))
            over = f'SELECT "who" FROM "{USERS}" WHERE "number" IN (SELECT "number" FROM "{DROPPED}")'
            # Not as NOT IN: a cluster would send all their names to every machine, by way of the driver.
            condition = f'WHERE NOT EXISTS (SELECT 1 FROM ({over}) AS "over" WHERE "who" = "u")'
        summed = f'SELECT {keys}, {total_of(self.question)} AS "n" FROM "{PAIRS}" {condition} GROUP BY {keys}'
        found = self.world.answer(f'SELECT {selected(self.items)}, "n" FROM ({summed}) AS "counted"')
        return widened(BoundedCounts(*counted(found, self.question), self.question.sensitivity))


class _Portable:
    """An engine without its hash: the choice among too many items is made by SHA-256, as all others make it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.name = engine.name

    def columns(self) -> Mapping[str, ColumnType]:
        return self._engine.columns()

    def plain(self, column: str) -> str:
        return self._engine.plain(column)

    def whose(self, column: str) -> str:
        return self._engine.whose(column)

    def state(self) -> Hashable:
        return self._engine.state()

    def statement(self, query: str, rows: Rows) -> str:
        return self._engine.statement(query, rows)

    def world(self, rows: Rows) -> Any:
        return self._engine.world(rows)

    def rehearsal(self) -> Engine:
        return _Portable(self._engine.rehearsal())

    def signature(self) -> Hashable | None:
        return self._engine.signature()
