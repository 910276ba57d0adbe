"""`unlisted dataset`: the totals that accounts share."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from unlisted.cli.budgets import (
    AllowanceOptions,
    FormatOption,
    LedgerOption,
    bar,
    said,
    spent_epsilon,
)
from unlisted.cli.groups import grouped
from unlisted.cli.options import FormatChoice, open_ledger

if TYPE_CHECKING:
    from unlisted.ledger.state import DatasetState

dataset = typer.Typer(help="Open and show data sets: the totals that accounts share.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(metavar="D", help="The data set's name.", show_default=False)]


@dataclass(frozen=True)
class DeclaredOptions:
    """What the owner says of the data; what is left out, the first question fixes."""

    user: Annotated[str | None, typer.Option(help="The column that says whose row it is.")] = None
    source: Annotated[str | None, typer.Option(help="Where the rows are, as questions will name it.")] = None
    data_version: Annotated[
        str | None,
        typer.Option(help="A name for the present state of the data. With one, a repeated question is free."),
    ] = None


@dataset.command("create")
@grouped
def create(name: NameArgument, ledger: LedgerOption, allowed: AllowanceOptions, declared: DeclaredOptions) -> None:
    """Open a data set with a total that no set of accounts together can exceed."""
    with open_ledger(ledger) as book:
        opened = book.create_dataset(
            name,
            budget=allowed.budget(),
            unit=declared.user,
            source=declared.source,
            version=declared.data_version,
        )
    typer.echo(f"All accounts on {name!r} together may spend {said(opened.total)}.")


@dataset.command("version")
def version(
    name: NameArgument,
    version: Annotated[str, typer.Argument(metavar="VERSION", help="A name for the state of the data.")],
    ledger: LedgerOption,
) -> None:
    """Say that the data changed. Answers for other versions are not replayed any more."""
    with open_ledger(ledger) as book:
        book.declare_version(name, version)
    typer.echo(f"The data set {name!r} is at version {version!r}.")


@dataset.command("show")
def show(name: NameArgument, ledger: LedgerOption, format: FormatOption = FormatChoice.table) -> None:  # noqa: A002
    """Show what was spent on a data set, and by whom."""
    with open_ledger(ledger) as book:
        state = book.dataset(name)
        accounts = [one for _, one in book.accounts(name)]
    if format is FormatChoice.json:
        shown = _as_dict(state) | {"accounts": [one.name for one in accounts]}
        typer.echo(json.dumps(shown, ensure_ascii=False, indent=2))
        return
    epsilon = spent_epsilon(state.used + state.reserved)
    typer.echo(
        f"Data set {state.name!r}, version {state.version or 'not declared'}, user column {state.unit or 'open'}"
    )
    typer.echo(f"  {bar(state.used, state.reserved, state.total)}")
    typer.echo(f"  total {said(state.total)}; spent {said(state.used)}; left {said(state.left)}")
    typer.echo(f"  spent and reserved together are ({epsilon['epsilon']:.4g}, {epsilon['at_delta']:.3g})-DP")
    for one in accounts:
        typer.echo(f"  {one.name:24} {bar(one.used, one.reserved, one.terms.total)}")


def _as_dict(state: DatasetState) -> dict[str, object]:
    pairs = {"total": state.total, "spent": state.used, "reserved": state.reserved, "left": state.left}
    amounts = {name: dict(zip(("rho", "delta"), amount.texts, strict=True)) for name, amount in pairs.items()}
    return {
        "dataset": state.name,
        "user": state.unit,
        "adjacency": state.adjacency,
        "source": state.source,
        "version": state.version,
        **amounts,
        "spent_epsilon": spent_epsilon(state.used + state.reserved),
    }
