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
import re
from collections.abc import Iterator, Mapping, Sequence

from unlisted.errors import InvalidArgumentError
from unlisted.tables.column_types import FirstLine
from unlisted.tables.engines.duckdb.columns import DECLARED, literal
from unlisted.tables.engines.duckdb.files import Place, ending, listed
from unlisted.tables.engines.duckdb.marks import Remembered
from unlisted.tables.engines.duckdb.text import CANNOT_OPEN, UTF_8, TextFiles, bytes_of
from unlisted.tables.reading import Reading

_NO_SEPARATOR = "\x1f\x1e\x1f\x1e"
"""Something must separate the columns of a line that is read as one. A line with this in it is dropped."""

_OTHER_SEPARATORS = (";", "\t", "|", ",")


def csv_files(place: Place, reading: Reading, table: str | None) -> Csv:
    """Choose how to tell rows apart."""
    return (CsvByLine if reading.by_line else Csv)(place, reading, table)


class Csv(TextFiles):
    """CSV files: fields between separators, quoted where they hold one, with the quote doubled inside.

    A row with more fields than the header is dropped; in one with fewer, the rest is NULL, as is an empty field.
    """

    kind = "a CSV file"
    takes = ("types", "sep", "encoding", "quote", "decimal", "header", "date_format")

    def __init__(self, place: Place, reading: Reading | None = None, table: str | None = None) -> None:
        super().__init__(place, reading, table)
        self.quote = '"' if self.reading.quote is None else self.reading.quote
        self._headers = Remembered(self._read_headers)

    @property
    def separator(self) -> str:
        """What separates fields."""
        is_tsv = ending(self.files[0]) == ".tsv"
        return self.reading.sep or ("\t" if is_tsv else ",")

    @property
    def named_by_first_line(self) -> bool:
        """Whether nobody has vouched for the names of columns."""
        return self.reading.header is None

    @property
    def header(self) -> tuple[str, ...]:
        """The names of columns, which all files must share. One that is empty cannot be asked about."""
        return self.reading.header or self._headers.about(self.files)

    def _read_headers(self) -> tuple[str, ...]:
        first, *others = (self._header_of(file) for file in self.files)
        if any(other != first for other in others):
            raise self.refusal("The files have different headers. Read those of one kind at a time.")
        named = [name.casefold() for name in first if name]
        if len(set(named)) != len(named):
            raise self.refusal("Two columns have the same name; upper and lower case count as the same.")
        return first

    def own_types(self) -> Mapping[str, str]:
        """Read the header."""
        return {name: DECLARED[self.kind_of(name)] for name in self.header if name}

    def _check_declared(self, own: Mapping[str, str]) -> None:
        formats = {name for name in self.reading.date_format or {} if name != "*"}
        for argument, names in {"types": self.reading.types, "date_format": formats}.items():
            for name in names:
                if name not in own and name not in self.place.partitions:
                    raise InvalidArgumentError(argument, name, "columns of the source only", FirstLine.NOT_SHOWN)

    def hint(self) -> str:
        """Say which separator the header speaks for if it is another one; no row is looked at."""
        if self.reading.header or len(names := self.header) != 1:
            return ""
        found = max(_OTHER_SEPARATORS, key=names[0].count)
        if names[0].count(found) == 0 or found == self.separator:
            return ""
        said = "tab" if found == "\t" else found
        has = f"Its first line has no {_named(self.separator)} in it, but a {_named(found)}"
        return f"{has}: say sep='{said}' or --sep '{said}'."

    def relation_of(self, files: Sequence[str], columns: Sequence[str], more: str = "") -> str:
        """Return the query that reads the files."""
        # Columns get names of our own while they are read: DuckDB takes names that differ in case for the same.
        own = {name: f'"c{at}"' for at, name in enumerate(self.header)}
        texts = ", ".join(f"c{at}: 'VARCHAR'" for at in range(len(self.header) + 1))
        # One scanner from the start of a file: several would have to guess whether they begin inside quotes. Not
        # strict: else a broken row fails the query or takes its neighbours with it. Padding lets a column beyond
        # the header tell rows that are too long.
        quote = literal(self.quote)
        reader = (
            f"read_csv({listed(files)}, auto_detect = false, header = {self._has_header}, columns = {{{texts}}}, "
            f"delim = {literal(self.separator)}, quote = {quote}, escape = {quote}, nullstr = '', "
            f"ignore_errors = true, strict_mode = false, null_padding = true, parallel = false{more})"
        )
        return self.selected(columns, reader, own.__getitem__, f'"c{len(self.header)}" IS NULL')

    @property
    def _has_header(self) -> str:
        return "false" if self.reading.header else "true"

    def _header_of(self, file: str) -> tuple[str, ...]:
        try:
            with bytes_of(file) as raw:
                # Only the header's own bytes may be judged: decoding reads ahead into the rows.
                encoding = "utf-8-sig" if self.encoding == UTF_8 else self.encoding
                errors = "surrogateescape" if self.encoding == UTF_8 else "replace"
                lines = io.TextIOWrapper(raw, encoding, errors, newline="")
                names = tuple(next(self._rows(lines), ()))
        except (*CANNOT_OPEN, csv.Error, UnicodeError):
            raise self.refusal("It cannot be opened, or its first line is not a header.") from None
        try:
            "".join(names).encode()
        except UnicodeEncodeError:
            with bytes_of(file) as raw:
                raise self.refusal(f"Its first line is not UTF-8. {self.first_bytes_hint(raw)}") from None
        if not any(names):
            raise self.refusal("Its first line must name the columns.")
        return (names[0].removeprefix("\ufeff"), *names[1:])

    def _rows(self, lines: io.TextIOBase) -> Iterator[list[str]]:
        """Read lines as Python's own reader does."""
        if not self.quote:
            return csv.reader(lines, delimiter=self.separator, quoting=csv.QUOTE_NONE)
        return csv.reader(lines, delimiter=self.separator, quotechar=self.quote)


