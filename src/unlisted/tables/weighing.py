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

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.bounded_sums import BoundedSums
from unlisted.counts.bounded_total import BoundedTotal
from unlisted.counts.weight_oracle import WeightOracle
from unlisted.counts.weights import Weighing, even_weight, full_weight
from unlisted.counts.whole_numbers import to_numpy, whole_columns
from unlisted.errors import ChargedFailureError, InvalidCountsError
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.tables import found
from unlisted.tables.bounding import LARGEST_BOUND, Choice, distinct_pairs
from unlisted.tables.count_query import CountQuery
from unlisted.tables.counting import counted, in_order, labels_of, selected
from unlisted.tables.engines.engine import World
from unlisted.tables.failures import OWNER_LOG
from unlisted.tables.found import PAIRS
from unlisted.tables.items import ItemColumn, item_columns, keys_of
from unlisted.tables.rerouting import FULL, WEIGHTS, adaptive_query, sizes_with_weights
from unlisted.tables.totals import total_in

if TYPE_CHECKING:
    from unlisted.tables.table import Table

LEFT = "unlisted_left"
OTHERS = "unlisted_others"
SIZES = "unlisted_sizes"
KEPT = "unlisted_kept"
WEIGHED = "unlisted_weighed"
CHOSEN = "unlisted_chosen"
TAKEN = "unlisted_taken"
IN_PLAY = "unlisted_in_play"
OF_TAKEN = "unlisted_of_taken"
PLACES = "unlisted_places"


@contextmanager
def weighed(table: Table, question: CountQuery, secret: bytes) -> Iterator[WeightOracle]:
    """Yield an oracle for the labels of a question, which works until the context ends.

    How many items a user keeps is said each time the labels are weighed; the question's own bound is not used.
    Whatever fails inside the context, in the engine or in the mechanism, is charged.
    """
    rows = table.rows(question)
    items = item_columns(question.items, table.columns())
    choice = Choice(table.engine, items, secret)
    pairs = distinct_pairs(table.engine, table.user, question, items, secret)
    with table.world(rows) as world:
        world.keep(PAIRS, f"{pairs.clauses}{pairs.query}")
        yield _EngineScales(world, question, choice)


def left_query(items: tuple[ItemColumn, ...], taken: str | None, in_play: str | None) -> str:
    """Return the query for the pairs of labels that are in play and were not taken out."""
    conditions = [_is_in(items, in_play)] if in_play else []
    conditions += [f"NOT {_is_in(items, taken)}"] if taken else []
    return f'SELECT "u", {keys_of(items)} FROM "{PAIRS}" WHERE {" AND ".join(conditions) or "TRUE"}'


def sizes_query(pairs: str) -> str:
    """Return the query for how many pairs each user has."""
    return f'SELECT "u", COUNT(*) AS "c" FROM "{pairs}" GROUP BY "u"'


def kept_query(choice: Choice, bound: int, pairs: str) -> str:
    """Return the query for the pairs within the bound."""
    keys = keys_of(choice.items)
    carried = f'"u", {keys}'
    clauses = choice.kept(bound, keys, carried, f'"{pairs}"')
    return f'WITH {clauses}\nSELECT {carried} FROM "kept"'


def weights_of(weighing: Weighing) -> pa.Table:
    """Return what the items of a user with n of them weigh: in full, and the part that may be given back."""
    sizes = range(1, weighing.items + 1)
    adaptive = weighing.rerouting.most_items if weighing.rerouting else 0
    return whole_columns(
        n=np.array(sizes),
        full=np.array([full_weight(n) for n in sizes]),
        even=np.array([even_weight(n) if n <= adaptive else 0 for n in sizes]),
    )


