"""Who passes: labels whose weight plus normal noise is above a threshold, with no noise drawn and few labels seen.

The answer is one bit a label, so the noise is not drawn: a Bernoulli draw of exactly its chance is made instead
(`normal.py`). Nor is every label looked at. In a bucket of n labels, the number that would pass if each had
the largest weight of the bucket is binomial, and which ones is a uniform subset. A label of that subset passes
with the chance its own weight has, given that the largest would have passed: the product of the two is its own
chance, and labels are independent of each other as before. So the answer has the law of n draws, one for each.

*Hints.* With a second, lower mark a label is in one of three categories: up to the mark, above it, above the
threshold too. Who is above the mark is drawn as above; of these a label is above the threshold with the chance of
that, given that it is above the mark. So each label is in each category with its own chance, and only those above
the threshold are named: of the others it is enough to know where they lie.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts import labels as label_rules
from unlisted.counts.weight_oracle import WeightOracle
from unlisted.errors import ChargedFailureError
from unlisted.noise.bernoulli import Bounds, binomial, decide, ratio, subset
from unlisted.noise.bits import Bits
from unlisted.noise.gaussian.normal import tail_chance

_BUCKETS_A_DEVIATION = 16
_BEYOND = 12
"""From so many standard deviations above the threshold on, labels are all in one bucket."""
_WORD = 64
_ALL = 1 << _WORD


class Places(NamedTuple):
    """Where labels lie: the rank of each in its bucket."""

    buckets: NDArray[np.int64]
    ranks: NDArray[np.int64]


class Drawn(NamedTuple):
    """Labels that passed, and the places at which they lie; where hints were drawn, who else stays in play."""

    labels: pa.Array
    buckets: NDArray[np.int64]
    ranks: NDArray[np.int64]
    in_play: Places | None = None


@dataclass(frozen=True)
class ThresholdDraws:
    """The Bernoulli draws of labels, by what they weigh."""

    threshold: int
    variance: Fraction
    fineness: int = _BUCKETS_A_DEVIATION

    def draw(self, oracle: WeightOracle, bits: Bits) -> Drawn:
        """Return the labels that pass, in no particular order."""
        buckets, ranks = self._candidates(oracle.buckets(self._width, self._last), bits)
        named, weights = oracle.named(buckets, ranks)
        _require_all(len(buckets), len(named), len(weights))
        passed = np.flatnonzero(self._thinned(buckets, weights, bits))
        return Drawn(label_rules.take(label_rules.named(named), passed), buckets[passed], ranks[passed])

    def draw_above(self, threshold: int, oracle: WeightOracle, bits: Bits) -> Drawn:
        """Return the labels that also pass a higher threshold, and where those lie that pass this one alone."""
        buckets, ranks = self._candidates(oracle.buckets(self._width, self._last), bits)
        weights = oracle.weights_at(buckets, ranks)
        _require_all(len(buckets), len(weights))
        passed = np.flatnonzero(self._thinned(buckets, weights, bits))
        buckets, ranks, weights = buckets[passed], ranks[passed], weights[passed]

        def above(_: int, weight: int) -> Bounds:
            return ratio(tail_chance(threshold - weight, self.variance), self._of_weight(weight))

        found = self._flipped(buckets, weights, above, bits)
        named, _ = oracle.named(buckets[found], ranks[found])
        _require_all(int(np.count_nonzero(found)), len(named))
        in_play = Places(buckets[~found], ranks[~found])
        return Drawn(label_rules.named(named), buckets[found], ranks[found], in_play)

    @property
    def _deviation(self) -> int:
        return math.isqrt(math.ceil(self.variance))

    @property
    def _width(self) -> int:
        return max(1, self._deviation // self.fineness)

    @property
    def _last(self) -> int:
        return (self.threshold + _BEYOND * self._deviation) // self._width

    def _of_weight(self, weight: int) -> Bounds:
        return tail_chance(self.threshold - weight, self.variance)

    def _of_heaviest(self, bucket: int) -> Bounds:
        """Return a chance that no label of a bucket exceeds."""
        return _certainly if bucket == self._last else self._of_weight((bucket + 1) * self._width)

    def _candidates(self, sizes: Mapping[int, int], bits: Bits) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw the places of those that would pass if they had the largest weight of their bucket."""
        buckets, ranks = [], []
        for bucket, size in sorted(sizes.items()):
            candidates = size
            if bucket != self._last:
                candidates = binomial(size, self._of_heaviest(bucket), bits)
            buckets.append(np.full(candidates, bucket, dtype=np.int64))
            ranks.append(np.arange(size) if candidates == size else subset(size, candidates, bits))
        if not buckets:
            return (np.zeros(0, dtype=np.int64),) * 2
        return np.concatenate(buckets), np.concatenate(ranks)

    def _thinned(self, buckets: NDArray[np.int64], weights: NDArray[np.int64], bits: Bits) -> NDArray[np.bool_]:
        """Make for each candidate the Bernoulli draw that is left of its own."""

        def left(bucket: int, weight: int) -> Bounds:
            return ratio(self._of_weight(weight), self._of_heaviest(bucket))

        return self._flipped(buckets, weights, left, bits)

    def _flipped(
        self, buckets: NDArray[np.int64], weights: NDArray[np.int64], chance: _ChanceOf, bits: Bits
    ) -> NDArray[np.bool_]:
        """Make a Bernoulli draw for each of these labels, whose chance in a bucket grows with the weight."""
        passed = np.zeros(len(buckets), dtype=np.bool_)
        drawn = bits.words(len(buckets))
        for bucket, at in _grouped(buckets):
            # Every label of the bucket has at least the chance of its lower edge, and at most that of its upper
            # one: that decides most of them.
            least = chance(bucket, bucket * self._width)(_WORD)[0]
            most = _ALL if bucket == self._last else chance(bucket, (bucket + 1) * self._width)(_WORD)[1]
            passed[at] = drawn[at] < np.uint64(min(least, _ALL - 1))
            unsure = ~passed[at] if most >= _ALL else ~passed[at] & (drawn[at] < np.uint64(most))
            for one in at[unsure]:
                passed[one] = decide(chance(bucket, int(weights[one])), int(drawn[one]), bits)
        return passed


_ChanceOf = Callable[[int, int], Bounds]
"""(bucket, weight) -> the chance of a label that lies there."""


def _require_all(asked: int, *found: int) -> None:
    if any(one != asked for one in found):
        # The data changed between two looks at it. What was drawn is spent.
        raise ChargedFailureError


def _grouped(buckets: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Return each bucket with the positions of its candidates."""
    names, starts = np.unique(buckets, return_index=True)
    # Split before every start, the first one too: of no candidates there are no groups.
    yield from zip(names.tolist(), np.split(np.arange(len(buckets)), starts)[1:], strict=True)


def _certainly(precision: int) -> tuple[int, int]:
    return 1 << precision, 1 << precision
