"""Excel and OpenDocument workbooks: one sheet, whose first row names the columns.

Each cell has a type of its own, so a column has none: columns are text unless they are declared, as in a CSV file,
and a cell is the text that says it. A formula is what it last came to. What stands beside the named columns is not
read.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from unlisted.errors import InvalidArgumentError, MissingExtraError
from unlisted.tables.engines.duckdb.arrow import careful_table
from unlisted.tables.engines.duckdb.columns import quoted
from unlisted.tables.engines.duckdb.declared import DECLARED, Declared
from unlisted.tables.engines.duckdb.engine import Opening
from unlisted.tables.engines.duckdb.files import FILE, Place
from unlisted.tables.engines.duckdb.marks import Remembered
from unlisted.tables.engines.duckdb.text import TextFiles
from unlisted.tables.reading import Reading

FRAME = "unlisted_sheet"
_EXACT = 2**53


class Excel(TextFiles):
    """One sheet of each workbook, the first unless it is named."""

    kind = "a workbook"
    takes = ("types", "header", "date_format")
    table_is = "the name of a sheet"

    def __init__(self, place: Place, reading: Reading | None = None, table: str | None = None) -> None:
        super().__init__(place, reading, table)
        self._headers = Remembered(self._read_headers)

    @property
    def named_by_first_line(self) -> bool:
        """Whether nobody has vouched for the names of columns."""
        return self.reading.header is None

    @property
    def header(self) -> tuple[str, ...]:
        """The names of columns, which all files must share. One that is empty cannot be asked about."""
        return self.reading.header or self._headers.about(self.files)

    def _read_headers(self) -> tuple[str, ...]:
        first, *others = (tuple(said(cell) or "" for cell in next(self._rows(file), ())) for file in self.files)
        if any(other != first for other in others):
            raise self.refusal("The sheets have different headers. Read those of one kind at a time.")
        named = [name.casefold() for name in first if name]
        if not named or len(set(named)) != len(named):
            raise self.refusal("The first row of the sheet must name the columns, each differently.")
        return first

    def own_types(self) -> Mapping[str, str]:
        """Read the first row."""
        return {name: DECLARED[self.kind_of(name)] for name in self.header if name}

    def declared(self, column: str, text: str) -> Declared:
        """Return a column as what it is declared to hold; a cell that is a date needs no format."""
        return replace(super().declared(column, text), or_plain=True)

    def relation_of(self, files: Sequence[str], columns: Sequence[str], more: str = "") -> str:  # noqa: ARG002
        """Return the query that reads the cells."""
        return self.selected(columns, quoted(FRAME), quoted)

    def open(self, opening: Opening) -> str:
        """Read the cells, and let DuckDB read the columns."""
        return self._registered(opening, self.files)

    def bind(self, opening: Opening) -> str | None:
        """Let DuckDB look at the columns of no sheet."""
        self._registered(opening, ())
        return None

    def _registered(self, opening: Opening, files: Sequence[str]) -> str:
        places = {name: self.header.index(name) for name in opening.columns if name in self.header}
        cells: dict[str, list[str | None]] = {name: [] for name in (*places, FILE)}
        for file in files:
            rows = self._rows(file)
            if self.reading.header is None:
                next(rows, None)
            for row in rows:
                for name, place in places.items():
                    cells[name].append(said(row[place]) if place < len(row) else None)
                cells[FILE].append(file)
        table = pa.table({name: pa.array(column, pa.large_string()) for name, column in cells.items()})
        opening.connection.register(FRAME, careful_table(table))
        return self.reading_of(files, opening.columns)

    def _rows(self, file: str) -> Iterator[Sequence[Any]]:
        try:
            import python_calamine  # noqa: PLC0415 - only who has a workbook needs it
        except ImportError:
            raise MissingExtraError("Reading a workbook", "python-calamine", "excel") from None
        try:
            workbook = python_calamine.load_workbook(file)
            names = workbook.sheet_names
        except (python_calamine.CalamineError, OSError):
            raise self.refusal("It is damaged, protected by a password, or no workbook.") from None
        if self.table is not None and self.table not in names:
            hint = f"The sheets are: {', '.join(names)}."
            raise InvalidArgumentError("table", self.table, "the name of a sheet in the workbook", hint)
        sheet = workbook.get_sheet_by_name(self.table or names[0])
        yield from sheet.to_python(skip_empty_area=False)


def said(cell: object) -> str | None:
    """Return the text that says a cell; nothing for an empty one, and for one that holds an error."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _EXACT:
        return str(int(cell))
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(sep=" ")
    text = str(cell)
    try:
        text.encode()
    except UnicodeEncodeError:
        return None
    return text or None
