"""The functions of predicates and computed items: what each takes, and what it gives, in every engine alike.

A function is total: no row makes it fail, and what cannot be computed is NULL. It means the same everywhere, so
what engines disagree on is either said in words that they share or refused:

- `lower`, `upper` and `ILIKE` change the letters A to Z only: which other letters have a case, and which, depends
  on the engine, on its version, and on where it runs.
- `trim` takes spaces, tabs and line breaks of ASCII from both ends. `left` and `length` count characters, not
  bytes.
- Texts of more than `LONGEST_TEXT` bytes are not computed with: to change one may take more room than there is.
- `floor` and `ceil` give whole numbers of at most 15 digits, and NULL beyond.
- `date_trunc` gives what it takes, a date or a timestamp; weeks begin on Monday.
- `CAST` reads texts in one form only: 12 or -7 as int, 1.5 or 2e3 as float, 2025-11-30 as date, with 10:30 or
  10:30:00 behind it as timestamp. It writes whole numbers, dates, TRUE and FALSE as text. How other numbers are
  rounded or written depends on the engine.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping

from sqlglot import exp

from unlisted.tables.column_types import ColumnType
from unlisted.tables.predicate.literals import constant_node
from unlisted.tables.predicate.terms import Checking, Literal, Term, Typed, shown, unwrapped
from unlisted.tables.predicate.total import (
    Double,
    has_form,
    in_calendar,
    lowered,
    rounded,
    short_text,
    translated,
    when,
    whole_number,
)

__all__ = ["CAST_WORDS", "FUNCTION_NODES", "FUNCTION_RULES", "FUNCTION_WORDS", "as_text", "cast", "lower_of"]

FUNCTION_WORDS = frozenset(
    {"LOWER", "UPPER", "TRIM", "LEFT", "LENGTH", "FLOOR", "CEIL", "DATE", "DATE_TRUNC", "CAST"}
)
CAST_WORDS = frozenset({"TEXT", "VARCHAR", "INT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DATE", "TIMESTAMP"})

MOST_NODES = 3000
"""Pieces of one value as an engine gets it: functions inside functions repeat what is in them."""

LONGEST_LEFT = 65_536
_BLANKS = " \t\n\r\f\v"
_UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
_TIME_UNITS = frozenset(_UNITS[_UNITS.index("hour") :])

_DAY_OF_MONTH = (
    "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    "|02-(?:0[1-9]|1[0-9]|2[0-8]))"
)
_EVERY_FOURTH = "(?:0[48]|[2468][048]|[13579][26])"
_LEAP_DAY = f"(?:[0-9]{{2}}{_EVERY_FOURTH}|{_EVERY_FOURTH}00)-02-29"
_YEAR = "(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
_DATE_FORM = f"(?:{_YEAR}-{_DAY_OF_MONTH}|{_LEAP_DAY})"
_CLOCK = "(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,6})?)?"
_FORMS = {
    ColumnType.INTEGER: "[+-]?[0-9]{1,18}",
    ColumnType.FLOAT: "[+-]?(?:[0-9]{1,20}(?:[.][0-9]{0,20})?|[.][0-9]{1,20})(?:[eE][+-]?[0-9]{1,2})?",
    ColumnType.DATE: _DATE_FORM,
    ColumnType.TIMESTAMP: f"{_DATE_FORM}(?:[ T]{_CLOCK})?",
}
"""How a text must be written to be read as a type: every engine reads all texts of these forms, and alike."""

_TYPES = {
    **dict.fromkeys(("INT", "BIGINT"), ColumnType.INTEGER),
    **dict.fromkeys(("FLOAT", "DOUBLE"), ColumnType.FLOAT),
    **dict.fromkeys(("TEXT", "VARCHAR"), ColumnType.TEXT),
    "DATE": ColumnType.DATE,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ"), ColumnType.TIMESTAMP),
}
_NATIVE = {
    ColumnType.TEXT: exp.DataType.Type.TEXT,
    ColumnType.INTEGER: exp.DataType.Type.BIGINT,
    ColumnType.FLOAT: exp.DataType.Type.DOUBLE,
    ColumnType.DATE: exp.DataType.Type.DATE,
    ColumnType.TIMESTAMP: exp.DataType.Type.TIMESTAMPNTZ,
}


def as_text(checking: Checking, node: exp.Expr, function: str) -> exp.Expr:
    """Check that a piece is text, and return it, NULL where it is too long to compute with."""
    term = checking.term(node)
    if isinstance(term, Literal) and isinstance(term.value, str):
        return constant_node(term.value, ColumnType.TEXT)
    if isinstance(term, Literal) or term.kind is not ColumnType.TEXT:
        checking.refuse(
            f"{shown(node)}: {function} takes text; CAST(… AS text) makes text of whole numbers and dates"
        )
    return _safe(term)


def lower_of(checking: Checking, node: exp.Expr) -> exp.Expr:
    """Return a text with the letters A to Z as a to z."""
    return lowered(as_text(checking, node, "lower"))


def _lower(checking: Checking, node: exp.Expr) -> Term:
    return _given(checking, node, lower_of(checking, node.this), ColumnType.TEXT)


def _upper(checking: Checking, node: exp.Expr) -> Term:
    text = as_text(checking, node.this, "upper")
    return _given(
        checking, node, translated(text, string.ascii_lowercase, string.ascii_uppercase), ColumnType.TEXT
    )


def _trim(checking: Checking, node: exp.Expr) -> Term:
    text = as_text(checking, node.this, "trim")
    trimmed = exp.Trim(this=text, expression=exp.Literal.string(_BLANKS))
    return _given(checking, node, trimmed, ColumnType.TEXT)


def _left(checking: Checking, node: exp.Expr) -> Term:
    text, many = as_text(checking, node.this, "left"), unwrapped(node.expression)
    if not isinstance(many, exp.Literal) or many.is_string or not many.name.isdecimal():
        checking.refuse(f"{shown(node)}: left takes a text and how many characters, such as left(query, 3)")
    if not 1 <= int(many.name) <= LONGEST_LEFT:
        checking.refuse(f"{shown(node)}: left takes 1 to {LONGEST_LEFT} characters")
    return _given(
        checking, node, exp.Left(this=text, expression=exp.Literal.number(int(many.name))), ColumnType.TEXT
    )


def _length(checking: Checking, node: exp.Expr) -> Term:
    return _given(checking, node, exp.Length(this=as_text(checking, node.this, "length")), ColumnType.INTEGER)


def _rounded(checking: Checking, node: exp.Expr) -> Term:
    number = checking.number(checking.term(node.this), node)
    kind = exp.Floor if isinstance(node, exp.Floor) else exp.Ceil
    double = rounded(number, kind)
    term = _given(checking, node, whole_number(double.node), ColumnType.INTEGER)
    return Typed(term.node, term.kind, double)


def _moment(checking: Checking, node: exp.Expr, of: exp.Expr) -> Typed:
    term = checking.term(of)
    if isinstance(term, Literal) and term.value is not None and not isinstance(term.value, str):
        for kind in (ColumnType.DATE, ColumnType.TIMESTAMP):
            try:
                return Typed(constant_node(term.value, kind), kind)
            except ValueError:
                continue
    if isinstance(term, Literal) or term.kind not in (ColumnType.DATE, ColumnType.TIMESTAMP):
        checking.refuse(
            f"{shown(node)}: it takes a date or a timestamp. Columns of text files are text unless declared, with "
            "types= or --types; CAST(… AS date) reads a text as in 2025-11-30"
        )
    return term


def _date(checking: Checking, node: exp.Expr) -> Term:
    term = checking.term(node.this)
    if isinstance(term, Typed) and term.kind is ColumnType.TEXT:
        return _cast_to(checking, node, term, ColumnType.DATE)
    term = _moment(checking, node, node.this)
    return _given(checking, node, _as(_safe(term), ColumnType.DATE), ColumnType.DATE)


def _date_trunc(checking: Checking, node: exp.Expr) -> Term:
    unit = node.args["unit"].name.lower()
    if unit not in _UNITS:
        checking.refuse(f"`{unit}` is no unit of date_trunc; those are {', '.join(_UNITS)}")
    term = _moment(checking, node, node.this)
    if term.kind is ColumnType.DATE and unit in _TIME_UNITS:
        checking.refuse(f"{shown(node)}: a date has no {unit}")
    cut = exp.TimestampTrunc(this=_safe(term), unit=exp.var(unit.upper()))
    return _given(checking, node, _as(cut, term.kind), term.kind)


def cast(checking: Checking, node: exp.Expr) -> Term:
    """Check a value that is to be read as another type."""
    kind = _TYPES.get(node.args["to"].this.value)
    if kind is None or node.args["to"].expressions:
        words = ", ".join(sorted(word.lower() for word in CAST_WORDS))
        checking.refuse(f"{shown(node)}: CAST makes {words}")
    term = checking.term(node.this)
    if isinstance(term, Literal):
        checking.refuse(
            f"{shown(node)}: a literal has the type of what it is compared with; write it without CAST"
        )
    return _cast_to(checking, node, term, kind)


def _cast_to(checking: Checking, node: exp.Expr, term: Typed, kind: ColumnType) -> Term:
    if term.kind is ColumnType.TEXT and kind in _FORMS:
        text = _safe(term)
        read = when(has_form(text, _FORMS[kind]), _as(text, kind))
        # Twenty digits on either side and two of an exponent: far inside what arithmetic can bear.
        double = Double(read, -119, 120) if kind is ColumnType.FLOAT else None
        found = _given(checking, node, read, kind)
        return Typed(found.node, kind, double)
    if term.kind is kind and kind is not ColumnType.FLOAT:
        return term
    if kind is ColumnType.INTEGER and term.is_whole:
        return Typed(whole_number(term.node), kind, term.double)
    if kind is ColumnType.FLOAT and term.kind.is_number:
        double = checking.number(term, node)
        return Typed(double.node, kind, double)
    if {term.kind, kind} == {ColumnType.DATE, ColumnType.TIMESTAMP}:
        return _given(checking, node, _as(_safe(term), kind), kind)
    if kind is ColumnType.TEXT and (term.is_whole or term.kind in (ColumnType.BOOLEAN, ColumnType.DATE)):
        value = whole_number(term.node) if term.kind is ColumnType.FLOAT else _safe(term)
        return _given(checking, node, _as(value, kind), kind)
    why = f"no {kind.value} can be made of {term.kind.value}"
    if kind is ColumnType.INTEGER and term.kind.is_number:
        why = "engines round differently; say floor(…) or ceil(…)"
    elif kind is ColumnType.TEXT:
        why = f"engines write {term.kind.value} differently; whole numbers, dates and truth values can be text"
    return checking.refuse(f"{shown(node)}: {why}")


def _safe(term: Typed) -> exp.Expr:
    """Return a value that a function can take; what a function gave is one already."""
    if not isinstance(term.node, exp.Column):
        return term.node
    if term.kind is ColumnType.TEXT:
        return short_text(term.node)
    return in_calendar(term.node, term.kind) if term.kind in (ColumnType.DATE, ColumnType.TIMESTAMP) else term.node


def _given(checking: Checking, written: exp.Expr, node: exp.Expr, kind: ColumnType) -> Typed:
    if sum(1 for _ in node.walk()) > MOST_NODES:
        checking.refuse(f"{shown(written)} has too many functions inside each other")
    return Typed(node, kind)


def _as(node: exp.Expr, kind: ColumnType) -> exp.Cast:
    return exp.Cast(this=node, to=exp.DataType(this=_NATIVE[kind]))


FUNCTION_RULES: Mapping[type[exp.Expr], Callable[[Checking, exp.Expr], Term]] = {
    exp.Lower: _lower,
    exp.Upper: _upper,
    exp.Trim: _trim,
    exp.Left: _left,
    exp.Length: _length,
    **dict.fromkeys((exp.Floor, exp.Ceil), _rounded),
    exp.Date: _date,
    **dict.fromkeys((exp.DateTrunc, exp.TimestampTrunc), _date_trunc),
}
FUNCTION_NODES: Mapping[type[exp.Expr], frozenset[str]] = {
    **dict.fromkeys(
        (exp.Lower, exp.Upper, exp.Trim, exp.Length, exp.Floor, exp.Ceil, exp.Date), frozenset({"this"})
    ),
    exp.Left: frozenset({"this", "expression"}),
    **dict.fromkeys((exp.DateTrunc, exp.TimestampTrunc), frozenset({"this", "unit"})),
}
"""The nodes of functions, with the arguments they may have."""
