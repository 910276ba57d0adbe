"""Exact Binomial counts and exact uniform subsets: how many of n unnamed labels pass, and which.

With p <= 2^-m, a success of probability p is m heads in a row and then a coin of probability p·2^m. The heads of
all n are counted round by round: the number left after a round is a sum of fair bits, so only a popcount. What
remains is about 2np candidates, whose last coins are flipped one by one, exactly (`lazy.py`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unlisted.errors import InvalidArgumentError
from unlisted.noise import lazy
from unlisted.noise.bits import Bits
from unlisted.privacy.numbers import whole

_BLOCK_BYTES = 1 << 20


def binomial(n: int, probability: lazy.Bounds, bits: Bits) -> int:
    """Draw the number of successes among n independent trials of exactly this probability."""
    n = whole("n", n, at_least=0)
    halvings, precision = 0, 2 * lazy.STEP
    high = probability(precision)[1]
    while n and high << (halvings + 1) <= 1 << precision:
        n = _fair_heads(n, bits)
        halvings += 1

    def last_coin(sharpness: int) -> tuple[int, int]:
        return probability(sharpness + halvings)

    return lazy.bernoulli_many(last_coin, n, bits) if n else 0


def subset(n: int, size: int, bits: Bits) -> NDArray[np.int64]:
    """Draw a uniform subset of {0, …, n-1} of this size, in increasing order (Floyd's way: no draw is wasted)."""
    if not 0 <= size <= n:
        raise InvalidArgumentError("size", size, f"between 0 and {n}")
    chosen: set[int] = set()
    for top in range(n - size, n):
        drawn = bits.below(top + 1)
        chosen.add(top if drawn in chosen else drawn)
    return np.array(sorted(chosen), dtype=np.int64)


def _fair_heads(n: int, bits: Bits) -> int:
    heads = 0
    while n:
        flips = min(n, 8 * _BLOCK_BYTES)
        heads += bits.integer(flips).bit_count()
        n -= flips
    return heads
