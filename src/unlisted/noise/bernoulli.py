"""Exact Bernoulli draws of irrational probabilities: one, how many of n, and which.

*One draw.* A uniform number is known only as far as its bits were drawn, a probability only as far as its bounds
were computed. When the two overlap, nothing is rounded: more bits are drawn and sharper bounds computed.

*How many of n.* With p <= 2^-m, a success of probability p is m heads in a row and then a draw of probability
p·2^m. The heads of all n are counted round by round: the number left after a round is a sum of fair bits, so only
a popcount. What remains is about 2np candidates, which are decided one by one, exactly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from unlisted.errors import InvalidArgumentError
from unlisted.noise.bits import Bits
from unlisted.privacy.numbers import whole

Bounds = Callable[[int], tuple[int, int]]
"""precision -> (low, high) with low <= p·2^precision <= high, and high - low small against 2^precision."""

STEP = 64
_LARGEST = (1 << STEP) - 1
_BLOCK = 1 << 18


def bernoulli(probability: Bounds, bits: Bits) -> bool:
    """Make a Bernoulli draw that is true with exactly the probability that the bounds close in on."""
    return decide(probability, bits.integer(STEP), bits)


def bernoulli_many(probability: Bounds, n: int, bits: Bits) -> int:
    """Make n such draws and count the true ones. The first 64 bits of all are compared at once."""
    low, high = (bound >> STEP for bound in probability(2 * STEP))
    true = 0
    for start in range(0, n, _BLOCK):
        drawn = bits.words(min(_BLOCK, n - start))
        true += int(np.count_nonzero(drawn < np.uint64(min(low, _LARGEST))))
        unsure = drawn[(drawn >= np.uint64(min(low, _LARGEST))) & (drawn <= np.uint64(min(high, _LARGEST)))]
        true += sum(decide(probability, int(prefix), bits) for prefix in unsure)
    return true


def decide(probability: Bounds, drawn: int, bits: Bits) -> bool:
    """Compare a uniform number whose first bits are drawn with a probability; draw more until it is clear."""
    width = STEP
    while True:
        # The uniform number lies in [drawn, drawn + 1) / 2^width; bounds are computed a little sharper.
        precision = width + STEP
        low, high = probability(precision)
        if (drawn + 1) << STEP <= low:
            return True
        if drawn << STEP >= high:
            return False
        drawn, width = (drawn << STEP) | bits.integer(STEP), precision


_BLOCK_BYTES = 1 << 20


def ratio(part: Bounds, whole: Bounds) -> Bounds:
    """Return the chance of an event, given another that it implies."""

    def bounds(precision: int) -> tuple[int, int]:
        sharp = 2 * precision
        while (whole_bounds := whole(sharp))[0].bit_length() <= precision + 2:
            sharp *= 2
        (low, high), (whole_low, whole_high) = part(sharp), whole_bounds
        return (low << precision) // whole_high, min(1 << precision, -(-(high << precision) // whole_low))

    return bounds


def binomial(n: int, probability: Bounds, bits: Bits) -> int:
    """Draw the number of successes among n independent trials of exactly this probability."""
    n = whole("n", n, at_least=0)
    halvings, precision = 0, 2 * STEP
    high = probability(precision)[1]
    while n and high << (halvings + 1) <= 1 << precision:
        n = _fair_heads(n, bits)
        halvings += 1

    def last_draw(sharpness: int) -> tuple[int, int]:
        return probability(sharpness + halvings)

    return bernoulli_many(last_draw, n, bits) if n else 0


def subset(n: int, size: int, bits: Bits) -> NDArray[np.int64]:
    """Draw a uniform subset of {0, …, n-1} of this size, in increasing order.

    Numbers are drawn until so many different ones have come up: by symmetry all sets are equally likely. Of
    a set with more than half of all numbers, those that are left out are drawn.
    """
    if not 0 <= size <= n:
        raise InvalidArgumentError("size", size, f"between 0 and {n}")
    if 2 * size > n:
        left = np.ones(n, dtype=np.bool_)
        left[subset(n, n - size, bits)] = False
        return np.flatnonzero(left).astype(np.int64)
    chosen = np.zeros(0, dtype=np.int64)
    width = (n - 1).bit_length() if n else 0
    while len(chosen) < size:
        # About as many as are missing. What is too large, or came before, is drawn again.
        drawn = (bits.words(size - len(chosen)) >> np.uint64(64 - max(1, width))).astype(np.int64)
        chosen = np.unique(np.concatenate([chosen, drawn[drawn < n]]))
    return chosen


def _fair_heads(n: int, bits: Bits) -> int:
    heads = 0
    while n:
        flips = min(n, 8 * _BLOCK_BYTES)
        heads += bits.integer(flips).bit_count()
        n -= flips
    return heads
