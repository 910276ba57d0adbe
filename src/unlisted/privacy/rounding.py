"""Irrational functions of exact numbers, always rounded to a stated side.

`decimal` computes exp, ln and sqrt *correctly rounded* (half to even), so the true value lies within half a unit
of the last place of what it returns; one step outward is a proved bound. Every function here ends in `_up` or
`_down`: an upper or a lower bound, never "about". Bounds carry `DIGITS` significant digits, far more than any
promise needs, so that rounding against ourselves costs nothing a user could notice.
"""

from __future__ import annotations

import decimal
from decimal import Decimal
from fractions import Fraction

DIGITS = 50

_FAR = Fraction(5000)
"""Beyond e^±5000 nothing that anyone promises depends on the value, and exact fractions would only grow."""


def _context(rounding: str, digits: int) -> decimal.Context:
    # The widest exponents there are: a tail of e^-100000 must not become 0 on the way.
    return decimal.Context(prec=digits, rounding=rounding, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)


def _decimal_up(x: Fraction, digits: int) -> Decimal:
    return _context(decimal.ROUND_CEILING, digits).divide(Decimal(x.numerator), Decimal(x.denominator))


def _decimal_down(x: Fraction, digits: int) -> Decimal:
    return _context(decimal.ROUND_FLOOR, digits).divide(Decimal(x.numerator), Decimal(x.denominator))


def round_up(x: Fraction, digits: int = DIGITS) -> Fraction:
    """Return the smallest number of `digits` significant digits that is at least x."""
    return Fraction(_decimal_up(x, digits))


def round_down(x: Fraction, digits: int = DIGITS) -> Fraction:
    """Return the largest number of `digits` significant digits that is at most x."""
    return Fraction(_decimal_down(x, digits))


def exp_up(x: Fraction, digits: int = DIGITS) -> Fraction:
    """Bound e^x from above."""
    x = max(x, -_FAR)
    context = _context(decimal.ROUND_HALF_EVEN, digits)
    return Fraction(context.next_plus(context.exp(_decimal_up(x, digits + 10))))


def exp_down(x: Fraction, digits: int = DIGITS) -> Fraction:
    """Bound e^x from below."""
    if x < -_FAR:
        return Fraction(0)
    x = min(x, _FAR)
    context = _context(decimal.ROUND_HALF_EVEN, digits)
    return Fraction(context.next_minus(context.exp(_decimal_down(x, digits + 10))))


def log_up(x: Fraction, digits: int = DIGITS) -> Fraction:
    """Bound the natural logarithm of x > 0 from above."""
    context = _context(decimal.ROUND_HALF_EVEN, digits)
    return _step_up(context, context.ln(_decimal_up(x, digits + 10)))


def log_down(x: Fraction, digits: int = DIGITS) -> Fraction:
    """Bound the natural logarithm of x > 0 from below."""
    context = _context(decimal.ROUND_HALF_EVEN, digits)
    return _step_down(context, context.ln(_decimal_down(x, digits + 10)))


def sqrt_up(x: Fraction, digits: int = DIGITS) -> Fraction:
    """Bound the square root of x >= 0 from above."""
    context = _context(decimal.ROUND_HALF_EVEN, digits)
    return _step_up(context, context.sqrt(_decimal_up(x, digits + 10)))


def sqrt_down(x: Fraction, digits: int = DIGITS) -> Fraction:
    """Bound the square root of x >= 0 from below."""
    context = _context(decimal.ROUND_HALF_EVEN, digits)
    return _step_down(context, context.sqrt(_decimal_down(x, digits + 10)))


def power_up(x: Fraction, n: int) -> Fraction:
    """Bound x^n from above for x >= 0: by squaring, every product rounded up."""
    return _power(x, n, decimal.ROUND_CEILING)


def power_down(x: Fraction, n: int) -> Fraction:
    """Bound x^n from below for x >= 0: by squaring, every product rounded down."""
    return _power(x, n, decimal.ROUND_FLOOR)


def any_of_up(p: Fraction, n: int) -> Fraction:
    """Bound from above the chance 1 - (1-p)^n that any of n independent events of chance p happens.

    The power is taken by squaring with every product rounded down; all factors are in [0, 1], so the result is
    a lower bound of (1-p)^n. The digits lost to cancellation (about those of 1/p) are added first.
    """
    if n <= 0 or p <= 0:
        return Fraction(0)
    if n == 1 or p >= 1:
        return min(p, Fraction(1))
    kept = _squared(1 - p, n, _context(decimal.ROUND_FLOOR, DIGITS + _leading_zeros(p) + 10))
    # Almost certain: 1 is a bound, and as a fraction what is kept may have millions of digits.
    return Fraction(1) if kept.adjusted() < -DIGITS else min(Fraction(1), round_up(1 - Fraction(kept)))


def _power(x: Fraction, n: int, rounding: str) -> Fraction:
    # Ten digits more than a bound carries: as many as the products of a very large n could lose.
    return Fraction(_squared(x, n, _context(rounding, DIGITS + 10)))


def _squared(x: Fraction, n: int, context: decimal.Context) -> Decimal:
    """Return x^n for x >= 0, every product rounded to the context's side."""
    base, power = context.divide(Decimal(x.numerator), Decimal(x.denominator)), Decimal(1)
    while n:
        if n & 1:
            power = context.multiply(power, base)
        base = context.multiply(base, base)
        n >>= 1
    return power


def _leading_zeros(p: Fraction) -> int:
    """Return about how many zeros p < 1 has after the decimal point, one digit being at least 3.3 bits."""
    return max(0, (p.denominator.bit_length() - p.numerator.bit_length()) * 10 // 33 + 2)


def _step_up(context: decimal.Context, rounded: Decimal) -> Fraction:
    # log and sqrt are 0 only at 1 and at 0, where that is exact; the next number above 0 is 10^-(10^18).
    return Fraction(context.next_plus(rounded)) if rounded else Fraction(0)


def _step_down(context: decimal.Context, rounded: Decimal) -> Fraction:
    return Fraction(context.next_minus(rounded)) if rounded else Fraction(0)
