"""How balances are shown: as plain values for programs, as a bar and a few lines for people."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from unlisted.ledger.allowances import Failures
from unlisted.ledger.amounts import Amount
from unlisted.releases import short_up, shown_up

if TYPE_CHECKING:
    from unlisted.ledger.account import Balance

_BAR = 30


def balance_as_dict(balance: Balance) -> dict[str, Any]:
    """Return where an account stands as plain values."""
    account, dataset = balance.account, balance.dataset
    shown: dict[str, Any] = {
        "account": account.name,
        "dataset": dataset.name,
        "closed": account.closed,
        **amounts_as_dict(account.terms.total, account.used, account.reserved, balance.left),
        "dataset_left": _pair(dataset.left),
        "failures": failures_as_dict(account.failures),
        "dataset_frozen": dataset.failures.frozen,
    }
    in_period = balance.left_in_period
    if in_period is not None:
        shown["period"] = {"name": balance.period_name, "left": _pair(in_period)}
    return shown


def failures_as_dict(failures: Failures) -> dict[str, Any]:
    """Return how many questions failed since the last thaw, how many may, and whether that froze it."""
    return {"seen": failures.seen, "allowed": failures.allowed, "frozen": failures.frozen}


def failures_as_line(failures: Failures) -> str:
    """Say how many questions failed and how many may."""
    state = "FROZEN until the owner thaws it" if failures.frozen else f"{failures.left:,} more may"
    return f"{failures.seen:,} of {failures.allowed:,} failures after data was touched: {state}"


def amounts_as_dict(total: Amount, spent: Amount, reserved: Amount, left: Amount) -> dict[str, Any]:
    """Return amounts as plain values: exact ρ and δ as texts, and the ε of each at one total δ."""
    at_delta = _at_delta(total)
    named = {"total": total, "spent": spent, "reserved": reserved, "left": left}
    amounts = {name: {**_pair(one), "epsilon": _epsilon(one, at_delta)} for name, one in named.items()}
    gone = _epsilon(spent + reserved, at_delta)
    together = {} if at_delta is None else {"epsilon": gone, "at_delta": shown_up(at_delta)}
    return {**amounts, "spent_epsilon": together}


def amounts_as_lines(total: Amount, spent: Amount, reserved: Amount, left: Amount) -> list[str]:
    """Draw amounts as a bar and a table in ρ, δ and ε."""
    at_delta = _at_delta(total)
    epsilon = "ε" if at_delta is None else f"ε at δ = {short_up(at_delta, 3)}"
    lines = [f"  {bar(spent, reserved, total)} of ρ spent", f"  {'':10}{'ρ':>12}{'δ':>12}    {epsilon}"]
    for name, one in (("total", total), ("spent", spent), ("reserved", reserved), ("left", left)):
        rho, delta = map(float, one.texts)
        found = _epsilon(one, at_delta)
        lines.append(f"  {name:10}{rho:>12.6g}{delta:>12.3g}    {'-' if found is None else f'{found:.4g}'}")
    return lines


def bar(used: Amount, reserved: Amount, total: Amount) -> str:
    """Draw how much of a total's ρ is spent (full), reserved (shaded) and left (light)."""
    if total.rho == 0:
        return ""
    full = _BAR * used.rho // total.rho
    shaded = _BAR * (used.rho + reserved.rho) // total.rho - full
    return "█" * full + "▒" * shaded + "░" * (_BAR - full - shaded) + f" {100 * used.rho // total.rho} %"


def _at_delta(total: Amount) -> Fraction | None:
    """Return the total δ at which ε is shown: twice the budget's, half of it for the conversion. None above 1."""
    doubled = 2 * total.guarantee().delta
    return doubled if 0 < doubled < 1 else None


def _epsilon(amount: Amount, at_delta: Fraction | None) -> float | None:
    return None if at_delta is None else shown_up(amount.guarantee().epsilon(at_delta))


def said(amount: Amount) -> str:
    """Say an amount in a line."""
    rho, delta = amount.texts
    return f"ρ = {float(rho):.6g}, δ = {float(delta):.3g}"


def _pair(amount: Amount) -> dict[str, str]:
    rho, delta = amount.texts
    return {"rho": rho, "delta": delta}
