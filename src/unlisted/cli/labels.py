"""`unlisted labels`: the values that enough users share, and nothing else about them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import typer

from unlisted.asking import Counting
from unlisted.cli.groups import grouped
from unlisted.cli.histogram import bounded_items
from unlisted.cli.options import (
    COUNT_PANEL,
    AdjacencyChoice,
    AdjacencyOption,
    BudgetOptions,
    ItemsPerUserOption,
    OutputOptions,
    SourceOptions,
    WhereOption,
)
from unlisted.cli.output import run_and_write


class LabelMethodChoice(StrEnum):
    """How labels are found."""

    auto = "auto"
    counts = "counts"
    optimal = "optimal"
    weighted = "weighted"
    sips = "sips"
    adaptive = "adaptive"


@dataclass(frozen=True)
class WeighOptions:
    """Which rows are weighed, and how. There is no choice of what to count: labels are lifted by users."""

    items_per_user: ItemsPerUserOption = None
    where: WhereOption = None
    adjacency: AdjacencyOption = AdjacencyChoice.add_remove
    method: Annotated[
        LabelMethodChoice,
        typer.Option(
            help="How labels are found: by counts; by a coin each, the best for users of one item (optimal); by "
            "weights, of which an item of a user with few gets more (weighted); by weights in "
            "rounds (sips); by weights that common labels give back (adaptive).",
            rich_help_panel=COUNT_PANEL,
        ),
    ] = LabelMethodChoice.auto

    def counting(self) -> Counting:
        """Return the options as the library takes them."""
        return Counting(where=self.where, adjacency=self.adjacency.known)


@grouped
def labels(rows: SourceOptions, weighed: WeighOptions, spent: BudgetOptions, written: OutputOptions) -> None:
    """Release the values of a column that enough users share: the values alone, without counts or order.

    More of them come out than with `unlisted histogram` at the same price, where users have many values each.
    """
    with spent.payer() as account:
        plan = rows.open().labels(
            rows.item,
            budget=spent.budget(),
            items_per_user=bounded_items(weighed.items_per_user),
            method=weighed.method.value,
            account=account,
            **weighed.counting(),
        )
        run_and_write(plan, written, rows.source, spent.idempotency_key)
