"""Every question that may be asked, and every option of it, said once.

A question is a frozen dataclass whose fields are its options, each with how it is read, its default and one line
of help; what all of them have is in `question.py`. Whatever offers questions is made from these fields or compared
with them by a test: the methods in `asking/`, the shell's options, the bodies of the HTTP API, the client, the
console's form, the reference in the docs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

from unlisted.errors import InvalidArgumentError
from unlisted.noise.on_counts import Noise
from unlisted.privacy.guarantee import DEFAULT_DELTA
from unlisted.privacy.numbers import Number, exact, failure_probability, whole
from unlisted.query.charging import Payer
from unlisted.query.options import (
    AMOUNTS,
    NOISE,
    Option,
    as_it_is,
    choice,
    option,
    priced_by,
    read_amount,
    read_fetch,
    read_fetched,
    read_number,
    read_switch,
    require_budget,
    require_items,
)
from unlisted.query.question import CountingQuestion, GroupedQuestion, Question
from unlisted.tables.amounts import FINEST_UNIT, SUMS, Amounts
from unlisted.tables.count_query import LONGEST_LABEL, CountQuery
from unlisted.tables.items import answer_name

Item = str | list[str] | tuple[str, ...]
Fetch = int | Literal["all"]
HistogramMethod = Literal["auto", "threshold", "find"]
LabelMethod = Literal["auto", "counts", "optimal", "weighted", "sips", "adaptive", "hints"]
RankingMethod = Literal["auto", "gumbel", "labels", "find"]

_WHERE_FOUND = ("with_totals", "other", "sum")
"""What a histogram has only where values are found first."""


@dataclass(frozen=True, kw_only=True)
class Histogram(GroupedQuestion, CountingQuestion):
    """The counts of every value that enough users share.

    With a bound on the items of one user it is Algorithm 1. Without one the values are found first, and then
    counted over all their users.
    """

    kind: ClassVar = "histogram"

    noise: Noise = option(NOISE, "auto")
    method: HistogramMethod = option(
        choice(
            HistogramMethod,
            "Keep what is above a threshold, of a bounded number of items of each user (threshold), or find the "
            "values first and count all their users (find). auto: threshold where a bound is given, else find.",
        ),
        "auto",
    )
    with_totals: bool = option(
        Option("switch", "Also release how many users have any value: out of how many.", read_switch),
        False,  # noqa: FBT003
    )
    other: bool = option(
        Option(
            "switch", "Also release how many users have a value that is not shown: everything else.", read_switch
        ),
        False,  # noqa: FBT003
    )

    sum: str | None = option(
        Option(
            "text", "Also release the sum of this column for each value that is shown, and the mean.", as_it_is
        ),
        None,
    )
    max_per_item: Number | None = option(
        Option(
            "number", "With sum: the most that one user's amount for one item counts, 0 or above.", read_number
        ),
        None,
    )
    min_per_item: Number | None = option(
        Option("number", "With sum: the least, 0 or below; 0 unless said, so that less counts as 0.", read_number),
        None,
    )
    sum_unit: Number | None = option(
        Option(
            "amount",
            "With sum: the unit in which it is exact, such as 0.01 for cents; 1 unless said.",
            read_amount,
        ),
        None,
    )

    def _check(self) -> None:
        super()._check()
        self._check_sum()
        for name in ("with_totals", "other"):
            if getattr(self, name) and not self.finds:
                hint = "It comes where values are found first: leave items_per_user out, or say method='find'."
                raise InvalidArgumentError(name, True, "left out of a histogram by a threshold", hint)  # noqa: FBT003
        if self.method == "threshold":
            require_items(self.items_per_user, "A histogram by a threshold")
        for name, usual, what in (("count", "users", "of rows"), ("noise", "auto", "with a noise of your choice")):
            if self.finds and getattr(self, name) != usual:
                if self.method != "find":
                    require_items(self.items_per_user, f"A histogram {what}")
                raise InvalidArgumentError(name, getattr(self, name), f"{usual!r} with method='find'")

    def _check_sum(self) -> None:
        """Refuse a sum without its bound, and what does not go with one."""
        if self.sum is None:
            for name in ("max_per_item", "min_per_item", "sum_unit"):
                if getattr(self, name) is not None:
                    hint = "Say sum, too: the column to sum up."
                    raise InvalidArgumentError(name, getattr(self, name), "left out without sum", hint)
            return
        if not isinstance(self.sum, str) or not self.sum:
            raise InvalidArgumentError("sum", type(self.sum).__name__, "the name of a column")
        if self.max_per_item is None:
            hint = "Say what one user may count for in one item, such as max_per_item=50: noise is made for that."
            raise InvalidArgumentError("max_per_item", None, "given with sum", hint)
        if not self.finds:
            hint = "Sums come where values are found first: leave items_per_user out, or say method='find'."
            raise InvalidArgumentError("sum", self.sum, "left out of a histogram by a threshold", hint)
        for name in ("with_totals", "other"):
            if getattr(self, name):
                raise InvalidArgumentError(name, True, "left out with sum", "Ask for totals by themselves.")  # noqa: FBT003
        if clash := [name for name in map(answer_name, self.labelled) if name in SUMS]:
            hint = "Answers have a column of that name themselves. Rename it in the source, for example in a view."
            raise InvalidArgumentError("items", clash[0], f"a name other than {', '.join(SUMS)}", hint)
        _ = self.amounts

    @property
    def amounts(self) -> Amounts | None:
        """What is summed up, in whole units."""
        if self.sum is None or self.max_per_item is None:
            return None
        unit = Fraction(1) if self.sum_unit is None else exact("sum_unit", self.sum_unit)
        units = 1 / unit
        if units.denominator != 1 or FINEST_UNIT % units:
            hint = "Such as 0.01 for cents, or 1."
            raise InvalidArgumentError(
                "sum_unit", self.sum_unit, "a decimal of which a whole number makes 1, at least 1e-9", hint
            )
        ends = {}
        for name, value in (("min_per_item", self.min_per_item or 0), ("max_per_item", self.max_per_item)):
            end = exact(name, value) * units
            if end.denominator != 1:
                raise InvalidArgumentError(name, value, "a whole number of units", "Say a finer sum_unit.")
            ends[name] = int(end)
        if ends["min_per_item"] > 0:
            raise InvalidArgumentError("min_per_item", self.min_per_item, "0 or below")
        if ends["max_per_item"] < 0:
            raise InvalidArgumentError("max_per_item", self.max_per_item, "0 or above")
        if ends["min_per_item"] == ends["max_per_item"]:
            hint = "With both at 0 nothing would count."
            raise InvalidArgumentError(
                "max_per_item", self.max_per_item, "above 0 where min_per_item is not below", hint
            )
        return Amounts(self.sum, int(units), ends["min_per_item"], ends["max_per_item"])

    @cached_property
    def counted(self) -> CountQuery:
        """What is counted, as tables are asked for it."""
        return replace(super().counted, amounts=self.amounts)

    @property
    def finds(self) -> bool:
        """Whether the values are found first: that was asked for, or no bound was given."""
        return self.method == "find" or (self.method == "auto" and self.items_per_user is None)

    @property
    def bound(self) -> int | None:
        """The bound on items: none where values are found first, and all items of all users counted."""
        return None if self.finds else self.items_per_user

    @classmethod
    def takes_bound(cls, told: Mapping[str, Any]) -> bool:
        """Return whether it bounds items: not where values are found first, or what is asked needs that."""
        finds = told.get("method") == "find" or any(told.get(name) for name in _WHERE_FOUND)
        return not finds


@dataclass(frozen=True, kw_only=True)
class TopHistogram(CountingQuestion):
    """The counts of the most common values, read from the largest counts alone."""

    kind: ClassVar = "top-histogram"

    fetch: int = option(
        Option("whole", "How many of the largest counts the engine hands over (k̄).", read_fetched), 1000
    )
    noise: Noise = option(NOISE, "auto")


@dataclass(frozen=True, kw_only=True)
class Top(GroupedQuestion, CountingQuestion):
    """A ranking of the most common values."""

    kind: ClassVar = "top"

    k: int = option(Option("whole", "How many values to rank.", whole))
    fetch: Fetch | None = option(
        Option(
            "whole",
            "Read the ranking from so many of the largest counts (k̄); by default the larger of 1000 and 10·k. "
            "'all' uses every count and needs a bound on items per user.",
            read_fetch,
        ),
        None,
    )
    counts: bool = option(Option("switch", "Also release the winners' counts.", read_switch), False)  # noqa: FBT003
    method: RankingMethod = option(
        choice(
            RankingMethod,
            "Rank the largest counts (gumbel), find the labels first and draw a ranking of them (labels), or take "
            "the first of a histogram whose values are found first (find), with which counts cost nothing more.",
        ),
        "auto",
    )
    per_item_epsilon: Number | None = option(
        Option("amount", "The ε of each draw, in place of a budget for all.", read_amount), None
    )
    delta: Number | None = None

    def _check(self) -> None:
        self._check_groups()
        if self.by is not None and (self.method not in ("auto", "find") or self.per_item_epsilon is not None):
            hint = "A ranking in each group is made of what is found there. Leave method out and give a budget."
            raise InvalidArgumentError("by", self.by, "left out with this method", hint)
        if self.delta is not None:
            object.__setattr__(self, "delta", failure_probability("delta", self.delta))
        if self.per_item_epsilon is None:
            if self.delta is not None:
                hint = "A budget has its own: ul.Budget(epsilon=1, delta=1e-8)."
                raise InvalidArgumentError("delta", self.delta, "left out without per_item_epsilon", hint)
            hint = "Or say per_item_epsilon, to pay for each draw." if self.budget is None else ""
            require_budget(self.budget, hint)
        else:
            self._check_each()
            if self.delta is None:
                object.__setattr__(self, "delta", DEFAULT_DELTA)
        if self.method in ("labels", "find") or self.by is not None:
            self._check_found()
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

    def _check_found(self) -> None:
        """Refuse what does not go with finding labels first."""
        beside = f"with method={self.method!r}"
        if self.count != "users":
            raise InvalidArgumentError("count", self.count, f"'users' {beside}", "Rows are not weighed.")
        if self.fetch is not None:
            raise InvalidArgumentError("fetch", self.fetch, f"left out {beside}", "Every label is looked at.")
        if self.per_item_epsilon is not None:
            what, hint = f"left out {beside}", "The labels have a price of their own: give a budget."
            raise InvalidArgumentError("per_item_epsilon", self.per_item_epsilon, what, hint)

    @property
    def fetched(self) -> int | None:
        """k̄: what was said, None for all counts, else the larger of 1000 and 10·k."""
        if self.fetch is None:
            return read_fetched("fetch", max(1000, 10 * self.k))
        return None if self.fetch == "all" else self.fetch

    @property
    def may_find(self) -> bool:
        """Whether the question leaves the choice to find labels first: it counts users, and asks for no k̄."""
        return self.method == "auto" and self.budget is not None and self.count == "users" and self.fetch is None

    @property
    def bound(self) -> int | None:
        """The bound on items; labels that are found first have one, said or not."""
        return self.items_looked_at if self.method == "labels" else self.items_per_user

    @classmethod
    def takes_bound(cls, told: Mapping[str, Any]) -> bool:
        """Return whether it bounds items: a ranking needs no bound, and only a way that does takes one."""
        return told.get("fetch") == "all" or told.get("method") == "labels"

    @classmethod
    def _with_amounts(
        cls, told: dict[str, Any], amounts: Mapping[str, Any], account: Payer | None
    ) -> dict[str, Any]:
        said = next((amounts[name] for name in AMOUNTS if name != "delta" and amounts.get(name)), None)
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
class Labels(GroupedQuestion):
    """The values that enough users share, and nothing else about them (partition selection)."""

    kind: ClassVar = "labels"

    method: LabelMethod = option(
        choice(
            LabelMethod,
            "How labels are found: by counts; by a Bernoulli draw each, best for users of one item (optimal); by "
            "weights, of which an item of a user with few gets more (weighted); by weights in rounds (sips); by "
            "weights that common labels reroute (adaptive); by rounds that leave out what looks too light "
            "(hints).",
        ),
        "auto",
    )

    @property
    def bound(self) -> int | None:
        """The bound on items, said or not."""
        return self.items_looked_at


@dataclass(frozen=True, kw_only=True)
class Users(Question):
    """How many users there are."""

    kind: ClassVar = "users"

    # Whoever has a row is a user, whatever the row says, so these are no options.
    items: tuple[str, ...] = ()
    items_per_user: int | None = None
    max_label_bytes: int = LONGEST_LABEL

    @classmethod
    def takes_bound(cls, told: Mapping[str, Any]) -> bool:  # noqa: ARG003
        """Return that it does not: a user is one, with however many items."""
        return False


@dataclass(frozen=True, kw_only=True)
class Distinct(Question):
    """How many different values there are."""

    kind: ClassVar = "distinct"

    @property
    def bound(self) -> int | None:
        """The bound on items, said or not."""
        return self.items_looked_at


KINDS: Mapping[str, type[Question]] = {
    one.kind: one for one in (Histogram, Top, TopHistogram, Labels, Users, Distinct)
}
"""Every kind of question, by the name that it has in receipts, in a shell and over HTTP."""
