"""What engines say differently about the same checked predicate.

DuckDB, PostgreSQL and Spark are known in full: the same rows pass in each, and none raises. For any other dialect
the words come from sqlglot, and the date parts on which engines disagree are refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from unlisted.tables.column_types import ColumnType
from unlisted.tables.predicate.patterns import render_like
from unlisted.tables.predicate.terms import Written
from unlisted.tables.predicate.total import HAS_FORM, SIZE, in_range_double, operand

__all__ = ["render"]

_SPARK = frozenset({"spark", "databricks"})
_KNOWN = frozenset({"duckdb", "postgres"}) | _SPARK
# Their decimals have at most 38 digits, so that every one of them is a double; others have no such bound.
_SHORT_DECIMALS = frozenset({"duckdb"}) | _SPARK
_SAME_EVERYWHERE = frozenset({"YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"})
_BYTE_ORDER = {"postgres": "C", **dict.fromkeys(_SPARK, "UTF8_BINARY")}
_SPARK_UNITS = frozenset({"YEAR", "QUARTER", "MONTH", "WEEK"})
# Spark counts the days of a week from Sunday = 1, and has another word for Monday = 1.
_SPARK_PARTS = {"DOW": "DAYOFWEEK", "ISODOW": "DAYOFWEEK_ISO"}


def render(
    expression: exp.Expr,
    types: Mapping[str, ColumnType],
    text: str,
    dialect: str,
    text_collation: str | None,
    *,
    is_label: bool = False,
) -> str:
    """Write what was checked in the words of one engine; a label that is text compares by its bytes."""
    root = exp.Paren(this=expression.copy())
    for column in list(root.find_all(exp.Column)):
        _render_column(column, types[column.name], dialect, text_collation)
    for like in list(root.find_all(exp.Like)):
        render_like(like, dialect)
    for extract in list(root.find_all(exp.Extract)):
        if dialect not in _KNOWN and extract.name not in _SAME_EVERYWHERE:
            raise Written(text).refusal(f"the date part {extract.name.lower()} differs between engines")
        extract.replace(_rendered_part(extract, dialect))
    # From the inside out, so that what is rewritten holds what is rewritten already.
    for node in reversed(list(root.walk())):
        _render_function(node, dialect)
    if is_label and (collation := _BYTE_ORDER.get(dialect)) is not None:
        root.set(
            "this", exp.Collate(this=operand(root.this), expression=exp.to_identifier(collation, quoted=True))
        )
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


def _render_function(node: exp.Expr, dialect: str) -> None:
    """Say a function in the words of one engine."""
    if isinstance(node, exp.Anonymous) and node.name == SIZE:
        node.replace(exp.func("STRLEN" if dialect == "duckdb" else "OCTET_LENGTH", node.expressions[0].copy()))
    elif isinstance(node, exp.Anonymous) and node.name == HAS_FORM:
        text, form = node.expressions
        node.replace(_has_form(text.copy(), form.name, dialect))
    elif isinstance(node, exp.Trim) and dialect in ("duckdb", "postgres"):
        name = "TRIM" if dialect == "duckdb" else "BTRIM"
        node.replace(exp.Anonymous(this=name, expressions=[node.this.copy(), node.expression.copy()]))
    elif isinstance(node, exp.TimestampTrunc) and dialect in _KNOWN:
        node.replace(_date_trunc(node, dialect))


def _has_form(text: exp.Expr, form: str, dialect: str) -> exp.Expr:
    if dialect == "duckdb":
        return exp.func("REGEXP_FULL_MATCH", text, exp.Literal.string(form))
    # The end of the text is where nothing follows; for Spark `$` would also stand before a line break at the end.
    end = "(?!.)" if dialect in _SPARK else ""
    whole = f"(?s)^(?:{form}){end}" if end else f"^(?:{form})$"
    return exp.Paren(this=exp.RegexpLike(this=operand(text), expression=exp.Literal.string(whole)))


def _date_trunc(node: exp.TimestampTrunc, dialect: str) -> exp.Expr:
    """Cut a date or timestamp; the cast around it says which of the two it is."""
    unit, moment = node.args["unit"].name, node.this.sql(dialect=dialect)
    if dialect not in _SPARK:
        # Of a date PostgreSQL would make a moment in the zone of whoever asks.
        return exp.Var(this=f"DATE_TRUNC('{unit.lower()}', CAST({moment} AS TIMESTAMP))")
    # Spark's own function goes by way of the session's time zone.
    day = f"CAST({moment} AS DATE)"
    if unit in _SPARK_UNITS:
        return exp.Var(this=f"TRUNC({day}, '{unit}')")
    seconds = f"EXTRACT(SECOND FROM {moment})"
    rest = {
        "HOUR": f"EXTRACT(MINUTE FROM {moment}), {seconds}",
        "MINUTE": f"0, {seconds}",
        "SECOND": f"0, {seconds} - FLOOR({seconds})",
    }
    return exp.Var(this=f"({moment} - MAKE_DT_INTERVAL(0, 0, {rest[unit]}))" if unit in rest else day)
