"""The recursion that makes correlated noise in whole numbers, and the parameters that are shipped.

Write w_i = b_i/2^p, θ_i = a_i/2^p, c_0 = 1 and c_k = Σ w_i·θ_i^(k-1). Noise that obeys c * n = z for independent z
is noise on the increments of a stream; its running sum is the noise on running counts. Every step needs Σ w_i·s_i
with s_i = Σ_j θ_i^j·n_(t-1-j) and nothing else of the past: one number per buffer. In whole numbers, on a grid
that is 2^grid times finer than the counts:

    r = (Σ b_i·S_i + 2^(p+q-1)) >> (p+q)
    n = z - r,   W = W + n,   S_i = (a_i·S_i >> p) + (n << q)

Three conditions make everything else provable (`histogram.md`): every θ_i is in (0, 1), c_1 <= c_0, and
c_1² <= c_0·c_2. Any parameters that meet them are private; which ones are good was searched for offline, by
`bench/utility/stream_parameters.py`, and only accuracy depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.numbers import whole

Numbers = NDArray[np.int64]
"""One row for W and one for each S_i; one column for each label."""

LONGEST = 1 << 20
"""The most steps that parameters are shipped for."""

_GUARD = 10
_WIDEST = 32


@dataclass(frozen=True)
class Recursion:
    """Public whole numbers: `decays` a_i, `weights` b_i, `precision` p, `guard` q, and log2 of the `grid`."""

    decays: tuple[int, ...]
    weights: tuple[int, ...]
    precision: int
    guard: int
    grid: int

    def __post_init__(self) -> None:
        for name in ("precision", "guard", "grid"):
            if whole(name, getattr(self, name), at_least=0) > _WIDEST:
                raise InvalidArgumentError(name, getattr(self, name), f"at most {_WIDEST}")
        one = 1 << self.precision
        if not self.decays or len(self.decays) != len(self.weights):
            raise InvalidArgumentError(
                "weights", self.weights, "as many numbers as there are decays, at least one"
            )
        for name in ("decays", "weights"):
            for number in getattr(self, name):
                if whole(name, number) >= one:
                    raise InvalidArgumentError(name, number, f"below 2^precision = {one}")
        first = sum(self.weights)
        second = sum(a * b for a, b in zip(self.decays, self.weights, strict=True))
        if first > one:
            raise InvalidArgumentError("weights", self.weights, f"numbers that add up to at most {one}")
        if first**2 > second:
            raise InvalidArgumentError("weights", self.weights, "such that c_1² <= c_2")

    @classmethod
    def for_steps(cls, steps: int) -> Recursion:
        """Return the shipped parameters for a stream of so many releases: those of the next power of two."""
        if whole("steps", steps) > LONGEST:
            hint = "Release less often, or begin a new stream earlier."
            raise InvalidArgumentError("steps", steps, f"at most {LONGEST:,}", hint)
        return _SHIPPED[max(2, (steps - 1).bit_length())]

    def coarser(self, grid: int) -> Recursion:
        """Return the same recursion on another grid."""
        return replace(self, grid=grid)

    @property
    def drift(self) -> Fraction:
        """The most by which rounding moves what stands in place of one draw: 1/2 + 2^-q·Σ w_i/(1-θ_i)."""
        one = 1 << self.precision
        lost = sum(
            (Fraction(b, one - a) for a, b in zip(self.decays, self.weights, strict=True)), start=Fraction(0)
        )
        return Fraction(1, 2) + lost / (1 << self.guard)

    def encoded(self) -> bytes:
        """Return the parameters as bytes, injectively: noise under other parameters has another name."""
        numbers = (self.precision, self.guard, self.grid, *self.decays, *self.weights)
        return b"recursion %s" % " ".join(map(str, numbers)).encode()

    def start(self, labels: int) -> Numbers:
        """Return W and S before the first step."""
        return np.zeros((1 + len(self.decays), labels), dtype=np.int64)

    def advance(self, numbers: Numbers, z: NDArray[np.int64]) -> None:
        """Do one step for every label, in place.

        S - ((2^p - a)·S / 2^p rounded up) is a·S / 2^p rounded down, and its product is as small as 1-θ is.
        """
        p, q = self.precision, self.guard
        one, total, states = 1 << p, numbers[0], numbers[1:]
        taken = states[0] * self.weights[0]
        for i, b in enumerate(self.weights[1:], start=1):
            taken += states[i] * b
        taken += (1 << (p + q)) >> 1
        taken >>= p + q
        n = z - taken
        total += n
        n <<= q
        for i, a in enumerate(self.decays):
            lost = states[i] * (a - one)
            lost >>= p
            states[i] += lost
            states[i] += n

    def on_counts(self, numbers: Numbers) -> NDArray[np.int64]:
        """Return the noise on running counts: W in steps of the grid, rounded."""
        rounded: NDArray[np.int64] = (numbers[0] + ((1 << self.grid) >> 1)) >> self.grid
        return rounded


_SHIPPED = {
    2: Recursion((949861, 654910, 549793, 336120), (372345, 14112, 14375, 123457), 20, _GUARD, 9),
    3: Recursion((1001591, 674003, 368754, 198988), (272240, 181993, 17918, 52135), 20, _GUARD, 9),
    4: Recursion((1026593, 854788, 538130, 175393), (190800, 168456, 119930, 45101), 20, _GUARD, 9),
    5: Recursion((1034987, 919652, 653822, 244307), (151949, 155005, 145104, 72226), 20, _GUARD, 9),
    6: Recursion((1040612, 967478, 756441, 320253), (117559, 136387, 164300, 106017), 20, _GUARD, 9),
    7: Recursion((1043956, 997982, 834683, 394399), (90406, 117715, 174264, 141757), 20, _GUARD, 10),
    8: Recursion((1045930, 1017020, 891412, 462501), (69124, 101299, 177149, 176175), 20, _GUARD, 10),
    9: Recursion((1047099, 1029248, 934309, 527685), (52162, 86190, 174672, 209767), 20, _GUARD, 11),
    10: Recursion((1047768, 1036938, 966615, 590134), (38961, 72322, 167824, 241762), 20, _GUARD, 11),
    11: Recursion((1048138, 1041626, 990243, 648216), (28947, 60101, 157965, 270569), 20, _GUARD, 12),
    12: Recursion((1048340, 1044434, 1007174, 700871), (21460, 49656, 146412, 295090), 20, _GUARD, 12),
    13: Recursion((1048449, 1046102, 1019175, 747742), (15907, 40890, 134179, 314830), 20, _GUARD, 13),
    14: Recursion((1048507, 1047091, 1027641, 788915), (11804, 33616, 121965, 329747), 20, _GUARD, 13),
    15: Recursion((1048539, 1047679, 1033604, 824721), (8779, 27625, 110219, 340090), 20, _GUARD, 14),
    16: Recursion((16776894, 16768470, 16604960, 13689918), (104795, 363407, 1587271, 5540789), 24, _GUARD, 14),
    17: Recursion((16777040, 16771836, 16652570, 14114417), (78459, 299158, 1424818, 5582563), 24, _GUARD, 15),
    18: Recursion((16777120, 16773875, 16686468, 14478420), (58932, 246603, 1276573, 5575618), 24, _GUARD, 15),
    19: Recursion((16777163, 16775127, 16710824, 14791277), (44357, 203436, 1141812, 5528163), 24, _GUARD, 16),
    20: Recursion((16777187, 16775904, 16728511, 15061720), (33398, 167751, 1019201, 5446760), 24, _GUARD, 16),
}
"""By the logarithm of the number of steps."""
