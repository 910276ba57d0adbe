"""Excel workbooks: one sheet, whose first row names the columns.

Each cell has a type of its own, so a column has none: columns are text unless they are declared, as in a CSV file,
and a cell is the text that says it. A formula is what it last came to. What stands beside the named columns is not
read.

They are read here, cell by cell: a library that reads a sheet whole refuses it for the sake of one cell. So
formats that only such libraries read are not taken.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

import pyarrow as pa

from unlisted.errors import InvalidArgumentError
from unlisted.tables.engines.duckdb.arrow import careful_table
from unlisted.tables.engines.duckdb.columns import DECLARED, Declared, quoted
from unlisted.tables.engines.duckdb.engine import Opening
from unlisted.tables.engines.duckdb.files import FILE, Place
from unlisted.tables.engines.duckdb.marks import Remembered
from unlisted.tables.engines.duckdb.text import TextFiles
from unlisted.tables.engines.duckdb.xlsx import DAMAGED, Row, Workbook
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
        first, *others = map(self._header_of, self.files)
        if any(other != first for other in others):
            raise self.refusal("The sheets have different headers. Read those of one kind at a time.")
        named = [name.casefold() for name in first if name]
        if not named or len(set(named)) != len(named):
            raise self.refusal("The first row of the sheet must name the columns, each differently.")
        return first

    def _header_of(self, file: str) -> tuple[str, ...]:
        with closing(self._rows(file)) as rows:
            cells = next(rows, {})
        names = {place: said(cell) or "" for place, cell in cells.items()}
        return tuple(names.get(place, "") for place in range(max(names, default=-1) + 1))

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
            with closing(self._rows(file, set(places.values()))) as rows:
                if self.reading.header is None:
                    next(rows, None)
                for row in rows:
                    for name, place in places.items():
                        cells[name].append(said(row.get(place)))
                    cells[FILE].append(file)
        table = pa.table({name: pa.array(column, pa.large_string()) for name, column in cells.items()})
        opening.connection.register(FRAME, careful_table(table))
        return self.reading_of(files, opening.columns)

    def _rows(self, file: str, wanted: Collection[int] | None = None) -> Generator[Row, None, None]:
        try:
            with closing(Workbook.opened(file)) as workbook:
                yield from workbook.rows(self._sheet(list(workbook.sheets)), wanted)
        except DAMAGED:
            raise self._unreadable() from None

    def _sheet(self, names: Sequence[str]) -> str:
        """Return the name of the sheet that is read."""
        if not names:
            raise self._unreadable()
        if self.table is not None and self.table not in names:
            hint = f"The sheets are: {', '.join(names)}."
            raise InvalidArgumentError("table", self.table, "the name of a sheet in the workbook", hint)
        return self.table or names[0]

    def _unreadable(self) -> InvalidArgumentError:
        return self.refusal("It is damaged, protected by a password, or no workbook.")


def said(cell: object) -> str | None:
    """Return the text that says a cell; nothing for an empty one, and for one that holds an error."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _EXACT:
        return str(int(cell))
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(sep=" ")
    if cell is None:
        return None
    text = str(cell)
    try:
        text.encode()
    except UnicodeEncodeError:
        return None
    return text or None
