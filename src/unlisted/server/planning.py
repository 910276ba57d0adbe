"""A question as it comes over the wire, and the plan that it becomes. Nothing here touches data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.numbers import exact
from unlisted.query.charging import Charge, Payer
from unlisted.query.options import AMOUNTS, defaults_of, own_options
from unlisted.query.plan import Plan
from unlisted.query.private_counts import PrivateCounts
from unlisted.query.private_table import PrivateTable
from unlisted.query.question import Question
from unlisted.query.questions import KINDS
from unlisted.query.saying import warnings_of
from unlisted.server.config import Offer
from unlisted.tables.column_types import ColumnType
from unlisted.tables.items import item_columns

LEAST_EPSILON, LARGEST_EPSILON = Fraction(1, 10**12), 10**6
LEAST_DELTA, LARGEST_BOUND = Fraction(1, 10**100), 10**9
"""Far beyond what anybody would ask. Calibrating for what lies outside takes long, and answers no question."""

_DEFAULTS = {name: value for kind in KINDS.values() for name, value in defaults_of(kind).items()}


@dataclass(frozen=True)
class Asked:
    """What a caller asks of a data set: a kind of question, and the options that were said."""

    question: str
    items: tuple[str, ...]
    options: tuple[tuple[str, Any], ...]

    @staticmethod
    def of(question: str, items: tuple[str, ...], options: Mapping[str, Any]) -> Asked:
        """Keep what was said; what is None was not."""
        kept = {name: value for name, value in options.items() if value is not None}
        said = {name: tuple(value) if isinstance(value, list) else value for name, value in kept.items()}
        return Asked(question, items, tuple(sorted(said.items())))

    @property
    def kind(self) -> type[Question]:
        """The kind of question."""
        return KINDS[self.question]

    @property
    def said(self) -> dict[str, Any]:
        """The options of this kind that were said.

        One that belongs to another kind is left for the question to refuse, unless it says no more than what would
        be so without it: clients may send every field they know.
        """
        own = {*own_options(self.kind), *AMOUNTS}
        kept = {name: value for name, value in self.options if name in own or value != _DEFAULTS.get(name)}
        # A question about users alone has no columns; one that says some is refused by name.
        return {"items": self.items, **kept} if self.items or self.kind.names_items() else kept


@dataclass(frozen=True)
class Planned:
    """A plan, its name (equal questions that are answered in the same way have equal names) and its preview."""

    plan: Plan
    charge: Charge
    preview: bytes

    @property
    def digest(self) -> str:
        """The name."""
        return self.charge.question

    @classmethod
    def of(cls, plan: Plan) -> Planned:
        """Describe a plan that was made on a table."""
        assert plan.data is not None
        charge = plan.charge_for(plan.data)
        said = {**plan.preview(), "plan_sha256": charge.question, "refusal": None, "warnings": warnings_of(plan)}
        return cls(plan, charge, json.dumps(said).encode())

    def refused(self, refusal: str) -> bytes:
        """Return the preview of a question that the data set's policy would refuse."""
        return json.dumps({**json.loads(self.preview), "refusal": refusal}).encode()

    def named(self, digest: str | None) -> Planned | None:
        """Return the plan that has this name: this one, or for a client of an earlier version the one it made."""
        if digest in (None, self.digest):
            return self
        before = self.plan.formerly() if self.plan.formerly is not None else None
        if before is None:
            return None
        former = Planned.of(before.paid_by(self.plan.account))
        return former if former.digest == digest else None


def check(asked: Asked, offer: Offer, columns: Mapping[str, ColumnType], most: int) -> None:
    """Refuse what is not offered: other columns, longer answers, amounts that only keep the machine busy."""
    said = asked.said
    for argument, name in (*(("items", one) for one in asked.items), ("by", said.get("by"))):
        if name is not None:
            _check_offered(argument, name, offer, columns)
    if said.get("sum") is not None:
        numbers = [name for name in offer.items if columns[name].is_number]
        if said["sum"] not in numbers:
            allowed = f"one of {', '.join(numbers)}" if numbers else "left out: no column of numbers is offered"
            raise InvalidArgumentError("sum", said["sum"], allowed)
    if said.get("where") is not None:
        # A predicate needs a parser, which a question without one need not wait for.
        from unlisted.tables.predicate.grammar import parse_predicate  # noqa: PLC0415

        parse_predicate(said["where"], {name: columns[name] for name in offer.filters})
    for name in ("k", "fetch"):
        if isinstance(said.get(name), int) and said[name] > most:
            raise InvalidArgumentError(name, said[name], f"at most {most:,} here")
    for name in ("epsilon", "rho", "mu_squared", "per_item_epsilon"):
        _check_within(name, said.get(name), LEAST_EPSILON, LARGEST_EPSILON)
    _check_within("delta", said.get("delta"), LEAST_DELTA, Fraction(1, 2))
    for name in ("items_per_user", "rows_per_item", "groups_per_user"):
        _check_within(name, said.get(name), 1, LARGEST_BOUND)


def _check_offered(argument: str, item: str, offer: Offer, columns: Mapping[str, ColumnType]) -> None:
    """Refuse an item that is neither offered nor computed from what is; no column is named that is not offered."""
    try:
        item_columns((item,), {name: columns[name] for name in offer.items})
    except InvalidArgumentError as refused:
        raise InvalidArgumentError(argument, item, f"one of {', '.join(offer.items)}", refused.hint) from None


def plan_of(asked: Asked, rows: PrivateTable | PrivateCounts, offer: Offer, account: Payer) -> Plan:
    """Make the plan for a question that was checked, paid by an account."""
    said = asked.said
    if "adjacency" in said:
        hint = "Its owner decides whom a data set protects."
        raise InvalidArgumentError("adjacency", said["adjacency"], "left out", hint)
    said["adjacency"] = offer.adjacency
    if asked.kind.takes_bound(said):
        said.setdefault("items_per_user", offer.items_per_user)
    if said.get("count") == "rows":
        said.setdefault("rows_per_item", offer.rows_per_item)
    return rows.plan(asked.kind.read(rows.filled(asked.kind, said), account), account=account)


def _check_within(name: str, value: object, least: Fraction | int, most: Fraction | int) -> None:
    if value is not None and not least <= exact(name, value) <= most:
        raise InvalidArgumentError(name, value, f"between {float(least):g} and {float(most):g} here")
