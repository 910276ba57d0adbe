"""What a source holds, for its owner's eyes: which rows a question would leave out and why, how heavy users are.

It looks at rows and says true numbers, so nothing of it may be published, and nothing here is kept anywhere that a
release or a service can reach. Choosing bounds from it is a look at the data.
"""

# ruff: noqa: S608 - an engine quotes the names in its statements

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.numbers import whole
from unlisted.tables.bounding import distinct_pairs, fresh_secret
from unlisted.tables.column_types import Columns, ColumnType, told
from unlisted.tables.count_query import LONGEST_LABEL, CountQuery, item_names, require_column
from unlisted.tables.engines.engine import SOURCE, Rows
from unlisted.tables.items import item_columns, rows_of
from unlisted.tables.reading import Reading
from unlisted.tables.table import Table, engine_of, source_name

OWNERS_EYES = (
    "For the owner's eyes: true numbers of the rows. Publish none of them; choosing by them is a look at the data."
)
NO_UTF_8 = "no UTF-8"
_FIRST_LINES = 5
_MOST_WRONG = 10_000


@dataclass(frozen=True)
class Users:
    """How many users there are, how many items the heaviest has, and what a bound would cut."""

    users: int
    pairs: int
    most: int
    bound: int
    over: int
    cut: int


@dataclass(frozen=True, repr=False)
class Check:
    """What was found.

    `left_out` has rows by the reason why a question leaves them out, a row once for each reason. `lines` has the
    first lines of a CSV file for the reasons that a line can have.
    """

    columns: Mapping[str, ColumnType]
    rows: int
    filled: Mapping[str, int]
    left_out: Mapping[str, int] = field(default_factory=dict)
    lines: Mapping[str, Sequence[str]] = field(default_factory=dict)
    users: Users | None = None

    def __repr__(self) -> str:
        return "\n".join(_lines(self))


def check(
    source: Any,
    *,
    user: str | None = None,
    item: str | list[str] | tuple[str, ...] | None = None,
    items_per_user: int = 10,
    max_label_bytes: int = LONGEST_LABEL,
    table: str | None = None,
    types: Mapping[str, str] | None = None,
    sep: str | None = None,
    encoding: str | None = None,
    quote: str | None = None,
    decimal: str | None = None,
    header: Sequence[str] | None = None,
    date_format: str | Mapping[str, str] | None = None,
    timezone: str | None = None,
) -> Check:
    """Look at the rows of a source as their owner: what would be left out and why, and how heavy users are.

    The numbers are true ones: publish none of them, and know that choosing a bound by them is a look at the data.

    Args:
        source: what `ul.table` takes.
        user: the column that says whose row it is; without it, only columns are looked at.
        item: the column whose values would be counted, or several.
        items_per_user: the bound whose effect is shown.
        max_label_bytes: longer labels are not counted.
        table: the table inside a database, or the sheet of a workbook.
        types: what the columns of a text file hold.
        sep: what separates the fields of a CSV file.
        encoding: how the text of a file is encoded.
        quote: what stands around a field of a CSV file.
        decimal: "," if numbers are written with a comma.
        header: the names of the columns, if the first line of a file is a row.
        date_format: how dates are written in a text file.
        timezone: where moments with a time zone are counted.

    Examples:
        >>> found = ul.check(searches(), user="user", item="query")
        >>> found.rows == found.filled["query"], found.users.bound
        (True, 10)
    """
    said: dict[str, Any] = {"types": types, "sep": sep, "encoding": encoding, "quote": quote, "decimal": decimal}
    said |= {"header": header, "date_format": date_format, "timezone": timezone}
    declared = Reading.read(**said)
    as_text = Reading.read(**{**said, "types": {"*": "line"} if declared.by_line else None, "date_format": None})
    engine = engine_of(source, table, declared)
    named = engine.columns()
    # To the owner the first line is shown.
    columns = Columns(named, named.hint if isinstance(named, Columns) else "")
    if not columns:
        raise InvalidArgumentError("source", source_name(source, table), "a table with columns", told(columns))
    items = () if item is None else item_names(item)
    if user is not None:
        require_column("user", user, columns)
    asked_items = item_columns(items, columns)
    if items and user is None:
        raise InvalidArgumentError("user", None, "given with item", "The column that says whose row it is.")
    raw = Table(engine_of(source, table, as_text), next(iter(columns)), source_name(source, table), as_text)
    rows, filled = _filled(raw)
    read = Table(engine, user or next(iter(columns)), source_name(source, table), declared)
    needed = {user, *(name for item in asked_items for name in item.columns)}
    asked = {name: rows - count for name, count in filled.items() if name in needed}
    left_out = {f"{name}: empty, or not to be read": missing for name, missing in asked.items()}
    wrong = {name: _wrong(raw, read, name) for name in declared.types if name in columns}
    lines = _bad_lines(read, {name: texts for name, (_, texts) in wrong.items()})
    for name, (count, _) in wrong.items():
        left_out[f"{name}: no {columns[name].value}"] = count
    found = None
    if user is not None and items:
        bound = whole("items_per_user", items_per_user)
        query = CountQuery(items, items_per_user=bound, max_label_bytes=max_label_bytes)
        found = _users(read, query)
        left_out["longer than a label may be"] = _too_long(read, query)
    kept = {reason: count for reason, count in left_out.items() if count}
    kept |= {reason: count for reason, (count, _) in lines.items() if reason not in kept}
    return Check(columns, rows, filled, kept, {reason: first for reason, (_, first) in lines.items()}, found)


