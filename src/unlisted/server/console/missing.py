"""Why a value that is in the data may not be in an answer. What was asked decides, not the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from unlisted.server.console.rendering import figure

_NOBODY_EXPOSED = "Rarer ones are left out, so that nobody is exposed by a value that only they have."


def why_missing(plan: Mapping[str, Any], *, complete: bool) -> Iterator[str]:
    """Yield the reasons, from the plan that a release keeps."""
    yield _what_it_needs(plan)
    if plan["question"] == "top" and not complete:
        nothing_more = (
            "no more values were shared by enough users."
            if plan["mechanism"] == "label_ranking"
            else "the next place would have gone to values that stay unnamed."
        )
        yield f"The ranking is shorter than asked for: {nothing_more}"
    if plan["mechanism"] == "find_then_count":
        yield (
            f"Each user helps at most {plan['items_looked_at']:,} values at a time, chosen at random, to be "
            "found. Found ones are counted over all their users; whoever has many of them counts for less in "
            "each, so counts can be lower than in the data."
        )
    elif plan["items_per_user"] is not None:
        yield _what_is_bounded(plan)
    if plan["rows_per_item"] is not None:
        yield f"Of each user, at most {plan['rows_per_item']:,} rows count for one value."
    yield f"Values of more than {plan['max_label_bytes']:,} bytes are not counted."


def _what_it_needs(plan: Mapping[str, Any]) -> str:
    """Say what a value needs to appear."""
    unit, needed, threshold = plan["count"], plan["users_needed"], figure(plan["threshold"])
    if plan["users_needed_above_cut"]:
        return (
            f"Only the {figure(plan['fetch'])} largest counts were looked at. Of those, one appears half of "
            f"the time if it is {needed['50']:,} {unit} above the first that was not, and 99 % of the time at "
            f"{needed['99']:,}."
        )
    alone = plan.get("users_needed_of_one_item")
    bound = plan.get("items_looked_at") or plan["items_per_user"]
    if plan["mechanism"] == "optimal_labels":
        return (
            f"A coin decides about each value. One with {needed['50']:,} {unit} appears half of the time, one "
            f"with {needed['99']:,} in 99 of 100 answers. {_NOBODY_EXPOSED}"
        )
    if alone is None or bound == 1:
        return (
            f"A value appears when its count is above {threshold} with its noise. One with {needed['50']:,} "
            f"{unit} appears half of the time, one with {needed['99']:,} in 99 of 100 answers. {_NOBODY_EXPOSED}"
        )
    return (
        "The only value of a user weighs 1, and each of n values 1/√n. A value appears when the weights of its "
        f"users are above {threshold} with their noise: half of the time with {needed['50']:,} users of {bound:,} "
        f"values each or with {alone['50']:,} of one, and in 99 of 100 answers with {needed['99']:,} or "
        f"{alone['99']:,}. {_NOBODY_EXPOSED}"
    )


def _what_is_bounded(plan: Mapping[str, Any]) -> str:
    """Say what the bound on the items of a user leaves out."""
    most = f"at most {plan['items_per_user']:,} values"
    if plan["mechanism"] == "label_ranking":
        return f"Each user helps {most}, chosen at random, to be found. Found ones are ranked by all their users."
    if plan["question"] == "labels":
        return f"Each user helps {most} at a time, chosen at random, to be found, and none of its others."
    return (
        f"Each user counts for {most}, chosen at random. Whoever has more is missing from some counts, so counts "
        "can be lower than in the data."
    )
