"""`unlisted ledger`: does the book add up, what happened, and a copy of it all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from unlisted.cli.budgets import FormatOption, LedgerOption
from unlisted.cli.options import FormatChoice, open_ledger
from unlisted.cli.output import write_file
from unlisted.errors import InvalidArgumentError

ledger = typer.Typer(help="Verify, read and copy the ledger.", no_args_is_help=True)


@ledger.command("verify")
def verify_ledger(
    ledger: LedgerOption,
    receipt: Annotated[
        list[Path] | None, typer.Option(help="Receipts whose entries must be in the ledger; may be repeated.")
    ] = None,
) -> None:
    """Prove that balances follow from the entries and that no entry was changed. Exit 1 if something is wrong."""
    from unlisted.ledger.verify import forfeit_abandoned, verify  # noqa: PLC0415 - an extra

    receipts = [_read_receipt(path) for path in receipt or []]
    with open_ledger(ledger) as book:
        abandoned = forfeit_abandoned(book)
        problems = verify(book, receipts)
        entries = len(book.history())
    if abandoned:
        typer.echo(f"{abandoned} reservations of processes that are gone were forfeited; they stay spent.")
    for problem in problems:
        typer.echo(f"violation: {problem}", err=True)
    if problems:
        raise typer.Exit(1)
    typer.echo(f"The ledger adds up: {entries} entries, {len(receipts)} receipts.")


@ledger.command("history")
def history(
    ledger: LedgerOption,
    dataset: Annotated[str | None, typer.Option(help="Only this data set.")] = None,
    account: Annotated[str | None, typer.Option(help="Only this account.")] = None,
    format: FormatOption = FormatChoice.table,  # noqa: A002
    chart: Annotated[
        Path | None, typer.Option(help="Draw the spending over time: FILE.svg, .png or .html.")
    ] = None,
) -> None:
    """List what happened, oldest first."""
    from unlisted.ledger.export import entry_as_dict  # noqa: PLC0415 - an extra

    with open_ledger(ledger) as book:
        entries = book.history(dataset, account)
    if chart is not None:
        from unlisted.charts import save_chart, spending_chart  # noqa: PLC0415 - an extra

        save_chart(spending_chart([entry_as_dict(entry) for entry in entries]), chart)
    if format is FormatChoice.json:
        typer.echo(json.dumps([entry_as_dict(entry) for entry in entries], ensure_ascii=False, indent=2))
        return
    for entry in entries:
        rho, delta = entry.amount.texts
        whom = f"{entry.dataset}/{entry.account}" if entry.account else entry.dataset
        cost = f"ρ {float(rho):.6g}  δ {float(delta):.3g}"
        typer.echo(f"{entry.time[:19]}  {entry.number:>6}  {entry.kind:9}  {whom:32}  {cost}")


@ledger.command("export")
def export(
    ledger: LedgerOption,
    output: Annotated[Path | None, typer.Option(help="Write to this file, else to the screen.")] = None,
) -> None:
    """Write every entry as a line of JSON. Equal histories give equal exports."""
    from unlisted.ledger.export import export_lines  # noqa: PLC0415 - an extra

    with open_ledger(ledger) as book:
        lines = [f"{line}\n" for line in export_lines(book)]
    if output is None:
        typer.echo("".join(lines), nl=False)
    else:
        write_file(output, "".join(lines).encode())
        typer.echo(f"Wrote {len(lines)} entries to {output}", err=True)


def _read_receipt(path: Path) -> dict[str, object]:
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InvalidArgumentError("--receipt", str(path), "a receipt that `unlisted` wrote") from None
    if not isinstance(read, dict):
        raise InvalidArgumentError("--receipt", str(path), "a receipt that `unlisted` wrote")
    return read
