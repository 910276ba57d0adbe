"""The exact law of an output: for everything that can come out, a proved lower bound of its chance.

Lower bounds are enough. All chances add up to one, so what the bounds fall short of one, `missing`, is the most by
which all of them together can be wrong; noise too far out to be listed is in there as well. An audit charges
`missing` to the claim when it confirms one, and grants it when it refutes one.

Bounds are decimals rounded down: they float, so that a chance of 1e-60 keeps as many digits as one of 1/2.
"""

from __future__ import annotations

import decimal
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

from unlisted.errors import InvalidArgumentError

Outcome = Any
"""Whatever can come out; it must be hashable."""

DIGITS = 50


def _context(rounding: str) -> decimal.Context:
    return decimal.Context(prec=DIGITS, rounding=rounding, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)


DOWN, UP = _context(decimal.ROUND_FLOOR), _context(decimal.ROUND_CEILING)
NONE, ALL = Decimal(0), Decimal(1)


@dataclass(frozen=True, eq=False)
class OutputLaw:
    """The law of an output.

    Guarantees: every listed output has at least the chance given; the bounds add up to at most one.
    """

    at_least: Mapping[Outcome, Decimal]

    def __post_init__(self) -> None:
        if any(chance < 0 for chance in self.at_least.values()) or self._listed > ALL:
            raise InvalidArgumentError("at_least", "<chances>", "0 or above each, and together at most 1")

    @classmethod
    def exactly(cls, chances: Mapping[Outcome, Fraction]) -> OutputLaw:
        """Return a law from exact chances."""
        return cls({outcome: decimal_down(chance) for outcome, chance in chances.items()})

    @classmethod
    def adding_up(cls, outcomes: Iterable[tuple[Outcome, Decimal]]) -> OutputLaw:
        """Return the law of outcomes that may come about in several ways, each with a chance of its own."""
        found: dict[Outcome, Decimal] = {}
        for outcome, chance in outcomes:
            before = found.get(outcome)
            found[outcome] = chance if before is None else DOWN.add(before, chance)
        return cls(found)

    @cached_property
    def _listed(self) -> Decimal:
        total = NONE
        for chance in self.at_least.values():
            total = DOWN.add(total, chance)
        return total

    @property
    def missing(self) -> Decimal:
        """The chance of everything that is not listed, and all that the bounds are short of, together."""
        return UP.subtract(ALL, self._listed)

    def then(self, following: Callable[[Outcome], OutputLaw]) -> OutputLaw:
        """Return the law of pairs: this output, and another whose law may depend on it."""
        return OutputLaw(
            {
                (first, second): DOWN.multiply(chance, one)
                for first, chance in self.at_least.items()
                for second, one in following(first).at_least.items()
            }
        )

    def seen_as(self, view: Callable[[Outcome], Outcome]) -> OutputLaw:
        """Return the law of a function of the output."""
        return OutputLaw.adding_up((view(outcome), chance) for outcome, chance in self.at_least.items())


def independent(parts: Sequence[OutputLaw], join: Callable[[tuple[Outcome, ...]], Outcome]) -> OutputLaw:
    """Return the law of a function of independent outputs."""

    def outcomes() -> Iterable[tuple[Outcome, Decimal]]:
        for combination in itertools.product(*(part.at_least.items() for part in parts)):
            chance = ALL
            for _, one in combination:
                chance = DOWN.multiply(chance, one)
            yield join(tuple(outcome for outcome, _ in combination)), chance

    return OutputLaw.adding_up(outcomes())


def decimal_down(x: Fraction) -> Decimal:
    """Return a decimal that is at most x."""
    return DOWN.divide(Decimal(x.numerator), Decimal(x.denominator))


def decimal_up(x: Fraction) -> Decimal:
    """Return a decimal that is at least x."""
    return UP.divide(Decimal(x.numerator), Decimal(x.denominator))
