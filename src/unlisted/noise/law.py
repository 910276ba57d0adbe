"""A law: an integer-valued noise that says how it is drawn, how far it reaches, and what it costs.

A user may bring their own. Algorithm 1 takes any law that answers three questions:

    sample(n, bits)   n independent draws, with randomness from `bits` and from nowhere else
    tail(t)           an upper bound of P[Z >= t], exact or rounded up, never increasing in t
    rho(shift)        an upper bound of ρ such that Z and Z + s are ρ-CDP apart for every whole |s| <= shift

Optional: `epsilon(shift)`, if Z and Z + s are also ε-DP apart; `mu_squared(moved, shift)`, a price in Gaussian DP;
and `tv`, the total-variation distance between what `sample` draws and the law that the others speak of. A law with
`tv` above 0 must have an `epsilon`: the distance is charged to δ through the (ε, δ) statement, which is the one it
is a theorem for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unlisted.errors import InvalidArgumentError
from unlisted.noise.bits import Bits
from unlisted.noise.gaussian_dp import mu_squared_of_epsilon_up
from unlisted.privacy.numbers import exact

LARGEST_QUANTILE = 2**61
_REACH = 300
_LEAST = 1e-300


class Law(ABC):
    """An integer-valued noise."""

    tv: Fraction = Fraction(0)
    is_exact: ClassVar[bool] = False
    """Whether every tail is known to any precision, so that a long tail of counts can be drawn lazily."""

    @abstractmethod
    def sample(self, n: int, bits: Bits) -> NDArray[np.int64]:
        """Draw n independent values."""

    @abstractmethod
    def tail(self, t: int) -> Fraction:
        """Bound P[Z >= t] from above."""

    @abstractmethod
    def rho(self, shift: int) -> Fraction:
        """Bound from above the ρ-CDP price of one count that a user moves by at most `shift`."""

    def epsilon(self, shift: int) -> Fraction | None:  # noqa: ARG002 - the default makes no such statement
        """Bound from above the ε-DP price of one count, or None where there is none."""
        return None

    def mu_squared(self, moved: int, shift: int) -> Fraction | None:
        """Bound from above the μ² of so many counts, each moved by at most `shift`; None where none is proved."""
        epsilon = self.epsilon(shift)
        return None if epsilon is None else moved * mu_squared_of_epsilon_up(epsilon)

    def survival(self, t: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return about P[Z >= t] for each t, for display; nothing private depends on it."""
        distinct, where = np.unique(np.clip(t, -_REACH, _REACH), return_inverse=True)
        return np.array([float(self.tail(int(one))) for one in distinct])[where]

    def log_survival(self, t: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return about log P[Z >= t] for each t, for display."""
        return np.log(np.maximum(self.survival(t), _LEAST))

    def half_width(self, confidence: float = 0.95) -> int:
        """Return the smallest h such that the noise lies within ±h about as often as `confidence` says."""
        low, high = -1, 1
        while self._outside(high) > 1 - confidence:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._outside(middle) > 1 - confidence else (low, middle)
        return high

    def _outside(self, h: int) -> float:
        """Return about P[|Z| > h] of a symmetric law."""
        return 2 * float(self.survival(np.array([h + 1]))[0])

    def quantile(self, p: Fraction) -> int:
        """Return the smallest t >= 0 with tail(t) <= p, by doubling and halving: `tail` never increases."""
        p = exact("p", p)
        low, high = -1, 1
        while self.tail(high) > p:
            low, high = high, 2 * high
            if high > LARGEST_QUANTILE:
                raise InvalidArgumentError("p", p, "a tail that the noise can fall below")
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.tail(middle) > p else (low, middle)
        return high
