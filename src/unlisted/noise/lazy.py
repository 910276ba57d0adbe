"""Decisions about irrational probabilities, exact because bits are drawn until they decide.

A uniform number is known only as far as its bits were drawn, a probability only as far as its bounds were
computed. When the two overlap, nothing is rounded: more bits are drawn and sharper bounds computed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from unlisted.noise.bits import Bits

Bounds = Callable[[int], tuple[int, int]]
"""precision -> (low, high) with low <= p·2^precision <= high, and high - low small against 2^precision."""

STEP = 64
_LARGEST = (1 << STEP) - 1
_BLOCK = 1 << 18


def bernoulli(probability: Bounds, bits: Bits) -> bool:
    """Flip a coin that is true with exactly the probability that the bounds close in on."""
    return decide(probability, bits.integer(STEP), bits)


def bernoulli_many(probability: Bounds, n: int, bits: Bits) -> int:
    """Flip n such coins and count the true ones. The first 64 bits of all are compared at once."""
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
