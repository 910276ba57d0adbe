"""A round as it was brought: what it would count, how it is known again, and what of it counts.

Who is protected decides what a round has to know. For events it is counts alone. Where a user counts in so many
rounds, it is who is there, and counts without those who have used them up. Where a user counts once for each item,
it is every pair of the two.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts import labels as label_rules
from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.mechanisms.continual.stream_state import in_order
from unlisted.mechanisms.continual.tag_table import words_of
from unlisted.noise.keyed import Tags
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.streams.contributions import Contributions, Limit, Pairs

Kept = tuple[BoundedCounts, Contributions]
"""What of a round counts, and who has contributed how much after it."""


class Round(ABC):
    """A round that was brought."""

    @abstractmethod
    def digest(self) -> bytes:
        """Return a digest of what was brought, before anybody was dropped: to know the round again."""

    @abstractmethod
    def within(self, contributions: Contributions, number: int) -> Kept:
        """Drop what is more than users may contribute."""

    def rehearsed(self) -> Kept:
        """Do all that may have to be done with a round, with one of no rows."""
        return self.within(Contributions.none(), 1)


@dataclass(frozen=True)
class EventRound(Round):
    """Counts of events, which have no past."""

    counts: BoundedCounts

    def digest(self) -> bytes:
        """Return a digest of the counts."""
        return hashlib.sha256(in_order(self.counts)[2]).digest()

    def within(self, contributions: Contributions, number: int) -> Kept:  # noqa: ARG002 - each event is one of its own
        """Return all of it."""
        return self.counts, contributions


@dataclass(frozen=True)
class UserRound(Round):
    """Counts of users who count in so many rounds. `without` counts again without those at some places."""

    counts: BoundedCounts
    users: Tags
    without: Callable[[NDArray[np.int64]], BoundedCounts]
    limit: Limit

    def digest(self) -> bytes:
        """Return a digest of the counts and of who was there."""
        digest = hashlib.sha256(in_order(self.counts)[2])
        digest.update(b"".join(sorted(tag.tobytes() for tag in self.users)))
        return digest.digest()

    def within(self, contributions: Contributions, number: int) -> Kept:
        """Drop the users who have been counted as often as they may; the others are counted once more."""
        counted, after = contributions.by_round(self.users, number, self.limit)
        return self.counts if counted.all() else self.without(np.flatnonzero(~counted)), after

    def rehearsed(self) -> Kept:
        """Count once more, without nobody."""
        return self.without(np.zeros(0, dtype=np.int64)), Contributions.none()


@dataclass(frozen=True)
class PairRound(Round):
    """Pairs of user and item, of which each counts once. `what` is the place of each pair's item in `labels`."""

    labels: pa.Array
    what: NDArray[np.int64]
    pairs: Pairs
    limit: Limit

    def digest(self) -> bytes:
        """Return a digest of the pairs, whatever order they came in."""
        words = words_of(self.pairs.tags)
        order = np.lexsort((words[:, 1], words[:, 0]))
        return hashlib.sha256(b"pairs:" + self.pairs.tags[order].tobytes()).digest()

    def within(self, contributions: Contributions, number: int) -> Kept:
        """Count the pairs that never counted before, as far as their users have room."""
        counted, after = contributions.by_item(self.pairs, number, self.limit)
        counts = np.bincount(self.what[counted], minlength=len(self.labels))
        there = np.flatnonzero(counts)
        found = BoundedCounts(label_rules.take(self.labels, there), counts[there], Sensitivity(self.limit.most))
        return widened(found), after


def widened(counts: BoundedCounts) -> BoundedCounts:
    """Return the same labels in the form of a stream: sources differ in how wide their texts and numbers are."""
    labels = widened_labels(counts.labels)
    # What else the counts declare stays declared: the mechanism refuses by it.
    return counts if labels is counts.labels else replace(counts, labels=labels)


def widened_labels(labels: pa.Array) -> pa.Array:
    """Return labels in the widest type of their kind."""
    kind = wide = labels.type
    if pa.types.is_large_string(kind):
        wide = pa.string()
    elif pa.types.is_signed_integer(kind) or (pa.types.is_unsigned_integer(kind) and kind != pa.uint64()):
        wide = pa.int64()
    elif pa.types.is_floating(kind):
        wide = pa.float64()
    return labels if wide == kind else labels.cast(wide)
