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
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

from unlisted.errors import InvalidArgumentError
from unlisted.noise.gaussian.accounting import read_kind
from unlisted.privacy.accounting import ZCDP, Accounting
from unlisted.query.asking.askable import Askable
from unlisted.query.charging import Charge, Deliver, Paid, Payer
from unlisted.query.data import Data
from unlisted.query.http_calls import HttpCalls
from unlisted.query.plan import Plan
from unlisted.query.planner import plan_of
from unlisted.query.question import Question
from unlisted.release.release import Release
from unlisted.tables.column_types import ColumnType
from unlisted.tables.count_query import CountQuery

RELEASE_TYPE = "application/vnd.unlisted.release"
"""The media type of a release as `Release.to_bytes` writes it."""

STAMP_HEADER = "Unlisted-Stamp"
"""The header that names the ledger's entry, as JSON."""


def connect(url: str, *, key: str, timeout: float = 300.0) -> Service:
    """Name a service and the key to ask it with; nothing is sent yet.

    Args:
        url: where the service is: an https address, or an http one of this machine.
        key: what `unlisted key create` showed. Keep it out of the program: read it from the environment.
        timeout: the seconds to wait for an answer.

    Examples:
        >>> service = ul.connect("https://counts.example.org", key="a key from `unlisted key create`")
        >>> service
        <Service>
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


class RemoteTable(Askable):
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
        return Release.from_bytes(found.body, stamp=found.json_header(STAMP_HEADER))

    def plan(self, question: Question, *, account: Payer | None = None) -> Plan:
        """Plan on this side as the service will on the other. Which account pays, the key says."""
        if account is not None:
            hint = "The account that the key was given pays."
            raise InvalidArgumentError("account", account, "left out of a question to a service", hint)
        return plan_of(question, self._data(question.counted), self._account(question))

    def _payer(self, account: Payer | None) -> Payer | None:
        """Return the account that the key was given."""
        return self._account(None) if account is None else account

    def _planned(self, kind: type[Question], told: dict[str, Any], account: Payer | None) -> Plan:
        """Fill in what the data set fixes, and what its account was opened with."""
        fixed = self._fixed(kind, told)
        return self.plan(kind(**told, **fixed), account=account)

    def _fixed(self, kind: type[Question], told: dict[str, Any]) -> dict[str, Any]:
        """Take out of what was told what the data set fixes or knows a bound for, and return that."""
        fixed: dict[str, Any] = {"adjacency": self._about["adjacency"]}
        if told.pop("adjacency") not in ("add_remove", fixed["adjacency"]):
            hint = "Its owner decides whom a data set protects."
            raise InvalidArgumentError("adjacency", "replace", f"{fixed['adjacency']!r} here", hint)
        if kind.takes_bound(told):
            fixed["items_per_user"] = told.pop("items_per_user") or self._about["items_per_user"]
        if told.get("count") == "rows":
            fixed["rows_per_item"] = told.pop("rows_per_item") or self._about["rows_per_item"]
        return fixed

    def _data(self, query: CountQuery) -> Data:
        return Data(self._about["user"], "a service", query.items, lambda: None, _Elsewhere(), None)

    def _account(self, question: Question | None) -> _RemoteAccount:
        asked = {} if question is None else {"question": question.kind, **question.said()}
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
    def accounting(self) -> Accounting:
        """What the account counts. A service of version 0.1 does not say it, and counts ρ."""
        return read_kind(self.about.get("kind") or ZCDP.name)

    @property
    def result_epsilon(self) -> Fraction | None:
        """The ε of one result, if the account was opened with one."""
        return self._term("result_epsilon")

    @property
    def question_delta(self) -> Fraction | None:
        """The δ of one question, if the account was opened with one."""
        return self._term("question_delta")

    def has_answered(self, charge: Charge, idempotency_key: str | None = None) -> bool:  # noqa: ARG002
        """Return False: the service knows, and looks itself."""
        return False

    def pay(self, charge: Charge, deliver: Deliver, idempotency_key: str | None = None) -> Paid:  # noqa: ARG002
        """Send the question. The answer is made there, so nothing is delivered from here."""
        key = idempotency_key or secrets.token_urlsafe(16)
        headers = {"Idempotency-Key": key, "Accept": RELEASE_TYPE}
        body = {**self.asked, "plan_sha256": charge.question}
        try:
            found = self.calls.post("v1", "datasets", self.about["name"], "releases", body=body, headers=headers)
        except KeyboardInterrupt as stop:
            again = f"Run it again with idempotency_key={key!r}: it is then charged once at most."
            stop.add_note(f"The service may have charged the account {self.name!r} for it. {again}")
            raise
        stamp = found.json_header(STAMP_HEADER)
        return Paid(found.body, stamp["dataset"], stamp["account"], stamp["entry"], stamp["hash"], given=stamp)

    def _term(self, name: str) -> Fraction | None:
        value = self.about[name]
        return None if value is None else Fraction(value)


class _Elsewhere:
    """Counts that are made by the service. It is a `CountSource` that nobody reads."""

    def all_counts(self, cut: int) -> NoReturn:  # noqa: ARG002
        """Refuse: rows are counted where they are."""
        raise InvalidArgumentError("plan", "a plan for a service", "run by the service")

    def largest_counts(self, fetched: int) -> NoReturn:
        """Refuse: rows are counted where they are."""
        self.all_counts(fetched)

    def weights(self) -> NoReturn:
        """Refuse: rows are counted where they are."""
        self.all_counts(0)

    def user_count(self) -> NoReturn:
        """Refuse: rows are counted where they are."""
        self.all_counts(0)

    def distinct_values(self) -> NoReturn:
        """Refuse: rows are counted where they are."""
        self.all_counts(0)
