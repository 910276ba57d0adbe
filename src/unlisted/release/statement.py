"""A release explained to a person who has never heard of δ: a manager, or a data protection officer.

Half a page of plain English with the release's own numbers. Every sentence follows from the guarantee, from the plan
or from what was released; none says more than the mechanism promises.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from textwrap import fill
from typing import Any

from unlisted.release.release import Release, escaped, short_up, shown_up

_WIDTH = 88


def statement_of(release: Release) -> str:
    """Return a statement about a release, as plain text under five headings."""
    paragraphs = {
        "What this is": _what(release),
        "Who is protected, and how": _who(release.plan),
        "How well": _how_well(release),
        "What may be missing": _missing(release),
        "What not to conclude": _not_to_conclude(release),
    }
    return "\n\n".join(f"{heading}\n{fill(text, _WIDTH)}" for heading, text in paragraphs.items()) + "\n"


def _what(release: Release) -> str:
    plan, rows = release.plan, len(release)
    values = f"{rows:,} {'value' if rows == 1 else 'values'}"
    shown = {
        "count": f"{values}, each with about how many {_counted(plan)} it has",
        "rank": f"the {values} that came out as the most common, in order",
    }
    names = [name for name in shown if name in release.table.column_names]
    told = shown[names[0]] if names else f"{values} that enough {_people(plan)} share, without their counts"
    return (
        f"A differentially private release of {_columns(plan)}: {told}. It was made on {release.time:%d %B %Y}. Nobody "
        f"needed a list of the values beforehand. {_only(plan)}"
    ).strip()


def _who(plan: Mapping[str, Any]) -> str:
    unit = f"column {_name(plan['user'])}" if plan.get("user") else "unit that was counted"
    if plan.get("unit") == "event":
        return (
            f"One event is protected: what one value of the {unit} contributed in one round. Somebody who takes part "
            "in many rounds is protected less well."
        )
    bound = plan.get("items_per_user")
    limit = (
        f" So that nobody weighs too much, each counted for at most {bound:,} {'value' if bound == 1 else 'values'}; "
        "of those who have more, a random choice was counted. They are protected exactly as well as everybody else."
        if bound
        else " That holds for those with very many rows, too."
    )
    return (
        f"Everybody who stands behind a value of the {unit} is protected, with all rows of theirs together: whether "
        f"they are in the data at all, and what their rows say.{limit} Against anybody who reads this release, "
        "whatever else they know."
    )


def _how_well(release: Release) -> str:
    epsilon = release.guarantee.epsilon(release.at_delta)
    factor = _short(math.exp(shown_up(epsilon)))
    return (
        f"The guarantee is ε = {short_up(epsilon, 4)} and δ = {short_up(release.at_delta, 3)}. In words: take anything "
        "that somebody might conclude from this release about one of these people. It is at most "
        f"{factor} times as likely to be concluded if that person's rows are in the data as if they are not, and "
        f"the other way round, apart from a probability of at most {_one_in(release.at_delta)}. This holds for "
        "this release by itself. If more is released about the same people, the guarantees add up."
    )


def _missing(release: Release) -> str:
    plan = release.plan
    needed = plan.get("users_needed", {})
    rare = (
        "A value appears only if enough of those protected share it, because a rare value can point to a person. "
    )
    if "50" not in needed:
        return rare + _SILENT
    above = " more than the most common value that was not looked at" if plan.get("users_needed_above_cut") else ""
    looked = plan.get("items_looked_at") or plan.get("items_per_user")
    of = f" with {looked:,} values each" if plan.get("users_needed_of_one_item") and looked else ""
    chances = f"Shared by {needed['50']:,}{above}{of}, it has an even chance of appearing; by {needed['99']:,}, 99 %. "
    return rare + chances + _SILENT


_SILENT = "If a value is missing, this release does not say whether it is rare or was never there."


def _not_to_conclude(release: Release) -> str:
    plan, names = release.plan, release.table.column_names
    told = []
    if "count" in names:
        told.append(f"Counts are not exact: {release.reading}.")
        told.append("Two counts whose intervals overlap may be the other way round.")
        if plan.get("items_per_user"):
            told.append("Bounding makes counts lower than the true ones, more so where people have many values.")
        told.append("Counts do not add up to the number of people: one person can be in several.")
    if "rank" in names:
        told.append("Neighbours in the order may be the other way round in truth.")
        told.append("How far apart they are was not released." if "count" not in names else "")
    if names and "count" not in names and "rank" not in names:
        told.append("The order says nothing about how common a value is.")
    told.append("That somebody shares a value shown here follows from nothing in this release.")
    return " ".join(one for one in told if one)


def _counted(plan: Mapping[str, Any]) -> str:
    return {"users": _people(plan), "rows": "rows"}.get(plan.get("count", "users"), "events")


def _people(plan: Mapping[str, Any]) -> str:
    return "events" if plan.get("unit") == "event" else "users"


def _columns(plan: Mapping[str, Any]) -> str:
    names = [_name(one) for one in plan.get("items") or ("item",)]
    return f"the column {names[0]}" if len(names) == 1 else f"the columns {' and '.join(names)}"


def _only(plan: Mapping[str, Any]) -> str:
    return f"Only rows with {escaped(plan['where'])} were looked at." if plan.get("where") else ""


def _name(column: object) -> str:
    return f"“{escaped(str(column))}”"


def _short(number: float) -> str:
    """Write a factor that is not below the true one, with few digits."""
    digits = max(0, 2 - math.floor(math.log10(number))) if number > 0 else 0
    return f"{math.ceil(number * 10**digits) / 10**digits:,.{digits}f}" if number < 1e12 else f"{number * 1.001:.2e}"


def _one_in(delta: Fraction) -> str:
    """Say a small probability as a chance that is not smaller."""
    return f"one in {math.floor(1 / delta):,}"
