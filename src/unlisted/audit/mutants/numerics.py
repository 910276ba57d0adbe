"""Mutants of the noise itself: floating point, a tail that ends, a draw that anyone can repeat."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from fractions import Fraction

from unlisted.audit.mutants.mutant import LAPLACE, Mutant, Noise, Uniform
from unlisted.audit.subject import OpenBits, Output, Pair, Subject
from unlisted.privacy.guarantee import EpsilonDelta, Guarantee

CLAIM = Guarantee(LAPLACE.rho(1), Fraction(0), EpsilonDelta(LAPLACE.epsilon(1), Fraction(0)))
"""One count with Laplace noise of scale 1 and no threshold: ε = 1."""


def floats(bits: OpenBits) -> Mutant:
    """Draw Laplace noise by the textbook's formula, in floating point."""
    uniform = Uniform(bits)

    def run(count: int) -> float:
        u = uniform() - 0.5
        return count - math.copysign(1.0, u) * math.log(1 - 2 * abs(u))

    return _of_one_count(
        "floats",
        "The last binary digits of a floating-point sum show which count the noise was added to.",
        run,
        bits,
    )


def cut_tail(bits: OpenBits) -> Mutant:
    """Draw again what lies more than two scales out."""
    noise = Noise(LAPLACE, bits)

    def run(count: int) -> int:
        while abs(drawn := noise()) > 2:
            pass
        return count + drawn

    return _of_one_count(
        "cut tail",
        "Noise ends at ±2, so the outermost value of one neighbour never comes on the other.",
        run,
        bits,
    )


def repeatable(bits: OpenBits) -> Mutant:
    """Take the noise from a generator with a known start, numbered by the question."""

    def run(count: int) -> int:
        drawn = hashlib.sha256(b"start 42, question 1").digest()[0]
        return count + drawn % 9 - 4

    return _of_one_count("known start", "Whoever knows the generator's start can subtract the noise.", run, bits)


def rounded_away(bits: OpenBits) -> Mutant:
    """Round noise of a small scale to the nearest ten."""
    noise = Noise(LAPLACE, bits)
    return _of_one_count(
        "rounded before adding",
        "The noise is rounded to tens before it is added, so it is almost always 0.",
        lambda count: count + round(noise() / 10) * 10,
        bits,
    )


def _of_one_count(name: str, wrong: str, run: Callable[[int], Output], bits: OpenBits) -> Mutant:
    noise = Noise(LAPLACE, bits)
    pair = Pair("one more user", 0, 1)
    return Mutant(
        wrong,
        Subject(name, CLAIM, lambda: [pair], run),
        Subject("repaired", CLAIM, lambda: [pair], lambda count: count + noise()),
    )
