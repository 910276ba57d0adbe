"""A plan: a question with a mechanism chosen and calibrated. Making one touches no data.

The choice is a function of the question, its bounds and the budget, never of the data or of a result. Printing a
plan says what it costs, how good it will be and why it is this mechanism; `run()` is the only way from it to the
data.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from unlisted.counts.count_profile import forms_of
from unlisted.counts.whole_numbers import to_arrow
from unlisted.errors import ChargedFailureError, InvalidArgumentError, UnlistedError
from unlisted.mechanisms.mechanism import Accuracy, Answer, Mechanism
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.query.charging import Bill, Payer, require_payer
from unlisted.query.data import REHEARSED, Data
from unlisted.release.release import (
    Release,
    frozen,
    guarantee_as_dict,
    item_columns,
    promise,
    short_up,
    shown_up,
    thawed,
)
from unlisted.tables.cancelling import rehearsing
from unlisted.tables.failures import charged, uncharged
from unlisted.tables.interrupts import outcome_of

if TYPE_CHECKING:
    import altair

_UNPAID = "no account pays, so nothing was charged"


@dataclass(frozen=True, repr=False)
class Plan:
    """A question that is ready to run.

    `asked` is the question as plain values (kind, bounds, predicate), for the plan's text and the receipt.
    `data` is None for a preview, which cannot run. `account` is who pays; without one nobody keeps the books.
    """

    mechanism: Mechanism[Any]
    reason: str
    at_delta: Fraction
    asked: Mapping[str, Any]
    data: Data | None = field(compare=False)
    account: Payer | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        # What a receipt says was asked must be what was asked.
        object.__setattr__(self, "asked", frozen(self.asked))

    def paid_by(self, account: Payer | None) -> Plan:
        """Return the same plan, paid by an account of a ledger; None leaves it without one."""
        return replace(self, account=require_payer(account))

    @property
    def guarantee(self) -> Guarantee:
        """The ceiling of what running the plan costs."""
        return self.mechanism.guarantee()

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
        described = self.mechanism.describe()
        threshold = described.threshold
        at_best = {} if expected.at_best is None else {"users_needed_of_one_item": _by_percent(expected.at_best)}
        return {
            "mechanism": described.name,
            "threshold": threshold if isinstance(threshold, int) else shown_up(threshold),
            "noise": described.noise,
            **thawed(self.asked),
            "half_width_95": expected.half_width,
            "users_needed": _by_percent(expected.needed),
            "users_needed_above_cut": expected.above_cut,
            **at_best,
            **_where_users_differ(expected),
            "reason": self.reason,
        }

    def chart(self) -> altair.LayerChart:
        """Return a chart of the chance to appear against the number of users who share an item."""
        from unlisted.release.charts import plan_chart  # noqa: PLC0415 - an extra

        return plan_chart(self)

    def run(self, *, idempotency_key: str | None = None) -> Release:
        """Touch the data, once, and release the answer.

        With an account, the ceiling is reserved first and what was really used is settled after. The key names
        this one request: asked again with it, the first answer comes back and nothing more is charged.

        Before that the question is rehearsed, from its statements to the bytes of a release, on no rows: what
        fails whatever the rows are is refused there and costs nothing.
        """
        if self.data is None:
            raise InvalidArgumentError(
                "plan", "a preview", "a plan made on a table", 'Say ul.table("…", user="…").histogram(…) instead.'
            )
        if self.account is None and idempotency_key is not None:
            hint = "Without an account nothing is kept, so nothing can be asked again."
            raise InvalidArgumentError("idempotency_key", idempotency_key, "given with an account", hint)
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

    def bill(self, data: Data) -> Bill:
        """Return what the question may cost, and its name: equal questions have equal names."""
        said = [thawed(self.asked), self.mechanism.encoding(), str(self.at_delta), dict(data.types)]
        asked = json.dumps(said, sort_keys=True)
        result = self.mechanism.result_price()
        return Bill(
            ceiling=self.guarantee,
            question=hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest(),
            unit=data.user or "user",
            adjacency=self.asked["adjacency"],
            source=data.source,
            result=None if result is None else result.guarantee,
            result_epsilon=None if result is None else result.epsilon,
        )

    def _paid(self, data: Data, account: Payer, idempotency_key: str | None) -> Release:
        """Answer on an account: the release that comes back is the one that the ledger keeps."""

        def deliver() -> tuple[bytes, Guarantee]:
            release = self._answered(data)
            if isinstance(release, BaseException):
                raise release
            assert release.spent is not None  # an account pays
            return release.to_bytes(), release.spent

        paid = account.pay(self.bill(data), deliver, idempotency_key)
        # The question's name holds the mechanism: what answered it before promised the same. A release of
        # version 0.1 does not say it itself.
        return replace(Release.from_bytes(paid.release, stamp=paid.stamp), guarantee=self.guarantee)

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
        return self.account is not None and self.account.has_answered(self.bill(data), idempotency_key)

    def _answered(self, data: Data) -> Release | BaseException:
        """Count and release, or return what came in between: Ctrl-C, or a failure; its cause is the owner's."""

        def answer() -> Release:
            with charged():
                return self._released(self.mechanism.run(data.counts), data)

        return outcome_of(answer)

    def _released(self, answer: Answer, data: Data) -> Release:
        complete = not answer.stopped if self.complete is None else self.complete
        # An empty answer looks the same whatever the labels are that it does not show.
        labels = answer.labels if len(answer) or data.is_typed else pa.nulls(0, pa.string())
        columns = {**item_columns(labels, data.items), **_number_columns(self.mechanism, answer)}
        # Only an account that reserved the ceiling first may hand the rest back, and it counts ρ and δ alone.
        spent = None if self.account is None else Guarantee(answer.spent.rho, answer.spent.delta)
        # What else came out is part of the answer, and kept with it.
        too = {"released_too": dict(answer.extras)} if answer.extras else {}
        plan = self.as_dict() | too
        return Release(pa.table(columns), complete, self.guarantee, self.at_delta, plan, spent=spent)

    def __repr__(self) -> str:
        return "\n".join(_lines(self))


