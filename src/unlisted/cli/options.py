"""What a person types: the source, the question, who pays, and where the answer goes.

The options of a question are made from its fields (`query/questions.py`), so that there is one place to add one.
Typer reads a command's options from its signature: `grouped` gives it the signature it wants, with every field of
every dataclass that a command takes as an option of its own, and hands the command the dataclasses back, filled.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, make_dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_type_hints

import typer

from unlisted.errors import InvalidArgumentError
from unlisted.ledger import ledger_class
from unlisted.privacy.guarantee import Budget
from unlisted.query.options import AMOUNTS, Option, defaults_of, own_options, read_budget
from unlisted.query.private_table import PrivateTable, table
from unlisted.query.question import Question
from unlisted.tables.reading import HELP

if TYPE_CHECKING:
    from unlisted.ledger.account import Account
    from unlisted.ledger.ledger import Ledger
    from unlisted.query.project_file import NamedSource, Project


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command for Typer whose dataclass parameters are spread into options."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if isinstance(hint, type) and is_dataclass(hint)}
    parameters = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name not in groups:
            parameters.append(parameter.replace(annotation=hints[name]))
            continue
        group_hints = get_type_hints(groups[name], include_extras=True)
        parameters += [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.default is MISSING else field.default,
                annotation=group_hints[field.name],
            )
            for field in fields(groups[name])
        ]

    @functools.wraps(command)
    def spread(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    # Positional arguments come first, whatever group they were in.
    arguments = [p for p in parameters if p.default is inspect.Parameter.empty]
    options = [p for p in parameters if p.default is not inspect.Parameter.empty]
    spread.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*arguments, *options)]
    )
    spread.__annotations__ = {p.name: p.annotation for p in parameters}
    return spread


SOURCE_PANEL, READING_PANEL = "Data", "How files are read"
COUNT_PANEL, BUDGET_PANEL = "What is counted", "Budget"

SOURCES = (
    "Files, globs or folders (Parquet, CSV, JSON, Arrow, Excel); with --table a DuckDB or SQLite file or a "
    "PostgreSQL URL."
)

AdjacencyTyped = Literal["add-remove", "replace"]


def _reading(name: str, metavar: str) -> Any:
    return typer.Option(
        f"--{name.replace('_', '-')}", metavar=metavar, help=HELP[name], rich_help_panel=READING_PANEL
    )


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How files are read: what `tables/reading.py` takes, as a person types it."""

    types: Annotated[list[str] | None, _reading("types", "COLUMN=TYPE")] = None
    sep: Annotated[str | None, _reading("sep", "SIGN")] = None
    encoding: Annotated[str | None, _reading("encoding", "NAME")] = None
    quote: Annotated[str | None, _reading("quote", "SIGN")] = None
    decimal: Annotated[str | None, _reading("decimal", "SIGN")] = None
    header: Annotated[str | None, _reading("header", "NAMES")] = None
    date_format: Annotated[str | None, _reading("date_format", "FORMAT")] = None
    timezone: Annotated[str | None, _reading("timezone", "ZONE")] = None

    def reading(self) -> dict[str, Any]:
        """Return what was typed, as `ul.table` takes it."""
        return {name: getattr(self, name) for name in HELP} | {"types": _declared(self.types)}


def _declared(types: list[str] | None) -> Mapping[str, str] | None:
    if not types:
        return None
    pairs = [text.partition("=") for text in types]
    for text, (column, equals, kind) in zip(types, pairs, strict=True):
        if not (column and equals and kind):
            raise InvalidArgumentError("types", text, "COLUMN=TYPE", "For example: --types age=int")
    return {column: kind for column, _, kind in pairs}


_DECLARED_USERS: Any = typer.Option(
    metavar="N",
    min=1,
    help="About how many users there are, a public number. A δ that is not small against it is warned of.",
    rich_help_panel=SOURCE_PANEL,
    show_default=False,
)


