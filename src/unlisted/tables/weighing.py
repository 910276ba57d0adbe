"""Labels weighed inside an engine: the weight oracle for "which labels are there?".

The distinct pairs of users and items are computed once and kept; everything else is asked of them, as often as the
mechanism weighs. Weights are sums of whole numbers, and what labels give back to their users is added up exactly,
in numbers of up to 38 digits, with one rounding at the end: the proof in `counts/weights.md` counts on that. The
only floating-point number, the part that a label gives back, is one division and the same in every engine.

Labels that were drawn are marked as taken where they are: no label goes back into the engine. What leaves it is
how many labels there are in each bucket, and the labels that were asked for by their place in one.
"""

# ruff: noqa: S608 - statements are made of quoted names and whole numbers

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts.bounded_counts import LARGEST_COUNT, BoundedCounts
from unlisted.counts.weight_oracle import WeightOracle
from unlisted.counts.weights import HEAVIEST, SHARES, Rerouting, Weighing, even_weight, full_weight
from unlisted.counts.whole_numbers import to_numpy
from unlisted.errors import ChargedFailureError
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.tables.bounding import Choice, ItemColumn, distinct_pairs, item_columns, keys_of
from unlisted.tables.count_query import CountQuery
from unlisted.tables.counting import counted, in_order, labels_of, selected
from unlisted.tables.engines.engine import World
from unlisted.tables.failures import OWNER_LOG

if TYPE_CHECKING:
    from unlisted.tables.table import Table

PAIRS = "unlisted_pairs"
KEPT = "unlisted_kept"
WEIGHED = "unlisted_weighed"
TAKEN = "unlisted_taken"
IN_PLAY = "unlisted_in_play"
OF_TAKEN = "unlisted_of_taken"
WEIGHTS = "unlisted_weights"
PLACES = "unlisted_places"


@contextmanager
def weighed(table: Table, question: CountQuery, secret: bytes) -> Iterator[WeightOracle]:
    """Yield an oracle for the labels of a question, which works until the context ends.

    How many items a user keeps is said each time the labels are weighed; the question's own bound is not used.
    Whatever fails inside the context, in the engine or in the mechanism, is charged.
    """
    rows = table.rows(question)
    items = item_columns(question, table.columns())
    choice = Choice(table.engine, items, secret)
    pairs = distinct_pairs(table.engine, table.user, question, items)
    with table.world(rows) as world:
        world.keep(PAIRS, pairs)
        yield _EngineScales(world, question, choice)


def kept_query(choice: Choice, bound: int, taken: str | None, in_play: str | None = None) -> str:
    """Return the query for the pairs within the bound, of labels that are in play and were not taken out."""
    keys = keys_of(choice.items)
    carried = f'"u", {keys}'
    conditions = [_is_in(choice.items, in_play)] if in_play else []
    conditions += [f"NOT {_is_in(choice.items, taken)}"] if taken else []
    if not conditions:
        clauses = choice.kept(bound, keys, carried, f'"{PAIRS}"')
    else:
        left = f'SELECT {carried} FROM "{PAIRS}" WHERE {" AND ".join(conditions)}'
        clauses = f'"pairs" AS MATERIALIZED ({left}),\n{choice.kept(bound, keys, carried)}'
    return f'WITH {clauses}\nSELECT {carried} FROM "kept"'


def weights_of(weighing: Weighing) -> pa.Table:
    """Return what the items of a user with n of them weigh: in full, and the part that may be given back."""
    sizes = range(1, weighing.items + 1)
    adaptive = weighing.rerouting.most_items if weighing.rerouting else 0
    columns = {
        "n": list(sizes),
        "full": [full_weight(n) for n in sizes],
        "even": [even_weight(n) if n <= adaptive else 0 for n in sizes],
    }
    return pa.table({name: pa.array(column, pa.int64()) for name, column in columns.items()})


def full_query(items: tuple[ItemColumn, ...], kept: str) -> str:
    """Return the query for labels and their weights `n`, nothing being given back."""
    keys = keys_of(items)
    return f"""
WITH "users" AS ({_users(kept)})
SELECT {keys}, {_capped('SUM(CAST("full" AS HUGEINT))')} AS "n"
FROM "{kept}" JOIN "users" ON "u" = "v" GROUP BY {keys}""".strip()


