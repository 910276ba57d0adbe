"""The slow reference of predicates: rows full of edge cases, and what each predicate means on one of them.

It reads the text with sqlglot as the library does, but shares nothing of what comes after: it walks the parsed
tree row by row in plain Python. Days and moments are whole numbers (days, microseconds since 1970), because
Python's own dates end where the edge cases begin.
"""

from __future__ import annotations

import math
import random
import re
import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import sqlglot
from sqlglot import exp

from unlisted.tables.column_types import ColumnType

SCHEMA = {
    "age": ColumnType.INTEGER,
    "n": ColumnType.INTEGER,
    "order": ColumnType.INTEGER,
    "name": ColumnType.TEXT,
    'we"ird': ColumnType.TEXT,
    "price": ColumnType.DECIMAL,
    "fee": ColumnType.DECIMAL,
    "x": ColumnType.FLOAT,
    "f": ColumnType.FLOAT,
    "ok": ColumnType.BOOLEAN,
    "vip": ColumnType.BOOLEAN,
    "day": ColumnType.DATE,
    "due": ColumnType.DATE,
    "t": ColumnType.TIMESTAMP,
    "seen": ColumnType.TIMESTAMP,
    "tags": ColumnType.OTHER,
}

LAST_DAY, LAST_MOMENT = 2**31 - 1, 2**63 - 1
"""DuckDB's infinities; as whole numbers they compare as they should."""

_YEAR_1, _YEAR_10000 = date(1, 1, 1).toordinal() - 719163, date.max.toordinal() - 719163 + 1
_TEXTS = ["", "a", "A", "ab", "it's", "50%", "5%_x", "a_b", "a!b", "\\", "a\\%", "é", "日本", "a\nb", " a", "5"]
_NUMBERS = [0, 1, -1, 2, 5, 18, -7, 100, 2**53 + 1, 2**63 - 1, -(2**63), -(2**63) + 1]
_DOUBLES = [0.0, -0.0, 0.1, 1.5, -2.5, 3.0, 1e40, 1e-40, 1e41, 9e-41, 5e-324, 1.7e308, -1.7e308, 2.0**53]
_STRANGE = [math.nan, math.inf, -math.inf]
_DECIMALS = ["0", "1", "-1", "19.99", "2.5", "0.0000000001", f"{'9' * 28}.{'9' * 10}", f"-{'9' * 28}.{'9' * 10}"]
_DAYS = [0, 18262, 18321, -1, _YEAR_1, _YEAR_1 - 1, _YEAR_10000 - 1, _YEAR_10000, 2 * 10**9, LAST_DAY, -LAST_DAY]
_DAY = 86_400_000_000
_MOMENTS = [
    *(day * _DAY for day in (0, 18262, _YEAR_1, _YEAR_10000)),
    *(1_577_934_245_123_456, -1, _YEAR_1 * _DAY - 1, _YEAR_10000 * _DAY - 1, 9_000_000_000_000_000_000),
    *(LAST_MOMENT, -LAST_MOMENT),
]

_CHOICES: dict[str, list[Any]] = {
    "age": _NUMBERS,
    "n": [0, 1, -1, 2, -3, 7, 32767, -32768],
    "order": [0, 1, 2],
    "name": _TEXTS,
    'we"ird': ["", "it's \\ ", "x"],
    "price": [Decimal(text) for text in _DECIMALS],
    "fee": [Decimal(text) for text in ("0", "1", "-3", "9" * 38, "-" + "9" * 38)],
    "x": _DOUBLES + _STRANGE,
    "f": [struct.unpack("f", struct.pack("f", v))[0] for v in (0.0, 0.1, 1.5, -3.0, 1e-45, 3.4e38)] + _STRANGE,
    "ok": [True, False],
    "vip": [True, False],
    "day": _DAYS,
    "due": _DAYS,
    "t": _MOMENTS,
    "seen": [0, 1_577_934_245_123_456, 1_577_836_800_000_000, -1],
    "tags": [[1]],
}


