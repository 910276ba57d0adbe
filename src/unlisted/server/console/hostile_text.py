"""Text that strangers wrote, as a page may show it.

Labels are whatever somebody once typed. On a page they are escaped, kept apart from the direction of the text
around them, and every character that a reader would not see stands there by its number.
"""

from __future__ import annotations

import unicodedata

from markupsafe import Markup

_UNSEEN = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
"""Fillers, blanks and selectors that Unicode calls letters, symbols or marks, and that take no ink."""

_MARK = Markup('<span class="unseen" title="{name}">{number}</span>')


def shown(value: object) -> Markup:
    """Return a value as a page shows it: escaped, isolated, with nothing hidden in it."""
    if value is None:
        return Markup('<span class="unseen" title="no value">no value</span>')
    text = str(value)
    if not text:
        return Markup('<span class="unseen" title="a text without characters">empty</span>')
    begin, end = len(text) - len(text.lstrip(" ")), len(text.rstrip(" "))
    inside = (_marked(c) if _is_unseen(c) or not begin <= at < end else c for at, c in enumerate(text))
    return Markup("<bdi>{}</bdi>").format(Markup("").join(inside))


def _is_unseen(c: str) -> bool:
    return not c.isprintable() or c in _UNSEEN


def _marked(c: str) -> Markup:
    return _MARK.format(name=unicodedata.name(c, "a character without a name"), number=f"U+{ord(c):04X}")
