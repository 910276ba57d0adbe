"""`unlisted mcp`: questions of an assistant, from one account."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unlisted.errors import MissingExtraError


def mcp(
    config: Annotated[
        Path,
        typer.Option(metavar="FILE", help="The configuration of the service, unlisted.toml.", show_default=False),
    ],
    account: Annotated[
        str,
        typer.Option(metavar="NAME", help="The account that pays; its data set is offered.", show_default=False),
    ],
) -> None:
    """Answer an assistant over the Model Context Protocol, from one account.

    The assistant can list columns, preview, ask and see the balance. Previews and repeats are free, and the
    account cannot be overdrawn. Standard input and output are the protocol's: an assistant starts this command.
    """
    try:
        from unlisted.server.assistant import serve_assistant  # noqa: PLC0415 - an extra
        from unlisted.server.config import read_config  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise MissingExtraError("The service for assistants", "the mcp package", "mcp") from None
    serve_assistant(read_config(config), account)
