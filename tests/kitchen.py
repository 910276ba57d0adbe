"""A small table for the tests of the front end: dishes that hundreds cook, and one that a single person does.

With `BUDGET` and `BOUND` nobody is over the bound, the common dishes are released and the planted one is not, each
with a probability that differs from 1 by less than 1e-8. So these tests use real noise and still never change.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import unlisted as ul

PLANTED = "planted-and-never-released-4b1d"
COMMON = {"soup": 900, "bread": 700, "curry": 500, "cake": 300}
BOUND = 6
BUDGET = ul.Budget(epsilon=6, delta="1e-9")
SHELL = ("--user", "user", "--item", "dish", "--epsilon", "6", "--delta", "1e-9")
"""The same question as a person types it."""


def cooked() -> pa.Table:
    """Return the rows: `user` (int64), `dish` (text), `portions` (int64), `place` (home or away)."""
    pairs = [(user, dish) for dish, users in COMMON.items() for user in range(users)]
    pairs += [(7, PLANTED), *((user, f"rare {user}") for user in range(0, 900, 30))]
    pairs.sort()
    return pa.table(
        {
            "user": pa.array([user for user, _ in pairs], pa.int64()),
            "dish": pa.array([dish for _, dish in pairs], pa.string()),
            "portions": pa.array([1 + user % 4 for user, _ in pairs], pa.int64()),
            "place": pa.array(["home" if user % 2 else "away" for user, _ in pairs], pa.string()),
        }
    )


def nobody() -> pa.Table:
    """Return a table of the same columns and no rows."""
    return cooked().schema.empty_table()


def asked(source: Any = None) -> ul.PrivateTable:
    """Open the table, or another one of the same columns."""
    return ul.table(cooked() if source is None else source, user="user")


def histogram(source: Any = None, **how: Any) -> ul.Release:
    """Release a histogram of the dishes."""
    return asked(source).histogram("dish", **({"budget": BUDGET, "items_per_user": BOUND} | how)).run()


def top(source: Any = None, **how: Any) -> ul.Release:
    """Release a ranking of the dishes."""
    return asked(source).top("dish", **({"budget": BUDGET, "k": 3} | how)).run()


def labels(source: Any = None, **how: Any) -> ul.Release:
    """Release the dishes alone."""
    return asked(source).labels("dish", **({"budget": BUDGET, "items_per_user": BOUND} | how)).run()
