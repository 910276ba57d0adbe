"""What the ledger's verbs share: where the ledger is, and how a budget is said."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unlisted.cli.options import BUDGET_PANEL
from unlisted.errors import InvalidArgumentError
from unlisted.ledger.amounts import Amount
from unlisted.ledger.display import balance_as_dict, said
from unlisted.ledger.terms import AnyBudget, ResultsBudget
from unlisted.privacy.guarantee import Budget, Guarantee
from unlisted.release.export import as_json

if TYPE_CHECKING:
    from unlisted.ledger.state import Balance

LedgerOption = Annotated[
    str, typer.Option(metavar="URL", help="The ledger: a file, or a PostgreSQL URL.", envvar="UNLISTED_LEDGER")
]


class ListChoice(StrEnum):
    """How a listing is written."""

    table = "table"
    json = "json"


FailuresOption = Annotated[
    int | None,
    typer.Option(metavar="N", help="How many questions may fail after data was touched before it is frozen."),
]
FailuresArgument = Annotated[
    int, typer.Argument(metavar="N", help="How many may fail before it is frozen.", show_default=False)
]
FormatOption = Annotated[ListChoice, typer.Option(help="How it is written.")]


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


def affordable(ceiling: Guarantee, balance: Balance) -> tuple[dict[str, Any], str]:
    """Return where an account stands and whether a question would fit: as plain values, and as a line."""
    state = balance.account
    is_frozen = state.failures.frozen or balance.dataset.failures.frozen
    fits = not state.closed and not is_frozen and Amount.charge(ceiling).fits(balance.left)
    stands = "is closed" if state.closed else "is frozen" if is_frozen else f"has {said(balance.left)} left"
    answer = "the question fits" if fits else "the question does not fit"
    line = f"The account {state.name!r} {stands}: {answer}.\n"
    return {"account": balance_as_dict(balance) | {"fits": fits}}, line


def echo_json(value: object) -> None:
    """Print plain values as JSON."""
    typer.echo(as_json(value), nl=False)
