"""`ul.connect(url, key=…)`: the same questions, plans and releases, asked of a service.

    service = ul.connect("https://counts.example.org", key=os.environ["UNLISTED_KEY"])
    plan = service.dataset("searches").top("query", k=20, budget=ul.Budget(epsilon=1, delta=1e-8))
    print(plan)                      # calibrated here: nothing was sent
    release = plan.run()             # answered there, paid by the account that the key's grant names

A plan is made on this side by the same code as on the other. Its digest goes along, and a service that would run
another plan refuses: what was printed is what is run.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Context, Decimal, Inexact
from fractions import Fraction
from typing import Any, NoReturn, Unpack, cast

from unlisted.asking import Counting, Item, only_known
from unlisted.bills import Bill, Deliver, Paid
from unlisted.errors import InvalidArgumentError
from unlisted.http_calls import HttpCalls
from unlisted.label_planning import LabelMethod, labels_plan, top_plan
from unlisted.mechanisms.families import Noise
from unlisted.planning import Fetch, Priced, histogram_plan, priced_by, top_histogram_plan
from unlisted.plans import Data, Plan
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import exact
from unlisted.releases import Release
from unlisted.tables.column_types import ColumnType
from unlisted.tables.question import Question

RELEASE_TYPE = "application/vnd.unlisted.release"
"""The media type of a release as `Release.to_bytes` writes it."""

STAMP_HEADER = "Unlisted-Stamp"
"""The header that names the ledger's entry, as JSON."""

_EXACTLY = Context(prec=80, traps=[Inexact])


class RemoteRanked(Counting, Priced, total=False):
    """All that a ranking of a service's data set may be told. Which account pays, the key says."""

    items_per_user: int | None


def connect(url: str, *, key: str, timeout: float = 300.0) -> Service:
    """Name a service and the key to ask it with; nothing is sent yet.

    Args:
        url: where the service is: an https address, or an http one of this machine.
        key: what `unlisted key create` showed. Keep it out of the program: read it from the environment.
        timeout: the seconds to wait for an answer.
    """
    if not isinstance(key, str) or not key.isascii() or not key.isprintable() or not key:
        raise InvalidArgumentError("key", "not shown", "the text that `unlisted key create` showed")
    return Service(HttpCalls(url, key, timeout))


class Service:
    """A service that answers questions about its data sets."""

    def __init__(self, calls: HttpCalls) -> None:
        self._calls = calls

    def __repr__(self) -> str:
        return "<Service>"

    def datasets(self) -> list[str]:
        """Return the names of the data sets that the key may ask about."""
        return [one["name"] for one in self._calls.get("v1", "datasets").json()]

    def dataset(self, name: str) -> RemoteTable:
        """Name a data set to ask about."""
        return RemoteTable(self._calls, self._calls.get("v1", "datasets", name).json())


