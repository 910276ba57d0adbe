"""Asking a table in every way there is, and seeing exactly what was counted.

Counts are looked at before noise, under a fixed secret, so that whatever differs between two tables is due to
their rows. A label is told apart from others as a text that says its type and value.
"""

from __future__ import annotations

import decimal
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
from tests.streams import brooks
from tests.tables.fixtures.asked import SECRET, small_counts

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.weight_oracle import WeightOracle
from unlisted.counts.weights import UNIT, Rerouting, Weighing, full_weight
from unlisted.noise.keyed import NoiseKey
from unlisted.streams.contributions import Contributions
from unlisted.streams.incoming import offered
from unlisted.streams.rounds import UserRound
from unlisted.tables import counting
from unlisted.tables.count_query import CountQuery
from unlisted.tables.counting import count_all, count_top
from unlisted.tables.table import Table
from unlisted.tables.weighing import weighed

BOUND = 2
ROWS_OF_AN_ITEM = 2

Label = tuple[str, ...]
Counts = Mapping[Label, int]
KEY = NoiseKey(bytes(range(32)))


@dataclass(frozen=True)
class Measure:
    """One way to ask, and how much one user may change in what it counts: at most so many labels, so much each."""

    name: str
    ask: Callable[[Table, str | None], Counts]
    items: int | None = BOUND
    each: int = 1
    columns: tuple[str, ...] = ("item",)


def said(value: Any) -> str:
    """A value with its type; equal only for the same value, -0.0 not being 0.0."""
    if isinstance(value, decimal.Decimal):
        sign, digits, exponent = value.as_tuple()
        number = int("".join(map(str, digits)) or "0")
        while number and number % 10 == 0:
            number, exponent = number // 10, int(exponent) + 1
        return f"decimal {sign if number else 0} {number} {exponent if number else 0}"
    if isinstance(value, str):
        return f"text {value}"
    return f"{type(value).__name__} {value!r}"


def said_all(labels: pa.Array) -> list[Label]:
    """Labels, one text for each item column."""
    listed = labels.to_pylist()
    return [tuple(map(said, one.values())) if isinstance(one, dict) else (said(one),) for one in listed]


def _dict(labels: pa.Array, counts: Any) -> Counts:
    named = said_all(labels)
    assert len(set(named)) == len(named), "a label is there twice"
    return dict(zip(named, map(int, counts), strict=True))


def _question(where: str | None, **how: Any) -> CountQuery:
    return CountQuery(how.pop("columns", ("item",)), **({"items_per_user": BOUND, "where": where} | how))


def _all(table: Table, where: str | None, **how: Any) -> Counts:
    with count_all(table, _question(where, **how), cut=2, secret=SECRET) as found:
        assert isinstance(found, BoundedCounts)
        return _dict(found.labels, found.counts)


def _profile(table: Table, where: str | None) -> Counts:
    """All counts by way of a profile, every rank of which is fetched."""
    with (
        mock.patch.object(counting, "FEW_LABELS", 0),
        count_all(table, _question(where), cut=2, secret=SECRET) as found,
    ):
        if isinstance(found, BoundedCounts):
            return _dict(found.labels, found.counts)
        small = small_counts(found)
        large = _dict(found.large.labels, found.large.counts)
        return {**large, **{tuple(map(said, label)): count for label, count in small}}


def _top(table: Table, where: str | None, *, fetch: int = 500, **how: Any) -> Counts:
    """The largest counts; those behind the cut, of which a small `fetch` makes some, are left out."""
    found = count_top(table, _question(where, **how), fetch=fetch, secret=SECRET)
    counts = np.asarray(found.counts)
    assert list(counts) == sorted(counts, reverse=True), "not the largest first"
    return _dict(found.labels, counts)


def _weighed(table: Table, where: str | None, weighing: Weighing) -> Counts:
    with weighed(table, _question(where), SECRET) as oracle:
        places = _places(oracle, weighing)
        labels, weights = oracle.named(*places)
        oracle.take_out(*places)
        taken = oracle.counts_of_taken()
        named = _dict(labels, weights)
        assert set(said_all(taken.labels)) == set(named), "other labels were taken out than named"
        return named


def _places(oracle: WeightOracle, weighing: Weighing) -> tuple[Any, Any]:
    """Weigh labels, and return where all of them are."""
    oracle.weigh(weighing)
    sizes = oracle.buckets(UNIT, 100)
    ranks = np.concatenate([np.arange(size) for size in sizes.values()] or [np.zeros(0)])
    return np.repeat(np.array(list(sizes), dtype=np.int64), list(sizes.values())), ranks.astype(np.int64)


def _found_then_counted(table: Table, where: str | None) -> Counts:
    """Two rounds: all labels stay in play, and are taken out. Then the counts of all their users.

    Nobody's items are left out of the rounds: who lifts a label into an answer brings all of its users with it.
    """
    weighing = Weighing(100)
    with weighed(table, _question(where), SECRET) as oracle:
        oracle.keep_in_play(*_places(oracle, weighing))
        oracle.take_out(*_places(oracle, weighing))
        users = oracle.sizes_of_users()
        found = oracle.scaled_counts_of_taken(np.ones(max(users, default=1), dtype=np.int64))
        assert sum(found.counts) == sum(items * those for items, those in users.items()), "an item was lost"
        return _dict(found.labels, found.counts)


def _pushed(table: Table, where: str | None, **bounds: Any) -> Counts:
    """One round of a stream, bounded under its key."""
    settings = brooks.settings(where=where, **bounds)
    with offered(settings, _Opened(table), 1, KEY) as round_:
        kept, _ = round_.within(Contributions.none(), 1)
        counts = _dict(kept.labels, kept.counts)
        round_.digest()
        if isinstance(round_, UserRound) and len(round_.users):
            fewer = round_.without(np.array([0], dtype=np.int64))
            lost = Counter(counts)
            lost.subtract(_dict(fewer.labels, fewer.counts))
            assert all(0 <= n <= 1 for n in lost.values()), "leaving one user out changed more than one"
            assert sum(lost.values()) <= BOUND, "leaving one user out changed more than the bound"
        return counts


class _Opened:
    """What a stream takes rows from, without opening them again: the table as `ul.table` returns it."""

    def __new__(cls, table: Table) -> Any:  # type: ignore[misc]
        from unlisted.query.private_table import PrivateTable

        return PrivateTable(table)


_GIVING = Weighing(BOUND, Rerouting(UNIT, BOUND))

MEASURES = {
    measure.name: measure
    for measure in (
        Measure("histogram", _all),
        Measure(
            "histogram of rows", partial(_all, count="rows", rows_per_item=ROWS_OF_AN_ITEM), each=ROWS_OF_AN_ITEM
        ),
        Measure("histogram of two columns", partial(_all, columns=("item", "spare")), columns=("item", "spare")),
        Measure("profile", _profile),
        Measure("top", partial(_top, items_per_user=None), items=None),
        Measure("top_histogram", _top),
        Measure("labels", partial(_weighed, weighing=Weighing(BOUND)), each=full_weight(1)),
        Measure("found, then counted", _found_then_counted, items=None),
        Measure("stream by events", partial(_pushed, unit="event", items_per_event=BOUND)),
        Measure("stream by users", partial(_pushed, unit="user", rounds_per_user=2, items_per_event=BOUND)),
        Measure("stream of first times", partial(_pushed, unit="user", items_per_user=BOUND)),
    )
}

ADAPTIVE = Measure("labels that give back", partial(_weighed, weighing=_GIVING), items=None, each=2 * UNIT)
"""What one user moves here is spread over labels of others: only that it is answered is compared."""
