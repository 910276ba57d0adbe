"""Budgets as they are shown: balances as plain values and as lines, refusals in plain words."""

from __future__ import annotations

from fractions import Fraction
from html import escape
from typing import Any

from unlisted.ledger.amounts import Amount
from unlisted.ledger.state import Balance, DatasetState, Failures
from unlisted.privacy.rounding import round_up
from unlisted.release.html import bar as filled
from unlisted.release.html import card
from unlisted.release.release import short_up, shown_up

_BAR = 30
_EPSILON_DIGITS = 9


def balance_as_dict(balance: Balance) -> dict[str, Any]:
    """Return where an account stands as plain values."""
    account, dataset = balance.account, balance.dataset
    shown: dict[str, Any] = {
        "account": account.name,
        "dataset": dataset.name,
        "kind": account.terms.kind,
        "closed": account.closed,
        **amounts_as_dict(account.terms.total, account.used, account.reserved, balance.left),
        "dataset_left": dataset.left.as_dict(),
        "more_like_last": balance.more_like_last,
        "failures": failures_as_dict(account.failures),
        "dataset_frozen": dataset.failures.frozen,
    }
    in_period = balance.left_in_period
    if in_period is not None:
        shown["period"] = {"name": balance.period_name, "left": in_period.as_dict()}
    return shown


def dataset_as_dict(state: DatasetState) -> dict[str, Any]:
    """Return where a data set stands as plain values."""
    return {
        "dataset": state.name,
        "user": state.unit,
        "adjacency": state.adjacency,
        "source": state.source,
        "version": state.version,
        "kind": state.kind,
        "policy": None if state.policy is None else state.policy.as_dict(),
        **amounts_as_dict(state.total, state.used, state.reserved, state.left),
        "failures": failures_as_dict(state.failures),
    }


def balance_as_html(balance: Balance) -> str:
    """Draw where an account stands, for a notebook."""
    account, total = balance.account, balance.account.terms.total
    gone = account.used + account.reserved
    rows = amounts_as_lines(total, account.used, account.reserved, balance.left)[1:]
    table = f'<pre style="margin:.4em 0">{escape(chr(10).join(rows))}</pre>'
    drawn = f"<div>{filled(float(gone.loss), float(total.loss), 30)}</div>"
    return card(f"Account {account.name} of {balance.dataset.name}", body=drawn + table)


def failures_as_dict(failures: Failures) -> dict[str, Any]:
    """Return how many questions failed since the last thaw, how many may, and whether that froze it."""
    return {"seen": failures.seen, "allowed": failures.allowed, "frozen": failures.frozen}


def failures_as_line(failures: Failures) -> str:
    """Say how many questions failed and how many may."""
    state = "FROZEN until the owner thaws it" if failures.frozen else f"{failures.left:,} more may"
    return f"{failures.seen:,} of {failures.allowed:,} failures after data was touched: {state}"


def amounts_as_dict(total: Amount, spent: Amount, reserved: Amount, left: Amount) -> dict[str, Any]:
    """Return amounts as plain values: the exact loss and δ as texts, and the ε of each at one total δ."""
    at_delta = _at_delta(total)
    named = {"total": total, "spent": spent, "reserved": reserved, "left": left}
    amounts = {name: {**one.as_dict(), "epsilon": _epsilon(one, at_delta)} for name, one in named.items()}
    gone = _epsilon(spent + reserved, at_delta)
    together = {} if at_delta is None else {"epsilon": gone, "at_delta": shown_up(at_delta)}
    return {**amounts, "spent_epsilon": together}


def amounts_as_lines(total: Amount, spent: Amount, reserved: Amount, left: Amount) -> list[str]:
    """Draw amounts as a bar and a table in ρ or μ², in δ and in ε."""
    at_delta, symbol = _at_delta(total), total.accounting.symbol
    epsilon = "ε" if at_delta is None else f"ε at δ = {short_up(at_delta, 3)}"
    lines = [f"  {bar(spent, reserved, total)} of {symbol} spent", f"  {'':10}{symbol:>12}{'δ':>12}    {epsilon}"]
    for name, one in (("total", total), ("spent", spent), ("reserved", reserved), ("left", left)):
        loss, delta = map(float, one.texts)
        found = _epsilon(one, at_delta)
        lines.append(f"  {name:10}{loss:>12.6g}{delta:>12.3g}    {'-' if found is None else f'{found:.4g}'}")
    return lines


def bar(used: Amount, reserved: Amount, total: Amount) -> str:
    """Draw how much of a total's loss is spent (full), reserved (shaded) and left (light)."""
    if total.loss == 0:
        return ""
    full = _BAR * used.loss // total.loss
    shaded = _BAR * (used.loss + reserved.loss) // total.loss - full
    return "█" * full + "▒" * shaded + "░" * (_BAR - full - shaded) + f" {100 * used.loss // total.loss} %"