def _filled(raw: Table) -> tuple[int, dict[str, int]]:
    """Count rows, and in each column those that hold something, as the source itself has it."""
    plain = [name for name, kind in raw.engine.columns().items() if kind.is_plain]
    counted = "".join(f", COUNT({raw.engine.plain(name)})" for name in plain)
    (row,) = _answer(raw, Rows(tuple(plain)), f'SELECT COUNT(*){counted} FROM "{SOURCE}"')
    return row[0], dict(zip(plain, row[1:], strict=True))


def _wrong(raw: Table, read: Table, name: str) -> tuple[int, set[str]]:
    """Return in how many rows a text does not hold what its column is declared to hold, and some such texts."""
    origin = getattr(read.engine, "_origin", None)
    if origin is None or not hasattr(origin, "declared"):
        return 0, set()
    text = raw.engine.plain(name)
    fails = f"{text} IS NOT NULL AND NOT COALESCE({origin.declared(name, text).parses}, FALSE)"
    ((count,),) = _answer(raw, Rows((name,)), f'SELECT COUNT(*) FROM "{SOURCE}" WHERE {fails}')
    texts = _answer(
        raw, Rows((name,)), f'SELECT DISTINCT {text} FROM "{SOURCE}" WHERE {fails} LIMIT {_MOST_WRONG}'
    )
    return count, {text for (text,) in texts}


def _too_long(read: Table, query: CountQuery) -> int:
    items = item_columns(query.items, read.engine.columns())
    texts = [item for item in items if item.kind is ColumnType.TEXT]
    if not texts:
        return 0
    size = " + ".join(f"STRLEN({item.read(read.engine)})" for item in texts)
    asked = f'SELECT COUNT(*) FROM "{SOURCE}" WHERE {size} > {query.max_label_bytes}'
    ((count,),) = _answer(read, rows_of(items), asked)
    return int(count)


def _users(read: Table, query: CountQuery) -> Users:
    """Count users and their items, and what the bound cuts."""
    bound = query.items_per_user or 1
    items = item_columns(query.items, read.engine.columns())
    pairs = distinct_pairs(read.engine, read.user, query, items, fresh_secret())
    each = f'SELECT "u", COUNT(*) AS "n" FROM ({pairs.query}) AS "pairs" GROUP BY "u"'
    asked = (
        'SELECT COUNT(*), COALESCE(SUM("n"), 0), COALESCE(MAX("n"), 0), '
        f'COALESCE(SUM(CASE WHEN "n" > {bound} THEN 1 ELSE 0 END), 0), '
        f'COALESCE(SUM(CASE WHEN "n" > {bound} THEN "n" - {bound} ELSE 0 END), 0) FROM ({each}) AS "each"'
    )
    ((users, held, most, over, cut),) = _answer(read, rows_of(items, read.user), asked)
    return Users(int(users), int(held), int(most), bound, int(over), int(cut))