def adaptive_query(items: tuple[ItemColumn, ...], kept: str, rerouting: Rerouting) -> str:
    """Return the query for labels and their weights `n`, those with enough giving back.

    Of a label, `own` is what cannot be given back, `even` what can, and of that `back` the parts of SHARES that
    are. A user `gets` so many parts of an even weight, all labels together; of these each label gains its share.
    """
    keys = keys_of(items)
    return f"""
WITH "users" AS MATERIALIZED ({_users(kept)}),
"labels" AS MATERIALIZED (
    SELECT {keys}, "own", "even", {given_back(rerouting)} AS "back" FROM (
        SELECT {keys}, SUM(CAST("full" - "even" AS HUGEINT)) AS "own", SUM(CAST("even" AS HUGEINT)) AS "even"
        FROM "{kept}" JOIN "users" ON "u" = "v" GROUP BY {keys}
    ) AS "sums"
),
"givers" AS (SELECT {keys}, "back" FROM "labels" WHERE "back" > 0),
"getting" AS (
    SELECT "u" AS "w", CAST(SUM("back") AS HUGEINT) AS "gets"
    FROM "{kept}" JOIN "givers" USING ({keys}) GROUP BY "u"
),
"gifts" AS (
    SELECT "w", CAST("even" AS HUGEINT) * "gets" AS "gift"
    FROM "getting" JOIN "users" ON "w" = "v" WHERE "even" > 0
),
"gains" AS (SELECT {keys}, SUM("gift") AS "gain" FROM "{kept}" JOIN "gifts" ON "u" = "w" GROUP BY {keys})
SELECT {keys}, {adapted(rerouting)} AS "n" FROM "labels" LEFT JOIN "gains" USING ({keys})""".strip()


def adapted(rerouting: Rerouting) -> str:
    """Return the weight of a label from `own`, `even`, `back` and `gain`, rounded once.

    That is own + (even·(SHARES - back) + gain/spread) / SHARES. No number on the way has more than 38 digits if
    there are fewer than 2^33 users. What is divided is capped before, so that the quotient fits into 64 bits.
    """
    parts = SHARES * rerouting.spread
    stays = f'"even" * {rerouting.spread} * ({SHARES} - "back") + COALESCE("gain", 0)'
    return _capped(f'"own" + LEAST({stays}, {LARGEST_COUNT * parts}) // {parts}')


def given_back(rerouting: Rerouting) -> str:
    """Return how many of SHARES parts of the even weight a label gives back.

    All that is divided or multiplied is known to floating point exactly, and SHARES is a power of two: the only
    rounding is the division's, which is the same wherever numbers are those of IEEE 754.
    """
    even = f'CAST(LEAST("even", {HEAVIEST}) AS BIGINT)'
    part = f"CAST({even} - {rerouting.enough} AS DOUBLE) / CAST({even} AS DOUBLE)"
    back = f"CAST(FLOOR({part} * {SHARES}) AS BIGINT)"
    return f'CASE WHEN "even" <= {rerouting.enough} THEN 0 ELSE {back} END'


def buckets_query(kept_weights: str, bucket: str) -> str:
    """Return the query for how many labels there are in each bucket."""
    return f'SELECT {bucket} AS "b", COUNT(*) AS "labels" FROM "{kept_weights}" GROUP BY {bucket}'


def bucket_of(width: int, last: int) -> str:
    """Return the bucket of a weight `n`."""
    return f'CAST(LEAST(("n" - 1) // {width}, {last}) AS BIGINT)'


def named_query(items: tuple[ItemColumn, ...], kept_weights: str, bucket: str) -> str:
    """Return the query for the labels at the places asked for, with their weights."""
    names = ", ".join(item.value for item in items)
    return f'SELECT "position", {names}, "n" FROM {_placed(items, selected(items), kept_weights, bucket)}'


def taken_query(items: tuple[ItemColumn, ...], kept_weights: str, bucket: str, before: str | None) -> str:
    """Return the query for the labels at the places asked for, together with those that were taken out before."""
    keys = keys_of(items)
    earlier = f'SELECT {keys} FROM "{before}" UNION ALL ' if before else ""
    return f"{earlier}SELECT {keys} FROM {_placed(items, keys, kept_weights, bucket)}"


