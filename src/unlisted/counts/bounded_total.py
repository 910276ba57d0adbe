"""One number about a whole table, and the most by which one user can change it."""

from __future__ import annotations

from dataclasses import dataclass

from unlisted.counts.bounded_counts import LARGEST_COUNT
from unlisted.errors import InvalidCountsError
from unlisted.privacy.numbers import whole


@dataclass(frozen=True, repr=False)
class BoundedTotal:
    """A total whose bounds were enforced on the rows before it was taken; one too large for 64 bits saturates.

    `shift` is the most by which it differs between neighbours, whether a user is added or replaced.
    """

    value: int
    shift: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", min(whole("value", self.value, at_least=0), LARGEST_COUNT))
        object.__setattr__(self, "shift", whole("shift", self.shift))

    def require(self, shift: int) -> None:
        """Refuse a total that one user can change by more than was priced."""
        if self.shift > shift:
            raise InvalidCountsError(
                f"One user can change the total by {self.shift}, but the mechanism was priced for {shift}."
            )

    def __repr__(self) -> str:
        # Not the number: a repr ends up in logs.
        return f"<BoundedTotal: one user changes it by at most {self.shift}>"
