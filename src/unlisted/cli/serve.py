"""`unlisted serve`: the service and the analysts' console."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from unlisted.errors import InvalidArgumentError, MissingExtraError


def serve(
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The configuration, unlisted.toml: what to offer, with which budgets, and where."
        ),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Offer the demo table, with a ledger that lasts as long as the service.")
    ] = False,
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="Listen on this port; 0 takes a free one.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Say whether it could start with this configuration; change nothing.")
    ] = False,
) -> None:
    """Answer many analysts over HTTP, from one shared budget.

    Listens on the loopback address unless the configuration says otherwise; TLS is a proxy's work in front of it.
    Passwords come from the environment or from files that the configuration names, never from the command line.
    """
    if config is not None and demo:
        hint = "The demo makes up all that a configuration would say."
        raise InvalidArgumentError("--config", str(config), "left out with --demo", hint)
    if config is None and not demo:
        raise InvalidArgumentError("--config", None, "given, or --demo instead")
    try:
        from unlisted.query.http_calls import is_this_machine  # noqa: PLC0415 - only to listen
        from unlisted.server import run  # noqa: PLC0415 - an extra
        from unlisted.server.config import read_config  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise MissingExtraError("The service", "FastAPI and uvicorn", "server") from None
    if config is None and check:
        raise InvalidArgumentError("--config", None, "given with --check")
    if config is not None:
        told = read_config(config)
        if check:
            for line in run.check(told):
                typer.echo(line)
            typer.echo("The service can start.")
            return
        told = told if port is None else replace(told, port=port)
        if not is_this_machine(told.host):
            typer.echo("Other machines can connect, without TLS: put a proxy in front.", err=True)
        run.serve(told, typer.echo)
        return
    with run.demo(8080 if port is None else port) as made:
        typer.echo("A demo: everything in it is invented, and ends with it.")
        typer.echo(f"Analyst's key: {made.analyst}")
        typer.echo(f"Admin's key:   {made.admin}")
        run.serve(made.config, typer.echo)
