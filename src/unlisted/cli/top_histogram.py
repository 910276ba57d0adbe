"""`unlisted top-histogram`: the counts of the largest values, when an engine hands over only those."""

from __future__ import annotations

from typing import Annotated

import typer

from unlisted.cli.groups import grouped
from unlisted.cli.histogram import NoiseOption
from unlisted.cli.options import (
    COUNT_PANEL,
    BudgetOptions,
    CountOptions,
    NoiseChoice,
    OutputOptions,
    SourceOptions,
)
from unlisted.cli.output import run_and_write

FetchOption = Annotated[
    int,
    typer.Option(
        metavar="KBAR", help="How many of the largest counts the engine hands over.", rich_help_panel=COUNT_PANEL
    ),
]


@grouped
def top_histogram(
    rows: SourceOptions,
    counted: CountOptions,
    spent: BudgetOptions,
    written: OutputOptions,
    fetch: FetchOption = 1000,
    noise: NoiseOption = NoiseChoice.auto,
) -> None:
    """Release the counts of the most common values, reading only the largest counts.

    For engines that answer a top-k query quickly and a full one slowly. Values compete with the first count that
    was left out.
    """
    with spent.payer() as account:
        plan = rows.open().top_histogram(
            rows.item,
            budget=spent.budget(),
            items_per_user=counted.items_per_user,
            fetch=fetch,
            noise=noise.value,
            account=account,
            **counted.counting(),
        )
        run_and_write(plan, written, rows.source, spent.idempotency_key)
