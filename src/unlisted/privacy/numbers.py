"""Reading a caller's numbers exactly, and refusing the ones that make no promise.

A float is read as the decimal it prints: `0.1` means one tenth, not the binary neighbour of one tenth. From
here on every amount is a `fractions.Fraction`; floats come back only for display.
"""

from __future__ import annotations

import numbers
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from unlisted.errors import InvalidArgumentError

Number = int | float | str | Decimal | Fraction

_LARGEST = 10**300
"""No promise is that large; up to here every amount can be shown and searched for as a float."""

_LARGEST_EXPONENT = 1000
"""`1e-999999999` is a short text and a number that no memory holds."""


def exact(argument: str, value: object) -> Fraction:
    """Return the number that `value` prints as; refuse what is not a finite number of usual size."""
    number = _read(value)
    if number is None or abs(number) > _LARGEST:
        raise InvalidArgumentError(argument, value, "a finite number")
    return number


def positive(argument: str, value: object) -> Fraction:
    """Read a number above zero."""
    number = exact(argument, value)
    if number <= 0:
        raise InvalidArgumentError(argument, value, "above 0")
    return number


def not_negative(argument: str, value: object) -> Fraction:
    """Read a number at or above zero."""
    number = exact(argument, value)
    if number < 0:
        raise InvalidArgumentError(argument, value, "0 or above")
    return number


def failure_probability(argument: str, value: object) -> Fraction:
    """Read a δ that a mechanism may be given: above 0 and below 1/2, where a threshold is still a promise."""
    number = exact(argument, value)
    if not 0 < number < Fraction(1, 2):
        raise InvalidArgumentError(
            argument, value, "above 0 and below 1/2", "Usual values are far below 1 / (number of users)."
        )
    return number


def whole(argument: str, value: object, at_least: int = 1) -> int:
    """Read a whole number that is at least `at_least`."""
    if not isinstance(value, bool) and isinstance(value, numbers.Integral):
        number = int(value)
        if number >= at_least:
            return number
    raise InvalidArgumentError(argument, value, f"a whole number, {at_least} or above")


def _read(value: object) -> Fraction | None:
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool) or not isinstance(value, str | Decimal | numbers.Real):
        return None
    if isinstance(value, numbers.Integral):
        return Fraction(int(value))
    try:
        printed = Decimal(str(value))
    except InvalidOperation:
        return None
    exponent = printed.as_tuple().exponent
    # NaN and infinity have a letter for an exponent.
    return Fraction(printed) if isinstance(exponent, int) and abs(exponent) <= _LARGEST_EXPONENT else None
