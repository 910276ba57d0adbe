"""Say the accuracy, get the ε: the smallest budget whose plan is as good as somebody wants. Touches no data.

Accuracy grows with ε, so it is found by halving, among decimals of three digits. A choice of mechanism may make
that uneven; what is returned does what was wanted in any case, because its plan was looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.numbers import Number, whole
from unlisted.query.charging import Payer
from unlisted.query.plan import Plan
from unlisted.query.planner import plan_of
from unlisted.query.questions import KINDS
from unlisted.release.release import short_up

_LEAST = Fraction(1, 1000)
_STEPS = 900
"""The decimals of three digits in a decade: 1.00, 1.01, ... 9.99."""
_TRIED = (3 * _STEPS, 4 * _STEPS, 5 * _STEPS)
"""The steps of ε = 1, 10 and 100. Above, nobody is protected who would want to be."""


@dataclass(frozen=True, repr=False)
class SmallestEpsilon:
    """The smallest ε that does what was wanted, and the plan that it gives."""

    epsilon: Fraction
    plan: Plan

    def __repr__(self) -> str:
        return f"ε = {short_up(self.epsilon, 3)} is enough\n{self.plan!r}"

    def _repr_html_(self) -> str:
        return self.plan._repr_html_()


def smallest_epsilon(
    question: str,
    *,
    appears_at: int | None = None,
    within: int | None = None,
    delta: Number | None = None,
    account: Payer | None = None,
    **options: Any,
) -> SmallestEpsilon:
    """Find the smallest ε at which a question is as accurate as wanted.

    Args:
        question: "histogram", "top", "top-histogram", "labels", "users" or "distinct".
        appears_at: an item of so many users is to appear 95 % of the time, also where they have as many items as
            the bound allows.
        within: counts are to be within so many of the bounded count, 95 % of the time.
        delta: the δ of the question, 1e-8 unless said.
        account: the account that will pay. It adds up ρ or μ², so that its plans may need a larger ε.
        options: the other options of the question, such as `items_per_user` and `k`.

    Examples:
        >>> found = ul.smallest_epsilon("histogram", appears_at=100, items_per_user=10)
        >>> found.plan.accuracy.needed[95] <= 100
        True
    """
    if question.replace("_", "-") not in KINDS:
        raise InvalidArgumentError("question", question, f"one of {', '.join(KINDS)}")
    said = {name: value for name, value in options.items() if value is not None}
    for name in ("epsilon", "rho", "mu_squared", "per_item_epsilon"):
        if name in said:
            raise InvalidArgumentError(name, said[name], "left out where an accuracy is given")
    if appears_at is None and within is None:
        hint = "For example: appears_at=100, or within=20."
        raise InvalidArgumentError("appears_at", None, "given, or within", hint)
    wanted = {"appears_at": appears_at, "within": within}
    limits = {name: whole(name, value) for name, value in wanted.items() if value is not None}
    kind = KINDS[question.replace("_", "-")]
    told = {**({"items": ("item",)} if kind.names_items() else {}), **said, "delta": delta}

    def plan_at(epsilon: Fraction) -> Plan:
        return plan_of(kind.read({**told, "epsilon": epsilon}, account), account=account)

    return search(plan_at, limits)


def search(plan_at: Callable[[Fraction], Plan], limits: Mapping[str, int]) -> SmallestEpsilon:
    """Find the smallest ε whose plan keeps within limits; an account that pays may plan in its own way."""

    def planned(step: int) -> SmallestEpsilon:
        epsilon = _LEAST * 10 ** (step // _STEPS) * Fraction(100 + step % _STEPS, 100)
        return SmallestEpsilon(epsilon, plan_at(epsilon))

    low, high, best = -1, -1, None
    for high in _TRIED:
        best = planned(high)
        if _does(best.plan, limits):
            break
        low = high
    else:
        name, limit = next(iter(limits.items()))
        hint = "Ask for less, or bound users to fewer items."
        raise InvalidArgumentError(name, limit, "an accuracy that some ε up to 100 reaches", hint)
    while high - low > 1:
        middle = (low + high) // 2
        tried = planned(middle)
        if _does(tried.plan, limits):
            high, best = middle, tried
        else:
            low = middle
    return best


def _does(plan: Plan, limits: Mapping[str, int]) -> bool:
    """Return whether a plan is as accurate as wanted, for users of as many items as the bound allows."""
    expected = plan.accuracy
    if "within" in limits:
        half = max(expected.half_widths.values(), default=expected.half_width)
        if half is None:
            hint = "Ask for a histogram, or for a ranking with counts."
            raise InvalidArgumentError("within", limits["within"], "left out where no counts are released", hint)
        if half > limits["within"]:
            return False
    if "appears_at" not in limits:
        return True
    if not expected.needed:
        hint = "It is one number, which always appears: say within, as in within=20."
        raise InvalidArgumentError(
            "appears_at", limits["appears_at"], "left out of a question about a total", hint
        )
    return expected.needed[95] <= limits["appears_at"]