def edge_rows(count: int) -> list[dict[str, Any]]:
    """Rows of random edge cases, every eighth cell NULL, always the same ones."""
    generator = random.Random(20_240_229)

    def cell(values: list[Any]) -> Any:
        return None if generator.random() < 0.125 else generator.choice(values)

    return [{name: cell(values) for name, values in _CHOICES.items()} for _ in range(count)]


def meanings(text: str, rows: list[dict[str, Any]]) -> list[bool | None]:
    """Whether each row passes: true, false or NULL."""
    tree = sqlglot.parse_one(text, dialect="duckdb", into=exp.Condition)
    return [_truth(tree, row) for row in rows]


def _truth(node: exp.Expr, row: dict[str, Any]) -> bool | None:
    match node:
        case exp.Paren():
            return _truth(node.this, row)
        case exp.Null() | exp.Boolean():
            return _constant(node, ColumnType.BOOLEAN)
        case exp.Column():
            return row[node.name]
        case exp.Not():
            return _not(_truth(node.this, row))
        case exp.And():
            return _and(_truth(node.this, row), _truth(node.expression, row))
        case exp.Or():
            return _not(_and(_not(_truth(node.this, row)), _not(_truth(node.expression, row))))
        case exp.Is():
            return _values([node.this], row)[0] is None
        case exp.Between():
            value, low, high = _values([node.this, node.args["low"], node.args["high"]], row)
            return _and(_compare(exp.GTE, value, low), _compare(exp.LTE, value, high))
        case exp.In():
            value, *listed = _values([node.this, *node.expressions], row)
            differs: bool | None = True
            for item in listed:
                differs = _and(differs, _compare(exp.NEQ, value, item))
            return _not(differs)
        case exp.Escape():
            return _like(node.this, row, node.expression.name)
        case exp.Like():
            return _like(node, row, None)
    return _compare(type(node), *_values([node.this, node.expression], row))


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _and(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _compare(kind: type[exp.Expr], left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    # NaN is equal to itself and above all numbers, in every engine.
    a, b = ((math.isnan(v), 0 if math.isnan(v) else v) if isinstance(v, float) else v for v in (left, right))
    less, equal = a < b, a == b
    return {
        exp.EQ: equal,
        exp.NEQ: not equal,
        exp.LT: less,
        exp.LTE: less or equal,
        exp.GT: not (less or equal),
        exp.GTE: not less,
    }[kind]


def _like(node: exp.Like, row: dict[str, Any], escape: str | None) -> bool | None:
    text = row[_bare(node.this).name]
    if text is None:
        return None
    pieces, signs = [], iter(_bare(node.expression).name)
    for sign in signs:
        if sign == escape:
            pieces.append(re.escape(next(signs)))
        else:
            pieces.append({"%": ".*", "_": "."}.get(sign, re.escape(sign)))
    found = re.fullmatch("".join(pieces), text, re.DOTALL) is not None
    return found != bool(node.args.get("negate"))


def _values(nodes: list[exp.Expr], row: dict[str, Any]) -> list[Any]:
    """The values of nodes that are compared with each other, in the type of those that have one."""
    nodes = [_bare(node) for node in nodes]
    kinds = {kind for node in nodes if (kind := _kind(node)) is not None}
    if not kinds:
        kinds = {ColumnType.TEXT if any(node.is_string for node in nodes) else ColumnType.FLOAT}
    kind = kinds.pop() if len(kinds) == 1 else ColumnType.FLOAT
    kind = ColumnType.FLOAT if kind is ColumnType.DECIMAL else kind
    return [_constant(node, kind) if _kind(node) is None else _computed(node, kind, row) for node in nodes]


def _kind(node: exp.Expr) -> ColumnType | None:
    node = _bare(node)
    if isinstance(node, exp.Column):
        return SCHEMA[node.name]
    if isinstance(node, exp.Literal | exp.Null | exp.Cast | exp.Boolean) or _is_number(node):
        return None
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Neg):
        return ColumnType.FLOAT
    return ColumnType.INTEGER if isinstance(node, exp.Mod | exp.Func) else ColumnType.BOOLEAN


def _computed(node: exp.Expr, kind: ColumnType, row: dict[str, Any]) -> Any:
    if isinstance(node, exp.Column):
        value = row[node.name]
        if value is None or kind not in (ColumnType.FLOAT, ColumnType.TEXT):
            return value
        return float(value) if kind is ColumnType.FLOAT else value.encode()
    if _kind(node) is ColumnType.INTEGER:
        whole = _whole(node, row)
        return float(whole) if whole is not None and kind is ColumnType.FLOAT else whole
    return _double(node, row) if kind is ColumnType.FLOAT else _truth(node, row)


def _double(node: exp.Expr, row: dict[str, Any]) -> float | None:
    node = _bare(node)
    if _kind(node) is None:
        return _constant(node, ColumnType.FLOAT)
    if isinstance(node, exp.Column) or _kind(node) is ColumnType.INTEGER:
        value = _computed(node, ColumnType.FLOAT, row)
        return value if value is not None and (value == 0 or 1e-40 <= abs(value) <= 1e40) else None
    left = _double(node.this, row)
    if isinstance(node, exp.Neg):
        return None if left is None else -left
    right = _double(node.expression, row)
    if left is None or right is None or (isinstance(node, exp.Div) and right == 0):
        return None
    match node:
        case exp.Add():
            result, may_vanish = left + right, left == -right
        case exp.Sub():
            result, may_vanish = left - right, left == right
        case exp.Mul():
            result, may_vanish = left * right, left == 0 or right == 0
        case _:
            result, may_vanish = left / right, left == 0
    # The promise that no engine meets an overflow or an underflow.
    assert 1e-300 <= abs(result) <= 1e300 or (result == 0 and may_vanish), (left, right, result)
    return result


def _whole(node: exp.Expr, row: dict[str, Any]) -> int | None:
    node = _bare(node)
    if _kind(node) is None:
        return _constant(node, ColumnType.INTEGER)
    if isinstance(node, exp.Column):
        return row[node.name]
    if not isinstance(node, exp.Mod):
        return _part(node, row)
    left, right = _whole(node.this, row), _whole(node.expression, row)
    if left is None or not right:
        return None
    return abs(left) % abs(right) * (-1 if left < 0 else 1)


def _part(node: exp.Expr, row: dict[str, Any]) -> int | None:
    is_extract = isinstance(node, exp.Extract)
    column = _bare(node.expression if is_extract else node.this).name
    value = row[column]
    in_microseconds = SCHEMA[column] is ColumnType.TIMESTAMP
    scale = _DAY if in_microseconds else 1
    if value is None or not _YEAR_1 * scale <= value < _YEAR_10000 * scale:
        return None
    moment = datetime(1970, 1, 1) + timedelta(microseconds=value * (_DAY // scale))
    parts = {
        "quarter": (moment.month + 2) // 3,
        "week": moment.isocalendar().week,
        "dow": moment.isoweekday() % 7,
        "isodow": moment.isoweekday(),
        "doy": moment.timetuple().tm_yday,
    }
    function = {"dayofweek": "dow", "dayofweekiso": "isodow", "dayofyear": "doy"}
    name = node.name if is_extract else type(node).__name__
    name = function.get(name.lower(), name.lower())
    return parts[name] if name in parts else getattr(moment, name)


def _constant(node: exp.Expr, kind: ColumnType) -> Any:
    node = _bare(node)
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Neg):
        value = _constant(node.this, kind)
        return None if value is None else -value
    text = str(node.this) if isinstance(node, exp.Boolean) else node.name
    match kind:
        case ColumnType.INTEGER:
            return int(Decimal(text))
        case ColumnType.TEXT:
            return text.encode()
        case ColumnType.BOOLEAN:
            return text.lower() == "true"
        case ColumnType.DATE:
            return date.fromisoformat(text).toordinal() - 719163
        case ColumnType.TIMESTAMP:
            since = datetime.fromisoformat(text).replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
            return since // timedelta(microseconds=1)
    return float(text)


def _is_number(node: exp.Expr) -> bool:
    inner = _bare(node.this) if isinstance(node, exp.Neg) else None
    return inner is not None and (_is_number(inner) or isinstance(inner, exp.Literal))


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node
