"""`unlisted check` and `unlisted columns`: what a source holds, for its owner's eyes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from unlisted.cli.options import SOURCE_PANEL, SOURCES, ReadingOptions, grouped, named
from unlisted.errors import InvalidArgumentError
from unlisted.release.release import escaped

_SOURCE = typer.Argument(metavar="SOURCE", help=SOURCES, show_default=False)
_TABLE = typer.Option(
    help="The table inside a database, or the sheet of a workbook.", rich_help_panel=SOURCE_PANEL
)


@dataclass(frozen=True, kw_only=True)
class ColumnsOptions(ReadingOptions):
    """Where the rows are."""

    source: Annotated[list[str], _SOURCE]
    table: Annotated[str | None, _TABLE] = None


@dataclass(frozen=True, kw_only=True)
class CheckOptions(ColumnsOptions):
    """Where the rows are, and what would be asked of them."""

    user: Annotated[
        str | None, typer.Option(help="The column that says whose row it is.", rich_help_panel=SOURCE_PANEL)
    ] = None
    item: Annotated[
        list[str] | None,
        typer.Option(help="The column whose values would be counted.", rich_help_panel=SOURCE_PANEL),
    ] = None
    items_per_user: Annotated[
        int, typer.Option(help="The bound whose effect is shown.", rich_help_panel=SOURCE_PANEL)
    ] = 10


@grouped
def check(asked: CheckOptions) -> None:
    """Look at the rows as their owner: which would be left out and why, and how heavy users are.

    The numbers are true ones, for the owner's eyes: publish none of them, and know that choosing a bound by them
    is a look at the data. Nothing is written.
    """
    from unlisted.tables.checking import check as look  # noqa: PLC0415 - most verbs need it not

    found = look(
        named(asked.source),
        user=asked.user,
        item=asked.item or None,
        items_per_user=asked.items_per_user,
        table=asked.table,
        **asked.reading(),
    )
    for line in repr(found).split("\n"):
        typer.echo(escaped(line))


@grouped
def columns(asked: ColumnsOptions) -> None:
    """List the columns of a source and what they hold, from its schema alone. No row is read."""
    from unlisted.tables.reading import Reading  # noqa: PLC0415
    from unlisted.tables.table import engine_of  # noqa: PLC0415

    held = engine_of(named(asked.source), asked.table, Reading.read(**asked.reading())).columns()
    if not held:
        raise InvalidArgumentError("source", named(asked.source), "a source with columns")
    width = max(map(len, held))
    for name, kind in held.items():
        typer.echo(f"{escaped(name):{width}}  {kind.value}")
    if hint := getattr(held, "hint", ""):
        typer.echo(f"unlisted: {escaped(hint)}", err=True)
