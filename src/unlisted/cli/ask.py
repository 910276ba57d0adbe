"""`unlisted histogram`, `top`, `top-histogram`, `labels`: one verb for each kind of question, and all alike.

`unlisted preview` says what each would cost and how good its answer would be, and touches no data. Their options
are the fields of the question (`query/questions.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from unlisted.cli.options import (
    OutputOptions,
    PayerOptions,
    SourceOptions,
    UnreadOptions,
    grouped,
    question_options,
)
from unlisted.cli.output import check_preview, run_and_write, write_preview
from unlisted.query.planner import plan_of
from unlisted.query.questions import KINDS, Histogram, Labels, Question, Top, TopHistogram

ABOUT: dict[type[Question], str] = {
    Histogram: """Release the counts of a column's values, each with noise, if enough users share the value.

    Nobody needs to know the values beforehand, and a value that only a few users have stays hidden.
    """,
    Top: """Rank the most common values of a column.

    Only the order is released, so one user may hold any number of items. If fewer than k values are common
    enough, the ranking ends early.
    """,
    TopHistogram: """Release the counts of the most common values, reading only the largest counts.

    For engines that answer a top-k query quickly and a full one slowly. Values compete with the first count that
    was left out.
    """,
    Labels: """Release the values of a column that enough users share: the values alone, without counts or order.

    More of them come out than with `unlisted histogram` at the same price, where users have many values each.
    """,
}
"""What each verb does, as its help says it."""


def _verb(kind: type[Question]) -> Callable[..., None]:
    """Return the verb that asks one kind of question."""

    def ask(rows: SourceOptions, asked: Any, paid: PayerOptions, written: OutputOptions) -> None:
        with paid.payer() as account:
            question = kind.read(asked.said(rows.item), account)
            plan = rows.open().plan(question, account=account)
            run_and_write(plan, written, rows.source, paid.idempotency_key)

    ask.__annotations__["asked"] = question_options(kind)
    ask.__doc__ = ABOUT[kind]
    return grouped(ask)


histogram, top, top_histogram, labels = (_verb(kind) for kind in (Histogram, Top, TopHistogram, Labels))


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
