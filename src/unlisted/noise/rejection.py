"""Exact rejection samplers: slow, short, and obviously right.

They need nothing but fair bits and whole numbers (Canonne, Kamath, Steinke). The tables are tested against them,
and scales too large for a table are drawn with them.
"""

from __future__ import annotations

import math
from fractions import Fraction

from unlisted.noise.bits import Bits


def bernoulli(p: Fraction, bits: Bits) -> bool:
    """Return true with probability exactly p, for 0 <= p <= 1."""
    return bits.below(p.denominator) < p.numerator


def bernoulli_exp(x: Fraction, bits: Bits) -> bool:
    """Return true with probability exactly e^-x, for x >= 0.

    For x <= 1: flip coins of probability x/1, x/2, x/3, … until one fails; the number of flips is odd with
    probability 1 - x + x²/2! - … = e^-x. For larger x, one flip for each whole unit and one for the rest.
    """
    while x > 1:
        if not bernoulli_exp(Fraction(1), bits):
            return False
        x -= 1
    flips = 1
    while bernoulli(x / flips, bits):
        flips += 1
    return flips % 2 == 1


def geometric(x: Fraction, bits: Bits) -> int:
    """Return n = 0, 1, 2, … with probability exactly (1 - e^-x)·e^-xn, for x > 0.

    With x = s/t: u uniform below t, kept with probability e^-u/t, and v the number of successes of e^-1 make u +
    t·v geometric with ratio e^-1/t; whole division by s makes its ratio e^-s/t.
    """
    s, t = x.numerator, x.denominator
    while True:
        u = bits.below(t)
        if bernoulli_exp(Fraction(u, t), bits):
            break
    v = 0
    while bernoulli_exp(Fraction(1), bits):
        v += 1
    return (u + t * v) // s


def discrete_laplace(scale: Fraction, bits: Bits) -> int:
    """Return z with probability proportional to exactly e^-|z|/scale: a sign, a size, and never minus zero."""
    while True:
        negative = bits.below(2) == 1
        size = geometric(1 / scale, bits)
        if not (negative and size == 0):
            return -size if negative else size


def discrete_gaussian(variance: Fraction, bits: Bits) -> int:
    """Return z with probability proportional to exactly e^(-z²/2·variance).

    Propose discrete Laplace of whole scale t near the standard deviation; accept with e^(-(|z| -
    variance/t)²/2·variance).
    """
    t = math.isqrt(math.floor(variance)) + 1
    while True:
        z = discrete_laplace(Fraction(t), bits)
        if bernoulli_exp((abs(z) - variance / t) ** 2 / (2 * variance), bits):
            return z


def discrete_gaussian_at_least(t: int, variance: Fraction, bits: Bits) -> int:
    """Return z >= t with probability proportional to exactly e^(-z²/2·variance).

    For t >= 1: propose t + j with j geometric of ratio e^(-t/variance), accept with e^(-j²/2·variance); the
    product is the law. Below 1, drawing again accepts at least every second time; so it does where t is small
    against the scale.
    """
    if t <= 0 or t * t < variance:
        while True:
            z = discrete_gaussian(variance, bits)
            if z >= t:
                return z
    while True:
        j = geometric(t / variance, bits)
        if bernoulli_exp(Fraction(j * j) / (2 * variance), bits):
            return t + j
