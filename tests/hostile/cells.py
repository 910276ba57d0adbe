"""What a hostile row holds in one of its columns, and what may become of it.

A `Kind` is a column of one type: calm values, which everybody has, and hostile cells, of which one row holds one.
How a cell is written depends on what writes it. So each family of sources has kinds of its own: Arrow arrays,
statements of SQL, fields of text files, Python objects in pandas.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

NEWLINES = "\r\n \u2028\u2029\x85\v\f"

TEXTS = {
    "empty": "",
    "a blank": " ",
    "newlines of all sorts": f"zz{NEWLINES}zz",
    "bidi": "zz\u202eevil\u2066\u200fzz",
    "a BOM": "\ufeffzz",
    "the replacement character": "zz\ufffd",
    "the last character": "zz\U0010ffff",
    "no character": "zz\uffff\ufffe",
    "three hundred accents": "e" + "\u0301" * 300,
    "quotes": "zz'\"`\\'; DROP TABLE x --",
    "a formula": "=cmd|' /C calc'!A0",
    "a number": "9" * 400,
    "NaN as text": "NaN",
    "NULL as text": "NULL",
    "just short enough": "x" * 1024,
}
"""Texts that are hostile and still texts. Each may be a label as it is, and as nothing else."""

TEXTS_WITH_NUL = {"NUL inside": "zz\0zz", "NUL alone": "\0", "NUL behind another label": "i0\0"}

TOO_LONG = {"one byte too long": b"x" * 1025, "too long by an accent": ("x" * 1023 + "é").encode()}
"""Longer than the longest label. A user or a predicate's value may be as long as it likes."""

HUGE = b"h" * 10_000_000

UNDECODABLE = {
    "Latin-1": b"caf\xe9",
    "no start": b"\x80",
    "cut off": b"zz\xe2\x82",
    "overlong NUL": b"zz\xc0\x80",
    "a lone surrogate": b"zz\xed\xa0\x80",
    "a pair of surrogates": b"\xed\xa0\xbd\xed\xb8\x80",
    "beyond the last character": b"\xf5\x80\x80\x80",
    "nothing but ones": b"\xff" * 40,
}
"""Bytes that are no UTF-8: a row that holds them in a text column is as if it were not there."""


class Leaves(Enum):
    """What may leave as a label, where it is not one value."""

    NOTHING = "the row is as if it were not there, and NULL to a predicate"
    UNSAID = "whatever the engine makes of it, if it is one label of one user"


@dataclass(frozen=True)
class Line:
    """A whole line of a text file in the place of a row, without its end; `fill` so many times amid the rest."""

    before: bytes
    fill: bytes = b""
    times: int = 0
    after: bytes = b""

    @property
    def text(self) -> bytes:
        """The line, made when it is written: some take tens of megabytes."""
        return self.before + self.fill * self.times + self.after


@dataclass(frozen=True)
class Cell:
    """One hostile value.

    `leaves` is the label it may leave as, if not nothing: told for those that are compared. `too_long` cells are
    nothing as a label, but are values to a predicate, and users. `again` are other ways to write the same user:
    the database holds them equal, so they are one person.
    """

    name: str
    value: Any
    leaves: Any = Leaves.UNSAID
    too_long: bool = False
    again: tuple[Any, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """Whether the row counts nowhere that the cell is read."""
        return self.leaves is Leaves.NOTHING


@dataclass(frozen=True)
class Kind:
    """A column of one type. `word` says which predicates suit it, `typed` is the type as the family writes it."""

    name: str
    word: str
    typed: Any
    calm: tuple[Any, ...]
    hostile: tuple[Cell, ...]

    def __post_init__(self) -> None:
        assert len(self.calm) >= 6 or self.word == "bool", self.name
        assert len({cell.name for cell in self.hostile}) == len(self.hostile), self.name


WHERES: dict[str, tuple[str, ...]] = {
    "text": (
        "seen = 'b'", "seen <> 'b'", "seen LIKE '%c%'", "seen LIKE '_%'", "seen > 'c'", "seen IN ('a', 'b')",
        "seen BETWEEN 'a' AND 'zzzz'", "NOT (seen = 'b')", "seen IS NOT NULL",
    ),
    "int": (
        "seen > 5", "seen <= 5", "seen <> 3", "seen % 2 = 1", "seen * 3 + 1 > 7", "-seen < 0", "seen / 3 < 1",
        "seen IN (1, 2, 3)", "NOT (seen = 4)", "seen IS NOT NULL", "7 % seen = 1",
    ),
    "number": (
        "seen > 5", "seen <= 5", "seen <> 3", "seen * 3 + 1 > 7", "-seen < 0", "seen / 3 < 1", "1 / seen > 0",
        "seen IN (1, 2, 3)", "NOT (seen = 4)", "seen IS NOT NULL", "seen - 5 < 0", "seen BETWEEN 2 AND 9",
    ),
    "date": (
        "seen > DATE '2020-03-01'", "seen <= DATE '2020-03-01'", "EXTRACT(year FROM seen) = 2020",
        "EXTRACT(week FROM seen) > 9", "NOT (seen = DATE '2020-02-01')", "seen IS NOT NULL", "ISODOW(seen) < 5",
        "seen BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'",
    ),
    "timestamp": (
        "seen > TIMESTAMP '2020-03-01 00:00:00'", "seen <= TIMESTAMP '2020-03-01 00:00:00'",
        "EXTRACT(year FROM seen) = 2020", "EXTRACT(hour FROM seen) > 1", "QUARTER(seen) = 1", "seen IS NOT NULL",
        "NOT (seen = TIMESTAMP '2020-03-01 00:00:00')",
    ),
    "bool": ("seen", "NOT seen", "seen = TRUE", "seen IS NOT NULL"),
    "other": ("seen IS NOT NULL", "NOT (seen IS NULL)"),
}  # fmt: skip
"""Conditions on the column `seen`, by what it holds. None is true of NULL."""

NULL_WHERE = "seen IS NULL"
