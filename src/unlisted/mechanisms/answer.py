"""What a mechanism gives out: labels, perhaps counts, and what they cost.

The order of the rows is a function of what is released: by noisy count and then label, by rank, or by label. Scan
order, true counts and the path that produced the rows cannot be read from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts import labels as label_rules
from unlisted.privacy.guarantee import Guarantee


@dataclass(frozen=True, eq=False)
class Answer:
    """The rows that a mechanism released.

    `counts` is None for a bare ranking and for bare labels. `stopped` is true if a ranking ended before it had k
    labels; `noisy_threshold` is there where a mechanism gives it away for free. `spent` is what was used of the
    ceiling; only a filter that reserved the ceiling first may hand the rest back. `extras` is what else was
    released, by name, as plain values.
    """

    labels: pa.Array
    counts: NDArray[np.int64] | None
    spent: Guarantee
    stopped: bool = False
    noisy_threshold: int | None = None
    extras: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # What no engine should have named, and nobody can read. It was drawn like any other label, so to leave it
        # out is to release less.
        if self.labels.null_count:
            there = np.flatnonzero(np.asarray(self.labels.is_valid()))
            object.__setattr__(self, "labels", label_rules.take(self.labels, there))
            if self.counts is not None:
                object.__setattr__(self, "counts", self.counts[there])

    @classmethod
    def by_count(
        cls,
        labels: pa.Array,
        counts: NDArray[np.int64],
        spent: Guarantee,
        noisy_threshold: int | None = None,
        extras: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Put released rows in the order of their noisy count, largest first, then of their label."""
        rows = label_rules.order(labels, counts)
        taken = label_rules.take(labels, rows)
        return cls(taken, counts[rows], spent, noisy_threshold=noisy_threshold, extras=extras or {})

    @classmethod
    def of_labels(cls, labels: pa.Array, spent: Guarantee) -> Answer:
        """Put released labels in their own order, with nothing beside them."""
        rows = label_rules.order(labels, np.zeros(len(labels), dtype=np.int64))
        return cls(label_rules.take(labels, rows), None, spent)

    def __len__(self) -> int:
        return len(self.labels)
