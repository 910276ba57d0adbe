"""The chance that a standard normal number is above another, by the plain power series.

    P[N > x]  =  1/2 - (1/√2π) · Σ_k (-1)^k x^(2k+1) / (2^k · k! · (2k+1))

Nothing that prices or draws labels sums this series. Its terms alternate and nearly cancel, so it is summed with
many more digits than are wanted.
"""

from __future__ import annotations

import decimal
from decimal import Decimal
from functools import lru_cache

from unlisted.audit.output_law import ALL, DOWN, NONE

FAR = Decimal(9)
"""So many deviations out, a chance is too small to be listed."""

_BEYOND = Decimal("1.2e-19")
"""A little more than P[N > 9]."""

_DIGITS = 100
# The largest term is below e^(81/2) < 10^18, there are a few hundred, and π is known to 50 digits.
_ERROR = Decimal("1e-45")
_SMALLEST_TERM = Decimal("1e-60")
_PI = Decimal("3.14159265358979323846264338327950288419716939937510")


@lru_cache(maxsize=4096)
def chance_above(x: Decimal) -> tuple[Decimal, Decimal]:
    """Bound P[N > x] from both sides."""
    if abs(x) > FAR:
        return (NONE, _BEYOND) if x > 0 else (DOWN.subtract(ALL, _BEYOND), ALL)
    with decimal.localcontext(decimal.Context(prec=_DIGITS)):
        half, power, total, k = x * x / 2, x, x, 0
        # From where terms fall, what is left of an alternating series is less than its next term.
        while k < half or abs(power) > _SMALLEST_TERM:
            k += 1
            power = -power * half / k
            total += power / (2 * k + 1)
        chance = Decimal("0.5") - total / (2 * _PI).sqrt()
        return max(NONE, chance - _ERROR), min(ALL, chance + _ERROR)
