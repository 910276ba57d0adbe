"""What was released beside the items: out of how many, shares in per cent, and everything else."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from unlisted.errors import InvalidArgumentError
from unlisted.release.release import Release

ROW = "row"
"""The column of a file that says what a row is, where not all of them are items."""

EVERYTHING_ELSE = "everything else"

_SAID = {
    "users": "Users with any value",
    "user_values": "Values of all users added up, at most {} of each user",
    "other": "Everything else: users with a value that is not shown",
    "other_values": "Everything else: different values that are not shown, at most {} of each user counted",
}


def totals_of(release: Release) -> dict[str, dict[str, int]]:
    """Return the totals that were released with the items, by name."""
    totals = release.plan.get("released_too", {}).get("totals", {})
    return {name: dict(total) for name, total in totals.items()}


def totals_as_lines(release: Release) -> list[str]:
    """Say the totals, a line each."""
    most = release.plan.get("released_too", {}).get("values_of_a_user")
    return [
        f"{_SAID[name].format(most)}: {one['count']:,} (95 % of the time {one['low']:,} to {one['high']:,})."
        for name, one in totals_of(release).items()
    ]


def has_shares(release: Release) -> bool:
    """Return whether the number of users was released, of which each count is a part."""
    return "for_shares" in release.plan.get("released_too", {})


def shares_of(release: Release) -> list[dict[str, Any]]:
    """Return items with their part of all users in per cent, between ends that hold for each 95 % of the time."""
    if not has_shares(release):
        hint = "Ask with with_totals=True: a share needs the number of users, which was not released."
        raise InvalidArgumentError("release", "without totals", "a histogram with totals", hint)
    ends = release.plan["released_too"]["for_shares"]
    users, within = totals_of(release)["users"]["count"], ends["count_within"]
    columns = [name for name in release.table.column_names if name not in ("count", "low", "high")]
    return [
        {
            **{name: row[name] for name in columns},
            "percent": _percent(row["count"], users),
            "low": _percent(row["count"] - within, ends["users_high"]),
            "high": _percent(row["count"] + within, ends["users_low"]),
        }
        for row in release.rows
    ]


def share_texts(release: Release, most: int | None = None) -> list[str]:
    """Return the shares of the first rows as people read them, such as "12.3 % (11.9 to 12.8)"."""
    return [f"{one['percent']:.3g} % ({one['low']:.3g} to {one['high']:.3g})" for one in shares_of(release)[:most]]


def _percent(part: int, whole: int) -> float:
    """Return a part in per cent, between 0 and 100; of nobody it may be all."""
    return min(100.0, max(0, part) * 100 / whole) if whole > 0 else 100.0


def with_totals(release: Release) -> pa.Table:
    """Return the rows as a file has them: shares, totals last, and a column that says which rows are items."""
    totals, table = totals_of(release), release.table
    if not totals:
        return table
    rows = [{**dict.fromkeys(table.column_names), **total} for total in totals.values()]
    more = pa.Table.from_pylist(rows, schema=table.schema)
    whole = pa.concat_tables([table, more])
    if has_shares(release):
        shares = shares_of(release)
        for name, end in (("percent", "percent"), ("percent_low", "low"), ("percent_high", "high")):
            column = pa.array([one[end] for one in shares] + [None] * len(totals), pa.float64())
            whole = whole.append_column(_free(name, whole), column)
    kinds = pa.array(["item"] * len(table) + list(totals), pa.string())
    return whole.append_column(_free(ROW, whole), kinds)


def _free(name: str, table: pa.Table) -> str:
    """Return a name that no column has."""
    while name in table.column_names:
        name += "_"
    return name
