"""A plan: a question with a mechanism chosen and calibrated. Making one touches no data.

The choice is a function of the question, its bounds and the budget, never of the data or of a result. Printing a
plan says what it costs, how good it will be and why it is this mechanism; `run()` is the only way from it to the
data.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from unlisted import intervals
from unlisted.accuracy import Accuracy, Mechanism, accuracy_of
from unlisted.bills import Bill, Payer, require_payer
from unlisted.errors import ChargedFailureError, InvalidArgumentError
from unlisted.explaining import RANKINGS, name_of, noise_of, protected_by, threshold_of, title_of
from unlisted.mechanisms.answer import Answer
from unlisted.mechanisms.counts import BoundedCounts
from unlisted.mechanisms.label_ranking import LabelRanking
from unlisted.mechanisms.profile import CountProfile
from unlisted.mechanisms.scales import Scales
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import TopK
from unlisted.mechanisms.whole_numbers import to_arrow
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.rehearsals import REHEARSED
from unlisted.releases import Release, frozen, guarantee_as_dict, item_columns, promise, short_up, shown_up, thawed
from unlisted.tables.cancelling import rehearsing
from unlisted.tables.failures import charged, uncharged

if TYPE_CHECKING:
    import altair

Counted = Callable[[Mechanism], AbstractContextManager[BoundedCounts | CountProfile | Scales]]
"""What gives a mechanism its counts, or scales for labels, inside one unchanging state of the data."""


@dataclass(frozen=True)
class Data:
    """Where a plan will get its counts: whose, the item columns, and two steps that are kept apart.

    `user` is the column that says whose row it is, None for counts that were made elsewhere. `source` is what the
    rows are called in a ledger. `check` looks at the schema and may refuse, at no cost; `counted` touches data, so
    whatever fails in it is charged. `types` is what text columns were declared to hold: other types, other labels.
    `is_typed` is false where the type of the labels is only known from the labels. `rehearsal` is the same without
    rows; None where there is nothing to rehearse here, because it is without rows itself or a service has them.
    """

    user: str | None
    source: str
    items: tuple[str, ...]
    check: Callable[[], None]
    counted: Counted
    rehearsal: Rehearsal | None
    types: Mapping[str, str] = field(default_factory=dict)
    is_typed: bool = True


@dataclass(frozen=True)
class Rehearsal:
    """How a question can be answered from no rows before it is answered from all.

    `data` looks at the schema anew, may refuse like `Data.check`, and returns the same data without rows.
    `signature` is what else decides how that ends; None if nobody can tell.
    """

    signature: Callable[[], Hashable | None]
    data: Callable[[], Data]


@dataclass(frozen=True, repr=False)
class Plan:
    """A question that is ready to run.

    `asked` is the question as plain values (kind, bounds, predicate), for the plan's text and the receipt.
    `data` is None for a preview, which cannot run. `account` is who pays; without one nobody keeps the books.
    """

    mechanism: Mechanism
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
        return accuracy_of(self.mechanism)

    @property
    def complete(self) -> bool | None:
        """Whether the answer will be all there is to say; None for a ranking, of which only the answer tells."""
        return None if isinstance(self.mechanism, RANKINGS) else not isinstance(self.mechanism, TopHistogram)

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
        threshold = threshold_of(self.mechanism)
        at_best = {} if expected.at_best is None else {"users_needed_of_one_item": _by_percent(expected.at_best)}
        return {
            "mechanism": name_of(self.mechanism),
            "threshold": threshold if isinstance(threshold, int) else shown_up(threshold),
            "noise": noise_of(self.mechanism),
            **thawed(self.asked),
            "half_width_95": expected.half_width,
            "users_needed": _by_percent(expected.needed),
            "users_needed_above_cut": expected.above_cut,
            **at_best,
            "reason": self.reason,
        }

    def chart(self) -> altair.LayerChart:
        """Return a chart of the chance to appear against the number of users who share an item."""
        from unlisted.charts import plan_chart  # noqa: PLC0415 - an extra

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
        self.data.check()
        if self.data.rehearsal is not None:
            self._rehearse(self.data, self.data.rehearsal, idempotency_key)
        if self.account is not None:
            return self._paid(self.data, self.account, idempotency_key)
        release = self._answered(self.data)
        if release is None:
            # Raised anew, out here: neither the cause nor a frame that saw data hangs on what the caller gets.
            raise ChargedFailureError
        return release

    def bill(self, data: Data) -> Bill:
        """Return what the question may cost, and its name: equal questions have equal names."""
        said = [thawed(self.asked), repr(self.mechanism), str(self.at_delta), dict(data.types)]
        asked = json.dumps(said, sort_keys=True)
        # Where labels are found first, they cost something too: what is left is no number of results.
        ranking = self.mechanism if isinstance(self.mechanism, TopK) else None
        return Bill(
            ceiling=self.guarantee,
            question=hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest(),
            unit=data.user or "user",
            adjacency=self.asked["adjacency"],
            source=data.source,
            result=None if ranking is None else ranking.draw_price(),
            result_epsilon=None if ranking is None else ranking.epsilon,
        )

    def _paid(self, data: Data, account: Payer, idempotency_key: str | None) -> Release:
        """Answer on an account: the release that comes back is the one that the ledger keeps."""

        def deliver() -> tuple[bytes, Guarantee]:
            release = self._answered(data)
            if release is None:
                raise ChargedFailureError
            return release.to_bytes(), release.guarantee

        paid = account.pay(self.bill(data), deliver, idempotency_key)
        return replace(Release.from_bytes(paid.release), stamp=paid.stamp)

    def _rehearse(self, data: Data, rehearsal: Rehearsal, idempotency_key: str | None) -> None:
        """Answer the question from no rows, unless that went well before, and throw the answer away."""
        with uncharged(), rehearsing():
            signature = rehearsal.signature()
            name = None if signature is None else (signature, data.user, repr(self.mechanism), str(self.asked))
            if name in REHEARSED or self._will_be_repeated(data, idempotency_key):
                return
            empty = rehearsal.data()
            with empty.counted(self.mechanism) as counts:
                # Whether labels are few or many, they must come out.
                ways = (counts.large, counts) if isinstance(counts, CountProfile) else (counts,)
                answers = [self.mechanism.release(one) for one in ways]  # type: ignore[arg-type]
            for answer in answers:
                Release.from_bytes(self._released(answer, empty).to_bytes())
        if name is not None:
            REHEARSED.add(name)

    def _will_be_repeated(self, data: Data, idempotency_key: str | None) -> bool:
        """Return whether no data will be touched: a stored answer does not need a source that works."""
        return self.account is not None and self.account.has_answered(self.bill(data), idempotency_key)

    def _answered(self, data: Data) -> Release | None:
        """Count and release; None if that failed, which the owner's log then tells about."""
        try:
            with charged():
                with data.counted(self.mechanism) as counts:
                    answer = self.mechanism.release(counts)  # type: ignore[arg-type]
                return self._released(answer, data)
        except ChargedFailureError:
            return None

    def _released(self, answer: Answer, data: Data) -> Release:
        complete = not answer.stopped if self.complete is None else self.complete
        # An empty answer looks the same whatever the labels are that it does not show.
        labels = answer.labels if len(answer) or data.is_typed else pa.nulls(0, pa.string())
        columns = {**item_columns(labels, data.items), **_number_columns(self.mechanism, answer)}
        # Only an account that reserved the ceiling first may hand the rest back.
        cost = self.guarantee if self.account is None else answer.spent
        return Release(pa.table(columns), complete, cost, self.at_delta, self.as_dict())

    def __repr__(self) -> str:
        return "\n".join(_lines(self))