def full_query(choice: Choice, bound: int, pairs: str, sizes: str) -> str:
    """Return the query for labels and their weights `n`, nothing being given back.

    Users within the bound have all their pairs weighed where they lie, which is nearly everybody: WEIGHTS ends at
    the bound, so the join leaves out those with more. Of these only what they keep is made.
    """
    keys = keys_of(choice.items)
    return f"""
WITH {choice.kept_of_heavy(bound, keys, f'"{pairs}"', sizes)},
"few" AS (SELECT "u" AS "v", "full" FROM "{sizes}" JOIN "{WEIGHTS}" ON "c" = "n"),
"many" AS ({sizes_with_weights("kept")}),
"parts" AS (
    SELECT {keys}, "full" FROM "{pairs}" JOIN "few" ON "u" = "v"
    UNION ALL
    SELECT {keys}, "full" FROM "kept" JOIN "many" ON "u" = "v"
)
SELECT {keys}, {FULL} AS "n" FROM "parts" GROUP BY {keys}""".strip()


def buckets_query(kept_weights: str, bucket: str) -> str:
    """Return the query for how many labels there are in each bucket."""
    return f'SELECT {bucket} AS "b", COUNT(*) AS "labels" FROM "{kept_weights}" GROUP BY {bucket}'


def bucket_of(width: int, last: int) -> str:
    """Return the bucket of a weight `n`."""
    return f'CAST(LEAST(("n" - 1) // {width}, {last}) AS BIGINT)'


def chosen_query(items: tuple[ItemColumn, ...], kept_weights: str, bucket: str) -> str:
    """Return the query for the labels at the places asked for, with their weights; ranks are in their order.

    To find a rank, labels have to be sorted. That is done once for all that is asked of the labels drawn.
    """
    keys, order = keys_of(items), ", ".join(name for item in items for name in item.order)
    return f"""
SELECT {keys}, "n", "b", "rank" FROM (
    SELECT {keys}, "n", "b", ROW_NUMBER() OVER (PARTITION BY "b" ORDER BY {order}) - 1 AS "rank"
    FROM (SELECT {keys}, "n", {bucket} AS "b" FROM "{kept_weights}") AS "in_buckets"
    WHERE "b" IN (SELECT "bucket" FROM "{PLACES}")
) AS "ranked" JOIN "{PLACES}" ON "b" = "bucket" AND "rank" = "at" """.strip()


def named_query(items: tuple[ItemColumn, ...], chosen: str) -> str:
    """Return the query for the labels at the places asked for, with their weights."""
    return f'SELECT "position", {selected(items)}, "n" FROM {_placed(chosen)}'


def taken_query(items: tuple[ItemColumn, ...], chosen: str, before: str | None) -> str:
    """Return the query for the labels at the places asked for, together with those that were taken out before."""
    keys = keys_of(items)
    earlier = f'SELECT {keys} FROM "{before}" UNION ALL ' if before else ""
    return f"{earlier}SELECT {keys} FROM {_placed(chosen)}"


def weights_query(chosen: str) -> str:
    """Return the query for what the labels at the places asked for weigh; none of them is named."""
    return f'SELECT "position", "n" FROM {_placed(chosen)}'


