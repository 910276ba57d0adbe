"""What a mutant is to an audit: a mechanism that breaks its claim, what is wrong, and the same without it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from unlisted.audit.laws.histograms import by_count
from unlisted.audit.subject import OpenBits, Subject
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.law import Law
from unlisted.privacy.sensitivity import Sensitivity

Rows = tuple[tuple[str, int], ...]

ONE = Sensitivity(1)
LAPLACE = DiscreteLaplace(Fraction(1))
FAR = 20
"""A count so far above every threshold here that its label is always shown."""

_AT_ONCE = 1 << 14


@dataclass(frozen=True)
class Mutant:
    """A wrong mechanism, what is wrong in one sentence, and its repair, which an audit must let through.

    `trials` is how many runs a black box is given; where they show nothing, the exact law must.
    """

    wrong: str
    subject: Subject
    repaired: Subject
    trials: int = 12_000


class Noise:
    """Draws one value after the other, from blocks drawn at once, so that plain loops are quick enough."""

    def __init__(self, law: Law, bits: OpenBits) -> None:
        self._law = law
        self._bits = bits
        self._ready: list[int] = []

    def __call__(self) -> int:
        """Return the next draw."""
        if not self._ready:
            self._ready = self._law.sample(_AT_ONCE, self._bits()).tolist()
        return self._ready.pop()


class Uniform:
    """Draws one number between 0 and 1 after the other, in floating point."""

    def __init__(self, bits: OpenBits) -> None:
        self._bits = bits
        self._ready: list[int] = []

    def __call__(self) -> float:
        """Return the next number."""
        if not self._ready:
            self._ready = self._bits().words(_AT_ONCE).tolist()
        return ((self._ready.pop() >> 11) + 0.5) * 2.0**-53


def rows_by_count(noisy: Mapping[str, int] | Iterable[tuple[str, int]]) -> Rows:
    """Put rows in the order in which they are released: by count, then by label."""
    return tuple(sorted(noisy.items() if isinstance(noisy, Mapping) else noisy, key=by_count))


def released(histogram: Mapping[str, int], noise: Noise, threshold: int) -> Rows:
    """Release a histogram as Algorithm 1 does: noise on every count, rows strictly above the threshold."""
    noisy = ((label, count + noise()) for label, count in histogram.items() if count > 0)
    return rows_by_count((label, value) for label, value in noisy if value > threshold)
