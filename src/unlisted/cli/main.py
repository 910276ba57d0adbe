"""The `unlisted` command and its verbs."""

from __future__ import annotations

import sys
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from unlisted import __version__
from unlisted.cli.exits import INTERRUPTED, Verbs, logging_to

VERBS = {
    "histogram": "ask",
    "top": "ask",
    "top-histogram": "ask",
    "labels": "ask",
    "users": "ask",
    "distinct": "ask",
    "preview": "ask",
    "sql": "elsewhere",
    "counts": "elsewhere",
    "check": "check",
    "columns": "check",
    "account": "account",
    "dataset": "dataset",
    "ledger": "ledger",
    "stream": "stream",
    "audit": "audit",
    "serve": "serve",
    "mcp": "mcp",
    "key": "key",
    "demo": "demo",
}
"""Every verb, and the module that it is in. Only the one that is typed is imported: all of them together
take longer to set up than a small question takes to answer."""


def application(*verbs: str) -> typer.Typer:
    """Return the command with some of its verbs, or with all."""
    app = typer.Typer(
        name="unlisted",
        cls=Verbs,
        help="Private counts when nobody has the list.",
        no_args_is_help=True,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_main)
    for verb in verbs or VERBS:
        found = getattr(import_module(f"unlisted.cli.{VERBS[verb]}"), verb.replace("-", "_"))
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=verb, no_args_is_help=True)
        else:
            app.command(verb)(found)
    return app


def _version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


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
            help="Append the causes of failures to this file. They can quote rows: protect it like the data.",
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
    typed = sys.argv[1:2]
    # A lone verb is never a lone command to Typer as long as the callback is there.
    app = application(*typed) if typed and typed[0] in VERBS else application()
    try:
        # Also where it is run as `python -m unlisted`.
        app(prog_name="unlisted")
    except KeyboardInterrupt:
        # Before a verb starts nobody else catches it.
        sys.exit(INTERRUPTED)
