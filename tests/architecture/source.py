"""The source tree as the architecture tests see it: paths, names, syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "src" / "unlisted"


def modules() -> list[Path]:
    """Return every Python file of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def named(path: Path) -> str:
    """Return a file's place in the package, as a test's name and in messages."""
    return path.relative_to(PACKAGE).as_posix()


def dotted(path: Path) -> str:
    """Return a file's dotted module name."""
    parts = ("unlisted", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree(path: Path) -> ast.Module:
    """Return a file's syntax tree."""
    return ast.parse(path.read_text("utf-8"), named(path))


def imported(path: Path) -> Iterator[str]:
    """Yield the dotted name of everything a file imports, wherever in the file: also inside functions and under
    `TYPE_CHECKING`. `from a import b` is yielded as `a.b`, whether b is a module or not.
    """
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base(path, node)
            yield from (f"{base}.{alias.name}" for alias in node.names)


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield every function and method of a file."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Return the names of a function's parameters, without the object or class it is called on."""
    given = function.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    names += [one.arg for one in (given.vararg, given.kwarg) if one is not None]
    return [name for name in names if name not in ("self", "cls")]


def _base(path: Path, node: ast.ImportFrom) -> str:
    """Return what a `from` import starts from, with relative ones made absolute."""
    if node.level == 0:
        return node.module or ""
    package = dotted(path).split(".")
    above = node.level - (1 if path.name == "__init__.py" else 0)
    start = package[: len(package) - above]
    return ".".join([*start, *([node.module] if node.module else [])])
