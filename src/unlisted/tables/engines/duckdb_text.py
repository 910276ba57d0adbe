"""CSV and JSON lines: files without types, and without a promise that every line is well formed.

Nothing is guessed from rows. What separates fields is fixed, columns are text unless the user declares them, and a
row that does not parse is dropped without a word: an error that depends on a row tells about the row. Names of
columns count as public. Those of a CSV file are its first line; those of a JSON lines file are the keys of its
first line and whatever is declared.
"""

# ruff: noqa: S608 - statements are made of quoted names, quoted paths and the types named here

from __future__ import annotations

import csv
import io
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from unlisted.errors import InvalidArgumentError
from unlisted.tables.column_types import ColumnType
from unlisted.tables.engines.duckdb import Opening, literal
from unlisted.tables.engines.duckdb_columns import quoted
from unlisted.tables.engines.duckdb_files import Files, listed
from unlisted.tables.engines.file_marks import Remembered
from unlisted.tables.engines.long_lines import bytes_of, without_long_lines

DECLARED = {
    ColumnType.TEXT: "VARCHAR",
    ColumnType.INTEGER: "BIGINT",
    ColumnType.DECIMAL: "DECIMAL(38,18)",
    ColumnType.FLOAT: "DOUBLE",
    ColumnType.BOOLEAN: "BOOLEAN",
    ColumnType.DATE: "DATE",
    ColumnType.TIMESTAMP: "TIMESTAMP",
}
"""What a word of `types=` is in DuckDB."""

LONGEST_LINE = 2**24
"""Bytes of a line of JSON; a longer one is dropped, whatever is in it. DuckDB fails on one of twice the size."""

_CANNOT_OPEN = (OSError, EOFError, zlib.error, csv.Error)


def is_by_line(types: Mapping[str, str]) -> bool:
    """Return whether all columns are declared to hold no line breaks: `duckdb_lines.py` says what for."""
    return types.get("*") == "line"


def declared_types(types: Mapping[str, str]) -> dict[str, ColumnType]:
    """Read what `types=` says of single columns."""
    words = {kind.value: kind for kind in DECLARED}
    told = {name: word for name, word in types.items() if not (name == "*" and is_by_line(types))}
    for name, word in told.items():
        if word not in words:
            hint = 'Where a row ends is a matter of all columns: {"*": "line"}.' if word == "line" else ""
            raise InvalidArgumentError(f"types[{name!r}]", word, f"one of {', '.join(words)}", hint)
    return {name: words[word] for name, word in told.items()}


@dataclass(frozen=True)
class Declared:
    """A column of a text file: the expression for its text, and what it is declared to hold."""

    text: str
    kind: ColumnType

    @property
    def value(self) -> str:
        """The text as what it is declared to be; NULL where it is not that."""
        if self.kind is ColumnType.TEXT:
            return self.text
        value = f"TRY_CAST({self.text} AS {DECLARED[self.kind]})"
        if self.kind is ColumnType.INTEGER:
            # A cast alone rounds 1.5 to 2.
            return rf"CASE WHEN REGEXP_FULL_MATCH({self.text}, '\s*[+-]?[0-9]+\s*') THEN {value} END"
        return value

    @property
    def parses(self) -> str:
        """Whether the text is missing or is what it is declared to be."""
        return f"({self.text} IS NULL OR {self.value} IS NOT NULL)"


class TextFiles(Files):
    """Files of lines, whose columns are text unless they are declared."""

    def __init__(self, path: str, declared: Mapping[str, ColumnType]) -> None:
        super().__init__(path)
        self.declared = declared

    def kind_of(self, column: str) -> ColumnType:
        """Return what a column is declared to hold."""
        return self.declared.get(column, ColumnType.TEXT)

    def selected(self, columns: Sequence[str], reader: str, text_of: Callable[[str], str], *good: str) -> str:
        """Return the columns, of those rows whose declared columns all parse."""
        read = [(name, Declared(text_of(name), self.kind_of(name))) for name in columns]
        values = ", ".join(f"{column.value} AS {quoted(name)}" for name, column in read)
        declared = [Declared(text_of(name), kind) for name, kind in self.declared.items()]
        conditions = [*good, *(column.parses for column in declared if column.kind is not ColumnType.TEXT)]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"(SELECT {values} FROM {reader}{where})"


