"""`unlisted.toml`: data sets by name, for Python, the shell and a service alike.

    ledger = "budget.db"

    [datasets.searches]
    source = "searches.csv"                       # paths are relative to this file
    user = "user_id"
    items_per_user = 10
    declared_users = 50_000                       # about how many there are, a public number
    sep = ";"                                     # how files are read, as `ul.table` takes it
    types = { day = "date" }

What a service needs beside that (`items`, `budget`, `limits`, ...) it reads itself (`server/config.py`). The
file is looked for in the working folder and in those above it. A name that is not known is refused: a misspelt
bound must not be no bound. A password does not belong into this file; a URL that has one is refused, with the way
to say where it is.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.numbers import whole
from unlisted.privacy.sensitivity import Adjacency
from unlisted.query.private_table import PrivateTable
from unlisted.query.question import Question
from unlisted.tables.reading import HELP, Reading
from unlisted.tables.table import Table
from unlisted.tables.table import table as open_table

FILE = "unlisted.toml"
_FOR_A_SERVICE = ("items", "filters", "budget", "kind", "version", "description", "failures", "shares_source")
_NAME = re.compile(r"[\w-]+")


@dataclass(frozen=True)
class NamedSource:
    """A data set of the project: where its rows are, whose they are, and how files are read.

    `items_per_user` and `rows_per_item` stand in for what a question does not say. With `counts` the source holds
    counts that another system made, the `fetch` + 1 largest if that is said, and no rows.
    """

    name: str
    source: str
    user: str
    table: str | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    items_per_user: int | None = None
    rows_per_item: int | None = None
    adjacency: Adjacency = "add_remove"
    declared_users: int | None = None
    counts: bool = False
    fetch: int | None = None

    def filled(self, kind: type[Question], told: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a question with the bounds of the data set where none were told."""
        said = {**told, "adjacency": self.adjacency}
        if told.get("adjacency") not in (None, "add_remove", self.adjacency):
            hint = f"{FILE} decides whom a data set protects."
            raise InvalidArgumentError("adjacency", told["adjacency"], f"{self.adjacency!r} here", hint)
        if kind.takes_bound(told) and told.get("items_per_user") is None:
            said["items_per_user"] = self.items_per_user
        if told.get("count") == "rows" and told.get("rows_per_item") is None:
            said["rows_per_item"] = self.rows_per_item
        return said

    def open(self) -> PrivateTable:
        """Name the rows; nothing is opened yet."""
        if self.counts:
            hint = "A service answers from them. Here: unlisted counts FILE, or ul.read_counts(…) in Python."
            raise InvalidArgumentError("dataset", self.name, "one of rows, and these are counts", hint)
        return NamedTable(open_table(self.source, user=self.user, table=self.table, **self.reading), self)


class NamedTable(PrivateTable):
    """The rows of a data set of the project, whose bounds stand in for what a question does not say."""

    def __init__(self, rows: Table, named: NamedSource) -> None:
        super().__init__(rows, named.declared_users)
        self._named = named

    def filled(self, kind: type[Question], told: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a question, with the bounds of the data set where none were told."""
        return self._named.filled(kind, told)


def dataset(name: str) -> PrivateTable:
    r"""Name a data set that `unlisted.toml` describes: in the working folder, or in the nearest one above it.

    Args:
        name: what it is called there, the NAME of a section `[datasets.NAME]`.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("dishes.csv").write_text("user,dish\n1,soup\n")
        >>> _ = Path("unlisted.toml").write_text('[datasets.dishes]\nsource = "dishes.csv"\nuser = "user"\n')
        >>> list(ul.dataset("dishes").columns())
        ['user', 'dish']
    """
    project = find_project()
    if project is None:
        hint = "Write one with a section [datasets.NAME], or name the rows with ul.table(…)."
        raise InvalidArgumentError("dataset", name, f"in an {FILE}, and there is none here or above", hint)
    return project.dataset(name).open()


@dataclass(frozen=True)
class Project:
    """The data sets of a project file, and the ledger that it names."""

    path: Path
    datasets: Mapping[str, NamedSource]
    ledger: str | None

    def dataset(self, name: str) -> NamedSource:
        """Return a data set by its name."""
        if name not in self.datasets:
            known = ", ".join(sorted(self.datasets)) or "none"
            raise InvalidArgumentError("dataset", name, f"one of those in {self.path}: {known}")
        return self.datasets[name]


def find_project(start: Path | None = None) -> Project | None:
    """Read the project file of the working folder, or of the nearest folder above it that has one."""
    folder = (start or Path.cwd()).absolute()
    for one in (folder, *folder.parents):
        if (one / FILE).is_file():
            return read_project(one / FILE)
    return None


def dataset_called(name: str) -> tuple[Project, NamedSource] | None:
    """Return the data set of the project that has this name, if the name could be one and there is one."""
    if not _NAME.fullmatch(name):
        return None
    project = find_project()
    if project is None or name not in project.datasets:
        return None
    if Path(name).exists():
        hint = f"Say ./{name} for the file, or give the data set in {project.path} another name."
        raise InvalidArgumentError("source", name, "a file or a data set, not both", hint)
    return project, project.datasets[name]


def read_project(path: Path) -> Project:
    """Read the data sets of a file; what else a service needs is not looked at."""
    top = Section("", read_toml(path, "unlisted.toml"), path.parent)
    datasets = {}
    for name, one in top.sections("datasets").items():
        datasets[name] = NamedSource(name=name, **source_of(one))
        for other in _FOR_A_SERVICE:
            one.take(other, None)
        one.end()
    ledger = top.place("ledger") if isinstance(top.told.get("ledger"), str) else None
    return Project(path, datasets, ledger)


def read_toml(path: Path, argument: str) -> dict[str, Any]:
    """Read a TOML file that an argument named."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError:
        raise InvalidArgumentError(argument, str(path), "a file that can be read") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as broken:
        raise InvalidArgumentError(argument, str(path), f"TOML ({broken})") from None


def source_of(told: Section) -> dict[str, Any]:
    """Read what every data set has, by the names of the fields of `NamedSource`."""
    reading = {name: told.take(name, None) for name in HELP}
    said = {name: value for name, value in reading.items() if value is not None}
    Reading.read(**said)
    return {
        "source": told.place("source"),
        "user": told.text("user"),
        "table": told.text("table", None),
        "reading": said,
        "items_per_user": told.number("items_per_user"),
        "rows_per_item": told.number("rows_per_item"),
        "adjacency": told.choice("adjacency", "add_remove", "replace"),
        "declared_users": told.number("declared_users"),
        "counts": told.flag("counts", default=False),
        "fetch": told.number("fetch"),
    }


_MISSING: Any = object()
_UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0}


