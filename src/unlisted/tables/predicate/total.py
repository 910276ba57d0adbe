"""The pieces of a checked predicate that engines could fail on, written so that no row can make them fail.

An error that depends on a row tells the analyst something about that row, so every piece must be total:

- Arithmetic is done in doubles, on numbers that are 0 or of a magnitude from 1e-40 to 1e40 (others, NaN and
  infinity give NULL), and a static bound on every result keeps it inside the range of a double. Some engines
  raise on overflow and on underflow; this way none meets either.
- A divisor is never zero: it is NULL instead.
- `%` is done on whole numbers only, exactly, and never by -1, which overflows on the smallest integer.
- Date parts are taken of the years 1 to 9999 only; outside, engines disagree or raise.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from unlisted.tables.column_types import ColumnType
from unlisted.tables.predicate.literals import as_double, constant_node

__all__ = ["Double", "date_part", "in_range_double", "modulo", "operand"]

MAX_EXPONENT = 300
"""A double reaches 1e308; the rest is room for rounding."""

_COLUMN_LOW, _COLUMN_HIGH = -40, 40
# A sum of doubles that nearly cancels still has the last bit of its terms: 52 bits, below 16 decimal digits.
_LOST_BY_CANCELLING = 16
_ATOMS = (exp.Column, exp.Literal, exp.Cast, exp.Case, exp.Null, exp.Boolean, exp.Paren)
_FIRST_AND_LAST = {
    ColumnType.DATE: ("0001-01-01", "9999-12-31"),
    ColumnType.TIMESTAMP: ("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"),
}


@dataclass(frozen=True)
class Double:
    """A double that is NULL, 0 or of a magnitude from 10^low to 10^high."""

    node: exp.Expr
    low: int
    high: int

    @classmethod
    def of_column(cls, node: exp.Expr, kind: ColumnType) -> Double:
        """Make a double of a numeric column or of a whole number."""
        guarded = in_range_double(node) if kind is ColumnType.FLOAT else as_double(node)
        return cls(guarded, _COLUMN_LOW, _COLUMN_HIGH)

    @classmethod
    def of_literal(cls, value: Decimal | None) -> Double:
        """Make a double of a number or NULL."""
        exponent = value.adjusted() if value else 0
        return cls(constant_node(value, ColumnType.FLOAT), exponent, exponent + 1)

    @property
    def is_in_range(self) -> bool:
        """Whether it can neither overflow nor vanish."""
        return self.low >= -MAX_EXPONENT and self.high <= MAX_EXPONENT

    def __neg__(self) -> Double:
        return Double(exp.Neg(this=operand(self.node)), self.low, self.high)

    def __add__(self, other: Double) -> Double:
        return self._sum(exp.Add, other)

    def __sub__(self, other: Double) -> Double:
        return self._sum(exp.Sub, other)

    def __mul__(self, other: Double) -> Double:
        node = exp.Mul(this=operand(self.node), expression=operand(other.node))
        return Double(node, self.low + other.low, self.high + other.high)

    def __truediv__(self, other: Double) -> Double:
        divisor = exp.Nullif(this=other.node, expression=exp.Literal.number(0))
        # `typed` keeps the writer from adding casts of its own: both sides are doubles already.
        node = exp.Div(this=operand(self.node), expression=divisor, typed=True, safe=False)
        return Double(node, self.low - other.high, self.high - other.low)

    def _sum(self, kind: type[exp.Add] | type[exp.Sub], other: Double) -> Double:
        node = kind(this=operand(self.node), expression=operand(other.node))
        low = min(self.low, other.low) - _LOST_BY_CANCELLING
        return Double(node, low, max(self.high, other.high) + 1)


def in_range_double(column: exp.Expr) -> exp.Case:
    """Turn a numeric column into a double that arithmetic can use, or NULL."""
    low, high = exp.Literal.number(f"1e{_COLUMN_LOW}"), exp.Literal.number(f"1e{_COLUMN_HIGH}")
    magnitude = exp.Between(this=exp.Abs(this=column.copy()), low=low, high=high)
    is_zero = exp.EQ(this=column.copy(), expression=exp.Literal.number(0))
    return _case((exp.Or(this=is_zero, expression=magnitude), as_double(column.copy())))


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
    low, high = (constant_node(bound, kind) for bound in _FIRST_AND_LAST[kind])
    in_range = exp.Between(this=column.copy(), low=low, high=high)
    return _case((in_range, exp.Extract(this=exp.var(part), expression=column.copy())))


def operand(node: exp.Expr) -> exp.Expr:
    """Wrap a node, where needed, so that it keeps its meaning beside any operator."""
    return node if isinstance(node, _ATOMS) else exp.Paren(this=node)


def _case(*branches: tuple[exp.Expr, exp.Expr]) -> exp.Case:
    return exp.Case(ifs=[exp.If(this=condition, true=value) for condition, value in branches])
