"""A plan: a question with a mechanism chosen and calibrated. Making one touches no data.

The choice is a function of the question, its bounds and the budget, never of the data or of a result. Printing a
plan says what it costs, how good it will be and why this mechanism; `run()` is the only way to the data.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from unlisted.counts.count_profile import forms_of
from unlisted.counts.whole_numbers import to_arrow
from unlisted.errors import ChargedFailureError, InvalidArgumentError, UnlistedError
from unlisted.mechanisms.groups import by_group, places_in_groups
from unlisted.mechanisms.mechanism import Accuracy, Answer, Mechanism
from unlisted.privacy.accounting import ZCDP, Accounting
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.numbers import whole
from unlisted.query.charging import Charge, Payer, require_payer
from unlisted.query.data import REHEARSED, Data
from unlisted.release.html import card
from unlisted.release.release import (
    Release,
    frozen,
    guarantee_as_dict,
    item_columns,
    shown_up,
    thawed,
)
from unlisted.tables.failures import charged, uncharged
from unlisted.tables.stopping import outcome_of, rehearsing

if TYPE_CHECKING:
    import altair

_ABOUT_COLUMNS = ("item", "user", "where")
_UNPAID = "no account pays, so nothing was charged"


@dataclass(frozen=True, repr=False)
class Plan:
    """A question that is ready to run.

    `asked` is the question as plain values (kind, bounds, predicate), for the plan's text and the receipt.
    `data` is None for a preview, which cannot run. `account` is who pays; without one nobody keeps the books.
    `formerly` is how an earlier version planned the same question, if it did so otherwise: what an account keeps
    under that name is answered from there.

    Attributes:
        mechanism: what will answer, calibrated; `guarantee` and `accuracy` are its own.
        reason: why it is this one.
        at_delta: the total δ at which ε is reported.
        asked: the question, as plain values.
        data: where the counts come from; None in a preview.
        account: who pays.
        formerly: how an earlier version planned the question.
        declared_users: about how many users there are, as the owner says; δ is compared with it.

    Examples:
        >>> plan = ul.table(searches(), user="user").histogram("query", budget=ul.Budget(epsilon=1, delta=1e-8))
        >>> plan.guarantee.epsilon(plan.at_delta) <= 1
        True
        >>> len(plan.run()) > 50
        True
    """

    mechanism: Mechanism[Any]
    reason: str
    at_delta: Fraction
    asked: Mapping[str, Any]
    data: Data | None = field(compare=False)
    account: Payer | None = field(default=None, compare=False)
    formerly: Callable[[], Plan | None] | None = field(default=None, compare=False)
    declared_users: int | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        # What a receipt says was asked must be what was asked.
        object.__setattr__(self, "asked", frozen(self.asked))

    def paid_by(self, account: Payer | None) -> Plan:
        """Return the same plan, paid by an account of a ledger; None leaves it without one.

        Args:
            account: who pays: an account of a ledger, or None.
        """
        return replace(self, account=require_payer(account))

    def of_users(self, declared: int | None) -> Plan:
        """Return the same plan, of about so many users: a public number, which is not part of the question.

        Args:
            declared: about how many users there are, or None if that is not public.
        """
        return self if declared is None else replace(self, declared_users=whole("declared_users", declared))

    def checked(self) -> Plan:
        """Return the same plan, once its columns and its predicate turn out to fit the schema. No row is read."""
        if self.data is None:
            return self
        try:
            with uncharged(), rehearsing():
                self.data.check()
        except UnlistedError as problem:
            # A stored answer needs no source that works, and whether there is one may depend on a key.
            is_about_columns = isinstance(problem, InvalidArgumentError) and problem.argument in _ABOUT_COLUMNS
            if self.account is None or (is_about_columns and not self._is_known(self.data)):
                raise
        return self

    def _is_known(self, data: Data) -> bool:
        """Return whether the account has the answer, to this plan or to that of an earlier version."""
        return self._will_be_repeated(data, None) or self._as_answered_before(data, None) is not None

    def also_known_as(self, formerly: Callable[[], Plan | None]) -> Plan:
        """Return the same plan, with how an earlier version planned the same question.

        Args:
            formerly: makes the earlier plan when it is needed; None if there was none.
        """
        return replace(self, formerly=formerly)

    @property
    def accounting(self) -> Accounting:
        """What is added up: by the account that pays, else ρ."""
        return ZCDP if self.account is None else self.account.accounting

    @property
    def guarantee(self) -> Guarantee:
        """The ceiling of what running the plan costs, with what its account counts."""
        return self.accounting.ceiling(self.mechanism, self.at_delta)

    @cached_property
    def accuracy(self) -> Accuracy:
        """What to expect of the answer."""
        return self.mechanism.accuracy()

    @property
    def complete(self) -> bool | None:
        """Whether the answer will be all there is to say; None for a ranking, of which only the answer tells."""
        return self.mechanism.complete

    def preview(self) -> dict[str, Any]:
        """Return cost and accuracy as plain values: what `unlisted preview --format json` prints."""
        return {
            "complete": self.complete,
            "guarantee": guarantee_as_dict(self.guarantee, self.at_delta),
            "plan": self.as_dict(),
        }

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as plain values."""
        expected = self.accuracy
        threshold = (described := self.mechanism.describe()).threshold
        at_best = {} if expected.at_best is None else {"users_needed_of_one_item": _by_percent(expected.at_best)}
        shares = {"shares": dict(described.shares)} if described.shares else {}
        return {
            "mechanism": described.name,
            "threshold": shown_up(threshold) if isinstance(threshold, Fraction) else threshold,
            "noise": described.noise,
            **thawed(self.asked),
            **shares,
            "half_width_95": expected.half_width,
            "users_needed": _by_percent(expected.needed),
            "users_needed_above_cut": expected.above_cut,
            **at_best,
            **self._where_users_differ(),
            "reason": self.reason,
        }

    @property
    def needed_by_items(self) -> dict[int, dict[int, int]]:
        """How many users an item needs, by how many items each of them has, where that makes a difference."""
        expected, most = self.accuracy, self.asked.get("items_looked_at") or self.asked["items_per_user"]
        if expected.at_best is None or most == 1:
            return {}
        return {1: expected.at_best, **expected.between, most: expected.needed}

    def _where_users_differ(self) -> dict[str, Any]:
        """Return what an item needs, and how wide intervals are, where users of many items differ."""
        found: dict[str, Any] = {}
        if needed := self.needed_by_items:
            found["users_needed_by_items"] = {str(n): _by_percent(one) for n, one in needed.items()}
        if widths := self.accuracy.half_widths:
            found["half_widths_95"] = _by_percent(widths)
        return found

    def chart(self) -> altair.LayerChart:
        """Return a chart of the chance to appear against the number of users who share an item."""
        from unlisted.release.charts import plan_chart  # noqa: PLC0415 - an extra

        return plan_chart(self)

    def run(self, *, idempotency_key: str | None = None) -> Release:
        """Touch the data, once, and release the answer.

        With an account, the ceiling is reserved first and what was really used is settled after.

        Before that the question is rehearsed, from its statements to the bytes of a release, on no rows: what
        fails whatever the rows are is refused there and costs nothing.

        Args:
            idempotency_key: a name for this one request, for plans that an account pays. Asked again with it, the
                first answer comes back and nothing more is charged.
        """
        if self.data is None:
            raise InvalidArgumentError(
                "plan", "a preview", "a plan made on a table", 'Say ul.table("…", user="…").histogram(…) instead.'
            )
        if self.account is None and idempotency_key is not None:
            hint = "Without an account nothing is kept, so nothing can be asked again."
            raise InvalidArgumentError("idempotency_key", idempotency_key, "given with an account", hint)
        known = self._as_answered_before(self.data, idempotency_key)
        if known is not None:
            return known.run(idempotency_key=idempotency_key)
        try:
            self._rehearse(self.data)
        except UnlistedError:
            # A stored answer needs no source that works.
            if not self._will_be_repeated(self.data, idempotency_key):
                raise
        if self.account is not None:
            return self._paid(self.data, self.account, idempotency_key)
        release = self._answered(self.data)
        if isinstance(release, ChargedFailureError):
            raise ChargedFailureError(_UNPAID)
        if isinstance(release, BaseException):
            release.add_note(f"{_UNPAID.capitalize()}.")
            raise release
        return release

    def charge_for(self, data: Data) -> Charge:
        """Return what the question may cost, and its name: equal questions have equal names.

        Args:
            data: where the counts come from.
        """
        said = (thawed(self.asked), self.mechanism.encoding(), str(self.at_delta), dict(data.types))
        asked = json.dumps(said, sort_keys=True)
        result = self.mechanism.result_price()
        return Charge(
            ceiling=self.guarantee,
            question=hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest(),
            unit=data.user or "user",
            adjacency=self.asked["adjacency"],
            source=data.source,
            result=None if result is None else result.guarantee,
            result_epsilon=None if result is None else result.epsilon,
            kind=str(self.asked.get("question", "")),
            items_per_user=self.asked.get("items_per_user"),
            words=_in_words(self.asked),
        )

    def _paid(self, data: Data, account: Payer, idempotency_key: str | None) -> Release:
        """Answer on an account: the release that comes back is the one that the ledger keeps."""

        def deliver() -> tuple[bytes, Guarantee]:
            release = self._answered(data)
            if isinstance(release, BaseException):
                raise release
            assert release.spent is not None  # an account pays
            with charged():  # the bytes are made of labels
                return release.to_bytes(), release.spent

        paid = account.pay(self.charge_for(data), deliver, idempotency_key)
        # The question's name holds the mechanism; a release of version 0.1 does not say its promise itself.
        return paid.stamped(replace(Release.from_bytes(paid.release, stamp={}), guarantee=self.guarantee))

    def _rehearse(self, data: Data) -> None:
        """Check the question, and answer it from no rows, unless that went well before; throw the answer away."""
        with uncharged(), rehearsing():
            data.check()
            if data.rehearsal is None:
                return
            signature = data.rehearsal.signature()
            name = None
            if signature is not None:
                name = (signature, data.user, self.mechanism.encoding(), str(self.asked))
            if name in REHEARSED:
                return
            empty = data.rehearsal.data()
            with self.mechanism.needs().read(empty.counts) as counts:
                # Whether labels are few or many, they must come out.
                answers = [self.mechanism.release(one) for one in forms_of(counts)]
            for answer in answers:
                Release.from_bytes(self._released(answer, empty).to_bytes())
        if name is not None:
            REHEARSED.add(name)

    def _will_be_repeated(self, data: Data, idempotency_key: str | None) -> bool:
        """Return whether no data will be touched, because the account has the answer."""
        return self.account is not None and self.account.has_answered(self.charge_for(data), idempotency_key)

    def _as_answered_before(self, data: Data, idempotency_key: str | None) -> Plan | None:
        """Return the plan of an earlier version, if the account keeps its answer and none to this one."""
        if self.account is None or self.formerly is None or self._will_be_repeated(data, idempotency_key):
            return None
        before = self.formerly()
        if before is None or before.mechanism == self.mechanism:
            return None
        paid = before.paid_by(self.account)
        return paid if paid._will_be_repeated(data, idempotency_key) else None

    def _answered(self, data: Data) -> Release | BaseException:
        """Count and release, or return what came in between: Ctrl-C, or a failure; its cause is the owner's."""

        def answer() -> Release:
            with charged():
                return self._released(self.mechanism.run(data.counts), data)

        return outcome_of(answer)

    def _released(self, answer: Answer, data: Data) -> Release:
        by = self.asked.get("by") is not None
        answer = by_group(answer, self.asked["groups"]) if by else answer
        complete = not answer.stopped if self.complete is None else self.complete
        # An empty answer looks the same whatever the labels are that it does not show.
        labels = answer.labels if len(answer) or data.is_typed else pa.nulls(0, pa.string())
        items = item_columns(labels, data.items) if self.mechanism.names_items else {}
        columns = {**items, **_number_columns(self.mechanism, answer, by=by)}
        # Only an account that reserved the ceiling first may hand the rest back, in what it counts.
        spent = None
        if self.account is not None:
            spent = self.accounting.spent(self.mechanism, answer.spent, answer.draws)
        # What else came out is part of the answer, and kept with it.
        too = {"released_too": dict(answer.extras)} if answer.extras else {}
        plan = self.as_dict() | too
        return Release(pa.table(columns), complete, self.guarantee, self.at_delta, plan, spent=spent)

    def __repr__(self) -> str:
        from unlisted.query.saying import lines_of  # noqa: PLC0415 - it knows plans

        return "\n".join(lines_of(self))

    def _repr_html_(self) -> str:
        title, *lines = repr(self).split("\n")
        return card(title, lines=lines)


