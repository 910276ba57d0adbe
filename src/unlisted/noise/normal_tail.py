"""Proved bounds of Gaussian sums over the integers, in constant time, for scales where series are long.

For v > 0 write f(z) = e^(-z²/2v) / sqrt(2πv) and S(t) = Σ_{z >= t} f(z).

*From above, quickly.* For t - 1/2 >= sqrt(v) the summand is convex on every [z - 1/2, z + 1/2], so each term is at
most its integral there and S(t) <= Q(x), x = (t - 1/2)/sqrt(v), Q the upper tail of the standard normal law.

*From both sides, closely.* A term minus its integral is -∫ k₂·f'' over its cell, k₂(u) = (1/2 - |u|)²/2 at a
distance u from the middle, whose mean is 1/24. Take the mean out and integrate by parts twice: what is left of k₂
has integrals that vanish at both edges of every cell, and the second one, k₄, lies between -1/384 and 0. So with
y = t - 1/2

    S(t)  =  Q(x) + f'(y)/24 + R,     R = -∫_y^∞ k₄·f'''',     |R| <= ∫_y^∞ |f''''| / 384.

f'(y) = -x·φ(x)/v. From x² >= 3 + √6 on, f'''' >= 0 and so 0 <= R <= -f'''(y)/384 = (x³ - 3x)·φ(x)/384v².
Everywhere ∫ |f''''| = E|N⁴ - 6N² + 3| / v² <= sqrt(24)/v² < 5/v², N standard normal.

*The normal tail.* Q(x) = φ(x)·R(x), and the continued fraction

    R(x) = 1/(x + 1/(x + 2/(x + 3/(x + …))))

is bounded from above by every truncation of odd depth and from below by every one of even depth (all its parts
are positive, and cutting after an odd number of divisions drops a positive term from a denominator that divides).
Near 0, where it converges slowly, 1/2 - Q(x) = φ(x)·Σ x^(2k+1)/(1·3·…·(2k+1)) is a series of positive terms.
"""

from __future__ import annotations

import decimal
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from unlisted.privacy.rounding import exp_down, exp_up, round_down, round_up, sqrt_down, sqrt_up

_PI_BELOW = Fraction(Decimal("3.14159265358979323846264338327950288419716939937510"))
_PI_ABOVE = _PI_BELOW + Fraction(1, 10**49)
_ROOT_BELOW, _ROOT_ABOVE = sqrt_down(2 * _PI_BELOW), sqrt_up(2 * _PI_ABOVE)
_DEPTH = 41
# 42 divisions and additions of positive numbers, each rounded to 60 digits, move the result by less than 10^-57
# of itself; the slack is far more than that.
_DIGITS = 60
_SMOOTH = Fraction(8)
"""From this variance on the excess is below 10^-68; using the value here keeps it an upper bound and short."""
_SLACK = 1 + Fraction(1, 10**40)
_NEAR = Fraction(9)
"""Below this x² the series is summed."""
_TERMS = 60
_CONVEX_BEND = Fraction(109, 20)
"""A little more than 3 + √6 = 5.4495, from where on the fourth derivative is positive."""


def normal_tail_up(x_squared: Fraction) -> Fraction:
    """Bound Q(x) from above for x >= 1, given x²."""
    return round_up(_density(x_squared)[1] * _mills(sqrt_down(x_squared), _DEPTH) * _SLACK)


def normal_tail_bounds(x_squared: Fraction) -> tuple[Fraction, Fraction]:
    """Bound Q(x) from both sides for x >= 0, given x²."""
    if x_squared < _NEAR:
        below, above = _near_the_centre(x_squared)
        return round_down(Fraction(1, 2) - above), round_up(Fraction(1, 2) - below)
    low = _density(x_squared)[0] * _mills(sqrt_up(x_squared), _DEPTH + 1) / _SLACK
    return round_down(low), normal_tail_up(x_squared)


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


def lattice_tail_bounds(t: int, variance: Fraction) -> tuple[Fraction, Fraction]:
    """Bound S(t) from both sides for t >= 1, with a relative width of about x⁴/384v² far from the centre."""
    x_squared = Fraction(2 * t - 1, 2) ** 2 / variance
    low, high = normal_tail_bounds(x_squared)
    density_low, density_high = _density(x_squared)
    x_low, x_high = sqrt_down(x_squared), sqrt_up(x_squared)
    slope_low, slope_high = x_low * density_low / (24 * variance), x_high * density_high / (24 * variance)
    under, over = Fraction(0), x_high * (x_squared - 3) * density_high / (384 * variance**2)
    if x_squared < _CONVEX_BEND:
        under = over = Fraction(5, 384) / variance**2
    return max(Fraction(0), round_down(low - slope_high - under)), round_up(high - slope_low + over)


def theta_excess_up(variance: Fraction) -> Fraction:
    """Bound from above, over all real m, the sum Σ_z e^(-(z-m)²/2v) / sqrt(2πv) over the integers.

    By Poisson summation it is 1 + 2 Σ_{k>=1} e^(-2π²vk²) cos(2πkm), at most 1 + 2x/(1 - x³) with x = e^(-2π²v),
    and for the same reason at least 1 - 2x/(1 - x³).
    """
    return _theta_up(min(variance, _SMOOTH))


@lru_cache(maxsize=64)
def _theta_up(variance: Fraction) -> Fraction:
    x = exp_up(-2 * _PI_BELOW**2 * variance)
    return round_up(1 + 2 * x / (1 - x**3))


@lru_cache(maxsize=16)
def _density(x_squared: Fraction) -> tuple[Fraction, Fraction]:
    """Bound φ(x) = e^(-x²/2) / sqrt(2π) from both sides."""
    low, high = exp_down(-x_squared / 2), exp_up(-x_squared / 2)
    return round_down(low / _ROOT_ABOVE), round_up(high / _ROOT_BELOW)


def _mills(x: Fraction, depth: int) -> Fraction:
    """Return the continued fraction of R(x) cut after `depth` divisions, to about 57 digits."""
    context = decimal.Context(prec=_DIGITS, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
    at = context.divide(Decimal(x.numerator), Decimal(x.denominator))
    fraction = at
    for level in range(depth - 1, 0, -1):
        fraction = context.add(at, context.divide(Decimal(level), fraction))
    return 1 / Fraction(fraction)


def _near_the_centre(x_squared: Fraction) -> tuple[Fraction, Fraction]:
    """Bound 1/2 - Q(x) from both sides for x² < 9."""
    context = decimal.Context(prec=_DIGITS, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
    squared = context.divide(Decimal(x_squared.numerator), Decimal(x_squared.denominator))
    term = total = Decimal(1)
    for k in range(1, _TERMS):
        term = context.divide(context.multiply(term, squared), Decimal(2 * k + 1))
        total = context.add(total, term)
    density_low, density_high = _density(x_squared)
    below = sqrt_down(x_squared) * density_low * Fraction(total) / _SLACK
    # Beyond the last term each is less than 1/13 of the one before: together they are less than it.
    above = sqrt_up(x_squared) * density_high * (Fraction(total) + Fraction(term)) * _SLACK
    return below, above
