"""How files are read, as a person types it: the options of `tables/reading.py` in a shell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from unlisted.errors import InvalidArgumentError
from unlisted.tables.reading import HELP

SOURCE_PANEL, READING_PANEL = "Data", "How files are read"
SOURCES = (
    "Files, globs or folders (Parquet, CSV, JSON, Arrow, Excel); with --table a DuckDB file or a PostgreSQL URL."
)


def _option(name: str, metavar: str) -> Any:
    return typer.Option(
        f"--{name.replace('_', '-')}", metavar=metavar, help=HELP[name], rich_help_panel=READING_PANEL
    )


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How files are read."""

    types: Annotated[list[str] | None, _option("types", "COLUMN=TYPE")] = None
    sep: Annotated[str | None, _option("sep", "SIGN")] = None
    encoding: Annotated[str | None, _option("encoding", "NAME")] = None
    quote: Annotated[str | None, _option("quote", "SIGN")] = None
    decimal: Annotated[str | None, _option("decimal", "SIGN")] = None
    header: Annotated[str | None, _option("header", "NAMES")] = None
    date_format: Annotated[str | None, _option("date_format", "FORMAT")] = None
    timezone: Annotated[str | None, _option("timezone", "ZONE")] = None

    def reading(self) -> dict[str, Any]:
        """Return what was typed, as `ul.table` takes it."""
        return {name: getattr(self, name) for name in HELP} | {"types": _declared(self.types)}


def _declared(types: list[str] | None) -> Mapping[str, str] | None:
    if not types:
        return None
    pairs = [text.partition("=") for text in types]
    for text, (column, equals, kind) in zip(types, pairs, strict=True):
        if not (column and equals and kind):
            raise InvalidArgumentError("types", text, "COLUMN=TYPE", "For example: --types age=int")
    return {column: kind for column, _, kind in pairs}
