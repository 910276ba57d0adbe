"""Two laws side by side: how likely each likelihood ratio is under both, and the divergences that follow from it.

Outcomes with the same ratio P(y)/Q(y) may be merged without changing any divergence, since the ratio is all that a
divergence looks at. Thousands of outcomes become a few dozen classes. Ratios are compared to twelve digits, and a
class keeps bounds of the ratios in it. From them come Rényi divergences of every order, and the hockey stick δ(ε).
Proofs are in divergence.md.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unlisted.audit.laws.output_law import ALL, DOWN, NONE, UP, OutputLaw, decimal_down, decimal_up
from unlisted.privacy.rounding import exp_down, exp_up

_RATIO_DIGITS = 12
_RATIO_DOWN = decimal.Context(_RATIO_DIGITS, decimal.ROUND_FLOOR, decimal.MIN_EMIN, decimal.MAX_EMAX)
_RATIO_UP = decimal.Context(_RATIO_DIGITS, decimal.ROUND_CEILING, decimal.MIN_EMIN, decimal.MAX_EMAX)


class RatioClass(NamedTuple):
    """Outcomes that both laws list, with about the same ratio: its bounds, and what both laws give them."""

    ratio_low: Decimal
    ratio_high: Decimal
    left: Decimal
    right: Decimal

    def mirrored(self) -> RatioClass:
        """Return the class with the two laws exchanged."""
        inverse_low, inverse_high = _RATIO_DOWN.divide(1, self.ratio_high), _RATIO_UP.divide(1, self.ratio_low)
        return RatioClass(inverse_low, inverse_high, self.right, self.left)


@dataclass(frozen=True, eq=False)
class Likelihoods:
    """Two laws by likelihood ratio, smallest first.

    `left_only` is listed by the left law and not by the right one: outcomes that tell the two apart. What a law
    does not say, `left_missing` and `right_missing`, may lie anywhere.
    """

    classes: tuple[RatioClass, ...]
    left_only: Decimal
    right_only: Decimal
    left_missing: Decimal
    right_missing: Decimal

    @classmethod
    def of(cls, left: OutputLaw, right: OutputLaw) -> Likelihoods:
        """Compare two laws outcome by outcome."""
        found: dict[Decimal, RatioClass] = {}
        left_only, right_only = NONE, NONE
        for outcome, p in left.at_least.items():
            q = right.at_least.get(outcome, NONE)
            if not p:
                continue
            if not q:
                left_only = DOWN.add(left_only, p)
                continue
            low, high = _RATIO_DOWN.divide(p, q), _RATIO_UP.divide(p, q)
            before = found.get(high)
            found[high] = (
                RatioClass(low, high, p, q)
                if before is None
                else RatioClass(
                    min(low, before.ratio_low), high, DOWN.add(before.left, p), DOWN.add(before.right, q)
                )
            )
        for outcome, q in right.at_least.items():
            if not left.at_least.get(outcome, NONE):
                right_only = DOWN.add(right_only, q)
        classes = tuple(found[ratio] for ratio in sorted(found))
        left_missing = _short_of_one(left_only, [one.left for one in classes])
        right_missing = _short_of_one(right_only, [one.right for one in classes])
        return cls(classes, left_only, right_only, left_missing, right_missing)

    @classmethod
    def both_ways(cls, left: OutputLaw, right: OutputLaw) -> Sides:
        """Compare two laws in both directions."""
        pair = cls.of(left, right)
        return pair, pair.mirrored()

    def mirrored(self) -> Likelihoods:
        """Return the same with the two laws exchanged."""
        classes = tuple(one.mirrored() for one in reversed(self.classes))
        return Likelihoods(classes, self.right_only, self.left_only, self.right_missing, self.left_missing)

    @property
    def failure(self) -> Decimal:
        """The chance, under the left law, of an outcome that the right one does not list; at most this."""
        return UP.add(self.left_only, self.left_missing)


Sides = tuple[Likelihoods, Likelihoods]
"""Two laws compared in both directions."""


def _short_of_one(first: Decimal, others: list[Decimal]) -> Decimal:
    total = first
    for one in others:
        total = DOWN.add(total, one)
    return UP.subtract(ALL, total)


Floats = NDArray[np.float64]

NEAREST_ORDER = 1e-6
"""The first order of a grid is this much above 1."""

_LOGARITHMS = decimal.Context(prec=25)
_FITS_A_FLOAT = Decimal("1e-290")
_TRUSTED = 2.0**-46
_FARTHEST_ORDER = 1e7
_SMALLEST_RHO = 1e-12


@dataclass(frozen=True, eq=False)
class LossLaw:
    """A part of one law by its loss log(P0(y)/Q0(y)) against a part of another.

    Guarantees: with exact arithmetic, Σ mass·e^((λ-1)·loss) is the moment M(P0, Q0; λ), or a bound of it from the
    side that whoever made it says. `log_moments` returns its logarithm and how far floats may be off.
    """

    log_masses: Floats
    losses: Floats

    @classmethod
    def of(cls, weights: list[tuple[Decimal, Decimal]]) -> LossLaw:
        """Return the law of (mass, ratio) pairs; what has no mass is left away."""
        kept = [(mass, ratio) for mass, ratio in weights if mass > 0]
        return cls(
            np.array([_log(mass) for mass, _ in kept]),
            np.array([_log(ratio) for _, ratio in kept]),
        )

    @property
    def worst(self) -> float:
        """The largest loss, rounded up."""
        return float(self.losses.max() + _TRUSTED * (1 + abs(self.losses).max())) if self.losses.size else 0.0

    def log_moments(self, orders: Floats) -> tuple[Floats, Floats]:
        """Return log M at every order, and a bound on the error of each.

        What is lost: a few units in the last place of both logarithms and of the exponent, the rounding of a sum
        of positive terms, and what exp and log lose, which are taken to be right to 46 of their 53 bits.
        """
        exponents = np.multiply.outer(orders - 1, self.losses) + self.log_masses
        highest = exponents.max(axis=1)
        values = highest + np.log(np.exp(exponents - highest[:, None]).sum(axis=1))
        size = 1 + abs(self.log_masses).max() + (orders - 1) * (1 + abs(self.losses).max())
        return values, 2.0**-49 * (size + len(self.losses)) + 4 * _TRUSTED

    def rho_at_least(self, orders: Floats) -> float:
        """Return a ρ that no smaller one will do for: the moment at one of these orders needs it."""
        if not self.losses.size:
            return 0.0
        values, errors = self.log_moments(orders)
        return max(0.0, float(((values - errors) / (orders * (orders - 1))).max()) * (1 - _TRUSTED))

    def rho_at_most(self, orders: Floats) -> float:
        """Return a ρ with M <= e^(λ(λ-1)ρ) for *every* λ > 1, for a part of mass at most 1."""
        if not self.losses.size:
            return 0.0
        values, errors = self.log_moments(np.concatenate([[1.0], orders]))
        upper = values + errors
        # Between 1 and the first order log M/(λ-1) never decreases; beyond the last one it is at most the worst.
        near = upper[1] / (orders[0] - 1)
        far = self.worst / orders[-1]
        ends = float((upper[1:] / (orders * (orders - 1))).max())
        between = _lowest_over_chords(orders, upper[1:], max(ends, 0.0))
        first = (
            _lowest_over_chords(np.array([1.0, orders[0]]), upper[:2], max(ends, 0.0)) if upper[0] <= 0 else near
        )
        return float(max(0.0, min(near, first), far, between)) * (1 + _TRUSTED)


def grid(worst: float, rho: float, step: float) -> Floats:
    """Return orders from near 1 to where the worst loss is cheap, each by `step` farther from 1 than the last."""
    last = min(_FARTHEST_ORDER, max(4.0, 8 * worst / rho if rho > 0 else 4.0))
    points = int(np.log((last - 1) / NEAREST_ORDER) / np.log1p(step)) + 2
    return np.asarray(1 + np.geomspace(NEAREST_ORDER, last - 1, points))


def _log(x: Decimal) -> float:
    """Return the logarithm of a positive number, which may be far too small for a float."""
    return math.log(float(x)) if _FITS_A_FLOAT < x < 1 / _FITS_A_FLOAT else float(x.ln(_LOGARITHMS))


def _lowest_over_chords(orders: Floats, upper: Floats, at_least: float) -> float:
    """Return the smallest ρ, to nine digits, whose parabola λ(λ-1)ρ lies above all chords of these points."""
    slopes = np.diff(upper) / np.diff(orders)

    def above(rho: float) -> bool:
        # A chord minus the parabola is concave: it is largest where the slopes agree, or at an end.
        touch = np.clip((slopes / rho + 1) / 2, orders[:-1], orders[1:])
        return bool((upper[:-1] + slopes * (touch - orders[:-1]) <= rho * touch * (touch - 1)).all())

    low = max(at_least, _SMALLEST_RHO)
    high = low
    while not above(high):
        low, high = high, 2 * high
    while high > low * (1 + 1e-9):
        middle = (low + high) / 2
        low, high = (low, middle) if above(middle) else (middle, high)
    return high


def hockey_stick(pair: Likelihoods, epsilon: Fraction) -> tuple[Decimal, Decimal]:
    """Bound from both sides the δ(ε) of the left law against the right: max over S of P(S) - e^ε·Q(S)."""
    under, over = _power(epsilon)
    low, high = pair.left_only, pair.left_only
    for one in pair.classes:
        low = DOWN.add(low, max(NONE, DOWN.subtract(one.left, UP.multiply(over, one.right))))
        if one.ratio_high > under:
            # Where the ratios of a class straddle e^ε, all of P - e^ε·Q in it is within twelve digits of 0.
            spread = UP.subtract(UP.divide(one.ratio_high, one.ratio_low), 1)
            over_all = UP.subtract(one.left, DOWN.multiply(under, one.right))
            high = UP.add(high, max(over_all, UP.multiply(one.left, spread)))
    return max(NONE, DOWN.subtract(low, UP.multiply(over, pair.right_missing))), UP.add(high, pair.left_missing)


@lru_cache(maxsize=256)
def _power(epsilon: Fraction) -> tuple[Decimal, Decimal]:
    """Bound e^ε from both sides."""
    return decimal_down(exp_down(epsilon)), decimal_up(exp_up(epsilon))
