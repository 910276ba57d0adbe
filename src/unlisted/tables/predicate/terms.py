"""What a piece of a predicate or a computed item is once it was checked, and how every refusal is worded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn, Protocol

from sqlglot import exp

from unlisted.errors import InvalidArgumentError
from unlisted.tables.column_types import ColumnType
from unlisted.tables.predicate.literals import Constant
from unlisted.tables.predicate.total import Double

__all__ = ["Checking", "Literal", "Term", "Typed", "Written", "shown", "unwrapped"]

_FUNCTIONS = (
    "+ - * / %, floor, ceil, lower, upper, trim, left(text, n), length, date, date_trunc('month', day), date "
    "parts such as EXTRACT(year FROM day), and CAST(column AS type)"
)
_ALLOWED = {
    "where": "a condition on one row, made of columns, literals, = <> < <= > >=, AND, OR, NOT, IN (literals), "
    f"LIKE 'pattern', ILIKE 'pattern', BETWEEN, IS NULL, {_FUNCTIONS}",
    "item": "a column, or a value computed from columns, such as lower(query) or floor(price / 10) * 10 AS price, "
    f"made of {_FUNCTIONS}",
}


@dataclass(frozen=True)
class Written:
    """What somebody wrote, and as which argument: "where" for a condition, "item" for what is counted."""

    text: str
    argument: str = "where"

    def refusal(self, reason: str) -> InvalidArgumentError:
        """Make the one error there is: what was wrong with which piece first, and what is allowed last."""
        allowed = _ALLOWED[self.argument]
        sentence = reason[0].upper() + reason[1:]
        hint = sentence if sentence.endswith(".") else f"{sentence}."
        error = InvalidArgumentError(self.argument, self.text, allowed, hint)
        refused = str(error).removesuffix(f": it must be {allowed}. {hint}")
        error.args = (f"{refused}: {reason.removesuffix('.')}. It must be {allowed}.",)
        return error


@dataclass(frozen=True)
class Typed:
    """A checked piece that is more than a literal; `double` is there iff arithmetic made it, or can use it."""

    node: exp.Expr
    kind: ColumnType
    double: Double | None = None

    @property
    def is_whole(self) -> bool:
        """Whether its value is a whole number, whatever the row."""
        return self.kind is ColumnType.INTEGER or (self.double is not None and self.double.is_whole)


@dataclass(frozen=True)
class Literal:
    """A literal that waits for the type of what it meets."""

    value: Constant
    piece: exp.Expr


Term = Typed | Literal


class Checking(Protocol):
    """What checks the pieces of a function: it knows the columns there are."""

    def term(self, node: exp.Expr) -> Term:
        """Check a piece."""

    def number(self, term: Term, node: exp.Expr) -> Double:
        """Turn a term into an operand of arithmetic."""

    def refuse(self, reason: str) -> NoReturn:
        """Refuse what was written."""


def unwrapped(node: exp.Expr) -> exp.Expr:
    """Return what stands in parentheses."""
    while type(node) is exp.Paren:
        node = node.this
    return node


def shown(node: exp.Expr) -> str:
    """Return a piece as a refusal quotes it."""
    written = node.sql(dialect="duckdb")
    return f"`{written}`" if len(written) <= 60 else f"`{written[:57]}...`"