def _by_percent(needed: Mapping[int, int]) -> dict[str, int]:
    return {str(percent): count for percent, count in needed.items()}


def _where_users_differ(expected: Accuracy) -> dict[str, Any]:
    """Return what an item needs, and how wide intervals are, where that depends on how many items users have."""
    found: dict[str, Any] = {}
    if expected.between:
        found["users_needed_by_items"] = {str(n): _by_percent(needed) for n, needed in expected.between.items()}
    if expected.half_widths:
        found["half_widths_95"] = _by_percent(expected.half_widths)
    return found


def _number_columns(mechanism: Mechanism[Any], answer: Answer) -> dict[str, pa.Array]:
    numbers = {"rank": np.arange(1, len(answer) + 1)} if mechanism.ranks else {}
    if answer.counts is not None:
        numbers["count"] = answer.counts
        interval = mechanism.intervals(answer)
        if interval is not None:
            numbers["low"], numbers["high"] = interval
    return {name: to_arrow(values) for name, values in numbers.items()}


def _lines(plan: Plan) -> list[str]:
    """Say a plan to a person."""
    mechanism, expected = plan.mechanism, plan.accuracy
    described = mechanism.describe()
    threshold = described.threshold
    shown = f"{threshold:,}" if isinstance(threshold, int) else short_up(threshold, 6)
    lines = [
        f"Plan: {described.title}",
        promise(plan.guarantee, plan.at_delta),
        f"Protects: {_protects(mechanism.protects(), plan.asked)}",
        f"Threshold: {shown}    Noise: {described.noise}",
        _needs(expected, plan.asked),
    ]
    if expected.half_widths:
        widths = ", ".join(f"±{width:,} ({n:,})" for n, width in expected.half_widths.items())
        lines.append(f"Counts, 95 % of the time, where users of so many found items count in full: {widths}")
    elif expected.half_width is not None:
        counted = "bounded" if mechanism.counts_are_bounded else "true"
        lines.append(f"Counts are within ±{expected.half_width:,} of the {counted} count, 95 % of the time")
    lines.append(f"Why: {plan.reason}")
    if plan.account is not None:
        only = ", charged for the draws that are made" if mechanism.ranks else ""
        lines.append(f"Paid by: the account {plan.account.name!r}{only}")
    if plan.data is None:
        lines.append("A preview: no data was named, none was touched.")
    return lines


def _needs(expected: Accuracy, asked: Mapping[str, Any]) -> str:
    """Say how many users must share an item for it to appear."""
    needed = ", ".join(f"{count:,} ({percent} %)" for percent, count in expected.needed.items())
    if expected.at_best is None or asked["items_per_user"] == 1:
        above = " beyond the first count left out" if expected.above_cut else ""
        return f"To appear, an item needs {asked['count']}{above}: {needed}"
    most = asked.get("items_looked_at") or asked["items_per_user"]
    others = {f"{n:,}": one for n, one in expected.between.items()} | {"one": expected.at_best}
    said = "; ".join(
        f"of {n}: {', '.join(f'{count:,} ({percent} %)' for percent, count in one.items())}"
        for n, one in others.items()
    )
    return f"To appear, an item needs users of {most:,} items each: {needed}; {said}"


def _protects(sensitivity: Sensitivity, asked: Mapping[str, Any]) -> str:
    items = "any number of items" if sensitivity.items is None else f"at most {sensitivity.items:,} items"
    each = f", {sensitivity.count} rows of each" if asked["count"] == "rows" else ""
    neighbours = "present or absent" if sensitivity.adjacency == "add_remove" else "replaced by another"
    return f"one user with {items}{each}, {neighbours}"
