"""From a release to a screen or a file. What can be refused is refused before any data is touched.

Files are written whole or not at all, without harm to what is no file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from unlisted.cli.exits import CHARGED, stoppable
from unlisted.cli.options import Format, OutputOptions
from unlisted.errors import InvalidArgumentError
from unlisted.query.plan import Plan
from unlisted.release.export import as_csv, as_json, as_parquet
from unlisted.release.release import NUMBERS, Release, as_text, escaped, printable, promises

if TYPE_CHECKING:
    from unlisted.ledger.account import Account


def may_be_written(path: Path) -> bool:
    """Return whether a file can be put there; a pipe or a device is written to as it is."""
    try:
        target = path.resolve()
        if _is_special(target):
            return not target.is_dir() and os.access(target, os.W_OK)
        return target.parent.is_dir() and os.access(target.parent, os.W_OK)
    except (OSError, RuntimeError, ValueError):  # too long, a loop of links, a zero byte
        return False


def require_writable(option: str, path: Path) -> None:
    """Refuse a file that cannot be put there, before anything is done for it."""
    if not may_be_written(path):
        raise InvalidArgumentError(option, str(path), "a file in a folder that can be written to")


def write_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all. A link stays a link, and what is no file is not replaced by one."""
    target = path.resolve()
    if _is_special(target):
        with target.open("wb") as stream:
            stream.write(data)
        return
    part = target.with_name(f".{os.urandom(8).hex()}.unlisted")
    try:
        with part.open("xb") as stream:
            stream.write(data)
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _is_special(target: Path) -> bool:
    return target.exists() and not target.is_file()


__all__ = ["check_preview", "check_writable", "run_and_write", "working", "write_file", "write_preview"]

_WRITERS: dict[Format, Callable[[Release], bytes]] = {
    "table": lambda release: f"{as_text(release)}\n".encode("utf-8", "backslashreplace"),
    "json": lambda release: as_json(release.as_dict()),
    "csv": as_csv,
    "parquet": as_parquet,
}


def run_and_write(plan: Plan, options: OutputOptions, source: str, idempotency_key: str | None = None) -> None:
    """Run a plan and put its release where it was asked for."""
    check_writable(options, source)
    with stoppable(), working("Counting"):
        release = plan.run(idempotency_key=idempotency_key)
    write_release(release, options)
    if release.stamp is not None:
        stamp = release.stamp
        paid = f"Paid by {stamp['account']!r}: entry {stamp['entry']} of the data set {stamp['dataset']!r}"
        typer.echo(escaped(paid), err=True)


def check_writable(options: OutputOptions, source: str | None = None) -> None:
    """Refuse what could not be written, while that still costs nothing."""
    if options.output is None and sys.stdout is None:
        raise InvalidArgumentError("--output", None, "given where there is no standard output")
    if options.format == "parquet" and options.output is None and sys.stdout.isatty():
        raise InvalidArgumentError("--format", "parquet", "with --output FILE", "Parquet is not for a screen.")
    if options.chart is not None:
        from unlisted.release.charts import require_format  # noqa: PLC0415 - an extra

        require_format(options.chart)
    named = {"--output": options.output, "--chart": options.chart, "--receipt": options.receipt}
    files = {name: path for name, path in named.items() if path is not None}
    for name, path in files.items():
        require_writable(name, path)
        if source is not None and _are_one(path, Path(source)):
            raise InvalidArgumentError(name, str(path), "another file than the SOURCE", "It would be overwritten.")
    for (first, path), (second, other) in combinations(files.items(), 2):
        if _are_one(path, other):
            raise InvalidArgumentError(second, str(other), f"another file than {first}")


def write_release(release: Release, options: OutputOptions) -> None:
    """Write an answer, its chart and its receipt."""
    # The answer is already paid for: it is written first, and whatever fails does not keep the rest from being
    # written.
    data = _WRITERS[options.format](release)
    shut, failed = False, False
    if options.output is not None and _written(options.output, lambda: data):
        typer.echo(f"Wrote {len(release):,} rows to {escaped(str(options.output))}", err=True)
    else:
        failed = options.output is not None
        try:
            _show(release, data, options.format)
        except BrokenPipeError:
            shut = True
        except OSError as failure:
            failed = True
            _say_not_written("the answer", failure)
    if options.receipt is not None:
        failed |= not _written(options.receipt, lambda: as_json(release.receipt()))
    if options.chart is not None:
        failed |= not _written(options.chart, lambda: _drawn(release, options.chart))
    if shut:
        raise BrokenPipeError
    if failed:
        raise typer.Exit(CHARGED)


