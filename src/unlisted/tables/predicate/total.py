"""The pieces of a checked predicate that engines could fail on, written so that no row can make them fail.

An error that depends on a row tells the analyst something about that row, so every piece must be total:

- Arithmetic is done in doubles, on numbers that are 0 or of a magnitude from 1e-40 to 1e40 (others, NaN and
  infinity give NULL), and a static bound on every result keeps it inside the range of a double. Some engines
  raise on overflow and on underflow; this way none meets either.
- A divisor is never zero: it is NULL instead.
- `%` is done on whole numbers only, exactly, and never by -1, which overflows on the smallest integer.
- Date parts are taken of the years 1 to 9999 only; outside, engines disagree or raise.
- Texts are changed only if they are short: an engine that has no room for the changed text raises.
- A text is read as a number, a day or a moment only if its form says that it is one.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from unlisted.tables.column_types import ColumnType
from unlisted.tables.predicate.literals import as_double, constant_node

__all__ = [
    "HAS_FORM",
    "LARGEST_EXACT",
    "LONGEST_TEXT",
    "SIZE",
    "Double",
    "date_part",
    "has_form",
    "in_calendar",
    "in_range_double",
    "lowered",
    "modulo",
    "operand",
    "rounded",
    "short_text",
    "translated",
    "when",
    "whole_number",
]

MAX_EXPONENT = 300
"""A double reaches 1e308; the rest is room for rounding."""

LONGEST_TEXT = 2**20
"""Bytes of a text that is computed with."""

SIZE, HAS_FORM = "UNLISTED_SIZE", "UNLISTED_HAS_FORM"
"""Said of a text: how many bytes it has, and of a text and an expression: that all of it matches."""

LARGEST_EXACT = 2**53
"""All smaller whole numbers are doubles."""

_MOST_ROUNDED = 10**15
_COLUMN_LOW, _COLUMN_HIGH = -40, 40
# A sum of doubles that nearly cancels still has the last bit of its terms: 52 bits, below 16 decimal digits.
_LOST_BY_CANCELLING = 16
_ATOMS = (exp.Column, exp.Literal, exp.Cast, exp.Case, exp.Null, exp.Boolean, exp.Paren)
_FUNCTIONS = (exp.Anonymous, exp.Trim, exp.Left, exp.Length)
_FIRST_AND_LAST = {
    ColumnType.DATE: ("0001-01-01", "9999-12-31"),
    ColumnType.TIMESTAMP: ("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"),
}


@dataclass(frozen=True)
class Double:
    """A double that is NULL, 0 or of a magnitude from 10^low to 10^high; `is_whole` if it is never a fraction."""

    node: exp.Expr
    low: int
    high: int
    is_whole: bool = False

    @classmethod
    def of_column(cls, node: exp.Expr, kind: ColumnType) -> Double:
        """Make a double of a numeric column or of a whole number."""
        guarded = in_range_double(node) if kind is ColumnType.FLOAT else as_double(node)
        return cls(guarded, _COLUMN_LOW, _COLUMN_HIGH, kind is ColumnType.INTEGER)

    @classmethod
    def of_literal(cls, value: Decimal | None) -> Double:
        """Make a double of a number or NULL."""
        exponent = value.adjusted() if value else 0
        is_whole = value is None or value == value.to_integral_value()
        return cls(constant_node(value, ColumnType.FLOAT), exponent, exponent + 1, is_whole)

    @property
    def is_in_range(self) -> bool:
        """Whether it can neither overflow nor vanish."""
        return self.low >= -MAX_EXPONENT and self.high <= MAX_EXPONENT

    def __neg__(self) -> Double:
        return Double(exp.Neg(this=operand(self.node)), self.low, self.high, self.is_whole)

    def __add__(self, other: Double) -> Double:
        return self._sum(exp.Add, other)

    def __sub__(self, other: Double) -> Double:
        return self._sum(exp.Sub, other)

    def __mul__(self, other: Double) -> Double:
        node = exp.Mul(this=operand(self.node), expression=operand(other.node))
        return Double(node, self.low + other.low, self.high + other.high, self.is_whole and other.is_whole)

    def __truediv__(self, other: Double) -> Double:
        divisor = exp.Nullif(this=other.node, expression=exp.Literal.number(0))
        # `typed` keeps the writer from adding casts of its own: both sides are doubles already.
        node = exp.Div(this=operand(self.node), expression=divisor, typed=True, safe=False)
        return Double(node, self.low - other.high, self.high - other.low)

    def _sum(self, kind: type[exp.Add] | type[exp.Sub], other: Double) -> Double:
        node = kind(this=operand(self.node), expression=operand(other.node))
        low = min(self.low, other.low) - _LOST_BY_CANCELLING
        return Double(node, low, max(self.high, other.high) + 1, self.is_whole and other.is_whole)


def in_range_double(column: exp.Expr) -> exp.Case:
    """Turn a numeric column into a double that arithmetic can use, or NULL."""
    low, high = exp.Literal.number(f"1e{_COLUMN_LOW}"), exp.Literal.number(f"1e{_COLUMN_HIGH}")
    magnitude = exp.Between(this=exp.Abs(this=column.copy()), low=low, high=high)
    is_zero = exp.EQ(this=column.copy(), expression=exp.Literal.number(0))
    return when(exp.Or(this=is_zero, expression=magnitude), as_double(column.copy()))


def modulo(dividend: exp.Expr, divisor: exp.Expr | Decimal | None) -> exp.Mod:
    """Take the remainder of whole numbers; its sign is that of the dividend, whatever that of the divisor."""
    return exp.Mod(this=operand(dividend), expression=_divisor(divisor))


def _divisor(divisor: exp.Expr | Decimal | None) -> exp.Expr:
    if divisor is None or isinstance(divisor, Decimal):
        return exp.Literal.number(abs(int(divisor))) if divisor else exp.Null()
    one = exp.Literal.number(1)
    is_minus_one = exp.EQ(this=divisor.copy(), expression=exp.Neg(this=one.copy()))
    is_not_zero = exp.NEQ(this=divisor.copy(), expression=exp.Literal.number(0))
    return _case((is_minus_one, one), (is_not_zero, divisor.copy()))


def date_part(part: str, column: exp.Expr, kind: ColumnType) -> exp.Case:
    """Take a part, a whole number, of a date or timestamp column."""
    return when(_years(column, kind), exp.Extract(this=exp.var(part), expression=column.copy()))


def in_calendar(column: exp.Expr, kind: ColumnType) -> exp.Case:
    """Return a date or timestamp of the years 1 to 9999."""
    return when(_years(column, kind), column.copy())


def _years(column: exp.Expr, kind: ColumnType) -> exp.Between:
    low, high = (constant_node(bound, kind) for bound in _FIRST_AND_LAST[kind])
    return exp.Between(this=column.copy(), low=low, high=high)


def rounded(number: Double, kind: type[exp.Floor] | type[exp.Ceil]) -> Double:
    """Round a number down or up, if it has few enough digits that all engines can."""
    is_small = _within(number.node, _MOST_ROUNDED)
    # Some engines make a whole number of it at once.
    return Double(when(is_small, as_double(kind(this=number.node.copy()))), 0, 16, is_whole=True)


def whole_number(node: exp.Expr, most: int = LARGEST_EXACT) -> exp.Case:
    """Return a number that has no fraction as a whole number of 64 bits, if it is not above the largest."""
    cast = exp.Cast(this=node.copy(), to=exp.DataType(this=exp.DataType.Type.BIGINT))
    return when(_within(node, most), cast)


def short_text(column: exp.Expr) -> exp.Case:
    """Return a text that can be computed with."""
    size = exp.Anonymous(this=SIZE, expressions=[column.copy()])
    return when(exp.LTE(this=size, expression=exp.Literal.number(LONGEST_TEXT)), column.copy())


def translated(text: exp.Expr, letters: str, others: str) -> exp.Expr:
    """Return a text with each of the letters replaced by the other at its place."""
    return exp.Anonymous(
        this="TRANSLATE", expressions=[text, exp.Literal.string(letters), exp.Literal.string(others)]
    )


def lowered(text: exp.Expr) -> exp.Expr:
    """Return a text with the letters A to Z as a to z."""
    return translated(text, string.ascii_uppercase, string.ascii_lowercase)


def has_form(text: exp.Expr, form: str) -> exp.Expr:
    """Return whether the whole of a text matches a regular expression, of what all engines read alike."""
    return exp.Anonymous(this=HAS_FORM, expressions=[text.copy(), exp.Literal.string(form)])


def _within(node: exp.Expr, most: int) -> exp.Expr:
    low, high = exp.Neg(this=exp.Literal.number(most)), exp.Literal.number(most)
    return exp.Between(this=operand(node.copy()), low=low, high=high)


def when(condition: exp.Expr, value: exp.Expr) -> exp.Case:
    """Return a value where a condition holds, and NULL elsewhere."""
    return _case((condition, value))


def operand(node: exp.Expr) -> exp.Expr:
    """Wrap a node, where needed, so that it keeps its meaning beside any operator."""
    return node if isinstance(node, _ATOMS + _FUNCTIONS) else exp.Paren(this=node)


def _case(*branches: tuple[exp.Expr, exp.Expr]) -> exp.Case:
    return exp.Case(ifs=[exp.If(this=condition, true=value) for condition, value in branches])
