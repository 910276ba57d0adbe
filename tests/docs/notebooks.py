"""A notebook run as Jupyter runs it, without Jupyter: cell after cell in one namespace, last expressions shown."""

from __future__ import annotations

import ast
import contextlib
import html
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Cell:
    """A cell as it stands in the file."""

    kind: str
    source: str
    outputs: list[Any]


@dataclass(frozen=True)
class Shown:
    """What stands below a cell: what it printed, and its last expression as a page shows it."""

    printed: str
    drawn: str


def cells_of(path: Path) -> list[Cell]:
    notebook = json.loads(path.read_text("utf-8"))
    assert notebook["nbformat"] == 4
    return [
        Cell(cell["cell_type"], "".join(cell["source"]), cell.get("outputs", [])) for cell in notebook["cells"]
    ]


def run(cells: list[Cell], names: dict[str, Any]) -> list[Shown]:
    """Run the cells of code, in order; one that fails says which it was."""
    shown = []
    for cell in cells:
        if cell.kind != "code":
            continue
        try:
            shown.append(_run_one(cell.source, names))
        except Exception as failure:
            failure.add_note(f"in the cell:\n{cell.source}")
            raise
    return shown


def page(cells: list[Cell], shown: list[Shown]) -> str:
    """Return a page with the cells and what they showed, to look at."""
    left = iter(shown)
    parts = [
        '<!doctype html><meta charset="utf-8"><body style="font:15px sans-serif;max-width:70em;margin:2em auto">'
    ]
    for cell in cells:
        parts.append(
            f'<pre style="background:#8882;padding:.6em;white-space:pre-wrap">{html.escape(cell.source)}</pre>'
        )
        if cell.kind == "code":
            below = next(left)
            parts.append(f'<pre style="white-space:pre-wrap">{html.escape(below.printed)}</pre>{below.drawn}')
    return "".join(parts)


def _run_one(source: str, names: dict[str, Any]) -> Shown:
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(ast.Module(body, []), "<cell>", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
        drawn = "" if value is None else _drawn(value)
    return Shown(printed.getvalue(), drawn)


def _drawn(value: object) -> str:
    """Return the richest form of a value, asked for in the order in which Jupyter asks."""
    if (bundle := getattr(value, "_repr_mimebundle_", None)) is not None:
        given = bundle(None, None)
        forms = given[0] if isinstance(given, tuple) else given
    else:
        one = getattr(value, "_repr_html_", None)
        forms = {} if one is None else {"text/html": one()}
    for kind in ("text/html", "image/svg+xml"):
        if kind in forms:
            return str(forms[kind])
    return f"<pre>{html.escape(repr(value))}</pre>"
