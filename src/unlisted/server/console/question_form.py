"""A question as it stands in the form: texts, until it is asked.

The form has a field for every option that a visitor may say (`query/questions.py`), under the option's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from unlisted.errors import InvalidArgumentError
from unlisted.query.options import AMOUNTS, Option, defaults_of, own_options
from unlisted.query.question import Question
from unlisted.query.questions import KINDS, Histogram, Labels, Top
from unlisted.server.console.visits import Form
from unlisted.server.planning import Asked
from unlisted.server.query_service import DatasetView

RANKINGS = ("gumbel", "labels", "find")
"""The ways to rank. `auto` is not among them: a visitor sees in previews which is better."""

METHOD_FIELDS: Mapping[type[Question], str] = {Histogram: "counting", Top: "ranking", Labels: "method"}
"""The field that says how a kind of question is answered: each kind has its own ways."""

NOT_IN_THE_FORM = {
    "items": "the columns are boxes to tick, and stand beside the texts",
    "adjacency": "the owner of a data set decides whom it protects",
    "rho": "the form asks for ε",
    "mu_squared": "the form asks for ε",
    "per_item_epsilon": "the account that pays knows it, if it was opened with results and questions",
}
"""Options that the form does not have, and why."""

ACCURACIES = ("appears_at", "within")
"""What may be said in place of an ε: of how many users an item appears, how far a count may be off."""

TOTALS, SUMMED = ("with_totals", "other"), ("sum", "max_per_item", "min_per_item", "sum_unit")
"""What a histogram may have beside its counts, where values are found first."""

_FIRST = {
    "question": "histogram",
    "epsilon": "1",
    "delta": "1e-8",
    "k": "20",
    "fetch": "1000",
    "ranking": "gumbel",
    "counting": "auto",
    # Said in place of an ε, and no options of a question.
    "appears_at": "",
    "within": "",
}

PLACED = frozenset(
    {
        *("question", "ranking", "counting", "method", "where", "k", "counts", "epsilon", "delta"),
        *("items_per_user", "fetch", "count", "rows_per_item", "max_label_bytes", "noise"),
        *("by", "groups", "groups_per_user"),
        *TOTALS,
        *SUMMED,
        *ACCURACIES,
    }
)
"""Fields that the page has a place for. Any other option gets a field of its own under "More options"."""


def further() -> dict[str, Option]:
    """Return the options of all kinds of questions that have no place in the page."""
    options = {name: about for kind in KINDS.values() for name, about in own_options(kind).items()}
    return {name: about for name, about in options.items() if name not in PLACED | NOT_IN_THE_FORM.keys()}


def _blank() -> dict[str, str]:
    """Return every field of the form, and what stands in it first."""
    found = dict.fromkeys(name for name in AMOUNTS if name not in NOT_IN_THE_FORM) | dict.fromkeys(_FIRST)
    for kind in KINDS.values():
        defaults = defaults_of(kind)
        found |= {name: defaults.get(name) for name in own_options(kind) if name not in NOT_IN_THE_FORM}
    return {name: _FIRST.get(name, "" if value in (None, False) else str(value)) for name, value in found.items()}


@dataclass(frozen=True)
class Draft:
    """The fields of the form, each as it was typed, and the columns that were ticked or computed."""

    item: tuple[str, ...]
    typed: Mapping[str, str]

    def __getattr__(self, name: str) -> str:
        try:
            return self.__dict__["typed"][name]  # type: ignore[no-any-return]
        except KeyError:
            raise AttributeError(name) from None

    @staticmethod
    def blank(dataset: DatasetView) -> Draft:
        """Return the form as a visitor first meets it: one column, and the data set's own bounds."""
        bounds = {
            "items_per_user": str(dataset.items_per_user or ""),
            "rows_per_item": str(dataset.rows_per_item or ""),
        }
        return Draft(tuple(dataset.items)[:1], _blank() | bounds)

    @staticmethod
    def sent(form: Form) -> Draft:
        """Return the form as it was sent."""
        return Draft(tuple(name for name in form.all("item") if name), {name: form.one(name) for name in _blank()})

    def but(self, **typed: str) -> Draft:
        """Return the form with some fields typed otherwise."""
        return replace(self, typed={**self.typed, **typed})

    def accuracy(self) -> dict[str, int]:
        """Read what is said in place of an ε."""
        read = {name: _whole(name, self.typed[name]) for name in ACCURACIES}
        return {name: limit for name, limit in read.items() if limit is not None}

    def hidden(self) -> list[tuple[str, str]]:
        """Return the fields as another form can carry them along unseen."""
        return [*(("item", name) for name in self.item), *self.typed.items()]

    def asked(self) -> Asked:
        """Read the fields that this kind of question has."""
        if self.question not in KINDS:
            raise InvalidArgumentError("question", self.question, f"one of {', '.join(KINDS)}")
        kind = KINDS[self.question]
        # Whatever stays ticked, a question about users alone has no columns.
        items = self.item if kind.names_items() else ()
        if kind.names_items() and not items:
            raise InvalidArgumentError("items", "nothing", "at least one column")
        own = {name: about for name, about in own_options(kind).items() if name in self.typed}
        read = {name: _read(name, about, self.typed[name]) for name, about in own.items() if name != "method"}
        read |= {name: self.typed[name] for name in AMOUNTS if name in self.typed}
        if "method" in own:
            field, allowed = METHOD_FIELDS[kind], RANKINGS if kind is Top else own["method"].choices
            read["method"] = _one_of(field, self.typed[field], allowed)
        for name in _without(read):
            read.pop(name, None)
        return Asked.of(self.question, items, read)


