"""What a person types: the source, what to count, the budget, and where the answer goes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unlisted.asking import Counting, PrivateTable, table
from unlisted.errors import InvalidArgumentError
from unlisted.ledger.extra import ledger_class
from unlisted.planning import Fetch
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.sensitivity import Adjacency

if TYPE_CHECKING:
    from unlisted.ledger.account import Account
    from unlisted.ledger.ledger import Ledger

SOURCE_PANEL, COUNT_PANEL, BUDGET_PANEL, OUTPUT_PANEL = "Data", "What is counted", "Budget", "Answer"


class CountChoice(StrEnum):
    """What a count is a count of."""

    users = "users"
    rows = "rows"


class NoiseChoice(StrEnum):
    """The law of the noise."""

    auto = "auto"
    laplace = "laplace"
    gaussian = "gaussian"


class FormatChoice(StrEnum):
    """How the answer is written."""

    table = "table"
    json = "json"
    csv = "csv"
    parquet = "parquet"


class AdjacencyChoice(StrEnum):
    """What one user more or less means."""

    add_remove = "add-remove"
    replaced = "replace"

    @property
    def known(self) -> Adjacency:
        """What the library calls it."""
        return "add_remove" if self is AdjacencyChoice.add_remove else "replace"


@dataclass(frozen=True)
class SourceOptions:
    """Where the rows are."""

    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A file or glob (Parquet, CSV, JSON lines), or with --table a DuckDB file or a PostgreSQL URL.",
            show_default=False,
        ),
    ]
    user: Annotated[
        str,
        typer.Option(
            help="The column that says whose row it is. Its values are what is protected.",
            rich_help_panel=SOURCE_PANEL,
            show_default=False,
        ),
    ]
    item: Annotated[
        list[str],
        typer.Option(
            help="The column whose values are counted. Give it several times for items made of several columns.",
            rich_help_panel=SOURCE_PANEL,
            show_default=False,
        ),
    ]
    table: Annotated[
        str | None, typer.Option(help="The table inside a database.", rich_help_panel=SOURCE_PANEL)
    ] = None
    types: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=TYPE",
            help="What a column of a CSV or JSON lines file holds, such as age=int; text otherwise.",
            rich_help_panel=SOURCE_PANEL,
        ),
    ] = None

    def open(self) -> PrivateTable:
        """Name the rows; nothing is read yet."""
        return table(self.source, user=self.user, table=self.table, types=self._declared())

    def _declared(self) -> dict[str, str] | None:
        if not self.types:
            return None
        pairs = [text.partition("=") for text in self.types]
        for text, (column, equals, kind) in zip(self.types, pairs, strict=True):
            if not (column and equals and kind):
                raise InvalidArgumentError("types", text, "COLUMN=TYPE", "For example: --types age=int")
        return {column: kind for column, _, kind in pairs}


@dataclass(frozen=True)
class UnreadOptions:
    """Where the rows would be: what a preview takes and does not need, so that a question can be typed once."""

    user: Annotated[
        str | None, typer.Option(help="Not needed: no data is touched.", rich_help_panel=SOURCE_PANEL)
    ] = None
    item: Annotated[
        list[str] | None, typer.Option(help="Not needed: no data is touched.", rich_help_panel=SOURCE_PANEL)
    ] = None
    table: Annotated[
        str | None, typer.Option(help="Not needed: no data is touched.", rich_help_panel=SOURCE_PANEL)
    ] = None
    types: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=TYPE", help="Not needed: no data is touched.", rich_help_panel=SOURCE_PANEL),
    ] = None


ItemsPerUserOption = Annotated[
    int | None,
    typer.Option(
        help="The most distinct items one user counts for; a random choice is kept of users with more.",
        rich_help_panel=COUNT_PANEL,
    ),
]
WhereOption = Annotated[
    str | None,
    typer.Option(
        metavar="PREDICATE",
        help="""A condition on rows, such as "day >= DATE '2025-01-01' AND device = 'phone'".""",
        rich_help_panel=COUNT_PANEL,
    ),
]
AdjacencyOption = Annotated[
    AdjacencyChoice,
    typer.Option(
        help="Protect a user's presence, or also what a present user holds.", rich_help_panel=COUNT_PANEL
    ),
]


@dataclass(frozen=True)
class CountOptions:
    """What is counted, and how much one user can matter."""

    items_per_user: ItemsPerUserOption = None
    count: Annotated[CountChoice, typer.Option(help="Count users, or rows.", rich_help_panel=COUNT_PANEL)] = (
        CountChoice.users
    )
    rows_per_item: Annotated[
        int | None,
        typer.Option(
            help="With --count rows: the most rows of one user that one item counts.", rich_help_panel=COUNT_PANEL
        ),
    ] = None
    where: WhereOption = None
    adjacency: AdjacencyOption = AdjacencyChoice.add_remove

    def counting(self) -> Counting:
        """Return the options as the library takes them."""
        return Counting(
            count="users" if self.count is CountChoice.users else "rows",
            rows_per_item=self.rows_per_item,
            where=self.where,
            adjacency=self.adjacency.known,
        )


@dataclass(frozen=True)
class BudgetOptions:
    """What the answer may cost, and which account pays for it."""

    epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="E", help="The ε of the whole question; δ is then the total.", rich_help_panel=BUDGET_PANEL
        ),
    ] = None
    rho: Annotated[
        str | None,
        typer.Option(
            metavar="R",
            help="The ρ of the whole question, in place of ε; δ is then the threshold's.",
            rich_help_panel=BUDGET_PANEL,
        ),
    ] = None
    delta: Annotated[
        str | None,
        typer.Option(
            metavar="D",
            help="The chance that a rare value slips out; far below 1 / (number of users), such as 1e-8.",
            rich_help_panel=BUDGET_PANEL,
        ),
    ] = None
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="UNLISTED_LEDGER",
            help="The ledger of the account that pays: a file, or a PostgreSQL URL.",
            rich_help_panel=BUDGET_PANEL,
        ),
    ] = None
    account: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The account that pays.", rich_help_panel=BUDGET_PANEL),
    ] = None
    idempotency_key: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="A name for this request: asked again, its first answer comes back at no cost.",
            rich_help_panel=BUDGET_PANEL,
        ),
    ] = None

    @contextmanager
    def payer(self) -> Iterator[Account | None]:
        """Open the account that pays, if one was named."""
        if self.account is None and self.ledger is None:
            yield None
            return
        if self.account is None:
            hint = "A ledger was named, so an account must pay. To keep no books, leave out --ledger."
            raise InvalidArgumentError("--account", None, "given with --ledger", hint)
        if self.ledger is None:
            raise InvalidArgumentError("--ledger", None, "given with --account", "For example: --ledger budget.db")
        with open_ledger(self.ledger) as ledger:
            yield ledger.account(self.account)

    def says_none(self) -> bool:
        """Return whether nothing was said about the cost: an account may know it."""
        return self.epsilon is None and self.rho is None and self.delta is None

    def budget(self) -> Budget:
        """Return the budget, or say what is missing."""
        example = "For example: --epsilon 1 --delta 1e-8"
        if self.epsilon is None and self.rho is None:
            raise InvalidArgumentError("--epsilon", None, "given, or --rho in its place", example)
        if self.epsilon is not None and self.rho is not None:
            raise InvalidArgumentError("--rho", self.rho, "left out with --epsilon", "Say one of the two.")
        if self.delta is None:
            raise InvalidArgumentError("--delta", None, "given", example)
        return Budget(epsilon=self.epsilon, rho=self.rho, delta=self.delta)


@dataclass(frozen=True)
class OutputOptions:
    """Where the answer goes."""

    format: Annotated[
        FormatChoice, typer.Option(help="How the answer is written.", rich_help_panel=OUTPUT_PANEL)
    ] = FormatChoice.table
    output: Annotated[
        Path | None, typer.Option(help="Write the answer to this file.", rich_help_panel=OUTPUT_PANEL)
    ] = None
    chart: Annotated[
        Path | None,
        typer.Option(help="Also draw a chart: FILE.svg, .png or .html.", rich_help_panel=OUTPUT_PANEL),
    ] = None
    receipt: Annotated[
        Path | None,
        typer.Option(help="Also write what was promised, as JSON.", rich_help_panel=OUTPUT_PANEL),
    ] = None


def open_ledger(url: str, *, create: bool = False, read_only: bool = False) -> Ledger:
    """Open the ledger that was named. A mistyped name must not begin a new one that looks in order."""
    return ledger_class()(url, create=create, read_only=read_only)


def read_fetch(text: str | None) -> Fetch | None:
    """Read --fetch: a whole number, or `all`."""
    if text is None or text == "all":
        return None if text is None else "all"
    if not text.isascii() or not text.isdigit():
        raise InvalidArgumentError("--fetch", text, "a whole number, 1 or above, or all")
    return int(text)
