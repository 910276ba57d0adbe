"""Discrete Gaussian noise of a scale too wide for one table: two draws, one of them a power of two coarser.

    Z = 2^j·X + Y,   X and Y discrete Gaussian of parameters s_x² and s_y²,   4^j·s_x² + s_y² = s²,   s_y² = 6·4^j

*Claim.* Every whole number has a mass of at least 1-κ times that of the discrete Gaussian of parameter s², with
κ = (θ(v)-1) + (θ(s_x²)-1) + (θ(s_y²)-1), v = s_x²·s_y²/s², and θ as in `normal.py`: θ(v) bounds
Σ_k e^(-(k-m)²/2v)/sqrt(2πv) from above and 2-θ(v) bounds it from below, for every real m.

*Proof.* Completing the square in k, the weight of Z = z is

    Σ_k e^(-k²/2s_x²)·e^(-(z-2^j·k)²/2s_y²)  =  e^(-z²/2s²)·Σ_k e^(-(k-m)²/2v),     m = z·2^j·s_x²/s².

The sum is at least sqrt(2πv)·(2-θ(v)); the normalisers of X and Y are at most sqrt(2πs_x²)·θ(s_x²) and
sqrt(2πs_y²)·θ(s_y²), that of the one law is at least sqrt(2πs²), and v·s² = s_x²·s_y². So the ratio of masses is
at least (2-θ(v)) / (θ(s_x²)·θ(s_y²)) >= (1-κ_1)(1-κ_2)(1-κ_3) >= 1-κ. ∎

v is close to 6, which makes κ about e^-115: charged to δ for each draw that matters, and never felt. A scale that
one table holds is drawn from one table, and κ = 0. No draw exceeds `reach` in size: what would is set to it, so
that the recursion stays inside 64 bits; that is charged to δ too (`histogram.md`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from unlisted.errors import InvalidArgumentError
from unlisted.noise.bits import Bits, Draws
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.gaussian.normal import theta_excess_up
from unlisted.noise.gaussian.tails import tail_up
from unlisted.noise.keyed import NoiseKey, Tags
from unlisted.privacy.numbers import positive
from unlisted.privacy.rounding import round_up, sqrt_up

LARGEST_ONE_TABLE = 512**2
LARGEST_VARIANCE = 2**44
"""Up to this variance both parts fit into tables."""

_OVERLAP = 6
_DEVIATIONS = 64


@dataclass(frozen=True)
class WideGaussian:
    """Discrete Gaussian noise of parameter s² = `variance`, drawn from one table or from two."""

    variance: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", positive("variance", self.variance))
        if self.variance >= LARGEST_VARIANCE:
            raise InvalidArgumentError("variance", self.variance, "below 2^44", "Take a coarser grid.")

    @property
    def reach(self) -> int:
        """The largest size of a draw: 64 scales."""
        return reach_of(self.variance)

    def encoded(self) -> bytes:
        """Return the law as bytes: noise of another scale has another name."""
        return b"wide gaussian %d/%d" % (self.variance.numerator, self.variance.denominator)

    def sample(self, key: NoiseKey, names: Sequence[bytes], tags: Tags) -> NDArray[np.int64]:
        """Return the draws that belong to each of these names (a row) and each of these tags (a column)."""
        shift, coarse, fine = self._parts
        z = fine.sample_each(SideBySide(key, [name + b":fine" for name in names], tags))
        if coarse is not None:
            high = coarse.sample_each(SideBySide(key, [name + b":coarse" for name in names], tags))
            high <<= shift
            z += high
        np.clip(z, -self.reach, self.reach, out=z)
        return z.reshape(len(names), len(tags))

    @cached_property
    def _parts(self) -> tuple[int, DiscreteGaussian | None, DiscreteGaussian]:
        split = split_of(self.variance)
        if split is None:
            return 0, None, _shared(self.variance)
        shift, coarse, fine = split
        return shift, _shared(coarse), _shared(fine)


def reach_of(variance: Fraction) -> int:
    """Return the largest size of a draw."""
    return _DEVIATIONS * (int(sqrt_up(variance)) + 1)


def split_of(variance: Fraction) -> tuple[int, Fraction, Fraction] | None:
    """Return j, s_x² and s_y²; None where one table is enough."""
    if variance <= LARGEST_ONE_TABLE:
        return None
    # 2^j near the square root of the scale makes both tables as small as they can be.
    shift = (int(variance).bit_length() + 1) // 4 - 1
    fine = Fraction(_OVERLAP << 2 * shift)
    return shift, (variance - fine) / (1 << 2 * shift), fine


def inexact_up(variance: Fraction, farthest: int) -> Fraction:
    """Bound from above what one draw adds to δ, where neighbours differ by at most `farthest`.

    κ, and twice the chance that a draw comes within 2·`farthest` of the reach.
    """
    left = reach_of(variance) - 2 * farthest + 1
    if left <= 0:
        return Fraction(1)
    found = 2 * tail_up(left, variance)
    split = split_of(variance)
    if split is not None:
        _, coarse, fine = split
        found += sum(theta_excess_up(one) - 1 for one in (coarse * fine / variance, coarse, fine))
    return min(Fraction(1), round_up(found))


@lru_cache(maxsize=16)
def _shared(variance: Fraction) -> DiscreteGaussian:
    # A table takes up to a second to make, and mechanisms of one scale come and go.
    return DiscreteGaussian(variance)


class SideBySide:
    """Keyed draws of several names, one name after the other, for a table that draws them all at once."""

    def __init__(self, key: NoiseKey, names: Sequence[bytes], tags: Tags) -> None:
        self._parts: list[Draws] = [key.draws(name, tags) for name in names]
        self._each = len(tags)

    def __len__(self) -> int:
        return len(self._parts) * self._each

    def leading(self) -> NDArray[np.uint16]:
        """Return the first 16 bits of every draw."""
        return np.concatenate([part.leading() for part in self._parts])

    def following(self, which: NDArray[np.intp]) -> NDArray[np.uint64]:
        """Return the next 64 bits of these draws."""
        found = np.empty(len(which), dtype=np.uint64)
        # `which` rises, so what belongs to one part lies together.
        ends = np.searchsorted(which, np.arange(1, len(self._parts) + 1) * self._each)
        start = 0
        for number, (part, end) in enumerate(zip(self._parts, ends.tolist(), strict=True)):
            if end > start:
                found[start:end] = part.following(which[start:end] - number * self._each)
            start = end
        return found

    def more(self, which: int) -> Bits:
        """Return the bits of one draw after those, without end."""
        part, place = divmod(which, self._each)
        return self._parts[part].more(place)
