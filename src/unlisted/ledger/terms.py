"""What an account was opened with: its budget and its periods, which never change.

An account's allowance may start anew each day, week, month or year; its lifetime total never does. A period is
named by its calendar name in UTC, such as `2026-11`, and later periods have later names. The ledger's clock never
moves back: each entry is at least as late as the one before, so an allowance cannot be had twice by turning a
machine's clock.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args

from unlisted.errors import InvalidArgumentError
from unlisted.ledger.amounts import Amount
from unlisted.privacy.convert import rho_cks_down
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import Number, failure_probability, positive, whole

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
    """A budget said as the survey does: k* results at an ε each, and ℓ* questions at a δ each."""

    results: int
    questions: int
    epsilon: Fraction
    delta: Fraction

    def __init__(self, *, results: int, questions: int, epsilon: Number, delta: Number) -> None:
        object.__setattr__(self, "results", whole("results", results))
        object.__setattr__(self, "questions", whole("questions", questions))
        object.__setattr__(self, "epsilon", positive("epsilon", epsilon))
        object.__setattr__(self, "delta", failure_probability("delta", delta))

    @property
    def amount(self) -> Amount:
        """k*·ε²/8 of ρ and ℓ*·δ of δ."""
        return Amount.allowance(self.results * self.epsilon**2 / 8, min(Fraction(1), self.questions * self.delta))


AnyBudget = Budget | ResultsBudget


def amount_of(budget: AnyBudget) -> Amount:
    """Return a budget as an amount, rounded down. A ledger counts in ρ: one in ε is refused, with the way out."""
    if isinstance(budget, ResultsBudget):
        return budget.amount
    if not isinstance(budget, Budget):
        raise InvalidArgumentError("budget", budget, "a budget such as ul.Budget(rho=0.5, delta=1e-6)")
    if budget.rho is not None:
        return Amount.allowance(budget.rho, budget.delta)
    half = budget.delta / 2
    rho = float(rho_cks_down(budget.epsilon or 0, half))
    raise InvalidArgumentError(
        "budget",
        f"epsilon = {float(budget.epsilon or 0):g}",
        "given in rho",
        f"An account adds up ρ and δ. For this ε and δ say rho={rho:.4g}, delta={float(half):.4g} (in a shell "
        f"--rho {rho:.4g} --delta {float(half):.4g}): half of δ for thresholds, half for the conversion.",
    )


@dataclass(frozen=True)
class Terms:
    """What one account may spend: in its whole life, and in each period if it has one."""

    rho: str
    delta: str
    period: Period | None = None
    period_rho: str | None = None
    period_delta: str | None = None
    result_epsilon: str | None = None
    question_delta: str | None = None

    @classmethod
    def of(cls, budget: AnyBudget, period: str | None = None, period_budget: AnyBudget | None = None) -> Terms:
        """Read the terms as a caller says them."""
        kind = read_period(period)
        if (kind is None) != (period_budget is None):
            raise InvalidArgumentError("period", period, "given together with an allowance for each period")
        rho, delta = amount_of(budget).texts
        each_rho, each_delta = (None, None) if period_budget is None else amount_of(period_budget).texts
        said = budget if isinstance(budget, ResultsBudget) else None
        return cls(
            rho,
            delta,
            kind,
            each_rho,
            each_delta,
            None if said is None else str(said.epsilon),
            None if said is None else str(said.delta),
        )

    @cached_property
    def total(self) -> Amount:
        """The lifetime total."""
        return Amount.read(self.rho, self.delta)

    @cached_property
    def allowance(self) -> Amount | None:
        """What each period allows, if there are periods."""
        if self.period_rho is None or self.period_delta is None:
            return None
        return Amount.read(self.period_rho, self.period_delta)

    def __str__(self) -> str:
        """Say the terms in words that fit a program and a shell."""
        each = f", rho {self.period_rho} and delta {self.period_delta} each {self.period}" if self.period else ""
        priced = ""
        if self.result_epsilon is not None and self.question_delta is not None:
            epsilon, delta = float(Fraction(self.result_epsilon)), float(Fraction(self.question_delta))
            priced = f", at epsilon {epsilon:g} a result and delta {delta:g} a question"
        return f"rho {self.rho} and delta {self.delta}{each}{priced}"

    def as_dict(self) -> dict[str, Any]:
        """Return the terms as plain values, for the store and the chain."""
        return {name: value for name, value in asdict(self).items() if value is not None}
