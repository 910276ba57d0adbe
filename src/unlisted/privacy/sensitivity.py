"""Who is protected, and how much one of them can change.

`items` is Δ0, the most labels one unit changes (`None`: no bound); `count` is Δ∞, the most by which it changes one
count. Both are promises that must have been *enforced* on the rows before they were counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.encoding import Notation
from unlisted.privacy.numbers import whole

Adjacency = Literal["add_remove", "replace"]


@dataclass(frozen=True)
class Sensitivity:
    """The most that one protected unit can change in a histogram.

    With `add_remove` neighbours differ by one unit present or absent, so all counts move in the same direction.
    With `replace` one unit's contribution is exchanged for another: it may leave `items` labels and enter as many.

    Args:
        items: Δ0, the L0 sensitivity: the most labels that one unit changes; None if there is no bound.
        count: Δ∞, the L∞ sensitivity: the most by which it changes one count.
        adjacency: "add_remove" or "replace".

    Examples:
        >>> ul.Sensitivity(items=10).count
        1
    """

    notation: ClassVar = Notation("Sensitivity", ("items", "count", "adjacency"))

    items: int | None
    count: int = 1
    adjacency: Adjacency = "add_remove"

    def __post_init__(self) -> None:
        if self.items is not None:
            object.__setattr__(self, "items", whole("items", self.items))
        object.__setattr__(self, "count", whole("count", self.count))
        if self.adjacency not in ("add_remove", "replace"):
            raise InvalidArgumentError("adjacency", self.adjacency, "'add_remove' or 'replace'")

    @property
    def sides(self) -> int:
        """One for add/remove; two for replace, where a unit leaves and another enters."""
        return 1 if self.adjacency == "add_remove" else 2

    def items_within(self, labels: int) -> int:
        """Return the most labels one side can change among `labels` of them."""
        return labels if self.items is None else min(self.items, labels)

    def coordinates_within(self, labels: int) -> int:
        """Return the most labels that differ between neighbours, among `labels` of them."""
        return labels if self.items is None else min(self.sides * self.items, labels)

    def require_items(self, why: str) -> int:
        """Return Δ0, or refuse because `why` needs it bounded."""
        if self.items is None:
            raise InvalidArgumentError(
                "items", None, "a whole number, 1 or above", f"{why} needs a bound on the items of one user."
            )
        return self.items
