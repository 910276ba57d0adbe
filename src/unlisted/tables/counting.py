"""Bounded counts out of an engine: the largest ones, or all of them with the long tail said shortly.

What needs one query asks one query. The full histogram needs several, and they must speak of the same rows: the
bounded counts are computed once and kept inside the engine, as one table, and everything is asked of that table.

Long tails. Most labels of a large table have small counts and almost surely stay hidden. So the engine says how
many labels there are at each count up to a public cut, and names only those above it; the few that noise lifts
over the threshold are named afterwards, by their rank among the labels of their count. `counts/count_profile.py`
takes it from there, and nothing changes in the law of the answer. Where there are few labels it is quicker to name
them all; which way was taken shows in nothing that leaves.
"""

# ruff: noqa: S608 - statements are made of quoted names and whole numbers

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.count_profile import CountProfile
from unlisted.counts.readable import readable_labels
from unlisted.counts.whole_numbers import to_arrow, to_numpy
from unlisted.errors import ChargedFailureError
from unlisted.privacy.numbers import whole
from unlisted.tables.bounding import bounded_counts
from unlisted.tables.cluster import spread_fetch_query
from unlisted.tables.count_query import CountQuery
from unlisted.tables.engines.engine import ManyMachines, World
from unlisted.tables.failures import OWNER_LOG
from unlisted.tables.items import ItemColumn, answer_name, item_columns

if TYPE_CHECKING:
    from unlisted.tables.table import Table

FEW_LABELS = 100_000
"""Up to so many labels below the cut, all are named at once. Public, and without effect on any answer."""

MOST_BYTES = 2**30
"""Bytes of labels that are named at once, however long they may be: Arrow holds twice as many in a column."""

KEPT = "unlisted_bounded"
WANTED = "unlisted_wanted"


def count_top(table: Table, question: CountQuery, *, fetch: int, secret: bytes) -> BoundedCounts:
    """Return the k̄ + 1 largest counts, k̄ = `fetch`; ties at the cut are broken by the label, as bytes."""
    fetch = whole("fetch", fetch)
    rows = table.rows(question)
    items = item_columns(question.items, table.columns())
    query = top_query(bounded_counts(table.engine, table.user, question, secret), items, fetch)
    with table.world(rows) as world:
        labels, counts = counted(world.answer(query), question)
        return BoundedCounts(labels, counts, question.sensitivity, fetched=fetch)


def count_each(table: Table, question: CountQuery, *, secret: bytes) -> BoundedCounts:
    """Return all bounded counts one by one, however many there are, with one query."""
    rows = table.rows(question)
    items = item_columns(question.items, table.columns())
    counts = bounded_counts(table.engine, table.user, question, secret)
    with table.world(rows) as world:
        found = world.answer(f'SELECT {selected(items)}, "n" FROM ({counts}) AS "counts"')
        return BoundedCounts(*counted(found, question), question.sensitivity)


@contextmanager
def count_all(
    table: Table, question: CountQuery, *, cut: int, secret: bytes
) -> Iterator[BoundedCounts | CountProfile]:
    """Yield all bounded counts: one by one, or those up to `cut` as a profile whose labels can be fetched.

    Fetching works until the context ends. Whatever fails inside it, in the engine or in the mechanism, is charged.
    In a rehearsal all is asked that either way asks, and it is a profile, whose large counts are all counts too.
    """
    cut = whole("cut", cut, at_least=0)
    rows = table.rows(question)
    items = item_columns(question.items, table.columns())
    query = bounded_counts(table.engine, table.user, question, secret)
    with table.world(rows) as world:
        world.keep(KEPT, query)
        histogram = _Histogram(world, question, items, isinstance(table.engine, ManyMachines))
        yield histogram.counts(cut) if table.has_rows else histogram.rehearsed(cut)


def top_query(counts: str, items: tuple[ItemColumn, ...], fetch: int) -> str:
    """Return the query for the largest counts, in an order that no row can change."""
    order = ", ".join(name for item in items for name in item.order)
    return (
        f'SELECT {selected(items)}, "n" FROM ({counts}) AS "counts" ORDER BY "n" DESC, {order} LIMIT {fetch + 1}'
    )


def profile_query(cut: int) -> str:
    """Return the query for how many labels have each small count."""
    return f'SELECT "n", COUNT(*) AS "labels" FROM "{KEPT}" WHERE "n" <= {cut} GROUP BY "n"'


