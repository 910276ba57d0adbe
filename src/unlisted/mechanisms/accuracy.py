"""How good an answer will be, known before any data is touched.

The question every user of such a system asks is "how many people must share an item for it to appear?". It has an
answer that depends on the mechanism alone: the probability that noise lifts a count over the threshold. Everything
here is floating point and for display; no price and no threshold depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

PERCENTS = (50, 95, 99)
"""The probabilities of appearing that a plan speaks of."""

Chance = Callable[[int], float]
"""How many users share an item -> the probability that it appears."""


@dataclass(frozen=True)
class Accuracy:
    """What to expect of an answer.

    `needed[p]` is the count an item needs to appear with a probability of p percent; for answers read from the
    largest counts only, the count it needs *above the first one that was left out* (`above_cut`). `half_width` is
    half the width of a plain 95 % interval of a count, None where no count is released. Where users of fewer items
    lift them more, `needed` is for users with as many items as the bound allows, and `at_best` for users with one;
    `between` has those in between, by how many items they have. Where the width of intervals is only known with
    the answer, `half_widths` has it by the number of items for which a user counts in full.
    """

    needed: dict[int, int]
    half_width: int | None
    above_cut: bool
    chance: Chance
    at_best: dict[int, int] | None = None
    between: Mapping[int, dict[int, int]] = field(default_factory=dict)
    half_widths: Mapping[int, int] = field(default_factory=dict)

    def curve(self, points: int = 120) -> list[tuple[int, float]]:
        """Return (count, probability of appearing) over the range where it goes from about 0 to about 1."""
        last = max(2, round(self.needed[50] + 2 * (self.needed[99] - self.needed[50])))
        steps = np.unique(np.linspace(0, last, min(points, last + 1)).round().astype(int))
        return [(int(count), self.chance(int(count))) for count in steps]


def all_needed(chance: Chance) -> dict[int, int]:
    """Return the counts that an item needs to appear with each of the probabilities that a plan speaks of."""
    return {percent: _needed(chance, percent / 100) for percent in PERCENTS}


def _needed(chance: Chance, wanted: float) -> int:
    low, high = 0, 1
    while chance(high) < wanted:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if chance(middle) < wanted else (low, middle)
    return high
