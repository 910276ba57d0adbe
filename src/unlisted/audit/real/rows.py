"""From rows to a release: two tables that differ by one user, asked through `ul.table(…)` like any other.

Everything a user's question goes through is inside: reading, bounding with a fresh secret, counting, lazy tails,
noise, order, the columns of the release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import pyarrow as pa

from unlisted.audit.subject import BOTTOM, Output, Pair, Subject
from unlisted.privacy.guarantee import Budget
from unlisted.query.plan import Plan
from unlisted.query.private_table import PrivateTable, table
from unlisted.release.release import Release

Rows = list[tuple[str, str]]
"""(user, item)."""

ITEMS = ("bread", "rice", "soup")
USERS_EACH = 30
ROWS_OF_ONE = 60


def rows_subject(name: str, ask: Callable[[PrivateTable], Plan], pairs: Iterable[Pair]) -> Subject:
    """Audit a question: `ask` plans it on a table, and the data of the pairs are tables."""
    tried = list(pairs)
    # A plan is a function of the question alone, so it is made once for each table.
    planned = cache(ask)
    claim = planned(tried[0].left).guarantee
    return Subject(name, claim, lambda: tried, lambda source: output_of(planned(source).run(), "item"))


def histogram_of_rows() -> Subject:
    """Return a histogram of rows in the embedded engine, where one user has far more rows than may count."""
    return rows_subject("rows", one_row_each, [busy_user()])


def busy_user() -> Pair:
    """Return two tables: with and without a user who has sixty rows of every item."""
    others = [(f"{item}/{i}", item) for item in ITEMS for i in range(USERS_EACH)]
    busy = [("busy", item) for item in ITEMS for _ in range(ROWS_OF_ONE)]
    return Pair("a user with sixty rows of every item", table_of(others), table_of([*others, *busy]))


def one_row_each(source: PrivateTable) -> Plan:
    """Plan the histogram that is audited: a user counts for one row of one item."""
    budget = Budget(epsilon="0.5", delta="0.01")
    return source.histogram("item", budget=budget, items_per_user=1, count="rows", rows_per_item=1)


def table_of(rows: Rows) -> PrivateTable:
    """Return rows as a table that may be asked."""
    users, items = zip(*rows, strict=True)
    return table(pa.table({"user": users, "item": items}), user="user")


def output_of(release: Release, item: str) -> Output:
    """Return a release as an output: rows of label and count, or a ranking that ends in ⊥ if that was drawn."""
    rows: list[dict[str, Any]] = release.rows
    if all("count" in row for row in rows) and "rank" not in release.to_arrow().column_names:
        return tuple((row[item], row["count"]) for row in rows)
    return (*(row[item] for row in rows), *([] if release.complete else [BOTTOM]))