def large_query(items: tuple[ItemColumn, ...], cut: int) -> str:
    """Return the query for the labels above the cut, with their counts."""
    return f'SELECT {selected(items)}, "n" FROM "{KEPT}" WHERE "n" > {cut}'


def fetch_query(items: tuple[ItemColumn, ...]) -> str:
    """Return the query for the labels at the wanted ranks of their counts."""
    names = ", ".join(item.value for item in items)
    order = ", ".join(name for item in items for name in item.order)
    return f"""
SELECT "position", {names} FROM (
    SELECT {selected(items)}, "n", ROW_NUMBER() OVER (PARTITION BY "n" ORDER BY {order}) - 1 AS "rank"
    FROM "{KEPT}" WHERE "n" IN (SELECT "count" FROM "{WANTED}")
) AS "ranked" JOIN "{WANTED}" ON "n" = "count" AND "rank" = "at" """.strip()


@dataclass(frozen=True)
class _Histogram:
    """The bounded counts that one world keeps."""

    world: World
    question: CountQuery
    items: tuple[ItemColumn, ...]
    many_machines: bool

    def counts(self, cut: int) -> BoundedCounts | CountProfile:
        profile = self.world.answer(profile_query(cut))
        small = dict(zip(profile.column("n").to_pylist(), profile.column("labels").to_pylist(), strict=True))
        if sum(small.values()) <= min(FEW_LABELS, MOST_BYTES // self.question.max_label_bytes):
            return self._above(0)
        return CountProfile(self._above(cut), small, self._fetch)

    def rehearsed(self, cut: int) -> CountProfile:
        """Ask of no rows what few labels lead to, and what many do."""
        nobody = np.zeros(0, dtype=np.int64)
        self.counts(cut)
        self._fetch(nobody, nobody)
        return CountProfile(self._above(cut), {}, self._fetch)

    def _above(self, cut: int) -> BoundedCounts:
        labels, counts = counted(self.world.answer(large_query(self.items, cut)), self.question)
        return BoundedCounts(labels, counts, self.question.sensitivity)

    def _fetch(self, counts: NDArray[np.int64], ranks: NDArray[np.int64]) -> pa.Array:
        """Name the labels at these ranks of these counts, in this order."""
        wanted = {"position": np.arange(len(counts)), "count": counts, "at": ranks}
        self.world.lend(WANTED, pa.table({name: to_arrow(of) for name, of in wanted.items()}))
        query = spread_fetch_query(self.items, KEPT, WANTED) if self.many_machines else fetch_query(self.items)
        found = in_order(self.world.answer(query), len(counts))
        return labels_of(found, self.question)


def in_order(found: pa.Table, asked: int) -> pa.Table:
    """Return what was asked for by positions from 0 in their order; anything missing or more is a failure."""
    positions = to_numpy(found.column("position").cast(pa.int64()))
    order = np.argsort(positions)
    if not np.array_equal(positions[order], np.arange(asked)):
        OWNER_LOG.error("Labels were asked for by rank, and others or fewer came back.")
        raise ChargedFailureError
    return found.take(to_arrow(order))


def selected(items: tuple[ItemColumn, ...]) -> str:
    """List the columns of labels as they are released."""
    return ", ".join(item.label for item in items)


def counted(found: pa.Table, question: CountQuery) -> tuple[pa.Array, pa.ChunkedArray]:
    """Return the items of an answer with their counts `n`, without those that cannot be read."""
    labels, counts = labels_of(found, question), found.column("n")
    if labels.null_count == 0:
        return labels, counts
    there = labels.is_valid()
    return labels.filter(there), counts.filter(there)


def labels_of(found: pa.Table, question: CountQuery) -> pa.Array:
    """Return the items of an answer as one array: the column itself, or a struct of several.

    What cannot be read is null. The engine was told to leave it out, and that is not relied upon: whoever gets
    nulls drops them.
    """
    columns = [_in_one_piece(found.column(f"i{at}")) for at in range(len(question.items))]
    if len(columns) == 1:
        return readable_labels(columns[0])
    return readable_labels(
        pa.StructArray.from_arrays(columns, names=[answer_name(item) for item in question.items])
    )


def _in_one_piece(column: pa.ChunkedArray) -> pa.Array:
    """Combine what there is; of nothing, PyArrow would make a list first, and import pandas to look at it."""
    return column.combine_chunks() if column.num_chunks else pa.nulls(0, column.type)
