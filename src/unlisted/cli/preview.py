"""`unlisted preview`: what a question would cost and how good its answer would be. Touches no data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from unlisted.cli.groups import grouped
from unlisted.cli.options import OutputOptions, PayerOptions, UnreadOptions, question_options
from unlisted.cli.output import check_preview, write_preview
from unlisted.query.planner import plan_of
from unlisted.query.questions import KINDS, Question

preview = typer.Typer(help="Say what a question would cost and how good its answer would be. Touches no data.")


def _previewed(kind: type[Question]) -> Callable[..., None]:
    """Return the verb that previews one kind of question."""

    def shown(named: UnreadOptions, asked: Any, paid: PayerOptions, written: OutputOptions) -> None:
        check_preview(written)
        with paid.payer() as account:
            question = kind.read(asked.said(named.item), account)
            write_preview(plan_of(question, account=account), written, account)

    shown.__annotations__["asked"] = question_options(kind)
    shown.__doc__ = f"Preview `unlisted {kind.kind}`."
    return grouped(shown)


for _name, _kind in KINDS.items():
    preview.command(_name)(_previewed(_kind))
