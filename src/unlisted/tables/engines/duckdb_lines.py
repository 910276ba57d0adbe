"""CSV files whose owner says that no field holds a line break: then every line is one row, or none.

CSV allows line breaks inside quotes. So where a row ends depends on all quotes before it, and one broken quote
(in a text, say, whose quotes were not doubled) takes everybody's rows after it. Who cannot vouch for the quotes of
a file, but for its lines, declares `types={"*": "line"}`: each line is then read by itself, and whatever stands in
it, other lines are read as if it were not there.

It is not the rule for every file, for one with line breaks inside its fields would be torn: what follows a break
would be a row of its own, of whomever its text names.
"""

# ruff: noqa: S608 - statements are made of quoted names, quoted paths and the patterns named here

from __future__ import annotations

from collections.abc import Sequence

from unlisted.tables.engines.duckdb import literal
from unlisted.tables.engines.duckdb_files import listed
from unlisted.tables.engines.duckdb_text import Csv

_NO_SEPARATOR = "\x1f\x1e\x1f\x1e"
"""Something must separate the columns of a line that is read as one. A line with this in it is dropped."""


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
