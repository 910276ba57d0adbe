"""`unlisted preview`: what a question would cost and how good its answer would be. Touches no data."""

from __future__ import annotations

from collections.abc import Callable

import typer

from unlisted.bills import Payer
from unlisted.cli.groups import grouped
from unlisted.cli.histogram import NoiseOption, bounded_items
from unlisted.cli.labels import WeighOptions
from unlisted.cli.options import (
    BudgetOptions,
    CountOptions,
    NoiseChoice,
    OutputOptions,
    UnreadOptions,
    read_fetch,
)
from unlisted.cli.output import check_preview, write_preview
from unlisted.cli.top import RankOptions
from unlisted.cli.top_histogram import FetchOption
from unlisted.label_planning import labels_plan, top_plan
from unlisted.planning import histogram_plan, priced_by, top_histogram_plan
from unlisted.plans import Plan
from unlisted.tables.question import Question

preview = typer.Typer(help="Say what a question would cost and how good its answer would be. Touches no data.")


@preview.command("histogram")
@grouped
def preview_histogram(
    named: UnreadOptions,
    counted: CountOptions,
    spent: BudgetOptions,
    written: OutputOptions,
    noise: NoiseOption = NoiseChoice.auto,
) -> None:
    """Preview `unlisted histogram`."""
    bounded_items(counted.items_per_user)

    def counted_all(account: Payer | None) -> Plan:
        question = _question(named, counted)
        return histogram_plan(question, spent.budget(), noise.value, one_shot=account is None)

    _write(counted_all, spent, written)


@preview.command("top")
@grouped
def preview_top(
    named: UnreadOptions,
    rank: RankOptions,
    counted: CountOptions,
    spent: BudgetOptions,
    written: OutputOptions,
) -> None:
    """Preview `unlisted top`."""

    def ranked(account: Payer | None) -> Plan:
        budget = rank.budget(spent, account)
        priced = priced_by(account, rank.priced(spent), budget)
        return top_plan(_question(named, counted), rank.k, budget, read_fetch(rank.fetch), priced)

    _write(ranked, spent, written)


@preview.command("top-histogram")
@grouped
def preview_top_histogram(
    named: UnreadOptions,
    counted: CountOptions,
    spent: BudgetOptions,
    written: OutputOptions,
    fetch: FetchOption = 1000,
    noise: NoiseOption = NoiseChoice.auto,
) -> None:
    """Preview `unlisted top-histogram`."""
    question = _question(named, counted)
    _write(lambda _: top_histogram_plan(question, spent.budget(), fetch, noise.value), spent, written)


@preview.command("labels")
@grouped
def preview_labels(
    named: UnreadOptions, weighed: WeighOptions, spent: BudgetOptions, written: OutputOptions
) -> None:
    """Preview `unlisted labels`."""
    bounded_items(weighed.items_per_user)

    def found(account: Payer | None) -> Plan:
        question = _question(named, weighed)
        return labels_plan(question, spent.budget(), weighed.method.value, one_shot=account is None)

    _write(found, spent, written)


def _question(named: UnreadOptions, counted: CountOptions | WeighOptions) -> Question:
    # The price does not depend on the name of a column, so none needs to be said.
    items = tuple(named.item or ["item"])
    return Question(items, items_per_user=counted.items_per_user, **counted.counting())


def _write(planned: Callable[[Payer | None], Plan], spent: BudgetOptions, written: OutputOptions) -> None:
    check_preview(written)
    with spent.payer() as account:
        write_preview(planned(account).paid_by(account), written, account)
