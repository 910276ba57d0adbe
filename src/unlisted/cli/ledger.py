"""`unlisted ledger`: does the book add up, what happened, and a copy of it all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from unlisted.cli.budgets import FormatOption, LedgerOption, ListChoice, echo_json
from unlisted.cli.options import open_ledger
from unlisted.cli.writing import require_writable, write_file
from unlisted.errors import InvalidArgumentError, LedgerError
from unlisted.ledger.amounts import NOTHING
from unlisted.ledger.entries import Entry
from unlisted.release.charts import chart_bytes, require_format, spending_chart
from unlisted.release.release import escaped

ledger = typer.Typer(help="Verify, read and copy the ledger.", no_args_is_help=True)


@ledger.command("verify")
def verify_ledger(
    ledger: LedgerOption,
    receipt: Annotated[
        list[Path] | None, typer.Option(help="Receipts whose entries must be in the ledger; may be repeated.")
    ] = None,
) -> None:
    """Prove that balances follow from the entries and that no entry was changed. Exit 1 if something is wrong."""
    from unlisted.ledger.verify import verify  # noqa: PLC0415 - an extra

    receipts = [_read_receipt(path) for path in receipt or []]
    with open_ledger(ledger, read_only=True) as book:
        abandoned = book.abandoned_reservations()
    if abandoned:
        _forfeit(ledger, len(abandoned))
    with open_ledger(ledger, read_only=True) as book:
        problems = verify(book, receipts)
        entries = sum(one.last_number for one in book.datasets()) if not problems else 0
    for problem in problems:
        typer.echo(f"violation: {problem}", err=True)
    if problems:
        raise typer.Exit(1)
    typer.echo(f"The ledger adds up: {_so_many(entries, 'entry')}, {_so_many(len(receipts), 'receipt')}.")


@ledger.command("history")
def history(
    ledger: LedgerOption,
    dataset: Annotated[str | None, typer.Option(help="Only this data set.")] = None,
    account: Annotated[str | None, typer.Option(help="Only this account.")] = None,
    format: FormatOption = ListChoice.table,  # noqa: A002
    chart: Annotated[
        Path | None, typer.Option(help="Draw the spending over time: FILE.svg, .png or .html.")
    ] = None,
) -> None:
    """List what happened, oldest first."""
    if chart is not None:
        require_format(chart)
        require_writable("--chart", chart)
    with open_ledger(ledger, read_only=True) as book:
        if dataset is not None:
            book.dataset(dataset)
        if account is not None:
            book.account(account)
        entries = book.history(dataset, account)
    if chart is not None:
        drawn = spending_chart([entry.as_dict() for entry in entries])
        write_file(chart, chart_bytes(drawn, chart))
    if format is ListChoice.json:
        echo_json([entry.as_dict() for entry in entries])
        return
    for entry in entries:
        rho, delta = entry.amount.texts
        whom = f"{entry.dataset}/{entry.account}" if entry.account else entry.dataset
        cost = "" if entry.amount == NOTHING else f"  ρ {float(rho):.6g}  δ {float(delta):.3g}"
        of = "" if entry.reservation is None else f" {entry.reservation}"
        line = f"{entry.time[:19]}  {entry.number:>6}  {entry.kind + of:16}  {whom:32}{cost}{_failures(entry)}"
        typer.echo(line.rstrip())


@ledger.command("export")
def export(
    ledger: LedgerOption,
    output: Annotated[Path | None, typer.Option(help="Write to this file, else to the screen.")] = None,
) -> None:
    """Write every entry as a line of JSON. Equal histories give equal exports."""
    if output is not None:
        require_writable("--output", output)
    with open_ledger(ledger, read_only=True) as book:
        lines = [f"{line}\n" for line in book.export_lines()]
    if output is None:
        typer.echo("".join(lines), nl=False)
    else:
        write_file(output, "".join(lines).encode())
        typer.echo(f"Wrote {len(lines)} entries to {escaped(str(output))}", err=True)


def _failures(entry: Entry) -> str:
    """Say what an entry has to do with failures: which one it is of the account's, or how many there may be."""
    if entry.body.get("failure"):
        return f"  failure {entry.body['failure']:,}"
    return f"  {entry.body['failures']:,} failures" if entry.kind == "allowed" else ""


def _forfeit(ledger: str, abandoned: int) -> None:
    """Write down what dead processes left behind, the one thing about verifying that needs write access."""
    try:
        with open_ledger(ledger) as book:
            forfeited = book.forfeit_abandoned()
    except LedgerError as failure:
        still = _so_many(abandoned, "reservation")
        typer.echo(f"Not forfeited: {still} of processes that are gone, still spent. {failure}", err=True)
    else:
        typer.echo(f"Forfeited {_so_many(forfeited, 'reservation')} of processes that are gone: still spent.")


def _so_many(number: int, what: str) -> str:
    several = f"{what.removesuffix('y')}ies" if what.endswith("y") else f"{what}s"
    return f"{number:,} {what if number == 1 else several}"


def _read_receipt(path: Path) -> dict[str, object]:
    from unlisted.ledger.verify import entry_named_by  # noqa: PLC0415 - an extra

    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidArgumentError("--receipt", str(path), "a file that exists", "It is missing.") from None
    except (OSError, ValueError):
        read = None
    if not isinstance(read, dict):
        raise InvalidArgumentError("--receipt", str(path), "a receipt that `unlisted` wrote")
    if entry_named_by(read) is None:
        hint = "Only answers that an account paid for have an entry."
        raise InvalidArgumentError("--receipt", str(path), "a receipt that names an entry of a ledger", hint)
    return read
