"""Who has contributed how much, under the stream's key: no user's name is kept, only a keyed tag of it.

What a user is dropped for depends on that user's own rows alone, so nobody changes what another one adds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unlisted.mechanisms.continual.tag_table import TagTable, words_of
from unlisted.noise.keyed import Tags

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Limit:
    """How much of one user counts: so much over the stream's life, and in each of its periods of so many rounds.

    It is a number of rounds where a user counts in every round, and a number of items where a user counts once for
    each item.
    """

    most: int
    period: int | None = None
    per_period: int | None = None

    def period_of(self, number: int) -> int:
        """Return the number of the period that a round lies in."""
        return 0 if self.period is None else (number - 1) // self.period

    def room(self, counts: Whole, recent: Whole) -> Whole:
        """Return how much more may count of users of whom so much has, in all and in the present period."""
        left = self.most - counts
        return left if self.per_period is None else np.minimum(left, self.per_period - recent)

    def counted(self, counts: Whole, recent: Whole, more: Whole) -> Whole:  # noqa: ARG002 - all of it counts
        """Return what has counted in all once more does."""
        return counts + more

    @property
    def forgets(self) -> bool:
        """Whether a new period begins with no pairs."""
        return False


@dataclass(frozen=True)
class WindowLimit(Limit):
    """At most so many items in each window, which is the period, and so many windows over the stream's life."""

    windows: int = 1

    def room(self, counts: Whole, recent: Whole) -> Whole:
        """Return how many more items may count of users who were in so many windows."""
        room: Whole = np.where((recent > 0) | (counts < self.windows), self.most - recent, 0)
        return room

    def counted(self, counts: Whole, recent: Whole, more: Whole) -> Whole:
        """Return in how many windows users were once more of their items count."""
        began: Whole = ((recent == 0) & (more > 0)).astype(np.int64)
        return counts + began

    @property
    def forgets(self) -> bool:
        """Every window begins anew."""
        return True


@dataclass(frozen=True, eq=False)
class Contributions:
    """How much of each user has counted so far. Immutable: what takes in a round returns the next one.

    `counts` is over the stream's life, `recent` in the present `period`; `pairs` are the items for which a user
    has counted, where that happens once.
    """

    users: TagTable
    counts: Whole
    recent: Whole
    period: int
    pairs: TagTable

    @classmethod
    def none(cls) -> Contributions:
        """Return the record before the first round."""
        nobody = np.zeros(0, dtype=np.int64)
        return cls(TagTable(), nobody, nobody, 0, TagTable())

    def by_round(self, users: Tags, number: int, limit: Limit) -> tuple[NDArray[np.bool_], Contributions]:
        """Return which of a round's users, all different, are counted in it, and the record after it."""
        now = self.in_period(number, limit)
        counted = now._room(users, limit) > 0
        return counted, now._after(users, counted.astype(np.int64), limit)

    def by_item(self, pairs: Pairs, number: int, limit: Limit) -> tuple[NDArray[np.bool_], Contributions]:
        """Return which of a round's pairs of user and item count in it, and the record after it.

        A pair counts if it never did and its user has room; of several that do not all fit, those with the lowest
        tags, an order that has nothing to do with the items.
        """
        now = self.in_period(number, limit)
        room = now._room(pairs.users, limit)
        fresh = np.flatnonzero(now.pairs.rows_of(pairs.tags) < 0)
        words = words_of(pairs.tags[fresh])
        fresh = fresh[np.lexsort((words[:, 1], words[:, 0], pairs.who[fresh]))]
        # The pairs of one user lie together now: the place of each among them.
        who = pairs.who[fresh]
        begins = np.flatnonzero(np.diff(who, prepend=-1))
        place = np.arange(len(who)) - np.repeat(begins, np.diff(begins, append=len(who)))
        taken = fresh[place < room[who]]
        counted = np.zeros(len(pairs.who), dtype=bool)
        counted[taken] = True
        after = now._after(pairs.users, np.bincount(pairs.who[taken], minlength=len(pairs.users)), limit)
        return counted, replace(after, pairs=now.pairs.appended(pairs.tags[counted]))

    def in_period(self, number: int, limit: Limit) -> Contributions:
        """Return the record at the beginning of a round: a new period forgets what counted in the last."""
        period = limit.period_of(number)
        if period == self.period:
            return self
        pairs = TagTable() if limit.forgets else self.pairs
        return replace(self, recent=np.zeros_like(self.recent), period=period, pairs=pairs)

    def _room(self, users: Tags, limit: Limit) -> Whole:
        """Return how much more of each user may count."""
        rows = self.users.rows_of(users)
        known = rows >= 0
        counts, recent = np.zeros((2, len(users)), dtype=np.int64)
        counts[known], recent[known] = self.counts[rows[known]], self.recent[rows[known]]
        return limit.room(counts, recent)

    def _after(self, users: Tags, counted: Whole, limit: Limit) -> Contributions:
        """Return the record after so much of each of these users was counted."""
        there = np.flatnonzero(counted)
        tags, more = users[there], counted[there]
        rows = self.users.rows_of(tags)
        new = rows < 0
        rows[new] = np.arange(len(self.users), len(self.users) + np.count_nonzero(new))
        room = np.zeros(np.count_nonzero(new), dtype=np.int64)
        counts, recent = np.concatenate([self.counts, room]), np.concatenate([self.recent, room])
        # Users of a round are different, so none is added to twice.
        counts[rows] = limit.counted(counts[rows], recent[rows], more)
        recent[rows] += more
        return replace(self, users=self.users.appended(tags[new]), counts=counts, recent=recent)


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs of user and item in a round: the tags of its users, whose each pair is, and the pairs' tags."""

    users: Tags
    who: Whole
    tags: Tags
