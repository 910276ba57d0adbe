"""`unlisted preview`: what a question would cost and how good its answer would be. Touches no data."""

from __future__ import annotations

import typer

from unlisted.asking import histogram_plan, top_histogram_plan, top_plan
from unlisted.cli.groups import grouped
from unlisted.cli.histogram import NoiseOption, bounded_items
from unlisted.cli.options import BudgetOptions, CountOptions, NoiseChoice, OutputOptions, read_fetch
from unlisted.cli.output import check_writable, write_preview
from unlisted.cli.top import RankOptions
from unlisted.cli.top_histogram import FetchOption
from unlisted.plans import Plan
from unlisted.tables.question import Question

preview = typer.Typer(help="Say what a question would cost and how good its answer would be. Touches no data.")


@preview.command("histogram")
@grouped
def preview_histogram(
    counted: CountOptions, spent: BudgetOptions, written: OutputOptions, noise: NoiseOption = NoiseChoice.auto
) -> None:
    """Preview `unlisted histogram`."""
    bounded_items(counted)
    _write(histogram_plan(_question(counted), spent.budget(), noise.value), written)


@preview.command("top")
@grouped
def preview_top(rank: RankOptions, counted: CountOptions, spent: BudgetOptions, written: OutputOptions) -> None:
    """Preview `unlisted top`."""
    priced, budget = rank.priced(spent), rank.budget(spent)
    _write(top_plan(_question(counted), rank.k, budget, read_fetch(rank.fetch), priced), written)


@preview.command("top-histogram")
@grouped
def preview_top_histogram(
    counted: CountOptions,
    spent: BudgetOptions,
    written: OutputOptions,
    fetch: FetchOption = 1000,
    noise: NoiseOption = NoiseChoice.auto,
) -> None:
    """Preview `unlisted top-histogram`."""
    _write(top_histogram_plan(_question(counted), spent.budget(), fetch, noise.value), written)


def _question(counted: CountOptions) -> Question:
    # No column was named; the price does not depend on its name.
    return Question(("item",), items_per_user=counted.items_per_user, **counted.counting())


def _write(plan: Plan, written: OutputOptions) -> None:
    check_writable(written)
    write_preview(plan, written)