@dataclass(frozen=True, kw_only=True)
class RowsOptions(ReadingOptions):
    """Where the rows are, and whose."""

    source: Annotated[list[str], typer.Argument(metavar="SOURCE", help=SOURCES, show_default=False)]
    user: Annotated[
        str | None,
        typer.Option(
            help="The column that says whose row it is. Its values are what is protected.",
            rich_help_panel=SOURCE_PANEL,
            show_default=False,
        ),
    ] = None
    table: Annotated[
        str | None,
        typer.Option(
            help="The table inside a database, or the sheet of a workbook.", rich_help_panel=SOURCE_PANEL
        ),
    ] = None
    declared_users: Annotated[int | None, _DECLARED_USERS] = None

    @cached_property
    def dataset(self) -> tuple[Project, NamedSource] | None:
        """The data set of the project that SOURCE names, if it does."""
        from unlisted.query.project_file import dataset_called  # noqa: PLC0415 - most sources are files

        return dataset_called(self.source[0])

    @property
    def files(self) -> list[str]:
        """The sources; of a data set of the project, where it is."""
        return self.source if self.dataset is None else [self.dataset[1].source]

    @property
    def items(self) -> list[str] | None:
        """The columns that are counted: what was typed after the name of a data set."""
        return [] if self.dataset is None else self.source[1:]

    @property
    def ledger(self) -> str | None:
        """The ledger that the project file names."""
        return None if self.dataset is None else self.dataset[0].ledger

    def question(self, kind: type[Question], asked: Asked, account: Account | None) -> Question:
        """Read a question; whatever is missing or wrong is said at once."""
        missing = []
        if self.user is None and self.dataset is None:
            missing.append(InvalidArgumentError("user", None, "given", "The column that says whose row it is."))
        if not self.items and kind.names_items():
            missing.append(InvalidArgumentError("item", None, "given", "The column whose values are counted."))
        said = asked.said(self.items or [])
        try:
            question = kind.read(said if self.dataset is None else self.dataset[1].filled(kind, said), account)
        except InvalidArgumentError as wrong:
            missing += wrong.problems or (wrong,)
        if missing:
            raise InvalidArgumentError.together(missing)
        return question

    def open(self) -> PrivateTable:
        """Name the rows; nothing is read yet."""
        if self.dataset is None:
            said = {"table": self.table, "declared_users": self.declared_users, **self.reading()}
            return table(named(self.source), user=self.user or "", **said)
        known = self.dataset[1]
        for option, typed, fixed in (("user", self.user, known.user), ("table", self.table, known.table)):
            if typed not in (None, fixed):
                raise InvalidArgumentError(option, typed, f"left out: {known.name} has its own in unlisted.toml")
        read = {name: value for name, value in self.reading().items() if value is not None}
        users = self.declared_users or known.declared_users
        return replace(known, reading={**known.reading, **read}, declared_users=users).open()


@dataclass(frozen=True, kw_only=True)
class SourceOptions(RowsOptions):
    """Where the rows are, whose, and what is counted."""

    item: Annotated[
        list[str] | None,
        typer.Option(
            help="The column whose values are counted, or what is computed from columns, such as 'lower(query)'. "
            "Give it several times for items made of several columns.",
            rich_help_panel=SOURCE_PANEL,
            show_default=False,
        ),
    ] = None

    @property
    def items(self) -> list[str] | None:
        """The columns that are counted: those of --item, or what was typed after a data set's name."""
        after = super().items
        if after and self.item:
            raise InvalidArgumentError("--item", self.item, f"left out after {' '.join(self.source)}")
        return after or self.item


def named(sources: list[str]) -> str | list[str]:
    """Return what was named: one source, or the files that a shell has made of a glob."""
    return sources[0] if len(sources) == 1 else sources


_UNREAD: Any = typer.Option(help="Not needed: no data is touched.", rich_help_panel=SOURCE_PANEL)


