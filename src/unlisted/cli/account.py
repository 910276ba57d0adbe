"""`unlisted account`: who may spend what on which data set."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from unlisted.cli.budgets import (
    AllowanceOptions,
    FormatOption,
    LedgerOption,
    balance_as_dict,
    bar,
    said,
    spent_epsilon,
)
from unlisted.cli.groups import grouped
from unlisted.cli.options import FormatChoice, open_ledger
from unlisted.errors import InvalidArgumentError
from unlisted.privacy.guarantee import Budget

if TYPE_CHECKING:
    from unlisted.ledger.account import Balance

account = typer.Typer(
    help="Open, show and close accounts: who may spend what on which data set.", no_args_is_help=True
)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The account's name.", show_default=False)]
PeriodOption = Annotated[
    str | None, typer.Option(help="An allowance that starts anew each day, week, month or year.")
]


@account.command("create")
@grouped
def create(
    name: NameArgument,
    ledger: LedgerOption,
    dataset: Annotated[str, typer.Option(metavar="D", help="The data set it spends on.", show_default=False)],
    allowed: AllowanceOptions,
    period: PeriodOption = None,
    period_rho: Annotated[str | None, typer.Option(metavar="R", help="The ρ of each period.")] = None,
) -> None:
    """Open an account. On an unknown data set this opens the data set too, with the account's budget as its total.

    Loss adds up: over all accounts, and over all periods. A period's allowance starts anew, the lifetime total
    never does.
    """
    with open_ledger(ledger) as book:
        known = {one.name for one in book.datasets()}
        each = _period_budget(allowed, period, period_rho)
        opened = book.open(name, dataset=dataset, budget=allowed.budget(), period=period, period_budget=each)
        if dataset not in known:
            typer.echo(f"The data set {dataset!r} is new: its total is this account's budget.")
        typer.echo(f"Account {name!r} on {dataset!r} may spend {said(opened.terms.total)}.")


@account.command("show")
def show(name: NameArgument, ledger: LedgerOption, format: FormatOption = FormatChoice.table) -> None:  # noqa: A002
    """Show what an account has spent, reserved and left."""
    with open_ledger(ledger) as book:
        balance = book.account(name).balance()
    if format is FormatChoice.json:
        typer.echo(json.dumps(balance_as_dict(balance), ensure_ascii=False, indent=2))
    else:
        typer.echo("\n".join(_lines(balance)))


@account.command("list")
def list_accounts(ledger: LedgerOption, format: FormatOption = FormatChoice.table) -> None:  # noqa: A002
    """List all accounts."""
    with open_ledger(ledger) as book:
        balances = [book.account(one.name).balance() for _, one in book.accounts()]
    if format is FormatChoice.json:
        typer.echo(json.dumps([balance_as_dict(one) for one in balances], ensure_ascii=False, indent=2))
        return
    for one in balances:
        state = one.account
        closed = "  closed" if state.closed else ""
        drawn = bar(state.used, state.reserved, state.terms.total)
        typer.echo(f"{state.name:24} {one.dataset.name:20} {drawn}  left {said(one.left)}{closed}")


@account.command("close")
def close(name: NameArgument, ledger: LedgerOption) -> None:
    """Close an account. What it spent stays spent."""
    with open_ledger(ledger) as book:
        book.close_account(name)
    typer.echo(f"Account {name!r} is closed.")


def _lines(balance: Balance) -> list[str]:
    state, dataset = balance.account, balance.dataset
    epsilon = spent_epsilon(state.used + state.reserved)
    lines = [
        f"Account {state.name!r} on the data set {dataset.name!r}{' (closed)' if state.closed else ''}",
        f"  {bar(state.used, state.reserved, state.terms.total)}",
        f"  total     {said(state.terms.total)}",
        f"  spent     {said(state.used)}",
        f"  reserved  {said(state.reserved)}",
        f"  left      {said(balance.left)}",
        f"  spent and reserved together are ({epsilon['epsilon']:.4g}, {epsilon['at_delta']:.3g})-DP",
        f"  the data set has {said(dataset.left)} left for all its accounts",
    ]
    in_period = balance.left_in_period
    if in_period is not None:
        lines.append(f"  {balance.period_name}: {said(in_period)} left; the total above never starts anew")
    return lines


def _period_budget(allowed: AllowanceOptions, period: str | None, rho: str | None) -> Budget | None:
    if period is None and rho is None:
        return None
    if period is None or rho is None or allowed.delta is None:
        raise InvalidArgumentError("--period", period, "given with --period-rho and --delta")
    # A period may use all of δ: δ is small, and what bounds a period is ρ.
    return Budget(rho=rho, delta=allowed.delta)
