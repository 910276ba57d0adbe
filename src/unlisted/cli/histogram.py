"""`unlisted histogram`: the counts of every value that enough users share."""

from __future__ import annotations

from typing import Annotated

import typer

from unlisted.cli.groups import grouped
from unlisted.cli.options import (
    BUDGET_PANEL,
    BudgetOptions,
    CountOptions,
    NoiseChoice,
    OutputOptions,
    SourceOptions,
)
from unlisted.cli.output import run_and_write
from unlisted.errors import InvalidArgumentError

NoiseOption = Annotated[NoiseChoice, typer.Option(help="The law of the noise.", rich_help_panel=BUDGET_PANEL)]


@grouped
def histogram(
    rows: SourceOptions,
    counted: CountOptions,
    spent: BudgetOptions,
    written: OutputOptions,
    noise: NoiseOption = NoiseChoice.auto,
) -> None:
    """Release the counts of a column's values, each with noise, if enough users share the value.

    Nobody needs to know the values beforehand, and a value that only a few users have stays hidden.
    """
    with spent.payer() as account:
        plan = rows.open().histogram(
            rows.item,
            budget=spent.budget(),
            items_per_user=bounded_items(counted.items_per_user),
            noise=noise.value,
            account=account,
            **counted.counting(),
        )
        run_and_write(plan, written, rows.source, spent.idempotency_key)


def bounded_items(items_per_user: int | None) -> int:
    """Return --items-per-user, which some questions cannot do without."""
    if items_per_user is None:
        raise InvalidArgumentError(
            "--items-per-user", None, "given", "Say how many items one user may count for, such as 10."
        )
    return items_per_user
