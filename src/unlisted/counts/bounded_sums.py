"""Sums of amounts for labels, and between what one user's amount for one label lies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.errors import InvalidCountsError


@dataclass(frozen=True, repr=False, eq=False)
class BoundedSums:
    """Sums of amounts, each of which was brought between `low` and `high` for its user and label first.

    Amounts are whole numbers of units, weighed as counts are. A sum too large for 64 bits saturates.
    """

    labels: pa.Array
    sums: NDArray[np.int64]
    low: int
    high: int

    def require(self, low: int, high: int) -> None:
        """Refuse sums of amounts that may be further out than was priced."""
        if self.low < low or self.high > high:
            raise InvalidCountsError(
                f"One user's amount for a label lies between {self.low} and {self.high}, but the mechanism was "
                f"priced for {low} to {high}."
            )

    def __repr__(self) -> str:
        # Not the numbers: a repr ends up in logs.
        return f"<BoundedSums: one user's amount for a label lies between {self.low} and {self.high}>"
