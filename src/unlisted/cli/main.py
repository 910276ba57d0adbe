"""The `unlisted` command and its verbs."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from unlisted import __version__
from unlisted.cli.account import account
from unlisted.cli.audit import audit
from unlisted.cli.dataset import dataset
from unlisted.cli.demo import demo
from unlisted.cli.exits import Verbs, logging_to
from unlisted.cli.histogram import histogram
from unlisted.cli.key import key
from unlisted.cli.ledger import ledger
from unlisted.cli.preview import preview
from unlisted.cli.serve import serve
from unlisted.cli.stream import stream
from unlisted.cli.top import top
from unlisted.cli.top_histogram import top_histogram

app = typer.Typer(
    name="unlisted",
    cls=Verbs,
    help="Private counts when nobody has the list.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("histogram")(histogram)
app.command("top")(top)
app.command("top-histogram")(top_histogram)
app.add_typer(preview, name="preview", no_args_is_help=True)
app.add_typer(account, name="account")
app.add_typer(dataset, name="dataset")
app.add_typer(ledger, name="ledger")
app.add_typer(stream, name="stream")
app.command("audit")(audit)
app.command("serve")(serve)
app.add_typer(key, name="key")
app.command("demo")(demo)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _main(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - its callback prints and leaves
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    log: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            envvar="UNLISTED_LOG",
            help="Append the causes of failures to this file. They can quote rows: keep it as close as the data.",
        ),
    ] = None,
) -> None:
    """Private counts when nobody has the list."""
    context.with_resource(logging_to(log))


def main() -> None:
    """Run the command line and leave with its exit code."""
    for written in (sys.stdout, sys.stderr):
        if isinstance(written, TextIOWrapper):
            # A screen that has no ε must not stop an answer that is paid for.
            written.reconfigure(errors="backslashreplace")
    # Also where it is run as `python -m unlisted`.
    app(prog_name="unlisted")
