"""CSV files: their header, and rows that are read as CSV or line by line.

CSV allows line breaks inside quotes. So where a row ends depends on all quotes before it, and one broken quote
(in a text, say, whose quotes were not doubled) takes everybody's rows after it. Who cannot vouch for the quotes of
a file, but for its lines, declares `types={"*": "line"}`: each line is then read by itself, and whatever stands in
it, other lines are read as if it were not there.

It is not the rule for every file, for one with line breaks inside its fields would be torn: what follows a break
would be a row of its own, of whomever its text names.
"""

# ruff: noqa: S608 - statements are made of quoted names, quoted paths and the patterns named here

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from unlisted.errors import InvalidArgumentError
from unlisted.tables.column_types import ColumnType
from unlisted.tables.engines.duckdb.engine import literal
from unlisted.tables.engines.duckdb.files import listed
from unlisted.tables.engines.duckdb.marks import Remembered
from unlisted.tables.engines.duckdb.text import CANNOT_OPEN, DECLARED, TextFiles, bytes_of

_NO_SEPARATOR = "\x1f\x1e\x1f\x1e"
"""Something must separate the columns of a line that is read as one. A line with this in it is dropped."""


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
        except (*CANNOT_OPEN, csv.Error):
            raise self.refusal("It cannot be opened, or its first line is no header.") from None
        try:
            "".join(names).encode()
        except UnicodeEncodeError:
            raise self.refusal("Its first line is no UTF-8.") from None
        if not any(names):
            raise self.refusal("Its first line must name the columns.")
        return names


class CsvByLine(Csv):
    """CSV files with a header line, in which a line is a row.

    A line is dropped if it has more fields than the header, or a quoted field that is not closed on it or goes on
    after its quote. In a line with fewer fields the rest is NULL, as is an empty field.
    """

    def relation_of(self, files: Sequence[str], columns: Sequence[str]) -> str:
        """Return the query that reads the files."""
        lines = (
            f"read_csv({listed(files)}, auto_detect = false, header = true, "
            f"columns = {{line: 'VARCHAR', more: 'VARCHAR'}}, delim = {literal(_NO_SEPARATOR)}, quote = '', "
            "escape = '', nullstr = '', ignore_errors = true, strict_mode = false, null_padding = true, "
            "parallel = false)"
        )
        reader = f"(SELECT {self._fields()} AS fields FROM {lines} WHERE more IS NULL)"
        texts = {name: _text(f"fields[{at}]") for at, name in enumerate(self.header, start=1)}
        return self.selected(columns, reader, texts.__getitem__, f"LEN(fields) <= {len(self.header)}")

    def _fields(self) -> str:
        """Return the expression for the list of a line's fields; NULL where its quotes are broken."""
        sign = self.separator
        field = f'"(?:[^"]|"")*"|(?:[^"{sign}][^{sign}]*)?'
        # With a separator before the first field too, no field is matched by nothing at all.
        line = f"{literal(sign)} || line"
        whole, each = literal(f"(?:{sign}(?:{field}))+"), literal(f"{sign}({field})")
        # Patterns are slow, and most lines have no quotes.
        return (
            f"CASE WHEN NOT CONTAINS(line, '\"') THEN STRING_SPLIT(line, {literal(sign)}) "
            f"WHEN REGEXP_FULL_MATCH({line}, {whole}) THEN REGEXP_EXTRACT_ALL({line}, {each}, 1) END"
        )

    def _header_of(self, file: str) -> tuple[str, ...]:
        names = super()._header_of(file)
        if any("\n" in name or "\r" in name for name in names):
            raise self.refusal(
                "A name in its first line holds a line break, and each line is declared to be a row."
            )
        return names


def _text(field: str) -> str:
    """Return what a field says, without its quotes."""
    inside = f"REPLACE(SUBSTRING({field}, 2, LENGTH({field}) - 2), '\"\"', '\"')"
    return f"NULLIF(CASE WHEN STARTS_WITH({field}, '\"') THEN {inside} ELSE {field} END, '')"
