"""Templates become pages: everything in them is escaped, and a name that is not given is an error.

Labels are whatever somebody once typed. On a page they are escaped, kept apart from the direction of the text
around them, and every character that a reader would not see stands there by its number. So do marks that are
heaped up on one letter: drawn, they would cover the lines around them.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from unlisted.privacy.rounding import round_down
from unlisted.release.graphemes import MOST_MARKS, columns_of, graphemes
from unlisted.release.release import short_up

_UNSEEN = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
"""Fillers, blanks and selectors that Unicode calls letters, symbols or marks, and that take no ink."""

_MOST_NUMBERS = 4
"""So many characters of one kind are each written by their number; of more, how many there are."""

_LONG = 120
"""Columns of a value that a table shows; the whole of a longer one is there to be opened."""

_NUMBER = 7
"""Columns that a character takes which is written by its number."""

_LONGER = Markup(
    '<details class="long"><summary>{begins} <span class="soft small">{size:,} characters</span></summary>{whole}'
    "</details>"
)
_MARK = Markup('<span class="unseen" title="{name}">{number}</span>')


def shown(value: object) -> Markup:
    """Return a value as a page shows it: escaped, isolated, with nothing hidden in it."""
    if value is None:
        return Markup('<span class="unseen" title="no value">no value</span>')
    text = str(value)
    if not text:
        return Markup('<span class="unseen" title="a text without characters">empty</span>')
    begin, end = len(text) - len(text.lstrip(" ")), len(text.rstrip(" "))
    inside, heap = [], 0
    for at, c in enumerate(text):
        heap = heap + 1 if unicodedata.category(c) in ("Mn", "Me") else 0
        hidden = _is_unseen(c) or heap > MOST_MARKS or not begin <= at < end
        inside.append((c, hidden))
    runs = ((one, len(list(same))) for one, same in groupby(inside))
    return Markup("<bdi>{}</bdi>").format(Markup("").join(_written_run(c, hidden, n) for (c, hidden), n in runs))


def label(value: object) -> Markup:
    """Return a value of an answer: a long one by how it begins, and the whole of it for whoever opens it."""
    text = "" if value is None else str(value)
    begins = _begin(text)
    return (
        shown(value) if begins == text else _LONGER.format(begins=shown(begins), size=len(text), whole=shown(text))
    )


def _begin(text: str) -> str:
    """Return how a value begins, in the columns that a table has for it; the whole of it if that fits.

    What is written by its number takes more room than a letter.
    """
    kept: list[str] = []
    columns = 0
    for one in graphemes(text):
        numbered = sum(map(_is_unseen, one)) + max(0, _marks(one) - MOST_MARKS)
        columns += columns_of(one) + _NUMBER * numbered
        if columns > _LONG:
            return "".join(kept).rstrip() + "…"
        kept.append(one)
    return text


def _marks(text: str) -> int:
    return sum(unicodedata.category(c) in ("Mn", "Me") for c in text)


def _is_unseen(c: str) -> bool:
    return not c.isprintable() or c in _UNSEEN


def _written_run(c: str, hidden: bool, times: int) -> str:
    """Write a character as often as it comes; one that would not be seen, by its number."""
    if not hidden:
        return c * times
    one = _MARK.format(name=unicodedata.name(c, "a character without a name"), number=f"U+{ord(c):04X}")
    return (
        one * times if times <= _MOST_NUMBERS else one + Markup('<span class="unseen">×{:,}</span>').format(times)
    )


def render(template: str, given: dict[str, Any]) -> str:
    """Return a template as text."""
    return _TEMPLATES.get_template(template).render(given)


def cost(amount: Fraction, digits: int = 3) -> str:
    """Write what something costs, in few digits, rounded up."""
    return _written(short_up(amount, digits))


def allowed(amount: Fraction, digits: int = 3) -> str:
    """Write what may still be spent, in few digits, rounded down."""
    return _written(f"{float(round_down(amount, digits)):.{digits}g}")


def moment(time: datetime | str) -> str:
    """Write a time as people read it, in UTC."""
    when = datetime.fromisoformat(time) if isinstance(time, str) else time
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M}"


def _written(text: str) -> str:
    """Write a number as people do: 1,000 and 0.00025, and 1e-8 only where there would be too many noughts."""
    number = Decimal(text)
    if number == 0 or _LEAST_PLAIN <= abs(number) < _LARGEST_PLAIN:
        plain = f"{number:,f}"
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    return re.sub(r"e([+-])0*", lambda found: "e-" if found[1] == "-" else "e", text)


_LEAST_PLAIN, _LARGEST_PLAIN = Decimal("0.0001"), Decimal(10) ** 15


def figure(number: int | float | str) -> str:
    """Write a number, thousands apart, one with a fraction in few digits and rounded up; a word stays a word."""
    if isinstance(number, float):
        return _written(short_up(Fraction(repr(number)), 6))
    return f"{number:,}" if isinstance(number, int) else number


def measured(number: int | float | str) -> str:
    """Write a number of an answer: nearest, as files have it, and not rounded up as a price is."""
    return f"{number:,.3f}" if isinstance(number, float) else figure(number)


def titled(question: str) -> str:
    """Return what the answer to a kind of question is called, in front of the names of its items."""
    return _TITLES.get(question, "Answer")


_TITLES = {"histogram": "Counts", "top-histogram": "Largest counts", "top": "Ranking", "labels": "Values"} | {
    "users": "Users",
    "distinct": "Different values",
}
_TEMPLATES = Environment(
    loader=PackageLoader("unlisted.server.console"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters |= {
    "shown": shown,
    "label": label,
    "cost": cost,
    "allowed": allowed,
    "moment": moment,
    "figure": figure,
    "measured": measured,
    "titled": titled,
    "segment": lambda text: quote(str(text), safe=""),
}
