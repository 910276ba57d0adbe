"""What a person types: the source, the question, who pays, and where the answer goes.

The options of a question are made from its fields (`query/questions.py`), so that there is one place to add one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from unlisted.errors import InvalidArgumentError
from unlisted.ledger import ledger_class
from unlisted.privacy.guarantee import Budget
from unlisted.query.options import AMOUNTS, Option, read_budget
from unlisted.query.private_table import PrivateTable, table
from unlisted.query.questions import Question, defaults_of, own_options

if TYPE_CHECKING:
    from unlisted.ledger.account import Account
    from unlisted.ledger.ledger import Ledger

SOURCE_PANEL, COUNT_PANEL, BUDGET_PANEL, OUTPUT_PANEL = "Data", "What is counted", "Budget", "Answer"

Format = Literal["table", "json", "csv", "parquet"]
AdjacencyTyped = Literal["add-remove", "replace"]


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


_UNREAD: Any = typer.Option(help="Not needed: no data is touched.", rich_help_panel=SOURCE_PANEL)


@dataclass(frozen=True)
class UnreadOptions:
    """Where the rows would be: what a preview takes and does not need, so that a question can be typed once."""

    user: Annotated[str | None, _UNREAD] = None
    item: Annotated[list[str] | None, _UNREAD] = None
    table: Annotated[str | None, _UNREAD] = None
    types: Annotated[list[str] | None, _UNREAD] = None


_TYPED: Mapping[str, dict[str, Any]] = {
    "k": {"param_decls": ("-k", "--k")},
    "fetch": {"metavar": "KBAR"},
    "where": {"metavar": "PREDICATE"},
    "epsilon": {"metavar": "E"},
    "rho": {"metavar": "R"},
    "delta": {"metavar": "D"},
    "per_item_epsilon": {"metavar": "E"},
}
"""What an option looks like in a shell, where its name alone does not say it."""

_ABOUT_MONEY = ("noise", "per_item_epsilon", *AMOUNTS)


@dataclass(frozen=True)
class Asked:
    """What was typed about a question. `question_options` makes a class of these with a field for each option."""

    def said(self, items: list[str] | None) -> dict[str, Any]:
        """Return what was typed, as `Question.read` takes it."""
        typed = {one.name: getattr(self, one.name) for one in fields(self)}
        if isinstance(typed.get("fetch"), str):
            typed["fetch"] = _read_fetch(typed["fetch"])
        if "adjacency" in typed:
            typed["adjacency"] = typed["adjacency"].replace("-", "_")
        # The price does not depend on the name of a column, so a preview need not say one.
        return {**typed, "items": tuple(items or ["item"])}


def question_options(kind: type[Question]) -> type[Asked]:
    """Return a group of options, one for each that a kind of question has, and for its budget."""
    defaults = defaults_of(kind)
    options = {name: about for name, about in own_options(kind).items() if name != "items"} | dict(AMOUNTS)
    made = [
        _as_field(name, about, defaults.get(name, ...), required=name == "k") for name, about in options.items()
    ]
    group: type[Asked] = make_dataclass(f"{kind.__name__}Options", made, bases=(Asked,), frozen=True, kw_only=True)
    return group


def _as_field(name: str, about: Option, default: Any, *, required: bool) -> tuple[str, Any, Any]:
    how = dict(_TYPED.get(name, {}))
    panel = BUDGET_PANEL if name in _ABOUT_MONEY else COUNT_PANEL
    spelt = how.pop("param_decls", (f"--{name.replace('_', '-')}",))
    kind = _shell_type(name, about)
    if about.owners:
        default = str(default).replace("_", "-")
    told = typer.Option(*spelt, help=about.help, rich_help_panel=panel, show_default=not required, **how)
    if required:
        return (name, Annotated[kind, told], field())
    return (name, Annotated[kind, told], field(default=None if default is ... else default))


def _shell_type(name: str, about: Option) -> Any:
    """Return what the shell reads an option as; amounts stay texts, to be read exactly."""
    if name == "fetch" and "all" in about.help:
        return str | None
    if about.kind == "choice":
        words = tuple(word.replace("_", "-") for word in about.choices)
        return Literal[words]
    return {"whole": int | None, "amount": str | None, "text": str | None, "switch": bool}[about.kind]


@dataclass(frozen=True)
class PayerOptions:
    """Which account pays."""

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


class _Amounts(Asked):
    """What a budget may be said as."""

    def budget(self) -> Budget:
        """Return the budget, or say what is missing."""
        return read_budget({one.name: getattr(self, one.name) for one in fields(self)})


BudgetOptions: Any = make_dataclass(
    "BudgetOptions",
    [_as_field(name, about, ..., required=False) for name, about in AMOUNTS.items()],
    bases=(_Amounts,),
    frozen=True,
    kw_only=True,
)
"""A budget in a shell, for what is no question: --epsilon or --rho, and --delta."""


@dataclass(frozen=True)
class OutputOptions:
    """Where the answer goes."""

    format: Annotated[Format, typer.Option(help="How the answer is written.", rich_help_panel=OUTPUT_PANEL)] = (
        "table"
    )
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


def _read_fetch(text: str) -> int | Literal["all"]:
    """Read --fetch: a whole number, or `all`."""
    if text == "all":
        return "all"
    if not text.isascii() or not text.isdigit():
        raise InvalidArgumentError("--fetch", text, "a whole number, 1 or above, or all")
    return int(text)