class RemoteTable:
    """A data set of a service. What may be asked of it returns a plan, and sends nothing."""

    def __init__(self, calls: HttpCalls, about: Mapping[str, Any]) -> None:
        self._calls = calls
        self._about = about

    def __repr__(self) -> str:
        return f"<RemoteTable: {self.name!r}, user {self._about['user']!r}>"

    @property
    def name(self) -> str:
        """The data set's name."""
        return str(self._about["name"])

    def columns(self) -> Mapping[str, ColumnType]:
        """Return the columns that may be counted or filtered on, and what they hold."""
        return {one["name"]: ColumnType(one["type"]) for one in (*self._about["items"], *self._about["filters"])}

    def balance(self) -> dict[str, Any]:
        """Return where the account stands that pays for this key's questions."""
        return dict(self._calls.get("v1", "datasets", self.name, "balance").json())

    def releases(self) -> list[dict[str, Any]]:
        """Return the newest past releases: what was asked, when, and what it cost."""
        return list(self._calls.get("v1", "datasets", self.name, "releases").json())

    def release(self, entry: int) -> Release:
        """Return a past release by its entry, at no cost."""
        found = self._calls.get("v1", "datasets", self.name, "releases", str(entry), accept=RELEASE_TYPE)
        return replace(Release.from_bytes(found.body), stamp=found.json_header(STAMP_HEADER))

    def histogram(
        self,
        item: Item,
        *,
        budget: Budget,
        items_per_user: int | None = None,
        noise: Noise = "auto",
        **counting: Unpack[Counting],
    ) -> Plan:
        """Plan the counts of every value that enough users share; the data set may have its own bound."""
        question = self._question(item, items_per_user or self._about["items_per_user"], counting)
        # An account pays there, and counts ρ.
        plan = histogram_plan(question, budget, noise, self._data(question), one_shot=False)
        return self._paid(plan, question, {**_said(budget), "noise": noise})

    def top_histogram(
        self,
        item: Item,
        *,
        budget: Budget,
        items_per_user: int | None = None,
        fetch: int = 1000,
        noise: Noise = "auto",
        **counting: Unpack[Counting],
    ) -> Plan:
        """Plan the counts of the largest values, from the `fetch` + 1 largest counts alone."""
        question = self._question(item, items_per_user or self._about["items_per_user"], counting)
        plan = top_histogram_plan(question, budget, fetch, noise, self._data(question))
        return self._paid(plan, question, {**_said(budget), "fetch": fetch, "noise": noise})

    def top(
        self,
        item: Item,
        *,
        k: int,
        budget: Budget | None = None,
        fetch: Fetch | None = None,
        **ranked: Unpack[RemoteRanked],
    ) -> Plan:
        """Plan a ranking of the k most common values, with a budget or with `per_item_epsilon` and `delta`.

        The data set's own bound on items per user is taken only by a `method` or a `fetch` that needs one.
        """
        only_known(ranked, RemoteRanked)
        counting = {name: value for name, value in ranked.items() if name in Counting.__annotations__}
        told = {name: value for name, value in ranked.items() if name in Priced.__annotations__}
        bound = ranked.get("items_per_user")
        if fetch == "all" or ranked.get("method") == "labels":
            bound = bound or self._about["items_per_user"]
        question = self._question(item, bound, cast("Counting", counting))
        priced = priced_by(self._account({}), cast("Priced", told), budget)
        plan = top_plan(question, k, budget, fetch, priced, self._data(question))
        asked = {"k": k, "fetch": fetch, "counts": priced.get("counts", False), "method": priced.get("method")}
        amounts = {name: _decimal(name, value) for name, value in priced.items() if name not in asked}
        return self._paid(plan, question, {**(_said(budget) if budget else amounts), **asked})

    def labels(
        self,
        item: Item,
        *,
        budget: Budget,
        items_per_user: int | None = None,
        method: LabelMethod = "auto",
        **counting: Unpack[Counting],
    ) -> Plan:
        """Plan the values that enough users share, and nothing else about them."""
        question = self._question(item, items_per_user or self._about["items_per_user"], counting)
        plan = labels_plan(question, budget, method, self._data(question), one_shot=False)
        return self._paid(plan, question, {**_said(budget), "method": method})

    def _question(self, item: Item, items_per_user: int | None, counting: Counting) -> Question:
        only_known(counting, Counting)
        told: Counting = {"adjacency": self._about["adjacency"], **counting}
        if told.get("count") == "rows" and told.get("rows_per_item") is None:
            told["rows_per_item"] = self._about["rows_per_item"]
        return Question(cast("tuple[str, ...]", item), items_per_user=items_per_user, **told)

    def _data(self, question: Question) -> Data:
        return Data(self._about["user"], "a service", question.items, lambda: None, _not_here, None)

    def _paid(self, plan: Plan, question: Question, asked: Mapping[str, Any]) -> Plan:
        """Let the service answer, in the name of the account: what is sent is what was planned."""
        said = {
            "question": plan.asked["question"],
            "items": list(question.items),
            "items_per_user": question.items_per_user,
            "count": question.count,
            "rows_per_item": question.rows_per_item,
            "where": question.where,
            "max_label_bytes": question.max_label_bytes,
            **asked,
        }
        return plan.paid_by(self._account({name: value for name, value in said.items() if value is not None}))

    def _account(self, asked: Mapping[str, Any]) -> _RemoteAccount:
        return _RemoteAccount(self._calls, self._about, asked)


@dataclass(frozen=True)
class _RemoteAccount:
    """The account behind a key, as a plan pays it: the service reserves, runs and settles. It is a `Payer`."""

    calls: HttpCalls
    about: Mapping[str, Any]
    asked: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The account's name."""
        return str(self.about["account"])

    @property
    def result_epsilon(self) -> Fraction | None:
        """The ε of one result, if the account was opened with one."""
        return self._term("result_epsilon")

    @property
    def question_delta(self) -> Fraction | None:
        """The δ of one question, if the account was opened with one."""
        return self._term("question_delta")

    def has_answered(self, bill: Bill, idempotency_key: str | None = None) -> bool:  # noqa: ARG002
        """Return False: the service knows, and looks itself."""
        return False

    def pay(self, bill: Bill, deliver: Deliver, idempotency_key: str | None = None) -> Paid:  # noqa: ARG002
        """Send the question. The answer is made there, so nothing is delivered from here."""
        headers = {"Idempotency-Key": idempotency_key or secrets.token_urlsafe(16), "Accept": RELEASE_TYPE}
        body = {**self.asked, "plan_sha256": bill.question}
        found = self.calls.post("v1", "datasets", self.about["name"], "releases", body=body, headers=headers)
        stamp = found.json_header(STAMP_HEADER)
        return Paid(found.body, stamp["dataset"], stamp["account"], stamp["entry"], stamp["hash"])

    def _term(self, name: str) -> Fraction | None:
        value = self.about[name]
        return None if value is None else Fraction(value)


def _said(budget: Budget) -> dict[str, str | None]:
    amounts = {"epsilon": budget.epsilon, "rho": budget.rho, "delta": budget.delta}
    return {name: None if amount is None else _decimal(name, amount) for name, amount in amounts.items()}


def _decimal(argument: str, amount: object) -> str:
    """Write an amount as the decimal that it is: the service must read the same number."""
    number = exact(argument, amount)
    try:
        return str(_EXACTLY.divide(Decimal(number.numerator), Decimal(number.denominator)))
    except Inexact:
        raise InvalidArgumentError(argument, amount, "a decimal of at most 80 digits, to be sent") from None


def _not_here(_: object) -> NoReturn:
    """Rows are counted where they are."""
    raise InvalidArgumentError("plan", "a plan for a service", "run by the service")
