"""A plan: a question with a mechanism chosen and calibrated. Making one touches no data.

The choice is a function of the question, its bounds and the budget, never of the data or of a result. Printing a
plan says what it costs, how good it will be and why it is this mechanism; `run()` is the only way from it to the
data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from unlisted import intervals
from unlisted.accuracy import Accuracy, Mechanism, accuracy_of
from unlisted.errors import ChargedFailureError, InvalidArgumentError
from unlisted.mechanisms.answer import Answer
from unlisted.mechanisms.counts import BoundedCounts
from unlisted.mechanisms.profile import CountProfile
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import TopK
from unlisted.mechanisms.whole_numbers import to_arrow
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.releases import Release, frozen, guarantee_as_dict, promise, short_up, shown_up, thawed
from unlisted.tables.failures import charged

if TYPE_CHECKING:
    import altair

Counted = Callable[[Mechanism], AbstractContextManager[BoundedCounts | CountProfile]]
"""What gives a mechanism its counts, inside one unchanging state of the data."""


@dataclass(frozen=True)
class Data:
    """Where a plan will get its counts: whose, the item columns, and two steps that are kept apart.

    `user` is the column that says whose row it is, None for counts that were made elsewhere. `check` looks at the
    schema and may refuse, at no cost; `counted` touches data, so whatever fails in it is charged.
    """

    user: str | None
    items: tuple[str, ...]
    check: Callable[[], None]
    counted: Counted


@dataclass(frozen=True, repr=False)
class Plan:
    """A question that is ready to run.

    `asked` is the question as plain values (kind, bounds, predicate), for the plan's text and the receipt.
    `data` is None for a preview, which cannot run.
    """

    mechanism: Mechanism
    reason: str
    at_delta: Fraction
    asked: Mapping[str, Any]
    data: Data | None = field(compare=False)

    def __post_init__(self) -> None:
        # What a receipt says was asked must be what was asked.
        object.__setattr__(self, "asked", frozen(self.asked))

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
        return None if isinstance(self.mechanism, TopK) else isinstance(self.mechanism, ThresholdHistogram)

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
        return {
            "mechanism": _NAMES[type(self.mechanism)][0],
            "threshold": _threshold(self.mechanism),
            "noise": _noise(self.mechanism),
            **thawed(self.asked),
            "half_width_95": expected.half_width,
            "users_needed": {str(percent): count for percent, count in expected.needed.items()},
            "users_needed_above_cut": expected.above_cut,
            "reason": self.reason,
        }

    def chart(self) -> altair.LayerChart:
        """Return a chart of the chance to appear against the number of users who share an item."""
        from unlisted.charts import plan_chart  # noqa: PLC0415 - an extra

        return plan_chart(self)

    def run(self) -> Release:
        """Touch the data, once, and release the answer."""
        if self.data is None:
            raise InvalidArgumentError(
                "plan", "a preview", "a plan made on a table", 'Say ul.table("…", user="…").histogram(…) instead.'
            )
        self.data.check()
        release = self._answered(self.data)
        if release is None:
            # Raised anew, out here: neither the cause nor a frame that saw data hangs on what the caller gets.
            raise ChargedFailureError
        return release

    def _answered(self, data: Data) -> Release | None:
        """Count and release; None if that failed, which the owner's log then tells about."""
        try:
            with charged():
                with data.counted(self.mechanism) as counts:
                    answer = self.mechanism.release(counts)  # type: ignore[arg-type]
                return self._released(answer, data.items)
        except ChargedFailureError:
            return None

    def _released(self, answer: Answer, items: tuple[str, ...]) -> Release:
        complete = not answer.stopped if self.complete is None else self.complete
        columns = {**_item_columns(answer.labels, items), **_number_columns(self.mechanism, answer)}
        return Release(pa.table(columns), complete, self.guarantee, self.at_delta, self.as_dict())

    def __repr__(self) -> str:
        return "\n".join(_lines(self))


_NAMES: dict[type[Mechanism], tuple[str, str]] = {
    ThresholdHistogram: ("threshold_histogram", "threshold histogram (Algorithm 1)"),
    TopHistogram: ("top_histogram", "top histogram (Algorithm 2)"),
    TopK: ("top_k", "ranked top k (Algorithm 3)"),
}


def _threshold(mechanism: Mechanism) -> int | float:
    return mechanism.threshold if isinstance(mechanism.threshold, int) else shown_up(mechanism.threshold)


def _noise(mechanism: Mechanism) -> str:
    if not isinstance(mechanism, TopK):
        return str(mechanism.law)
    gumbel = f"Gumbel, scale {float(mechanism.ranking.sensitivity.count / mechanism.epsilon):.6g}"
    return gumbel if mechanism.counts_law is None else f"{gumbel}; counts: {mechanism.counts_law}"


def _item_columns(labels: pa.Array, items: tuple[str, ...]) -> dict[str, pa.Array]:
    """Name the columns of released labels; several item columns came as a struct."""
    if len(items) == 1:
        return {items[0]: labels}
    if not pa.types.is_struct(labels.type):
        # Counts from elsewhere may be an empty list, which has no type.
        return {name: pa.nulls(0, pa.string()) for name in items}
    return dict(zip(items, labels.flatten(), strict=True))


def _number_columns(mechanism: Mechanism, answer: Answer) -> dict[str, pa.Array]:
    columns = {}
    if isinstance(mechanism, TopK):
        columns["rank"] = to_arrow(np.arange(1, len(answer) + 1))
    if answer.counts is None:
        return columns
    if isinstance(mechanism, TopK):
        assert mechanism.counts_law is not None  # counts come from it
        low, high = intervals.plain(mechanism.counts_law, answer.counts)
    else:
        over = mechanism.threshold if answer.noisy_threshold is None else answer.noisy_threshold
        low, high = intervals.given_shown(mechanism.law, over, answer.counts)
    numbers = {"count": answer.counts, "low": low, "high": high}
    return {**columns, **{name: to_arrow(values) for name, values in numbers.items()}}


def _lines(plan: Plan) -> list[str]:
    """Say a plan to a person."""
    mechanism, expected = plan.mechanism, plan.accuracy
    sensitivity = mechanism.ranking.sensitivity if isinstance(mechanism, TopK) else mechanism.sensitivity
    needed = ", ".join(f"{count:,} ({percent} %)" for percent, count in expected.needed.items())
    above = " beyond the first count left out" if expected.above_cut else ""
    threshold = mechanism.threshold
    shown = f"{threshold:,}" if isinstance(threshold, int) else short_up(threshold, 6)
    lines = [
        f"Plan: {_NAMES[type(mechanism)][1]}",
        promise(plan.guarantee, plan.at_delta),
        f"Protects: {_protects(sensitivity, plan.asked)}",
        f"Threshold: {shown}    Noise: {_noise(mechanism)}",
        f"To appear, an item needs {plan.asked['count']}{above}: {needed}",
    ]
    if expected.half_width is not None:
        lines.append(f"Counts are within ±{expected.half_width:,} of the bounded count, 95 % of the time")
    lines.append(f"Why: {plan.reason}")
    if plan.data is None:
        lines.append("A preview: no data was named, none was touched.")
    return lines


def _protects(sensitivity: Sensitivity, asked: Mapping[str, Any]) -> str:
    items = "any number of items" if sensitivity.items is None else f"at most {sensitivity.items:,} items"
    each = f", {sensitivity.count} rows of each" if asked["count"] == "rows" else ""
    neighbours = "present or absent" if sensitivity.adjacency == "add_remove" else "replaced by another"
    return f"one user with {items}{each}, {neighbours}"
