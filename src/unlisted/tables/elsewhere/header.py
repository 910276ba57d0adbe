"""What the answer to a statement says about itself, so that it cannot be released under another bound.

A statement that was printed for another system (`statement.py`) lets one row of its answer, whose count is 0,
carry the bounds that it counted within. Every other row carries the statement's name, and how many rows there are.
So a file that was cut short, or is made of two answers, is found out, and one of no counts still says what it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.privacy.numbers import whole

FORM = "unlisted-counts-1"
"""What a header begins with. Another number is another form."""

COUNT, IN_ALL, ABOUT = "n", "of", "unlisted"
"""The columns beside those of labels: the count, how many rows there are, the header or the statement's name."""

ASKED = ("histogram", "top", "top-histogram")
"""The questions that a statement can count for."""

_NO_BOUND = "none"


def label_column(at: int) -> str:
    """Return the name of the column of an answer that holds the labels of an item's column."""
    return f"i{at}"


@dataclass(frozen=True)
class Header:
    """The bounds that a statement counts within.

    `statement` names it: digits that are made from its secret and do not tell it. `fetch` is k̄, if only the k̄ + 1
    largest counts are in the answer.
    """

    question: str
    user: str
    items: tuple[str, ...]
    items_per_user: int | None
    count_per_item: int
    fetch: int | None
    statement: str

    def __str__(self) -> str:
        said = {
            "question": self.question,
            "user": quote(self.user, safe=""),
            "items": ",".join(quote(name, safe="") for name in self.items),
            "items_per_user": self.items_per_user or _NO_BOUND,
            "count_per_item": self.count_per_item,
            "fetch": self.fetch or _NO_BOUND,
            "statement": self.statement,
        }
        return " ".join((FORM, *(f"{name}={value}" for name, value in said.items())))

    @classmethod
    def read(cls, text: str) -> Header:
        """Read what `str` wrote; anything else is refused."""
        form, *parts = text.split(" ")
        said = dict(part.partition("=")[::2] for part in parts)
        known = ("question", "user", "items", "items_per_user", "count_per_item", "fetch", "statement")
        if form != FORM or tuple(said) != known or said["question"] not in ASKED:
            raise InvalidCountsError(
                f"The column {ABOUT!r} does not hold what `unlisted sql` of this version puts there. Export the "
                "answer again, all of it and unchanged."
            )
        try:
            return cls(
                said["question"],
                unquote(said["user"]),
                tuple(unquote(name) for name in said["items"].split(",")),
                _bound("items_per_user", said),
                whole("count_per_item", int(said["count_per_item"])),
                _bound("fetch", said),
                said["statement"],
            )
        except (ValueError, InvalidArgumentError):
            raise InvalidCountsError(f"A bound in the column {ABOUT!r} is no whole number.") from None

    def bounds(self) -> dict[str, Any]:
        """Return the bounds by the names that `ul.counts` takes."""
        return {
            "items_per_user": self.items_per_user,
            "count_per_item": self.count_per_item,
            "fetch": self.fetch,
            "minimum_count": 1,
            "ties": "label",
        }

    def agreed(self, **told: Any) -> None:
        """Refuse what was told and is not so: the bounds are the statement's, and nobody's choice afterwards."""
        held = {**self.bounds(), "item": self.items, "user": self.user}
        for name, value in told.items():
            if value is not None and value != held[name]:
                said = "none" if held[name] is None else held[name]
                hint = "The file says within which bounds it was counted. Leave it out, or make another statement."
                raise InvalidArgumentError(name, value, f"{said!r}, as in the statement, or left out", hint)


def _bound(name: str, said: dict[str, str]) -> int | None:
    return None if said[name] == _NO_BOUND else whole(name, int(said[name]))