def _answer(table: Table, rows: Rows, query: str) -> list[tuple[Any, ...]]:
    """Run a statement of the shared dialect, and return its rows."""
    with table.world(rows) as world:
        found = world.answer(query)
    return list(zip(*(column.to_pylist() for column in found.columns), strict=True))


def _bad_lines(read: Table, wrong: Mapping[str, set[str]]) -> dict[str, tuple[int, list[str]]]:
    """Go through CSV files by Python's own reader, for the numbers of lines that a question leaves out."""
    from unlisted.tables.engines.duckdb.csv import Csv  # noqa: PLC0415 - only text files have lines
    from unlisted.tables.engines.duckdb.text import bytes_of  # noqa: PLC0415

    origin = getattr(read.engine, "_origin", None)
    if not isinstance(origin, Csv):
        return {}
    found: dict[str, tuple[int, list[str]]] = {}
    for file in origin.files:
        with bytes_of(file) as raw:
            encoding = "utf-8-sig" if origin.encoding == "utf-8" else origin.encoding
            errors = "surrogateescape" if origin.encoding == "utf-8" else "replace"
            text = io.TextIOWrapper(raw, encoding, errors, newline="")
            for line, fields in _numbered(origin, text):
                for reason in _reasons(origin.header, fields, wrong, read):
                    count, first = found.get(reason, (0, []))
                    place = f"line {line}" if len(origin.files) == 1 else f"{file}, line {line}"
                    found[reason] = (count + 1, [*first, place] if len(first) < _FIRST_LINES else first)
    return found


def _numbered(origin: Any, text: io.TextIOBase) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of every row with the line that it begins on."""
    reader, begins = origin._rows(text), 1
    rows = iter(reader)
    while True:
        try:
            fields = next(rows)
        except StopIteration:
            return
        except csv.Error:
            begins = reader.line_num + 1
            continue
        if begins > 1 or origin.reading.header:
            yield begins, fields
        begins = reader.line_num + 1


def _reasons(
    header: Sequence[str], fields: list[str], wrong: Mapping[str, set[str]], read: Table
) -> Iterator[str]:
    if len(fields) > len(header):
        yield "more fields than the header"
        return
    for name, field_ in zip(header, fields, strict=False):
        try:
            field_.encode()
        except UnicodeEncodeError:
            yield f"{name}: {NO_UTF_8}"
            continue
        if field_ in wrong.get(name, ()):
            yield f"{name}: no {read.engine.columns()[name].value}"


def _rows(count: int) -> str:
    return f"{count:,} {'row' if count == 1 else 'rows'}"


def _lines(found: Check) -> list[str]:
    lines = [OWNERS_EYES, f"{_rows(found.rows)} can be told apart."]
    width = max(map(len, found.columns), default=0)
    for name, kind in found.columns.items():
        filled = f"in {_rows(found.filled[name])}" if name in found.filled else "not looked into"
        lines.append(f"  {name:{width}}  {kind.value:9}  {filled}")
    said = "Left out by a question that reads the column, and why:"
    lines.append(said if found.left_out else "No row would be left out.")
    for reason, count in found.left_out.items():
        where = list(islice(found.lines.get(reason, ()), _FIRST_LINES))
        more = ", …" if count > len(where) else ""
        first = f" ({', '.join(where)}{more})" if where else ""
        lines.append(f"  {_rows(count)}: {reason}{first}")
    if any(reason.endswith(NO_UTF_8) for reason in found.left_out):
        lines.append("  If the file is not UTF-8, say its encoding: latin-1 or windows-1252, say.")
    if found.users is not None:
        about = found.users
        lines.append(f"{about.users:,} users have {about.pairs:,} items; the heaviest has {about.most:,}.")
        lines.append(
            f"{about.over:,} of them have more than {about.bound:,}: a bound of {about.bound:,} would cut "
            f"{about.cut:,} of their items at random."
        )
    return lines
