"""Exact amounts: whole numbers of a unit so small that rounding it never matters, in what an account counts.

An amount is so much loss, ρ or μ², and so much δ, both whole numbers of 10^-40. A charge is rounded up to it and a
budget down, so what the store adds up is never less than what was promised away. In the store amounts are decimal
text; a float never goes near them. Amounts of ρ and of μ² are never added: one cannot be told by the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from unlisted.errors import LedgerError
from unlisted.privacy.accounting import ZCDP, Accounting
from unlisted.privacy.guarantee import Guarantee

PLACES = 40
_UNIT: int = 10**PLACES


@dataclass(frozen=True)
class Amount:
    """So much loss, of one kind, and so much δ, in units of 10^-40."""

    loss: int = 0
    delta: int = 0
    accounting: Accounting = field(default=ZCDP)

    @classmethod
    def charge(cls, guarantee: Guarantee, accounting: Accounting = ZCDP) -> Amount:
        """Return what a guarantee costs, rounded up."""
        loss, delta = accounting.charge(guarantee)
        return cls(math.ceil(loss * _UNIT), math.ceil(delta * _UNIT), accounting)

    @classmethod
    def allowance(cls, loss: Fraction, delta: Fraction, accounting: Accounting = ZCDP) -> Amount:
        """Return what a budget allows, rounded down."""
        return cls(math.floor(loss * _UNIT), math.floor(delta * _UNIT), accounting)

    @classmethod
    def read(cls, loss: str, delta: str, accounting: Accounting = ZCDP) -> Amount:
        """Read an amount as the store writes it."""
        return cls(_read(loss), _read(delta), accounting)

    def __add__(self, other: Amount) -> Amount:
        self._require_same(other)
        return Amount(self.loss + other.loss, self.delta + other.delta, self.accounting)

    def __sub__(self, other: Amount) -> Amount:
        self._require_same(other)
        return Amount(self.loss - other.loss, self.delta - other.delta, self.accounting)

    def fits(self, limit: Amount) -> bool:
        """Return whether neither the loss nor δ is above a limit."""
        self._require_same(limit)
        return self.loss <= limit.loss and self.delta <= limit.delta

    def least(self, other: Amount) -> Amount:
        """Return the smaller loss and the smaller δ of two amounts."""
        self._require_same(other)
        return Amount(min(self.loss, other.loss), min(self.delta, other.delta), self.accounting)

    def times_in(self, left: Amount) -> int | None:
        """Return how many such amounts fit into what is left; None if it is nothing."""
        self._require_same(left)
        parts = [(one, of) for one, of in ((self.loss, left.loss), (self.delta, left.delta)) if one]
        return min((max(0, of) // one for one, of in parts), default=None)

    @cached_property
    def texts(self) -> tuple[str, str]:
        """The amount as the store writes it: plain decimals, without a trailing zero."""
        return _write(self.loss), _write(self.delta)

    def as_dict(self) -> dict[str, str]:
        """Return the amount as exact texts, the loss under its own name."""
        loss, delta = self.texts
        return {self.accounting.option: loss, "delta": delta}

    @property
    def exact(self) -> tuple[Fraction, Fraction]:
        """The loss and δ as exact numbers; below zero counts as zero."""
        loss, delta = Fraction(max(0, self.loss), _UNIT), Fraction(max(0, self.delta), _UNIT)
        return loss, min(Fraction(1), delta)

    def guarantee(self) -> Guarantee:
        """Return what follows from the amount; below zero counts as zero."""
        return self.accounting.guarantee(*self.exact)

    def epsilon(self, at_delta: Fraction) -> Fraction:
        """Return the ε that follows at a total δ, rounded up."""
        loss, delta = self.exact
        return Fraction(0) if loss == 0 else self.accounting.epsilon_up(loss, at_delta - delta)

    def _require_same(self, other: Amount) -> None:
        if self.accounting is not other.accounting:
            raise LedgerError(
                f"Amounts of {self.accounting.symbol} and of {other.accounting.symbol} cannot be added."
            )


NOTHING = Amount()


def nothing(accounting: Accounting) -> Amount:
    """Return no loss of a kind, and no δ."""
    return Amount(0, 0, accounting)


def _write(units: int) -> str:
    whole, rest = divmod(abs(units), _UNIT)
    decimals = f"{rest:0{PLACES}d}".rstrip("0")
    return f"{'-' if units < 0 else ''}{whole}{'.' + decimals if decimals else ''}"


def _read(text: str) -> int:
    whole, _, decimals = text.removeprefix("-").partition(".")
    units = int(whole) * _UNIT + int(decimals.ljust(PLACES, "0"))
    return -units if text.startswith("-") else units
