"""`unlisted ledger`: does the book add up, what happened, and a copy of it all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unlisted.cli.budgets import FormatOption, LedgerOption, ListChoice, LossOptions, echo_json
from unlisted.cli.options import grouped, open_ledger
from unlisted.cli.output import require_writable, write_file
from unlisted.errors import InvalidArgumentError, LedgerError
from unlisted.ledger.display import said
from unlisted.ledger.entries import Entry
from unlisted.release.charts import chart_bytes, require_format, spending_chart
from unlisted.release.release import escaped

if TYPE_CHECKING:
    from unlisted.ledger.ledger import Ledger

ledger = typer.Typer(help="Verify, read, copy and mend the ledger.", no_args_is_help=True)


ReceiptOption = Annotated[
    list[Path] | None, typer.Option(help="A receipt whose entry must be in the ledger; may be repeated.")
]
ExportOption = Annotated[
    Path | None, typer.Option(help="What `ledger export` wrote: all of it must be in the ledger.")
]


@ledger.command("verify")
def verify_ledger(
    ledger: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The ledger: a file, or a PostgreSQL URL.", envvar="UNLISTED_LEDGER"),
    ] = None,
    receipt: ReceiptOption = None,
    export: ExportOption = None,
    public_key: Annotated[
        Path | None,
        typer.Option(
            help="Check receipts by their signatures, without the ledger: what `ledger public-key` wrote.",
        ),
    ] = None,
) -> None:
    """Prove that balances follow from the entries and that no entry was changed. Exit 1 if something is wrong."""
    from unlisted.ledger.verify import verify  # noqa: PLC0415 - an extra

    receipts = [_read_receipt(path) for path in receipt or []]
    if public_key is not None:
        _verify_signatures(public_key, receipt or [], receipts)
        return
    if ledger is None:
        raise InvalidArgumentError("--ledger", None, "given, or --public-key with receipts")
    exported = None if export is None else _read_lines(export)
    with open_ledger(ledger, read_only=True) as book:
        abandoned = book.abandoned_reservations()
    if abandoned:
        _forfeit(ledger, len(abandoned))
    with open_ledger(ledger, read_only=True) as book:
        problems = verify(book, receipts, exported)
        entries = sum(one.last_number for one in book.datasets()) if not problems else 0
    for problem in problems:
        typer.echo(f"violation: {problem}", err=True)
    if problems:
        raise typer.Exit(1)
    also = "" if export is None else ", and all of the export"
    typer.echo(f"The ledger adds up: {_so_many(entries, 'entry')}, {_so_many(len(receipts), 'receipt')}{also}.")


@ledger.command("public-key")
def public_key(
    ledger: LedgerOption,
    renew: Annotated[
        bool, typer.Option("--renew", help="Sign with a new key from now on; old receipts stay valid.")
    ] = False,
) -> None:
    """Print what receipts of this ledger can be checked with, without the ledger: `verify --public-key`."""
    from unlisted.ledger.signing import as_pem  # noqa: PLC0415 - an extra

    if renew:
        with open_ledger(ledger) as book:
            book.renew_signing_key()
    with open_ledger(ledger, read_only=True) as book:
        for one in book.public_keys():
            typer.echo(as_pem(one), nl=False)


@ledger.command("charge")
@grouped
def charge(
    ledger: LedgerOption,
    stated: LossOptions,
    receipt: ReceiptOption = None,
    export: ExportOption = None,
) -> None:
    """Book what a ledger does not know of, such as what was spent after the copy that it was restored from.

    From an export or receipts, what is missing is found and booked once; or state an amount on a data set.
    """
    from unlisted.ledger.restoring import (  # noqa: PLC0415 - an extra
        book_losses,
        lost_of_export,
        lost_of_receipts,
        read_export,
    )

    if sum((bool(receipt), export is not None, stated.is_said)) != 1:
        hint = "Give one of the three; for more, run the command again."
        raise InvalidArgumentError("--export", None, "given, or --receipt, or an amount with --dataset", hint)
    if stated.is_said:
        _charge_stated(ledger, stated)
        return
    with open_ledger(ledger) as book:
        if export is not None:
            lost = lost_of_export(book, *read_export(_read_lines(export)))
        else:
            lost = lost_of_receipts(book, [_signed_receipt(book, path) for path in receipt or []])
        booked = book_losses(book, lost, stated.reason or "lost with a restored ledger")
        known = {one.name for _, one in book.accounts()}
    for loss, entry in booked:
        whom = loss.dataset if loss.account not in known else f"{loss.dataset}/{loss.account}"
        typer.echo(f"Booked {said(loss.amount)} on {whom}: entry {entry.number}, for {_lost(len(loss.entries))}.")
    if not booked:
        typer.echo("Nothing is missing, so nothing was booked.")
    for one in (*lost.again, *lost.keys):
        typer.echo(f"Lost too, and to be done again if it is still wanted: {one}", err=True)


@ledger.command("forfeit")
def forfeit(
    ledger: LedgerOption,
    dataset: Annotated[str | None, typer.Option(help="Only this data set.", show_default=False)] = None,
    reservation: Annotated[
        list[int] | None,
        typer.Option(help="End this one whoever holds it, with --dataset; may be repeated.", show_default=False),
    ] = None,
) -> None:
    """End questions that nobody will answer: those of processes that are gone, or one that you name.

    They stay charged and count as failures. What is still open is listed with whoever holds it.
    """
    if reservation and dataset is None:
        raise InvalidArgumentError("--dataset", None, "given with --reservation")
    with open_ledger(ledger) as book:
        if dataset is not None:
            book.dataset(dataset)
        for number in reservation or []:
            book.forfeit(dataset or "", number)
        gone = book.forfeit_abandoned(dataset)
        left = book.open_reservations(dataset)
    typer.echo(f"Forfeited {_so_many(gone + len(reservation or []), 'reservation')}: still spent.")
    for one in left:
        typer.echo(f"Open: {one.dataset}/{one.account} {one.number}, held by {one.held_by}")


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
        loss, delta = entry.amount.exact
        whom = f"{entry.dataset}/{entry.account}" if entry.account else entry.dataset
        symbol = entry.amount.accounting.symbol
        cost = f"  {symbol} {float(loss):.6g}  δ {float(delta):.3g}" if loss or delta else ""
        of = "" if entry.reservation is None else f" {entry.reservation}"
        by = f"  by {entry.body['by']}" if "by" in entry.body else ""
        kind = f"{entry.kind + of:16}"
        line = f"{entry.time[:19]}  {entry.number:>6}  {kind}  {whom:32}{cost}{_failures(entry)}{by}"
        typer.echo(line.rstrip())


@ledger.command("export")
def export(
    ledger: LedgerOption,
    output: Annotated[Path | None, typer.Option(help="Write to this file, not to the screen.")] = None,
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


def _lost(entries: int) -> str:
    return f"{_so_many(entries, 'lost entry')}" if entries == 1 else f"{entries:,} lost entries"


def _charge_stated(ledger: str, stated: LossOptions) -> None:
    """Book an amount that the owner states, or all that is left."""
    dataset, account = stated.dataset, stated.account
    if dataset is None:
        raise InvalidArgumentError("--dataset", None, "given with an amount")
    with open_ledger(ledger) as book:
        held = book.dataset(dataset)
        if account is not None and book.account(account).dataset != dataset:
            raise InvalidArgumentError("--account", account, f"an account on {dataset!r}")
        amount = stated.amount(held)
        entry = book.charge(dataset, amount, account=account, reason=stated.reason)
        left = book.dataset(dataset).left
    typer.echo(f"Booked {said(amount)} on {dataset}: entry {entry.number}. Left: {said(left)}.")


def _verify_signatures(public_key: Path, paths: list[Path], receipts: list[dict[str, object]]) -> None:
    from unlisted.ledger.signing import read_public_keys, wrong_with  # noqa: PLC0415 - an extra

    if not receipts:
        raise InvalidArgumentError("--receipt", None, "given with --public-key, at least one")
    try:
        keys = read_public_keys(public_key.read_bytes())
    except OSError:
        raise InvalidArgumentError("--public-key", str(public_key), "a file that can be read") from None
    found = [(path, wrong_with(receipt, keys)) for path, receipt in zip(paths, receipts, strict=True)]
    for path, wrong in found:
        if wrong is not None:
            typer.echo(f"violation: {escaped(str(path))}: {wrong}", err=True)
    if any(wrong is not None for _, wrong in found):
        raise typer.Exit(1)
    typer.echo(f"{_so_many(len(receipts), 'receipt')} signed by this ledger, and unchanged since.")


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InvalidArgumentError("--export", str(path), "a file that `unlisted ledger export` wrote") from None


def _signed_receipt(book: Ledger, path: Path) -> dict[str, object]:
    """Read a receipt; one with a wrong signature must not cost anybody anything."""
    from unlisted.ledger.signing import is_signed, wrong_with  # noqa: PLC0415 - an extra

    receipt = _read_receipt(path)
    wrong = wrong_with(receipt, book.public_keys()) if is_signed(receipt) else None
    if wrong is not None:
        raise InvalidArgumentError(
            "--receipt", str(path), "a receipt of this ledger", f"This one is not: {wrong}."
        )
    return receipt


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
