"""What a user's items weigh: the more items, the less each, so that all together are no longer than one alone.

For the question "which labels are there?" a count is not the best measure of a label. A user with n items may give
each of them 1/√n: as a vector that has length 1 whatever n is, and Gaussian noise asks for nothing else. So noise
and threshold do not grow with the bound on items per user, and users of few items lift theirs with more weight
than a count would. Weights are whole numbers of 1/`UNIT`, rounded down; the proof is in weights.md.

*Adaptive* weighing (MaxAdaptiveDegree) goes on: what a label has beyond what it needs returns to its users,
who spread it over their other items.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.encoding import Notation
from unlisted.privacy.numbers import whole
from unlisted.privacy.sensitivity import Adjacency

UNIT = 1 << 32
"""The weight 1, of the item of a user who has no other."""

LARGEST_ITEMS = 1_000_000
"""The weights of users with so many items are still thousands of units."""

MOST_LABELS = 1 << 40
"""No table has more labels than this; rounding moves each of them by less than one unit."""

SHARES = 1 << 40
"""What a label reroutes is a whole number of so many parts of its weight."""

HEAVIEST = 1 << 53
"""From this weight on (two million users of one item) a label reroutes the same part: floating point, in which
the part is computed, knows every whole number up to here."""

UNEVEN = 1 << 14
"""How many units may be rerouted too much, when a part is rounded: HEAVIEST / SHARES = 2^13, and a little."""


def full_weight(items: int) -> int:
    """Return UNIT/√n, rounded down: what each item of a user with n of them weighs."""
    return math.isqrt(UNIT * UNIT // items)


def even_weight(items: int) -> int:
    """Return UNIT/n, rounded down: the part of it that may be rerouted."""
    return UNIT // items


@dataclass(frozen=True)
class Rerouting:
    """Labels keep `enough` of the weight that users of at most `most_items` items give them evenly.

    The rest goes back to those users, who give 1/`spread` of what they got to each of their items.
    """

    notation: ClassVar = Notation("GivingBack", ("enough", "most_items"))

    enough: int
    most_items: int

    def __post_init__(self) -> None:
        if not UNIT <= whole("enough", self.enough) < HEAVIEST:
            raise InvalidArgumentError("enough", self.enough, f"between {UNIT} and {HEAVIEST}")
        whole("most_items", self.most_items)

    @cached_property
    def spread(self) -> int:
        """The least whole number with which no user's weights become longer than UNIT (weights.md)."""
        return max(_least_spread(items) for items in range(1, self.most_items + 1))


def _least_spread(items: int) -> int:
    full, even = full_weight(items), even_weight(items) + UNEVEN
    return -(-items * (2 * full + even) // (2 * full - even))


@dataclass(frozen=True)
class Weighing:
    """How the items of each user are weighed, of whom none has more than `items`."""

    notation: ClassVar = Notation("Weighing", ("items", ("giving_back", "rerouting"), "adjacency"))

    items: int
    rerouting: Rerouting | None = None
    adjacency: Adjacency = "add_remove"

    def __post_init__(self) -> None:
        if whole("items_per_user", self.items) > LARGEST_ITEMS:
            raise InvalidArgumentError("items_per_user", self.items, f"at most {LARGEST_ITEMS:,}")
        if self.adjacency not in ("add_remove", "replace"):
            raise InvalidArgumentError("adjacency", self.adjacency, "'add_remove' or 'replace'")
        if self.rerouting is not None and self.rerouting.most_items > self.items:
            raise InvalidArgumentError("most_items", self.rerouting.most_items, f"at most {self.items}")

    @property
    def reach_squared(self) -> int:
        """The most by which one user moves the weights of all labels, as a length, squared."""
        if self.rerouting is None:
            return UNIT**2 if self.adjacency == "add_remove" else 2 * UNIT**2
        # Rounding moves every label that the user moves at all, by less than a unit; exchanging is leaving and
        # entering.
        one_way = UNIT + math.isqrt(MOST_LABELS)
        return one_way**2 if self.adjacency == "add_remove" else 4 * one_way**2

    def alone(self, items: int) -> int:
        """Return the most that a label weighs which only one user has, with so many items."""
        if self.rerouting is None or items > self.rerouting.most_items:
            return full_weight(items)
        return full_weight(items) + -(-UNIT // self.rerouting.spread)
