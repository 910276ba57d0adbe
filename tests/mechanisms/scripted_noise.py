"""Laws for tests: noise that is written down, and the laws that a user of the library might bring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from unlisted.noise.bits import Bits
from unlisted.noise.law import Law


class ScriptedLaw(Law):
    """Noise that comes from a list, in order: what a release does with given noise becomes a plain question."""

    def __init__(self, noise: Sequence[int]) -> None:
        self._noise = list(noise)

    def sample(self, n: int, bits: Bits) -> NDArray[np.int64]:
        drawn, self._noise = self._noise[:n], self._noise[n:]
        return np.array(drawn, dtype=np.int64)

    def tail(self, t: int) -> Fraction:
        return Fraction(1, 2 ** max(1, t))

    def lead_tail(self, n: int, entering: int) -> Fraction:
        return Fraction(1, 2 ** max(1, n))

    def rho(self, shift: int) -> Fraction:
        return Fraction(shift)


@dataclass(frozen=True)
class TwoSidedGeometric(Law):
    """A law of a user's own, written against the protocol alone: P[Z = z] = 3/5 · 4^-|z|.

    Each step outward takes two heads, so fair bits draw it exactly and `tv` is 0.
    """

    def sample(self, n: int, bits: Bits) -> NDArray[np.int64]:
        return np.array([self._draw(bits) for _ in range(n)], dtype=np.int64)

    def _draw(self, bits: Bits) -> int:
        while True:
            sign, size = bits.below(2), 0
            while bits.below(4) == 0:
                size += 1
            if size or sign:
                return size if sign else -size

    def tail(self, t: int) -> Fraction:
        return Fraction(4, 5) / 4**t if t >= 1 else 1 - Fraction(4, 5) / 4 ** (1 - t)

    def epsilon(self, shift: int) -> Fraction:
        return shift * Fraction("1.3862943612")  # log 4, rounded up

    def rho(self, shift: int) -> Fraction:
        return shift * Fraction("1.3862943612")  # ε·tanh(ε/2) is below ε


class RoundedLaw(TwoSidedGeometric):
    """The same with a sampler that stops after ten steps: a total-variation distance that must be charged."""

    tv = Fraction(1, 4**10)

    def _draw(self, bits: Bits) -> int:
        return max(-10, min(10, super()._draw(bits)))


class UnpricedRoundedLaw(RoundedLaw):
    """An inexact sampler without an ε to charge its distance through."""

    def epsilon(self, shift: int) -> None:
        return None