def check_preview(options: OutputOptions) -> None:
    """Refuse what a preview does not have."""
    if options.format not in ("table", "json"):
        raise InvalidArgumentError("--format", options.format, "table or json", "A preview has no rows.")
    if options.receipt is not None:
        raise InvalidArgumentError(
            "--receipt", str(options.receipt), "left out", "A preview promises nothing yet."
        )
    check_writable(options)


def write_preview(plan: Plan, options: OutputOptions, account: Account | None = None) -> None:
    """Write what a plan would cost and how good it would be, and whether its account could pay."""
    from unlisted.cli.budgets import affordable  # noqa: PLC0415 - most previews ask no account

    paid, said = ({}, "") if account is None else affordable(plan.guarantee, account.balance())
    is_json = options.format == "json"
    data = as_json(plan.preview() | paid) if is_json else f"{plan}\n{said}".encode("utf-8", "backslashreplace")
    if options.output is None:
        _put(data)
    elif not _written(options.output, lambda: data):
        raise InvalidArgumentError("--output", str(options.output), "a file that can be written to")
    if options.chart is not None:
        _written(options.chart, lambda: _drawn(plan, options.chart))


def print_table(release: Release) -> None:
    """Print an answer for a person: a table, the guarantee, what was charged, and why things are missing."""
    from rich.console import Console  # noqa: PLC0415 - only a screen needs it
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(soft_wrap=True)
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for name in release.table.column_names:
        drawn.add_column(Text(printable(name)), justify="right" if name in NUMBERS else "left")
    for row in release.rows:
        # Labels are data: printed as text, never read as markup.
        drawn.add_row(*(Text(printable(value)) for value in row.values()))
    # Captured and then written by us: Rich itself would end the program where nobody reads any more.
    with console.capture() as captured:
        console.print(Text(f"{len(release):,} rows; {release.reading}"), style="dim")
        console.print(drawn)
        for line in promises(release):
            console.print(Text(line), style="dim")
        if missing := _missing(release):
            console.print(Text(missing), style="dim")
    typer.echo(captured.get(), nl=False)


def _show(release: Release, data: bytes, kind: Format) -> None:
    """Put an answer on the standard output."""
    if kind == "table":
        print_table(release)
    elif kind == "csv" and sys.stdout.isatty():
        typer.echo(escaped(data.decode(), kept="\n"), nl=False)
    else:
        _put(data)
    # A full disk shows now, while it can still be told.
    sys.stdout.flush()


def _put(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _written(path: Path, made: Callable[[], bytes]) -> bool:
    """Make and write a file; if that fails, say so and go on."""
    try:
        write_file(path, made())
    except OSError as failure:
        _say_not_written(escaped(str(path)), failure)
        return False
    return True


def _say_not_written(what: str, failure: OSError) -> None:
    typer.echo(f"unlisted: {what} was not written: {failure.strerror or 'it cannot be'}", err=True)


def _drawn(drawable: Release | Plan, path: Path | None) -> bytes:
    from unlisted.release.charts import chart_bytes  # noqa: PLC0415 - an extra

    assert path is not None  # a chart is drawn only where one was asked for
    return chart_bytes(drawable.chart(), path)


def _missing(release: Release) -> str:
    """Say why values are not in an answer."""
    plan, counted = release.plan, release.plan["count"]
    if "k" in plan:
        what = "nothing else" if release.rows else "nothing"
        early = f"The ranking ended after {len(release):,} of {plan['k']:,}: {what} was common enough to tell."
        return "" if release.complete else early
    needed, alone = plan["users_needed"], plan.get("users_needed_of_one_item")
    bound = plan.get("items_looked_at") or plan["items_per_user"]
    if alone is not None and bound > 1:
        return (
            f"A value needs about {alone['50']:,} users who have no other, or {needed['50']:,} who have "
            f"{bound:,} each; from {alone['99']:,} or {needed['99']:,} on it almost surely "
            "appears."
        )
    beyond = " beyond the first count left out" if plan["users_needed_above_cut"] else ""
    return (
        f"Values with fewer than about {needed['50']:,} {counted}{beyond} are held back; "
        f"from {needed['99']:,} on they almost surely appear."
    )


def _are_one(one: Path, other: Path) -> bool:
    """Return whether two paths lead to the same file, or would."""
    try:
        return one.expanduser().resolve() == other.expanduser().resolve()
    except (OSError, RuntimeError, ValueError):  # a URL, or what no file can be called
        return False


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that something is going on, once it has taken a second; never in a pipe or a log."""
    if sys.stderr is None or not sys.stderr.isatty():
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
