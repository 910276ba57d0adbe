"""A question as it comes over the wire, and the plan that it becomes. Nothing here touches data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.numbers import exact
from unlisted.query.charging import Payer
from unlisted.query.options import AMOUNTS, defaults_of, own_options
from unlisted.query.plan import Plan
from unlisted.query.private_table import PrivateTable
from unlisted.query.questions import KINDS, Question
from unlisted.server.config import Offer
from unlisted.tables.column_types import ColumnType

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
        said = ((name, value) for name, value in options.items() if value is not None)
        return Asked(question, items, tuple(sorted(said)))

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
        return {"items": self.items, **kept}


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
    for name in asked.items:
        if name not in offer.items:
            # In words that name no column which is not offered.
            raise InvalidArgumentError("items", name, f"one of {', '.join(offer.items)}")
    if said.get("where") is not None:
        # A predicate needs a parser, which a question without one need not wait for.
        from unlisted.tables.predicate.grammar import parse_predicate  # noqa: PLC0415

        parse_predicate(said["where"], {name: columns[name] for name in offer.filters})
    for name in ("k", "fetch"):
        if isinstance(said.get(name), int) and said[name] > most:
            raise InvalidArgumentError(name, said[name], f"at most {most:,} here")
    for name in ("epsilon", "rho", "per_item_epsilon"):
        _check_within(name, said.get(name), LEAST_EPSILON, LARGEST_EPSILON)
    _check_within("delta", said.get("delta"), LEAST_DELTA, Fraction(1, 2))
    for name in ("items_per_user", "rows_per_item"):
        _check_within(name, said.get(name), 1, LARGEST_BOUND)


def plan_of(asked: Asked, rows: PrivateTable, offer: Offer, account: Payer) -> Plan:
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
    return rows.plan(asked.kind.read(said, account), account=account)


def _check_within(name: str, value: object, least: Fraction | int, most: Fraction | int) -> None:
    if value is not None and not least <= exact(name, value) <= most:
        raise InvalidArgumentError(name, value, f"between {float(least):g} and {float(most):g} here")
