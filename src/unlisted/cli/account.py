"""`unlisted account`: who may spend what on which data set."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
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
from unlisted.cli.options import open_ledger
from unlisted.errors import InvalidArgumentError
from unlisted.ledger.display import amounts_as_lines, balance_as_dict, bar, enough_for, failures_as_line, said
from unlisted.ledger.terms import Terms, amount_of
from unlisted.privacy.guarantee import Budget, Guarantee

if TYPE_CHECKING:
    from unlisted.ledger.state import Balance
    from unlisted.ledger.terms import AnyBudget

account = typer.Typer(
    help="Open, show, thaw and close accounts: who may spend what on which data set.", no_args_is_help=True
)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The account's name.", show_default=False)]


@dataclass(frozen=True)
class PeriodOptions:
    """An allowance that starts anew, inside a total that does not."""

    period: Annotated[
        str | None, typer.Option(help="An allowance that starts anew each day, week, month or year.")
    ] = None
    period_rho: Annotated[str | None, typer.Option(metavar="R", help="The ρ of each period.")] = None
    period_delta: Annotated[
        str | None, typer.Option(metavar="D", help="The δ of each period; the account's whole δ unless said.")
    ] = None

    def budget(self, allowed: AnyBudget) -> Budget | None:
        """Return the allowance of each period, if there are periods."""
        if self.period is None and self.period_rho is None and self.period_delta is None:
            return None
        if self.period is None or self.period_rho is None:
            raise InvalidArgumentError("--period", self.period, "given with --period-rho")
        whole_delta = amount_of(allowed).guarantee().delta
        return Budget(rho=self.period_rho, delta=self.period_delta or whole_delta)


@account.command("create")
@grouped
def create(
    name: NameArgument,
    ledger: LedgerOption,
    dataset: Annotated[str, typer.Option(metavar="D", help="The data set it spends on.", show_default=False)],
    allowed: AllowanceOptions,
    each: PeriodOptions,
    failures: FailuresOption = None,
) -> None:
    """Open an account. On an unknown data set this opens the data set too, with the account's budget as its total.

    Loss adds up: over all accounts, and over all periods. A period's allowance starts anew, the lifetime total
    never does.
    """
    budget = allowed.budget()
    period_budget = each.budget(budget)
    # Read now: what is refused must not begin a ledger.
    terms = Terms.of(budget, each.period, period_budget)
    with open_ledger(ledger, create=True) as book:
        known = {one.name for one in book.datasets()}
        opened = {"period": each.period, "period_budget": period_budget, "failures": failures}
        book.open(name, dataset=dataset, budget=budget, **opened)  # type: ignore[arg-type]
    if dataset not in known:
        typer.echo(f"The data set {dataset!r} is new: its total is this account's budget.")
    typer.echo(f"Account {name!r} on {dataset!r} may spend {said(terms.total)}.")


@account.command("show")
def show(name: NameArgument, ledger: LedgerOption, format: FormatOption = ListChoice.table) -> None:  # noqa: A002
    """Show what an account has spent, reserved and left."""
    with open_ledger(ledger, read_only=True) as book:
        balance = book.account(name).balance()
    if format is ListChoice.json:
        echo_json(balance_as_dict(balance))
    else:
        typer.echo("\n".join(_lines(balance)))


@account.command("list")
def list_accounts(ledger: LedgerOption, format: FormatOption = ListChoice.table) -> None:  # noqa: A002
    """List all accounts."""
    with open_ledger(ledger, read_only=True) as book:
        balances = [book.account(one.name).balance() for _, one in book.accounts()]
    if format is ListChoice.json:
        echo_json([balance_as_dict(one) for one in balances])
        return
    if not balances:
        typer.echo("There are no accounts yet. `unlisted account create` opens one.", err=True)
    for one in balances:
        state = one.account
        closed = "  closed" if state.closed else "  frozen" if state.failures.frozen else ""
        drawn = bar(state.used, state.reserved, state.terms.total)
        typer.echo(f"{state.name:24} {one.dataset.name:20} {drawn}  left {said(one.left)}{closed}")


@account.command("close")
def close(name: NameArgument, ledger: LedgerOption) -> None:
    """Close an account. What it spent stays spent."""
    with open_ledger(ledger) as book:
        book.close_account(name)
    typer.echo(f"Account {name!r} is closed.")


@account.command("failures")
def failures(name: NameArgument, failures: FailuresArgument, ledger: LedgerOption) -> None:
    """Say how many questions of an account may fail after data was touched. What failed before still counts."""
    with open_ledger(ledger) as book:
        book.allow_failures(failures, account=name)
        state = book.account(name).balance().account
    typer.echo(f"Account {name!r}: {failures_as_line(state.failures)}.")


@account.command("thaw")
def thaw(name: NameArgument, ledger: LedgerOption) -> None:
    """Let a frozen account ask again, after you have looked into the log. Its count of failures starts anew."""
    with open_ledger(ledger) as book:
        seen = book.thaw(account=name)
        state = book.account(name).balance()
    now = failures_as_line(state.account.failures)
    typer.echo(f"Account {name!r} is thawed ({seen:,} failures looked at): {now}.")
    if state.dataset.failures.frozen:
        typer.echo(f"Its data set {state.dataset.name!r} is frozen too: unlisted dataset thaw.")


def _lines(balance: Balance) -> list[str]:
    state, dataset = balance.account, balance.dataset
    lines = [
        f"Account {state.name!r} on the data set {dataset.name!r}{' (closed)' if state.closed else ''}",
        *amounts_as_lines(state.terms.total, state.used, state.reserved, balance.left_for_life),
        f"  The data set has {said(dataset.left)} left, which all its accounts share.",
    ]
    in_period = balance.left_in_period
    if in_period is not None:
        lines.append(
            f"  {balance.period_name}: {said(in_period)} left. An allowance starts anew, the total never."
        )
    if state.terms.result_epsilon is not None:
        epsilon = Fraction(state.terms.result_epsilon)
        result = Guarantee(epsilon**2 / 8, Fraction(0))
        questions = balance.left.guarantee().delta // Fraction(state.terms.question_delta or 1)
        enough = enough_for(balance.left.guarantee(), result, epsilon)
        when = "" if in_period is None else " now"
        lines.append(f"  What is left{when} is {enough}, and for {questions:,} more questions.")
    lines.append(f"  {failures_as_line(state.failures)}.")
    if dataset.failures.frozen:
        lines.append(f"  The data set is frozen with all its accounts: {failures_as_line(dataset.failures)}.")
    return lines
