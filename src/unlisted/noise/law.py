"""A law: an integer-valued noise that says how it is drawn, how far it reaches, and what it costs.

A user may bring their own. Algorithm 1 takes any law that answers three questions:

    sample(n, bits)   n independent draws, with randomness from `bits` and from nowhere else
    tail(t)           an upper bound of P[Z >= t], exact or rounded up, never increasing in t
    rho(shift)        an upper bound of ρ such that Z and Z + s are ρ-zCDP apart for every whole |s| <= shift

Optional: `epsilon(shift)`, if Z and Z + s are also ε-DP apart; `mu_squared(moved, shift)`, a price in Gaussian DP;
and `tv`, the total-variation distance between what `sample` draws and the law that the others speak of. A law with
`tv` above 0 must have an `epsilon`: the distance is charged to δ through the (ε, δ) statement, which is the one it
is a theorem for.

Our own laws are `ExactLaw`s: everything follows from tails that can be computed as sharply as anyone asks. A
subclass gives `tails(precision)` and one slow, obvious sampler; drawing by table, drawing given Z >= t, and exact
Bernoulli draws with a tail's probability are written once, here. Nothing is approximate, so `tv` is 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unlisted.errors import InvalidArgumentError
from unlisted.noise.bernoulli import Bounds
from unlisted.noise.bits import Bits, Draws, SequentialDraws
from unlisted.noise.gaussian.gaussian_dp import mu_squared_of_epsilon_up
from unlisted.noise.table import Table, Tails
from unlisted.privacy.numbers import exact, whole

LARGEST_QUANTILE = 2**61
_REACH = 300
_LEAST = 1e-300


class Law(ABC):
    """An integer-valued noise.

    Subclass it to bring your own; Algorithm 1 takes any. docs/theory.md has one.

    Examples:
        >>> law = ul.DiscreteLaplace(scale=2)
        >>> isinstance(law, ul.Law), law.tail(40) < 1e-8
        (True, True)
    """

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
        """Bound from above the ρ-zCDP price of one count that a user moves by at most `shift`."""

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
        return 2 * float(self.tail(h + 1))

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


ENOUGH_FOR_A_TABLE = 200
"""Building a conditional table takes about as long as this many slow draws."""

_BLOCK = 1 << 18


class ExactLaw(Law):
    """A symmetric, unimodal integer law with tails known to any precision."""

    is_exact: ClassVar = True

    @abstractmethod
    def tails(self, precision: int) -> Tails:
        """Return bounds of all tails whose width is tiny against 2^-64 at precision 128 and shrinks with it."""

    @abstractmethod
    def sample_slowly(self, bits: Bits) -> int:
        """Draw one value by exact rejection: the obvious twin of the table, and the way out when none fits."""

    @abstractmethod
    def sample_slowly_at_least(self, t: int, bits: Bits) -> int:
        """Draw one value given Z >= t by exact rejection."""

    @property
    @abstractmethod
    def fits_a_table(self) -> bool:
        """Whether the scale is small enough for a table."""

    def sample(self, n: int, bits: Bits) -> NDArray[np.int64]:
        """Draw n independent values of exactly this law."""
        values = np.empty(whole("n", n, at_least=0), dtype=np.int64)
        for start in range(0, n, _BLOCK):
            part = values[start : start + _BLOCK]
            part[:] = self.sample_each(SequentialDraws(len(part), bits))
        return values

    def sample_each(self, draws: Draws) -> NDArray[np.int64]:
        """Give each of these draws its value, from its own bits."""
        if self.fits_a_table:
            return self._table.sample(draws)
        return np.array([self.sample_slowly(draws.more(i)) for i in range(len(draws))], dtype=np.int64)

    def sample_at_least(self, t: int, n: int, bits: Bits) -> NDArray[np.int64]:
        """Draw n independent values of exactly this law given Z >= t."""
        n = whole("n", n, at_least=0)
        if self.fits_a_table and n > ENOUGH_FOR_A_TABLE:
            return Table(self.tails, given_at_least=t).sample(SequentialDraws(n, bits))
        return np.array([self.sample_slowly_at_least(t, bits) for _ in range(n)], dtype=np.int64)

    def tail_bounds(self, t: int) -> Bounds:
        """Return P[Z >= t] as bounds that can be made as sharp as a Bernoulli draw needs them."""
        return lambda precision: self.tails(precision).at_least(t)

    @cached_property
    def _table(self) -> Table:
        return Table(self.tails)