class CsvByLine(Csv):
    """CSV files in which a line is a row.

    A line is dropped if it has more fields than the header, or a quoted field that is not closed on it or goes on
    after its quote. In a line with fewer fields the rest is NULL, as is an empty field.
    """

    def relation_of(self, files: Sequence[str], columns: Sequence[str], more: str = "") -> str:
        """Return the query that reads the files."""
        lines = (
            f"read_csv({listed(files)}, auto_detect = false, header = {self._has_header}, "
            f"columns = {{line: 'VARCHAR', more: 'VARCHAR'}}, delim = {literal(_NO_SEPARATOR)}, quote = '', "
            "escape = '', nullstr = '', ignore_errors = true, strict_mode = false, null_padding = true, "
            f"parallel = false{more})"
        )
        kept = "fields, unlisted_file" if more else "fields"
        reader = f"(SELECT {self._fields()} AS {kept} FROM {lines} WHERE more IS NULL)"
        texts = {name: self._text(f"fields[{at}]") for at, name in enumerate(self.header, start=1)}
        return self.selected(columns, reader, texts.__getitem__, f"LEN(fields) <= {len(self.header)}")

    def _fields(self) -> str:
        """Return the expression for the list of a line's fields; NULL where its quotes are broken."""
        split = f"STRING_SPLIT(line, {literal(self.separator)})"
        if not self.quote:
            return split
        sign, quote = re.escape(self.separator), re.escape(self.quote)
        field = f"{quote}(?:[^{quote}]|{quote}{quote})*{quote}|(?:[^{quote}{sign}][^{sign}]*)?"
        # With a separator before the first field too, no field is matched by nothing at all.
        line = f"{literal(self.separator)} || line"
        whole, each = literal(f"(?:{sign}(?:{field}))+"), literal(f"{sign}({field})")
        # Patterns are slow, and most lines have no quotes.
        return (
            f"CASE WHEN NOT CONTAINS(line, {literal(self.quote)}) THEN {split} "
            f"WHEN REGEXP_FULL_MATCH({line}, {whole}) THEN REGEXP_EXTRACT_ALL({line}, {each}, 1) END"
        )

    def _text(self, field: str) -> str:
        """Return what a field says, without its quotes."""
        if not self.quote:
            return f"NULLIF({field}, '')"
        quote, twice = literal(self.quote), literal(self.quote * 2)
        inside = f"REPLACE(SUBSTRING({field}, 2, LENGTH({field}) - 2), {twice}, {quote})"
        return f"NULLIF(CASE WHEN STARTS_WITH({field}, {quote}) THEN {inside} ELSE {field} END, '')"

    def _header_of(self, file: str) -> tuple[str, ...]:
        names = super()._header_of(file)
        if any("\n" in name or "\r" in name for name in names):
            raise self.refusal(
                "A name in its first line holds a line break, and each line is declared to be a row."
            )
        return names


def _named(sign: str) -> str:
    return {"\t": "tab", ",": "comma", ";": "semicolon", "|": "vertical bar"}.get(sign, repr(sign))
