"""What is asked of a table: which items, counted how, bounded how. Checked before any data is touched.

Also the names under which statements carry, group, order and release the columns of an item.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.numbers import whole
from unlisted.privacy.sensitivity import Adjacency, Sensitivity
from unlisted.tables.amounts import Amounts
from unlisted.tables.column_types import ColumnType, told
from unlisted.tables.engines.engine import Rows
from unlisted.tables.groups import Groups
from unlisted.tables.items import answer_name, item_columns, rows_of

Count = Literal["users", "rows"]

TAKEN_NAMES = ("count", "rank", "low", "high")
"""Columns that every answer has beside its items."""

LONGEST_LABEL = 1024
"""Bytes of a label, unless the question says otherwise. A longer text is rather a message than a label."""

MOST_LABEL_BYTES = 65_536
"""The most that a question may say. With labels of any length, one row of a gigabyte could fail a question."""


_WAYS_OUT = {
    ColumnType.OTHER: "Make it text, a number, a date or a timestamp in the source, for example in a view.",
    ColumnType.INSTANT: 'Say where its days begin: timezone="Europe/Berlin" or --timezone Europe/Berlin.',
}


@dataclass(frozen=True)
class CountQuery:
    """Count the items of each user, within bounds that one user cannot exceed.

    `items` are the columns that together name an item; () asks about users alone. `count` is "users" (how many
    have the item) or "rows" (how many rows have it, of each user at most `rows_per_item`). `items_per_user` is the
    most distinct items one user counts for; None leaves them unbounded, which only questions about the largest
    counts can bear. `where` is a condition on rows. Labels of more than `max_label_bytes` bytes are not counted.
    `adjacency` says whether neighbours differ by one user more or by one user exchanged. With `groups` the first
    column names a group, and the bound on items is for each group that a user is in. `amounts` says what is summed
    up.
    """

    items: tuple[str, ...]
    count: Count = "users"
    rows_per_item: int | None = None
    items_per_user: int | None = None
    where: str | None = None
    max_label_bytes: int = LONGEST_LABEL
    adjacency: Adjacency = "add_remove"
    groups: Groups | None = None
    amounts: Amounts | None = None

    def __post_init__(self) -> None:
        # () is about users alone. Whether anything else is empty is not asked: it may be a column of data.
        if not (isinstance(self.items, tuple) and not self.items):
            object.__setattr__(self, "items", item_names(self.items))
        if self.count not in ("users", "rows"):
            raise InvalidArgumentError("count", self.count, "'users' or 'rows'")
        if self.count == "rows":
            hint = "It is the most rows of one user that one item counts."
            if self.rows_per_item is None:
                raise InvalidArgumentError("rows_per_item", None, "a whole number, 1 or above", hint)
            object.__setattr__(self, "rows_per_item", whole("rows_per_item", self.rows_per_item))
        elif self.rows_per_item is not None:
            allowed, hint = "left out when users are counted", 'Say count="rows" to count rows.'
            raise InvalidArgumentError("rows_per_item", self.rows_per_item, allowed, hint)
        if self.items_per_user is not None:
            object.__setattr__(self, "items_per_user", whole("items_per_user", self.items_per_user))
        object.__setattr__(self, "max_label_bytes", whole("max_label_bytes", self.max_label_bytes))
        if self.where is not None:
            # A preview, and a stream before its first rows, know no columns: what can be told without is told now.
            # The parser is imported for those who need it only: that takes longer than a small question.
            from unlisted.tables.predicate.grammar import check_syntax  # noqa: PLC0415

            check_syntax(self.where)

    @property
    def sensitivity(self) -> Sensitivity:
        """The most that one user can change in the counts that answer this question."""
        items = self.items_per_user
        if items is not None and self.groups is not None:
            items *= self.groups.per_user
        return Sensitivity(items, self.rows_per_item or 1, self.adjacency)

    def rows(self, user: str, columns: Mapping[str, ColumnType]) -> Rows:
        """Check the question against the columns there are, and say which part of the source it reads."""
        items = item_columns(self.items, columns)
        for item, name in zip(items, self.items, strict=True):
            if item.source == user:
                hint = "Every user would be an item of its own, with a count of 1."
                raise InvalidArgumentError("item", name, "a column other than the user's", hint)
            if not item.kind.is_plain:
                raise InvalidArgumentError("item", name, "a column of plain values", _WAYS_OUT[item.kind])
        where = None
        condition = self._condition(columns)
        if condition is not None:
            from unlisted.tables.predicate.grammar import parse_predicate  # noqa: PLC0415 - a parser, as above

            where = parse_predicate(condition, columns)
        summed: tuple[str, ...] = ()
        if self.amounts is not None:
            require_column("sum", self.amounts.column, columns)
            self.amounts.check(columns)
            summed = (self.amounts.column,)
        rows = rows_of(items, user, where, summed)
        _refuse_lookalikes(rows)
        return rows

    def _condition(self, columns: Mapping[str, ColumnType]) -> str | None:
        """Return the condition on rows: the analyst's, and that of listed groups."""
        listed = None if self.groups is None else self.groups.condition(self.items[0], columns)
        if listed is None or self.where is None:
            return listed or self.where
        from unlisted.tables.predicate.grammar import parse_predicate  # noqa: PLC0415 - a parser, as above

        # By itself first: what is wrong with it must be told in its own words, and may not reach beyond it.
        parse_predicate(self.where, columns)
        return f"({self.where}\n) AND {listed}"


def require_column(argument: str, name: object, columns: Mapping[str, ColumnType]) -> None:
    """Refuse a name that is no column, and say where to find which there are."""
    if not isinstance(name, str) or name not in columns:
        raise InvalidArgumentError(argument, name, "a column of the source", told(columns))


def _refuse_lookalikes(rows: Rows) -> None:
    """Refuse columns that some engines cannot tell apart: they would read the wrong one without a word."""
    names = sorted(rows.read)
    if len({name.casefold() for name in names}) != len(names):
        hint = "Some engines treat them as the same name. Rename one in the source, for example in a view."
        raise InvalidArgumentError("columns", ", ".join(names), "names that differ in more than case", hint)


def item_names(items: object) -> tuple[str, ...]:
    """Read one name or several."""
    if isinstance(items, str):
        items = (items,)
    # Nothing else that can be gone through: a column of a data frame would be taken for names, and shown.
    names = tuple(items) if isinstance(items, list | tuple) else ()
    if not names or not all(isinstance(name, str) and name for name in names):
        raise InvalidArgumentError("item", items, "the name of a column, or a list of names")
    called = [answer_name(name) for name in names]
    if len(set(called)) != len(called):
        raise InvalidArgumentError("item", items, "a list of different columns")
    for name in called:
        if name in TAKEN_NAMES:
            hint = (
                "Answers have a column of that name themselves. Say what it is to be called there: "
                f"'{name} AS item_{name}'."
            )
            raise InvalidArgumentError("item", name, f"a name other than {', '.join(TAKEN_NAMES)}", hint)
    return names
