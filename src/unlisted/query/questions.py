"""Every question that may be asked, and every option of it, said once.

A question is a frozen dataclass whose fields are its options, each with how it is read, its default and one line
of help. Whatever offers questions is made from these fields or compared with them by a test: the methods in
`asking.py`, the shell's options, the bodies of the HTTP API, the client, the console's form, the reference in the
docs.

The budget is one option in Python, `budget=ul.Budget(...)`, and is said as `epsilon`, `rho` and `delta` where only
texts and numbers can be said: `Question.read` takes these, `Question.said` gives them back.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from unlisted.errors import InvalidArgumentError
from unlisted.noise.on_counts import Noise
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import Number, exact, failure_probability, whole
from unlisted.privacy.sensitivity import Adjacency
from unlisted.query.charging import Payer
from unlisted.query.options import (
    AMOUNTS,
    Option,
    as_it_is,
    choice,
    option,
    read_amount,
    read_budget,
    read_fetch,
    read_fetched,
    read_switch,
    read_whole,
    require_budget,
    require_items,
    sayable,
)
from unlisted.tables.count_query import LONGEST_LABEL, Count, CountQuery

Item = str | list[str] | tuple[str, ...]
Fetch = int | Literal["all"]
LabelMethod = Literal["auto", "counts", "optimal", "weighted", "sips", "adaptive", "hints"]
RankingMethod = Literal["auto", "gumbel", "labels"]

ITEMS_PER_USER = Option(
    "whole",
    "The most distinct items one user counts for (L0 contribution bound); a random choice is kept of users with "
    "more. Left out, a histogram finds its values first and counts all their users.",
    read_whole,
)
NOISE = choice(Noise, "The noise distribution; auto takes the one with the lowest threshold.")


@dataclass(frozen=True, kw_only=True)
class Question(ABC):
    """What every question has: which items, of which rows, and how much one user may matter."""

    kind: ClassVar[str]
    bounds_items: ClassVar[str | None] = None
    """What cannot be answered without a bound on the items of one user, as a sentence begins; None if all can."""

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
    max_label_bytes: int = option(Option("whole", "Longer labels are not counted.", as_it_is), LONGEST_LABEL)
    adjacency: Adjacency = option(
        choice(Adjacency, "Protect a user's presence, or also what a present user holds.", owners=True),
        "add_remove",
    )

    def __post_init__(self) -> None:
        for name, about in own_options(type(self)).items():
            object.__setattr__(self, name, about.read(name, getattr(self, name)))
        object.__setattr__(self, "items", self.counted.items)
        self._check()

    def _check(self) -> None:
        """Refuse what the options say only together."""
        require_budget(self.budget)
        require_items(self.items_per_user, self.bounds_items)

    @cached_property
    def counted(self) -> CountQuery:
        """What is counted, as tables are asked for it; users, unless the question can count rows."""
        return CountQuery(
            self.items,
            items_per_user=self.items_per_user,
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
        foreign = [name for name in told if name not in own_options(cls)]
        if foreign:
            raise InvalidArgumentError(foreign[0], told[foreign[0]], f"left out of the question {cls.kind!r}")
        return cls(**cls._with_amounts(told, amounts, account))

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
        amounts = {"epsilon": budget.epsilon, "rho": budget.rho, "delta": budget.delta}
        return {name: amount for name, amount in amounts.items() if amount is not None}


@dataclass(frozen=True, kw_only=True)
class _Counting(Question):
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
            items_per_user=self.items_per_user,
            where=self.where,
            max_label_bytes=self.max_label_bytes,
            adjacency=self.adjacency,
        )


@dataclass(frozen=True, kw_only=True)
class Histogram(_Counting):
    """The counts of every value that enough users share.

    With a bound on the items of one user it is Algorithm 1. Without one the values are found first, and then
    counted over all their users.
    """

    kind: ClassVar = "histogram"

    noise: Noise = option(NOISE, "auto")

    def _check(self) -> None:
        super()._check()
        if self.count != "users":
            require_items(self.items_per_user, "A histogram of rows")
        if self.noise != "auto":
            require_items(self.items_per_user, "A histogram with a noise of one's choice")


@dataclass(frozen=True, kw_only=True)
class TopHistogram(_Counting):
    """The counts of the most common values, read from the largest counts alone."""

    kind: ClassVar = "top-histogram"

    fetch: int = option(
        Option("whole", "How many of the largest counts the engine hands over (k̄).", read_fetched), 1000
    )
    noise: Noise = option(NOISE, "auto")


@dataclass(frozen=True, kw_only=True)
class Top(_Counting):
    """A ranking of the most common values."""

    kind: ClassVar = "top"

    k: int = option(Option("whole", "How many values to rank.", whole))
    fetch: Fetch | None = option(
        Option(
            "whole",
            "Read the ranking from so many of the largest counts (k̄); the larger of 1000 and 10·k unless said. "
            "'all' uses every count and needs a bound on items per user.",
            read_fetch,
        ),
        None,
    )
    counts: bool = option(Option("switch", "Also release the winners' counts.", read_switch), False)  # noqa: FBT003
    method: RankingMethod = option(
        choice(
            RankingMethod,
            "Rank the largest counts (gumbel), or find the labels first and rank those (labels), which needs a "
            "bound on items per user.",
        ),
        "auto",
    )
    per_item_epsilon: Number | None = option(
        Option("amount", "The ε of each draw, in place of a budget for all.", read_amount), None
    )
    delta: Number | None = None

    def _check(self) -> None:
        if self.delta is not None:
            object.__setattr__(self, "delta", failure_probability("delta", self.delta))
        if self.per_item_epsilon is None:
            if self.delta is not None:
                hint = "A budget has its own: ul.Budget(epsilon=1, delta=1e-8)."
                raise InvalidArgumentError("delta", self.delta, "left out without per_item_epsilon", hint)
            hint = "Or say per_item_epsilon and delta, to pay for each draw." if self.budget is None else ""
            require_budget(self.budget, hint)
        else:
            self._check_each()
        if self.method == "labels":
            self._check_labels()
        elif self.fetch == "all":
            require_items(self.items_per_user, "A ranking of all counts")

    def _check_each(self) -> None:
        """Refuse what does not go with a price for each draw."""
        if self.budget is not None:
            allowed, hint = "left out with a budget", "Say one of the two."
            raise InvalidArgumentError("per_item_epsilon", self.per_item_epsilon, allowed, hint)
        if self.counts:
            allowed, hint = "left out with per_item_epsilon", "Give a budget instead."
            raise InvalidArgumentError("counts", self.counts, allowed, hint)
        if self.delta is None:
            hint = "For example: delta=1e-9."
            raise InvalidArgumentError("delta", None, "given with per_item_epsilon", hint)

    def _check_labels(self) -> None:
        """Refuse what does not go with finding labels first."""
        require_items(self.items_per_user, "A ranking by way of labels")
        if self.count != "users":
            what = "'users' for a ranking by way of labels"
            raise InvalidArgumentError("count", self.count, what, "Rows are not weighed.")
        if self.fetch is not None:
            what = "left out with method='labels'"
            raise InvalidArgumentError("fetch", self.fetch, what, "Every label is looked at.")
        if self.per_item_epsilon is not None:
            what, hint = "left out with method='labels'", "The labels have a price of their own: give a budget."
            raise InvalidArgumentError("per_item_epsilon", self.per_item_epsilon, what, hint)

    @property
    def fetched(self) -> int | None:
        """k̄: what was said, None for all counts, else the larger of 1000 and 10·k."""
        if self.fetch is None:
            return read_fetched("fetch", max(1000, 10 * self.k))
        return None if self.fetch == "all" else self.fetch

    @property
    def may_use_labels(self) -> bool:
        """Whether the question leaves the choice to find labels first: it bounds items and asks for no k̄."""
        return (
            self.method == "auto"
            and self.budget is not None
            and self.items_per_user is not None
            and self.count == "users"
            and self.fetch is None
        )

    @classmethod
    def _with_amounts(
        cls, told: dict[str, Any], amounts: Mapping[str, Any], account: Payer | None
    ) -> dict[str, Any]:
        said = amounts.get("epsilon") or amounts.get("rho")
        each = told.pop("per_item_epsilon", None)
        if said is None and (each is not None or (account is not None and account.result_epsilon is not None)):
            return told | priced_by(account, each, amounts.get("delta"))
        if each is not None:
            hint = "Say one of the two."
            raise InvalidArgumentError("per_item_epsilon", each, "given without epsilon and rho", hint)
        return super()._with_amounts(told, amounts, account)

    def _amounts(self) -> dict[str, Fraction]:
        if self.delta is None:
            return super()._amounts()
        return {"delta": exact("delta", self.delta)}


@dataclass(frozen=True, kw_only=True)
class Labels(Question):
    """The values that enough users share, and nothing else about them (partition selection)."""

    kind: ClassVar = "labels"
    bounds_items: ClassVar = "A selection of labels"

    method: LabelMethod = option(
        choice(
            LabelMethod,
            "How labels are found: by counts; by a Bernoulli draw each, best for users of one item (optimal); by "
            "weights, of which an item of a user with few gets more (weighted); by weights in rounds (sips); by "
            "weights that common labels give back (adaptive); by rounds that leave out what looks too light "
            "(hints).",
        ),
        "auto",
    )


KINDS: Mapping[str, type[Question]] = {one.kind: one for one in (Histogram, Top, TopHistogram, Labels)}
"""Every kind of question, by the name that it has in receipts, in a shell and over HTTP."""


def own_options(kind: type[Question]) -> dict[str, Option]:
    """Return the options of a kind of question by name, in order; a budget's amounts are `AMOUNTS`."""
    return {one.name: one.metadata["option"] for one in fields(kind) if "option" in one.metadata}


def defaults_of(kind: type[Question]) -> dict[str, Any]:
    """Return the defaults of the options that have one."""
    return {
        one.name: one.default for one in fields(kind) if "option" in one.metadata and one.default is not MISSING
    }


def priced_by(account: Payer | None, per_item_epsilon: Any, delta: Any) -> dict[str, Any]:
    """Return what each draw costs: what was said, and what an account was opened with where nothing was said."""
    if account is not None and account.result_epsilon is not None and account.question_delta is not None:
        per_item_epsilon = account.result_epsilon if per_item_epsilon is None else per_item_epsilon
        delta = account.question_delta if delta is None else delta
    return {"per_item_epsilon": per_item_epsilon, "delta": delta}
