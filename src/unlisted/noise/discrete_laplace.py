"""Discrete Laplace noise: P[Z = z] = (1-q)/(1+q) · q^|z| with q = e^(-1/b).

Facts used, with their reasons.
* Tail: P[Z >= n] = q^n/(1+q) for n >= 0, a geometric series.
* ε: moving a count by s changes every probability by at most e^(s/b).
* ρ: for a shift d with ε = d/b, ρ(d) = ε - (ε/d)·2q(1-q^d)/(1-q²). It is the Kullback-Leibler divergence of the
  shifted law; theory shows that the Rényi divergence of order λ, divided by λ, never increases, so its value at
  1 bounds all. It is *larger* than the continuous constant ε + e^-ε - 1 (0.462 against 0.368 at ε = 1, d = 1),
  which therefore must not be used, and it increases with d at fixed b, so the price for "at most d" is the price
  for d.
* Lead: for independent Z_i and Z_0, P[Z_i - Z_0 >= n] = ((1-q)/(1+q))² q^n ((n+k)/(1-q) + q/(1-q)²), k =
  (1+q²)/(1-q²).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from unlisted.errors import InvalidArgumentError
from unlisted.noise import rejection
from unlisted.noise.bits import Bits
from unlisted.noise.law import ExactLaw
from unlisted.noise.table import Tails
from unlisted.privacy.encoding import Notation
from unlisted.privacy.numbers import Number, positive, whole
from unlisted.privacy.rounding import exp_down, exp_up, round_up

LARGEST_TABLE_SCALE = 4096
LARGEST_SCALE = 2**56
"""A draw of a larger scale might not fit into 64 bits; of this one it does but for a chance of e^-128."""


@dataclass(frozen=True)
class DiscreteLaplace(ExactLaw):
    """Discrete Laplace noise of scale b, drawn exactly.

    Args:
        scale: b; P[Z = z] is proportional to e^(-|z|/b).

    Examples:
        >>> law = ul.DiscreteLaplace(scale=2)
        >>> float(round(law.epsilon(shift=1), 6))
        0.5

    Theorem: a shift by s is s/b-DP, and (s/b)·tanh(s/2b)-zCDP (`noise/discrete_laplace.md`).
    """

    notation: ClassVar = Notation("DiscreteLaplace", ("scale",))

    scale: Fraction

    if TYPE_CHECKING:
        # Numbers of any kind are read; the fields hold them exactly.
        def __init__(self, scale: Number) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))
        if self.scale > LARGEST_SCALE:
            raise InvalidArgumentError("scale", self.scale, f"at most 2^56 = {LARGEST_SCALE}")

    def __str__(self) -> str:
        return f"discrete Laplace, scale {float(self.scale):.6g}"

    @property
    def stddev(self) -> float:
        """The standard deviation sqrt(2q)/(1-q), for display."""
        q = float(exp_up(-1 / self.scale, 30))
        gap = float(1 - exp_down(-1 / self.scale, 30))
        return float((2 * q) ** 0.5 / gap)

    @property
    def fits_a_table(self) -> bool:
        """Whether the scale is small enough for a table."""
        return self.scale <= LARGEST_TABLE_SCALE

    def survival(self, t: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return about P[Z >= t] for each t, for display."""
        q = math.exp(-1 / self.scale)
        upper = np.exp(-np.abs(np.where(t > 0, t, 1 - t)) / float(self.scale)) / (1 + q)
        return np.where(t > 0, upper, 1 - upper)

    def log_survival(self, t: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return about log P[Z >= t] for each t, for display; accurate however small the chance is."""
        b = float(self.scale)
        upper = -np.maximum(t, 1) / b - math.log1p(math.exp(-1 / b))
        return np.where(t > 0, upper, np.log(self.survival(np.minimum(t, 0))))

    def lead_survival(self, t: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return about P[Z₁ - Z₀ >= t] for each t, for display."""
        n = np.where(t > 0, t, 1 - t)
        upper = np.array([float(self.lead_tail(int(one), 1)) for one in n])
        return np.where(t > 0, upper, 1 - upper)

    def tail(self, t: int) -> Fraction:
        """Bound P[Z >= t] from above."""
        if t <= 0:
            return round_up(1 - exp_down((t - 1) / self.scale) / (1 + exp_up(-1 / self.scale)))
        return round_up(exp_up(-t / self.scale) / (1 + exp_down(-1 / self.scale)))

    def rho(self, shift: int) -> Fraction:
        """Bound from above the ρ of a count that moves by at most `shift`."""
        d = whole("shift", shift)
        q, q_power = exp_down(-1 / self.scale), exp_up(-d / self.scale)
        return round_up(d / self.scale - 2 * q * (1 - q_power) / ((1 - q * q) * self.scale))

    def epsilon(self, shift: int) -> Fraction:
        """Return shift/b."""
        return whole("shift", shift) / self.scale

    def lead_tail(self, n: int, draws: int) -> Fraction:
        """Bound from above the chance that any of so many draws exceeds one shared draw by n >= 0 or more."""
        n, draws = whole("n", n, at_least=0), whole("draws", draws)
        up, down = exp_up(-1 / self.scale), exp_down(-1 / self.scale)
        squared = ((1 - down) / (1 + down)) ** 2
        k = (1 + up * up) / (1 - up * up)
        one = squared * exp_up(-n / self.scale) * ((n + k) / (1 - up) + up / (1 - up) ** 2)
        return min(Fraction(1), round_up(draws * one))

    def tails(self, precision: int) -> Tails:
        """Return bounds of all tails at this precision."""
        return _tails(self.scale, precision)

    def sample_slowly(self, bits: Bits) -> int:
        """Draw one value by exact rejection."""
        return rejection.discrete_laplace(self.scale, bits)

    def sample_slowly_at_least(self, t: int, bits: Bits) -> int:
        """Draw one value given Z >= t: t plus a geometric number when t >= 0, else by drawing again."""
        if t >= 0:
            return t + rejection.geometric(1 / self.scale, bits)
        while True:
            drawn = self.sample_slowly(bits)
            if drawn >= t:
                return drawn


@lru_cache(maxsize=16)
def _tails(scale: Fraction, precision: int) -> Tails:
    """Multiply by q from one tail to the next; each product is rounded outward."""
    work = precision + 64
    one = 1 << work
    digits = work // 3 + 10
    q_low, q_high = exp_down(-1 / scale, digits), exp_up(-1 / scale, digits)
    low_step, high_step = int(q_low * one), int(q_high * one) + 1
    low_now, high_now = int(one / (1 + q_high)), int(one / (1 + q_low)) + 1
    low, high = [], []
    while high_now > 1 << 62:
        low.append(low_now >> 64)
        high.append((high_now >> 64) + 1)
        low_now, high_now = low_now * low_step >> work, (high_now * high_step >> work) + 1
    return Tails(precision, [*low, 0], [*high, (high_now >> 64) + 1])
