"""What the ledger's verbs share: where the ledger is, and how a budget is said."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unlisted.cli.options import BUDGET_PANEL
from unlisted.errors import InvalidArgumentError
from unlisted.ledger.amounts import Amount
from unlisted.ledger.display import balance_as_dict, more_like, said
from unlisted.ledger.terms import AnyBudget, ResultsBudget
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.numbers import exact
from unlisted.query.options import read_total
from unlisted.release.export import as_json

if TYPE_CHECKING:
    from unlisted.ledger.state import Balance, DatasetState

LedgerOption = Annotated[
    str, typer.Option(metavar="URL", help="The ledger: a file, or a PostgreSQL URL.", envvar="UNLISTED_LEDGER")
]


class ListChoice(StrEnum):
    """How a listing is written."""

    table = "table"
    json = "json"


class KindTyped(StrEnum):
    """What an account counts."""

    zcdp = "zcdp"
    gaussian = "gaussian"


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
    """What may be spent: an (ε, δ), or ρ or μ² and δ, or so many results and questions at an ε and a δ."""

    epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="E",
            help="The ε that may be spent in all, at δ; with --results, the ε of one result.",
            rich_help_panel=BUDGET_PANEL,
        ),
    ] = None
    rho: Annotated[
        str | None,
        typer.Option(
            metavar="R", help="In place of --epsilon: the ρ that is added up.", rich_help_panel=BUDGET_PANEL
        ),
    ] = None
    mu_squared: Annotated[
        str | None,
        typer.Option(
            metavar="M",
            help="In place of --epsilon, of kind gaussian: the μ² that is added up.",
            rich_help_panel=BUDGET_PANEL,
        ),
    ] = None
    delta: Annotated[
        str | None,
        typer.Option(
            metavar="D",
            help="The total δ with --epsilon, half of it for thresholds; with --rho or --mu-squared, the "
            "thresholds' alone; with --results, the δ of one question.",
            rich_help_panel=BUDGET_PANEL,
        ),
    ] = None
    results: Annotated[
        int | None, typer.Option(help="How many results, at --epsilon each …", rich_help_panel=BUDGET_PANEL)
    ] = None
    questions: Annotated[
        int | None,
        typer.Option(help="… from how many top questions, at --delta each.", rich_help_panel=BUDGET_PANEL),
    ] = None
    kind: Annotated[
        KindTyped | None,
        typer.Option(
            help="What is added up, for life: the ρ of zCDP, or the μ² of Gaussian DP, into which more "
            "questions with Gaussian noise fit, and fewer rankings. Accounts are of their data set's kind.",
            rich_help_panel=BUDGET_PANEL,
        ),
    ] = None

    def budget(self) -> AnyBudget:
        """Return the budget that was said."""
        if self.delta is None:
            raise InvalidArgumentError("--delta", None, "given", "For example: --epsilon 1 --delta 1e-6")
        if self.results is None and self.questions is None:
            return read_total(
                {"epsilon": self.epsilon, "rho": self.rho, "mu_squared": self.mu_squared, "delta": self.delta}
            )
        counted = self.rho is not None or self.mu_squared is not None
        if counted or self.results is None or self.questions is None or self.epsilon is None:
            raise InvalidArgumentError(
                "--results",
                self.results,
                "given with --questions, --epsilon and --delta, without --rho and --mu-squared",
            )
        return ResultsBudget(
            results=self.results, questions=self.questions, epsilon=self.epsilon, delta=self.delta
        )


@dataclass(frozen=True)
class LossOptions:
    """A loss that is stated: ρ or μ² and δ, as the data set adds it up, or all that is left.

    Not an ε: which ρ a question at some ε cost depends on its mechanism.
    """

    rho: Annotated[
        str | None, typer.Option(metavar="R", help="The ρ that was spent.", rich_help_panel=BUDGET_PANEL)
    ] = None
    mu_squared: Annotated[
        str | None,
        typer.Option(metavar="M", help="The μ² that was spent, of kind gaussian.", rich_help_panel=BUDGET_PANEL),
    ] = None
    delta: Annotated[
        str | None, typer.Option(metavar="D", help="The δ that was spent.", rich_help_panel=BUDGET_PANEL)
    ] = None
    all_left: Annotated[
        bool,
        typer.Option(
            "--all-left", help="All that is left: where nobody can say more.", rich_help_panel=BUDGET_PANEL
        ),
    ] = False

    dataset: Annotated[
        str | None, typer.Option(help="On which data set a stated amount was spent.", show_default=False)
    ] = None
    account: Annotated[str | None, typer.Option(help="Out of whose share it comes too.", show_default=False)] = (
        None
    )
    reason: Annotated[str, typer.Option(help="Why, for whoever reads the history.")] = ""

    @property
    def is_said(self) -> bool:
        """Whether an amount was stated."""
        return self.all_left or self._is_counted

    @property
    def _is_counted(self) -> bool:
        return any(one is not None for one in (self.rho, self.mu_squared, self.delta))

    def amount(self, dataset: DatasetState) -> Amount:
        """Return the loss in what the data set counts, rounded up."""
        if self.all_left:
            if self._is_counted:
                raise InvalidArgumentError("--all-left", "given", "given without an amount")
            left = dataset.left
            return Amount(max(0, left.loss), max(0, left.delta), dataset.accounting)
        if self.delta is None:
            raise InvalidArgumentError("--delta", None, "given, even if it is 0")
        told = {"rho": self.rho, "mu_squared": self.mu_squared}
        counted = dataset.accounting.option
        why = f"The data set adds up {dataset.accounting.symbol}."
        if told.pop(counted) is None:
            raise InvalidArgumentError(_option(counted), None, "given with --delta", why)
        for name, value in told.items():
            if value is not None:
                raise InvalidArgumentError(_option(name), value, "left out", why)
        loss, delta = exact(counted, getattr(self, counted)), exact("delta", self.delta)
        if loss < 0:
            raise InvalidArgumentError(_option(counted), getattr(self, counted), "0 or more")
        if not 0 <= delta <= 1:
            raise InvalidArgumentError("--delta", self.delta, "from 0 to 1")
        return Amount.charge(dataset.accounting.guarantee(loss, delta), dataset.accounting)


def _option(name: str) -> str:
    """Return an option as it is typed."""
    return f"--{name.replace('_', '-')}"


def affordable(ceiling: Guarantee, balance: Balance) -> tuple[dict[str, Any], str]:
    """Return where an account stands and whether a question would fit: as plain values, and as a line."""
    state = balance.account
    is_frozen = state.failures.frozen or balance.dataset.failures.frozen
    cost = Amount.charge(ceiling, state.terms.accounting)
    fits = not state.closed and not is_frozen and cost.fits(balance.left)
    stands = "is closed" if state.closed else "is frozen" if is_frozen else f"has {said(balance.left)} left"
    answer = "the question fits" if fits else "the question does not fit"
    times = cost.times_in(balance.left)
    more = f" {more_like(times, 'this one')}." if fits else ""
    line = f"The account {state.name!r} {stands}: {answer}.{more}\n"
    return {"account": balance_as_dict(balance) | {"fits": fits, "more_like_this": times}}, line


def echo_json(value: object) -> None:
    """Print plain values as JSON."""
    typer.echo(as_json(value), nl=False)
