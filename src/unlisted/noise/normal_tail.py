"""A proved upper bound of Gaussian sums over the integers, in constant time, for scales where series are long.

For v > 0 write S(t) = Σ_{z >= t} e^(-z²/2v) / sqrt(2πv). For t - 1/2 >= sqrt(v) the summand is convex on every
[z - 1/2, z + 1/2], so each term is at most its integral there and S(t) <= Q((t - 1/2)/sqrt(v)), Q the upper tail
of the standard normal law. The normal tail is Q(x) = φ(x)·R(x), and the continued fraction

    R(x) = 1/(x + 1/(x + 2/(x + 3/(x + …))))

is bounded from above by every truncation of odd depth (all its parts are positive, and cutting after an odd number
of divisions drops a positive term from a denominator that divides).
"""

from __future__ import annotations

import decimal
from decimal import Decimal
from fractions import Fraction

from unlisted.privacy.rounding import exp_up, round_up, sqrt_down

_PI_BELOW = Fraction(Decimal("3.14159265358979323846264338327950288419716939937510"))
_DEPTH = 41
# 41 divisions and additions of positive numbers, each rounded to 60 digits, move the result by less than 10^-57
# of itself; the slack is far more than that.
_DIGITS = 60
_SMOOTH = Fraction(8)
"""From this variance on the excess is below 10^-68; using the value here keeps it an upper bound and short."""
_SLACK = 1 + Fraction(1, 10**40)


def normal_tail_up(x_squared: Fraction) -> Fraction:
    """Bound Q(x) from above for x >= 1, given x²."""
    context = decimal.Context(prec=_DIGITS, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
    x_below = sqrt_down(x_squared)
    x = context.divide(Decimal(x_below.numerator), Decimal(x_below.denominator))
    fraction = x
    for level in range(_DEPTH - 1, 0, -1):
        fraction = context.add(x, context.divide(Decimal(level), fraction))
    mills = _SLACK / Fraction(fraction)
    return round_up(exp_up(-x_squared / 2) * mills / sqrt_down(2 * _PI_BELOW))


def lattice_tail_up(t: int, variance: Fraction) -> Fraction:
    """Bound S(t) = Σ_{z >= t} e^(-z²/2v) / sqrt(2πv) from above.

    Close to the centre, where the bound above does not hold, half of the whole sum is returned: S(t) for t >= 1
    is at most (1 + η)/2 with η the excess of the whole sum over 1, and 1 + η < 2 for every variance of at least
    1.
    """
    from_edge = Fraction(2 * t - 1, 2)
    if from_edge > 0 and from_edge**2 >= variance:
        return normal_tail_up(from_edge**2 / variance)
    return theta_excess_up(variance) * (Fraction(1, 2) if t >= 1 else Fraction(1))


def theta_excess_up(variance: Fraction) -> Fraction:
    """Bound from above, over all real m, the sum Σ_z e^(-(z-m)²/2v) / sqrt(2πv) over the integers.

    By Poisson summation it is 1 + 2 Σ_{k>=1} e^(-2π²vk²) cos(2πkm), at most 1 + 2x/(1 - x³) with x = e^(-2π²v).
    """
    x = exp_up(-2 * _PI_BELOW**2 * min(variance, _SMOOTH))
    return round_up(1 + 2 * x / (1 - x**3))
