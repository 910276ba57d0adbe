"""Type checking of a predicate: one type on both sides of a comparison, numbers in arithmetic.

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

from unlisted.errors import InvalidArgumentError
from unlisted.tables.column_types import ColumnType
from unlisted.tables.predicate.literals import (
    Constant,
    as_double,
    constant_kind,
    constant_node,
    read_moment,
    read_number,
)
from unlisted.tables.predicate.total import Double, date_part, modulo, operand

__all__ = ["DATE_PARTS", "PART_FUNCTIONS", "TypeChecker", "refusal"]

ALLOWED = (
    "a condition on one row, made of columns, literals, = <> < <= > >=, AND, OR, NOT, IN (literals), "
    "LIKE 'pattern', BETWEEN, IS NULL, + - * / % and date parts such as EXTRACT(year FROM day)"
)
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

_TIME_PARTS = frozenset({"HOUR", "MINUTE", "SECOND"})
_DIVISOR_DIGITS = 18


@dataclass(frozen=True)
class _Typed:
    """A checked piece that is more than a literal; `double` is there iff arithmetic made it."""

    node: exp.Expr
    kind: ColumnType
    double: Double | None = None


@dataclass(frozen=True)
class _Literal:
    """A literal that waits for the type of what it meets."""

    value: Constant
    piece: exp.Expr


_Term = _Typed | _Literal


def refusal(text: object, reason: str) -> InvalidArgumentError:
    """Make the one error of predicates: what is allowed, and what was wrong with which piece."""
    sentence = reason[0].upper() + reason[1:]
    return InvalidArgumentError("where", text, ALLOWED, sentence if sentence.endswith(".") else f"{sentence}.")


@dataclass
class TypeChecker:
    """Checks one predicate against one schema; `used` collects the columns it meets."""

    text: str
    schema: Mapping[str, ColumnType]
    used: dict[str, ColumnType] = field(default_factory=dict)

    def condition(self, node: exp.Expr) -> exp.Expr:
        """Check a piece that must be true, false or NULL."""
        term = self._term(node)
        if isinstance(term, _Literal) and isinstance(term.value, bool):
            return exp.Boolean(this=term.value)
        if isinstance(term, _Literal) and term.value is None:
            return exp.Cast(this=exp.Null(), to=exp.DataType(this=exp.DataType.Type.BOOLEAN))
        if isinstance(term, _Literal) or term.kind is not ColumnType.BOOLEAN:
            self._refuse(f"{_shown(node)} is not a condition: compare it with something")
        return term.node

    def _term(self, node: exp.Expr) -> _Term:
        node = _unwrapped(node)
        return _RULES[type(node)](self, node)

    def _column(self, node: exp.Expr) -> _Term:
        if node.name not in self.schema:
            # A keyword in a place where the parser takes it for a name.
            self._refuse(f"`{node.name}` is no column")
        self.used[node.name] = kind = self.schema[node.name]
        return _Typed(exp.column(node.name, quoted=True), kind)

    def _literal(self, node: exp.Expr) -> _Term:
        if isinstance(node, exp.Null):
            return _Literal(None, node)
        if isinstance(node, exp.Boolean):
            return _Literal(bool(node.this), node)
        return _Literal(node.name if node.is_string else self._read(read_number, node), node)

    def _moment(self, node: exp.Expr) -> _Term:
        is_date = node.args["to"].this == exp.DataType.Type.DATE
        kind = ColumnType.DATE if is_date else ColumnType.TIMESTAMP
        return _Literal(self._read(lambda text: read_moment(text, kind), node.this), node)

    def _read(self, reader: Callable[[str], Constant], node: exp.Expr) -> Constant:
        try:
            return reader(node.name)
        except ValueError as reason:
            self._refuse(f"{_shown(node)}: {reason}")

    def _connective(self, node: exp.Expr) -> _Term:
        kind = type(node)
        # A chain of hundreds of ORs is flat to a reader, and must not be deep to us.
        parts: list[exp.Expr] = []
        stack = [node]
        while stack:
            piece = _unwrapped(stack.pop())
            if type(piece) is kind:
                stack += [piece.expression, piece.this]
            else:
                checked = self.condition(piece)
                parts.append(operand(checked) if isinstance(checked, exp.Connector) else checked)
        while len(parts) > 1:
            left_over = parts[len(parts) - len(parts) % 2 :]
            pairs = zip(parts[::2], parts[1::2], strict=False)
            parts = [*(kind(this=left, expression=right) for left, right in pairs), *left_over]
        return _Typed(parts[0], ColumnType.BOOLEAN)

    def _not(self, node: exp.Expr) -> _Term:
        return _Typed(exp.Not(this=operand(self.condition(node.this))), ColumnType.BOOLEAN)

    def _comparison(self, node: exp.Expr) -> _Term:
        terms = [self._term(node.this), self._term(node.expression)]
        left, right = self._unified(node, terms, ordered=type(node) not in (exp.EQ, exp.NEQ))
        return _Typed(type(node)(this=left, expression=right), ColumnType.BOOLEAN)

    def _between(self, node: exp.Expr) -> _Term:
        terms = [self._term(node.args[name]) for name in ("this", "low", "high")]
        this, low, high = self._unified(node, terms, ordered=True)
        return _Typed(exp.Between(this=this, low=low, high=high), ColumnType.BOOLEAN)

    def _in(self, node: exp.Expr) -> _Term:
        this, listed = self._term(node.this), [self._term(item) for item in node.expressions]
        if not listed or not all(isinstance(item, _Literal) for item in listed):
            self._refuse(f"{_shown(node)}: IN takes a list of literals, such as IN (1, 2)")
        needle, *items = self._unified(node, [this, *listed])
        return _Typed(exp.In(this=needle, expressions=items), ColumnType.BOOLEAN)

    def _is_null(self, node: exp.Expr) -> _Term:
        if type(node.expression) is not exp.Null:
            self._refuse(f"{_shown(node)}: IS takes NULL or NOT NULL only")
        term = self._term(node.this)
        this = operand(term.node) if isinstance(term, _Typed) else self._unified(node, [term])[0]
        return _Typed(exp.Is(this=this, expression=exp.Null()), ColumnType.BOOLEAN)

    def _like(self, node: exp.Expr) -> _Term:
        like = node.this if isinstance(node, exp.Escape) else node
        if type(like) is not exp.Like:
            self._refuse(f"{_shown(node)}: ESCAPE follows LIKE only")
        escape = self._quoted_text(node.expression) if like is not node else None
        this, pattern = self._term(like.this), self._quoted_text(like.expression)
        if isinstance(this, _Literal) or this.kind is not ColumnType.TEXT:
            self._refuse(f"{_shown(like.this)}: LIKE takes a text column on its left")
        self._check_pattern(pattern, escape)
        checked: exp.Expr = exp.Like(this=this.node, expression=exp.Literal.string(pattern))
        if escape is not None:
            checked = exp.Escape(this=checked, expression=exp.Literal.string(escape))
        if like.args.get("negate"):
            checked = exp.Not(this=operand(checked))
        return _Typed(checked, ColumnType.BOOLEAN)

    def _quoted_text(self, node: exp.Expr) -> str:
        node = _unwrapped(node)
        if not node.is_string:
            self._refuse(f"{_shown(node)}: LIKE and ESCAPE take text in single quotes")
        return node.name

    def _check_pattern(self, pattern: str, escape: str | None) -> None:
        """Patterns must mean the same in all engines, some of which raise on a stray escape."""
        if escape is None:
            if "\\" in pattern:
                self._refuse("a backslash in a LIKE pattern means different things: say which with ESCAPE")
            return
        if len(escape) != 1 or not "!" <= escape <= "~" or escape in "%_":
            self._refuse("ESCAPE takes one ASCII sign that is not % or _")
        sign = re.escape(escape)
        if escape in re.sub(f"{sign}[{sign}%_]", "", pattern):
            self._refuse(f"in the LIKE pattern {escape} may only stand before %, _ or itself")

    def _negative(self, node: exp.Expr) -> _Term:
        term = self._term(node.this)
        if isinstance(term, _Literal) and isinstance(term.value, Decimal):
            return _Literal(term.value.copy_negate(), node)
        return self._computed(node, -self._double(term, node))

    def _arithmetic(self, node: exp.Expr) -> _Term:
        left = self._double(self._term(node.this), node)
        right = self._double(self._term(node.expression), node)
        match node:
            case exp.Add():
                return self._computed(node, left + right)
            case exp.Sub():
                return self._computed(node, left - right)
            case exp.Mul():
                return self._computed(node, left * right)
        return self._computed(node, left / right)

    def _computed(self, node: exp.Expr, double: Double) -> _Term:
        if not double.is_in_range:
            self._refuse(f"{_shown(node)} could leave the range of a double: use fewer factors")
        return _Typed(double.node, ColumnType.FLOAT, double)

    def _double(self, term: _Term, node: exp.Expr) -> Double:
        """Turn a term into an operand of arithmetic."""
        if isinstance(term, _Literal):
            if not (term.value is None or isinstance(term.value, Decimal)):
                self._refuse(f"{_shown(node)}: arithmetic takes numbers, and {_shown(term.piece)} is not one")
            self._constant(term, ColumnType.FLOAT)
            return Double.of_literal(term.value)
        if not term.kind.is_number:
            why = f"{_shown(node)}: arithmetic takes numbers, and {_shown(term.node)} is {term.kind.value}"
            self._refuse(f"{why}.{_how_to_declare([term], ColumnType.INTEGER)}")
        return term.double or Double.of_column(term.node, term.kind)

    def _modulo(self, node: exp.Expr) -> _Term:
        dividend, divisor = self._term(node.this), self._term(node.expression)
        for term in (dividend, divisor):
            kind = constant_kind(term.value) if isinstance(term, _Literal) else term.kind
            if kind not in (ColumnType.INTEGER, None):
                self._refuse(f"{_shown(node)}: % takes whole numbers: int columns, literals and date parts")
        by: exp.Expr | Decimal | None
        if isinstance(divisor, _Typed):
            by = divisor.node
            if isinstance(by, exp.Mod):
                self._refuse(f"{_shown(node)}: the right side of % is a column, a literal or a date part")
        else:
            by = divisor.value if isinstance(divisor.value, Decimal) else None
            if by is not None and by.adjusted() >= _DIVISOR_DIGITS:
                self._refuse(f"{_shown(node)}: the right side of % has at most {_DIVISOR_DIGITS} digits")
        (this,) = self._unified(node, [dividend])
        return _Typed(modulo(this, by), ColumnType.INTEGER)

    def _date_part(self, node: exp.Expr) -> _Term:
        is_extract = isinstance(node, exp.Extract)
        part = node.name.upper() if is_extract else PART_FUNCTIONS[type(node)]
        if part not in DATE_PARTS or (is_extract and type(node.this) is not exp.Var):
            self._refuse(f"{_shown(node)}: the part is a plain word: {', '.join(sorted(DATE_PARTS)).lower()}")
        term = self._term(node.expression if is_extract else node.this)
        if isinstance(term, _Literal) or term.kind not in (ColumnType.DATE, ColumnType.TIMESTAMP):
            self._refuse(f"{_shown(node)}: date parts are taken of date and timestamp columns")
        if term.kind is ColumnType.DATE and part in _TIME_PARTS:
            self._refuse(f"{_shown(node)}: a date has no {part.lower()}")
        return _Typed(date_part(part, term.node, term.kind), ColumnType.INTEGER)

    def _unified(self, node: exp.Expr, terms: list[_Term], *, ordered: bool = False) -> list[exp.Expr]:
        """Turn all the terms of a comparison into operands of one type."""
        typed = [term for term in terms if isinstance(term, _Typed)]
        kind = self._common_kind(node, typed) if typed else _first_kind(terms)
        if ordered and kind is ColumnType.BOOLEAN:
            self._refuse(f"{_shown(node)}: a bool has no order, only = and <>")
        operands = []
        for term in terms:
            if isinstance(term, _Literal):
                operands.append(self._constant(term, kind, typed))
            elif kind is ColumnType.FLOAT and term.double is None:
                operands.append(as_double(term.node))
            else:
                operands.append(operand(term.node))
        return operands

    def _common_kind(self, node: exp.Expr, typed: list[_Typed]) -> ColumnType:
        kinds = {term.kind for term in typed}
        if ColumnType.OTHER in kinds:
            self._refuse(f"{_shown(node)}: a column of this type can only be asked IS NULL or IS NOT NULL")
        if kinds == {ColumnType.DECIMAL} or (len(kinds) > 1 and all(kind.is_number for kind in kinds)):
            return ColumnType.FLOAT
        if len(kinds) > 1:
            types = ", ".join(f"{_shown(term.node)} is {term.kind.value}" for term in typed)
            other = next(kind for kind in kinds if kind is not ColumnType.TEXT)
            self._refuse(f"{types}: a comparison has one type.{_how_to_declare(typed, other)}")
        return kinds.pop()

    def _constant(self, term: _Literal, kind: ColumnType, beside: Sequence[_Typed] = ()) -> exp.Expr:
        try:
            return constant_node(term.value, kind)
        except ValueError as reason:
            why = f"{_shown(term.piece)} does not fit type {kind.value}: {reason}"
            self._refuse(f"{why}.{_how_to_declare(beside, constant_kind(term.value) or kind)}")

    def _refuse(self, reason: str) -> NoReturn:
        raise refusal(self.text, reason)


def _first_kind(terms: list[_Term]) -> ColumnType:
    """Take the type of a comparison of literals only from the first of them."""
    kinds = (constant_kind(term.value) for term in terms if isinstance(term, _Literal))
    return next((kind for kind in kinds if kind is not None), ColumnType.TEXT)


def _how_to_declare(typed: Sequence[_Typed], kind: ColumnType) -> str:
    """Columns of text files are text until someone says otherwise: say how."""
    column = next((term.node.name for term in typed if term.kind is ColumnType.TEXT), None)
    if column is None:
        return ""
    how = f'types={{"{column}": "{kind.value}"}} or --types {column}={kind.value}'
    return f" Columns of text files are text unless declared: {how}."


def _unwrapped(node: exp.Expr) -> exp.Expr:
    while type(node) is exp.Paren:
        node = node.this
    return node


def _shown(node: exp.Expr) -> str:
    written = node.sql(dialect="duckdb")
    return f"`{written}`" if len(written) <= 60 else f"`{written[:57]}...`"


_RULES: dict[type[exp.Expr], Callable[[TypeChecker, exp.Expr], _Term]] = {
    exp.Column: TypeChecker._column,
    **dict.fromkeys((exp.Literal, exp.Null, exp.Boolean), TypeChecker._literal),
    exp.Cast: TypeChecker._moment,
    **dict.fromkeys((exp.And, exp.Or), TypeChecker._connective),
    exp.Not: TypeChecker._not,
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), TypeChecker._comparison),
    exp.Between: TypeChecker._between,
    exp.In: TypeChecker._in,
    exp.Is: TypeChecker._is_null,
    **dict.fromkeys((exp.Like, exp.Escape), TypeChecker._like),
    exp.Neg: TypeChecker._negative,
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div), TypeChecker._arithmetic),
    exp.Mod: TypeChecker._modulo,
    **dict.fromkeys((exp.Extract, *PART_FUNCTIONS), TypeChecker._date_part),
}
