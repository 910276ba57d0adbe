"""Asking a table in the tests: the answer as a plain mapping from label to count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from tests.tables.twin import Label

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.count_profile import CountProfile
from unlisted.tables.count_query import CountQuery
from unlisted.tables.counting import count_all, count_top
from unlisted.tables.table import Table

SECRET = bytes(range(16))
OTHER_SECRET = bytes(range(1, 17))


def question(*items: str, **how: Any) -> CountQuery:
    return CountQuery(items, **({"items_per_user": 3} | how))


def labels(array: pa.Array) -> list[Label]:
    """Labels as tuples, one value for each item column."""
    return [tuple(one.values()) if isinstance(one, dict) else (one,) for one in array.to_pylist()]


def listed(counts: BoundedCounts) -> list[tuple[Label, int]]:
    return list(zip(labels(counts.labels), counts.counts.tolist(), strict=True))


def all_listed(table: Table, asked: CountQuery, secret: bytes = SECRET, cut: int = 2) -> list[tuple[Label, int]]:
    """All counts, whichever way they come: a profile is read by fetching every rank there is."""
    with count_all(table, asked, cut=cut, secret=secret) as found:
        if isinstance(found, BoundedCounts):
            return listed(found)
        return listed(found.large) + small_counts(found)


def all_counts(table: Table, asked: CountQuery, secret: bytes = SECRET, cut: int = 2) -> dict[Label, int]:
    counted = all_listed(table, asked, secret, cut)
    assert len(dict(counted)) == len(counted)
    return dict(counted)


def small_counts(found: CountProfile) -> list[tuple[Label, int]]:
    counts = np.repeat(np.array(list(found.small), dtype=np.int64), list(found.small.values()))
    ranks = np.concatenate([np.arange(n) for n in found.small.values()] or [np.zeros(0)]).astype(np.int64)
    # In an order of its own: labels must come back in the order in which they were asked for.
    shuffled = np.random.default_rng(0).permutation(len(counts))
    return list(
        zip(labels(found.fetch(counts[shuffled], ranks[shuffled])), counts[shuffled].tolist(), strict=True)
    )


def top_counts(table: Table, asked: CountQuery, fetch: int, secret: bytes = SECRET) -> list[tuple[Label, int]]:
    return listed(count_top(table, asked, fetch=fetch, secret=secret))
