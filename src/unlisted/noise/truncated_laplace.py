"""Truncated discrete Laplace noise: P[X = x] = A·q^|x| for |x| <= k and 0 beyond; q = e^(-1/b), k = `reach`.

Facts used, with their reasons.
* Normaliser: 1/A = 1 + 2·(q + … + q^k) = (1 + q - 2q^(k+1)) / (1 - q).
* Tail: P[X >= t] = (q^t - q^(k+1)) / (1 + q - 2q^(k+1)) for 0 <= t <= k + 1, a geometric sum.
* No ρ: moved noise has an outcome at its end that noise in its place has not, so no ρ-zCDP holds. What such noise
  costs, in ρ and in δ, depends on what is done with that outcome: `mechanisms/truncated_laplace.md`.
* Given X >= t >= 0, X - t is a geometric number of ratio q modulo k - t + 1: of a geometric number, quotient and
  remainder are independent, and the remainder r has a chance proportional to q^r.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from unlisted.errors import InvalidArgumentError
from unlisted.noise import rejection
from unlisted.noise.bernoulli import Bounds
from unlisted.noise.bits import Bits
from unlisted.noise.law import ExactLaw
from unlisted.noise.table import Tails
from unlisted.privacy.numbers import positive, whole
from unlisted.privacy.rounding import DIGITS, exp_down, exp_up, round_up

LARGEST_TABLE_REACH = 2**17
LARGEST_SUM = 2**12
"""Up to here one tail is taken from the sums of all; beyond, from its formula."""
LARGEST_REACH = 2**61
"""Noise that reaches further might not fit into 64 bits together with a count."""

_GUARD = 64
"""Bits that fixed-point sums carry beyond what was asked for."""


@dataclass(frozen=True)
class TruncatedLaplace(ExactLaw):
    """Discrete Laplace noise of scale b given that it is at most k away from 0, drawn exactly."""

    scale: Fraction
    reach: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))
        if whole("reach", self.reach, at_least=0) > LARGEST_REACH:
            raise InvalidArgumentError("reach", self.reach, f"at most 2^61 = {LARGEST_REACH}")

    def __str__(self) -> str:
        return f"discrete Laplace, scale {float(self.scale):.6g}, cut at ±{self.reach}"

    @property
    def stddev(self) -> float:
        """The standard deviation, for display."""
        b = float(self.scale)
        last = min(self.reach, math.ceil(50 * b))
        weights = [math.exp(-x / b) for x in range(1, last + 1)]
        squares = math.fsum(x * x * weight for x, weight in enumerate(weights, start=1))
        return math.sqrt(2 * squares / (1 + 2 * math.fsum(weights)))

    @property
    def fits_a_table(self) -> bool:
        """Whether few enough values are possible for a table."""
        return self.reach <= LARGEST_TABLE_REACH

    def tail(self, t: int) -> Fraction:
        """Bound P[X >= t] from above; it is 0 beyond the reach and 1 from its other end on."""
        if t > self.reach:
            return Fraction(0)
        return min(Fraction(1), round_up(self._tail_between(t, 0)[1]))

    def survival(self, t: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return about P[X >= t] for each t, for display."""
        return np.exp(self.log_survival(t))

    def log_survival(self, t: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return about log P[X >= t] for each t, for display; -∞ beyond the reach."""
        b, k = float(self.scale), self.reach
        norm = math.log1p(math.exp(-1 / b) - 2 * math.exp(-(k + 1) / b))
        far = np.clip(np.where(t > 0, t, 1 - t), 1, k + 1)
        with np.errstate(divide="ignore"):
            upper: NDArray[np.float64] = -far / b + np.log(-np.expm1(-(k + 1 - far) / b)) - norm
            return np.where(t > 0, upper, np.log1p(-np.exp(upper)))

    def rho(self, shift: int) -> Fraction:  # noqa: ARG002 - no shift has one
        """Refuse: noise with ends has no ρ of its own."""
        raise InvalidArgumentError("law", str(self), "one without ends", "For this noise use TruncatedHistogram.")

    def tails(self, precision: int) -> Tails:
        """Return bounds of all tails at this precision."""
        return _tails(self.scale, self.reach, precision)

    def tail_bounds(self, t: int) -> Bounds:
        """Return P[X >= t] as bounds that can be made as sharp as a Bernoulli draw needs them."""
        if t > self.reach:
            return lambda precision: (0, 0)  # noqa: ARG005 - impossible at every precision
        if self.reach <= LARGEST_SUM:
            return super().tail_bounds(t)
        return lambda precision: _scaled(self._tail_between(t, precision), precision)

    def sample_slowly(self, bits: Bits) -> int:
        """Draw one value: a sign, a size, and never minus zero."""
        while True:
            negative = bits.below(2) == 1
            size = self._remainder(self.reach + 1, bits)
            if not (negative and size == 0):
                return -size if negative else size

    def sample_slowly_at_least(self, t: int, bits: Bits) -> int:
        """Draw one value given X >= t: t plus a remainder when t >= 0, else by drawing again."""
        if t > self.reach:
            raise InvalidArgumentError("t", t, f"at most {self.reach}, which is as far as the noise reaches")
        if t >= 0:
            return t + self._remainder(self.reach + 1 - t, bits)
        while True:
            drawn = self.sample_slowly(bits)
            if drawn >= t:
                return drawn

    def _remainder(self, below: int, bits: Bits) -> int:
        """Return r < `below` with a chance proportional to q^r."""
        return rejection.geometric(1 / self.scale, bits) % below

    def _tail_between(self, t: int, precision: int) -> tuple[Fraction, Fraction]:
        """Bound P[X >= t] from both sides for t <= k, to about so many bits and a bound's usual digits."""
        if t <= 0:
            if t <= -self.reach:
                return Fraction(1), Fraction(1)
            low, high = self._tail_between(1 - t, precision)
            return 1 - high, 1 - low
        # Differences of neighbouring powers of q lose about as many bits as b has.
        digits = DIGITS + (precision + math.ceil(self.scale).bit_length()) // 3
        first = exp_down(-t / self.scale, digits), exp_up(-t / self.scale, digits)
        beyond = (
            exp_down(Fraction(-self.reach - 1) / self.scale, digits),
            exp_up(Fraction(-self.reach - 1) / self.scale, digits),
        )
        q = exp_down(-1 / self.scale, digits), exp_up(-1 / self.scale, digits)
        low = (first[0] - beyond[1]) / (1 + q[1] - 2 * beyond[0])
        return max(Fraction(0), low), (first[1] - beyond[0]) / (1 + q[0] - 2 * beyond[1])


def _scaled(bounds: tuple[Fraction, Fraction], precision: int) -> tuple[int, int]:
    one = 1 << precision
    return max(0, math.floor(bounds[0] * one)), min(one, math.ceil(bounds[1] * one))


@lru_cache(maxsize=16)
def _tails(scale: Fraction, reach: int, precision: int) -> Tails:
    """Add up the weights q^k, …, q, 1, each made from the one before; every product is rounded outward.

    All sums are of positive terms, so nothing cancels. Beyond the last value tails are said to be at most one
    unit, which is true of 0, so that no cumulative chance is ever called certain.
    """
    work = precision + _GUARD + reach.bit_length()
    one, digits = 1 << work, work // 3 + 10
    low_step = math.floor(exp_down(-1 / scale, digits) * one)
    high_step = math.ceil(exp_up(-1 / scale, digits) * one)
    lows, highs = [one], [one]
    for _ in range(reach):
        lows.append(lows[-1] * low_step >> work)
        highs.append((highs[-1] * high_step >> work) + 1)
    for sums in (lows, highs):
        for x in range(reach - 1, -1, -1):
            sums[x] += sums[x + 1]
    # Zero once, and everything else on both sides.
    whole_low, whole_high = 2 * lows[0] - one, 2 * highs[0] - one
    low = [(part << precision) // whole_high for part in lows]
    high = [-((-part << precision) // whole_low) for part in highs]
    return Tails(precision, [*low, 0], [*high, 1])
