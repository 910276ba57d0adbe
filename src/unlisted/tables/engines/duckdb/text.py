"""CSV and JSON lines: files without types, and without a promise that every line is well formed.

Nothing is guessed from rows. What separates fields is fixed, columns are text unless the user declares them, and a
row that does not parse is dropped without a word: an error that depends on a row tells about the row. Names of
columns count as public. Those of a CSV file are its first line; those of a JSON lines file are the keys of its
first line and whatever is declared.
"""

# ruff: noqa: S608 - statements are made of quoted names, quoted paths and the types named here

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from unlisted.errors import InvalidArgumentError
from unlisted.tables.column_types import ColumnType
from unlisted.tables.engines.duckdb.columns import quoted
from unlisted.tables.engines.duckdb.files import COMPRESSED, Files

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

CANNOT_OPEN = (OSError, EOFError, zlib.error)
"""What opening and unpacking a file may raise."""


def is_by_line(types: Mapping[str, str]) -> bool:
    """Return whether all columns are declared to hold no line breaks: `csv.py` says what for."""
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


@contextmanager
def bytes_of(file: str) -> Iterator[BinaryIO]:
    """Open a file that may be compressed."""
    with gzip.open(file) if is_compressed(file) else Path(file).open("rb") as raw:
        yield cast("BinaryIO", raw)


def is_compressed(file: str) -> bool:
    """Return whether a file is named as a compressed one."""
    return file.lower().endswith(COMPRESSED)
