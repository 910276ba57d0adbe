"""A question as it comes over the wire, and the plan that it becomes. Nothing here touches data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from unlisted.asking import Counting, PrivateTable
from unlisted.bills import Payer
from unlisted.errors import InvalidArgumentError
from unlisted.label_planning import LabelMethod, require_method, require_ranking_method
from unlisted.mechanisms.families import Noise
from unlisted.planning import Priced, RankingMethod
from unlisted.plans import Plan
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import exact, whole
from unlisted.server.config import Offer
from unlisted.tables.column_types import ColumnType
from unlisted.tables.question import LONGEST_LABEL, Count

Kind = Literal["histogram", "top", "top-histogram", "labels"]

LEAST_EPSILON, LARGEST_EPSILON = Fraction(1, 10**12), 10**6
LEAST_DELTA, LARGEST_BOUND = Fraction(1, 10**100), 10**9
"""Far beyond what anybody would ask. Calibrating for what lies outside takes long, and answers no question."""

_RANKING_ALONE = ("k", "per_item_epsilon", "counts")
_FOREIGN: dict[Kind, tuple[str, ...]] = {
    "histogram": (*_RANKING_ALONE, "fetch", "method"),
    "top": ("noise",),
    "top-histogram": (*_RANKING_ALONE, "method"),
    # Labels are lifted by the users who have them: there are no rows to count.
    "labels": (*_RANKING_ALONE, "fetch", "noise", "count", "rows_per_item"),
}
"""The fields that each kind of question has no use for."""


@dataclass(frozen=True)
class Asked:
    """What a caller asks of a data set. What is None takes the data set's own bounds, or the library's."""

    question: Kind
    items: tuple[str, ...]
    epsilon: str | int | float | None = None
    rho: str | int | float | None = None
    delta: str | int | float | None = None
    per_item_epsilon: str | int | float | None = None
    items_per_user: int | None = None
    count: Count = "users"
    rows_per_item: int | None = None
    where: str | None = None
    noise: Noise = "auto"
    method: LabelMethod | RankingMethod = "auto"
    k: int | None = None
    fetch: int | Literal["all"] | None = None
    counts: bool = False
    max_label_bytes: int = LONGEST_LABEL


@dataclass(frozen=True)
class Planned:
    """A plan, its name (equal questions that are answered in the same way have equal names) and its preview."""

    plan: Plan
    digest: str
    preview: bytes

    @classmethod
    def of(cls, plan: Plan) -> Planned:
        """Describe a plan that was made on a table."""
        assert plan.data is not None
        digest = plan.bill(plan.data).question
        return cls(plan, digest, json.dumps({**plan.preview(), "plan_sha256": digest}).encode())


def check(asked: Asked, offer: Offer, columns: Mapping[str, ColumnType], most: int) -> None:
    """Refuse what is not offered: other columns, longer answers, fields that belong to other questions."""
    _check_columns(asked, offer, columns)
    _check_fields(asked)
    for name, value in (("k", asked.k), ("fetch", asked.fetch)):
        if isinstance(value, int) and value > most:
            raise InvalidArgumentError(name, value, f"at most {most:,} here")
    for name in ("epsilon", "rho", "per_item_epsilon"):
        _check_within(name, getattr(asked, name), LEAST_EPSILON, LARGEST_EPSILON)
    _check_within("delta", asked.delta, LEAST_DELTA, Fraction(1, 2))
    for name in ("items_per_user", "rows_per_item"):
        _check_within(name, getattr(asked, name), 1, LARGEST_BOUND)


def plan_of(asked: Asked, rows: PrivateTable, offer: Offer, account: Payer) -> Plan:
    """Make the plan for a question that was checked, paid by an account."""
    items_per_user = asked.items_per_user or offer.items_per_user
    counting = Counting(
        count=asked.count,
        rows_per_item=(asked.rows_per_item or offer.rows_per_item)
        if asked.count == "rows"
        else asked.rows_per_item,
        where=asked.where,
        adjacency=offer.adjacency,
        max_label_bytes=asked.max_label_bytes,
    )
    if asked.question == "top":
        return rows.top(
            asked.items,
            k=whole("k", asked.k),
            budget=_ranking_budget(asked, account),
            fetch=asked.fetch,
            # A ranking needs no bound, and only a way that does takes the data set's: `auto` may find labels first
            # for callers who bounded items themselves.
            items_per_user=items_per_user if _needs_bound(asked) else asked.items_per_user,
            account=account,
            **counting,
            **_priced(asked),
        )
    if items_per_user is None:
        hint = "The data set has no bound of its own."
        raise InvalidArgumentError("items_per_user", None, "a whole number, 1 or above", hint)
    if asked.question == "histogram":
        return rows.histogram(
            asked.items,
            budget=_budget(asked),
            items_per_user=items_per_user,
            noise=asked.noise,
            account=account,
            **counting,
        )
    if asked.question == "labels":
        return rows.labels(
            asked.items,
            budget=_budget(asked),
            items_per_user=items_per_user,
            method=require_method(asked.method),
            account=account,
            **counting,
        )
    return rows.top_histogram(
        asked.items,
        budget=_budget(asked),
        items_per_user=items_per_user,
        fetch=1000 if asked.fetch is None else whole("fetch", asked.fetch),
        noise=asked.noise,
        account=account,
        **counting,
    )


def _check_within(name: str, value: object, least: Fraction | int, most: Fraction | int) -> None:
    """Refuse amounts that only serve to keep the machine busy."""
    if value is not None and not least <= exact(name, value) <= most:
        raise InvalidArgumentError(name, value, f"between {float(least):g} and {float(most):g} here")


def _check_columns(asked: Asked, offer: Offer, columns: Mapping[str, ColumnType]) -> None:
    """Refuse columns that are not offered, in words that name no others."""
    for name in asked.items:
        if name not in offer.items:
            raise InvalidArgumentError("items", name, f"one of {', '.join(offer.items)}")
    if asked.where is not None:
        # A predicate needs a parser, which a question without one need not wait for.
        from unlisted.tables.predicate import parse_predicate  # noqa: PLC0415

        parse_predicate(asked.where, {name: columns[name] for name in offer.filters})


def _check_fields(asked: Asked) -> None:
    """Refuse what does not belong to the kind of question: what is said must not be passed over."""
    for name in _FOREIGN[asked.question]:
        value = getattr(asked, name)
        if value != getattr(Asked, name):
            raise InvalidArgumentError(name, value, f"left out of the question {asked.question!r}")


def _needs_bound(asked: Asked) -> bool:
    """Return whether a ranking is asked for in a way that bounds the items of a user."""
    return asked.fetch == "all" or asked.method == "labels"


def _budget(asked: Asked) -> Budget:
    if asked.delta is None:
        raise InvalidArgumentError("delta", None, "given", 'For example: "epsilon": 1, "delta": 1e-8')
    return Budget(epsilon=asked.epsilon, rho=asked.rho, delta=asked.delta)


def _ranking_budget(asked: Asked, account: Payer) -> Budget | None:
    """Return the budget of a ranking, unless each draw has its price, said here or when the account was opened."""
    said = asked.epsilon is not None or asked.rho is not None
    if not said and (asked.per_item_epsilon is not None or account.result_epsilon is not None):
        return None
    return _budget(asked)


def _priced(asked: Asked) -> Priced:
    priced = Priced(counts=asked.counts, method=require_ranking_method(asked.method))
    if asked.per_item_epsilon is not None:
        priced["per_item_epsilon"] = asked.per_item_epsilon
        if asked.delta is not None:
            priced["delta"] = asked.delta
    return priced
