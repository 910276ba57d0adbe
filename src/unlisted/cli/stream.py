"""`unlisted stream`: a running histogram in a folder, one release after another."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, make_dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from unlisted.cli.budgets import FormatOption, ListChoice
from unlisted.cli.exits import stoppable
from unlisted.cli.options import (
    SOURCE_PANEL,
    SOURCES,
    BudgetOptions,
    PayerOptions,
    ReadingOptions,
    as_field,
    grouped,
    named,
)
from unlisted.cli.output import check_writable, working, write_file, write_release
from unlisted.cli.output_options import OutputOptions
from unlisted.errors import InvalidArgumentError
from unlisted.query.options import defaults_of, own_options
from unlisted.query.private_table import table
from unlisted.release.export import as_json
from unlisted.release.release import escaped, guarantee_as_dict
from unlisted.streams.folder import ExposedKeyWarning
from unlisted.streams.incoming import is_nothing
from unlisted.streams.question import PROTECTS_EVENTS, EventLevelWarning, StreamQuestion
from unlisted.streams.stream import Stream

stream = typer.Typer(
    help="Keep a running histogram in a folder, with a release every round.", no_args_is_help=True
)

FolderArgument = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="The stream's folder. It is as sensitive as the data.", show_default=False),
]


class NoiseChoice(StrEnum):
    """The kinds of noise."""

    correlated = "correlated"
    tree = "tree"


@dataclass(frozen=True)
class _Asked:
    """What was typed about a stream; `CourseOptions` has a field for each option of it."""

    def told(self) -> dict[str, Any]:
        """Return the options as the library takes them."""
        typed = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in typed.items() if value is not None}


def _course_fields() -> list[tuple[str, Any, Any]]:
    defaults = defaults_of(StreamQuestion)
    return [
        as_field(name, about, defaults.get(name, ...), required=name == "rounds")
        for name, about in own_options(StreamQuestion).items()
    ]


CourseOptions: Any = make_dataclass("CourseOptions", _course_fields(), bases=(_Asked,), frozen=True, kw_only=True)
"""What a stream counts and whom it protects, for its whole life."""


@dataclass(frozen=True, kw_only=True)
class RoundOptions(ReadingOptions):
    """What is brought for a round."""

    source: Annotated[
        list[str], typer.Argument(metavar="SOURCE", help=f"The round's rows. {SOURCES}", show_default=False)
    ]
    round: Annotated[
        int | None,
        typer.Option(
            metavar="T", help="The number of the round, from 1; by default the next one. Give it in scripts."
        ),
    ] = None
    time: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="When the round took place, such as 2026-03-01T15:00 (UTC); by default now."
        ),
    ] = None
    wait: Annotated[bool, typer.Option("--wait", help="Wait while another process writes to the stream.")] = False
    fill_gaps: Annotated[
        bool, typer.Option("--fill-gaps", help="Treat rounds that were skipped as empty ones.")
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
        str | None,
        typer.Option(
            help="The table inside a database, or the sheet of a workbook.", rich_help_panel=SOURCE_PANEL
        ),
    ] = None

    def rows(self, into: Stream) -> Any:
        """Return what is to be pushed."""
        if self.counted:
            self._refuse_ways_to_read_rows()
            return _counts_in(Path(", ".join(self.source)))
        source = named(self.source)
        if is_nothing(source):
            # A job that found nothing wrote a file without even a header.
            return source
        user = self.user or into.settings.user
        return table(source, user=user, table=self.table, **self.reading())

    def _refuse_ways_to_read_rows(self) -> None:
        for name, value in {"user": self.user, "table": self.table, **self.reading()}.items():
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
    with paid.payer() as account, working("Calibrating"), warnings.catch_warnings():
        warnings.simplefilter("ignore", EventLevelWarning)
        created = Stream.create(folder, budget=spent.budget(), account=account, **course.told())
    typer.echo(repr(created))
    if created.settings.unit == "event":
        typer.echo(f"Note: {PROTECTS_EVENTS}", err=True)


@stream.command("push")
@grouped
def push(folder: FolderArgument, brought: RoundOptions, written: OutputOptions) -> None:
    """Take in one round and write its release. The same round again gives the same release."""
    check_writable(written, brought.source)
    into = Stream.open(folder)
    with stoppable(), working("Counting"), _noted():
        release = into.push(
            brought.rows(into),
            number=brought.round,
            time=brought.time,
            fill_gaps=brought.fill_gaps,
            wait=brought.wait,
        )
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
    last: Annotated[
        str | None,
        typer.Option(
            metavar="LENGTH", help="Show the counts of the last rounds: how many, or how long, such as 24h or 7d."
        ),
    ] = None,
    format: FormatOption = ListChoice.table,  # noqa: A002 - what it is called everywhere
) -> None:
    """Say where a stream stands, what it costs and guarantees; or what came in its last rounds."""
    shown = Stream.open(folder)
    if last is not None:
        write_release(shown.last(last), OutputOptions(format="json" if format is ListChoice.json else "table"))
        return
    if format is not ListChoice.json:
        typer.echo(repr(shown))
        return
    settings = json.loads(shown.settings.to_bytes())["stream"]
    guarantee = guarantee_as_dict(shown.guarantee, shown.settings.at_delta)
    typer.echo(as_json({"round": shown.round, "guarantee": guarantee, "settings": settings}).decode(), nl=False)


@dataclass(frozen=True)
class PartOptions:
    """Which part of a stream's releases is written."""

    round: Annotated[
        int | None, typer.Option(metavar="T", help="Only the release after this round; by default all of them.")
    ] = None
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="WHEN", help="Begin with this round or time, such as 2026-03-01."),
    ] = None
    end: Annotated[
        str | None,
        typer.Option("--to", metavar="WHEN", help="End with this round or time; a date ends with that day."),
    ] = None
    every: Annotated[
        str | None,
        typer.Option(
            metavar="K", help="Take every K-th release, or the last one in each span of time such as 24h or 7d."
        ),
    ] = None
    item: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this item; may be repeated. An item of several columns is a JSON list. By default a chart "
            "draws the ten largest."
        ),
    ] = None
    steady: Annotated[
        bool,
        typer.Option("--steady", help="Add running counts that do not fall, computed from what was released."),
    ] = False

    def told(self, columns: int) -> dict[str, Any]:
        """Return the part as the library takes it."""
        items = None if self.item is None else [_item(text, columns) for text in self.item]
        return {"start": self.start, "end": self.end, "every": self.every or 1, "items": items}

    def refuse_with_round(self) -> None:
        """Refuse what has no meaning for a single release."""
        named = {"--from": self.start, "--to": self.end, "--every": self.every, "--item": self.item}
        for name, value in {**named, "--steady": self.steady or None}.items():
            if value is not None:
                raise InvalidArgumentError(name, value, "left out with --round", "A round has one release.")


