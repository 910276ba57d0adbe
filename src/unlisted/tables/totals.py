"""Totals out of an engine: how many users there are, and how many different values. One query each, one number."""

# ruff: noqa: S608 - statements are made of quoted names and whole numbers

from __future__ import annotations

from typing import TYPE_CHECKING

from unlisted.counts.bounded_total import BoundedTotal
from unlisted.tables.bounding import bounded_counts, users_condition
from unlisted.tables.count_query import CountQuery
from unlisted.tables.engines.engine import SOURCE, Engine, World

if TYPE_CHECKING:
    from unlisted.tables.table import Table


def count_users(table: Table, question: CountQuery) -> BoundedTotal:
    """Return how many users have a row that the question's condition lets through."""
    return _asked(table, question, users_query(table.engine, table.user), shift=1)


def count_distinct(table: Table, question: CountQuery, *, secret: bytes) -> BoundedTotal:
    """Return how many different items there are, of each user at most as many as the question allows."""
    shift = question.sensitivity.require_items("The number of different values")
    query = distinct_query(bounded_counts(table.engine, table.user, question, secret))
    return _asked(table, question, query, shift=shift)


def users_query(engine: Engine, user: str) -> str:
    """Return the query for the number of users; whose names count as one is the engine's to say, as everywhere."""
    rows = f'SELECT {engine.whose(user)} AS "u" FROM "{SOURCE}"'
    named = f'SELECT DISTINCT "u" FROM ({rows}) AS "rows" WHERE {" AND ".join(users_condition(engine, user))}'
    return f'SELECT COUNT(*) AS "n" FROM ({named}) AS "users"'


def distinct_query(counts: str) -> str:
    """Return the query for the number of labels that have a count."""
    return f'SELECT COUNT(*) AS "n" FROM ({counts}) AS "counts"'


def total_in(world: World, query: str, shift: int = 1) -> BoundedTotal:
    """Return the one number of a query, which a user moves by `shift` at most."""
    (number,) = world.answer(query).column("n").to_pylist()
    return BoundedTotal(int(number), shift)


def _asked(table: Table, question: CountQuery, query: str, *, shift: int) -> BoundedTotal:
    rows = table.rows(question)
    with table.world(rows) as world:
        return total_in(world, query, shift)
