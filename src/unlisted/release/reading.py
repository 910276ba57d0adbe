"""How the numbers of an answer are to be read: what its intervals are of, and what was not released at all."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from unlisted.release.release import STEADY, TOTALS, Release

_STEADY_COUNTS = "steady is computed from the counts that were released, and does not fall"
_GIVEN_RELEASED = "low to high is a 95 % interval for the bounded count, given that the item was released"
_FRESH_NOISE = "low to high is a 95 % interval for the bounded count"
_OF_ALL_USERS = "low to high is a 95 % interval for the count of all users, which no bound made smaller"
_OWN_NOISE = "counts have noise of their own, drawn after the order, and do not follow it everywhere"
_ONLY_ORDER = "only the order was released, no counts"
_NOTHING_FOUND = "no value was seen to have enough users"
_ONLY_LABELS = "only the values were released, no counts and no order"


def reading_of(release: Release) -> str:
    """Say how the numbers of a release are to be read."""
    names = release.table.column_names
    if "count" not in names:
        return _ONLY_ORDER if "rank" in names else _ONLY_LABELS
    if release.is_total:
        return f"low to high is a 95 % interval for the number of {TOTALS[release.plan['mechanism']]}"
    if "items_in_full" in release.plan.get("released_too", {}):
        if not len(release):
            return _NOTHING_FOUND
        told = _of_scaled(release.plan["released_too"])
        return told if release.plan.get("sum") is None else f"{told}; {_of_sums(release.plan)}"
    if "rank" not in names:
        return f"{_GIVEN_RELEASED}; {_STEADY_COUNTS}" if STEADY[-1] in names else _GIVEN_RELEASED
    # The counts of a ranking's winners get noise of their own, whatever the ranking's noise was. Where labels
    # were found first, the bound was for finding them.
    told = _OF_ALL_USERS if release.plan.get("mechanism") == "label_ranking" else _FRESH_NOISE
    contradicted = "by" not in release.plan and any(one < other for one, other in pairwise(release["count"]))
    return f"{told}; {_OWN_NOISE}" if contradicted else told


def _of_sums(plan: Mapping[str, Any]) -> str:
    """Say what sums and means are of."""
    low, high = plan["amounts_between"]
    return (
        f"sums and means are in units of {plan['sum_unit']}, of the same users with the same weights, each with "
        f"{low:,} to {high:,} units of a value; sum_low to sum_high and mean_low to mean_high are 95 % intervals"
    )


def _of_scaled(released_too: Mapping[str, Any]) -> str:
    """Say what intervals are of, where users with many of the values count for less in each."""
    in_full, of_any = f"{released_too['items_in_full']:,}", released_too["hidden_at_most"]
    average = f"about {released_too['hidden_on_average']:,}"
    # Answers from before the noise of this number was looked at do not have it.
    if "hidden_on_average_between" in released_too:
        least, most = released_too["hidden_on_average_between"]
        average = f"{least:,} to {most:,}" if least else f"at most {most:,}"
    hides = f"{average} users of a value on average, and hardly more than {of_any:,} of any"
    return (
        f"low to high is a 95 % interval for the scaled count: users who have more than {in_full} of these values "
        f"count for less in each, which hides {hides if of_any else 'hardly anybody'}"
    )
