"""The `unlisted` command: its verbs, and what becomes of an error."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from unlisted import __version__
from unlisted.cli.demo import demo
from unlisted.cli.histogram import histogram
from unlisted.cli.preview import preview
from unlisted.cli.top import top
from unlisted.cli.top_histogram import top_histogram
from unlisted.errors import BudgetRefusedError, ChargedFailureError, UnlistedError

app = typer.Typer(
    name="unlisted",
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
app.command("demo")(demo)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Private counts when nobody has the list."""


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        app()
    except ChargedFailureError as failure:
        _leave(failure, 4)
    except BudgetRefusedError as refusal:
        _leave(refusal, 3)
    except UnlistedError as refusal:
        _leave(refusal, 2)


def _leave(error: UnlistedError, code: int) -> None:
    typer.echo(f"unlisted: {error}", err=True)
    sys.exit(code)
