"""A table in plain text whose columns line up, also where letters are wide or stand on each other."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence


def drawn(head: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[int]) -> list[str]:
    """Draw rows of printable texts under their heads, as lines; columns of numbers stand to the right."""
    widths = [max(_width(cell) for cell in column) for column in zip(head, *rows, strict=True)]
    rule = ["─" * width for width in widths]
    lines = []
    for row in (head, rule, *rows):
        padded = [
            (" " * (width - _width(cell)) + cell) if at in right else cell + " " * (width - _width(cell))
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(padded).rstrip())
    return lines


def _width(text: str) -> int:
    """Return how many columns of a screen a text takes: wide letters take two, marks on a letter none."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )
