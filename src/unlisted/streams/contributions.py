"""Who has contributed how often, under the stream's key: no user's name is kept, only a keyed tag of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.mechanisms.continual.label_table import LabelTable
from unlisted.noise.keyed import TAG_BYTES, Tags

TAG = pa.binary(TAG_BYTES)


@dataclass(frozen=True, eq=False)
class Contributions:
    """In how many rounds each user was counted so far. Immutable: `after` returns the next one.

    What a user is dropped for depends on that user's own rows alone, so nobody changes what another one adds.
    """

    users: LabelTable
    counts: NDArray[np.int64]

    @classmethod
    def none(cls) -> Contributions:
        """Return the record before the first round."""
        return cls(LabelTable(), np.zeros(0, dtype=np.int64))

    def may_count(self, tags: pa.Array, most: int) -> NDArray[np.bool_]:
        """Return which of these users have been counted in fewer than `most` rounds."""
        rows = self.users.rows_of(tags)
        known = rows >= 0
        allowed = np.ones(len(rows), dtype=bool)
        allowed[known] = self.counts[rows[known]] < most
        return allowed

    def after(self, counted: pa.Array) -> Contributions:
        """Return the record after a round in which these users, all different, were counted."""
        rows = self.users.rows_of(counted)
        new = np.flatnonzero(rows < 0)
        counts = np.concatenate([self.counts, np.ones(len(new), dtype=np.int64)])
        counts[rows[rows >= 0]] += 1
        return Contributions(self.users.appended(counted.take(pa.array(new))), counts)


def as_labels(tags: Tags) -> pa.Array:
    """Return tags as an Arrow array."""
    return pa.Array.from_buffers(TAG, len(tags), [None, pa.py_buffer(np.ascontiguousarray(tags).tobytes())])
