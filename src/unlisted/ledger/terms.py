"""What an account was opened with: its budget and its periods, which never change.

An account's allowance may start anew each day, week, month or year; its lifetime total never does. A period is
named by its calendar name in UTC, such as `2026-11`, and later periods have later names. The ledger's clock never
moves back: each entry is at least as late as the one before, so an allowance cannot be had twice by turning a
machine's clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args

from unlisted.errors import InvalidArgumentError
from unlisted.ledger.amounts import Amount
from unlisted.noise.gaussian.accounting import GAUSSIAN, read_kind
from unlisted.privacy.accounting import ZCDP, Accounting
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import Number, failure_probability, positive, whole
from unlisted.privacy.rounding import round_down

_DIGITS = 10
"""So many digits has the loss that an ε becomes, rounded down: short enough to be read."""

Period = Literal["day", "week", "month", "year"]


def period_of(period: Period, time: datetime) -> str:
    """Return the name of the period that a moment lies in."""
    if period == "week":
        year, week, _ = time.isocalendar()
        return f"{year:04d}-W{week:02d}"
    return time.strftime({"day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}[period])


def read_period(value: str | None) -> Period | None:
    """Read the name of a kind of period."""
    if value is None:
        return None
    for period in get_args(Period):
        if value == period:
            return period  # type: ignore[no-any-return]
    raise InvalidArgumentError("period", value, "day, week, month or year")


@dataclass(frozen=True, init=False)
class ResultsBudget:
    """A budget said as the survey does: k* results at an ε each, and ℓ* questions at a δ each.

    Args:
        results: k*, how many results all questions together may return.
        questions: ℓ*, how many questions there may be.
        epsilon: ε of one result.
        delta: δ of one question.

    Examples:
        >>> ul.ResultsBudget(results=100, questions=10, epsilon="0.1", delta=1e-9).results
        100

    Theorem: k* results cost k*·ε²/8 of ρ (`mechanisms/pay_what_you_get.md`).
    """

    results: int
    questions: int
    epsilon: Fraction
    delta: Fraction

    def __init__(self, *, results: int, questions: int, epsilon: Number, delta: Number) -> None:
        object.__setattr__(self, "results", whole("results", results))
        object.__setattr__(self, "questions", whole("questions", questions))
        object.__setattr__(self, "epsilon", positive("epsilon", epsilon))
        object.__setattr__(self, "delta", failure_probability("delta", delta))

    def amount(self, accounting: Accounting) -> Amount:
        """Return the loss of k* draws, and ℓ*·δ of δ."""
        delta = min(Fraction(1), self.questions * self.delta)
        return Amount.allowance(self.results * accounting.draw_up(self.epsilon), delta, accounting)


AnyBudget = Budget | ResultsBudget


def accounting_of(kind: str | None, budget: AnyBudget) -> Accounting:
    """Return what is counted: what is said, else μ² for a budget in μ², and ρ for any other."""
    if kind is not None:
        return read_kind(kind)
    return GAUSSIAN if isinstance(budget, Budget) and budget.mu_squared is not None else ZCDP


def amount_of(budget: AnyBudget, accounting: Accounting = ZCDP) -> Amount:
    """Return a budget as an amount of what is counted, rounded down.

    One in (ε, δ) becomes the largest loss that is (ε, δ)-DP: half of δ is for thresholds, half for the conversion.
    """
    if isinstance(budget, ResultsBudget):
        return budget.amount(accounting)
    if not isinstance(budget, Budget):
        raise InvalidArgumentError("budget", budget, "a budget such as ul.Budget(epsilon=1, delta=1e-6)")
    if budget.epsilon is not None:
        half = budget.delta / 2
        in_total = round_down(accounting.loss_down(budget.epsilon, half), _DIGITS)
        return _some(budget, Amount.allowance(in_total, half, accounting))
    loss: Fraction | None = getattr(budget, accounting.option)
    if loss is not None:
        return _some(budget, Amount.allowance(loss, budget.delta, accounting))
    other = "mu_squared" if budget.rho is None else "rho"
    raise InvalidArgumentError(
        "budget",
        f"{other} = {float(getattr(budget, other)):g}",
        f"given in epsilon or {accounting.option}",
        f"An account of kind {accounting.name!r} adds up {accounting.symbol} and δ.",
    )


def _some(budget: Budget, amount: Amount) -> Amount:
    """Refuse a budget of which nothing is left when it is rounded down: no question would ever fit."""
    if amount.loss > 0:
        return amount
    said = {name: getattr(budget, name) for name in ("epsilon", "rho", "mu_squared")}
    name, value = next((name, value) for name, value in said.items() if value is not None)
    raise InvalidArgumentError(name, float(value), f"large enough for some {amount.accounting.symbol}")


@dataclass(frozen=True)
class Terms:
    """What one account may spend: in its whole life, and in each period if it has one. Losses are exact texts."""

    loss: str
    delta: str
    period: Period | None = None
    period_loss: str | None = None
    period_delta: str | None = None
    result_epsilon: str | None = None
    question_delta: str | None = None
    kind: str = ZCDP.name

    @classmethod
    def of(
        cls,
        budget: AnyBudget,
        period: str | None = None,
        period_budget: AnyBudget | None = None,
        accounting: Accounting = ZCDP,
    ) -> Terms:
        """Read the terms as a caller says them."""
        each = read_period(period)
        if (each is None) != (period_budget is None):
            raise InvalidArgumentError("period", period, "given together with an allowance for each period")
        loss, delta = amount_of(budget, accounting).texts
        each_loss, each_delta = None, None
        if period_budget is not None:
            each_loss, each_delta = amount_of(period_budget, accounting).texts
        said = budget if isinstance(budget, ResultsBudget) else None
        return cls(
            loss,
            delta,
            each,
            each_loss,
            each_delta,
            None if said is None else str(said.epsilon),
            None if said is None else str(said.delta),
            accounting.name,
        )

    @cached_property
    def accounting(self) -> Accounting:
        """What the account counts."""
        return read_kind(self.kind)

    @cached_property
    def total(self) -> Amount:
        """The lifetime total."""
        return Amount.read(self.loss, self.delta, self.accounting)

    @cached_property
    def allowance(self) -> Amount | None:
        """What each period allows, if there are periods."""
        if self.period_loss is None or self.period_delta is None:
            return None
        return Amount.read(self.period_loss, self.period_delta, self.accounting)

    def __str__(self) -> str:
        """Say the terms in words that fit a program and a shell."""
        counted = self.accounting.option
        each, priced = "", ""
        if self.period:
            each = f", {counted} {self.period_loss} and delta {self.period_delta} each {self.period}"
        if self.result_epsilon is not None and self.question_delta is not None:
            epsilon, delta = float(Fraction(self.result_epsilon)), float(Fraction(self.question_delta))
            priced = f", at epsilon {epsilon:g} a result and delta {delta:g} a question"
        return f"{counted} {self.loss} and delta {self.delta}{each}{priced}"

    def as_dict(self) -> dict[str, Any]:
        """Return the terms as plain values, for the store and the chain; of the kind that was first, no name."""
        counted = self.accounting.option
        named = {"loss": counted, "period_loss": f"period_{counted}"}
        said = {named.get(name, name): value for name, value in asdict(self).items() if value is not None}
        return said if self.kind != ZCDP.name else {name: value for name, value in said.items() if name != "kind"}

    @classmethod
    def from_dict(cls, said: Mapping[str, Any]) -> Terms:
        """Read what `as_dict` returned, in any version."""
        if not isinstance(said, Mapping):
            raise TypeError("The terms of an account are names and values.")
        counted = read_kind(said.get("kind", ZCDP.name)).option
        named = {counted: "loss", f"period_{counted}": "period_loss"}
        return cls(**{named.get(name, name): value for name, value in said.items()})
