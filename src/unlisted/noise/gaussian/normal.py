"""The normal law and Gaussian sums over the integers: bounds of tails, what a move costs, exact Bernoulli draws.

Write φ and Q for the density and the upper tail of the standard normal law, f(z) = e^(-z²/2v) / sqrt(2πv) for v >
0, and S(t) = Σ_{z >= t} f(z). Bounds of S take constant time, for scales where series are long.

*S from above, quickly.* For t - 1/2 >= sqrt(v) the summand is convex on every [z - 1/2, z + 1/2], so each term is
at most its integral there and S(t) <= Q(x), x = (t - 1/2)/sqrt(v).

*S from both sides, closely.* A term minus its integral is -∫ k₂·f'' over its cell, k₂(u) = (1/2 - |u|)²/2 at a
distance u from the middle, whose mean is 1/24. Take the mean out and integrate by parts twice: what is left of k₂
has integrals that vanish at both edges of every cell, and the second one, k₄, lies between -1/384 and 0. So with
y = t - 1/2

    S(t)  =  Q(x) + f'(y)/24 + R,     R = -∫_y^∞ k₄·f'''',     |R| <= ∫_y^∞ |f''''| / 384.

f'(y) = -x·φ(x)/v. From x² >= 3 + √6 on, f'''' >= 0 and so 0 <= R <= -f'''(y)/384 = (x³ - 3x)·φ(x)/384v².
Everywhere ∫ |f''''| = E|N⁴ - 6N² + 3| / v² <= sqrt(24)/v² < 5/v², N standard normal.

*Q.* Q(x) = φ(x)·R(x), and the continued fraction

    R(x) = 1/(x + 1/(x + 2/(x + 3/(x + …))))

is bounded from above by every truncation of odd depth and from below by every one of even depth (all its parts
are positive, and cutting after an odd number of divisions drops a positive term from a denominator that divides).
Near 0, where it converges slowly, 1/2 - Q(x) = φ(x)·Σ x^(2k+1)/(1·3·…·(2k+1)) is a series of positive terms.

*What a move costs.* Let numbers have independent normal noise of variance v, and let a user move them by a vector
of length at most √(μ²v). The loss is normal with mean μ²/2 and variance μ², so (Balle and Wang)

    δ(ε) = Q(ε/μ - μ/2)  -  e^ε · Q(ε/μ + μ/2),

and a shorter move has a smaller δ. Rounds that follow each other, in which later ones may depend on what came out
before, add their μ²: whatever was seen, the loss of the rest is that of a normal law with no more than the rest of
μ² (Dong, Roth and Su).

*Bernoulli draws.* Where only a yes or no is released, weight + noise above a threshold or not, the noise itself is
not needed. Normal noise of variance v lifts a weight over a threshold that is `gap` higher with chance Q(gap/√v),
and a Bernoulli draw of that chance is made instead (`bernoulli.py`): no number of the continuous law is ever
rounded. It needs bounds of Q as sharp as anyone asks, from the series near 0, taken everywhere. All its terms are
positive, so errors stay relative. An operation on decimals of p digits is off by at most u = 5·10^-p of its
result. The n-th term takes 2n operations and n times x², itself rounded; with the additions the sum is within
4n·u. The exponent takes two, and the exponential turns their x²/2 · 2u into a relative x²·u. All else (π, roots,
products, quotients) is less than 10u. Terms are added until each is less than half of the one before and the last
is below 2u of the sum: then the rest, less than the last, is below 2u as well. Far out, 0 < Q(x) <= e^(-x²/2)/2
says enough.
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from unlisted.noise.bernoulli import Bounds
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


def normal_delta_up(mu_squared: Fraction, epsilon: Fraction) -> Fraction:
    """Bound from above the δ at ε, of any sign, of a move of at most μ standard deviations."""
    if mu_squared == 0:
        return Fraction(0) if epsilon >= 0 else round_up(1 - exp_down(epsilon))
    # (ε/μ ± μ/2)², without a square root.
    middle = epsilon**2 / mu_squared + mu_squared / 4
    high = _tail(middle - epsilon, epsilon >= mu_squared / 2)[1]
    low = _tail(middle + epsilon, epsilon >= -mu_squared / 2)[0]
    return min(Fraction(1), max(Fraction(0), round_up(high - exp_down(epsilon) * low)))


def normal_delta_about(mu_squared: float, epsilon: float) -> float:
    """Return about the same in floating point, to find parameters with; it decides nothing."""
    if mu_squared <= 0:
        return -math.expm1(min(0.0, epsilon))
    mu = math.sqrt(mu_squared)
    gained, lost = normal_about(epsilon / mu - mu / 2), normal_about(epsilon / mu + mu / 2)
    return max(0.0, gained - (math.exp(epsilon + math.log(lost)) if lost > 0 else 0.0))


def normal_about(x: float) -> float:
    """Return about Q(x)."""
    return math.erfc(x / math.sqrt(2)) / 2


def _tail(x_squared: Fraction, positive: bool) -> tuple[Fraction, Fraction]:
    low, high = normal_tail_bounds(x_squared)
    return (low, high) if positive else (1 - high, 1 - low)


_DIGITS_A_BIT = 0.30103
_GUARD = 12
_BITS_OF_E = Fraction(1_442_695, 1_000_000)
"""A little less than log2(e)."""


def tail_chance(gap: int, variance: Fraction) -> Bounds:
    """Return the chance that normal noise of this variance exceeds `gap`."""
    if gap < 0:
        below = tail_chance(-gap, variance)
        return lambda precision: _mirrored(below(precision), 1 << precision)
    return lambda precision: _tail_bounds(gap * gap * variance.denominator, variance.numerator, precision)


def _mirrored(bounds: tuple[int, int], one: int) -> tuple[int, int]:
    return one - bounds[1], one - bounds[0]


@lru_cache(maxsize=4096)
def _tail_bounds(above: int, below: int, precision: int) -> tuple[int, int]:
    """Bound 2^precision · Q(x) from both sides, x² = above/below, x >= 0."""
    if above * _BITS_OF_E.numerator > 2 * precision * below * _BITS_OF_E.denominator:
        return 0, 1
    digits = int(precision * _DIGITS_A_BIT) + _GUARD
    context = decimal.Context(prec=digits, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
    squared = context.divide(Decimal(above), Decimal(below))
    total, term, k = Decimal(1), Decimal(1), 0
    # Terms grow as long as 2x² >= 2k + 3, so none of these is the last.
    growing = (2 * above - 3 * below) // (2 * below)
    while term and (k <= growing or term.adjusted() > total.adjusted() - digits):
        k += 1
        term = context.divide(context.multiply(term, squared), Decimal(2 * k + 1))
        total = context.add(total, term)
    fall = context.exp(context.divide(squared, Decimal(-2)))
    density = context.divide(fall, context.sqrt(context.multiply(_pi(digits), Decimal(2))))
    within = context.multiply(context.multiply(context.sqrt(squared), density), total)
    # Here x² is below 1.4 times the precision, so this is more than all errors named above.
    slack = 5 * (4 * k + 20 + 2 * precision)
    part, whole_part = within.as_integer_ratio()
    # 1/2 - within·(1 ± slack/10^digits), over one denominator.
    one, least = 10**digits, 2 * whole_part
    middle = whole_part * one
    low = (middle - 2 * part * (one + slack)) << precision
    high = (middle - 2 * part * (one - slack)) << precision
    return max(0, low // (least * one)), -(-high // (least * one))


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
