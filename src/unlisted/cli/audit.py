"""`unlisted audit`: check the guarantees of our mechanisms, by their exact laws and by running them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from unlisted import __version__
from unlisted.cli.output import may_be_written, write_file
from unlisted.errors import InvalidArgumentError
from unlisted.release.export import as_json
from unlisted.release.release import escaped

if TYPE_CHECKING:
    from unlisted.audit.audits import Audit
    from unlisted.audit.subject import Subject

VIOLATED = 1


class AuditFormat(StrEnum):
    """How the table is written."""

    table = "table"
    json = "json"


def audit(
    mechanisms: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MECHANISM]...", help="Which mechanisms; by default all of them.", show_default=False
        ),
    ] = None,
    trials: Annotated[
        int,
        typer.Option(metavar="N", help="How often to run each on either neighbour; 0 checks the exact laws only."),
    ] = 100_000,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a report with charts.")] = None,
    mutants: Annotated[
        bool,
        typer.Option("--mutants", help="Audit mutants, mechanisms with a deliberate mistake, to see them caught."),
    ] = False,
    format_: Annotated[
        AuditFormat, typer.Option("--format", help="How the table is written.")
    ] = AuditFormat.table,
) -> None:
    """Audit the guarantees of our mechanisms: exact laws on small data, and many runs against the claim.

    Leaves with 1 if a claim is false, or with --mutants if one is not caught. All data is made up by the audit.
    """
    if mutants:
        _catch_mutants(format_)
        return
    subjects = _chosen(mechanisms or [])
    _check_trials(trials)
    _check_html(html)
    with _progress(len(subjects)) as told:
        audits = [_audited(subject(), trials, told) for subject in subjects]
    _write(audits, format_)
    if html is not None:
        write_file(html, _report(audits).encode())
        typer.echo(f"Wrote the report to {escaped(str(html))}", err=True)
    from unlisted.audit.audits import worst_of  # noqa: PLC0415 - the audit is not part of an ordinary start
    from unlisted.audit.lemma import Verdict  # noqa: PLC0415

    if worst_of(audits) is Verdict.violated:
        raise typer.Exit(VIOLATED)


def _chosen(names: Sequence[str]) -> list[Callable[[], Subject]]:
    from unlisted.audit.subjects.catalogue import OURS  # noqa: PLC0415

    for name in names:
        if name not in OURS:
            raise InvalidArgumentError("MECHANISM", name, ", ".join(OURS))
    return [OURS[name] for name in names or OURS]


def _check_trials(trials: int) -> None:
    from unlisted.audit.black_box import LEAST_TRIALS  # noqa: PLC0415

    if trials != 0 and trials < LEAST_TRIALS:
        raise InvalidArgumentError("--trials", trials, f"0, or {LEAST_TRIALS} or above")


def _check_html(html: Path | None) -> None:
    """Refuse a report that could not be written, before minutes are spent on it."""
    if html is None:
        return
    from unlisted.release.charts import require_format  # noqa: PLC0415 - an extra

    if html.suffix.lower() != ".html":
        raise InvalidArgumentError("--html", str(html), "a file that ends in .html")
    if not may_be_written(html):
        raise InvalidArgumentError("--html", str(html), "a file in a folder that can be written to")
    require_format(html)


def _audited(subject: Subject, trials: int, told: Callable[[str, float], None]) -> Audit:
    from unlisted.audit.audits import audit as run_audit  # noqa: PLC0415

    return run_audit(subject, trials, lambda share: told(subject.name, share))


@contextmanager
def _progress(subjects: int) -> Iterator[Callable[[str, float], None]]:
    """Show a bar on a terminal; never in a pipe or a log."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _name, _share: None
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Auditing", total=subjects)
        yield lambda name, share: bar.update(task, advance=share, description=name)


def _write(audits: Sequence[Audit], format_: AuditFormat) -> None:
    from unlisted.audit.report import COLUMNS, LEGEND, as_dict, as_row  # noqa: PLC0415

    if format_ is AuditFormat.json:
        typer.echo(as_json([as_dict(one) for one in audits]).decode(), nl=False)
        return
    _print_table(COLUMNS, [as_row(one) for one in audits])
    typer.echo()
    for name, said in LEGEND.items():
        typer.secho(fill(f"{name}: {said}", 110), dim=True)


def _print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under each other, as wide as they are; what an audit is run for stands out."""
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    for line in (columns, *rows):
        text = "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        typer.secho(text, bold=line is columns, fg="red" if line[-1] == "violated" else None)


def _catch_mutants(format_: AuditFormat) -> None:
    """Set both auditors on every mutant."""
    from unlisted.audit.mutants.catalogue import COLUMNS, all_mutants, catch  # noqa: PLC0415

    mutants = all_mutants()
    caught = []
    with _progress(len(mutants)) as told:
        for mutant in mutants:
            caught.append(catch(mutant))
            told(mutant.subject.name, 1.0)
    if format_ is AuditFormat.json:
        typer.echo(as_json([dict(zip(COLUMNS, one.as_row(), strict=True)) for one in caught]).decode(), nl=False)
    else:
        _print_table(COLUMNS, [one.as_row() for one in caught])
    missed = sum(not one.by_anyone for one in caught)
    typer.echo(f"{len(caught)} mutants, {missed} not caught by any auditor.", err=True)
    if missed:
        raise typer.Exit(VIOLATED)


def _report(audits: Sequence[Audit]) -> str:
    from unlisted.audit.report import CURVES, curves_of, page  # noqa: PLC0415
    from unlisted.release.charts import PAGE_INK, chart_bytes, privacy_chart  # noqa: PLC0415 - an extra

    charts = {}
    for one in audits:
        if points := curves_of(one):
            drawn = chart_bytes(privacy_chart(points, CURVES), Path("chart.svg")).decode()
            charts[one.name] = drawn.replace(PAGE_INK, "currentColor")
    return page(audits, charts, version=__version__, date=f"{datetime.now(UTC):%Y-%m-%d}")