@stream.command("export")
@grouped
def export(folder: FolderArgument, part: PartOptions, written: OutputOptions) -> None:
    """Write the releases so far, with the round in front. A chart draws them as running counts."""
    check_writable(written)
    shown = Stream.open(folder)
    if part.round is not None:
        part.refuse_with_round()
        write_release(shown.release(part.round), written)
        return
    told = part.told(len(shown.settings.item))
    with working("Reading"):
        release = shown.export(**told, steady=part.steady)
    write_release(release, replace(written, chart=None))
    if written.chart is not None:
        from unlisted.release.charts import chart_bytes  # noqa: PLC0415 - an extra

        # A chart draws as many releases as fit, unless it is said how many.
        drawn = shown.chart(**told | {"every": part.every})
        write_file(written.chart, chart_bytes(drawn, written.chart))


def _item(text: str, columns: int) -> Any:
    """Read an item as it is typed: text, or where it has several columns a JSON list."""
    if columns == 1:
        return text
    try:
        parts = json.loads(text)
    except ValueError:
        parts = None
    if not isinstance(parts, list) or len(parts) != columns:
        raise InvalidArgumentError("--item", text, f'a JSON list of {columns} values, such as ["a", 1]')
    return parts


@stream.command("verify")
def verify(folder: FolderArgument) -> None:
    """Check every file and every release of a stream. Exit 1 if something is wrong; the rest stays readable."""
    checked = Stream.open(folder)
    with working("Checking"):
        problems = checked.verify()
    for problem in problems:
        typer.echo(f"violation: {escaped(problem)}", err=True)
    if problems:
        raise typer.Exit(1)
    rounds, every = checked.round, checked.settings.release_every
    typer.echo(f"The stream is in order: {rounds:,} rounds, {rounds // every:,} releases.")


