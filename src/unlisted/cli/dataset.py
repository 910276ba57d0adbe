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
from unlisted.cli.options import AdjacencyTyped, grouped, open_ledger
from unlisted.errors import InvalidArgumentError
from unlisted.ledger.display import (
    amounts_as_lines,
    bar,
    dataset_as_dict,
    failures_as_line,
    protects_nobody,
    said_in_epsilon,
)
from unlisted.ledger.terms import accounting_of, amount_of
from unlisted.query.options import read_budget
from unlisted.release.release import printable
from unlisted.tables.table import source_name

if TYPE_CHECKING:
    from unlisted.ledger.amounts import Amount
    from unlisted.ledger.ledger import Ledger
    from unlisted.ledger.policy import Policy
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
    total = amount_of(budget, accounting_of(allowed.kind, budget))
    with open_ledger(ledger, create=True) as book:
        book.create_dataset(
            name,
            budget=budget,
            kind=allowed.kind,
            unit=declared.user,
            adjacency=declared.neighbours(),
            source=declared.named_source(),
            version=declared.data_version,
            failures=declared.failures,
            shares_source=declared.shares_source,
        )
        warning = _shared(book, book.dataset(name))
    typer.echo(f"All accounts on {name!r} together may spend {said_in_epsilon(total)}.")
    if weak := protects_nobody(total):
        typer.echo(weak, err=True)
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
    """Say that the data changed. Answers about other versions are no longer replayed."""
    with open_ledger(ledger) as book:
        book.declare_version(name, version)
    typer.echo(f"The data set {name!r} is at version {version!r}.")


@dataset.command("move")
def move(
    name: NameArgument,
    ledger: LedgerOption,
    source: Annotated[
        str,
        typer.Option(help="Where the same people's rows are now: as in questions.", show_default=False),
    ],
    table: Annotated[str | None, typer.Option(help="The table inside a database.", show_default=False)] = None,
) -> None:
    """Say that the rows of a data set lie elsewhere now. Its budget, and what was spent of it, stays."""
    with open_ledger(ledger) as book:
        before = book.move(name, source_name(source, table))
        state = book.dataset(name)
        warning = _shared(book, state)
    typer.echo(f"The data set {name!r} is at {printable(str(state.source))}; it was at {printable(str(before))}.")
    if warning:
        typer.echo(printable(warning), err=True)


@dataset.command("list")
def list_datasets(ledger: LedgerOption, format: FormatOption = ListChoice.table) -> None:  # noqa: A002
    """List all data sets with what is left of their totals."""
    with open_ledger(ledger, read_only=True) as book:
        found = book.datasets()
    if format is ListChoice.json:
        echo_json([dataset_as_dict(one) for one in found])
        return
    for one in found:
        frozen = "  frozen" if one.failures.frozen else ""
        version = f"  version {printable(one.version)}" if one.version else ""
        typer.echo(f"{one.name:24} {bar(one.used, one.reserved, one.total)}{version}{frozen}")


@dataclass(frozen=True)
class PolicyOptions:
    """What an owner lets be asked; what is left out is not limited."""

    question: Annotated[
        str | None, typer.Option(metavar="E,D", help="The highest ε and δ of one question, such as 1,1e-8.")
    ] = None
    day: Annotated[
        str | None, typer.Option(metavar="E,D", help="The highest ε and δ of all questions of one day (UTC).")
    ] = None
    kind: Annotated[
        list[str] | None, typer.Option(help="A kind of question that may be asked; may be repeated.")
    ] = None
    least_items_per_user: Annotated[
        int | None, typer.Option(help="The lowest bound on a user's items that a question may set.")
    ] = None
    lift: Annotated[bool, typer.Option("--lift", help="Lift all of these limits.")] = False

    @property
    def is_said(self) -> bool:
        """Whether something is to change."""
        said = (self.question, self.day, self.kind, self.least_items_per_user)
        if self.lift and any(one is not None for one in said):
            raise InvalidArgumentError("--lift", "given", "given alone")
        return self.lift or any(one is not None for one in said)

    def policy(self, state: DatasetState) -> Policy | None:
        """Return the policy that was said, in what the data set counts."""
        from unlisted.ledger.policy import Policy  # noqa: PLC0415 - an extra

        return Policy.of(
            question=_limit("--question", self.question, state),
            day=_limit("--day", self.day, state),
            kinds=None if self.kind is None else tuple(self.kind),
            least_items_per_user=self.least_items_per_user,
        )


@dataset.command("policy")
@grouped
def policy(name: NameArgument, ledger: LedgerOption, limits: PolicyOptions) -> None:
    """Say what may be asked, or show it. What is left out is not limited; the totals hold all the same."""
    from unlisted.ledger.policy import policy_lines  # noqa: PLC0415 - an extra

    with open_ledger(ledger, read_only=not limits.is_said) as book:
        state = book.dataset(name)
        if limits.is_said:
            book.rule(name, limits.policy(state))
            state = book.dataset(name)
    typer.echo(f"Data set {name!r}:")
    for line in policy_lines(state.policy, state.accounting):
        typer.echo(f"  {line}")


def _limit(option: str, text: str | None, state: DatasetState) -> Amount | None:
    """Read an ε and a δ as the amount that they allow, in what the data set counts."""
    if text is None:
        return None
    epsilon, comma, delta = text.partition(",")
    if not comma:
        raise InvalidArgumentError(option, text, "an ε and a δ, such as 1,1e-8")
    return amount_of(read_budget({"epsilon": epsilon, "delta": delta}), state.accounting)


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
        echo_json(dataset_as_dict(state) | {"accounts": [one.name for one in accounts]})
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
        "kind": f"{state.kind}: {state.accounting.symbol} adds up",
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
