"""Divergences of two laws: Rényi of every order, and the hockey stick δ(ε). Proofs are in divergence.md."""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from unlisted.audit.likelihoods import Likelihoods
from unlisted.audit.output_law import DOWN, NONE, UP, decimal_down, decimal_up
from unlisted.privacy.rounding import exp_down, exp_up

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
