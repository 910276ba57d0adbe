"""Budgets as they are shown: balances as plain values and as lines, refusals in plain words."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from unlisted.ledger.amounts import Amount
from unlisted.ledger.state import Balance, Failures
from unlisted.privacy.guarantee import Guarantee
from unlisted.release.release import short_up, shown_up

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


def refusal(asked: Guarantee, balance: Balance, result: Guarantee | None, result_epsilon: Fraction | None) -> str:
    """Say that a question does not fit, what is left, where, and what that is enough for."""
    left = balance.left.guarantee()
    where = _narrowest(balance)
    enough = more_of(asked, left)
    if result is not None and result_epsilon is not None and asked.delta <= left.delta:
        # Who was not promised results is not told of none.
        is_told = left.rho >= result.rho or balance.account.terms.result_epsilon is not None
        enough = enough_for(left, result, result_epsilon) if is_told else enough
    return (
        f"The question may cost ρ = {float(asked.rho):.6g} and δ = {float(asked.delta):.6g}, but only "
        f"ρ = {float(left.rho):.6g} and δ = {float(left.delta):.6g} are left {where}: {enough}. "
        "Nothing was charged."
    )


def frozen(balance: Balance) -> str:
    """Say that failures have frozen an account or a data set, and who can do something about it."""
    if balance.dataset.failures.frozen:
        whose, verb, name = "the data set", "dataset", balance.dataset.name
        seen = balance.dataset.failures.seen
    else:
        whose, verb, name = "the account", "account", balance.account.name
        seen = balance.account.failures.seen
    failed = "a question" if seen == 1 else f"{seen:,} questions"
    return (
        f"{whose.capitalize()} {name!r} is frozen: {failed} of it failed after data was touched, as many as may. "
        f"Whoever owns the data looks into the log and thaws it (unlisted {verb} thaw). Until then only previews "
        "and answers that were given before can be had. Nothing was charged."
    )


def was_charged(account: str, ceiling: Amount, *, at_most: bool) -> str:
    """Say what a question that was stopped costs: all that it could have cost, or less if it was just answered."""
    held = ceiling.guarantee()
    amount = f"ρ = {short_up(held.rho, 6)}, δ = {short_up(held.delta, 3)}"
    return f"The account {account!r} was charged {'at most ' if at_most else ''}{amount}."


def enough_for(left: Guarantee, result: Guarantee, epsilon: Fraction) -> str:
    """Say how many more results what is left pays for."""
    results = left.rho // result.rho if result.rho else 0
    return f"enough for {results:,} more results at ε = {float(epsilon):g}"


def more_of(asked: Guarantee, left: Guarantee) -> str:
    """Say how many more questions like this one would fit, or which part is short."""
    times = min(left.rho // asked.rho if asked.rho else 10**9, left.delta // asked.delta if asked.delta else 10**9)
    if times:
        return f"enough for {times:,} more such questions"
    short = [name for name, a, b in (("ρ", asked.rho, left.rho), ("δ", asked.delta, left.delta)) if a > b]
    return f"too little {' and '.join(short)}; ask with a smaller ε, fewer results or a smaller δ"


def _narrowest(balance: Balance) -> str:
    """Say whose limit it is that binds first."""
    left = balance.left
    in_period = balance.left_in_period
    if in_period is not None and (in_period.rho == left.rho or in_period.delta == left.delta):
        return f"to the account {balance.account.name!r} in {balance.period_name}"
    if balance.account.left.rho == left.rho or balance.account.left.delta == left.delta:
        return f"to the account {balance.account.name!r}"
    return f"on the data set {balance.dataset.name!r}, which all its accounts share"
