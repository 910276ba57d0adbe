"""Per group: which groups are asked about, and at most G of each user.

A group is the first column of an item, so that a label is a group and what was counted in it. Listed groups are a
condition on rows, which looks at nothing but the row. Of a user with more than G groups, those are kept whose key,
the hash of a secret, the user and the group, is among the G smallest; ties drop, as with items (`bounding.py`).
Which are kept depends on nothing but the secret and the user's own rows, so one user is in at most G groups, and
changes nothing in which groups another is in.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.numbers import whole
from unlisted.tables.column_types import ColumnType
from unlisted.tables.items import item_columns, quoted_name

Group = str | int | bool | datetime.date

GROUP_TYPES = (ColumnType.TEXT, ColumnType.INTEGER, ColumnType.BOOLEAN, ColumnType.DATE)
"""What a column of groups may hold: values that are listed and told apart in one way only."""

MOST_LISTED = 1000
LONGEST_LIST = 8000
"""Listed groups are part of the statement. Those of a column with very many values are left out instead."""


@dataclass(frozen=True)
class Groups:
    """Which groups are asked about, and how many of them one user counts in; None lists none, and finds them."""

    listed: tuple[Group, ...] | None = None
    per_user: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "per_user", whole("groups_per_user", self.per_user))
        if self.listed is not None:
            object.__setattr__(self, "listed", _read(self.listed))

    def condition(self, column: str, columns: Mapping[str, ColumnType]) -> str | None:
        """Return the condition that a row is of a listed group, as an analyst would write it."""
        (group,) = item_columns((column,), columns)
        kind = group.kind
        if kind not in GROUP_TYPES:
            hint = "A group is a text, a whole number, a day, or true or false. Make it one in the source."
            raise InvalidArgumentError("by", column, "a column of groups", hint)
        if self.listed is None:
            return None
        written = ", ".join(_literal(one, kind) for one in self.listed)
        if len(written) > LONGEST_LIST:
            hint = "Leave groups out to ask about all that enough users share."
            raise InvalidArgumentError("groups", f"{len(written):,} characters", f"at most {LONGEST_LIST:,}", hint)
        value = quoted_name(group.source) if group.computed is None else f"({group.computed.text}\n)"
        return f"{value} IN ({written})"


def _read(listed: Any) -> tuple[Group, ...]:
    """Read a list of groups; whatever else can be gone through may be a column of somebody's data."""
    hint = 'For example: groups=["AT", "CH"]. Leave groups out to find them.'
    if not isinstance(listed, list | tuple) or not listed:
        raise InvalidArgumentError("groups", type(listed).__name__, "a list of at least one group", hint)
    if len(listed) > MOST_LISTED:
        few = "Leave groups out to ask about all that enough users share."
        raise InvalidArgumentError("groups", f"{len(listed):,} groups", f"at most {MOST_LISTED:,}", few)
    for one in listed:
        if not isinstance(one, str | int | datetime.date) or isinstance(one, datetime.datetime):
            raise InvalidArgumentError("groups", one, "texts, whole numbers, days, or True and False", hint)
    if len({(type(one).__name__, one) for one in listed}) != len(listed):
        raise InvalidArgumentError("groups", list(listed), "a list of different groups")
    return tuple(listed)


def _literal(group: Group, kind: ColumnType) -> str:
    """Write a group as the predicate's literal of its column; from a shell all of them come as texts."""
    text = str(group)
    fits = {
        ColumnType.TEXT: isinstance(group, str),
        ColumnType.INTEGER: not isinstance(group, bool) and _is_whole(text),
        ColumnType.BOOLEAN: isinstance(group, bool | str) and text.lower() in ("true", "false"),
        ColumnType.DATE: _is_day(text),
    }[kind]
    if not fits:
        raise InvalidArgumentError("groups", group, f"values of a column that holds {kind.value}")
    if kind in (ColumnType.INTEGER, ColumnType.BOOLEAN):
        return text.upper()
    return "'" + text.replace("'", "''") + "'"


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isascii() and text.removeprefix("-").isdecimal() and len(text) <= len(str(2**62))


def _is_day(text: str) -> bool:
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