@stream.command("backup")
def backup(
    folder: FolderArgument,
    to: Annotated[
        Path, typer.Argument(metavar="COPY", help="A folder that does not exist yet.", show_default=False)
    ],
    releases_only: Annotated[
        bool,
        typer.Option(
            "--releases-only", help="Leave out the key and everything that was not released: a copy to read from."
        ),
    ] = False,
) -> None:
    """Copy a stream as it stands after one round, also while somebody pushes to it."""
    with working("Copying"):
        rounds = Stream.open(folder).backup(to, releases_only=releases_only)
    whole = "The copy is as sensitive as the data."
    said = "The copy holds nothing that was not released." if releases_only else whole
    typer.echo(f"Copied {rounds:,} rounds to {escaped(str(to))}. {said}")


@dataclass(frozen=True, kw_only=True)
class NextOptions:
    """What is different in the next life of a stream."""

    rounds: Annotated[
        int | None,
        typer.Option(metavar="N", help="How many rounds it has at most; as many as before unless said."),
    ] = None
    noise: Annotated[
        NoiseChoice | None, typer.Option(help="The kind of noise; as before unless said.", show_default=False)
    ] = None
    forget_values: Annotated[
        bool, typer.Option("--forget-values", help="Begin with no values, as a new stream does.")
    ] = False


@stream.command("renew")
@grouped
def renew(
    folder: FolderArgument,
    to: Annotated[
        Path, typer.Argument(metavar="NEW", help="A folder that does not exist yet.", show_default=False)
    ],
    following: NextOptions,
    spent: BudgetOptions,
    paid: PayerOptions,
) -> None:
    """Create the stream that follows another: the same question, a new budget, counts that begin anew."""
    if paid.idempotency_key is not None:
        hint = "A folder is created once; open it the next time."
        raise InvalidArgumentError("--idempotency-key", paid.idempotency_key, "left out", hint)
    with paid.payer() as account, working("Calibrating"):
        renewed = Stream.open(folder).renew(
            to,
            budget=spent.budget(),
            rounds=following.rounds,
            noise=None if following.noise is None else following.noise.value,
            keep_values=not following.forget_values,
            account=account,
        )
    typer.echo(repr(renewed))
    if renewed.settings.unit == "event":
        typer.echo(f"Note: {PROTECTS_EVENTS}", err=True)


@contextmanager
def _noted() -> Iterator[None]:
    """Say in a line what the library warns of about the key."""
    with warnings.catch_warnings(record=True) as noticed:
        warnings.simplefilter("always", ExposedKeyWarning)
        try:
            yield
        finally:
            for one in noticed:
                typer.echo(f"Note: {one.message}", err=True)


def _counts_in(path: Path) -> dict[str, int]:
    """Read a JSON object of item and count; whatever is wrong with it, nothing of it is quoted."""
    try:
        found = json.loads(path.read_bytes())
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidArgumentError("SOURCE", str(path), 'a file with a JSON object such as {"aspirin": 31}')
    return found
