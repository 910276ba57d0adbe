"""`unlisted top`: a ranking of the most common values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import typer

from unlisted.bills import Payer
from unlisted.cli.groups import grouped
from unlisted.cli.options import (
    BUDGET_PANEL,
    COUNT_PANEL,
    BudgetOptions,
    CountOptions,
    OutputOptions,
    SourceOptions,
    read_fetch,
)
from unlisted.cli.output import run_and_write
from unlisted.errors import InvalidArgumentError
from unlisted.planning import Priced
from unlisted.privacy.guarantee import Budget


class RankMethodChoice(StrEnum):
    """How a ranking is found."""

    auto = "auto"
    gumbel = "gumbel"
    labels = "labels"


@dataclass(frozen=True)
class RankOptions:
    """How long the ranking is, and from how many counts it is read."""

    k: Annotated[
        int,
        typer.Option(
            "-k", "--k", help="How many values to rank.", rich_help_panel=COUNT_PANEL, show_default=False
        ),
    ]
    fetch: Annotated[
        str | None,
        typer.Option(
            metavar="KBAR",
            help="Read the ranking from so many of the largest counts; the larger of 1000 and 10·k unless said. "
            "'all' uses every count and needs --items-per-user.",
            rich_help_panel=COUNT_PANEL,
        ),
    ] = None
    counts: Annotated[
        bool,
        typer.Option("--counts", help="Also release the winners' counts.", rich_help_panel=COUNT_PANEL),
    ] = False
    method: Annotated[
        RankMethodChoice,
        typer.Option(
            help="Rank the largest counts (gumbel), or find the labels first and rank those (labels), which needs "
            "--items-per-user.",
            rich_help_panel=COUNT_PANEL,
        ),
    ] = RankMethodChoice.auto
    per_item_epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="E", help="The ε of each draw, in place of a budget for all.", rich_help_panel=BUDGET_PANEL
        ),
    ] = None

    def priced(self, spent: BudgetOptions) -> Priced:
        """Return the options as the library takes them."""
        said = Priced(counts=self.counts, method=self.method.value)
        if self.per_item_epsilon is None:
            return said
        if spent.delta is None:
            raise InvalidArgumentError("--delta", None, "given with --per-item-epsilon")
        return Priced(**said, per_item_epsilon=self.per_item_epsilon, delta=spent.delta)

    def budget(self, spent: BudgetOptions, account: Payer | None) -> Budget | None:
        """Return the budget for the whole question, unless each draw has its price, here or by the account."""
        if self.per_item_epsilon is None:
            known = account is not None and account.result_epsilon is not None
            return None if known and spent.says_none() else spent.budget()
        if spent.epsilon is not None or spent.rho is not None:
            raise InvalidArgumentError(
                "--per-item-epsilon", self.per_item_epsilon, "given without --epsilon and --rho"
            )
        return None


@grouped
def top(
    rows: SourceOptions, rank: RankOptions, counted: CountOptions, spent: BudgetOptions, written: OutputOptions
) -> None:
    """Rank the most common values of a column.

    Only the order is released, so one user may hold any number of items. If fewer than k values are common
    enough, the ranking ends early.
    """
    with spent.payer() as account:
        plan = rows.open().top(
            rows.item,
            k=rank.k,
            budget=rank.budget(spent, account),
            fetch=read_fetch(rank.fetch),
            items_per_user=counted.items_per_user,
            account=account,
            **counted.counting(),
            **rank.priced(spent),
        )
        run_and_write(plan, written, rows.source, spent.idempotency_key)
