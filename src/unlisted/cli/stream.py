"""`unlisted stream`: a running histogram in a folder, one release after another."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from unlisted.cli.budgets import FormatOption, ListChoice
from unlisted.cli.exits import stoppable
from unlisted.cli.options import (
    COUNT_PANEL,
    SOURCE_PANEL,
    BudgetOptions,
    OutputOptions,
    PayerOptions,
    SourceOptions,
    grouped,
)
from unlisted.cli.output import check_writable, working, write_file, write_release
from unlisted.errors import InvalidArgumentError
from unlisted.release.export import as_json
from unlisted.release.release import guarantee_as_dict
from unlisted.streams.settings import StreamOptions
from unlisted.streams.stream import Stream

stream = typer.Typer(
    help="Keep a running histogram in a folder, with a release every round.", no_args_is_help=True
)

FolderArgument = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="The stream's folder. It is as sensitive as the data.", show_default=False),
]


class UnitChoice(StrEnum):
    """Who is protected."""

    event = "event"
    user = "user"


class DisplayChoice(StrEnum):
    """What stays shown."""

    live = "live"
    sticky = "sticky"


@dataclass(frozen=True)
class CourseOptions:
    """What a stream counts and whom it protects, for its whole life."""

    rounds: Annotated[
        int, typer.Option(help="How many rounds there will be at most.", rich_help_panel=COUNT_PANEL)
    ]
    items_per_event: Annotated[
        int,
        typer.Option(
            help="The most distinct items that one user counts for in one round.", rich_help_panel=COUNT_PANEL
        ),
    ]
    count_per_item: Annotated[
        int,
        typer.Option(
            help="The most rows of one user that one item counts in one round.", rich_help_panel=COUNT_PANEL
        ),
    ] = 1
    unit: Annotated[
        UnitChoice,
        typer.Option(
            help="Protect one user's rows in one round, or all rows of a user.", rich_help_panel=COUNT_PANEL
        ),
    ] = UnitChoice.event
    rounds_per_user: Annotated[
        int | None,
        typer.Option(
            help="With --unit user: the most rounds that one user counts in; what is over is dropped.",
            rich_help_panel=COUNT_PANEL,
        ),
    ] = None
    display: Annotated[
        DisplayChoice,
        typer.Option(
            help="Show an item while it is over the threshold, or from then on for ever.",
            rich_help_panel=COUNT_PANEL,
        ),
    ] = DisplayChoice.live
    release_every: Annotated[
        int, typer.Option(metavar="K", help="Release after every K-th round only.", rich_help_panel=COUNT_PANEL)
    ] = 1
    where: Annotated[
        str | None,
        typer.Option(metavar="PREDICATE", help="A condition on rows.", rich_help_panel=COUNT_PANEL),
    ] = None
    user: Annotated[
        str, typer.Option(help="The column that says whose row it is.", rich_help_panel=SOURCE_PANEL)
    ] = "user"
    item: Annotated[
        list[str] | None,
        typer.Option(
            help="The column whose values are counted, 'item' unless said. Give it several times for items made "
            "of several columns.",
            rich_help_panel=SOURCE_PANEL,
        ),
    ] = None
    source: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What the ledger calls the rows: the source of the data set whose account pays.",
            rich_help_panel=SOURCE_PANEL,
        ),
    ] = "a stream"

    def options(self) -> StreamOptions:
        """Return the options as the library takes them."""
        return StreamOptions(
            count_per_item=self.count_per_item,
            unit="user" if self.unit is UnitChoice.user else "event",
            rounds_per_user=self.rounds_per_user,
            display="sticky" if self.display is DisplayChoice.sticky else "live",
            release_every=self.release_every,
            where=self.where,
            user=self.user,
            item=self.item or "item",
            source=self.source,
        )


@dataclass(frozen=True)
class RoundOptions:
    """What is brought for a round."""

    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="The round's rows: a file or glob (Parquet, CSV, JSON lines), or with --table a DuckDB file or a "
            "PostgreSQL URL.",
            show_default=False,
        ),
    ]
    round: Annotated[
        int | None,
        typer.Option(metavar="T", help="Which round it is, from 1; the next one unless said. Say it in scripts."),
    ] = None
    fill_gaps: Annotated[
        bool, typer.Option("--fill-gaps", help="Take rounds that were left out as empty ones.")
    ] = False
    counted: Annotated[
        bool,
        typer.Option(
            "--counted", help="SOURCE is a JSON object of item and count, bounded already (not with --unit user)."
        ),
    ] = False
    user: Annotated[
        str | None, typer.Option(help="The user column; it must be the one that the stream was created with.")
    ] = None
    table: Annotated[
        str | None, typer.Option(help="The table inside a database.", rich_help_panel=SOURCE_PANEL)
    ] = None
    types: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=TYPE",
            help="What a column of a CSV or JSON lines file holds, such as age=int; text otherwise.",
            rich_help_panel=SOURCE_PANEL,
        ),
    ] = None

    def rows(self, into: Stream) -> Any:
        """Return what is to be pushed."""
        if self.counted:
            self._refuse_ways_to_read_rows()
            return _counts_in(Path(self.source))
        settings = into.settings
        return SourceOptions(
            self.source, self.user or settings.user, list(settings.item), self.table, self.types
        ).open()

    def _refuse_ways_to_read_rows(self) -> None:
        for name, value in (("user", self.user), ("table", self.table), ("types", self.types)):
            if value:
                hint = "Counts have neither users nor columns; it would be ignored."
                raise InvalidArgumentError(name, value, "left out with --counted", hint)


@stream.command("create")
@grouped
def create(folder: FolderArgument, course: CourseOptions, spent: BudgetOptions, paid: PayerOptions) -> None:
    """Create a stream. If an account pays, it is charged now, once, for all rounds."""
    if paid.idempotency_key is not None:
        hint = "A folder is created once; open it the next time."
        raise InvalidArgumentError("--idempotency-key", paid.idempotency_key, "left out", hint)
    with paid.payer() as account, working("Calibrating"):
        created = Stream.create(
            folder,
            rounds=course.rounds,
            items_per_event=course.items_per_event,
            budget=spent.budget(),
            account=account,
            **course.options(),
        )
    typer.echo(repr(created))


@stream.command("push")
@grouped
def push(folder: FolderArgument, brought: RoundOptions, written: OutputOptions) -> None:
    """Take in one round and write its release. The same round again gives the same release."""
    check_writable(written, brought.source)
    into = Stream.open(folder)
    with stoppable(), working("Counting"):
        release = into.push(brought.rows(into), number=brought.round, fill_gaps=brought.fill_gaps)
    if release is None:
        every = into.settings.release_every
        typer.echo(f"Taken in. The next release is after round {-(-into.round // every) * every:,}.", err=True)
        files = [str(file) for file in (written.output, written.chart, written.receipt) if file is not None]
        if files:
            typer.echo(f"Nothing was written to {', '.join(files)}.", err=True)
        return
    write_release(release, written)


@stream.command("show")
def show(
    folder: FolderArgument,
    format: FormatOption = ListChoice.table,  # noqa: A002 - what it is called everywhere
) -> None:
    """Say where a stream stands, what it costs and what it promises."""
    shown = Stream.open(folder)
    if format is not ListChoice.json:
        typer.echo(repr(shown))
        return
    settings = json.loads(shown.settings.to_bytes())["stream"]
    guarantee = guarantee_as_dict(shown.guarantee, shown.settings.at_delta)
    typer.echo(as_json({"round": shown.round, "guarantee": guarantee, "settings": settings}).decode(), nl=False)


@stream.command("export")
@grouped
def export(
    folder: FolderArgument,
    written: OutputOptions,
    round: Annotated[  # noqa: A002 - what it is called everywhere
        int | None, typer.Option(metavar="T", help="Only the release after this round; all of them unless said.")
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="Draw this item in the chart; the ten largest unless said.")
    ] = None,
) -> None:
    """Write the releases so far, with the round in front. A chart draws them as running counts."""
    check_writable(written)
    shown = Stream.open(folder)
    if round is not None:
        write_release(shown.release(round), written)
        return
    write_release(shown.export(), replace(written, chart=None))
    if written.chart is not None:
        from unlisted.release.charts import chart_bytes  # noqa: PLC0415 - an extra

        write_file(written.chart, chart_bytes(shown.chart(items=label), written.chart))


def _counts_in(path: Path) -> dict[str, int]:
    """Read a JSON object of item and count; whatever is wrong with it, nothing of it is quoted."""
    try:
        found = json.loads(path.read_bytes())
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidArgumentError("SOURCE", str(path), 'a file with a JSON object such as {"aspirin": 31}')
    return found
