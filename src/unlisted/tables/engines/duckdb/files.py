"""Files that DuckDB reads: one, or several of the same columns, from a path or a glob."""

from __future__ import annotations

import glob
import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from unlisted.errors import InvalidArgumentError
from unlisted.tables.engines.duckdb.engine import Opening, described, literal
from unlisted.tables.engines.duckdb.marks import marks_of

COMPRESSED = ".gz"


class Files(ABC):
    """One file or several of the same columns, from a path or a glob."""

    kind: str
    named_by_first_line = False
    is_database = False
    collated: frozenset[str] = frozenset()

    def __init__(self, path: str) -> None:
        self.path = path

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The files there are, in the order of their names; a path that leads to none is refused."""
        path = str(Path(self.path).expanduser())
        # A file whose name looks like a pattern is that file.
        found = [path] if Path(path).is_file() else sorted(glob.glob(path, recursive=True))  # noqa: PTH207 - of any root
        files = tuple(name for name in found if Path(name).is_file())
        if not files:
            hint = f"It is a folder: write {self.path.rstrip('/')}/*{ending(self.path)} for the files in it."
            is_folder = Path(path).is_dir()
            raise InvalidArgumentError("source", self.path, "a path or glob of files that exist", hint * is_folder)
        return files

    def check(self) -> None:  # noqa: B027 - there is nothing to check for any kind of file
        """Do nothing: files can be read again."""

    def relation(self, columns: Sequence[str]) -> str:
        """Return the call that reads these columns of the files."""
        return self.relation_of(self.files, columns)

    @abstractmethod
    def types(self) -> Mapping[str, str]:
        """Return the columns and DuckDB's names for their types, touching no rows."""

    @abstractmethod
    def relation_of(self, files: Sequence[str], columns: Sequence[str]) -> str:
        """Return the call that reads these columns of some files."""

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

    def state(self) -> Hashable:
        """Return the marks of the files."""
        return marks_of(self.files)

    def refusal(self, problem: str) -> InvalidArgumentError:
        """Say what is wrong with the files, in words that hold nothing from their rows."""
        return InvalidArgumentError("source", self.path, f"a {self.kind} file that can be read", problem)


def listed(files: Sequence[str]) -> str:
    """Return files as a list for DuckDB."""
    return f"[{', '.join(literal(as_named(name)) for name in files)}]"


def as_named(file: str) -> str:
    """Return the name of a file so that DuckDB reads nothing in it as a pattern."""
    return re.sub(r"([*?\[])", r"[\1]", file)


def ending(path: str) -> str:
    """Return what the name of a file ends in, a compressed one's without that."""
    return Path(path.lower().removesuffix(COMPRESSED)).suffix
