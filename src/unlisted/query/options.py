"""What an option of a question is: how a value of it is read, one line of help, and what may be chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from datetime import date
from decimal import Context, Decimal, Inexact
from fractions import Fraction
from typing import Any, Literal, get_args

from unlisted.errors import InvalidArgumentError
from unlisted.noise.on_counts import Noise
from unlisted.privacy.guarantee import DEFAULT_DELTA, Budget
from unlisted.privacy.numbers import exact, positive, whole
from unlisted.query.charging import Payer
from unlisted.tables.count_query import MOST_LABEL_BYTES
from unlisted.tables.groups import Groups

LARGEST_FETCH = 2**62
"""No engine hands over that many counts; a larger number would only fail there, when data has been touched."""

_EXACTLY = Context(prec=80, traps=[Inexact])


@dataclass(frozen=True)
class Option:
    """What is said of an option once: how a value of it is read, one line of help, and what may be chosen.

    `kind` is what it holds: names of columns, a text, a list of values, a whole number, an amount above 0, a
    number, a choice or a switch. What an owner fixes for a data set (`owners`) is not asked over HTTP.
    """

    kind: Literal["columns", "text", "values", "whole", "amount", "number", "choice", "switch"]
    help: str
    read: Callable[[str, Any], Any]
    choices: tuple[str, ...] = ()
    owners: bool = False


def option(about: Option, default: Any = MISSING) -> Any:
    """Return the field of a dataclass that is an option."""
    return field(default=default, metadata={"option": about})


def choice(choices: Any, help_: str, *, owners: bool = False) -> Option:
    """Return an option that is one of some words, which a `Literal` lists."""
    allowed: tuple[str, ...] = get_args(choices)

    def read(name: str, value: Any) -> Any:
        if not isinstance(value, str) or value not in allowed:
            last = f"{', '.join(repr(one) for one in allowed[:-1])} or {allowed[-1]!r}"
            raise InvalidArgumentError(name, value, last)
        return value

    return Option("choice", help_, read, allowed, owners=owners)


def own_options(kind: type[Any]) -> dict[str, Option]:
    """Return the options of a kind of question by name, in order; a budget's amounts are `AMOUNTS`."""
    return {one.name: one.metadata["option"] for one in fields(kind) if "option" in one.metadata}


def defaults_of(kind: type[Any]) -> dict[str, Any]:
    """Return the defaults of the options that have one."""
    return {
        one.name: one.default for one in fields(kind) if "option" in one.metadata and one.default is not MISSING
    }


def read_whole(name: str, value: Any) -> int | None:
    """Read a whole number, or nothing."""
    return None if value is None else whole(name, value)


def read_amount(name: str, value: Any) -> Fraction | None:
    """Read an amount above 0 exactly, or nothing."""
    return None if value is None else positive(name, value)


def read_number(name: str, value: Any) -> Fraction | None:
    """Read a number of any sign exactly, or nothing."""
    return None if value is None else exact(name, value)


def read_switch(name: str, value: Any) -> bool:
    """Read yes or no."""
    if not isinstance(value, bool):
        raise InvalidArgumentError(name, value, "True or False")
    return value


def read_fetch(name: str, value: Any) -> Any:
    """Read k̄, or "all", or nothing."""
    if value is None or (isinstance(value, str) and value == "all"):
        return value
    return read_fetched(name, value)


def read_fetched(name: str, value: Any) -> int:
    """Read k̄, how many of the largest counts are looked at."""
    if isinstance(value, str):
        raise InvalidArgumentError(name, value, "a whole number, 1 or above, or 'all' for a ranking")
    if whole(name, value) > LARGEST_FETCH:
        raise InvalidArgumentError(name, value, f"a whole number between 1 and {LARGEST_FETCH}")
    return whole(name, value)


def read_label_bytes(name: str, value: Any) -> int:
    """Read how many bytes a label may have."""
    if whole(name, value) > MOST_LABEL_BYTES:
        raise InvalidArgumentError(name, value, f"a whole number between 1 and {MOST_LABEL_BYTES}")
    return whole(name, value)


def read_values(name: str, value: Any) -> tuple[Any, ...] | None:  # noqa: ARG001 - groups name themselves
    """Read a list of groups, or nothing."""
    return None if value is None else Groups(value).listed


def as_it_is(name: str, value: Any) -> Any:  # noqa: ARG001 - the count query checks it with the others
    """Leave a value to be checked with the others."""
    return value


AMOUNTS: Mapping[str, Option] = {
    "epsilon": Option("amount", "The ε of the whole question; δ is then the total.", read_amount),
    "rho": Option("amount", "The ρ of the whole question, in place of ε; δ is then the threshold's.", read_amount),
    "mu_squared": Option(
        "amount",
        "The μ² of the whole question, in place of ε, as accounts in Gaussian DP count; δ is the threshold's.",
        read_amount,
    ),
    "delta": Option(
        "amount",
        "The probability that a rare value slips out; far below 1 / (number of users). 1e-8 unless said.",
        read_amount,
    ),
}
"""A budget, where it is said in texts and numbers."""


