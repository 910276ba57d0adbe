"""Literals of a predicate: what a constant means once the type of its column is known.

A literal has no type of its own. It takes the type of what it is compared with, exactly or not at all: nothing
is rounded, guessed or left to an engine, because an engine that guesses wrong raises on a row.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal

from sqlglot import exp

from unlisted.tables.column_types import ColumnType

__all__ = ["Constant", "as_double", "constant_kind", "constant_node", "read_moment", "read_number"]

Constant = str | Decimal | bool | date | datetime | None
"""The value of a literal. `date` and `datetime` come from DATE '…' and TIMESTAMP '…'."""

MIN_INTEGER, MAX_INTEGER = -(2**63), 2**63 - 1
"""Beyond 64 bits Spark decides a comparison without looking at the row, and forgets that it may be NULL."""

DOUBLE_EXPONENT = 300
"""Literals of larger or smaller magnitude could overflow or vanish as a double."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(_DATE.pattern + r"(?:[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)?")
_TRUTH = {"true": True, "false": False}


def constant_kind(value: Constant) -> ColumnType | None:
    """Return the type of a literal that meets no column; NULL has none."""
    match value:
        case bool():
            return ColumnType.BOOLEAN
        case str():
            return ColumnType.TEXT
        case Decimal():
            return ColumnType.INTEGER if _is_whole(value) else ColumnType.FLOAT
        case datetime():
            return ColumnType.TIMESTAMP
        case date():
            return ColumnType.DATE
        case None:
            return None


def constant_node(value: Constant, kind: ColumnType) -> exp.Expr:
    """Write a literal as a constant of type `kind`; a ValueError says what would fit."""
    if value is None:
        return as_double(exp.Null()) if kind.is_number and kind is not ColumnType.INTEGER else exp.Null()
    return _WRITERS[kind](value)


def read_moment(text: str, kind: ColumnType) -> date | datetime:
    """Read the text of a DATE or TIMESTAMP literal; a ValueError says how it is written."""
    form, how = (
        (_DATE, "a date is written yyyy-mm-dd")
        if kind is ColumnType.DATE
        else (_TIMESTAMP, "a timestamp is written yyyy-mm-dd hh:mm:ss, without a time zone")
    )
    if not form.fullmatch(text):
        raise ValueError(how)
    try:
        return date.fromisoformat(text) if kind is ColumnType.DATE else datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"there is no such day or time; {how}") from None


def read_number(text: str) -> Decimal:
    """Read the text of a number, without rounding; a ValueError says how it is written."""
    if not _NUMBER.fullmatch(text):
        raise ValueError("a number is written as digits, such as 18 or -2.5")
    return Decimal(text)


def as_double(node: exp.Expr) -> exp.Cast:
    """Cast to a double, which cannot fail for an integer, a float, a NULL or a checked literal."""
    return exp.Cast(this=node, to=exp.DataType(this=exp.DataType.Type.DOUBLE))


def _text(value: Constant) -> exp.Expr:
    if not isinstance(value, str):
        raise ValueError("text is written in single quotes")
    return exp.Literal.string(value)


def _integer(value: Constant) -> exp.Expr:
    number = _number(value)
    if not _is_whole(number):
        raise ValueError("an int column is compared with a whole number of at most 64 bits")
    return _signed(number, str(abs(int(number))))


def _double(value: Constant) -> exp.Expr:
    number = _number(value)
    if number and abs(number.adjusted()) > DOUBLE_EXPONENT:
        raise ValueError(f"a number has at most {DOUBLE_EXPONENT} decimal places on either side")
    digits = repr(float(number.copy_abs())).removesuffix(".0")
    # With an exponent engines read a double at once; without, a decimal that they then round again.
    return as_double(_signed(number, digits if "e" in digits else f"{digits}e0"))


def _boolean(value: Constant) -> exp.Expr:
    truth = value if isinstance(value, bool) else _TRUTH.get(value) if isinstance(value, str) else None
    if truth is None:
        raise ValueError("a bool column is TRUE or FALSE")
    return exp.Boolean(this=truth)


def _date(value: Constant) -> exp.Expr:
    day = read_moment(value, ColumnType.DATE) if isinstance(value, str) else value
    if not isinstance(day, date) or isinstance(day, datetime):
        raise ValueError("a date is written DATE 'yyyy-mm-dd'")
    return _typed_text(day.isoformat(), exp.DataType(this=exp.DataType.Type.DATE))


def _timestamp(value: Constant) -> exp.Expr:
    moment = read_moment(value, ColumnType.TIMESTAMP) if isinstance(value, str) else value
    if not isinstance(moment, date):
        raise ValueError("a timestamp is written TIMESTAMP 'yyyy-mm-dd hh:mm:ss'")
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    return _typed_text(moment.isoformat(sep=" "), exp.DataType(this=exp.DataType.Type.TIMESTAMPNTZ))


def _signed(number: Decimal, digits: str) -> exp.Expr:
    node = exp.Literal.number(digits)
    return exp.Neg(this=node) if number < 0 else node


def _typed_text(text: str, kind: exp.DataType) -> exp.Expr:
    return exp.Cast(this=exp.Literal.string(text), to=kind)


def _number(value: Constant) -> Decimal:
    return value if isinstance(value, Decimal) else read_number(value if isinstance(value, str) else "")


def _is_whole(number: Decimal) -> bool:
    return MIN_INTEGER <= number <= MAX_INTEGER and number == number.to_integral_value()


_WRITERS: dict[ColumnType, Callable[[Constant], exp.Expr]] = {
    ColumnType.TEXT: _text,
    ColumnType.INTEGER: _integer,
    ColumnType.DECIMAL: _double,
    ColumnType.FLOAT: _double,
    ColumnType.BOOLEAN: _boolean,
    ColumnType.DATE: _date,
    ColumnType.TIMESTAMP: _timestamp,
}
