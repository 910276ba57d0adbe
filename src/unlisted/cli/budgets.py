"""What the ledger's verbs share: where the ledger is, how a budget is said, and how a balance is shown."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unlisted.cli.options import BUDGET_PANEL, FormatChoice
from unlisted.errors import InvalidArgumentError
from unlisted.ledger.amounts import Amount
from unlisted.ledger.terms import AnyBudget, ResultsBudget
from unlisted.privacy.guarantee import Budget, Guarantee
from unlisted.releases import shown_up

if TYPE_CHECKING:
    from unlisted.ledger.account import Balance

LedgerOption = Annotated[
    str, typer.Option(metavar="URL", help="The ledger: a file, or a PostgreSQL URL.", envvar="UNLISTED_LEDGER")
]
FormatOption = Annotated[FormatChoice, typer.Option(help="table or json.")]

_BAR = 30


@dataclass(frozen=True)
class AllowanceOptions:
    """What may be spent: ρ and δ, or so many results and questions at an ε and a δ."""

    rho: Annotated[
        str | None, typer.Option(metavar="R", help="The ρ that may be spent.", rich_help_panel=BUDGET_PANEL)
    ] = None
    delta: Annotated[
        str | None,
        typer.Option(
            metavar="D",
            help="The δ that may be spent; with --results, the δ of one question.",
            rich_help_panel=BUDGET_PANEL,
        ),
    ] = None
    results: Annotated[
        int | None, typer.Option(help="In place of --rho: so many results …", rich_help_panel=BUDGET_PANEL)
    ] = None
    questions: Annotated[
        int | None, typer.Option(help="… from so many top questions …", rich_help_panel=BUDGET_PANEL)
    ] = None
    epsilon: Annotated[
        str | None, typer.Option(metavar="E", help="… at this ε each.", rich_help_panel=BUDGET_PANEL)
    ] = None

    def budget(self) -> AnyBudget:
        """Return the budget that was said."""
        if self.delta is None:
            raise InvalidArgumentError("--delta", None, "given", "For example: --rho 0.5 --delta 1e-6")
        if self.results is None and self.questions is None:
            return Budget(rho=self.rho, epsilon=self.epsilon, delta=self.delta)
        if self.rho is not None or self.results is None or self.questions is None or self.epsilon is None:
            raise InvalidArgumentError(
                "--results", self.results, "given with --questions, --epsilon and --delta, without --rho"
            )
        return ResultsBudget(
            results=self.results, questions=self.questions, epsilon=self.epsilon, delta=self.delta
        )


def balance_as_dict(balance: Balance) -> dict[str, Any]:
    """Return where an account stands as plain values."""
    account, dataset = balance.account, balance.dataset
    shown: dict[str, Any] = {
        "account": account.name,
        "dataset": dataset.name,
        "closed": account.closed,
        "total": _pair(account.terms.total),
        "spent": _pair(account.used),
        "reserved": _pair(account.reserved),
        "left": _pair(balance.left),
        "spent_epsilon": spent_epsilon(account.used + account.reserved),
        "dataset_left": _pair(dataset.left),
    }
    in_period = balance.left_in_period
    if in_period is not None:
        shown["period"] = {"name": balance.period_name, "left": _pair(in_period)}
    return shown


def affordable(ceiling: Guarantee, balance: Balance) -> tuple[dict[str, Any], str]:
    """Return where an account stands and whether a question would fit: as plain values, and as a line."""
    fits = Amount.charge(ceiling).fits(balance.left)
    answer = "the question fits" if fits else "the question does not fit"
    line = f"The account {balance.account.name!r} has {said(balance.left)} left: {answer}.\n"
    return {"account": balance_as_dict(balance) | {"fits": fits}}, line


def spent_epsilon(used: Amount) -> dict[str, float]:
    """Return the ε that what was spent amounts to, at twice its δ (at 1e-9 if it has none)."""
    guarantee = used.guarantee()
    at_delta = min(Fraction(1, 2), 2 * guarantee.delta) or Fraction(1, 10**9)
    return {"epsilon": shown_up(guarantee.epsilon(at_delta)), "at_delta": shown_up(at_delta)}


def bar(used: Amount, reserved: Amount, total: Amount) -> str:
    """Draw how much of a total's ρ is spent (full), reserved (shaded) and left (light)."""
    if total.rho == 0:
        return ""
    full = _BAR * used.rho // total.rho
    shaded = _BAR * (used.rho + reserved.rho) // total.rho - full
    return "█" * full + "▒" * shaded + "░" * (_BAR - full - shaded) + f" {100 * used.rho // total.rho} %"


def said(amount: Amount) -> str:
    """Say an amount in a line."""
    rho, delta = amount.texts
    return f"ρ = {float(rho):.6g}, δ = {float(delta):.3g}"


def _pair(amount: Amount) -> dict[str, str]:
    rho, delta = amount.texts
    return {"rho": rho, "delta": delta}
