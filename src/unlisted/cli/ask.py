"""`unlisted histogram`, `top`, `labels`, `users` and so on: one verb for each kind of question, and all alike.

`unlisted preview` says what each would cost and how good its answer would be, and touches no data. Their options
are the fields of the question (`query/questions.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unlisted.cli.options import (
    BUDGET_PANEL,
    PayerOptions,
    RowsOptions,
    SourceOptions,
    UnreadOptions,
    grouped,
    question_options,
)
from unlisted.cli.output import check_preview, run_and_write, write_preview
from unlisted.cli.output_options import OutputOptions
from unlisted.query.plan import Plan
from unlisted.query.planner import plan_of
from unlisted.query.question import Question
from unlisted.query.questions import KINDS, Distinct, Histogram, Labels, Top, TopHistogram, Users
from unlisted.query.saying import about_large_delta

if TYPE_CHECKING:
    from unlisted.ledger.account import Account


@dataclass(frozen=True)
class AccuracyOptions:
    """How good a preview's answer is to be, in place of an ε."""

    appears_at: Annotated[
        int | None,
        typer.Option(
            metavar="USERS",
            help="In place of --epsilon: the smallest ε at which an item of so many users appears, 95 % sure.",
            rich_help_panel=BUDGET_PANEL,
        ),
    ] = None
    within: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="In place of --epsilon: the smallest ε at which counts are within ±N, 95 % of the time.",
            rich_help_panel=BUDGET_PANEL,
        ),
    ] = None

    @property
    def is_said(self) -> bool:
        """Whether an accuracy was said."""
        return self.appears_at is not None or self.within is not None

    def epsilon(self, kind: type[Question], said: Mapping[str, Any], account: Account | None) -> str:
        """Return the smallest ε that does it as the account plans it, and say it."""
        from unlisted.query.smallest_epsilon import smallest_epsilon  # noqa: PLC0415 - most say an ε

        wanted = {"appears_at": self.appears_at, "within": self.within}
        found = smallest_epsilon(kind.kind, **wanted, account=account, **said).epsilon
        typer.echo(f"The smallest ε that does it: {float(found):g}", err=True)
        return f"{float(found):.6g}"


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
    Users: """Release how many users there are: one number with noise, which always comes.""",
    Distinct: """Release how many different values a column has, rare ones included: one number with noise.

    One user may have many that nobody else has, so the noise grows with the bound on the items of a user.
    """,
}
"""What each verb does, as its help says it."""


def _verb(kind: type[Question]) -> Callable[..., None]:
    """Return the verb that asks one kind of question."""

    def ask(rows: RowsOptions, asked: Any, paid: PayerOptions, written: OutputOptions) -> None:
        with paid.payer(rows.ledger) as account:
            question = rows.question(kind, asked, account)
            plan = rows.open().plan(question, account=account)
            _warn(plan)
            run_and_write(plan, written, rows.files, paid.idempotency_key)
        if rows.ledger is not None and account is None:
            typer.echo("No account paid, so nobody added this up. To keep books: --account NAME", err=True)

    ask.__annotations__["rows"] = SourceOptions if kind.names_items() else RowsOptions
    ask.__annotations__["asked"] = question_options(kind)
    ask.__doc__ = ABOUT[kind]
    return grouped(ask)


histogram, top, top_histogram, labels = (_verb(kind) for kind in (Histogram, Top, TopHistogram, Labels))
users, distinct = (_verb(kind) for kind in (Users, Distinct))


def _warn(plan: Plan) -> None:
    """Say beside an answer what its plan says by itself."""
    if (warning := about_large_delta(plan)) is not None:
        typer.echo(warning, err=True)


preview = typer.Typer(help="Say what a question would cost and how good its answer would be. Touches no data.")


def _previewed(kind: type[Question]) -> Callable[..., None]:
    """Return the verb that previews one kind of question."""

    def shown(
        named: UnreadOptions, asked: Any, wanted: AccuracyOptions, paid: PayerOptions, written: OutputOptions
    ) -> None:
        check_preview(written)
        with paid.payer() as account:
            # The price does not depend on the name of a column, so a preview need not say one.
            said = asked.said(named.item or ["item"])
            if wanted.is_said:
                said["epsilon"] = wanted.epsilon(kind, said, account)
            question = kind.read(said, account)
            plan = plan_of(question, account=account).of_users(named.declared_users)
            write_preview(plan, written, account)
            if written.form == "json":
                _warn(plan)

    shown.__annotations__["asked"] = question_options(kind)
    shown.__doc__ = f"Preview `unlisted {kind.kind}`."
    return grouped(shown)


for _name, _kind in KINDS.items():
    preview.command(_name)(_previewed(_kind))
