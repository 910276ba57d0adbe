"""Coins whose chance is a tail of the normal law, exact: what noise would do to a label, with no noise drawn.

Where only a yes or no is released, weight + noise above a threshold or not, the noise itself is not needed. Normal
noise of variance v lifts a weight over a threshold that is `gap` higher with chance Q(gap/√v), and a coin of that
chance is flipped instead (`lazy.py`): no number of the continuous law is ever rounded.

Bounds as sharp as anyone asks, with x² = gap²/v, for x >= 0:

    Q(x) = 1/2 - φ(x) · Σ_{k>=0} x^(2k+1) / (1·3·…·(2k+1)),     φ(x) = e^(-x²/2) / √(2π).

All terms of the series are positive, so errors stay relative. An operation on decimals of p digits is off by at
most u = 5·10^-p of its result. The n-th term takes 2n operations and n times x², itself rounded; with the
additions the sum is within 4n·u. The exponent takes two, and the exponential turns their x²/2 · 2u into a
relative x²·u. All else (π, roots, products, quotients) is less than 10u. Terms are added until each is less than
half of the one before and the last is below 2u of the sum: then the rest, less than the last, is below 2u as
well. Far out, 0 < Q(x) <= e^(-x²/2)/2 says enough.
"""

from __future__ import annotations

import decimal
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from unlisted.noise.lazy import Bounds

_DIGITS_A_BIT = 0.30103
_GUARD = 12
_BITS_OF_E = Fraction(1_442_695, 1_000_000)
"""A little less than log2(e)."""


def tail_coin(gap: int, variance: Fraction) -> Bounds:
    """Return the chance that normal noise of this variance exceeds `gap`."""
    if gap < 0:
        below = tail_coin(-gap, variance)
        return lambda precision: _mirrored(below(precision), 1 << precision)
    return lambda precision: _tail_bounds(gap * gap / variance, precision)


def ratio(part: Bounds, whole: Bounds) -> Bounds:
    """Return the chance of an event, given another that it implies."""

    def bounds(precision: int) -> tuple[int, int]:
        sharp = 2 * precision
        while (whole_bounds := whole(sharp))[0].bit_length() <= precision + 2:
            sharp *= 2
        (low, high), (whole_low, whole_high) = part(sharp), whole_bounds
        return (low << precision) // whole_high, min(1 << precision, -(-(high << precision) // whole_low))

    return bounds


def _mirrored(bounds: tuple[int, int], one: int) -> tuple[int, int]:
    return one - bounds[1], one - bounds[0]


@lru_cache(maxsize=4096)
def _tail_bounds(x_squared: Fraction, precision: int) -> tuple[int, int]:
    """Bound 2^precision · Q(x) from both sides, x >= 0."""
    if x_squared * _BITS_OF_E > 2 * precision:
        return 0, 1
    digits = int(precision * _DIGITS_A_BIT) + _GUARD
    context = decimal.Context(prec=digits, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
    squared = context.divide(Decimal(x_squared.numerator), Decimal(x_squared.denominator))
    total, term, k = Decimal(1), Decimal(1), 0
    while term and (2 * x_squared >= 2 * k + 3 or term.adjusted() > total.adjusted() - digits):
        k += 1
        term = context.divide(context.multiply(term, squared), Decimal(2 * k + 1))
        total = context.add(total, term)
    fall = context.exp(context.divide(squared, Decimal(-2)))
    density = context.divide(fall, context.sqrt(context.multiply(_pi(digits), Decimal(2))))
    within = Fraction(context.multiply(context.multiply(context.sqrt(squared), density), total))
    # Here x² is below 1.4 times the precision, so this is more than all errors named above.
    slack = Fraction(5 * (4 * k + 20 + 2 * precision), 10**digits)
    half, one = Fraction(1, 2), 1 << precision
    low = (half - within * (1 + slack)) * one
    high = (half - within * (1 - slack)) * one
    return max(0, low.numerator // low.denominator), -(-high.numerator // high.denominator)


@lru_cache(maxsize=16)
def _pi(digits: int) -> Decimal:
    """Return π within 10^-digits, by Machin: 16·arctan(1/5) - 4·arctan(1/239)."""
    one = 10 ** (digits + 10)
    return Decimal(16 * _arctan(5, one) - 4 * _arctan(239, one)).scaleb(
        -(digits + 10), decimal.Context(prec=digits + 12)
    )


def _arctan(inverse: int, one: int) -> int:
    """Return arctan(1/inverse)·one; each of the terms, fewer than its digits, is off by less than 2."""
    power, total, k = one // inverse, 0, 0
    while power:
        total += (-power if k % 2 else power) // (2 * k + 1)
        power //= inverse * inverse
        k += 1
    return total