@dataclass(frozen=True, kw_only=True)
class UnreadOptions(ReadingOptions):
    """Where the rows would be: what a preview takes and does not need, so that a question can be typed once."""

    user: Annotated[str | None, _UNREAD] = None
    item: Annotated[list[str] | None, _UNREAD] = None
    table: Annotated[str | None, _UNREAD] = None
    declared_users: Annotated[int | None, _DECLARED_USERS] = None


_TYPED: Mapping[str, dict[str, Any]] = {
    "k": {"param_decls": ("-k", "--k")},
    "fetch": {"metavar": "KBAR"},
    "where": {"metavar": "PREDICATE"},
    "by": {"metavar": "COLUMN"},
    "groups": {"metavar": "GROUP"},
    "epsilon": {"metavar": "E"},
    "rho": {"metavar": "R"},
    "delta": {"metavar": "D"},
    "per_item_epsilon": {"metavar": "E"},
    "release_every": {"metavar": "K"},
    "source": {"metavar": "NAME"},
}
"""What an option looks like in a shell, where its name alone does not say it."""

_ABOUT_MONEY = ("noise", "per_item_epsilon", *AMOUNTS)
_ABOUT_ROWS = ("user", "item", "source")


@dataclass(frozen=True)
class Asked:
    """What was typed about a question. `question_options` makes a class of these with a field for each option."""

    names_items: ClassVar[bool] = True

    def said(self, items: list[str]) -> dict[str, Any]:
        """Return what was typed, as the `read` of a question takes it."""
        typed = {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) != []}
        if isinstance(typed.get("fetch"), str):
            typed["fetch"] = _read_fetch(typed["fetch"])
        if "adjacency" in typed:
            typed["adjacency"] = typed["adjacency"].replace("-", "_")
        return {**typed, "items": tuple(items)} if items or self.names_items else typed


def question_options(kind: type[Question]) -> type[Asked]:
    """Return a group of options, one for each that a kind of question has, and for its budget."""
    defaults = defaults_of(kind)
    options = {name: about for name, about in own_options(kind).items() if name != "items"} | dict(AMOUNTS)
    made = [as_field(name, about, defaults.get(name, ...)) for name, about in options.items()]
    group: type[Asked] = make_dataclass(f"{kind.__name__}Options", made, bases=(Asked,), frozen=True, kw_only=True)
    group.names_items = kind.names_items()
    return group


def as_field(name: str, about: Option, default: Any, *, required: bool = False) -> tuple[str, Any, Any]:
    """Return an option as a field of a group of options in a shell."""
    how = dict(_TYPED.get(name, {}))
    panel = BUDGET_PANEL if name in _ABOUT_MONEY else SOURCE_PANEL if name in _ABOUT_ROWS else COUNT_PANEL
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
    kinds = {"whole": int | None, "amount": str | None, "number": str | None, "text": str | None, "switch": bool}
    return {**kinds, "columns": list[str] | None, "values": list[str] | None}[about.kind]


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
    def payer(self, project_ledger: str | None = None) -> Iterator[Account | None]:
        """Open the account that pays, if one was named; a project file may name its ledger."""
        url = self.ledger or (project_ledger if self.account is not None else None)
        if self.account is None and url is None:
            yield None
            return
        if self.account is None:
            hint = "A ledger was named, so an account must pay. To keep no books, leave out --ledger."
            raise InvalidArgumentError("--account", None, "given with --ledger", hint)
        if url is None:
            raise InvalidArgumentError("--ledger", None, "given with --account", "For example: --ledger budget.db")
        with open_ledger(url) as ledger:
            yield ledger.account(self.account)


class _Amounts(Asked):
    """What a budget may be said as."""

    def budget(self) -> Budget:
        """Return the budget, or say what is missing."""
        return read_budget({one.name: getattr(self, one.name) for one in fields(self)})


BudgetOptions: Any = make_dataclass(
    "BudgetOptions",
    [as_field(name, about, ...) for name, about in AMOUNTS.items()],
    bases=(_Amounts,),
    frozen=True,
    kw_only=True,
)
"""A budget in a shell, for what is no question: --epsilon or --rho, and --delta."""


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
