"""From what is pushed to a round: rows in any engine, or counts that were bounded before.

Rows are bounded inside the engine. Where users are protected, the pairs of user and item are computed once, in one
world; users leave it as numbers and names, and the names become keyed tags at once. Where a user counts in so many
rounds, the numbers of those to be dropped go back in; where a user counts once for each item, the pairs leave as
two numbers each.
"""

# ruff: noqa: S608 - statements are made of names of our own

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Mapping, Sized
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.readable import readable
from unlisted.counts.text_order import text_bytes
from unlisted.counts.whole_numbers import to_numpy
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.continual.label_table import block_tags
from unlisted.noise.keyed import NoiseKey
from unlisted.query.data import REHEARSED
from unlisted.query.private_table import PrivateTable
from unlisted.release.release import Release
from unlisted.streams.contributions import Pairs
from unlisted.streams.releases import released
from unlisted.streams.rounds import EventRound, PairRound, Round, UserRound, widened, widened_labels
from unlisted.streams.saved import Saved
from unlisted.streams.settings import Settings
from unlisted.tables.bounding import bounded_pairs, total_of
from unlisted.tables.column_types import ColumnType
from unlisted.tables.count_query import CountQuery
from unlisted.tables.counting import count_each, counted, selected
from unlisted.tables.engines.engine import Engine, OwnKey, Rows, World
from unlisted.tables.failures import uncharged
from unlisted.tables.items import ItemColumn, item_columns, keys_of
from unlisted.tables.stopping import rehearsing
from unlisted.tables.table import Table
from unlisted.tables.table import table as open_table

PAIRS, USERS, ITEMS, DROPPED = "unlisted_pairs", "unlisted_users", "unlisted_items", "unlisted_dropped"


@contextmanager
def offered(settings: Settings, brought: Any, number: int, key: NoiseKey) -> Iterator[Round]:
    """Bound and count what was brought for a round; counting without some users works until the context ends."""
    if is_nothing(brought):
        yield nothing(settings)
        return
    if isinstance(brought, Mapping | BoundedCounts):
        yield EventRound(_given(settings, brought))
        return
    table = _opened(settings, brought)
    if isinstance(table.engine, OwnKey):
        # One choice for a round, for ever, on every engine: brought again, a heavy user keeps the same items.
        table = Table(_Portable(table.engine), table.user, table.source)
    _rehearse(settings, table)
    with _counted(settings, table, key, number) as round_:
        yield round_


@contextmanager
def _counted(settings: Settings, table: Table, key: NoiseKey, number: int = 1) -> Iterator[Round]:
    """Bound and count the rows of a round's table."""
    secret = key.secret(f"bounding of round {number}")
    if settings.unit == "user":
        with _People.in_(settings, table, secret) as people:
            yield people.once(settings, key) if settings.count == "first" else people.every_round(settings, key)
        return
    yield EventRound(widened(count_each(table, settings.count_query, secret=secret)))


def is_nothing(brought: Any) -> bool:
    """Return whether there is nothing in a round, not even columns: None, no counts, an empty file or frame."""
    if brought is None:
        return True
    if isinstance(brought, str | os.PathLike):
        path = Path(brought)
        with suppress(OSError, ValueError):
            return path.is_file() and path.stat().st_size == 0
        return False
    if isinstance(brought, Mapping | BoundedCounts | list | tuple):
        return len(brought) == 0
    columns = getattr(brought, "column_names", getattr(brought, "columns", None))
    # What columns of no rows hold means nothing in pandas, which has to call them something.
    return (isinstance(columns, Sized) and len(columns) == 0) or getattr(brought, "empty", None) is True


def nothing(settings: Settings) -> Round:
    """Return a round in which nobody was there."""
    counts, nobody = BoundedCounts.from_dict({}, settings.sensitivity), NoiseKey.fresh().tags([])
    if settings.unit == "event":
        return EventRound(counts)
    if settings.count == "first":
        none = np.zeros(0, dtype=np.int64)
        return PairRound(counts.labels, none, Pairs(nobody, none, nobody), settings.limit)
    return UserRound(counts, nobody, lambda _: counts, settings.limit)


def _rehearse(settings: Settings, table: Table) -> None:
    """Take in rounds of no rows up to the first release, and throw them away: what fails there uses up no round.

    From the statements that read a source to the bytes of a release and of the state. It tells nothing of any row,
    so what fails in it is refused in words.
    """
    with uncharged(), rehearsing():
        signature = table.engine.signature()
        name = None if signature is None else (signature, table.user, settings)
        if name in REHEARSED:
            return
        # Under a key of its own: nothing of it may meet what the stream's key makes.
        key = NoiseKey.fresh()
        with _counted(settings, table.rehearsal(settings.count_query), key) as round_:
            digest = round_.digest()
            counts, contributions = round_.rehearsed()
        saved, answer = Saved.start(settings, key), None
        for _ in range(settings.release_every):
            running, answer = settings.mechanism.step(saved.running, counts)
            saved, _record = saved.after(running, contributions, digest)
        assert answer is not None  # after so many rounds a release is due
        saved.to_bytes()
        Release.from_bytes(released(settings, running, settings.release_every, answer).to_bytes())
    if name is not None:
        REHEARSED.add(name)


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


