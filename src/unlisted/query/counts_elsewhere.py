"""Counts made in a system that only its owner can reach: the SQL to run there, and what came back of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal, get_args

from unlisted.counts.bounded_counts import Ties
from unlisted.errors import InvalidArgumentError
from unlisted.privacy.sensitivity import Adjacency
from unlisted.query.options import read_fetched, read_label_bytes, require_items
from unlisted.query.private_counts import PrivateCounts, counts
from unlisted.query.questions import Item
from unlisted.tables.bounding import fresh_secret
from unlisted.tables.count_query import LONGEST_LABEL, Count, CountQuery, item_names
from unlisted.tables.elsewhere.answers import read_answer
from unlisted.tables.table import source_name

CountedFor = Literal["histogram", "top", "top-histogram"]
DEFAULT_FETCH = 1000


def counting_sql(
    question: CountedFor,
    *,
    dialect: str,
    table: str,
    user: str,
    item: Item,
    items_per_user: int | None = None,
    count: Count = "users",
    rows_per_item: int | None = None,
    fetch: int | None = None,
    max_label_bytes: int = LONGEST_LABEL,
) -> str:
    """Write the statement that counts within bounds, for a system that `unlisted` cannot reach.

    Run it there once, export the whole answer, and bring it with `ul.read_counts`. The answer carries its bounds.

    Args:
        question: what the counts are for: "histogram" (all counts), "top" or "top-histogram" (the largest).
        dialect: the system's: bigquery, snowflake, databricks, redshift, trino, tsql, ...
        table: the table or view, as the system has its name, with up to two parts before it.
        user: the column that says whose row it is: text or whole numbers.
        item: the column whose values are counted, or several that together name an item. They become text.
        items_per_user: the most items that one user counts for; a histogram needs it.
        count: "users", or "rows".
        rows_per_item: with rows: the most rows of one user that one item counts.
        fetch: k̄ for the largest counts, 1000 unless said: k̄ + 1 of them are handed over.
        max_label_bytes: longer labels are not counted.

    Examples:
        >>> statement = ul.counting_sql("top", dialect="trino", table="shop.visits", user="user_id", item="page")
        >>> "LIMIT 1001" in statement
        True
    """
    from unlisted.tables.elsewhere.statement import counting_statement  # noqa: PLC0415 - brings sqlglot

    if question not in get_args(CountedFor):
        raise InvalidArgumentError("question", question, " or ".join(get_args(CountedFor)))
    if question == "histogram":
        require_items(items_per_user, "A histogram")
        if fetch is not None:
            raise InvalidArgumentError("fetch", fetch, "left out for a histogram", "It needs all counts.")
    asked = CountQuery(
        item_names(item),
        count=count,
        rows_per_item=rows_per_item,
        items_per_user=items_per_user,
        max_label_bytes=read_label_bytes("max_label_bytes", max_label_bytes),
    )
    return counting_statement(
        asked,
        kind=question,
        fetch=None if question == "histogram" else read_fetched("fetch", fetch or DEFAULT_FETCH),
        dialect=dialect,
        table=table,
        user=user,
        secret=fresh_secret(),
    )


def read_counts(
    source: str | os.PathLike[str] | Mapping[str, Any] | list[Any],
    *,
    items_per_user: int | None = None,
    item: Item | None = None,
    count_per_item: int | None = None,
    fetch: int | None = None,
    minimum_count: int | None = None,
    ties: Ties | None = None,
    adjacency: Adjacency = "add_remove",
    user: str | None = None,
    count_column: str | None = None,
) -> PrivateCounts:
    """Read counts that another system made, from a file or from the JSON answer of a search engine.

    The answer to a statement of `ul.counting_sql` says itself within which bounds it was counted. Of any other
    counts, *declare* what is known, as with `ul.counts`.

    Args:
        source: a CSV, JSON or Parquet file; or the parsed JSON answer of Elasticsearch, OpenSearch or Pinot.
        items_per_user: the most labels one user contributed to; None if there was no bound.
        item: the column of labels, or several; of a search engine, what to call it in answers.
        count_per_item: the most one user adds to one count; 1 unless said.
        fetch: k̄ if these are the k̄ + 1 largest counts, as the answer of a search engine always is.
        minimum_count: κ if a `HAVING n >= κ` cut smaller ones off.
        ties: "label" if equal counts at the cut were taken in the order of their labels' bytes, else "unknown".
        adjacency: "add_remove" protects a user's presence, "replace" also what a present user holds.
        user: what a ledger calls whose counts these are; needed only where a data set has it fixed.
        count_column: the column of counts, where its name does not say so.

    Examples:
        >>> buckets = [{"key": "soup", "doc_count": 900}, {"key": "tea", "doc_count": 800}]
        >>> found = {"dish": {"doc_count_error_upper_bound": 0, "buckets": buckets}}
        >>> answer = {"timed_out": False, "_shards": {"failed": 0}, "aggregations": found}
        >>> counts = ul.read_counts(answer, items_per_user=1, fetch=99)
        >>> counts.top(k=1, budget=ul.Budget(epsilon=1, delta=1e-8)).run().rows
        [{'dish': 'soup', 'rank': 1}]
    """
    names = None if item is None else item_names(item)
    read = read_answer(source, names, count_column)
    place = source_name(source) if isinstance(source, str | os.PathLike) else "declared counts"
    told: dict[str, Any] = {"items_per_user": items_per_user, "count_per_item": count_per_item, "fetch": fetch}
    told |= {"minimum_count": minimum_count, "ties": ties, "user": user}
    if (header := read.header) is not None:
        header.agreed(**told, item=names)
        told = {**header.bounds(), "user": header.user}
    elif read.is_cut:
        _require_cut(fetch, ties)
    made = counts(
        read.labels,
        read.counts,
        item=list(read.items),
        adjacency=adjacency,
        source=place,
        **{"items_per_user": None, **{name: value for name, value in told.items() if value is not None}},
    )
    made.meant_for = None if header is None else header.question
    return made


def _require_cut(fetch: int | None, ties: Ties | None) -> None:
    """Refuse an answer of which nobody says where it was cut, or claims to know how."""
    if fetch is None:
        hint = "A search engine hands over the largest counts only: fetch is the request's size (or LIMIT) less 1."
        raise InvalidArgumentError("fetch", None, "given", hint)
    if ties == "label":
        hint = "It takes equal counts at the cut in an order of its own."
        raise InvalidArgumentError("ties", ties, "'unknown' for the answer of a search engine", hint)