class Section:
    """A table of the file, read name by name; what nobody asked for is refused at the end."""

    def __init__(self, name: str, told: Any, folder: Path) -> None:
        if not isinstance(told, dict):
            raise InvalidArgumentError(name, type(told).__name__, "a table of names and values")
        self._name, self.told, self._folder = name, told, folder
        self._seen: set[str] = set()

    def take(self, name: str, default: Any = _MISSING) -> Any:
        """Return a value, or the default; refuse where there is neither."""
        self._seen.add(name)
        if name in self.told:
            return self.told[name]
        if default is _MISSING:
            raise InvalidArgumentError(self._full(name), None, "given in the configuration")
        return default

    def text(self, name: str, default: Any = _MISSING) -> Any:
        """Read a text."""
        value = self.take(name, default)
        return value if value is default else self._of(str, name, value, "a text")

    def number(self, name: str) -> int | None:
        """Read a whole number, 1 or above."""
        value = self.take(name, None)
        return None if value is None else whole(self._full(name), value)

    def flag(self, name: str, *, default: bool) -> bool:
        """Read true or false."""
        return bool(self._of(bool, name, self.take(name, default), "true or false"))

    def choice(self, name: str, *allowed: str) -> Any:
        """Read one of some words; the first is the default."""
        value = self.take(name, allowed[0])
        if value not in allowed:
            raise InvalidArgumentError(self._full(name), value, " or ".join(allowed))
        return value

    def names(self, name: str) -> tuple[str, ...]:
        """Read a list of names."""
        value = self.take(name, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise InvalidArgumentError(self._full(name), value, 'a list of names, such as ["query"]')
        return tuple(value)

    def seconds(self, name: str) -> float | None:
        """Read a length of time, such as "2s", "500ms" or "1min"."""
        value = self.take(name, None)
        if value is None:
            return None
        form = re.fullmatch(r"(\d{1,6})(ms|s|min)", value) if isinstance(value, str) else None
        if form is None or int(form.group(1)) == 0:
            raise InvalidArgumentError(self._full(name), value, 'a length of time such as "2s" or "500ms"')
        return int(form.group(1)) * _UNITS[form.group(2)]

    def path(self, name: str) -> Path | None:
        """Read a path, which is relative to the file."""
        value = self.text(name, None)
        return None if value is None else self._folder / value

    def secret(self, name: str) -> str | None:
        """Read something that must not stand in the file: where it is, stands there."""
        value = self.take(name, None)
        if value is None or isinstance(value, dict):
            return None if value is None else self._elsewhere(name, value)
        raise InvalidArgumentError(self._full(name), "a text", *_NOT_HERE)

    def place(self, name: str) -> str:
        """Read a path or a URL; one with a password must come from the environment or a file of its own."""
        value = self.take(name)
        if isinstance(value, dict):
            return self._elsewhere(name, value)
        text = str(self._of(str, name, value, "a path, a URL, or { env = … } or { file = … }"))
        if "://" not in text:
            return str(self._folder / text)
        if re.search(r"://[^/]*:[^/]*@", text) or "password=" in text.lower():
            raise InvalidArgumentError(self._full(name), "a URL with a password", *_NOT_HERE)
        return text

    def section(self, name: str) -> Section:
        """Read a table inside this one; an empty one if there is none."""
        return Section(self._full(name), self.take(name, {}), self._folder)

    def sections(self, name: str) -> dict[str, Section]:
        """Read a table of tables."""
        outer = self.section(name)
        return {one: outer.section(one) for one in outer.told}

    def end(self) -> None:
        """Refuse what nobody asked for."""
        for name in self.told:
            if name not in self._seen:
                known = ", ".join(sorted(self._seen))
                # Its value may be a password, under a name that was misspelt.
                raise InvalidArgumentError(self._full(name), "an unknown name", f"one of: {known}")

    def _elsewhere(self, name: str, told: dict[str, Any]) -> str:
        if set(told) == {"env"} and (value := os.environ.get(str(told["env"]))):
            return value
        if set(told) == {"file"}:
            try:
                return (self._folder / str(told["file"])).read_text("utf-8").strip()
            except OSError:
                raise InvalidArgumentError(self._full(name), told, "a file that can be read") from None
        raise InvalidArgumentError(
            self._full(name), sorted(told), '{ env = "NAME" } of a variable that is set, or { file = … }'
        )

    def _of(self, kind: type, name: str, value: Any, allowed: str) -> Any:
        if not isinstance(value, kind):
            raise InvalidArgumentError(self._full(name), value, allowed)
        return value

    def _full(self, name: str) -> str:
        return f"{self._name}.{name}" if self._name else name


_NOT_HERE = (
    "kept out of this file",
    'Say { env = "NAME" } to read it from the environment, or { file = "/run/secrets/NAME" }.',
)
