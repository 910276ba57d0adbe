"""The slow reference of functions: what each gives on one row, in plain Python.

It reads the text with sqlglot as the library does, and shares nothing of what comes after. Days and moments are
Python's own; what has none, the readers have dropped before.
"""

from __future__ import annotations

import math
import re
import string
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import sqlglot
from sqlglot import exp

LONGEST = 2**20
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_UPPER = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_NUMBER = re.compile(r"[+-]?([0-9]{1,20}(\.[0-9]{0,20})?|\.[0-9]{1,20})([eE][+-]?[0-9]{1,2})?", re.ASCII)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?", re.ASCII)


def label(text: str, row: dict[str, Any]) -> Any:
    """What an item is on a row; None drops the row."""
    tree = sqlglot.parse_one(text, dialect="duckdb", into=exp.Condition)
    found = _value(tree, row)
    if isinstance(found, float) and _is_whole(tree, row):
        return int(found) if abs(found) <= 2**53 else None
    return found


def _is_whole(node: exp.Expr, row: dict[str, Any]) -> bool:
    """Whether arithmetic can never give a fraction: by how it is written, whatever the row."""
    match node:
        case exp.Paren() | exp.Neg():
            return _is_whole(node.this, row)
        case exp.Add() | exp.Sub() | exp.Mul():
            return _is_whole(node.this, row) and _is_whole(node.expression, row)
        case exp.Literal():
            return Decimal(node.name) == int(Decimal(node.name))
        case exp.Column():
            return node.name == "n"
        case exp.Cast():
            return node.args["to"].this.value in ("INT", "BIGINT")
    return isinstance(node, exp.Floor | exp.Ceil | exp.Length | exp.Extract | exp.Mod | exp.Month | exp.Year)


def _value(node: exp.Expr, row: dict[str, Any]) -> Any:
    if isinstance(node, exp.Paren):
        return _value(node.this, row)
    if isinstance(node, exp.Column):
        return row[node.name]
    if isinstance(node, exp.Literal):
        return node.name if node.is_string else float(node.name)
    if isinstance(node, exp.Extract):
        moment = _value(node.expression, row)
        return None if moment is None else _part(node.name.lower(), moment)
    parts = [_value(part, row) for part in (node.this, node.args.get("expression")) if part is not None]
    if any(part is None for part in parts):
        return None
    return _given(node, *parts)


def _given(node: exp.Expr, one: Any, other: Any = None) -> Any:
    if isinstance(one, str) and len(one.encode()) > LONGEST:
        return None
    match node:
        case exp.Lower():
            return one.translate(_LOWER)
        case exp.Upper():
            return one.translate(_UPPER)
        case exp.Trim():
            return one.strip(" \t\n\r\f\v")
        case exp.Left():
            return one[: int(other)]
        case exp.Length():
            return len(one)
        case exp.Date():
            return _day(one)
        case exp.TimestampTrunc() | exp.DateTrunc():
            return _cut(one, node.args["unit"].name.lower())
        case exp.Cast():
            return _cast(one, node.args["to"].this.value)
        case exp.Month():
            return one.month
        case exp.Mod():
            return (
                None if other == 0 else int(math.fmod(one, other)) if abs(one) < 2**53 else _mod(one, int(other))
            )
        case exp.GT():
            return float(one) > other
    numbers = [_double(number) for number in (one, other) if number is not None]
    return None if any(number is None for number in numbers) else _number(node, *numbers)


def _mod(one: int, other: int) -> int:
    return abs(one) % abs(other) * (-1 if one < 0 else 1)


def _double(number: Any) -> float | None:
    """A number that arithmetic can use."""
    number = float(number)
    return number if number == 0 or 1e-40 <= abs(number) <= 1e40 else None


def _number(node: exp.Expr, one: float, other: float | None = None) -> Any:
    match node:
        case exp.Floor() | exp.Ceil():
            if abs(one) > 1e15:
                return None
            return math.floor(one) if isinstance(node, exp.Floor) else math.ceil(one)
        case exp.Neg():
            return -one
    assert other is not None
    match node:
        case exp.Add():
            return one + other
        case exp.Sub():
            return one - other
        case exp.Mul():
            return one * other
        case exp.Div():
            return None if other == 0 else one / other
    raise NotImplementedError(node)


def _cast(value: Any, kind: str) -> Any:
    if kind in ("TEXT", "VARCHAR"):
        return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
    if kind in ("INT", "BIGINT"):
        return (int(value) if _WHOLE.fullmatch(value) else None) if isinstance(value, str) else int(value)
    if kind in ("FLOAT", "DOUBLE"):
        if isinstance(value, str):
            return float(value) if _NUMBER.fullmatch(value) else None
        return _double(value)
    if kind == "DATE":
        return _read(value, _DAY, date) if isinstance(value, str) else _day(value)
    if isinstance(value, str):
        return _read(value, _MOMENT, datetime)
    return value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)


def _read(text: str, form: re.Pattern[str], kind: type[date]) -> Any:
    try:
        return kind.fromisoformat(text) if form.fullmatch(text) else None
    except ValueError:
        return None


def _day(moment: Any) -> Any:
    if isinstance(moment, str):
        return _read(moment, _DAY, date)
    return moment.date() if isinstance(moment, datetime) else moment


def _cut(moment: Any, unit: str) -> Any:
    day = _day(moment)
    days = {
        "year": lambda: day.replace(month=1, day=1),
        "quarter": lambda: day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1),
        "month": lambda: day.replace(day=1),
        "week": lambda: day - timedelta(days=day.weekday()),
        "day": lambda: day,
    }
    if unit in days:
        day = days[unit]()
        return datetime(day.year, day.month, day.day) if isinstance(moment, datetime) else day
    zero = {"hour": {"minute": 0, "second": 0}, "minute": {"second": 0}, "second": {}}[unit]
    return moment.replace(microsecond=0, **zero)


def _part(part: str, moment: Any) -> int:
    parts = {"dow": moment.isoweekday() % 7, "week": moment.isocalendar().week}
    return parts[part] if part in parts else getattr(moment, part)
