"""SQL for a system that only its owner can reach: at most N items of each user, counted, and the largest of them.

One statement, made of steps that each read the one before: it reads the table once. So nothing is assumed about
snapshots, temporary tables, or whether a system computes a named step once or twice. Who is one user, the system
decides: users are grouped by its own equality, which may be coarser than bytes and is never finer. Labels are the
hexadecimal digits of their bytes (`dialects.py`).
"""

# ruff: noqa: S608 - statements are made of quoted names, whole numbers and literals

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from unlisted.errors import InvalidArgumentError
from unlisted.tables.bounding import counts_in_one_pass
from unlisted.tables.column_types import ColumnType
from unlisted.tables.count_query import CountQuery
from unlisted.tables.elsewhere.dialects import HEX, words_of
from unlisted.tables.elsewhere.header import ABOUT, COUNT, IN_ALL, Header
from unlisted.tables.engines.dialect import quoted, translated
from unlisted.tables.engines.engine import SOURCE
from unlisted.tables.items import item_columns

_MOST_PARTS = 3
_NAME_DIGITS = 16


@dataclass(frozen=True)
class Unseen:
    """Columns that nobody has described to us: texts, as far as a statement is concerned. It is `Columnar`."""

    user: str
    items: tuple[str, ...]
    max_label_bytes: int

    def columns(self) -> Mapping[str, ColumnType]:
        """Return the columns as what the statement makes of them."""
        return dict.fromkeys((self.user, *self.items), ColumnType.TEXT)

    def plain(self, column: str) -> str:
        """Return the digits of a label; of one that is too long, none."""
        text = f"CAST({quoted(column)} AS VARCHAR)"
        return f"CASE WHEN STRLEN({text}) <= {self.max_label_bytes} THEN {HEX}({text}) END"

    def whose(self, column: str) -> str:
        """Return the user as the system has it; what does not equal itself, such as NaN, is nobody."""
        name = quoted(column)
        return f"CASE WHEN {name} = {name} THEN {name} END"


def counting_statement(
    question: CountQuery, *, kind: str, fetch: int | None, dialect: str, table: str, user: str, secret: bytes
) -> str:
    """Return the statement that counts within the bounds of a question, for a system of this dialect.

    `kind` is the question that the counts are meant for. `fetch` is k̄; None counts everything.
    """
    words = words_of(dialect)
    relation = _relation(table)
    for argument, name in (("user", user), *(("item", name) for name in question.items)):
        _require_name(argument, name)
    if user in question.items:
        hint = "Every user would be an item of its own, with a count of 1."
        raise InvalidArgumentError("item", user, "a column other than the user's", hint)
    header = Header(
        kind,
        user,
        question.items,
        question.items_per_user,
        question.rows_per_item or 1,
        fetch,
        hashlib.sha256(secret).hexdigest()[:_NAME_DIGITS],
    )
    # A byte is two digits.
    counted = CountQuery(
        question.items,
        count=question.count,
        rows_per_item=question.rows_per_item,
        items_per_user=question.items_per_user,
        max_label_bytes=2 * question.max_label_bytes,
    )
    query = _answer(Unseen(user, question.items, question.max_label_bytes), user, counted, header, secret)
    written = translated(query, words.grammar, {SOURCE: relation}, words.rule(), pretty=True)
    return f"{_about(header, words.note)}\n{written};\n"


def _answer(columns: Unseen, user: str, question: CountQuery, header: Header, secret: bytes) -> str:
    """Return the statement in the shared dialect."""
    items = item_columns(question.items, columns.columns())
    names = ", ".join(item.value for item in items)
    steps = counts_in_one_pass(columns, user, question, secret)
    last = "counts"
    if header.fetch is not None:
        # The digits of bytes stand in the order of the bytes.
        order = f'"{COUNT}" DESC, {names}'
        cut = f'SELECT {names}, "{COUNT}" FROM "counts" ORDER BY {order} LIMIT {header.fetch + 1}'
        steps, last = f'{steps},\n"largest" AS ({cut})', "largest"
    about = f'"{COUNT}", COUNT(*) OVER () AS "{IN_ALL}", \'{header.statement}\' AS "{ABOUT}"'
    nothing = ", ".join(f"'' AS {item.value}" for item in items)
    said = exp.Literal.string(str(header)).sql(dialect="duckdb")
    return (
        f'{steps}\nSELECT {names}, {about} FROM "{last}" '
        f'UNION ALL SELECT {nothing}, 0 AS "{COUNT}", 0 AS "{IN_ALL}", {said} AS "{ABOUT}"'
    )


def _about(header: Header, note: str) -> str:
    """Return what a person should know who runs the statement; no name of theirs is in it."""
    which = "All counts" if header.fetch is None else f"The {header.fetch + 1} largest counts"
    bound = header.items_per_user
    cut = "" if bound is None else f", of each user at most {bound} {'item' if bound == 1 else 'items'}"
    lines = [
        f"{which}{cut}. It reads the table once and writes nothing.",
        "Use it once: it holds a fresh secret, which chooses the items of heavy users. Print another next time.",
        "Export the whole answer with its column names, as CSV, JSON or Parquet. Then: unlisted counts FILE ...",
        "The counts are true: keep them as close as the table, and release only what `unlisted` makes of them.",
    ]
    return "\n".join(f"-- {line}" for line in (*lines, *([note] if note else [])))


def _relation(table: object) -> exp.Expr:
    hint = "A name of up to three parts, as the system has it. To count only some rows, make a view."
    parts = table.split(".") if isinstance(table, str) else []
    if not 1 <= len(parts) <= _MOST_PARTS:
        raise InvalidArgumentError("table", table, 'a table or view such as "visits" or "shop.visits"', hint)
    for part in parts:
        _require_name("table", part)
    name, *before = reversed(parts)
    schema, catalog = (*before, None, None)[:2]
    return exp.table_(name, schema, catalog, quoted=True)


def _require_name(argument: str, name: object) -> None:
    if not isinstance(name, str) or not name or not name.isprintable() or name.strip(' "`[]') != name:
        hint = "Names are taken as they are, and quoted where the statement is written."
        raise InvalidArgumentError(argument, name, "a name without quotes, brackets and line breaks", hint)
