"""`unlisted dataset`: the totals that accounts share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from unlisted.cli.budgets import (
    AllowanceOptions,
    FailuresArgument,
    FailuresOption,
    FormatOption,
    LedgerOption,
    ListChoice,
    echo_json,
)
from unlisted.cli.groups import grouped
from unlisted.cli.options import AdjacencyTyped, open_ledger
from unlisted.ledger.display import (
    amounts_as_dict,
    amounts_as_lines,
    bar,
    failures_as_dict,
    failures_as_line,
    said,
)
from unlisted.ledger.terms import amount_of
from unlisted.release.release import printable
from unlisted.tables.table import source_name

if TYPE_CHECKING:
    from unlisted.ledger.ledger import Ledger
    from unlisted.ledger.state import DatasetState
    from unlisted.privacy.sensitivity import Adjacency

dataset = typer.Typer(help="Open, show and thaw data sets: the totals that accounts share.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(metavar="D", help="The data set's name.", show_default=False)]


@dataclass(frozen=True)
class DeclaredOptions:
    """What the owner says of the data; what is left out, the first question fixes."""

    user: Annotated[str | None, typer.Option(help="The column that says whose row it is.")] = None
    adjacency: Annotated[
        AdjacencyTyped | None,
        typer.Option(help="Whom questions protect: a user's presence, or also what one holds."),
    ] = None
    source: Annotated[
        str | None, typer.Option(help="Where the rows are: the SOURCE of questions.", show_default=False)
    ] = None
    table: Annotated[str | None, typer.Option(help="The table inside a database.", show_default=False)] = None
    data_version: Annotated[
        str | None,
        typer.Option(help="A name for the present state of the data. With one, a repeated question is free."),
    ] = None
    failures: FailuresOption = None
    shares_source: Annotated[
        bool,
        typer.Option(
            "--shares-source", help="Another data set may have the same SOURCE: two budgets, which add up."
        ),
    ] = False

    def neighbours(self) -> Adjacency | None:
        """Return the adjacency as the library takes it."""
        if self.adjacency is None:
            return None
        return "add_remove" if self.adjacency == "add-remove" else "replace"

    def named_source(self) -> str | None:
        """Return the source as questions name it: the whole path, or the URL without a password."""
        return None if self.source is None else source_name(self.source, self.table)


@dataset.command("create")
@grouped
def create(name: NameArgument, ledger: LedgerOption, allowed: AllowanceOptions, declared: DeclaredOptions) -> None:
    """Open a data set with a total that no set of accounts together can exceed."""
    budget = allowed.budget()
    # Read now: what is refused must not begin a ledger.
    total = amount_of(budget)
    with open_ledger(ledger, create=True) as book:
        book.create_dataset(
            name,
            budget=budget,
            unit=declared.user,
            adjacency=declared.neighbours(),
            source=declared.named_source(),
            version=declared.data_version,
            failures=declared.failures,
            shares_source=declared.shares_source,
        )
        warning = _shared(book, book.dataset(name))
    typer.echo(f"All accounts on {name!r} together may spend {said(total)}.")
    if warning:
        typer.echo(printable(warning), err=True)


@dataset.command("version")
def version(
    name: NameArgument,
    version: Annotated[
        str, typer.Argument(metavar="VERSION", help="A name for the state of the data.", show_default=False)
    ],
    ledger: LedgerOption,
) -> None:
    """Say that the data changed. Answers for other versions are not replayed any more."""
    with open_ledger(ledger) as book:
        book.declare_version(name, version)
    typer.echo(f"The data set {name!r} is at version {version!r}.")


@dataset.command("failures")
def failures(name: NameArgument, failures: FailuresArgument, ledger: LedgerOption) -> None:
    """Say how many questions of all accounts together may fail. What failed before still counts."""
    with open_ledger(ledger) as book:
        book.allow_failures(failures, dataset=name)
        state = book.dataset(name)
    typer.echo(f"Data set {name!r}: {failures_as_line(state.failures)}.")


@dataset.command("thaw")
def thaw(name: NameArgument, ledger: LedgerOption) -> None:
    """Let a frozen data set be asked again, after you have looked into the log. Its count starts anew.

    Accounts that are frozen themselves stay so: unlisted account thaw.
    """
    with open_ledger(ledger) as book:
        seen = book.thaw(dataset=name)
        state = book.dataset(name)
    typer.echo(f"Data set {name!r} is thawed ({seen:,} failures looked at): {failures_as_line(state.failures)}.")


@dataset.command("show")
def show(name: NameArgument, ledger: LedgerOption, format: FormatOption = ListChoice.table) -> None:  # noqa: A002
    """Show what was spent on a data set, and by whom."""
    with open_ledger(ledger, read_only=True) as book:
        state = book.dataset(name)
        accounts = [one for _, one in book.accounts(name)]
        warning = _shared(book, state)
    if format is ListChoice.json:
        echo_json(_as_dict(state) | {"accounts": [one.name for one in accounts]})
        return
    typer.echo("\n".join(_lines(state)))
    for one in accounts:
        closed = "  closed" if one.closed else "  frozen" if one.failures.frozen else ""
        typer.echo(f"  {one.name:24} {bar(one.used, one.reserved, one.terms.total)}{closed}")
    if warning:
        typer.echo(printable(warning), err=True)


def _shared(book: Ledger, state: DatasetState) -> str:
    """Say that a data set has its source in common with others, if it has."""
    from unlisted.ledger.declarations import shared_warning, sharing  # noqa: PLC0415 - an extra

    others = sharing(state, book.datasets())
    return shared_warning(state, others) if others else ""


def _lines(state: DatasetState) -> list[str]:
    fixed_later = "fixed by the first question"
    facts = {
        "version": state.version or "not declared, so no repeated question is free",
        "user": state.unit or fixed_later,
        "adjacency": state.adjacency or fixed_later,
        "source": state.source or fixed_later,
    }
    return [
        f"Data set {state.name!r}",
        *(f"  {fact:10}{printable(value)}" for fact, value in facts.items()),
        *amounts_as_lines(state.total, state.used, state.reserved, state.left),
        f"  {failures_as_line(state.failures)}.",
    ]


def _as_dict(state: DatasetState) -> dict[str, object]:
    return {
        "dataset": state.name,
        "user": state.unit,
        "adjacency": state.adjacency,
        "source": state.source,
        "version": state.version,
        **amounts_as_dict(state.total, state.used, state.reserved, state.left),
        "failures": failures_as_dict(state.failures),
    }
