"""Text cut where a reader would cut it: between the characters that people see, never inside of one.

What looks like one character can be several code points: a letter with accents, a flag, a family of emoji. Cut in
the middle it shows something else, or is no text at all. This knows the rules of Unicode that labels meet (marks,
joiners, selectors, skin tones, flags, Hangul), and bounds how many code points one character may have.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

_JOINER = "\N{ZERO WIDTH JOINER}"
_AS_EMOJI = "\N{VARIATION SELECTOR-16}"
_MOST_POINTS = 16
"""Code points of one character. The longest emoji has ten; with more, marks are heaped up to do harm."""

MOST_MARKS = 4
"""Marks on one letter; no script that people write has more."""


def graphemes(text: str) -> Iterator[str]:
    """Yield the characters of a text as a reader sees them."""
    cluster = ""
    for point in text:
        if cluster and len(cluster) < _MOST_POINTS and _belongs(cluster, point):
            cluster += point
            continue
        if cluster:
            yield cluster
        cluster = point
    if cluster:
        yield cluster


def cut(text: str, width: int) -> str:
    """Return a text of at most so many columns, with an ellipsis where something was left out.

    Characters of East Asia and emoji are two columns wide, flags four.
    """
    kept: list[str] = []
    columns = 0
    for one in graphemes(text):
        columns += columns_of(one)
        if columns > width:
            # The last ones make room for the ellipsis.
            while kept and sum(map(columns_of, kept)) > width - 1:
                kept.pop()
            return "".join(kept).rstrip() + "…"
        kept.append(one)
    return text


def unheaped(text: str) -> str:
    """Return a text with an ellipsis for marks that are heaped up on a letter: drawn, they cover what is near."""
    kept, heap = [], 0
    for point in text:
        heap = heap + 1 if unicodedata.category(point) in ("Mn", "Me") else 0
        if heap <= MOST_MARKS:
            kept.append(point)
        elif heap == MOST_MARKS + 1:
            kept.append("…")
    return "".join(kept)


def columns_of(character: str) -> int:
    """Return how many columns a character takes."""
    is_wide = any(unicodedata.east_asian_width(point) in "WF" or point == _AS_EMOJI for point in character)
    if _is_flag_half(character[0]):
        # Where no font has flags, they are drawn as two wide letters.
        return 2 * len(character)
    return 2 if is_wide else 1


def _belongs(cluster: str, point: str) -> bool:
    """Return whether a code point goes on with the character before it."""
    if point == _JOINER or unicodedata.category(point) in ("Mn", "Me", "Mc"):
        return True
    if cluster[-1] == _JOINER or "\U0001f3fb" <= point <= "\U0001f3ff" or "\U000e0020" <= point <= "\U000e007f":
        return True
    if _is_flag_half(point):
        # Two of them are a flag, and the third begins another.
        return len(cluster) == 1 and _is_flag_half(cluster)
    return _is_hangul_tail(point) and _is_hangul(cluster[-1])


def _is_flag_half(point: str) -> bool:
    return "\U0001f1e6" <= point <= "\U0001f1ff"


def _is_hangul(point: str) -> bool:
    return "\u1100" <= point <= "\u11ff" or "\uac00" <= point <= "\ud7a3"


def _is_hangul_tail(point: str) -> bool:
    return "\u1160" <= point <= "\u11ff"