@dataclass(frozen=True)
class _People:
    """The bounded pairs of a round and its users, numbered, kept inside one world."""

    world: World
    question: CountQuery
    items: tuple[ItemColumn, ...]

    @classmethod
    @contextmanager
    def in_(cls, settings: Settings, table: Table, secret: bytes) -> Iterator[_People]:
        """Compute the pairs and number the users."""
        if table.columns()[table.user] not in (ColumnType.TEXT, ColumnType.INTEGER):
            # The same person must have the same name in every round, whatever engine the round came from.
            hint = "Make it text in the source."
            allowed = "a column of texts or whole numbers with the unit user"
            raise InvalidArgumentError("user", table.user, allowed, hint)
        question = settings.count_query
        # What can be read once tells its columns until it is opened.
        rows = table.rows(question)
        kept = bounded_pairs(table.engine, table.user, question, secret)
        items = item_columns(question.items, table.columns())
        with table.world(rows) as world:
            world.keep(PAIRS, kept)
            world.keep(
                USERS,
                f'SELECT "u" AS "who", ROW_NUMBER() OVER (ORDER BY "u") AS "number" '
                f'FROM (SELECT DISTINCT "u" FROM "{PAIRS}") AS "distinct"',
            )
            yield cls(world, question, items)

    def every_round(self, settings: Settings, key: NoiseKey) -> UserRound:
        """Return the round as one of users who count in so many rounds."""
        numbers, names, nobody = self._users()
        users = key.tags((name.encode() for name in names.to_pylist()), of=b"user")
        counts = self._counts(nobody if len(nobody) else None)
        return UserRound(
            counts, users, lambda places: self._counts(np.concatenate([nobody, numbers[places]])), settings.limit
        )

    def once(self, settings: Settings, key: NoiseKey) -> PairRound:
        """Return the round as one of users who count once for each item."""
        keys = [name for item in self.items for name in item.keys]
        named = ", ".join(f'{name} AS "key{at}"' for at, name in enumerate(keys))
        listed = ", ".join(keys)
        self.world.keep(
            ITEMS,
            f'SELECT {listed}, {named}, ROW_NUMBER() OVER (ORDER BY {listed}) AS "n" '
            f'FROM (SELECT DISTINCT {listed} FROM "{PAIRS}") AS "distinct"',
        )
        same = " AND ".join(f'{name} = "key{at}"' for at, name in enumerate(keys))
        aliases = ", ".join(f'"key{at}"' for at in range(len(keys)))
        found = self.world.answer(
            f'SELECT "number", "n" FROM "{PAIRS}" JOIN "{USERS}" ON "u" = "who" '
            f'JOIN (SELECT {aliases}, "n" FROM "{ITEMS}") AS "items" ON {same}'
        )
        numbers, names, nobody = self._users()
        who = _placed(numbers, len(numbers) + len(nobody))[_numbers(found, "number")]
        there = self.world.answer(f'SELECT {selected(self.items)}, "n" FROM "{ITEMS}"')
        labels, readable_ones = counted(there, self.question)
        labels = widened_labels(labels)
        what = _placed(_whole(readable_ones), len(there))[_numbers(found, "n")]
        readable_pairs = np.flatnonzero((who >= 0) & (what >= 0))
        who, what = who[readable_pairs], what[readable_pairs]
        users = key.block_tags(*text_bytes(names), of=b"user")
        tags = key.joint_tags(users[who], block_tags(key, labels)[what], of=b"pair")
        return PairRound(labels, what, Pairs(users, who, tags), settings.limit)

    def _users(self) -> tuple[NDArray[np.int64], pa.Array, NDArray[np.int64]]:
        """Return the numbers and names of the users, and the numbers of those who have none.

        No engine should have counted somebody without a name; whoever it did count is left out.
        """
        there = self.world.answer(f'SELECT "number", CAST("who" AS VARCHAR) AS "name" FROM "{USERS}"')
        numbers, names = _numbers(there, "number"), readable(there.column("name").combine_chunks())
        is_named = np.asarray(names.is_valid())
        return numbers[is_named], widened_labels(names.drop_null()), numbers[~is_named]

    def _counts(self, dropped: NDArray[np.int64] | None = None) -> BoundedCounts:
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


def _numbers(found: pa.Table, column: str) -> NDArray[np.int64]:
    return _whole(found.column(column))


def _whole(numbers: pa.ChunkedArray) -> NDArray[np.int64]:
    return to_numpy(numbers.cast(pa.int64()))


def _placed(numbers: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return the place of every number from 0 to `most` among some of them, -1 for those that are not there."""
    places = np.full(most + 1, -1, dtype=np.int64)
    places[numbers] = np.arange(len(numbers))
    return places


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
