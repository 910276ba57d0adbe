"""The arithmetic of a running histogram's tree: which nodes there are, and how much one unit can weigh in them.

The leaves of the tree are *steps*: what happens from one release to the next. With a release after every round a
step is a round. Step t ends prefix t, which is made of the nodes of t's binary digits: node (level, index) covers
the steps from (index-1)·2^level + 1 to index·2^level.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from unlisted.privacy.rounding import sqrt_up

MOST_EXACT = 1024
"""Up to so many rounds of one unit, the heaviest way in which they can fall into nodes is found exactly."""


def nodes_of_one_step(steps: int) -> int:
    """Return m, the most nodes that contain one step: floor(log2 L) + 1, attained by the first."""
    return steps.bit_length()


def largest_popcount(steps: int) -> int:
    """Return the most ones that a number up to L has in binary, floor(log2(L + 1))."""
    return (steps + 1).bit_length() - 1


def shared_nodes(steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many nodes each two prefixes have in common: the ones that both begin with, in binary."""
    first = np.minimum.outer(steps, steps)
    differ = np.bitwise_xor.outer(steps, steps)
    # All digits below the first that differs, and that one, are taken out.
    for shift in (1, 2, 4, 8, 16, 32):
        differ |= differ >> shift
    digits = np.unpackbits((first & ~differ).view(np.uint8).reshape(len(steps), len(steps), 8), axis=2)
    ones: NDArray[np.int64] = digits.sum(axis=2, dtype=np.int64)
    return ones


def steps_with_popcount(ones: int, steps: int) -> int:
    """Return how many of the steps 1 … L have so many ones in binary."""
    found, seen = 0, 0
    limit = steps + 1
    for bit in reversed(range(limit.bit_length())):
        if limit >> bit & 1:
            # Numbers that agree with the limit above this bit and have a 0 here: the lower bits are free.
            found += _choose(bit, ones - seen)
            seen += 1
    return found - (1 if ones == 0 else 0)


@lru_cache(maxsize=64)
def most_squares(rounds_of_unit: int, steps: int, rounds_in_step: int = 1) -> int:
    """Return the largest sum, over all nodes, of the square of how many of a unit's C rounds fall into the node.

    Only nodes that some prefix is made of count: those of odd index, or left halves. `inside[c]` is the largest
    sum over the nodes inside a block that holds c of the rounds, `alone[c]` the same with the block itself.
    """
    if rounds_of_unit > MOST_EXACT:
        return _most_squares_up(rounds_of_unit, steps, rounds_in_step)
    best, inside = np.zeros(1, np.int64), np.zeros(min(rounds_in_step, rounds_of_unit) + 1, np.int64)
    for level in range(nodes_of_one_step(steps)):
        alone = inside + np.arange(len(inside)) ** 2
        if steps >> level & 1:
            # The nodes of the last prefix hold everything, side by side.
            best = _shared(best, alone, rounds_of_unit)
        inside = _shared(alone, inside, rounds_of_unit)
    return int(best.max())


def _shared(left: NDArray[np.int64], right: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return for every c up to `most` the best way to share c rounds between two blocks."""
    both = np.zeros(min(most, len(left) + len(right) - 2) + 1, np.int64)
    for here in range(min(len(left), len(both))):
        there = right[: len(both) - here]
        np.maximum(both[here : here + len(there)], left[here] + there, out=both[here : here + len(there)])
    return both


def _most_squares_up(rounds_of_unit: int, steps: int, rounds_in_step: int) -> int:
    """Bound the same from above: on each level the rounds fill one node after the other."""
    total = 0
    for level in range(nodes_of_one_step(steps)):
        size, nodes = rounds_in_step << level, (steps >> level) + 1 >> 1
        full = min(rounds_of_unit // size, nodes)
        rest = rounds_of_unit - full * size if full < nodes else 0
        total += full * size**2 + rest**2
    return total


def spread_by_popcount(highest: int, lowest: int, steps: int) -> tuple[int, ...]:
    """Return thresholds that stand equally many deviations up for every popcount, the last being `highest`."""
    most = largest_popcount(steps)
    above = highest - lowest
    return tuple(
        lowest + min(above, math.ceil(above * sqrt_up(Fraction(ones, most)))) for ones in range(1, most + 1)
    )


def _choose(n: int, k: int) -> int:
    return math.comb(n, k) if 0 <= k <= n else 0
