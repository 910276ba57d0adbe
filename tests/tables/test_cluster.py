"""Thinning out giants changes nothing in what they keep, ties included; and it does make them smaller."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unlisted.tables.bounding import bounded_counts
from unlisted.tables.cluster import BUCKETS, thinning
from unlisted.tables.count_query import CountQuery
from unlisted.tables.engines.duckdb.paths import file_engine


class OneMachine:
    """An engine that does all by itself."""


class Cluster:
    """An engine of many machines."""

    giant = 1000


KEYS = st.lists(st.text("01", min_size=3, max_size=3), max_size=60)
"""Keys of a user's pairs: so short that ties are common."""


def kept(keys: list[str], bound: int) -> list[str]:
    """What a user keeps: those keys at or below which there are at most so many."""
    return sorted(one for one in keys if sum(other <= one for other in keys) <= bound)


def thinned(keys: list[str], bound: int, digits: int) -> list[str]:
    """What the buckets leave."""
    buckets = defaultdict(list)
    for key in sorted(keys):
        buckets[key[:digits]].append(key)
    return [key for bucket in buckets.values() for key in bucket[: bound + 1]]


@given(KEYS, st.integers(1, 6), st.integers(1, 2))
def test_a_thinned_user_keeps_what_the_whole_user_keeps(keys: list[str], bound: int, digits: int) -> None:
    assert kept(thinned(keys, bound, digits), bound) == kept(keys, bound)


def test_one_key_less_in_a_bucket_would_let_too_much_pass_when_keys_tie() -> None:
    keys, bound = ["000", "000", "100"], 1
    assert kept(keys, bound) == []
    assert kept(thinned(keys, bound - 1, 1), bound) != []


def test_who_has_one_machine_thins_out_nobody() -> None:
    assert thinning(OneMachine(), "items", "key", 10).clauses == ""  # type: ignore[arg-type]


@pytest.mark.parametrize(("bound", "most"), [(1, Cluster.giant), (100, BUCKETS * 101)])
def test_who_could_not_be_made_smaller_is_no_giant(bound: int, most: int) -> None:
    assert f'"c" > {most})' in thinning(Cluster(), "items", "key", bound).clauses  # type: ignore[arg-type]


def test_duckdb_is_asked_without_giants(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    path.write_text("user,item\n1,a\n")
    engine = file_engine(str(path), None, None)
    assert "giant" not in bounded_counts(engine, "user", CountQuery("item", items_per_user=3), bytes(16))
