"""`unlisted sql` and `unlisted counts`: a statement to run elsewhere, and a release of what came back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, make_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer

from unlisted.cli.options import (
    COUNT_PANEL,
    SOURCE_PANEL,
    AdjacencyTyped,
    Asked,
    PayerOptions,
    as_field,
    grouped,
)
from unlisted.cli.output import run_and_write
from unlisted.cli.output_options import OutputOptions
from unlisted.counts.bounded_counts import Ties
from unlisted.errors import InvalidArgumentError
from unlisted.query.counts_elsewhere import DEFAULT_FETCH, CountedFor, counting_sql, read_counts
from unlisted.query.options import AMOUNTS, Option, own_options, read_whole
from unlisted.query.private_counts import PrivateCounts
from unlisted.query.question import Question
from unlisted.query.questions import KINDS, Histogram, Top, TopHistogram
from unlisted.tables.count_query import LONGEST_LABEL

Answered = Literal["histogram", "top", "top-histogram", "distinct"]

_COUNTED = {
    "items_per_user": Option(
        "whole", "The most items that one user counts for; a random choice is kept of users with more.", read_whole
    ),
    **{name: own_options(TopHistogram)[name] for name in ("count", "rows_per_item", "fetch", "max_label_bytes")},
}
"""What decides which counts a statement hands over."""


def _statement_options(kind: CountedFor) -> Any:
    """Return the options of the statement for one kind of question; a histogram needs all counts."""
    defaults: dict[str, Any] = {"count": "users", "fetch": DEFAULT_FETCH, "max_label_bytes": LONGEST_LABEL}
    known = {name: about for name, about in _COUNTED.items() if name != "fetch" or kind != "histogram"}
    made = [as_field(name, about, defaults.get(name)) for name, about in known.items()]
    return make_dataclass("StatementOptions", made, bases=(Asked,), frozen=True, kw_only=True)


def _said(help_: str, panel: str = SOURCE_PANEL, **how: Any) -> Any:
    return typer.Option(help=help_, rich_help_panel=panel, show_default=False, **how)


sql = typer.Typer(
    help="Print SQL that counts within bounds, for a warehouse that is not reached from here. Release from its "
    "answer with `unlisted counts`."
)


def _statement(kind: CountedFor) -> Callable[..., None]:
    """Return the verb that prints the statement for one kind of question."""

    def printed(
        dialect: Annotated[
            str, _said("The system's SQL: bigquery, snowflake, databricks, redshift, trino, tsql, …")
        ],
        table: Annotated[str, _said("The table or view, as the system has its name.")],
        user: Annotated[str, _said("The column that says whose row it is: text or whole numbers.")],
        item: Annotated[list[str], _said("The column whose values are counted, as text; several make one item.")],
        counted: Any,
    ) -> None:
        said = {one.name: getattr(counted, one.name) for one in fields(counted)}
        typer.echo(counting_sql(kind, dialect=dialect, table=table, user=user, item=item, **said), nl=False)

    printed.__annotations__["counted"] = _statement_options(kind)
    printed.__doc__ = f"Print the statement that counts for a {kind}, with a fresh secret in it: use it once."
    return grouped(printed)


for _kind in get_args(CountedFor):
    sql.command(_kind)(_statement(_kind))


_ASKED: Any = make_dataclass(
    "CountsQuestionOptions",
    [
        as_field("k", own_options(Top)["k"], None),
        as_field("counts", own_options(Top)["counts"], default=False),
        as_field("noise", own_options(Histogram)["noise"], "auto"),
        as_field("per_item_epsilon", own_options(Top)["per_item_epsilon"], None),
        *(as_field(name, about, ...) for name, about in AMOUNTS.items()),
    ],
    bases=(Asked,),
    frozen=True,
    kw_only=True,
)
_ONLY_IF_SAID = {"counts": False, "noise": "auto"}


@dataclass(frozen=True, kw_only=True)
class DeclaredOptions:
    """Where the counts are, and what their owner can vouch for where the file does not say it itself."""

    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="What came back: CSV, JSON or Parquet; or a JSON answer of Elasticsearch, OpenSearch or Pinot.",
            show_default=False,
        ),
    ]
    item: Annotated[list[str] | None, _said("The column of labels, where the file does not say it.")] = None
    count_column: Annotated[str | None, _said("The column of counts, likewise.", metavar="COLUMN")] = None
    user: Annotated[str | None, _said("Whose counts they are, as a data set of a ledger has it.")] = None
    items_per_user: Annotated[
        int | None,
        _said("Declare: one user contributed to at most so many labels.", COUNT_PANEL, metavar="N", min=1),
    ] = None
    count_per_item: Annotated[
        int | None,
        _said("Declare: one user added at most so much to one count; 1 unless said.", COUNT_PANEL, min=1),
    ] = None
    fetch: Annotated[
        int | None,
        _said("Declare: these are only the KBAR + 1 largest counts.", COUNT_PANEL, metavar="KBAR", min=1),
    ] = None
    minimum_count: Annotated[
        int | None, _said("Declare: counts below were cut off, as by HAVING.", COUNT_PANEL, min=1)
    ] = None
    ties: Annotated[
        Ties | None, _said("Declare how equal counts were cut off: by label, or unknown.", COUNT_PANEL)
    ] = None
    adjacency: Annotated[
        AdjacencyTyped, _said("Protect a user's presence, or also what a present user holds.", COUNT_PANEL)
    ] = "add-remove"

    def read(self) -> PrivateCounts:
        """Read the counts."""
        said = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("file", "adjacency")}
        return read_counts(self.file, adjacency="replace" if self.adjacency == "replace" else "add_remove", **said)


def _counts(
    brought: DeclaredOptions,
    asked: Any,
    paid: PayerOptions,
    written: OutputOptions,
    question: Annotated[
        Answered | None, _said("What to release; left out, what the statement was printed for.", COUNT_PANEL)
    ] = None,
) -> None:
    """Release from counts that another system made.

    The answer to a statement of `unlisted sql` says itself within which bounds it was counted. Of any other file,
    declare them: the whole guarantee rests on it, and nothing can check it.
    """
    made = brought.read()
    kind = _kind_of(question or made.meant_for)
    typed = asked.said([]).items()
    said = {name: value for name, value in typed if value not in (None, (), _ONLY_IF_SAID.get(name))}
    with paid.payer() as account:
        read = kind.read(made.filled(kind, said), account)
        run_and_write(made.plan(read, account=account), written, [str(brought.file)], paid.idempotency_key)


_counts.__annotations__["asked"] = _ASKED
counts = grouped(_counts)


def _kind_of(name: str | None) -> type[Question]:
    if name is None:
        hint = "The file does not say what it was counted for."
        raise InvalidArgumentError("--question", None, f"given: one of {', '.join(get_args(Answered))}", hint)
    return KINDS[name]
