"""From a release to a screen or a file. What can be refused is refused before any data is touched.

Files are written whole or not at all, without harm to what is no file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from unlisted.cli.exits import CHARGED, stoppable
from unlisted.cli.output_options import Format, OutputOptions
from unlisted.errors import InvalidArgumentError, UnlistedError
from unlisted.query.plan import Plan
from unlisted.release.export import as_csv, as_json, as_parquet
from unlisted.release.release import Release, escaped, printable, promises
from unlisted.release.released_too import has_shares, share_texts, totals_as_lines
from unlisted.release.text import as_text

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


def run_and_write(
    plan: Plan, options: OutputOptions, sources: list[str], idempotency_key: str | None = None
) -> None:
    """Run a plan and put its release where it was asked for."""
    check_writable(options, sources)
    with stoppable(), working("Counting"):
        release = plan.run(idempotency_key=idempotency_key)
    write_release(release, options)
    if release.stamp is not None:
        stamp = release.stamp
        paid = f"Paid by {stamp['account']!r}: entry {stamp['entry']} of the data set {stamp['dataset']!r}"
        typer.echo(escaped(paid), err=True)


def check_writable(options: OutputOptions, sources: Sequence[str] = ()) -> None:
    """Refuse what could not be written, while that still costs nothing."""
    if options.output is None and sys.stdout is None:
        raise InvalidArgumentError("--output", None, "given where there is no standard output")
    options.check_form(is_file=options.output is not None and not _is_device(options.output))
    if options.form == "parquet" and options.output is None and sys.stdout.isatty():
        raise InvalidArgumentError("--format", "parquet", "with --output FILE", "Parquet is not for a screen.")
    if options.chart is not None:
        from unlisted.release.charts import require_format  # noqa: PLC0415 - an extra

        require_format(options.chart)
    for name, path in options.files.items():
        require_writable(name, path)
        if any(_are_one(path, Path(source)) for source in sources):
            raise InvalidArgumentError(name, str(path), "a file other than the SOURCE", "It would be overwritten.")
        if path.is_file() and not options.overwrite:
            hint = "It exists already. Give --overwrite to replace it."
            raise InvalidArgumentError(name, str(path), "a file that does not exist yet", hint)
    for (first, path), (second, other) in combinations(options.files.items(), 2):
        if _are_one(path, other):
            raise InvalidArgumentError(second, str(other), f"a file other than {first}")


def write_release(release: Release, options: OutputOptions) -> None:
    """Write an answer, its chart, its receipt and what it means.

    The answer is already paid for. It is written first, and what cannot be written where it was asked for is
    printed or kept in the folder for temporary files: nothing that was released is lost.
    """
    data = _WRITERS[options.form](release)
    shut, failed = False, False
    if options.output is not None and _written(options.output, lambda: data):
        typer.echo(f"Wrote {len(release):,} rows to {escaped(str(options.output))}", err=True)
    else:
        failed = options.output is not None
        try:
            if not (failed and options.form == "parquet" and _kept(data, ".parquet")):
                _show(release, data, options.form)
        except BrokenPipeError:
            shut = True
        except OSError as failure:
            failed = True
            _say_not_written("the answer", failure)
            _kept(data, ".txt" if options.form == "table" else f".{options.form}")
    also: dict[str, Callable[[], bytes]] = {
        "--receipt": lambda: as_json(release.receipt()),
        "--statement": lambda: release.statement().encode("utf-8", "backslashreplace"),
        "--chart": lambda: _drawn(release, options.chart),
    }
    for name, made in also.items():
        if name in options.files:
            failed |= not _written(options.files[name], made, keep=True)
    if shut:
        raise BrokenPipeError
    if failed:
        raise typer.Exit(CHARGED)


def check_preview(options: OutputOptions) -> None:
    """Refuse what a preview does not have."""
    if options.form not in ("table", "json"):
        raise InvalidArgumentError("--format", options.form, "table or json", "A preview has no rows.")
    for name in ("--receipt", "--statement"):
        if name in options.files:
            path = str(options.files[name])
            raise InvalidArgumentError(name, path, "left out", "A preview releases nothing.")
    check_writable(options)


def write_preview(plan: Plan, options: OutputOptions, account: Account | None = None) -> None:
    """Write what a plan would cost and how good it would be, and whether its account could pay."""
    from unlisted.cli.budgets import affordable  # noqa: PLC0415 - most previews ask no account

    paid, said = ({}, "") if account is None else affordable(plan.guarantee, account.balance())
    is_json = options.form == "json"
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
    names, rows = release.table.column_names, [[_cell(value) for value in row.values()] for row in release.rows]
    for name, *cells in zip(names, *rows, strict=True):
        # Labels give way where a line is too narrow: a number that is cut is a wrong one.
        if name in release.number_names:
            drawn.add_column(Text(name), justify="right", min_width=max(map(len, (name, *cells))))
        else:
            drawn.add_column(Text(printable(name)), overflow="fold")
    if has_shares(release):
        rows = [[*row, share] for row, share in zip(rows, share_texts(release), strict=True)]
        drawn.add_column("share of users", no_wrap=True)
    for row in rows:
        # Labels are data: printed as text, never read as markup.
        drawn.add_row(*map(Text, row))
    # Captured and then written by us: Rich itself would end the program where nobody reads any more.
    with console.capture() as captured:
        console.print(Text(f"{len(release):,} rows; {release.reading}"), style="dim")
        console.print(drawn)
        for line in (*totals_as_lines(release), *promises(release)):
            console.print(Text(line), style="dim")
        if missing := _missing(release):
            console.print(Text(missing), style="dim")
    typer.echo(captured.get(), nl=False)


def _cell(value: object) -> str:
    return "" if value is None else printable(value)


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


def _written(path: Path, made: Callable[[], bytes], *, keep: bool = False) -> bool:
    """Make and write a file; if that fails, say so and go on. What was made may be kept elsewhere."""
    data = None
    try:
        data = made()
        write_file(path, data)
    except Exception as failure:  # whatever a chart does, the answer is paid for
        _say_not_written(escaped(str(path)), failure)
        if keep and data is not None:
            _kept(data, path.suffix)
        return False
    return True


def _kept(data: bytes, suffix: str) -> bool:
    """Keep what could not be written where it was asked for among the temporary files, and say where."""
    import tempfile  # noqa: PLC0415 - hardly ever needed

    try:
        with tempfile.NamedTemporaryFile(prefix="unlisted-", suffix=suffix, delete=False) as file:
            file.write(data)
    except OSError:
        return False
    typer.echo(f"unlisted: it is kept in {escaped(file.name)}", err=True)
    return True


def _say_not_written(what: str, failure: Exception) -> None:
    why = getattr(failure, "strerror", None) or (str(failure) if isinstance(failure, UnlistedError) else "")
    typer.echo(f"unlisted: {what} was not written: {escaped(why) or 'it cannot be'}", err=True)


def _is_device(path: Path) -> bool:
    try:
        return _is_special(path.resolve())
    except (OSError, RuntimeError, ValueError):
        return False


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
    if not plan.get("users_needed"):
        # Releases of several rounds have a threshold each, and a total is never missing.
        return ""
    needed, alone = plan["users_needed"], plan.get("users_needed_of_one_item")
    bound = plan.get("items_looked_at") or plan["items_per_user"]
    if alone is not None and bound > 1:
        return (
            f"A value needs about {alone['50']:,} users who have no other, or {needed['50']:,} who have "
            f"{bound:,} each; from {alone['99']:,} or {needed['99']:,} on it almost surely "
            "appears."
        )
    beyond = " beyond the first count left out" if plan["users_needed_above_cut"] else ""
    values = "Values" if "known_threshold" not in plan else "Values that were never shown before"
    # What is shown of the last rounds was decided by what all rounds brought.
    beyond += " in all rounds together" if "window" in plan else ""
    return (
        f"{values} with fewer than about {needed['50']:,} {counted}{beyond} are held back; "
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