def weights_query(items: tuple[ItemColumn, ...], kept_weights: str, bucket: str) -> str:
    """Return the query for what the labels at the places asked for weigh; none of them is named."""
    return f'SELECT "position", "n" FROM {_placed(items, keys_of(items), kept_weights, bucket)}'


def counts_query(items: tuple[ItemColumn, ...], taken: str | None) -> str:
    """Return the query for how many users have each label that was taken out."""
    keys = keys_of(items)
    which = f'JOIN "{taken}" USING ({keys})' if taken else "WHERE FALSE"
    counts = f'SELECT {keys}, COUNT(*) AS "n" FROM "{PAIRS}" {which} GROUP BY {keys}'
    return f'SELECT {selected(items)}, "n" FROM ({counts}) AS "counts"'


def pairs_of_taken_query(items: tuple[ItemColumn, ...], taken: str | None) -> str:
    """Return the query for all pairs of labels that were taken out; no bound on the items of a user."""
    keys = keys_of(items)
    which = f'JOIN "{taken}" USING ({keys})' if taken else "WHERE FALSE"
    return f'SELECT "u", {keys} FROM "{PAIRS}" {which}'


def sizes_query(of_taken: str) -> str:
    """Return the query for how many users have how many labels."""
    sizes = f'SELECT "u", COUNT(*) AS "c" FROM "{of_taken}" GROUP BY "u"'
    return f'SELECT "c", COUNT(*) AS "users" FROM ({sizes}) AS "sizes" GROUP BY "c"'


def scaled_query(items: tuple[ItemColumn, ...], of_taken: str) -> str:
    """Return the query for what all users of a label count for together, each by the number of labels it has."""
    return f'SELECT {selected(items)}, "n" FROM ({full_query(items, of_taken)}) AS "scaled"'


def _users(kept: str) -> str:
    """Return the query for what each item of a user weighs, from how many the user has."""
    sizes = f'SELECT "u" AS "v", COUNT(*) AS "c" FROM "{kept}" GROUP BY "u"'
    return f'SELECT "v", "full", "even" FROM ({sizes}) AS "sizes" JOIN "{WEIGHTS}" ON "c" = "n"'


def _capped(weight: str) -> str:
    return f"CAST(LEAST({weight}, {LARGEST_COUNT}) AS BIGINT)"


def _placed(items: tuple[ItemColumn, ...], columns: str, kept_weights: str, bucket: str) -> str:
    """Return the relation of the labels at the places asked for: ranks are from 0, in the order of labels."""
    order = ", ".join(name for item in items for name in item.order)
    return f"""(
    SELECT {columns}, "n", "b", ROW_NUMBER() OVER (PARTITION BY "b" ORDER BY {order}) - 1 AS "rank"
    FROM (SELECT {keys_of(items)}, "n", {bucket} AS "b" FROM "{kept_weights}") AS "in_buckets"
    WHERE "b" IN (SELECT "bucket" FROM "{PLACES}")
) AS "ranked" JOIN "{PLACES}" ON "b" = "bucket" AND "rank" = "at" """.strip()


def _is_in(items: tuple[ItemColumn, ...], relation: str) -> str:
    """Return the condition that the label of a pair is in a relation of labels."""
    same = " AND ".join(f'"{relation}".{key} = "{PAIRS}".{key}' for key in _keys(items))
    return f'EXISTS (SELECT 1 FROM "{relation}" WHERE {same})'


def _keys(items: tuple[ItemColumn, ...]) -> tuple[str, ...]:
    return tuple(key for item in items for key in item.keys)


