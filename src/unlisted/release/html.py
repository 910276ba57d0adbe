"""How tables, plans, releases and balances look in a notebook: HTML that needs no network and no script.

Labels are whatever somebody once typed. They are escaped, kept apart from the direction of the text around
them, and every character that a reader would not see stands there by its number.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

UNSEEN = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
"""Fillers, blanks and selectors that Unicode calls letters, symbols or marks, and that take no ink."""

_SHOWN_ROWS = 20
_LONGEST = 60

# Colours come from whatever surrounds the answer, so that it can be read in a dark notebook too.
_CARD = "border:1px solid #8886;border-radius:6px;padding:.6em .9em;max-width:60em;font-size:.95em"
_QUIET = "opacity:.75"
_CELL = "text-align:{side};padding:.15em .7em;border:0;vertical-align:middle"
_TRACK = "display:inline-block;width:{width}em;height:.8em;background:#8883;border-radius:2px;overflow:hidden"
_FILL = "display:block;width:{share:.2f}%;height:100%;background:#4c78a8"


def card(title: str, *, lines: Iterable[str] = (), body: str = "") -> str:
    """Return a box with a title, a body of HTML, and lines of text below it."""
    told = "".join(f'<div style="{_QUIET}">{escape(line)}</div>' for line in lines)
    return f'<div style="{_CARD}"><strong>{escape(title)}</strong>{body}{told}</div>'


def rows_as_html(rows: Sequence[Mapping[str, Any]], numbers: Sequence[str], total: int) -> str:
    """Return the first rows as a table; where there are counts, with a bar for each."""
    if not rows:
        return ""
    names = list(rows[0])
    shown = rows[:_SHOWN_ROWS]
    longest = max((row.get("count") or 0 for row in shown), default=0)
    head = "".join(_cell(name, "th", name in numbers) for name in names)
    lines = [f"<tr>{head}{'<th></th>' if longest else ''}</tr>"]
    for row in shown:
        cells = "".join(_cell(row[name], "td", name in numbers) for name in names)
        drawn = f'<td style="border:0">{bar(row["count"] or 0, longest)}</td>' if longest else ""
        lines.append(f"<tr>{cells}{drawn}</tr>")
    more = total - len(shown)
    after = f'<div style="{_QUIET}">… and {more:,} more rows</div>' if more else ""
    return f'<table style="border-collapse:collapse;margin:.5em 0">{"".join(lines)}</table>{after}'


def bar(part: float, whole: float, width: int = 12) -> str:
    """Return a bar that is filled by a part of a whole."""
    share = 100 * min(1.0, max(0.0, part / whole)) if whole else 0.0
    return f'<span style="{_TRACK.format(width=width)}"><span style="{_FILL.format(share=share)}"></span></span>'


def label(value: object) -> str:
    """Return a value as a page shows it: escaped, isolated, with nothing hidden in it."""
    if value is None:
        return f'<span style="{_QUIET}">no value</span>'
    text = str(value)
    if not text:
        return f'<span style="{_QUIET}">empty</span>'
    begin, end = len(text) - len(text.lstrip(" ")), len(text.rstrip(" "))
    kept = list(enumerate(text))[:_LONGEST]
    inside = "".join(_marked(c) if is_unseen(c) or not begin <= at < end else escape(c) for at, c in kept)
    return f"<bdi>{inside}{'…' if len(text) > _LONGEST else ''}</bdi>"


def is_unseen(c: str) -> bool:
    """Return whether a character leaves no ink."""
    return not c.isprintable() or c in UNSEEN


def _marked(c: str) -> str:
    name = escape(unicodedata.name(c, "a character without a name"), quote=True)
    return f'<span style="{_QUIET}" title="{name}">U+{ord(c):04X}</span>'


def _cell(value: object, tag: str, is_number: bool) -> str:
    text = f"{value:,}" if is_number and isinstance(value, int) else label(value)
    return f'<{tag} style="{_CELL.format(side="right" if is_number else "left")}">{text}</{tag}>'
