"""Discrete Gaussian noise: P[Z = z] proportional to e^(-z²/2s²) on the integers, s² = `variance`.

Facts used, with their reasons.
* ρ: a count that moves by a whole number d costs exactly d²/2s² (Canonne, Kamath, Steinke). Not the continuous
  law's δ(ε): the discrete law exceeds that by up to 2.8 times at s = 1.
* Tail: `tails.py`, an upper bound: the series itself, or for a large scale a bound in constant time.
* Sums and leads of several independent draws: the same file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from unlisted.errors import InvalidArgumentError
from unlisted.noise import rejection
from unlisted.noise.bits import Bits
from unlisted.noise.estimate import SMALL_VARIANCE, log_gaussian_area, log_gaussian_sum, normal_survival
from unlisted.noise.gaussian import tails
from unlisted.noise.gaussian.gaussian_dp import mu_squared_of_counts_or_none
from unlisted.noise.law import ExactLaw
from unlisted.noise.table import Tails
from unlisted.privacy.encoding import Notation
from unlisted.privacy.numbers import Number, positive, whole

LARGEST_TABLE_VARIANCE = 4096**2
LARGEST_VARIANCE = 2**112
"""A draw of a larger scale might not fit into 64 bits."""


@dataclass(frozen=True)
class DiscreteGaussian(ExactLaw):
    """Discrete Gaussian noise of parameter s², drawn exactly.

    Args:
        variance: s²; P[Z = z] is proportional to e^(-z²/2s²).

    Examples:
        >>> ul.DiscreteGaussian(variance=100).rho(shift=1)
        Fraction(1, 200)

    Theorem: a shift by s costs s²/2σ² of ρ, as for continuous noise (`noise/gaussian/discrete_gaussian.md`,
    after Canonne, Kamath and Steinke).
    """

    notation: ClassVar = Notation("DiscreteGaussian", ("variance",))

    variance: Fraction

    if TYPE_CHECKING:
        # Numbers of any kind are read; the fields hold them exactly.
        def __init__(self, variance: Number) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", positive("variance", self.variance))
        if self.variance > LARGEST_VARIANCE:
            raise InvalidArgumentError("variance", self.variance, f"at most 2^112 = {LARGEST_VARIANCE}")

    def __str__(self) -> str:
        return f"discrete Gaussian, scale {self.stddev:.6g}"

    @property
    def stddev(self) -> float:
        """The scale s, for display; the standard deviation is never larger."""
        return math.sqrt(self.variance)

    @property
    def fits_a_table(self) -> bool:
        """Whether the scale is small enough for a table."""
        return self.variance <= LARGEST_TABLE_VARIANCE

    def survival(self, t: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return about P[Z >= t] for each t, for display."""
        if self.variance <= SMALL_VARIANCE:
            return super().survival(t)
        return normal_survival((t - 0.5) / self.stddev)

    def log_survival(self, t: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return about log P[Z >= t] for each t, for display; accurate however small the chance is."""
        logs = log_gaussian_sum if self.variance <= SMALL_VARIANCE else log_gaussian_area
        upper = logs(float(self.variance), np.maximum(t, 1).astype(np.float64))
        return np.where(t > 0, upper, np.log(self.survival(np.minimum(t, 0))))

    def lead_survival(self, t: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return about P[Z₁ - Z₀ >= t] for each t, for display."""
        return normal_survival((t - 0.5) / (self.stddev * math.sqrt(2)))

    def tail(self, t: int) -> Fraction:
        """Bound P[Z >= t] from above."""
        return tails.tail_up(t, self.variance)

    def rho(self, shift: int) -> Fraction:
        """Return shift²/2s²."""
        return whole("shift", shift) ** 2 / (2 * self.variance)

    def mu_squared(self, moved: int, shift: int) -> Fraction | None:
        """Bound from above the μ² of so many counts that change; None where noise is too small to be normal."""
        return mu_squared_of_counts_or_none(self.variance, moved * whole("shift", shift) ** 2, moved)

    def sum_tail(self, draws: int, t: int) -> Fraction:
        """Bound from above the chance that so many independent draws add up to t or more."""
        return tails.sum_tail_up(whole("draws", draws), t, self.variance)

    def lead_tail(self, n: int, draws: int) -> Fraction:
        """Bound from above the chance that any of so many draws exceeds one shared draw by n >= 0 or more."""
        return tails.lead_tail_up(whole("n", n, at_least=0), whole("draws", draws), self.variance)

    def tails(self, precision: int) -> Tails:
        """Return bounds of all tails at this precision."""
        return tails.series_tails(self.variance, precision)

    def sample_slowly(self, bits: Bits) -> int:
        """Draw one value by exact rejection."""
        return rejection.discrete_gaussian(self.variance, bits)

    def sample_slowly_at_least(self, t: int, bits: Bits) -> int:
        """Draw one value given Z >= t by exact rejection."""
        return rejection.discrete_gaussian_at_least(t, self.variance, bits)
