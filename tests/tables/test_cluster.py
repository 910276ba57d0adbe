"""Thinning out giants changes nothing in what they keep, ties included; and it does make them smaller."""

from __future__ import annotations

import pytest
from tests.tables.fixtures.ties import Cluster, OneMachine, kept_by_definition, kept_by_statement

from unlisted.tables.bounding import bounded_counts
from unlisted.tables.cluster import BUCKETS, thinning
from unlisted.tables.count_query import CountQuery
from unlisted.tables.engines.duckdb.formats import file_engine

BOUNDS = (1, 2, 5)
DIGITS = (2, 3, 12)
"""With two digits all keys of a bucket tie, with three some do, with twelve none."""


def giants(bound: int) -> dict[str, list[str]]:
    """Users of more items than the buckets may keep, and one of few."""
    many = BUCKETS * (bound + 1) + 1
    return {**{f"robot {n}": [f"item {n}/{i}" for i in range(many + n)] for n in range(3)}, "ann": ["tea"]}


@pytest.mark.parametrize("digits", DIGITS)
@pytest.mark.parametrize("bound", BOUNDS)
def test_a_thinned_user_keeps_what_the_whole_user_keeps(bound: int, digits: int) -> None:
    users = giants(bound)
    kept = kept_by_statement(Cluster(digits), users, bound)
    assert kept == kept_by_definition(Cluster(digits), users, bound)
    assert kept == kept_by_statement(OneMachine(digits), users, bound)
    assert kept["ann"] == ["tea"]
    assert all(len(items) <= bound for items in kept.values())
    assert digits < 12 or all(len(kept[user]) == bound for user in users if user != "ann")


def test_one_key_less_in_a_bucket_would_let_too_much_pass_when_keys_tie(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin that a mistake in the statement would be: N in each bucket, where N + 1 are needed to see a tie."""
    users, bound = giants(1), 1
    right = kept_by_statement(Cluster(2), users, bound)

    def one_less(*asked: object) -> object:
        made = thinning(*asked)  # type: ignore[arg-type]
        return type(made)(
            made.size, made.clauses, made.rest, made.thinned.replace(f"<= {bound + 1}", f"<= {bound}")
        )

    monkeypatch.setattr("unlisted.tables.bounding.thinning", one_less)
    assert kept_by_statement(Cluster(2), users, bound) != right


def test_a_bucket_gives_up_all_but_a_few() -> None:
    made = thinning(Cluster(12), "items", "key", 10)  # type: ignore[arg-type]
    assert '"place" <= 11' in made.thinned
    assert 'PARTITION BY "u", LEFT("k", 2) ORDER BY "k"' in made.clauses


def test_who_has_one_machine_thins_out_nobody() -> None:
    assert thinning(OneMachine(12), "items", "key", 10).clauses == ""  # type: ignore[arg-type]


@pytest.mark.parametrize(("bound", "most"), [(1, 1000), (100, BUCKETS * 101)])
def test_who_could_not_be_made_smaller_is_no_giant(bound: int, most: int) -> None:
    assert f'"c" > {most})' in thinning(Cluster(12, giant=1000), "items", "key", bound).clauses  # type: ignore[arg-type]


def test_duckdb_is_asked_without_giants(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    path.write_text("user,item\n1,a\n")
    engine = file_engine(str(path), None, None)
    assert "giant" not in bounded_counts(engine, "user", CountQuery("item", items_per_user=3), bytes(16))
