"""What is asked of a table: which items, counted how, bounded how. Checked before any data is touched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.numbers import whole
from unlisted.privacy.sensitivity import Adjacency, Sensitivity
from unlisted.tables.column_types import ColumnType, told
from unlisted.tables.engines.engine import Rows

Count = Literal["users", "rows"]

TAKEN_NAMES = ("count", "rank", "low", "high")
"""Columns that every answer has beside its items."""

LONGEST_LABEL = 1024
"""Bytes of a label, unless the question says otherwise. A longer text is rather a message than a label."""

MOST_LABEL_BYTES = 65_536
"""The most that a question may say. With labels of any length, one row of a gigabyte could fail a question."""


@dataclass(frozen=True)
class CountQuery:
    """Count the items of each user, within bounds that one user cannot exceed.

    `items` are the columns that together name an item. `count` is "users" (how many have the item) or "rows" (how
    many rows have it, of each user at most `rows_per_item`). `items_per_user` is the most distinct items one user
    counts for; None leaves them unbounded, which only questions about the largest counts can bear. `where` is a
    condition on rows. Labels of more than `max_label_bytes` bytes are not counted. `adjacency` says whether
    neighbours differ by one user more or by one user exchanged.
    """

    items: tuple[str, ...]
    count: Count = "users"
    rows_per_item: int | None = None
    items_per_user: int | None = None
    where: str | None = None
    max_label_bytes: int = LONGEST_LABEL
    adjacency: Adjacency = "add_remove"

    def __post_init__(self) -> None:
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
        return Sensitivity(self.items_per_user, self.rows_per_item or 1, self.adjacency)

    def rows(self, user: str, columns: Mapping[str, ColumnType]) -> Rows:
        """Check the question against the columns there are, and say which part of the source it reads."""
        for name in self.items:
            require_column("item", name, columns)
            if name == user:
                hint = "Every user would be an item of its own, with a count of 1."
                raise InvalidArgumentError("item", name, "another column than the user's", hint)
            if columns[name] is ColumnType.OTHER:
                hint = "Make it text, a number, a date or a timestamp in the source, for example in a view."
                raise InvalidArgumentError("item", name, "a column of plain values", hint)
        where = None
        if self.where is not None:
            from unlisted.tables.predicate.grammar import parse_predicate  # noqa: PLC0415 - a parser, as above

            where = parse_predicate(self.where, columns)
        rows = Rows((user, *self.items), where, user)
        _refuse_lookalikes(rows)
        return rows


def require_column(argument: str, name: object, columns: Mapping[str, ColumnType]) -> None:
    """Refuse a name that is no column, and say where to find which there are."""
    if not isinstance(name, str) or name not in columns:
        raise InvalidArgumentError(argument, name, "a column of the source", told(columns))


def _refuse_lookalikes(rows: Rows) -> None:
    """Refuse columns that some engines cannot tell apart: they would read the wrong one without a word."""
    names = sorted({*rows.columns, *(rows.where.columns if rows.where else ())})
    if len({name.casefold() for name in names}) != len(names):
        hint = "Some engines take them for the same. Rename one in the source, for example in a view."
        raise InvalidArgumentError("columns", ", ".join(names), "names that differ in more than case", hint)


def item_names(items: object) -> tuple[str, ...]:
    """Read one name or several."""
    if isinstance(items, str):
        items = (items,)
    # Nothing else that can be gone through: a column of a data frame would be taken for names, and shown.
    names = tuple(items) if isinstance(items, list | tuple) else ()
    if not names or not all(isinstance(name, str) and name for name in names):
        raise InvalidArgumentError("item", items, "the name of a column, or a list of names")
    if len(set(names)) != len(names):
        raise InvalidArgumentError("item", items, "a list of different columns")
    for name in names:
        if name in TAKEN_NAMES:
            hint = (
                "Answers have a column of that name themselves. Rename it in the source first, for example in a "
                f'view that says "{name}" AS "item_{name}".'
            )
            raise InvalidArgumentError("item", name, f"named otherwise than {', '.join(TAKEN_NAMES)}", hint)
    return names
