"""What a piece of code asks of the file system, in order: a kill never shows a missing fsync, a power cut does.

Every call is really made; beside that it is written down. Files are told apart by their paths, and a file that was
renamed keeps its history under its new name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Call:
    """One call: write, truncate, fsync or rename, and on what."""

    name: str
    path: Path
    target: Path | None = None


@dataclass
class Recorded:
    """The calls of one piece of code, in order."""

    calls: list[Call] = field(default_factory=list)

    def renames(self) -> list[Call]:
        """Return what got its name by being renamed."""
        return [call for call in self.calls if call.name == "rename"]

    def place(self, name: str, path: Path) -> int:
        """Return when something was done to a file for the last time."""
        return max(at for at, call in enumerate(self.calls) if (call.name, call.path) == (name, path))

    def undurable_when_renamed(self) -> list[Path]:
        """Return the files that were renamed while something written to them was not yet durable."""
        found, dirty = [], set[Path]()
        for call in self.calls:
            if call.name in ("write", "truncate"):
                dirty.add(call.path)
            elif call.name == "fsync":
                dirty.discard(call.path)
            elif call.path in dirty:
                found.append(call.path)
        return found

    def undurable_at_the_end(self) -> set[Path]:
        """Return what a power cut may still undo: files that were written to, folders in which names changed."""
        dirty = set[Path]()
        for call in self.calls:
            if call.name in ("write", "truncate"):
                dirty.add(call.path)
            elif call.name == "fsync":
                dirty.discard(call.path)
            else:
                assert call.target is not None
                dirty = {_moved(path, call.path, call.target) for path in dirty}
                dirty.add(call.target.parent)
        return dirty


def _moved(path: Path, source: Path, target: Path) -> Path:
    return target / path.relative_to(source) if path.is_relative_to(source) else path


@contextmanager
def recorded() -> Iterator[Recorded]:
    """Write down what is asked of the file system inside the context."""
    log, paths = Recorded(), dict[int, Path]()
    real: dict[str, Any] = {
        name: getattr(os, name) for name in ("open", "close", "write", "ftruncate", "fsync", "rename", "replace")
    }

    def opened(path: Any, *rest: Any, **named: Any) -> int:
        file: int = real["open"](path, *rest, **named)
        paths[file] = Path(os.fsdecode(path)).absolute()
        return file

    def closed(file: int) -> None:
        paths.pop(file, None)
        real["close"](file)

    def on_file(name: str, call: str) -> Any:
        def noted(file: int, *rest: Any) -> Any:
            if file in paths:
                log.calls.append(Call(call, paths[file]))
            return real[name](file, *rest)

        return noted

    def renamed(name: str) -> Any:
        def noted(source: Any, target: Any, **named: Any) -> None:
            log.calls.append(Call("rename", Path(source).absolute(), Path(target).absolute()))
            real[name](source, target, **named)

        return noted

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", opened)
        patch.setattr(os, "close", closed)
        patch.setattr(os, "write", on_file("write", "write"))
        patch.setattr(os, "ftruncate", on_file("ftruncate", "truncate"))
        patch.setattr(os, "fsync", on_file("fsync", "fsync"))
        patch.setattr(os, "rename", renamed("rename"))
        patch.setattr(os, "replace", renamed("replace"))
        yield log
