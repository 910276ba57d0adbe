"""From a release to a screen or a file. What can be refused is refused before any data is touched."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from unlisted.cli.options import FormatChoice, OutputOptions
from unlisted.errors import ChargedFailureError, InvalidArgumentError
from unlisted.plans import Plan
from unlisted.releases import Release, printable, promise

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def run_and_write(plan: Plan, options: OutputOptions) -> None:
    """Run a plan and put its release where it was asked for."""
    check_writable(options)
    with working("Counting"):
        release = plan.run()
    write_release(release, options)


def check_writable(options: OutputOptions) -> None:
    """Refuse what could not be written, while that still costs nothing."""
    if options.format is FormatChoice.parquet and options.output is None and sys.stdout.isatty():
        raise InvalidArgumentError("--format", "parquet", "with --output FILE", "Parquet is not for a screen.")
    if options.chart is not None:
        from unlisted.charts import require_format  # noqa: PLC0415 - an extra

        require_format(options.chart)
    for name, path in (("--output", options.output), ("--chart", options.chart), ("--receipt", options.receipt)):
        if path is not None and (path.is_dir() or not os.access(path.parent, os.W_OK)):
            raise InvalidArgumentError(name, str(path), "a file in a folder that can be written to")


def write_release(release: Release, options: OutputOptions) -> None:
    """Write an answer, its chart and its receipt."""
    # The answer is already paid for, so it is written first and nothing later can lose it.
    data = _WRITERS[options.format](release)
    if options.output is not None:
        write_file(options.output, data)
        typer.echo(f"Wrote {len(release)} rows to {options.output}", err=True)
    elif options.format is FormatChoice.parquet:
        sys.stdout.buffer.write(data)
    elif options.format is FormatChoice.table:
        print_table(release)
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    if options.receipt is not None:
        write_file(options.receipt, _as_json(release.receipt()))
    if options.chart is not None:
        from unlisted.charts import save_chart  # noqa: PLC0415 - an extra

        save_chart(release.chart(), options.chart)


def write_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as part:
            part.write(data)
        Path(part.name).replace(path)
    except OSError as failure:
        raise ChargedFailureError from failure


def write_preview(plan: Plan, options: OutputOptions) -> None:
    """Write what a plan would cost and how good it would be."""
    if options.format is FormatChoice.json:
        data = _as_json(plan.preview())
        if options.output is not None:
            write_file(options.output, data)
        else:
            sys.stdout.buffer.write(data)
            sys.stdout.flush()
    elif options.format is FormatChoice.table:
        typer.echo(str(plan))
    else:
        raise InvalidArgumentError("--format", options.format.value, "table or json", "A preview has no rows.")
    if options.chart is not None:
        from unlisted.charts import save_chart  # noqa: PLC0415 - an extra

        save_chart(plan.chart(), options.chart)


def print_table(release: Release) -> None:
    """Print an answer for a person: a table, the promise, and why things are missing."""
    from rich.console import Console  # noqa: PLC0415 - only a screen needs it
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(soft_wrap=True)
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    numbers = ("rank", "count", "low", "high")
    for name in release.table.column_names:
        drawn.add_column(Text(printable(name)), justify="right" if name in numbers else "left")
    for row in release.rows:
        # Labels are data: printed as text, never read as markup.
        drawn.add_row(*(Text(printable(value)) for value in row.values()))
    console.print(drawn)
    console.print(Text(promise(release.guarantee, release.at_delta)), style="dim")
    console.print(Text(_missing(release)), style="dim")


def _missing(release: Release) -> str:
    needed = release.plan["users_needed"]
    above = " above the first count left out" if release.plan["users_needed_above_cut"] else ""
    return (
        f"Values shared by fewer than about {needed['50']} {release.plan['count']}{above} are held back; "
        f"from {needed['99']} on they almost surely appear."
    )


def _csv(release: Release) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(release.table.column_names)
    for row in release.rows:
        writer.writerow([_cell(value) for value in row.values()])
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    """Return a cell that a spreadsheet reads as text: what looks like a formula gets a quote in front."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA_STARTS) else value


def _parquet(release: Release) -> bytes:
    import pyarrow.parquet as pq  # noqa: PLC0415 - only this format needs it

    buffer = io.BytesIO()
    pq.write_table(release.table, buffer)
    return buffer.getvalue()


def _as_json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


_WRITERS: dict[FormatChoice, Callable[[Release], bytes]] = {
    FormatChoice.table: lambda release: f"{release!r}\n".encode(),
    FormatChoice.json: lambda release: _as_json(release.as_dict()),
    FormatChoice.csv: _csv,
    FormatChoice.parquet: _parquet,
}


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that something is going on, once it has taken a second; never in a pipe or a log."""
    if not sys.stderr.isatty():
        yield
        return
    import threading  # noqa: PLC0415 - only a terminal needs it

    from rich.console import Console  # noqa: PLC0415

    status = Console(stderr=True).status(f"{what} …")
    later = threading.Timer(1.0, status.start)
    later.start()
    try:
        yield
    finally:
        later.cancel()
        later.join()
        status.stop()
