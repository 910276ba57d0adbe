"""The answers of search engines and of Pinot, taken as they come: the most common terms with their counts.

They are counts of documents or rows, cut off after so many. How equal counts were cut off, nobody tells. These
systems may leave out shards, servers and groups, and then count too little without an error. What one user can
change in such numbers has no bound, so every sign of it is refused, and counts that are exact are said to be.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from unlisted.errors import InvalidArgumentError, InvalidCountsError

__all__ = ["counts_in"]

_ESTIMATES = re.compile(r"hll|theta|cpc|ull|tuple|approx|percentile|smart", re.IGNORECASE)
"""What is in the names of Pinot's functions that estimate."""

Listed = tuple[str, list[Any], list[Any]]
"""The name of what was counted, labels, and counts."""


def counts_in(answer: Mapping[str, Any]) -> Listed:
    """Return what a JSON answer of Elasticsearch, OpenSearch or Pinot lists."""
    if "resultTable" in answer or "exceptions" in answer:
        return _of_pinot(answer)
    for name in ("aggregations", "aggs"):
        if isinstance(answer.get(name), Mapping):
            return _of_terms(answer, answer[name])
    allowed = "rows of labels and counts, or the whole JSON answer of Elasticsearch, OpenSearch or Pinot"
    raise InvalidArgumentError("source", "a JSON object", allowed, "Of a search engine, it has `aggregations`.")


def _of_terms(answer: Mapping[str, Any], aggregations: Mapping[str, Any]) -> Listed:
    shards, clusters = _part(answer, "_shards"), _part(answer, "_clusters")
    incomplete = (
        answer.get("timed_out") is not False
        or answer.get("terminated_early")
        or shards.get("failed") != 0
        or any(clusters.get(name) for name in ("skipped", "partial", "failed"))
    )
    if incomplete:
        raise InvalidCountsError(
            "The search did not answer from all shards, or does not say that it did (timed_out, _shards.failed, "
            "terminated_early, _clusters). Ask again, and bring the whole answer."
        )
    if len(aggregations) != 1:
        hint = "Send a request with one terms aggregation."
        raise InvalidArgumentError("source", f"{len(aggregations)} aggregations", "an answer with one", hint)
    ((name, found),) = aggregations.items()
    buckets = found.get("buckets") if isinstance(found, Mapping) else None
    if not isinstance(buckets, list) or "doc_count_error_upper_bound" not in found:
        hint = "Only a terms aggregation says how far off its counts may be (doc_count_error_upper_bound)."
        raise InvalidArgumentError("source", name, "a terms aggregation", hint)
    errors = [
        found,
        *(one for one in buckets if isinstance(one, Mapping) and "doc_count_error_upper_bound" in one),
    ]
    if any(one["doc_count_error_upper_bound"] != 0 for one in errors):
        raise InvalidCountsError(
            "doc_count_error_upper_bound is not 0: the shards named too few terms, so counts may be too small and "
            "one person may change several of them by any number. Raise shard_size until it is 0, or keep the "
            "index in one shard."
        )
    if not all(isinstance(one, Mapping) and "doc_count" in one and "key" in one for one in buckets):
        raise InvalidCountsError("A bucket has no key, or no doc_count.")
    # Dates and truth values have a text beside the number that they are kept as.
    return name, [one.get("key_as_string", one["key"]) for one in buckets], [one["doc_count"] for one in buckets]


def _of_pinot(answer: Mapping[str, Any]) -> Listed:
    asked, responded = answer.get("numServersQueried"), answer.get("numServersResponded")
    # Older versions do not tell whether they trimmed groups, and by default they do.
    cut = ("numGroupsLimitReached", "groupsTrimmed")
    is_whole = asked is not None and asked == responded and all(answer.get(name) is False for name in cut)
    if not is_whole or answer.get("exceptions") or answer.get("partialResult"):
        raise InvalidCountsError(
            "Pinot did not answer from all servers and groups, or does not say that it did (exceptions, "
            f"partialResult, numServersResponded, {', '.join(cut)}). Raise numGroupsLimit and "
            "minServerGroupTrimSize, and ask again."
        )
    table = _part(answer, "resultTable")
    names, rows = _part(table, "dataSchema").get("columnNames"), table.get("rows")
    if not isinstance(names, list) or len(names) != 2 or not isinstance(rows, list):
        hint = "Ask SELECT label, COUNT(*) … GROUP BY label ORDER BY COUNT(*) DESC LIMIT …"
        raise InvalidArgumentError("source", "the answer of Pinot", "one of two columns: label and count", hint)
    if _ESTIMATES.search(str(names[1])):
        hint = (
            "One person may change an estimate by more than one. Use COUNT(*), or DISTINCTCOUNT, which is exact."
        )
        raise InvalidArgumentError("source", names[1], "an exact count", hint)
    if not all(isinstance(row, list) and len(row) == 2 for row in rows):
        raise InvalidCountsError("A row of Pinot's answer is no pair of label and count.")
    return str(names[0]), [row[0] for row in rows], [row[1] for row in rows]


def _part(answer: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = answer.get(name)
    return found if isinstance(found, Mapping) else {}
