"""SQL about labels that were found, and everything else: sizes of users, counts and totals."""

# ruff: noqa: S608 - statements are made of quoted names and whole numbers

from __future__ import annotations

from unlisted.counts.bounded_counts import LARGEST_COUNT
from unlisted.tables.bounding import Choice
from unlisted.tables.counting import selected
from unlisted.tables.items import ItemColumn, keys_of
from unlisted.tables.rerouting import FULL, WEIGHTS, capped

PAIRS = "unlisted_pairs"
"""The distinct pairs of users and labels that a world keeps."""


def counts_query(items: tuple[ItemColumn, ...], taken: str | None) -> str:
    """Return the query for how many users have each label that was taken out."""
    keys = keys_of(items)
    which = f'JOIN "{taken}" USING ({keys})' if taken else "WHERE FALSE"
    counts = f'SELECT {keys}, COUNT(*) AS "n" FROM "{PAIRS}" {which} GROUP BY {keys}'
    return f'SELECT {selected(items)}, "n" FROM ({counts}) AS "counts"'


def pairs_of_taken_query(items: tuple[ItemColumn, ...], taken: str | None, carried: str = "") -> str:
    """Return the query for all pairs of labels that were taken out, with what else is carried of them.

    There is no bound on the items of a user.
    """
    keys = keys_of(items)
    which = f'JOIN "{taken}" USING ({keys})' if taken else "WHERE FALSE"
    return f'SELECT "u", {keys}{carried} FROM "{PAIRS}" {which}'


def users_by_size_query(sizes: str) -> str:
    """Return the query for how many users have how many labels."""
    return f'SELECT "c", COUNT(*) AS "users" FROM "{sizes}" GROUP BY "c"'


def scaled_query(items: tuple[ItemColumn, ...], of_taken: str, sizes: str) -> str:
    """Return the query for what all users of a label count for together, each by the number of labels it has."""
    keys = keys_of(items)
    users = f'SELECT "u" AS "v", "full" FROM "{sizes}" JOIN "{WEIGHTS}" ON "c" = "n"'
    scaled = (
        f'SELECT {keys}, {FULL} AS "n" FROM "{of_taken}" JOIN ({users}) AS "users" ON "u" = "v" GROUP BY {keys}'
    )
    return f'SELECT {selected(items)}, "n" FROM ({scaled}) AS "scaled"'


def scaled_sums_query(items: tuple[ItemColumn, ...], of_taken: str, sizes: str) -> str:
    """Return the query for the amounts `a` of all users of a label, each times what the user counts for."""
    keys = keys_of(items)
    users = f'SELECT "u" AS "v", "full" FROM "{sizes}" JOIN "{WEIGHTS}" ON "c" = "n"'
    total = f'LEAST(GREATEST(SUM(CAST("full" AS HUGEINT) * "a"), -{LARGEST_COUNT}), {LARGEST_COUNT})'
    joined = f'FROM "{of_taken}" JOIN ({users}) AS "users" ON "u" = "v" GROUP BY {keys}'
    return f'SELECT {selected(items)}, "n" FROM (SELECT {keys}, CAST({total} AS BIGINT) AS "n" {joined}) AS "sums"'


def users_query(sizes: str) -> str:
    """Return the query for how many users have a label at all."""
    return f'SELECT COUNT(*) AS "n" FROM "{sizes}"'


def values_of_users_query(sizes: str, most: int) -> str:
    """Return the query for how many labels all users have together, of each user at most so many."""
    values = capped(f'COALESCE(SUM(CAST(LEAST("c", {most}) AS HUGEINT)), 0)')
    return f'SELECT {values} AS "n" FROM "{sizes}"'


def users_of_others_query(sizes: str, sizes_of_taken: str) -> str:
    """Return the query for how many users have a label that was not taken out: more labels than taken ones."""
    taken = f'SELECT "u" AS "v", "c" AS "m" FROM "{sizes_of_taken}"'
    return (
        f'SELECT COUNT(*) AS "n" FROM "{sizes}" LEFT JOIN ({taken}) AS "of_taken" ON "u" = "v" '
        'WHERE "c" > COALESCE("m", 0)'
    )


def other_values_query(choice: Choice, most: int, others: str) -> str:
    """Return the query for how many different labels there are in pairs, of each user at most so many."""
    keys = keys_of(choice.items)
    clauses = choice.kept(most, keys, keys, f'"{others}"')
    return f'WITH {clauses}\nSELECT COUNT(*) AS "n" FROM (SELECT DISTINCT {keys} FROM "kept") AS "labels"'