def said(amount: Amount) -> str:
    """Say an amount in a line."""
    loss, delta = amount.texts
    return f"{amount.accounting.symbol} = {float(loss):.6g}, δ = {float(delta):.3g}"


def said_in_epsilon(total: Amount) -> str:
    """Say a total in a line, with the ε that it is."""
    at_delta = _at_delta(total)
    if at_delta is None:
        return said(total)
    return f"{said(total)}, which is ε = {_epsilon(total, at_delta):.4g} at δ = {short_up(at_delta, 3)}"


MOST_EPSILON = 20
"""Above this an answer may be e^20, half a billion times, as likely with somebody's rows as without."""


def protects_nobody(total: Amount) -> str:
    """Warn of a total that is a number and no protection; nothing for one that may be some."""
    delta = total.exact[1]
    at_delta = _at_delta(total)
    epsilon = None if at_delta is None else _epsilon(total, at_delta)
    if at_delta is None or delta >= Fraction(1, 100):
        return f"Warning: δ = {float(delta):.3g} protects nobody: so many in all may be exposed altogether."
    if epsilon is None or epsilon <= MOST_EPSILON:
        return ""
    return (
        f"Warning: a total of ε = {epsilon:.4g} protects nobody: with somebody's rows an answer may be "
        f"e^{epsilon:.0f} times as likely as without them. Take a lower one: what a data set is never changes."
    )


def more_like(times: int | None, what: str) -> str:
    """Say about how many more questions like one fit."""
    if times is None:
        return f"What is left is enough for any number of questions like {what}"
    questions = "question" if times == 1 else "questions"
    return f"What is left is enough for about {times:,} more {questions} like {what}"


def refusal(asked: Amount, balance: Balance, result: Amount | None, result_epsilon: Fraction | None) -> str:
    """Say that a question does not fit, what is left, where, and what that is enough for."""
    left = balance.left
    where = _narrowest(balance)
    enough = more_of(asked, left)
    if result is not None and result_epsilon is not None and asked.delta <= left.delta:
        # Who was not promised results is not told of none.
        is_told = left.loss >= result.loss or balance.account.terms.result_epsilon is not None
        enough = enough_for(left, result, result_epsilon) if is_told else enough
    symbol, (cost, cost_delta), (rest, rest_delta) = left.accounting.symbol, asked.exact, left.exact
    return (
        f"The question may cost {symbol} = {float(cost):.6g} and δ = {float(cost_delta):.6g}, but only "
        f"{symbol} = {float(rest):.6g} and δ = {float(rest_delta):.6g} are left {where}: {enough}. "
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
    failed = "one question" if seen == 1 else f"{seen:,} questions"
    return (
        f"{whose.capitalize()} {name!r} is frozen: {failed} failed after data was touched, which is the limit. "
        f"The owner of the data looks into the log and thaws it (unlisted {verb} thaw). Until then there are only "
        "previews and answers that were given before. Nothing was charged."
    )


def was_charged(account: str, ceiling: Amount, *, at_most: bool) -> str:
    """Say what a question that was stopped costs: all that it could have cost, or less if it was just answered."""
    loss, delta = ceiling.exact
    amount = f"{ceiling.accounting.symbol} = {short_up(loss, 6)}, δ = {short_up(delta, 3)}"
    return f"The account {account!r} was charged {'at most ' if at_most else ''}{amount}."


def enough_for(left: Amount, result: Amount, epsilon: Fraction) -> str:
    """Say how many more results what is left pays for."""
    results = max(0, left.loss) // result.loss if result.loss else 0
    return f"enough for {results:,} more results at ε = {float(epsilon):g}"


def more_of(asked: Amount, left: Amount) -> str:
    """Say how many more questions like this one would fit, or which part is short."""
    times = asked.times_in(left)
    if times:
        return f"enough for {times:,} more such questions"
    parts = ((left.accounting.symbol, asked.loss, left.loss), ("δ", asked.delta, left.delta))
    short = [name for name, cost, rest in parts if cost > rest]
    return f"too little {' and '.join(short)}; ask with a smaller ε, fewer results or a smaller δ"


def _narrowest(balance: Balance) -> str:
    """Say whose limit it is that binds first."""
    left = balance.left
    in_period = balance.left_in_period
    if in_period is not None and (in_period.loss == left.loss or in_period.delta == left.delta):
        return f"to the account {balance.account.name!r} in {balance.period_name}"
    if balance.account.left.loss == left.loss or balance.account.left.delta == left.delta:
        return f"to the account {balance.account.name!r}"
    return f"on the data set {balance.dataset.name!r}, which all its accounts share"


def _at_delta(total: Amount) -> Fraction | None:
    """Return the total δ at which ε is shown: twice the budget's, half of it for the conversion. None above 1."""
    doubled = 2 * total.exact[1]
    return doubled if 0 < doubled < 1 else None


def _epsilon(amount: Amount, at_delta: Fraction | None) -> float | None:
    return None if at_delta is None else shown_up(round_up(amount.epsilon(at_delta), _EPSILON_DIGITS))
