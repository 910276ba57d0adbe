"""Type checking of a predicate or a computed item: one type on both sides of a comparison, numbers in arithmetic.

What passes is written anew from the parsed tree, piece by piece, so that nothing is carried over unseen, and with
the literals already in the type of their column. Integers are compared as they are. Decimals are compared as
doubles, because engines bring two decimals to one scale first, and that can overflow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NoReturn

from sqlglot import exp

from unlisted.tables.column_types import ColumnType
from unlisted.tables.predicate.functions import FUNCTION_RULES, cast, lower_of
from unlisted.tables.predicate.literals import (
    Constant,
    as_double,
    constant_kind,
    constant_node,
    read_moment,
    read_number,
)
from unlisted.tables.predicate.terms import Literal, Term, Typed, Written, shown, unwrapped
from unlisted.tables.predicate.total import Double, date_part, modulo, operand

__all__ = ["DATE_PARTS", "PART_FUNCTIONS", "TypeChecker"]

PART_FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Year: "YEAR",
    exp.Quarter: "QUARTER",
    exp.Month: "MONTH",
    exp.Week: "WEEK",
    exp.Day: "DAY",
    exp.DayOfWeek: "DOW",
    exp.DayOfWeekIso: "ISODOW",
    exp.DayOfYear: "DOY",
    exp.Hour: "HOUR",
    exp.Minute: "MINUTE",
    exp.Second: "SECOND",
}
DATE_PARTS = frozenset(PART_FUNCTIONS.values())

_MOMENTS = (exp.DataType.Type.DATE, exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPNTZ)
_TIME_PARTS = frozenset({"HOUR", "MINUTE", "SECOND"})
_DIVISOR_DIGITS = 18


@dataclass
class TypeChecker:
    """Checks one predicate or item against one schema; `used` collects the columns it meets."""

    written: Written
    schema: Mapping[str, ColumnType]
    used: dict[str, ColumnType] = field(default_factory=dict)

    def condition(self, node: exp.Expr) -> exp.Expr:
        """Check a piece that must be true, false or NULL."""
        term = self.term(node)
        if isinstance(term, Literal) and isinstance(term.value, bool):
            return exp.Boolean(this=term.value)
        if isinstance(term, Literal) and term.value is None:
            return exp.Cast(this=exp.Null(), to=exp.DataType(this=exp.DataType.Type.BOOLEAN))
        if isinstance(term, Literal) or term.kind is not ColumnType.BOOLEAN:
            self.refuse(f"{shown(node)} is not a condition: compare it with something")
        return term.node

    def term(self, node: exp.Expr) -> Term:
        """Check a piece."""
        node = unwrapped(node)
        if (rule := FUNCTION_RULES.get(type(node))) is not None:
            return rule(self, node)
        return _RULES[type(node)](self, node)

    def _column(self, node: exp.Expr) -> Term:
        if node.name not in self.schema:
            # A keyword in a place where the parser takes it for a name.
            self.refuse(f"`{node.name}` is not a column")
        self.used[node.name] = kind = self.schema[node.name]
        return Typed(exp.column(node.name, quoted=True), kind)

    def _literal(self, node: exp.Expr) -> Term:
        if isinstance(node, exp.Null):
            return Literal(None, node)
        if isinstance(node, exp.Boolean):
            return Literal(bool(node.this), node)
        return Literal(node.name if node.is_string else self._read(read_number, node), node)

    def _cast(self, node: exp.Expr) -> Term:
        if not unwrapped(node.this).is_string or node.args["to"].this not in _MOMENTS:
            return cast(self, node)
        is_date = node.args["to"].this == exp.DataType.Type.DATE
        kind = ColumnType.DATE if is_date else ColumnType.TIMESTAMP
        return Literal(self._read(lambda text: read_moment(text, kind), node.this), node)

    def _read(self, reader: Callable[[str], Constant], node: exp.Expr) -> Constant:
        try:
            return reader(node.name)
        except ValueError as reason:
            self.refuse(f"{shown(node)}: {reason}")

    def _connective(self, node: exp.Expr) -> Term:
        kind = type(node)
        # A chain of hundreds of ORs is flat to a reader, and must not be deep to us.
        parts: list[exp.Expr] = []
        stack = [node]
        while stack:
            piece = unwrapped(stack.pop())
            if type(piece) is kind:
                stack += [piece.expression, piece.this]
            else:
                checked = self.condition(piece)
                parts.append(operand(checked) if isinstance(checked, exp.Connector) else checked)
        while len(parts) > 1:
            left_over = parts[len(parts) - len(parts) % 2 :]
            pairs = zip(parts[::2], parts[1::2], strict=False)
            parts = [*(kind(this=left, expression=right) for left, right in pairs), *left_over]
        return Typed(parts[0], ColumnType.BOOLEAN)

    def _not(self, node: exp.Expr) -> Term:
        return Typed(exp.Not(this=operand(self.condition(node.this))), ColumnType.BOOLEAN)

    def _comparison(self, node: exp.Expr) -> Term:
        terms = [self.term(node.this), self.term(node.expression)]
        left, right = self._unified(node, terms, ordered=type(node) not in (exp.EQ, exp.NEQ))
        return Typed(type(node)(this=left, expression=right), ColumnType.BOOLEAN)

    def _between(self, node: exp.Expr) -> Term:
        terms = [self.term(node.args[name]) for name in ("this", "low", "high")]
        this, low, high = self._unified(node, terms, ordered=True)
        return Typed(exp.Between(this=this, low=low, high=high), ColumnType.BOOLEAN)

    def _in(self, node: exp.Expr) -> Term:
        this, listed = self.term(node.this), [self.term(item) for item in node.expressions]
        if not listed or not all(isinstance(item, Literal) for item in listed):
            self.refuse(f"{shown(node)}: IN takes a list of literals, such as IN (1, 2)")
        needle, *items = self._unified(node, [this, *listed])
        return Typed(exp.In(this=needle, expressions=items), ColumnType.BOOLEAN)

    def _is_null(self, node: exp.Expr) -> Term:
        if type(node.expression) is not exp.Null:
            self.refuse(f"{shown(node)}: IS takes NULL or NOT NULL only")
        term = self.term(node.this)
        this = operand(term.node) if isinstance(term, Typed) else self._unified(node, [term])[0]
        return Typed(exp.Is(this=this, expression=exp.Null()), ColumnType.BOOLEAN)

    def _like(self, node: exp.Expr) -> Term:
        like = node.this if isinstance(node, exp.Escape) else node
        if not isinstance(like, exp.Like | exp.ILike):
            self.refuse(f"{shown(node)}: ESCAPE follows LIKE only")
        escape = self._quoted_text(node.expression) if like is not node else None
        this, pattern = self.term(like.this), self._quoted_text(like.expression)
        if isinstance(this, Literal) or this.kind is not ColumnType.TEXT:
            self.refuse(f"{shown(like.this)}: LIKE takes text on its left")
        self._check_pattern(pattern, escape)
        text = this.node
        if isinstance(like, exp.ILike):
            if escape is not None and escape.isalpha():
                self.refuse("ESCAPE of ILIKE takes a sign that is no letter")
            text, pattern = lower_of(self, like.this), "".join(map(_lower_letter, pattern))
        checked: exp.Expr = exp.Like(this=operand(text), expression=exp.Literal.string(pattern))
        if escape is not None:
            checked = exp.Escape(this=checked, expression=exp.Literal.string(escape))
        if like.args.get("negate"):
            checked = exp.Not(this=operand(checked))
        return Typed(checked, ColumnType.BOOLEAN)

    def _quoted_text(self, node: exp.Expr) -> str:
        node = unwrapped(node)
        if not node.is_string:
            self.refuse(f"{shown(node)}: LIKE and ESCAPE take text in single quotes")
        return node.name

    def _check_pattern(self, pattern: str, escape: str | None) -> None:
        """Patterns must mean the same in all engines, some of which raise on a stray escape."""
        if escape is None:
            if "\\" in pattern:
                self.refuse("a backslash in a LIKE pattern means different things: say which with ESCAPE")
            return
        if len(escape) != 1 or not "!" <= escape <= "~" or escape in "%_":
            self.refuse("ESCAPE takes one ASCII sign that is not % or _")
        sign = re.escape(escape)
        if escape in re.sub(f"{sign}[{sign}%_]", "", pattern):
            self.refuse(f"in the LIKE pattern {escape} may only stand before %, _ or itself")

    def _negative(self, node: exp.Expr) -> Term:
        term = self.term(node.this)
        if isinstance(term, Literal) and isinstance(term.value, Decimal):
            return Literal(term.value.copy_negate(), node)
        return self._computed(node, -self.number(term, node))

    def _arithmetic(self, node: exp.Expr) -> Term:
        left = self.number(self.term(node.this), node)
        right = self.number(self.term(node.expression), node)
        match node:
            case exp.Add():
                return self._computed(node, left + right)
            case exp.Sub():
                return self._computed(node, left - right)
            case exp.Mul():
                return self._computed(node, left * right)
        return self._computed(node, left / right)

    def _computed(self, node: exp.Expr, double: Double) -> Term:
        if not double.is_in_range:
            self.refuse(f"{shown(node)} could leave the range of a double: use fewer factors")
        return Typed(double.node, ColumnType.FLOAT, double)

    def number(self, term: Term, node: exp.Expr) -> Double:
        """Turn a term into an operand of arithmetic."""
        if isinstance(term, Literal):
            if not (term.value is None or isinstance(term.value, Decimal)):
                self.refuse(f"{shown(node)}: arithmetic takes numbers, and {shown(term.piece)} is not one")
            self._constant(term, ColumnType.FLOAT)
            return Double.of_literal(term.value)
        if not term.kind.is_number:
            why = f"{shown(node)}: arithmetic takes numbers, and {shown(term.node)} is {term.kind.value}"
            self.refuse(f"{why}.{_how_to_declare([term], ColumnType.INTEGER)}")
        return term.double or Double.of_column(term.node, term.kind)

    def _modulo(self, node: exp.Expr) -> Term:
        dividend, divisor = self.term(node.this), self.term(node.expression)
        for term in (dividend, divisor):
            kind = constant_kind(term.value) if isinstance(term, Literal) else term.kind
            if kind not in (ColumnType.INTEGER, None):
                self.refuse(f"{shown(node)}: % takes whole numbers: int columns, literals and date parts")
        by: exp.Expr | Decimal | None
        if isinstance(divisor, Typed):
            by = divisor.node
            if isinstance(by, exp.Mod):
                self.refuse(f"{shown(node)}: the right side of % is a column, a literal or a date part")
        else:
            by = divisor.value if isinstance(divisor.value, Decimal) else None
            if by is not None and by.adjusted() >= _DIVISOR_DIGITS:
                self.refuse(f"{shown(node)}: the right side of % has at most {_DIVISOR_DIGITS} digits")
        (this,) = self._unified(node, [dividend])
        return Typed(modulo(this, by), ColumnType.INTEGER)

    def _date_part(self, node: exp.Expr) -> Term:
        is_extract = isinstance(node, exp.Extract)
        part = node.name.upper() if is_extract else PART_FUNCTIONS[type(node)]
        if part not in DATE_PARTS or (is_extract and type(node.this) is not exp.Var):
            self.refuse(f"{shown(node)}: the part is a plain word: {', '.join(sorted(DATE_PARTS)).lower()}")
        term = self.term(node.expression if is_extract else node.this)
        if isinstance(term, Literal) or term.kind not in (ColumnType.DATE, ColumnType.TIMESTAMP):
            self.refuse(f"{shown(node)}: date parts are taken of dates and timestamps")
        if term.kind is ColumnType.DATE and part in _TIME_PARTS:
            self.refuse(f"{shown(node)}: a date has no {part.lower()}")
        return Typed(date_part(part, term.node, term.kind), ColumnType.INTEGER)

    def _unified(self, node: exp.Expr, terms: list[Term], *, ordered: bool = False) -> list[exp.Expr]:
        """Turn all the terms of a comparison into operands of one type."""
        typed = [term for term in terms if isinstance(term, Typed)]
        kind = self._common_kind(node, typed) if typed else _first_kind(terms)
        if ordered and kind is ColumnType.BOOLEAN:
            self.refuse(f"{shown(node)}: a bool has no order, only = and <>")
        operands = []
        for term in terms:
            if isinstance(term, Literal):
                operands.append(self._constant(term, kind, typed))
            elif kind is ColumnType.FLOAT and term.double is None:
                operands.append(as_double(term.node))
            else:
                operands.append(operand(term.node))
        return operands

    def _common_kind(self, node: exp.Expr, typed: list[Typed]) -> ColumnType:
        kinds = {term.kind for term in typed}
        if not all(kind.is_plain for kind in kinds):
            how = ' Say its time zone, as in timezone="Europe/Berlin".' if ColumnType.INSTANT in kinds else ""
            self.refuse(f"{shown(node)}: a column of this type can only be asked IS NULL or IS NOT NULL.{how}")
        if kinds == {ColumnType.DECIMAL} or (len(kinds) > 1 and all(kind.is_number for kind in kinds)):
            return ColumnType.FLOAT
        if len(kinds) > 1:
            types = ", ".join(f"{shown(term.node)} is {term.kind.value}" for term in typed)
            other = next(kind for kind in kinds if kind is not ColumnType.TEXT)
            self.refuse(f"{types}: a comparison has one type.{_how_to_declare(typed, other)}")
        return kinds.pop()

    def _constant(self, term: Literal, kind: ColumnType, beside: Sequence[Typed] = ()) -> exp.Expr:
        try:
            return constant_node(term.value, kind)
        except ValueError as reason:
            why = f"{shown(term.piece)} does not fit type {kind.value}: {reason}"
            self.refuse(f"{why}.{_how_to_declare(beside, constant_kind(term.value) or kind)}")

    def refuse(self, reason: str) -> NoReturn:
        """Refuse what was written."""
        raise self.written.refusal(reason)


def _first_kind(terms: list[Term]) -> ColumnType:
    """Take the type of a comparison of literals only from the first of them."""
    kinds = (constant_kind(term.value) for term in terms if isinstance(term, Literal))
    return next((kind for kind in kinds if kind is not None), ColumnType.TEXT)


def _lower_letter(sign: str) -> str:
    return sign.lower() if sign.isascii() else sign


def _how_to_declare(typed: Sequence[Typed], kind: ColumnType) -> str:
    """Columns of text files are text until someone says otherwise: say how."""
    column = next((term.node.name for term in typed if term.kind is ColumnType.TEXT), None)
    if column is None:
        return ""
    how = f'types={{"{column}": "{kind.value}"}} or --types {column}={kind.value}'
    return f" Columns of text files are text unless declared: {how}."


_RULES: dict[type[exp.Expr], Callable[[TypeChecker, exp.Expr], Term]] = {
    exp.Column: TypeChecker._column,
    **dict.fromkeys((exp.Literal, exp.Null, exp.Boolean), TypeChecker._literal),
    exp.Cast: TypeChecker._cast,
    **dict.fromkeys((exp.And, exp.Or), TypeChecker._connective),
    exp.Not: TypeChecker._not,
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), TypeChecker._comparison),
    exp.Between: TypeChecker._between,
    exp.In: TypeChecker._in,
    exp.Is: TypeChecker._is_null,
    **dict.fromkeys((exp.Like, exp.ILike, exp.Escape), TypeChecker._like),
    exp.Neg: TypeChecker._negative,
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div), TypeChecker._arithmetic),
    exp.Mod: TypeChecker._modulo,
    **dict.fromkeys((exp.Extract, *PART_FUNCTIONS), TypeChecker._date_part),
}
