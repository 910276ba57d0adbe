"""Two laws side by side, as far as telling them apart goes: how likely each likelihood ratio is under both.

Outcomes with the same ratio P(y)/Q(y) may be merged without changing any divergence, since the ratio is all that a
divergence looks at. Thousands of outcomes become a few dozen classes. Ratios are compared to twelve digits, and a
class keeps bounds of the ratios in it.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from unlisted.audit.output_law import ALL, DOWN, NONE, UP, OutputLaw

_RATIO_DIGITS = 12
_RATIO_DOWN = decimal.Context(_RATIO_DIGITS, decimal.ROUND_FLOOR, decimal.MIN_EMIN, decimal.MAX_EMAX)
_RATIO_UP = decimal.Context(_RATIO_DIGITS, decimal.ROUND_CEILING, decimal.MIN_EMIN, decimal.MAX_EMAX)


class RatioClass(NamedTuple):
    """Outcomes that both laws list, with about the same ratio: its bounds, and what both laws give them."""

    ratio_low: Decimal
    ratio_high: Decimal
    left: Decimal
    right: Decimal

    def mirrored(self) -> RatioClass:
        """Return the class with the two laws exchanged."""
        inverse_low, inverse_high = _RATIO_DOWN.divide(1, self.ratio_high), _RATIO_UP.divide(1, self.ratio_low)
        return RatioClass(inverse_low, inverse_high, self.right, self.left)


@dataclass(frozen=True, eq=False)
class Likelihoods:
    """Two laws by likelihood ratio, smallest first.

    `left_only` is listed by the left law and not by the right one: outcomes that tell the two apart. What a law
    does not say, `left_missing` and `right_missing`, may lie anywhere.
    """

    classes: tuple[RatioClass, ...]
    left_only: Decimal
    right_only: Decimal
    left_missing: Decimal
    right_missing: Decimal

    @classmethod
    def of(cls, left: OutputLaw, right: OutputLaw) -> Likelihoods:
        """Compare two laws outcome by outcome."""
        found: dict[Decimal, RatioClass] = {}
        left_only, right_only = NONE, NONE
        for outcome, p in left.at_least.items():
            q = right.at_least.get(outcome, NONE)
            if not p:
                continue
            if not q:
                left_only = DOWN.add(left_only, p)
                continue
            low, high = _RATIO_DOWN.divide(p, q), _RATIO_UP.divide(p, q)
            before = found.get(high)
            found[high] = (
                RatioClass(low, high, p, q)
                if before is None
                else RatioClass(
                    min(low, before.ratio_low), high, DOWN.add(before.left, p), DOWN.add(before.right, q)
                )
            )
        for outcome, q in right.at_least.items():
            if not left.at_least.get(outcome, NONE):
                right_only = DOWN.add(right_only, q)
        classes = tuple(found[ratio] for ratio in sorted(found))
        left_missing = _short_of_one(left_only, [one.left for one in classes])
        right_missing = _short_of_one(right_only, [one.right for one in classes])
        return cls(classes, left_only, right_only, left_missing, right_missing)

    @classmethod
    def both_ways(cls, left: OutputLaw, right: OutputLaw) -> Sides:
        """Compare two laws in both directions."""
        pair = cls.of(left, right)
        return pair, pair.mirrored()

    def mirrored(self) -> Likelihoods:
        """Return the same with the two laws exchanged."""
        classes = tuple(one.mirrored() for one in reversed(self.classes))
        return Likelihoods(classes, self.right_only, self.left_only, self.right_missing, self.left_missing)

    @property
    def escape(self) -> Decimal:
        """The chance, under the left law, of an outcome that the right one does not list; at most this."""
        return UP.add(self.left_only, self.left_missing)


Sides = tuple[Likelihoods, Likelihoods]
"""Two laws compared in both directions."""


def _short_of_one(first: Decimal, others: list[Decimal]) -> Decimal:
    total = first
    for one in others:
        total = DOWN.add(total, one)
    return UP.subtract(ALL, total)
