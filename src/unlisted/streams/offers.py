"""A round as it was brought: what was counted in it, and who is in it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.mechanisms.continual.stream_state import digest_of, in_order


@dataclass(frozen=True)
class People:
    """Who is in a round, as keyed tags; `without` counts again without those at some places among the tags."""

    tags: pa.Array
    without: Callable[[NDArray[np.int64]], BoundedCounts]


@dataclass(frozen=True)
class Offered:
    """A round as it was brought: its bounded counts, and for unit "user" who is in it."""

    counts: BoundedCounts
    people: People | None = None

    def digest(self) -> bytes:
        """Return a digest of what was brought, before anybody was dropped: to know the round again."""
        digest = hashlib.sha256(digest_of(*in_order(self.counts)))
        if self.people is not None:
            digest.update(b"".join(sorted(self.people.tags.to_pylist())))
        return digest.digest()
