"""Every refusal a caller can meet: what is wrong and what to do next.

One root, `UnlistedError`, and one class for each kind of answer a caller can give. The command line maps
the kinds to exit codes (2 bad input, 3 budget, 4 failed after data was touched, or nobody knows), the service
to HTTP statuses.
A message never quotes data: it speaks of arguments, columns and budgets, which the caller already knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from numbers import Number
from typing import Any

__all__ = [
    "AccessError",
    "BudgetRefusedError",
    "CannotAnswerError",
    "ChargedFailureError",
    "FrozenError",
    "InvalidArgumentError",
    "InvalidCountsError",
    "LedgerError",
    "MissingExtraError",
    "StreamError",
    "UncertainError",
    "UnlistedError",
]


class UnlistedError(Exception):
    """The root of everything `unlisted` raises on purpose."""


class InvalidArgumentError(UnlistedError, ValueError):
    """An argument is outside its allowed range. Nothing was touched and nothing was charged."""

    problems: tuple[InvalidArgumentError, ...] = ()
    """Where several arguments are wrong, each of them."""

    def __init__(self, argument: str, value: object, allowed: str, hint: str = "") -> None:
        self.argument = argument
        self.value = value
        self.allowed = allowed
        self.hint = hint
        is_missing = value is None and allowed.startswith("given")
        wrong = "is missing" if is_missing else f"= {_shown(value)} is not allowed"
        message = f"{argument} {wrong}: it must be {allowed}."
        super().__init__(f"{message} {hint}" if hint else message)

    @staticmethod
    def together(problems: Sequence[InvalidArgumentError]) -> InvalidArgumentError:
        """Return one refusal that says all of them; its `argument` is that of the first."""
        first = problems[0]
        if len(problems) == 1:
            return first
        both = InvalidArgumentError(first.argument, first.value, first.allowed, first.hint)
        both.args = ("\n".join(map(str, problems)),)
        both.problems = tuple(problems)
        return both


class InvalidCountsError(UnlistedError, ValueError):
    """Counts that break what they declare: wrong type, negative, duplicated label, too many rows."""


class CannotAnswerError(UnlistedError):
    """A question failed in rehearsal, on no rows: it would fail here whatever the rows are. It cost nothing.

    `problem` says what is wrong as far as it can be told in words; the cause itself is in the owner's log.
    """

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(
            f"The question cannot be answered here, whatever the rows are: {problem}. No row was read and nothing "
            "was charged. The cause is in the owner's log."
        )


class BudgetRefusedError(UnlistedError):
    """The question does not fit into what is left. It cost nothing."""


class MissingExtraError(UnlistedError, ImportError):
    """Something needs a package that is not installed. Nothing was touched and nothing was charged.

    `extra` is the extra of `unlisted` that brings the package.
    """

    def __init__(self, what: str, package: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f'{what} needs {package}, which is not installed. Run: pip install "unlisted[{extra}]"')


class FrozenError(BudgetRefusedError):
    """Too many questions failed after data was touched, and the owner has not looked yet. It cost nothing."""


class LedgerError(UnlistedError):
    """The ledger cannot do as asked: it cannot be reached, written to or read. Nothing was charged."""


class UncertainError(LedgerError):
    """Nobody can say whether it was booked: the store went away while it was asked to keep it."""

    @classmethod
    def because(cls, reason: str) -> UncertainError:
        """Say why, and how to find out."""
        return cls(
            f"The ledger could not be used: {reason}. It may or may not have been booked: look for it in "
            "`unlisted ledger history` before you try again. What was booked stays spent."
        )


class AccessError(UnlistedError):
    """A service does not let a caller in, or cannot be reached: no key, no grant, too many requests.

    `status` is the HTTP status that says it. `retry_after` is how many seconds to wait, where waiting helps.
    """

    def __init__(self, status: int, message: str, retry_after: int | None = None) -> None:
        self.status = status
        self.retry_after = retry_after
        super().__init__(message)


class StreamError(UnlistedError):
    """A stream's folder is damaged, full, locked or may not be written to. What it held, it still holds."""


class ChargedFailureError(UnlistedError):
    """Something failed after data was touched. Where an account pays the price stays charged, whatever the cause.

    The message is fixed: a cause could depend on the data, so it goes to the log of whoever owns the data. What it
    says of the price, `consequence`, depends on who pays and on nothing else.
    """

    def __init__(self, consequence: str = "charged") -> None:
        self.consequence = consequence
        super().__init__(f"could not be answered; {consequence}; see the log")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.consequence,)


def _shown(value: object) -> str:
    """Show a value as its owner would write it, never at length, and never one that could hold rows."""
    if _could_hold_rows(value):
        return f"a {type(value).__name__}"
    try:
        if isinstance(value, Fraction):
            value = value.numerator if value.denominator == 1 else float(value)
        text = repr(value)
    except (OverflowError, ValueError):  # Python writes out no whole number of thousands of digits
        return "a number of very many digits"
    return text if len(text) <= 60 else text[:57] + "..."


def _could_hold_rows(value: object) -> bool:
    """Return whether a value is, or has in it, something to go through that Python itself does not bring.

    A column of a data frame is such a thing, and showing it shows its first rows.
    """
    if isinstance(value, str | bytes | Number):
        return False
    if isinstance(value, dict):
        return any(map(_could_hold_rows, (*value.keys(), *value.values())))
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(_could_hold_rows, value))
    return not isinstance(value, type) and (hasattr(value, "__iter__") or hasattr(value, "__array__"))
