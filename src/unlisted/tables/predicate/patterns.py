"""`LIKE` patterns in time that is linear in the text, whoever wrote the text.

To match `%a%b%c`, an engine that tries every place for `a`, and for each of them every place for `b`, takes
forever on one row that holds the right text. Whoever may choose a pattern could make a question hang, or meet its
time limit, if that row passes the rest of the predicate. PostgreSQL never goes back before a `%` that is behind
it. For the others, a pattern that could make them go back becomes a regular expression that cannot:

- DuckDB's are run by RE2, whose time is linear in the text.
- Spark's are Java's. What stands between two `%` may be taken at its first place, because a later one leaves less
  text for the rest; `(?>.*?a)` takes that place for good.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby

from sqlglot import exp

__all__ = ["render_like"]

_ANY, _MANY = "_", "%"


def render_like(like: exp.Like, dialect: str) -> None:
    """Put a regular expression in the place of a pattern that an engine would go back in."""
    written = _WRITERS.get(dialect)
    if written is None:
        return
    whole = like.parent if isinstance(like.parent, exp.Escape) else like
    escape = whole.expression.name if whole is not like else ""
    signs = _signs(like.expression.name, escape)
    if _goes_back(signs):
        whole.replace(written(like.this.copy(), _parts(signs)))


def _signs(pattern: str, escape: str) -> list[str]:
    """Return the signs of a pattern, all but `%` as expressions."""
    signs: list[str] = []
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == escape:
            at += 1
            sign = _literal(pattern[at])
        elif sign == _ANY:
            sign = "."
        elif sign != _MANY:
            sign = _literal(sign)
        signs.append(sign)
        at += 1
    return signs


def _goes_back(signs: list[str]) -> bool:
    """Return whether there are two `%`, and anything behind the second."""
    places = [at for at, sign in enumerate(signs) if sign == _MANY]
    return len(places) > 1 and places[1] != len(signs) - 1


def _parts(signs: list[str]) -> list[str]:
    """Return what stands between the `%` of a pattern, the first and the last perhaps empty."""
    parts = ["".join(run) for is_many, run in groupby(signs, _MANY.__eq__) if not is_many]
    first = [""] if signs[:1] == [_MANY] else []
    last = [""] if signs[-1:] == [_MANY] else []
    return [*first, *parts, *last]


def _literal(sign: str) -> str:
    return f"\\{sign}" if sign.isascii() and not (sign.isalnum() or sign.isspace()) else sign


def _of_duckdb(column: exp.Expr, parts: list[str]) -> exp.Expr:
    pattern = exp.Literal.string(".*".join(parts))
    return exp.func("REGEXP_FULL_MATCH", column, pattern, exp.Literal.string("s"))


def _of_spark(column: exp.Expr, parts: list[str]) -> exp.Expr:
    first, *middle, last = parts
    # The end of the text is where nothing follows; `$` would also stand before a line break at the end.
    ending = f".*{last}(?!.)" if last else ""
    pattern = f"(?s)^{first}{''.join(f'(?>.*?{part})' for part in middle)}{ending}"
    return exp.RegexpLike(this=column, expression=exp.Literal.string(pattern))


_WRITERS: Mapping[str, Callable[[exp.Expr, list[str]], exp.Expr]] = {
    "duckdb": _of_duckdb,
    "spark": _of_spark,
    "databricks": _of_spark,
}