class Csv(TextFiles):
    """CSV files with a header line: fields between commas (or tabs), quoted with `"`, which is doubled inside.

    A row with more fields than the header is dropped; in one with fewer, the rest is NULL, as is an empty field.
    """

    kind = "CSV"
    named_by_first_line = True

    def __init__(self, path: str, declared: Mapping[str, ColumnType], separator: str) -> None:
        super().__init__(path, declared)
        self.separator = separator
        self._headers = Remembered(self._read_headers)

    @property
    def header(self) -> tuple[str, ...]:
        """The names in the first line, which all files must share. One that is empty cannot be asked about."""
        return self._headers.about(self.files)

    def _read_headers(self) -> tuple[str, ...]:
        first, *others = (self._header_of(file) for file in self.files)
        if any(other != first for other in others):
            raise self.refusal("The files have different headers. Read those of one kind at a time.")
        named = [name.casefold() for name in first if name]
        if len(set(named)) != len(named):
            raise self.refusal("Two columns have the same name; upper and lower case count as the same.")
        return first

    def types(self) -> Mapping[str, str]:
        """Read the header."""
        for name in self.declared:
            if name not in self.header:
                hint = "The columns are named by the first line of the file, which is not shown here."
                raise InvalidArgumentError("types", name, "columns of the source only", hint)
        return {name: DECLARED[self.kind_of(name)] for name in self.header if name}

    def relation_of(self, files: Sequence[str], columns: Sequence[str]) -> str:
        """Return the query that reads the files."""
        # Columns get names of our own while they are read: DuckDB takes names that differ in case for the same.
        own = {name: f'"c{at}"' for at, name in enumerate(self.header)}
        texts = ", ".join(f"c{at}: 'VARCHAR'" for at in range(len(self.header) + 1))
        # One scanner from the start of a file: several would have to guess whether they begin inside quotes. Not
        # strict: else a broken row fails the query or takes its neighbours with it. Padding lets a column beyond
        # the header tell rows that are too long.
        reader = (
            f"read_csv({listed(files)}, auto_detect = false, header = true, columns = {{{texts}}}, "
            f"delim = {literal(self.separator)}, quote = '\"', escape = '\"', nullstr = '', ignore_errors = true, "
            "strict_mode = false, null_padding = true, parallel = false)"
        )
        return self.selected(columns, reader, own.__getitem__, f'"c{len(self.header)}" IS NULL')

    def _header_of(self, file: str) -> tuple[str, ...]:
        try:
            with bytes_of(file) as raw:
                # Only the header's own bytes may be judged: decoding reads ahead into the rows.
                lines = io.TextIOWrapper(raw, "utf-8-sig", "surrogateescape", newline="")
                names = tuple(next(csv.reader(lines, delimiter=self.separator), ()))
        except _CANNOT_OPEN:
            raise self.refusal("It cannot be opened, or its first line is no header.") from None
        try:
            "".join(names).encode()
        except UnicodeEncodeError:
            raise self.refusal("Its first line is no UTF-8.") from None
        if not any(names):
            raise self.refusal("Its first line must name the columns.")
        return names


class JsonLines(TextFiles):
    """JSON lines files: one object a line. A key that is missing is NULL.

    A line that is no object, or longer than `LONGEST_LINE`, is dropped. Where there is such a long line, DuckDB
    reads a copy of the file without it.
    """

    kind = "JSON lines"

    def __init__(self, path: str, declared: Mapping[str, ColumnType]) -> None:
        super().__init__(path, declared)
        self._keys = Remembered(self._read_keys)

    def types(self) -> Mapping[str, str]:
        """Read the keys of the first line, and add what is declared."""
        keys = self._keys.about(self.files[:1])
        if not keys and not self.declared:
            raise self.refusal("Its first line is no JSON object. Write one object a line, or declare columns.")
        return {name: DECLARED[self.kind_of(name)] for name in dict.fromkeys((*keys, *self.declared))}

    def relation_of(self, files: Sequence[str], columns: Sequence[str]) -> str:
        """Return the query that reads the files."""
        read = dict.fromkeys((*columns, *self.declared))
        texts = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in read)
        reader = (
            f"read_json({listed(files)}, format = 'newline_delimited', auto_detect = false, "
            f"columns = {{{texts}}}, ignore_errors = true)"
        )
        return self.selected(columns, reader, quoted)

    def open(self, opening: Opening) -> str:
        """Return the query that reads the files, or copies of those with lines that are too long."""
        files = [without_long_lines(file, opening.folder, LONGEST_LINE) for file in self.files]
        return self.relation_of(files, opening.columns)

    def _read_keys(self) -> tuple[str, ...]:
        """Return the keys of the first line that is not empty."""
        try:
            with bytes_of(self.files[0]) as raw:
                lines = islice(iter(lambda: raw.readline(LONGEST_LINE), b""), 100)
                first = next((line for line in lines if line.strip()), b"{}")
        except _CANNOT_OPEN:
            raise self.refusal("It cannot be opened.") from None
        try:
            value = json.loads(first)
        except (ValueError, RecursionError):
            return ()
        return tuple(key for key in value if key) if isinstance(value, dict) else ()