def _placed(chosen: str) -> str:
    """Return the relation of the labels at the places asked for, all of which were chosen."""
    return f'"{chosen}" JOIN "{PLACES}" ON "b" = "bucket" AND "rank" = "at"'


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
    _of_all: str = ""
    _of_taken: str = ""
    _others: str = ""
    _choices: int = 0
    _chosen: NDArray[np.int64] | None = None
    """The places that CHOSEN holds, each as a number; None since labels were put into other buckets."""

    def weigh(self, weighing: Weighing) -> None:
        """Weigh all labels that were not taken out."""
        self._weighings, self._chosen = self._weighings + 1, None
        items, pairs, rerouting = self.choice.items, self._pairs_left(), weighing.rerouting
        if rerouting:
            kept = f"{KEPT}_{self._weighings}"
            self.world.keep(kept, kept_query(self.choice, weighing.items, pairs))
            self.world.lend(WEIGHTS, weights_of(weighing))
            query = adaptive_query(items, kept, rerouting)
        else:
            sizes = self._sizes_of_all() if pairs == PAIRS else f"{SIZES}_{self._weighings}"
            if pairs != PAIRS:
                self.world.keep(sizes, sizes_query(pairs))
            self.world.lend(WEIGHTS, weights_of(weighing))
            query = full_query(self.choice, min(weighing.items, LARGEST_BOUND), pairs, sizes)
        self.world.keep(self._weights, query)

    def _pairs_left(self) -> str:
        """Keep the pairs of the labels that are left, if not all are, and return their name."""
        if not self._taken and not self._hints:
            return PAIRS
        left = f"{LEFT}_{self._weighings}"
        self.world.keep(left, left_query(self.choice.items, self._taken_so_far, self._in_play))
        return left

    def buckets(self, width: int, last: int) -> Mapping[int, int]:
        """Return how many labels there are in each bucket."""
        self._bucket, self._chosen = bucket_of(width, last), None
        answer = self.world.answer(buckets_query(self._weights, self._bucket))
        return dict(zip(answer.column("b").to_pylist(), answer.column("labels").to_pylist(), strict=True))

    def named(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> tuple[pa.Array, NDArray[np.int64]]:
        """Return the labels at these places, in this order, and their weights."""
        query = named_query(self.choice.items, self._choose(buckets, ranks))
        answer = in_order(self.world.answer(query), len(buckets))
        return labels_of(answer, self.question), to_numpy(answer.column("n"))

    def weights_at(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what the labels at these places weigh, in this order."""
        query = weights_query(self._choose(buckets, ranks))
        return to_numpy(in_order(self.world.answer(query), len(buckets)).column("n"))

    def take_out(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> None:
        """Leave the labels at these places out of all further weighing."""
        query = taken_query(self.choice.items, self._choose(buckets, ranks), self._taken_so_far)
        self._taken.append(len(buckets))
        self.world.keep(f"{TAKEN}_{len(self._taken)}", query)

    def keep_in_play(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> None:
        """Leave all labels but those at these places out of all further weighing."""
        query = taken_query(self.choice.items, self._choose(buckets, ranks), None)
        self._hints += 1
        self.world.keep(f"{IN_PLAY}_{self._hints}", query)

    def sizes_of_users(self) -> Mapping[int, int]:
        """Return how many users have m of the labels taken out."""
        _, sizes = self._pairs_of_taken()
        answer = self.world.answer(found.users_by_size_query(sizes))
        return dict(zip(answer.column("c").to_pylist(), answer.column("users").to_pylist(), strict=True))

    def scaled_counts_of_taken(self, weights: NDArray[np.int64]) -> BoundedCounts:
        """Return the sum over all users of what each counts for."""
        of_taken, sizes = self._weighed_by_size(weights)
        answer = self.world.answer(found.scaled_query(self.choice.items, of_taken, sizes))
        return self._counted(answer, int(weights.max(initial=1)))

    def scaled_sums_of_taken(self, weights: NDArray[np.int64]) -> BoundedSums:
        """Return the sum over all users of their amount times what each counts for."""
        amounts = self.question.amounts
        if amounts is None:
            raise InvalidCountsError("Amounts were not asked for, so there is nothing to sum up.")
        of_taken, sizes = self._weighed_by_size(weights)
        answer = self._all_taken(self.world.answer(found.scaled_sums_query(self.choice.items, of_taken, sizes)))
        labels, sums = counted(answer, self.question)
        return BoundedSums(labels, to_numpy(sums), amounts.low, amounts.high)

    def _weighed_by_size(self, weights: NDArray[np.int64]) -> tuple[str, str]:
        """Lend what users of so many labels count for; return the pairs of the labels taken out, and the sizes."""
        names = self._pairs_of_taken()
        sizes_and_weights = whole_columns(
            n=np.arange(1, len(weights) + 1), full=weights, even=np.zeros_like(weights)
        )
        self.world.lend(WEIGHTS, sizes_and_weights)
        return names

    def counts_of_taken(self) -> BoundedCounts:
        """Return how many users have each of the labels taken out, whatever the bound was."""
        return self._counted(self.world.answer(found.counts_query(self.choice.items, self._taken_so_far)), 1)

    def users(self) -> BoundedTotal:
        """Return how many users have a label."""
        return total_in(self.world, found.users_query(self._sizes_of_all()))

    def users_of_others(self) -> BoundedTotal:
        """Return how many users have a label that was not taken out; hints play no part."""
        _, of_taken = self._pairs_of_taken()
        return total_in(self.world, found.users_of_others_query(self._sizes_of_all(), of_taken))

    def values_of_users(self, most: int) -> BoundedTotal:
        """Return how many labels all users have together, of each user at most so many."""
        return total_in(self.world, found.values_of_users_query(self._sizes_of_all(), most), most)

    def other_values(self, most: int) -> BoundedTotal:
        """Return how many different labels were not taken out, of each user's at most so many, by the secret."""
        pairs = f"{OTHERS}_{len(self._taken)}"
        if pairs != self._others:
            self.world.keep(pairs, left_query(self.choice.items, self._taken_so_far, None))
            self._others = pairs
        return total_in(self.world, found.other_values_query(self.choice, most, pairs), most)

    def _sizes_of_all(self) -> str:
        """Keep how many labels each user has in all, once; return the name."""
        if not self._of_all:
            self._of_all = f"{SIZES}_of_all"
            self.world.keep(self._of_all, sizes_query(PAIRS))
        return self._of_all

    def _counted(self, answer: pa.Table, most: int) -> BoundedCounts:
        """Return the counts of all labels taken out, of which a user changes each by at most `most`."""
        sensitivity = Sensitivity(items=None, count=most, adjacency=self.question.adjacency)
        return BoundedCounts(*counted(self._all_taken(answer), self.question), sensitivity)

    def _all_taken(self, answer: pa.Table) -> pa.Table:
        """Return an answer that must have a row for each of the labels taken out."""
        if len(answer) != sum(self._taken):
            OWNER_LOG.error("Labels were taken out by rank, and others or fewer were there.")
            raise ChargedFailureError
        return answer

    def _pairs_of_taken(self) -> tuple[str, str]:
        """Keep all pairs of the labels taken out so far, and how many a user has, once; return their names."""
        name = f"{OF_TAKEN}_{len(self._taken)}"
        sizes = f"{SIZES}_of_{name}"
        if name != self._of_taken:
            carried = ', "a"' if self.question.amounts else ""
            self.world.keep(name, found.pairs_of_taken_query(self.choice.items, self._taken_so_far, carried))
            self.world.keep(sizes, sizes_query(name))
            self._of_taken = name
        return name, sizes

    @property
    def _weights(self) -> str:
        return f"{WEIGHED}_{self._weighings}"

    @property
    def _taken_so_far(self) -> str | None:
        return f"{TAKEN}_{len(self._taken)}" if self._taken else None

    @property
    def _in_play(self) -> str | None:
        return f"{IN_PLAY}_{self._hints}" if self._hints else None

    def _choose(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> str:
        """Lend the places that are asked for, and return the relation that holds what lies there."""
        self.world.lend(PLACES, whole_columns(position=np.arange(len(buckets)), bucket=buckets, at=ranks))
        # No bucket has as many as 2^40 labels, and there are far fewer than 2^22 buckets.
        places = (buckets << 40) + ranks
        if self._chosen is None or not np.isin(places, self._chosen).all():
            self._chosen, self._choices = places, self._choices + 1
            query = chosen_query(self.choice.items, self._weights, self._bucket)
            self.world.keep(f"{CHOSEN}_{self._choices}", query)
        return f"{CHOSEN}_{self._choices}"
