"""What an option of a question is: how a value of it is read, one line of help, and what may be chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from decimal import Context, Decimal, Inexact
from fractions import Fraction
from typing import Any, Literal, get_args

from unlisted.errors import InvalidArgumentError
from unlisted.noise.on_counts import Noise
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import positive, whole
from unlisted.tables.count_query import MOST_LABEL_BYTES

LARGEST_FETCH = 2**62
"""No engine hands over that many counts; a larger number would only fail there, when data has been touched."""

_EXACTLY = Context(prec=80, traps=[Inexact])


@dataclass(frozen=True)
class Option:
    """What is said of an option once: how a value of it is read, one line of help, and what may be chosen.

    `kind` is what it holds: a name of a column, a text, a whole number, an amount, a choice or a switch. What an
    owner fixes for a data set (`owners`) is not asked over HTTP.
    """

    kind: Literal["columns", "text", "whole", "amount", "choice", "switch"]
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


def as_it_is(name: str, value: Any) -> Any:  # noqa: ARG001 - the count query checks it with the others
    """Leave a value to be checked with the others."""
    return value


AMOUNTS: Mapping[str, Option] = {
    "epsilon": Option("amount", "The ε of the whole question; δ is then the total.", read_amount),
    "rho": Option("amount", "The ρ of the whole question, in place of ε; δ is then the threshold's.", read_amount),
    "delta": Option(
        "amount",
        "The probability that a rare value slips out; far below 1 / (number of users), such as 1e-8.",
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
    """Make a budget of amounts, or say what is missing."""
    said = {name: amounts.get(name) for name in AMOUNTS}
    if said["epsilon"] is None and said["rho"] is None:
        raise InvalidArgumentError(
            "epsilon", None, "given, or rho in its place", "For example: epsilon 1, delta 1e-8."
        )
    if said["epsilon"] is not None and said["rho"] is not None:
        raise InvalidArgumentError("rho", said["rho"], "left out with epsilon", "Say one of the two.")
    if said["delta"] is None:
        raise InvalidArgumentError("delta", None, "given", "For example: 1e-8.")
    return Budget(epsilon=said["epsilon"], rho=said["rho"], delta=said["delta"])


def require_budget(budget: object, hint: str = "") -> Budget:
    """Refuse what is no budget."""
    if isinstance(budget, Budget):
        return budget
    raise InvalidArgumentError("budget", budget, "a budget such as ul.Budget(epsilon=1, delta=1e-8)", hint)


def require_items(items_per_user: int | None, what: str) -> None:
    """Refuse to count without a bound on the items of one user where there is no answer without one."""
    if items_per_user is None:
        hint = f"{what} needs a bound on how many different items one user counts for, such as 10."
        raise InvalidArgumentError("items_per_user", None, "given", hint)


def sayable(name: str, value: Any) -> Any:
    """Return a value as JSON says it; an amount as the decimal that it is, so that the same number is read."""
    if isinstance(value, tuple):
        return list(value)
    if not isinstance(value, Fraction):
        return value
    try:
        return str(_EXACTLY.divide(Decimal(value.numerator), Decimal(value.denominator)))
    except Inexact:
        raise InvalidArgumentError(name, value, "a decimal of at most 80 digits, to be sent") from None
