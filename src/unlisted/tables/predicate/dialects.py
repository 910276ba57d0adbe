"""What engines say differently about the same checked predicate.

DuckDB, PostgreSQL and Spark are known in full: the same rows pass in each, and none raises. For any other dialect
the words come from sqlglot, and the date parts on which engines disagree are refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from unlisted.tables.column_types import ColumnType
from unlisted.tables.predicate.checker import refusal
from unlisted.tables.predicate.patterns import render_like
from unlisted.tables.predicate.total import in_range_double

__all__ = ["render"]

_SPARK = frozenset({"spark", "databricks"})
_KNOWN = frozenset({"duckdb", "postgres"}) | _SPARK
# Their decimals have at most 38 digits, so that every one of them is a double; others have no such bound.
_SHORT_DECIMALS = frozenset({"duckdb"}) | _SPARK
_SAME_EVERYWHERE = frozenset({"YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"})
# Spark counts the days of a week from Sunday = 1, and has another word for Monday = 1.
_SPARK_PARTS = {"DOW": "DAYOFWEEK", "ISODOW": "DAYOFWEEK_ISO"}


def render(
    expression: exp.Expr,
    types: Mapping[str, ColumnType],
    text: str,
    dialect: str,
    text_collation: str | None,
) -> str:
    """Write a checked predicate in the words of one engine."""
    root = exp.Paren(this=expression.copy())
    for column in list(root.find_all(exp.Column)):
        _render_column(column, types[column.name], dialect, text_collation)
    for like in list(root.find_all(exp.Like)):
        render_like(like, dialect)
    for extract in list(root.find_all(exp.Extract)):
        if dialect not in _KNOWN and extract.name not in _SAME_EVERYWHERE:
            raise refusal(text, f"the date part {extract.name.lower()} differs between engines")
        extract.replace(_rendered_part(extract, dialect))
    written: str = root.this.sql(dialect=dialect)
    return written


def _render_column(column: exp.Column, kind: ColumnType, dialect: str, text_collation: str | None) -> None:
    parent = column.parent
    if isinstance(parent, exp.Is):
        return
    if kind is ColumnType.TEXT and text_collation is not None:
        collation = exp.to_identifier(text_collation, quoted=True)
        column.replace(exp.Collate(this=column.copy(), expression=collation))
    elif kind is ColumnType.TIMESTAMP and dialect == "duckdb":
        # Of its four resolutions two do not hold all dates and two hold more; compared directly, they raise.
        microseconds = exp.DataType(this=exp.DataType.Type.TIMESTAMP)
        column.replace(exp.TryCast(this=column.copy(), to=microseconds))
    elif kind is ColumnType.DECIMAL and dialect not in _SHORT_DECIMALS and isinstance(parent, exp.Cast):
        parent.replace(in_range_double(column))


def _rendered_part(extract: exp.Extract, dialect: str) -> exp.Expr:
    part = extract.copy()
    if dialect in _SPARK and extract.name in _SPARK_PARTS:
        part.set("this", exp.var(_SPARK_PARTS[extract.name]))
        return exp.Sub(this=part, expression=exp.Literal.number(1)) if extract.name == "DOW" else part
    if extract.name == "SECOND" and dialect != "duckdb":
        return exp.Floor(this=part)
    return part