def _by_percent(needed: Mapping[int, int]) -> dict[str, int]:
    return {str(percent): count for percent, count in needed.items()}


def _number_columns(mechanism: Mechanism[Any], answer: Answer, *, by: bool) -> dict[str, pa.Array]:
    ranks = places_in_groups(answer.labels) if by else np.arange(len(answer))
    numbers = {"rank": 1 + ranks} if mechanism.ranks else {}
    if answer.counts is not None:
        numbers["count"] = answer.counts
        interval = mechanism.intervals(answer)
        if interval is not None:
            numbers["low"], numbers["high"] = interval
    return {name: to_arrow(values) for name, values in numbers.items()} | {
        # Means are no whole numbers.
        name: pa.array(values)
        for name, values in answer.columns.items()
    }


_LONGEST_WORDS = 300


def _in_words(asked: Mapping[str, Any]) -> str:
    """Say a question so that whoever asked it knows it again: its kind, columns and condition."""
    k = f" {asked['k']}" if asked.get("k") is not None else ""
    items = f" of {', '.join(asked['items'])}" if asked.get("items") else ""
    by = f" by {asked['by']}" if asked.get("by") is not None else ""
    where = f" where {asked['where']}" if asked.get("where") is not None else ""
    summed = f" with sums of {asked['sum']}" if asked.get("sum") is not None else ""
    said = f"{asked.get('question', 'question')}{k}{items}{by}{summed}{where}"
    return said if len(said) <= _LONGEST_WORDS else f"{said[:_LONGEST_WORDS]}…"
