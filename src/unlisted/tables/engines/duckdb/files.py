"""Files that DuckDB reads: one, or several of the same columns, from a path, a glob, a folder or a list of them.

Folders named `key=value` on the way to a file are columns too, of text unless they are declared, as Hive, Spark
and DuckDB write them. A column that the files hold themselves is read from the files.
"""

# ruff: noqa: S608 - statements are made of quoted names and quoted texts

from __future__ import annotations

import glob
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote

from unlisted.errors import InvalidArgumentError
from unlisted.tables.column_types import ColumnType
from unlisted.tables.engines.duckdb.columns import DECLARED, Declared, literal, quoted
from unlisted.tables.engines.duckdb.engine import Opening, described
from unlisted.tables.engines.duckdb.marks import marks_of
from unlisted.tables.reading import Reading

COMPRESSED = ".gz"
FILE = "unlisted_file"
"""What a reader calls the name of the file that a row is from."""

NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""What stands in the name of a folder for NULL."""

_HIDDEN = (".", "_")
_PARTITION = re.compile(r"([^=]+)=(.*)")


class Place:
    """Where files are: paths, globs and folders, as they were given. Of a folder, `endings` tell which count."""

    def __init__(self, given: Sequence[str], endings: Sequence[str]) -> None:
        self.given = tuple(given)
        self._endings = tuple(endings)

    @property
    def shown(self) -> str:
        """The place as messages show it."""
        return ", ".join(self.given)

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The files there are, in the order of their names; a path that leads to none is refused."""
        return tuple(dict.fromkeys(name for path in self.given for name in self._found(path)))

    def _found(self, path: str) -> list[str]:
        there = str(Path(path).expanduser())
        # A file whose name looks like a pattern is that file.
        found = [there] if Path(there).exists() else glob.glob(there, recursive=True)  # noqa: PTH207 - of any root
        files = sorted(name for one in found for name in (files_in(one) if Path(one).is_dir() else [one]))
        good = [
            name for name in files if Path(name).is_file() and (name in found or ending(name) in self._endings)
        ]
        if not good:
            hint = f"There is no file in it that ends in {' or '.join(self._endings)}." if found else ""
            raise InvalidArgumentError("source", path, "a path or glob of files that exist", hint)
        return good

    @cached_property
    def partitions(self) -> tuple[str, ...]:
        """The keys in the names of folders, which all files must share."""
        first, *others = ([key for key, _ in partitions_of(file)] for file in self.files)
        if any(other != first for other in others):
            hint = "Some lie in folders named key=value with other keys. Read those of one kind at a time."
            raise InvalidArgumentError("source", self.shown, "files in folders of the same keys", hint)
        return tuple(dict.fromkeys(first))


