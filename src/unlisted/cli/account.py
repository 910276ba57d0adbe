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
from unlisted.cli.options import grouped, open_ledger
from unlisted.errors import InvalidArgumentError
from unlisted.ledger.amounts import Amount
from unlisted.ledger.display import (
    amounts_as_lines,
    balance_as_dict,
    bar,
    enough_for,
    failures_as_line,
    more_like,
    said,
    said_in_epsilon,
)
from unlisted.ledger.terms import Terms, accounting_of, amount_of
from unlisted.query.options import read_total

if TYPE_CHECKING:
    from unlisted.ledger.state import Balance
    from unlisted.ledger.terms import AnyBudget
    from unlisted.privacy.guarantee import Budget

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
    period_epsilon: Annotated[str | None, typer.Option(metavar="E", help="The ε of each period, at its δ.")] = None
    period_rho: Annotated[
        str | None, typer.Option(metavar="R", help="In place of --period-epsilon: the ρ of each period.")
    ] = None
    period_mu_squared: Annotated[
        str | None, typer.Option(metavar="M", help="In place of --period-epsilon: the μ² of each period.")
    ] = None
    period_delta: Annotated[
        str | None, typer.Option(metavar="D", help="The δ of each period; by default the account's whole δ.")
    ] = None

    def budget(self, allowed: AnyBudget) -> Budget | None:
        """Return the allowance of each period, if there are periods."""
        said = {"epsilon": self.period_epsilon, "rho": self.period_rho, "mu_squared": self.period_mu_squared}
        given = {name: amount for name, amount in said.items() if amount is not None}
        if self.period is None and not given and self.period_delta is None:
            return None
        if self.period is None or len(given) != 1:
            raise InvalidArgumentError(
                "--period", self.period, "given with one of --period-epsilon, --period-rho and --period-mu-squared"
            )
        return read_total({**given, "delta": self.period_delta or self._whole_delta(allowed)})

    def _whole_delta(self, allowed: AnyBudget) -> Fraction:
        """Return the account's δ as this allowance says it: with an ε, twice what its thresholds may use."""
        thresholds = amount_of(allowed, accounting_of(None, allowed)).exact[1]
        return thresholds if self.period_epsilon is None else min(2 * thresholds, Fraction(999, 1000))


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
    Terms.of(budget, each.period, period_budget, accounting_of(allowed.kind, budget))
    with open_ledger(ledger, create=True) as book:
        known = {one.name for one in book.datasets()}
        opened = book.open(
            name,
            dataset=dataset,
            budget=budget,
            kind=allowed.kind,
            period=each.period,
            period_budget=period_budget,
            failures=failures,
        )
    if dataset not in known:
        typer.echo(f"The data set {dataset!r} is new: its total is this account's budget.")
    typer.echo(f"Account {name!r} on {dataset!r} may spend {said_in_epsilon(opened.terms.total)}.")


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
        accounting = state.terms.accounting
        result = Amount.charge(accounting.guarantee(accounting.draw_up(epsilon), Fraction(0)), accounting)
        questions = balance.left.exact[1] // Fraction(state.terms.question_delta or 1)
        enough = enough_for(balance.left, result, epsilon)
        when = "" if in_period is None else " now"
        lines.append(f"  What is left{when} is {enough}, and for {questions:,} more questions.")
    if balance.last is not None:
        lines.append(f"  {more_like(balance.more_like_last, 'the last one')}.")
    lines.append(f"  {failures_as_line(state.failures)}.")
    if dataset.failures.frozen:
        lines.append(f"  The data set is frozen with all its accounts: {failures_as_line(dataset.failures)}.")
    return lines
