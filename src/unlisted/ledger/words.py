"""Budgets in plain words: what is left, and what it is enough for."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from unlisted.ledger.amounts import Amount
from unlisted.privacy.guarantee import Guarantee
from unlisted.release.release import short_up

if TYPE_CHECKING:
    from unlisted.ledger.account import Balance


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
