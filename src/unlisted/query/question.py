"""What every question has: which items, of which rows, how much one user may matter, and what it may cost.

The kinds of question are in `questions.py`. The budget is one option in Python, `budget=ul.Budget(...)`, and is
said as `epsilon`, `rho`, `mu_squared` and `delta` where only texts and numbers can be said: `Question.read` takes
these, `Question.said` gives them back.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.sensitivity import Adjacency
from unlisted.query.charging import Payer
from unlisted.query.options import (
    AMOUNTS,
    ITEMS_LOOKED_AT,
    ITEMS_PER_USER,
    Option,
    as_it_is,
    choice,
    defaults_of,
    foreign_or_missing,
    option,
    own_options,
    read_budget,
    read_label_bytes,
    read_values,
    read_whole,
    require_budget,
    sayable,
    unreadable,
)
from unlisted.tables.count_query import LONGEST_LABEL, Count, CountQuery, item_names
from unlisted.tables.groups import Group, Groups


@dataclass(frozen=True, kw_only=True)
class Question(ABC):
    """What every question has: which items, of which rows, and how much one user may matter."""

    kind: ClassVar[str]
    items: tuple[str, ...] = option(Option("columns", "The columns that together name an item.", as_it_is))
    budget: Budget | None = None
    items_per_user: int | None = option(ITEMS_PER_USER, None)
    where: str | None = option(
        Option(
            "text",
            """A condition on rows, such as "day >= DATE '2025-01-01' AND device = 'phone'".""",
            as_it_is,
        ),
        None,
    )
    max_label_bytes: int = option(
        Option("whole", "Longer labels are not counted.", read_label_bytes), LONGEST_LABEL
    )
    adjacency: Adjacency = option(
        choice(Adjacency, "Protect a user's presence, or also what a present user holds.", owners=True),
        "add_remove",
    )

    def __post_init__(self) -> None:
        problems = []
        for name, about in own_options(type(self)).items():
            try:
                object.__setattr__(self, name, about.read(name, getattr(self, name)))
            except InvalidArgumentError as problem:
                problems.append(problem)
        # What the options say only together is looked at where each by itself can be read.
        if not problems:
            for check in (self._read_items, self._check):
                try:
                    check()
                except InvalidArgumentError as problem:
                    problems.append(problem)
        if problems:
            raise InvalidArgumentError.together(problems)

    def _read_items(self) -> None:
        if self.names_items():
            object.__setattr__(self, "items", item_names(self.items))
        elif self.items:
            raise InvalidArgumentError("items", self.items, f"left out of the question {self.kind!r}")
        # What else is wrong in what is counted is said with it.
        _ = self.counted

    def _check(self) -> None:
        """Refuse what the options say only together."""
        require_budget(self.budget)

    @property
    def bound(self) -> int | None:
        """The bound on the items of one user that rows are cut down to."""
        return self.items_per_user

    @property
    def items_looked_at(self) -> int:
        """How many items of a user help values to be found, where they are found first."""
        return self.items_per_user or ITEMS_LOOKED_AT

    @classmethod
    def names_items(cls) -> bool:
        """Return whether the question is about items, and not about users alone."""
        return "items" in own_options(cls)

    @classmethod
    def takes_bound(cls, told: Mapping[str, Any]) -> bool:  # noqa: ARG003 - most kinds always do
        """Return whether a question takes the bound on items that the owner of a data set set for it."""
        return True

    @cached_property
    def counted(self) -> CountQuery:
        """What is counted, as tables are asked for it; users, unless the question can count rows."""
        return CountQuery(
            self.items,
            items_per_user=self.bound,
            where=self.where,
            max_label_bytes=self.max_label_bytes,
            adjacency=self.adjacency,
        )

    @classmethod
    def read(cls, said: Mapping[str, Any], account: Payer | None = None) -> Self:
        """Make a question of what was said in texts and numbers; what is None was not said.

        An account that was opened with an ε a result and a δ a question says these if nobody else does.
        """
        told = {name: value for name, value in said.items() if value is not None}
        amounts = {name: told.pop(name) for name in AMOUNTS if name in told}
        problems = foreign_or_missing(cls, told)
        try:
            told = cls._with_amounts(told, amounts, account)
        except InvalidArgumentError as problem:
            problems.append(problem)
        if not problems:
            return cls(**told)
        # What else is wrong is said with it: nobody should have to find out one by one.
        raise InvalidArgumentError.together([*problems, *unreadable(cls, told)])

    @classmethod
    def _with_amounts(
        cls,
        told: dict[str, Any],
        amounts: Mapping[str, Any],
        account: Payer | None,  # noqa: ARG003
    ) -> dict[str, Any]:
        """Add the budget that the amounts say."""
        return {**told, "budget": read_budget(amounts)}

    def said(self) -> dict[str, Any]:
        """Return what `read` reads: every option that is not its default, amounts as exact decimals."""
        told = {name: getattr(self, name) for name in own_options(type(self))}
        kept = {name: value for name, value in told.items() if value != defaults_of(type(self)).get(name, MISSING)}
        return {name: sayable(name, value) for name, value in {**kept, **self._amounts()}.items()}

    def _amounts(self) -> dict[str, Fraction]:
        budget = self.budget
        if budget is None:
            return {}
        amounts = {name: getattr(budget, name) for name in AMOUNTS}
        return {name: amount for name, amount in amounts.items() if amount is not None}


@dataclass(frozen=True, kw_only=True)
class GroupedQuestion(Question):
    """A question that can be asked of each group; it comes before what else a question is."""

    by: str | None = option(
        Option("text", "Answer for each value of this column, a group: the column's name.", as_it_is), None
    )
    groups: tuple[Group, ...] | None = option(
        Option(
            "values",
            "With by: the groups, as far as everybody may know them; in a shell, once for each. Left out, those "
            "come that enough users share.",
            read_values,
        ),
        None,
    )
    groups_per_user: int | None = option(
        Option(
            "whole",
            "With by: the most groups that one user counts in; a random choice is kept of users with more. 1 "
            "unless said.",
            read_whole,
        ),
        None,
    )

    def _check(self) -> None:
        super()._check()
        self._check_groups()

    def _check_groups(self) -> None:
        """Refuse groups of no column, and a column that is the item's too."""
        if self.by is None:
            for name in ("groups", "groups_per_user"):
                if getattr(self, name) is not None:
                    hint = "Say by=, the column that names the groups."
                    raise InvalidArgumentError(name, getattr(self, name), "left out without by", hint)
        elif not isinstance(self.by, str) or self.by in self.items:
            hint = "Groups need a column of their own."
            raise InvalidArgumentError("by", self.by, "the name of a column that is not among the items", hint)

    @property
    def labelled(self) -> tuple[str, ...]:
        """The columns that together name a label: the group's, if any, and the item's."""
        return self.items if self.by is None else (self.by, *self.items)

    @property
    def asked_groups(self) -> Groups | None:
        """Which groups are asked about."""
        return None if self.by is None else Groups(self.groups, self.groups_per_user or 1)

    @cached_property
    def counted(self) -> CountQuery:
        """What is counted, as tables are asked for it."""
        return replace(super().counted, items=self.labelled, groups=self.asked_groups)


@dataclass(frozen=True, kw_only=True)
class CountingQuestion(Question):
    """A question that can count rows in place of users."""

    count: Count = option(choice(Count, "Count users, or rows."), "users")
    rows_per_item: int | None = option(
        Option(
            "whole",
            "With rows: the most rows of one user that one item counts (L∞ contribution bound).",
            as_it_is,
        ),
        None,
    )

    @cached_property
    def counted(self) -> CountQuery:
        """What is counted, as tables are asked for it."""
        return CountQuery(
            self.items,
            count=self.count,
            rows_per_item=self.rows_per_item,
            items_per_user=self.bound,
            where=self.where,
            max_label_bytes=self.max_label_bytes,
            adjacency=self.adjacency,
        )