@dataclass
class _EngineScales:
    """The pairs that one world keeps, weighed there. What a world keeps cannot be replaced: names are numbered."""

    world: World
    question: CountQuery
    choice: Choice
    _weighings: int = 0
    _bucket: str = ""
    _taken: list[int] = field(default_factory=list)
    """How many labels were taken out, each time."""
    _hints: int = 0
    """How often all but some labels were left out."""
    _of_taken: str = ""

    def weigh(self, weighing: Weighing) -> None:
        """Weigh all labels that were not taken out."""
        self._weighings += 1
        items, kept = self.choice.items, f"{KEPT}_{self._weighings}"
        self.world.keep(kept, kept_query(self.choice, weighing.items, self._taken_so_far, self._in_play))
        self.world.lend(WEIGHTS, weights_of(weighing))
        rerouting = weighing.rerouting
        query = adaptive_query(items, kept, rerouting) if rerouting else full_query(items, kept)
        self.world.keep(self._weights, query)

    def buckets(self, width: int, last: int) -> Mapping[int, int]:
        """Return how many labels there are in each bucket."""
        self._bucket = bucket_of(width, last)
        found = self.world.answer(buckets_query(self._weights, self._bucket))
        return dict(zip(found.column("b").to_pylist(), found.column("labels").to_pylist(), strict=True))

    def named(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> tuple[pa.Array, NDArray[np.int64]]:
        """Return the labels at these places, in this order, and their weights."""
        self._lend_places(buckets, ranks)
        query = named_query(self.choice.items, self._weights, self._bucket)
        found = in_order(self.world.answer(query), len(buckets))
        return labels_of(found, self.question), to_numpy(found.column("n"))

    def weights_at(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what the labels at these places weigh, in this order."""
        self._lend_places(buckets, ranks)
        query = weights_query(self.choice.items, self._weights, self._bucket)
        return to_numpy(in_order(self.world.answer(query), len(buckets)).column("n"))

    def take_out(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> None:
        """Leave the labels at these places out of all further weighing."""
        self._lend_places(buckets, ranks)
        query = taken_query(self.choice.items, self._weights, self._bucket, self._taken_so_far)
        self._taken.append(len(buckets))
        self.world.keep(f"{TAKEN}_{len(self._taken)}", query)

    def keep_in_play(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> None:
        """Leave all labels but those at these places out of all further weighing."""
        self._lend_places(buckets, ranks)
        self._hints += 1
        query = taken_query(self.choice.items, self._weights, self._bucket, None)
        self.world.keep(f"{IN_PLAY}_{self._hints}", query)

    def sizes_of_users(self) -> Mapping[int, int]:
        """Return how many users have m of the labels taken out."""
        found = self.world.answer(sizes_query(self._pairs_of_taken()))
        return dict(zip(found.column("c").to_pylist(), found.column("users").to_pylist(), strict=True))

    def scaled_counts_of_taken(self, weights: NDArray[np.int64]) -> BoundedCounts:
        """Return the sum over all users of what each counts for."""
        of_taken = self._pairs_of_taken()
        columns = {"n": np.arange(1, len(weights) + 1), "full": weights, "even": np.zeros_like(weights)}
        self.world.lend(WEIGHTS, pa.table({name: pa.array(of, pa.int64()) for name, of in columns.items()}))
        found = self.world.answer(scaled_query(self.choice.items, of_taken))
        return self._counted(found, int(weights.max(initial=1)))

    def counts_of_taken(self) -> BoundedCounts:
        """Return how many users have each of the labels taken out, whatever the bound was."""
        return self._counted(self.world.answer(counts_query(self.choice.items, self._taken_so_far)), 1)

    def _counted(self, found: pa.Table, most: int) -> BoundedCounts:
        """Return the counts of all labels taken out, of which a user changes each by at most `most`."""
        if len(found) != sum(self._taken):
            OWNER_LOG.error("Labels were taken out by rank, and others or fewer were there.")
            raise ChargedFailureError
        sensitivity = Sensitivity(items=None, count=most, adjacency=self.question.adjacency)
        return BoundedCounts(*counted(found, self.question), sensitivity)

    def _pairs_of_taken(self) -> str:
        """Keep all pairs of the labels taken out so far, once, and return their name."""
        name = f"{OF_TAKEN}_{len(self._taken)}"
        if name != self._of_taken:
            self.world.keep(name, pairs_of_taken_query(self.choice.items, self._taken_so_far))
            self._of_taken = name
        return name

    @property
    def _weights(self) -> str:
        return f"{WEIGHED}_{self._weighings}"

    @property
    def _taken_so_far(self) -> str | None:
        return f"{TAKEN}_{len(self._taken)}" if self._taken else None

    @property
    def _in_play(self) -> str | None:
        return f"{IN_PLAY}_{self._hints}" if self._hints else None

    def _lend_places(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> None:
        places = {"position": np.arange(len(buckets)), "bucket": buckets, "at": ranks}
        self.world.lend(PLACES, pa.table({name: pa.array(of, pa.int64()) for name, of in places.items()}))