def _without(read: Mapping[str, Any]) -> list[str]:
    """Return the fields that have no meaning beside the others: the page hides them."""
    hidden = [] if read.get("count") == "rows" else ["rows_per_item"]
    if read.get("method") == "threshold":
        hidden += (*TOTALS, *SUMMED)
    elif read.get("sum") is None:
        hidden += SUMMED[1:]
    if read.get("method") == "auto" and any(read.get(name) for name in (*TOTALS, "sum")):
        # Values are found first, and the bound in the form is one that the data set set for other questions.
        return [*hidden, "count", "rows_per_item", "noise", "items_per_user", *_groups_without(read)]
    hidden += _groups_without(read)
    if read.get("by") is not None and "k" in read:
        # A ranking in each group is the first of what is found in it.
        return ["method", "fetch", "items_per_user", "count", "rows_per_item"]
    if read.get("method") == "gumbel":
        # A ranking by noise alone needs no bound on the items of a user.
        hidden.append("items_per_user")
    if read.get("method") in ("labels", "find"):
        hidden += ["fetch", "count", "rows_per_item"]
    if read.get("method") == "find":
        # The noise of what is found first, and how many items of a user help at a time, are not chosen here.
        hidden += ["noise", "items_per_user"]
    return hidden


def _groups_without(read: Mapping[str, Any]) -> list[str]:
    return ["groups", "groups_per_user"] if read.get("by") is None else []


def _read(name: str, about: Option, typed: str) -> Any:
    """Read one field as what its option holds."""
    if about.kind == "whole":
        return _whole(name, typed)
    if about.kind == "switch":
        return bool(typed)
    if about.kind == "values":
        return [line.strip() for line in typed.splitlines() if line.strip()] or None
    return _one_of(name, typed, about.choices) if about.choices else typed or None


def _whole(name: str, typed: str) -> int | None:
    if not typed:
        return None
    digits = typed.replace(",", "").replace(" ", "")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 18 and int(digits)):
        raise InvalidArgumentError(name, typed, "a whole number, 1 or above")
    return int(digits)


def _one_of(name: str, typed: str, allowed: tuple[str, ...]) -> str:
    if typed not in allowed:
        raise InvalidArgumentError(name, typed, f"one of {', '.join(allowed)}")
    return typed
