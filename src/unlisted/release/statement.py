"""A release explained to a person who has never heard of δ: a manager, or a data protection officer.

Half a page of plain English with the release's own numbers. Every sentence follows from the guarantee, from the
plan or from what was released; none says more than the mechanism promises. Also why a value is not in an
answer: what it would have needed, by the plan alone, and that nobody may say more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from textwrap import fill
from typing import Any

from unlisted.errors import InvalidArgumentError
from unlisted.release.release import Release, escaped, printable, short_up, shown_up

_WIDTH = 88
_NOT_SAID = (
    "Whether it is rarer than that or not there at all, the answer does not say, and nobody can tell from it."
)


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
    if release.is_total:
        what = "different values" if plan["question"] == "distinct" else "users"
        of = f" in {_columns(plan)}" if plan.get("items") else ""
        made = f"It was made on {release.time:%d %B %Y}. {_only(plan)}"
        return f"A differentially private release of one number: how many {what} there are{of}. {made}".strip()
    values = f"{rows:,} {'value' if rows == 1 else 'values'}"
    shown = {
        "count": f"{values}, each with about how many {_counted(plan)} it has{_and_sums(plan)}",
        "rank": f"the {values} that came out as the most common, in order",
    }
    names = [name for name in shown if name in release.table.column_names]
    told = shown[names[0]] if names else f"{values} that enough {_people(plan)} share, without their counts"
    return (
        f"A differentially private release of {_columns(plan)}: {told}.{_totals(release)} "
        f"It was made on {release.time:%d %B %Y}. "
        f"Nobody needed a list of the values beforehand. {_only(plan)}"
    ).strip()


def _and_sums(plan: Mapping[str, Any]) -> str:
    return f" and about how much of {_name(plan['sum'])} they have" if plan.get("sum") else ""


def _totals(release: Release) -> str:
    """Say which totals stand beside the values, and what they are not."""
    totals, told = release.totals, ""
    if "users" in totals:
        told += f" Beside them it says out of how many users: about {totals['users']['count']:,}."
    if "other" in totals:
        other, values = totals["other"], totals["other_values"]
        told += (
            f" Everything else is one row: about {other['count']:,} users have a value that is not shown, and "
            f"about {values['count']:,} different values stand behind it, of at most "
            f"{release.plan['released_too']['values_of_a_user']:,} of each user."
        )
    return told


def _who(plan: Mapping[str, Any]) -> str:
    unit = f"column {_name(plan['user'])}" if plan.get("user") else "unit that was counted"
    if plan.get("unit") == "event":
        return (
            f"One event is protected: what one value of the {unit} contributed in one round. Somebody who takes "
            "part in many rounds is protected less well."
        )
    return (
        f"Everybody who stands behind a value of the {unit} is protected, with all rows of theirs together: "
        f"whether they are in the data at all, and what their rows say.{_bounded(plan)} The protection is against "
        "anybody who reads this release, whatever else they know."
    )


def _bounded(plan: Mapping[str, Any]) -> str:
    """Say how much of one person was counted, and who saw to it."""
    bound = plan.get("items_per_user")
    if not bound:
        return " That holds for those with very many rows, too."
    values = f"{bound:,} {'value' if bound == 1 else 'values'}"
    if plan.get("rows_per_item"):
        values += f" and {plan['rows_per_item']:,} rows of each"
    if not plan.get("user"):
        return (
            f" The counts came from another system, which was said to count each for at most {values}: the "
            "guarantee rests on that."
        )
    return (
        f" So that nobody weighs too much, each counted for at most {values}; of those who have more, a random "
        "choice was counted. They are protected exactly as well as everybody else."
    )


def _how_well(release: Release) -> str:
    epsilon = release.guarantee.epsilon(release.at_delta)
    factor = _short(math.exp(shown_up(epsilon)))
    compared = {
        "add_remove": "if that person's rows are in the data as if they are not",
        "replace": "if that person's rows are what they are as if they were anybody else's",
    }[release.plan.get("adjacency") or "add_remove"]
    return (
        f"The guarantee is ε = {short_up(epsilon, 4)} and δ = {short_up(release.at_delta, 3)}. In words: take "
        "anything that somebody might conclude from this release about one of these people. It is at most "
        f"{factor} times as likely to be concluded {compared}, and the other way round, apart from a probability "
        f"of at most {_one_in(release.at_delta)}. This holds for this release by itself. If more is released "
        "about the same people, the guarantees add up."
    )


def _missing(release: Release) -> str:
    plan = release.plan
    if release.is_total:
        return "Nothing is held back: the number has noise, and comes whatever is in the data."
    needed = plan.get("users_needed", {})
    rare = (
        "Apart from that small probability, a value appears only if enough of those protected share it: a rare "
        "value can point to a person. "
    )
    unread = _UNREAD if plan.get("user") else ""
    if "50" not in needed:
        return rare + unread + _SILENT
    above = " more than the most common value that was not looked at" if plan.get("users_needed_above_cut") else ""
    looked = plan.get("items_looked_at") or plan.get("items_per_user")
    of = f" with {looked:,} values each" if plan.get("users_needed_of_one_item") and looked else ""
    counted = f"With {needed['50']:,} rows" if plan.get("count") == "rows" else f"Shared by {needed['50']:,} users"
    later = f"with {needed['99']:,}" if plan.get("count") == "rows" else f"by {needed['99']:,}"
    chances = f"{counted}{above}{of}, it has an even chance of appearing; {later}, 99 %. "
    return rare + chances + unread + _SILENT


_UNREAD = "Rows that name nobody or no value, or that could not be read, were left out. "
_SILENT = "If a value is missing, this release does not say whether it is rare or was never there."


def _not_to_conclude(release: Release) -> str:
    plan, names = release.plan, release.table.column_names
    told = []
    if release.is_total:
        told.append(f"The number is not exact: {release.reading}.")
        if plan.get("items_per_user"):
            told.append("Bounding makes it lower than the true one, where values are only held by few.")
    elif "count" in names:
        told.append(f"Counts are not exact: {release.reading}.")
        told.append("Two counts whose intervals overlap may be the other way round.")
        if plan.get("items_per_user"):
            told.append("Bounding can make counts lower than they are, more so where people have many values.")
        if plan.get("sum"):
            told.append(
                f"Sums of {_name(plan['sum'])} leave out what one person has of a value beyond the bounds, so "
                "they can be lower than in the data."
            )
        told.append("Counts do not add up to the number of people: one person can be in several.")
        if "other" in release.totals:
            told.append("Users behind everything else may have values that are shown, too.")
    if "rank" in names:
        told.append("Neighbours in the order may be the other way round in truth.")
        told.append("How far apart they are was not released." if "count" not in names else "")
    if names and "count" not in names and "rank" not in names:
        told.append("The order says nothing about how common a value is.")
    told.append(
        "That somebody is among those counted follows from nothing in this release."
        if release.is_total
        else "That somebody shares a value shown here follows from nothing in this release."
    )
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
    return (
        f"{math.ceil(number * 10**digits) / 10**digits:,.{digits}f}" if number < 1e12 else f"{number * 1.001:.2e}"
    )


def _one_in(delta: Fraction) -> str:
    """Say a small probability as a chance that is not smaller."""
    return f"one in {math.floor(1 / delta):,}"


def why_missing(release: Release, value: Any) -> str:
    """Return why a value is not among the rows of a release, or that it is; no data is looked at.

    A value is that of the item column; of several, a list or a tuple of their values, or a mapping.
    """
    items = release.item_names
    if not items:
        hint = "Ask for a histogram to see values."
        raise InvalidArgumentError(
            "value", value, "asked of an answer that has values; this one is a number", hint
        )
    wanted = _read(value, items)
    said = " · ".join(printable(one) for one in wanted)
    for row in release.rows:
        if [row[name] for name in items] == wanted:
            count = f", with a count of {row['count']:,}" if "count" in row else ""
            return f"{said} is in the answer{count}."
    return f"{said} was not released. {_needed(release.plan)} {_NOT_SAID}"


def _read(value: Any, items: Sequence[str]) -> list[Any]:
    if isinstance(value, Mapping):
        parts = [value.get(name) for name in items] if set(value) == set(items) else []
    else:
        parts = list(value) if isinstance(value, list | tuple) else [value]
    if len(parts) != len(items):
        raise InvalidArgumentError("value", value, f"a value for each of {', '.join(items)}")
    return parts


def _needed(plan: Mapping[str, Any]) -> str:
    """Say what a value needs to appear."""
    needed, alone = plan.get("users_needed") or {}, plan.get("users_needed_of_one_item")
    if "50" not in needed:
        return "A value appears only where enough of those protected share it."
    unit = "rows" if plan.get("count") == "rows" else "events" if plan.get("unit") == "event" else "users"
    beyond = " more than the first value that was not looked at" if plan.get("users_needed_above_cut") else ""
    looked = plan.get("items_looked_at") or plan.get("items_per_user")
    of = f" of {looked:,} values each" if alone and looked and looked > 1 else ""
    few = f" (of users who have no other value, {alone['50']:,} and {alone['99']:,})" if of and alone else ""
    return (
        f"To have an even chance it would have needed about {needed['50']:,} {unit}{beyond}{of}, and for 99 % "
        f"{needed['99']:,}{few}."
    )