ITEMS_LOOKED_AT = 100
"""Where no bound is said, so many items of a user, chosen at random, help values to be found; all are counted."""

ITEMS_PER_USER = Option(
    "whole",
    "The most distinct items one user counts for (L0 contribution bound); a random choice is kept of users with "
    f"more. Left out, values are found first, by at most {ITEMS_LOOKED_AT} items of a user at a time, and counted "
    "over all their users.",
    read_whole,
)
NOISE = choice(Noise, "The noise distribution; auto takes the one with the lowest threshold.")


def read_budget(amounts: Mapping[str, Any]) -> Budget:
    """Make a budget of a question's amounts, or say what is missing; δ has a default."""
    said = {name: amounts.get(name) for name in AMOUNTS}
    given = [name for name in AMOUNTS if name != "delta" and said[name] is not None]
    if not given:
        raise InvalidArgumentError(
            "epsilon", None, "given, or rho in its place", "For example: epsilon=1. Smaller protects more."
        )
    if len(given) > 1:
        raise InvalidArgumentError(given[1], said[given[1]], f"left out with {given[0]}", "Say one of the two.")
    delta = DEFAULT_DELTA if said["delta"] is None else said["delta"]
    return Budget(delta=delta, **{given[0]: said[given[0]]})


def read_total(amounts: Mapping[str, Any]) -> Budget:
    """Make a budget of the amounts of an account or a data set. Many questions share its δ, so it must be said."""
    budget = read_budget(amounts)
    if amounts.get("delta") is None:
        hint = "All questions share it. For example: 1e-6."
        raise InvalidArgumentError("delta", None, "given", hint)
    return budget


def budget_of(budget: Budget | None, amounts: Mapping[str, Any]) -> Budget:
    """Return the budget that was given whole, or make one of the amounts that were given in its place."""
    said = [name for name, amount in amounts.items() if amount is not None]
    if budget is None:
        return read_budget(amounts)
    if said:
        raise InvalidArgumentError(said[0], amounts[said[0]], "left out with a budget", "Say one of the two.")
    return require_budget(budget)


def require_budget(budget: object, hint: str = "") -> Budget:
    """Refuse what is no budget."""
    if isinstance(budget, Budget):
        return budget
    raise InvalidArgumentError("budget", budget, "a budget such as ul.Budget(epsilon=1)", hint)


def require_items(items_per_user: int | None, what: str) -> None:
    """Refuse to count without a bound on the items of one user where there is no answer without one."""
    if items_per_user is None:
        hint = f"{what} needs a bound on how many different items one user counts for, such as 10."
        raise InvalidArgumentError("items_per_user", None, "given", hint)


def sayable(name: str, value: Any) -> Any:
    """Return a value as JSON says it; an amount as the decimal that it is, so that the same number is read."""
    if isinstance(value, tuple):
        return [str(one) if isinstance(one, date) else one for one in value]
    if not isinstance(value, Fraction):
        return value
    try:
        return str(_EXACTLY.divide(Decimal(value.numerator), Decimal(value.denominator)))
    except Inexact:
        raise InvalidArgumentError(name, value, "a decimal of at most 80 digits, to be sent") from None


def foreign_or_missing(kind: type[Any], told: Mapping[str, Any]) -> list[InvalidArgumentError]:
    """Return what does not belong to a kind of question, and what it cannot do without."""
    own, defaults = own_options(kind), defaults_of(kind)
    left_out = f"left out of the question {kind.kind!r}"
    foreign = [InvalidArgumentError(name, told[name], left_out) for name in told if name not in own]
    missing = [name for name in own if name not in told and name not in defaults]
    return foreign + [InvalidArgumentError(name, None, "given") for name in missing]


def unreadable(kind: type[Any], told: Mapping[str, Any]) -> Iterator[InvalidArgumentError]:
    """Yield what is wrong with each option by itself."""
    options = own_options(kind)
    for name, value in told.items():
        if name in options:
            try:
                options[name].read(name, value)
            except InvalidArgumentError as problem:
                yield problem


def priced_by(account: Payer | None, per_item_epsilon: Any, delta: Any) -> dict[str, Any]:
    """Return what each draw costs: what was said, and what an account was opened with where nothing was said."""
    if account is not None and account.result_epsilon is not None and account.question_delta is not None:
        per_item_epsilon = account.result_epsilon if per_item_epsilon is None else per_item_epsilon
        delta = account.question_delta if delta is None else delta
    return {"per_item_epsilon": per_item_epsilon, "delta": delta}


def each_of(
    budget: Budget | None, amounts: Mapping[str, Any], per_item_epsilon: Any, account: Payer | None
) -> dict[str, Any]:
    """Return what each draw of a ranking costs, with its δ; without one where a budget is for all of them."""
    if budget is not None or amounts.get("epsilon") is not None or amounts.get("rho") is not None:
        return {"per_item_epsilon": per_item_epsilon}
    each = priced_by(account, per_item_epsilon, amounts.get("delta"))
    return {} if each["per_item_epsilon"] is None else each
