"""Tables with hostile rows in them, and the same tables without.

A table has four columns: `user`, `item`, `seen` (what predicates speak of) and `spare` (what nobody asks about).
One of them, the role, is of the kind that a hostile cell belongs to; the others are plain text. Every other calm
user has more items than the bound, so that whoever is taken for one of them shows; the rest are within it, so that
a row of theirs that is lost shows too. What a villain has is hardly ever what others have.

Each hostile cell has a villain of its own: a user with the hostile row and a calm one or two, or, where the user
is what is hostile, four rows of that user. With one calm row a villain is within the bound, and the hostile row
always counts if it can.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tests.hostile.cells import Cell, Kind, Line

Role = Literal["user", "item", "seen", "spare"]
ROLES: tuple[Role, ...] = ("user", "item", "seen", "spare")
Place = Literal["first", "middle", "last"]
PLACES: tuple[Place, ...] = ("first", "middle", "last")

ITEMS_OF_EACH = 3
VILLAIN, SECRET_ITEM = "zz-villain", "zz-hostile-item"
"""How whatever belongs to a villain begins. Neither may be in a message or a log."""

Row = tuple[Any, Any, Any, Any]


@dataclass(frozen=True)
class Rows:
    """Rows in the order of `ROLES`; the cells of the role are the kind's, all others are texts."""

    kind: Kind
    role: Role
    rows: tuple[Row, ...]

    def column(self, role: Role) -> list[Any]:
        """Return the cells of a column."""
        return [row[ROLES.index(role)] for row in self.rows]


@dataclass(frozen=True)
class Pair:
    """Neighbours: a table with the rows of some villains, and without."""

    kind: Kind
    role: Role
    cells: tuple[Cell, ...]
    place: Place = "middle"
    users: int = 7
    more: int = 1

    @property
    def without(self) -> Rows:
        """Everybody else's rows."""
        return Rows(self.kind, self.role, tuple(self._calm()))

    @property
    def with_villains(self) -> Rows:
        """All rows."""
        calm, hostile = list(self._calm()), list(self._hostile())
        at = {"first": 0, "middle": len(calm) // 2, "last": len(calm)}[self.place]
        return Rows(self.kind, self.role, (*calm[:at], *hostile, *calm[at:]))

    def _calm(self) -> Iterator[Row]:
        for user in range(self.users):
            for number in range(ITEMS_OF_EACH - (user + 1) % 2):
                yield self._row(f"u{user}", f"i{(user + number) % 6}", "bcd"[number], "calm", user + number, user)

    def _row(self, user: str, item: str, seen: str, spare: str, at: int, who: int) -> Row:
        """A row of texts, in which the role's is a calm value of the kind."""
        plain: list[Any] = [user, item, seen, spare]
        calm = self.kind.calm
        plain[ROLES.index(self.role)] = calm[(who if self.role == "user" else at) % len(calm)]
        return (plain[0], plain[1], plain[2], plain[3])

    def _hostile(self) -> Iterator[Row]:
        for number, cell in enumerate(self.cells):
            if self.role == "user":
                for at, value in enumerate(spellings(cell) * (2 if cell.again else 4)):
                    yield (value, f"{SECRET_ITEM}{number}-{at}", "b", "calm")
                continue
            row: list[Any] = [f"{VILLAIN}{number}", f"{SECRET_ITEM}{number}", "b", "calm"]
            row[ROLES.index(self.role)] = cell.value
            yield (row[0], row[1], row[2], row[3])
            # Whose a hostile line is, it says itself, if anybody's.
            for at in range(0 if isinstance(cell.value, Line) else self.more):
                yield self._row(f"{VILLAIN}{number}", f"{SECRET_ITEM}{number}-{at}", "b", "calm", -1 - at, at)


def spellings(cell: Cell) -> Sequence[Any]:
    """All ways in which the cell writes one user."""
    return (cell.value, *cell.again)