def _by_percent(needed: Mapping[int, int]) -> dict[str, int]:
    return {str(percent): count for percent, count in needed.items()}


def _number_columns(mechanism: Mechanism, answer: Answer) -> dict[str, pa.Array]:
    columns = {}
    if isinstance(mechanism, RANKINGS):
        columns["rank"] = to_arrow(np.arange(1, len(answer) + 1))
    if answer.counts is None:
        return columns
    if isinstance(mechanism, RANKINGS):
        assert mechanism.counts_law is not None  # counts come from it
        low, high = intervals.plain(mechanism.counts_law, answer.counts)
    else:
        assert isinstance(mechanism, ThresholdHistogram | TopHistogram)  # of the rest, they alone have counts
        over = mechanism.threshold if answer.noisy_threshold is None else answer.noisy_threshold
        low, high = intervals.given_shown(mechanism.law, over, answer.counts)
    numbers = {"count": answer.counts, "low": low, "high": high}
    return {**columns, **{name: to_arrow(values) for name, values in numbers.items()}}


def _lines(plan: Plan) -> list[str]:
    """Say a plan to a person."""
    mechanism, expected = plan.mechanism, plan.accuracy
    threshold = threshold_of(mechanism)
    shown = f"{threshold:,}" if isinstance(threshold, int) else short_up(threshold, 6)
    lines = [
        f"Plan: {title_of(mechanism)}",
        promise(plan.guarantee, plan.at_delta),
        f"Protects: {_protects(protected_by(mechanism), plan.asked)}",
        f"Threshold: {shown}    Noise: {noise_of(mechanism)}",
        _needs(expected, plan.asked),
    ]
    if expected.half_width is not None:
        counted = "true" if isinstance(mechanism, LabelRanking) else "bounded"
        lines.append(f"Counts are within ±{expected.half_width:,} of the {counted} count, 95 % of the time")
    lines.append(f"Why: {plan.reason}")
    if plan.account is not None:
        only = ", which pays only for what comes back" if isinstance(mechanism, RANKINGS) else ""
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
    best = ", ".join(f"{count:,} ({percent} %)" for percent, count in expected.at_best.items())
    return f"To appear, an item needs users of {asked['items_per_user']:,} items each: {needed}; of one: {best}"


def _protects(sensitivity: Sensitivity, asked: Mapping[str, Any]) -> str:
    items = "any number of items" if sensitivity.items is None else f"at most {sensitivity.items:,} items"
    each = f", {sensitivity.count} rows of each" if asked["count"] == "rows" else ""
    neighbours = "present or absent" if sensitivity.adjacency == "add_remove" else "replaced by another"
    return f"one user with {items}{each}, {neighbours}"
