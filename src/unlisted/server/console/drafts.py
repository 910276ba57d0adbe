"""A question as it stands in the form: texts, until it is asked."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from unlisted.errors import InvalidArgumentError
from unlisted.label_planning import LabelMethod
from unlisted.mechanisms.families import Noise
from unlisted.server.console.forms import Form
from unlisted.server.desk import DatasetView
from unlisted.server.questions import Asked, Kind
from unlisted.tables.question import Count

Ranking = Literal["gumbel", "labels"]
"""The ways to rank. `auto` is not among them: a visitor sees in two previews which is better."""


@dataclass(frozen=True)
class Draft:
    """The fields of the form, each as it was typed."""

    item: tuple[str, ...]
    question: str = "histogram"
    where: str = ""
    epsilon: str = "1"
    delta: str = "1e-8"
    k: str = "20"
    counts: str = ""
    fetch: str = "1000"
    items_per_user: str = ""
    count: str = "users"
    rows_per_item: str = ""
    noise: str = "auto"
    method: str = "auto"
    ranking: str = "gumbel"

    @staticmethod
    def blank(dataset: DatasetView) -> Draft:
        """Return the form as a visitor first meets it: one column, and the data set's own bounds."""
        return Draft(
            item=tuple(dataset.items)[:1],
            items_per_user=str(dataset.items_per_user or ""),
            rows_per_item=str(dataset.rows_per_item or ""),
        )

    @staticmethod
    def sent(form: Form) -> Draft:
        """Return the form as it was sent."""
        typed = {one.name: form.one(one.name) for one in fields(Draft) if one.name != "item"}
        return Draft(item=form.all("item"), **typed)

    def hidden(self) -> list[tuple[str, str]]:
        """Return the fields as another form can carry them along unseen."""
        rest = [(one.name, getattr(self, one.name)) for one in fields(self) if one.name != "item"]
        return [*(("item", name) for name in self.item), *rest]

    def asked(self) -> Asked:
        """Read the fields that this kind of question has."""
        kind: Kind = _one_of("question", self.question, Kind)
        ranking: Ranking | None = _one_of("ranking", self.ranking, Ranking) if kind == "top" else None
        given: dict[str, Any] = {"epsilon": self.epsilon, "delta": self.delta, "where": self.where or None}
        if kind != "labels" and ranking != "labels":
            given |= self._counting()
        if kind == "top-histogram" or ranking == "gumbel":
            given["fetch"] = _whole("fetch", self.fetch)
        if ranking is not None:
            given |= {"k": _whole("k", self.k), "counts": bool(self.counts), "method": ranking}
        if ranking != "gumbel":
            # A ranking by noise alone needs no bound on the items of a user.
            given["items_per_user"] = _whole("items_per_user", self.items_per_user)
        if kind in ("histogram", "top-histogram"):
            given["noise"] = _one_of("noise", self.noise, Noise)
        if kind == "labels":
            given["method"] = _one_of("method", self.method, LabelMethod)
        if not self.item:
            raise InvalidArgumentError("items", "nothing", "at least one column")
        return Asked(kind, self.item, **given)

    def _counting(self) -> dict[str, Any]:
        """Read what is counted: labels alone are found by users, and have no use for it."""
        count: Count = _one_of("count", self.count, Count)
        if count == "users":
            return {"count": count}
        return {"count": count, "rows_per_item": _whole("rows_per_item", self.rows_per_item)}


def _whole(name: str, typed: str) -> int | None:
    if not typed:
        return None
    digits = typed.replace(",", "").replace(" ", "")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 18 and int(digits)):
        raise InvalidArgumentError(name, typed, "a whole number, 1 or above")
    return int(digits)


def _one_of(name: str, typed: str, choices: Any) -> Any:
    allowed: tuple[str, ...] = get_args(choices)
    if typed not in allowed:
        raise InvalidArgumentError(name, typed, f"one of {', '.join(allowed)}")
    return typed
