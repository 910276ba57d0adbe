"""How much: which column is summed up, in which units, and how much of one user counts for one item.

An amount becomes a whole number of units row by row: it is read as a double, brought into the range in which a
double tells all units apart, and rounded to the nearest unit, halves up. Each of these steps is the same in every
engine and fails on no row. A row without an amount, or with one that is no number, adds nothing; an infinite one
adds the most that one row can. The rows of a user and an item are added up exactly, and only then is the sum
brought between the bounds: what counts is how much a user has of an item, not how many rows say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.numbers import whole
from unlisted.tables.column_types import ColumnType

LARGEST_AMOUNT = 2**50
"""The most units that one row adds. Up to here a double tells whole numbers apart, and tenths of them too."""

LARGEST_BOUND = 2**36
"""The most units that one user may count for in one item."""

FINEST_UNIT = 10**9

SUMS = ("sum", "sum_low", "sum_high", "mean", "mean_low", "mean_high")
"""The columns of an answer with sums, in units; elsewhere an item may be called so."""


@dataclass(frozen=True)
class Amounts:
    """What is summed up: a column, how many units are 1, and bounds in units for one user and one item."""

    column: str
    units: int
    low: int
    high: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "units", whole("units", self.units))
        if not (-LARGEST_BOUND <= self.low <= 0 <= self.high <= LARGEST_BOUND) or self.low == self.high:
            allowed = f"between -{LARGEST_BOUND:,} and {LARGEST_BOUND:,} units, 0 between them"
            hint = "Say a larger sum_unit, such as 1 for whole euros."
            raise InvalidArgumentError("max_per_item", f"{self.low:,} to {self.high:,} units", allowed, hint)

    def check(self, columns: Mapping[str, ColumnType]) -> None:
        """Refuse a column that holds no numbers."""
        if not columns[self.column].is_number:
            hint = "Make it a number in the source, for example in a view, or declare what it holds with types=."
            raise InvalidArgumentError("sum", self.column, "a column of numbers", hint)

    def in_units(self, amount: str) -> str:
        """Return the expression for a row's amount, a double or NULL, as a whole number of units."""
        most = f"CAST({LARGEST_AMOUNT / self.units!r} AS DOUBLE)"
        near = f"LEAST(GREATEST({amount}, -{most}), {most})"
        nearest = f"FLOOR({near} * CAST({self.units} AS DOUBLE) + CAST(0.5 AS DOUBLE))"
        return f"CASE WHEN {amount} IS NULL THEN 0 ELSE CAST({nearest} AS BIGINT) END"

    def added_up(self, units: str) -> str:
        """Return the expression for what a user has of an item, from the units of its rows, within the bounds."""
        total = f"SUM(CAST({units} AS HUGEINT))"
        return f"CAST(LEAST(GREATEST({total}, {self.low}), {self.high}) AS BIGINT)"
