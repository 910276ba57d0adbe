"""Exact amounts of ρ and δ: whole numbers of a unit so small that rounding it never matters.

An amount is a whole number of 10^-40. A charge is rounded up to it and a budget down, so what the store adds up is
never less than what was promised away. In the store amounts are decimal text; a float never goes near them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from unlisted.privacy.guarantee import Guarantee

PLACES = 40
_UNIT: int = 10**PLACES


@dataclass(frozen=True)
class Amount:
    """So much ρ and so much δ, in units of 10^-40."""

    rho: int = 0
    delta: int = 0

    @classmethod
    def charge(cls, guarantee: Guarantee) -> Amount:
        """Return what a guarantee costs, rounded up."""
        return cls(math.ceil(guarantee.rho * _UNIT), math.ceil(guarantee.delta * _UNIT))

    @classmethod
    def allowance(cls, rho: Fraction, delta: Fraction) -> Amount:
        """Return what a budget allows, rounded down."""
        return cls(math.floor(rho * _UNIT), math.floor(delta * _UNIT))

    @classmethod
    def read(cls, rho: str, delta: str) -> Amount:
        """Read an amount as the store writes it."""
        return cls(_read(rho), _read(delta))

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.rho + other.rho, self.delta + other.delta)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.rho - other.rho, self.delta - other.delta)

    def fits(self, limit: Amount) -> bool:
        """Return whether neither ρ nor δ is above a limit."""
        return self.rho <= limit.rho and self.delta <= limit.delta

    def least(self, other: Amount) -> Amount:
        """Return the smaller ρ and the smaller δ of two amounts."""
        return Amount(min(self.rho, other.rho), min(self.delta, other.delta))

    @cached_property
    def texts(self) -> tuple[str, str]:
        """The amount as the store writes it: plain decimals, without a trailing zero."""
        return _write(self.rho), _write(self.delta)

    def guarantee(self) -> Guarantee:
        """Return the amount as a guarantee; below zero counts as zero."""
        return Guarantee(
            max(Fraction(0), Fraction(self.rho, _UNIT)),
            min(Fraction(1), max(Fraction(0), Fraction(self.delta, _UNIT))),
        )


NOTHING = Amount()


def _write(units: int) -> str:
    whole, rest = divmod(abs(units), _UNIT)
    decimals = f"{rest:0{PLACES}d}".rstrip("0")
    return f"{'-' if units < 0 else ''}{whole}{'.' + decimals if decimals else ''}"


def _read(text: str) -> int:
    whole, _, decimals = text.removeprefix("-").partition(".")
    units = int(whole) * _UNIT + int(decimals.ljust(PLACES, "0"))
    return -units if text.startswith("-") else units