class Files(ABC):
    """One file or several of the same columns."""

    kind: str
    """What messages call such a file, with its article."""
    takes: tuple[str, ...] = ("timezone",)
    """Which options of `Reading` say something about such files."""
    table_is = ""
    """What `table=` names in such a file, if it may hold several tables."""
    is_database = False
    is_in_memory = False
    collated: frozenset[str] = frozenset()

    def __init__(self, place: Place, reading: Reading | None = None, table: str | None = None) -> None:
        self.place = place
        self.reading = reading or Reading()
        self.reading.only(self.kind, (*self.takes, "types"))
        if self.reading.by_line and "sep" not in self.takes:
            hint = "Only in a CSV file can a row span several lines."
            raise InvalidArgumentError("types", {"*": "line"}, f"left out for {self.kind}", hint)
        if table is not None and not self.table_is:
            raise InvalidArgumentError("table", table, f"left out for {self.kind}", "It is one table already.")
        self.timezone = self.reading.timezone
        self.table = table

    @property
    def files(self) -> tuple[str, ...]:
        """The files there are."""
        return self.place.files

    @property
    def named_by_first_line(self) -> bool:
        """Whether the names of columns could be a row: not where the format has a place for them."""
        return False

    @abstractmethod
    def own_types(self) -> Mapping[str, str]:
        """Return the columns in the files and DuckDB's names for their types, touching no rows."""

    def types(self) -> Mapping[str, str]:
        """Return the columns in the files and in the names of their folders."""
        own = self.own_types()
        self._check_declared(own)
        return {**own, **{name: DECLARED[self.kind_of(name)] for name in self._partitions(own)}}

    def _check_declared(self, own: Mapping[str, str]) -> None:
        """Refuse types that are declared of columns which have one."""
        if wrong := [name for name in self.reading.types if name not in self._partitions(own)]:
            Reading({name: self.reading.types[name] for name in wrong}).only(self.kind, self.takes)

    def _partitions(self, own: Mapping[str, str]) -> list[str]:
        return [name for name in self.place.partitions if name.casefold() not in map(str.casefold, own)]

    def kind_of(self, column: str) -> ColumnType:
        """Return what a column is declared to hold."""
        return self.reading.types.get(column, ColumnType.TEXT)

    def declared(self, column: str, text: str) -> Declared:
        """Return a column that is text in the file, as what it is declared to hold."""
        return Declared(text, self.kind_of(column), self.reading.decimal, self.reading.format_of(column))

    def check(self) -> None:  # noqa: B027 - there is nothing to check for any kind of file
        """Do nothing: files can be read again."""

    @abstractmethod
    def relation_of(self, files: Sequence[str], columns: Sequence[str], more: str = "") -> str:
        """Return what reads these columns of some files, `more` being said to the reader besides."""

    def relation(self, columns: Sequence[str]) -> str:
        """Return what reads these columns of the files."""
        return self.reading_of(self.files, columns)

    def reading_of(self, files: Sequence[str], columns: Sequence[str]) -> str:
        """Return what reads these columns of some files and of their folders."""
        return self.with_folders(columns, lambda inside, more: self.relation_of(files, inside, more))

    def with_folders(self, columns: Sequence[str], inside: Callable[[Sequence[str], str], str]) -> str:
        """Return what reads columns, where `inside` reads those in the files, with the file's name if need be."""
        own = self.own_types()
        outside = {name: self.declared(name, _in_folder(name)) for name in columns if name not in own}
        if not outside:
            return inside(columns, "")
        kept = [name for name in columns if name in own]
        relation = inside([*kept, FILE], f", filename = {literal(FILE)}")
        values = [*map(quoted, kept), *(f"{one.value} AS {quoted(name)}" for name, one in outside.items())]
        conditions = [one.parses for one in outside.values() if one.kind is not ColumnType.TEXT]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"(SELECT {', '.join(values)} FROM {relation}{where})"

    def open(self, opening: Opening) -> str:
        """Return the call that reads the files: DuckDB reads them where they are."""
        return self.relation(opening.columns)

    def open_carefully(self, opening: Opening) -> str | None:  # noqa: ARG002 - some files have a way
        """Return nothing: there is no other way."""
        return None

    def bind(self, opening: Opening) -> str | None:
        """Let DuckDB look at the call that reads the files."""
        described(opening.connection, self.relation(opening.columns))
        return None

    def hint(self) -> str:
        """Say nothing about names: these files tell theirs."""
        return ""

    def state(self) -> Hashable:
        """Return the marks of the files."""
        return marks_of(self.files)

    def refusal(self, problem: str) -> InvalidArgumentError:
        """Say what is wrong with the files, in words that hold nothing from their rows."""
        return InvalidArgumentError("source", self.place.shown, f"{self.kind} that can be read", problem)


def files_in(folder: str) -> Iterator[str]:
    """Yield the files below a folder, but for those that programs hide or leave as notes."""
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(_HIDDEN)]
        yield from (os.path.join(here, name) for name in names if not name.startswith(_HIDDEN))  # noqa: PTH118


def partitions_of(file: str) -> list[tuple[str, str | None]]:
    """Return the keys and values in the names of the folders that a file lies in."""
    found = (_PARTITION.fullmatch(part) for part in Path(file).parts[:-1])
    pairs = [(one[1], unquote(one[2])) for one in found if one]
    return [(key, None if value == NO_PARTITION else value) for key, value in pairs]


def _in_folder(key: str) -> str:
    """Return the expression for the value of a key in the name of a file's folder."""
    pattern = rf"(?:^|.*[/\\]){re.escape(key)}=([^/\\]*)[/\\]"
    value = f"REGEXP_EXTRACT({quoted(FILE)}, {literal(pattern)}, 1)"
    return f"NULLIF(TRY(URL_DECODE({value})), {literal(NO_PARTITION)})"


def listed(files: Sequence[str]) -> str:
    """Return files as a list for DuckDB."""
    return f"[{', '.join(literal(as_named(name)) for name in files)}]"


def as_named(file: str) -> str:
    """Return the name of a file so that DuckDB reads nothing in it as a pattern."""
    return re.sub(r"([*?\[])", r"[\1]", file)


def ending(path: str) -> str:
    """Return what the name of a file ends in, a compressed one's without that."""
    return Path(path.lower().removesuffix(COMPRESSED)).suffix
