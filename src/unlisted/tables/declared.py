"""`ul.counts(...)`: counts that another system already made, with the bounds that its owner declares for them.

Nothing can be enforced any more on counts that come from a search engine, a dashboard or another program. What one
user can have changed in them is a statement of whoever made them, and every price and threshold rests on it.
"""

from __future__ import annotations

from typing import TypedDict, Unpack

from unlisted.mechanisms.counts import BoundedCounts, Ties
from unlisted.privacy.numbers import whole
from unlisted.privacy.sensitivity import Adjacency, Sensitivity


class Declared(TypedDict, total=False):
    """What else is declared about counts.

    `fetch` is k̄ if these are only the k̄ + 1 largest counts. `minimum_count` is κ if smaller counts were left out
    (`HAVING n >= κ`). `ties` says whether equal counts at the cut were chosen by the order of their labels' bytes
    ("label") or in a way that is not known ("unknown"), as most systems do it.
    """

    fetch: int | None
    minimum_count: int
    ties: Ties
    adjacency: Adjacency


def declared_counts(
    labels: object,
    counts: object,
    *,
    items_per_user: int | None,
    count_per_item: int,
    **declared: Unpack[Declared],
) -> BoundedCounts:
    """Take counts as they are, under bounds that are declared.

    Args:
        labels: the items, all of one type: a list, an array, an Arrow array; several columns as a struct.
        counts: how many users or rows have each.
        items_per_user: the most labels to which one user has added; None if there is no bound.
        count_per_item: the most that one user has added to one count; 1 if users were counted.
        **declared: `fetch`, `minimum_count`, `ties`, `adjacency`; see `Declared`.
    """
    sensitivity = Sensitivity(
        None if items_per_user is None else whole("items_per_user", items_per_user),
        whole("count_per_item", count_per_item),
        declared.get("adjacency", "add_remove"),
    )
    fetch = declared.get("fetch")
    return BoundedCounts(
        labels,
        counts,
        sensitivity,
        fetched=None if fetch is None else whole("fetch", fetch),
        minimum_count=declared.get("minimum_count", 1),
        ties=declared.get("ties", "label"),
    )
