"""What the owner of a data set lets be asked: how much at once, how much in a day, what, and how bounded.

It stands in the ledger, so that it holds for every server and every shell that asks on the data set. A day is one
in UTC, and what its questions could cost at most is added up: what comes back of a ranking does not make room.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from unlisted.errors import BudgetRefusedError, InvalidArgumentError
from unlisted.ledger.amounts import Amount
from unlisted.privacy.accounting import Accounting
from unlisted.privacy.numbers import whole
from unlisted.query.charging import Charge
from unlisted.query.questions import KINDS

if TYPE_CHECKING:
    from unlisted.ledger.state import DatasetState

STREAM = "stream"
ASKED = (*KINDS, STREAM)
"""What may be asked, by name: every kind of question, and a stream."""


class NotAllowedError(InvalidArgumentError):
    """The owner of a data set does not let a question of this kind, or with this bound, be asked."""


@dataclass(frozen=True)
class Policy:
    """Limits on questions; what is None is not limited. Amounts are exact texts, in what the data set counts."""

    question_loss: str | None = None
    question_delta: str | None = None
    day_loss: str | None = None
    day_delta: str | None = None
    kinds: tuple[str, ...] | None = None
    least_items_per_user: int | None = None

    @classmethod
    def of(
        cls,
        *,
        question: Amount | None = None,
        day: Amount | None = None,
        kinds: tuple[str, ...] | None = None,
        least_items_per_user: int | None = None,
    ) -> Policy | None:
        """Read a policy as an owner says it; None if nothing is limited."""
        for kind in kinds or ():
            if kind not in ASKED:
                raise InvalidArgumentError("kinds", kind, f"one of: {', '.join(ASKED)}")
        if kinds == ():
            raise InvalidArgumentError("kinds", "none", "at least one kind, or left out to allow all")
        if least_items_per_user is not None:
            least_items_per_user = whole("least_items_per_user", least_items_per_user)
        each = (None, None) if question is None else question.texts
        daily = (None, None) if day is None else day.texts
        allowed = None if kinds is None else tuple(dict.fromkeys(kinds))
        made = cls(each[0], each[1], daily[0], daily[1], allowed, least_items_per_user)
        return None if made == cls() else made

    @classmethod
    def from_dict(cls, said: Mapping[str, Any] | None) -> Policy | None:
        """Read what `as_dict` returned."""
        if said is None:
            return None
        kinds = said.get("kinds")
        return cls(**{**said, "kinds": None if kinds is None else tuple(kinds)})

    def as_dict(self) -> dict[str, Any]:
        """Return what is limited as plain values, for the chain and the store."""
        said = {**vars(self), "kinds": None if self.kinds is None else list(self.kinds)}
        return {name: value for name, value in said.items() if value is not None}

    def question(self, accounting: Accounting) -> Amount | None:
        """Return what one question may cost."""
        return _read(self.question_loss, self.question_delta, accounting)

    def day(self, accounting: Accounting) -> Amount | None:
        """Return what the questions of one day may cost together."""
        return _read(self.day_loss, self.day_delta, accounting)


def require_allowed(dataset: DatasetState, charge: Charge) -> None:
    """Refuse a question that the owner does not let be asked, on whatever day. Nothing is charged."""
    policy = dataset.policy
    if policy is None:
        return
    if policy.kinds is not None and charge.kind not in policy.kinds:
        hint = "The owner of the data set allows no other questions. Nothing was charged."
        raise NotAllowedError("question", charge.kind, f"one of: {', '.join(policy.kinds)}", hint)
    least = policy.least_items_per_user
    if least is not None and charge.items_per_user is not None and charge.items_per_user < least:
        hint = "The owner of the data set allows no lower bound. Nothing was charged."
        raise NotAllowedError("items_per_user", charge.items_per_user, f"{least:,} or more", hint)
    most = policy.question(dataset.accounting)
    asked = Amount.charge(charge.ceiling, dataset.accounting)
    if most is not None and not asked.fits(most):
        raise BudgetRefusedError(
            f"The question may cost {_said(asked)}. The owner of the data set allows one question to cost at most "
            f"{_said(most)}. Ask with a smaller ε or δ. Nothing was charged."
        )


def require_room_today(dataset: DatasetState, asked: Amount, day: str) -> None:
    """Refuse a question for which the owner's limit of a day has no room. Nothing is charged."""
    most = None if dataset.policy is None else dataset.policy.day(dataset.accounting)
    if most is None or asked.fits(most - dataset.used_on(day)):
        return
    raise BudgetRefusedError(
        f"The question may cost {_said(asked)}. The owner of the data set allows {_said(most)} a day, of which "
        f"only {_said(most - dataset.used_on(day))} are left on {day}. Ask again tomorrow (UTC). "
        "Nothing was charged."
    )


def foreseen_refusal(dataset: DatasetState, charge: Charge, day: str) -> str | None:
    """Return in which words the policy would refuse a question on a day; None if it would not.

    A question that was answered before is answered again all the same: that costs nothing.
    """
    if dataset.policy is None:
        return None
    try:
        require_allowed(dataset, charge)
        require_room_today(dataset, Amount.charge(charge.ceiling, dataset.accounting), day)
    except (BudgetRefusedError, InvalidArgumentError) as refused:
        return str(refused)
    return None


def policy_lines(policy: Policy | None, accounting: Accounting) -> list[str]:
    """Say a policy in lines."""
    if policy is None:
        return ["any question that fits the budget"]
    question, day = policy.question(accounting), policy.day(accounting)
    lines = [] if question is None else [f"one question may cost at most {_said(question)}"]
    lines += [] if day is None else [f"the questions of one day may cost at most {_said(day)}"]
    lines += [] if policy.kinds is None else [f"only: {', '.join(policy.kinds)}"]
    least = policy.least_items_per_user
    return lines + ([] if least is None else [f"a bound on a user's items is {least:,} or more"])


def today() -> str:
    """Return the day that limits count now."""
    return datetime.now(UTC).date().isoformat()


def _read(loss: str | None, delta: str | None, accounting: Accounting) -> Amount | None:
    return None if loss is None or delta is None else Amount.read(loss, delta, accounting)


def _said(amount: Amount) -> str:
    loss, delta = amount.exact
    return f"{amount.accounting.symbol} = {float(loss):.6g} and δ = {float(delta):.6g}"
