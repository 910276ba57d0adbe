"""Who has contributed how much, under the stream's key: no user's name is kept, only a keyed tag of it.

What a user is dropped for depends on that user's own rows alone, so nobody changes what another one adds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unlisted.noise.keyed import Tags
from unlisted.streams.tag_table import TagTable, words_of

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
        now = self._in_period(limit.period_of(number))
        counted = now._room(users, limit) > 0
        return counted, now._after(users, counted.astype(np.int64))

    def by_item(self, pairs: Pairs, number: int, limit: Limit) -> tuple[NDArray[np.bool_], Contributions]:
        """Return which of a round's pairs of user and item count in it, and the record after it.

        A pair counts if it never did and its user has room; of several that do not all fit, those with the lowest
        tags, an order that has nothing to do with the items.
        """
        now = self._in_period(limit.period_of(number))
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
        after = now._after(pairs.users, np.bincount(pairs.who[taken], minlength=len(pairs.users)))
        return counted, replace(after, pairs=now.pairs.appended(pairs.tags[counted]))

    def _in_period(self, period: int) -> Contributions:
        """Return the record at the beginning of a round: a new period forgets what counted in the last."""
        return self if period == self.period else replace(self, recent=np.zeros_like(self.recent), period=period)

    def _room(self, users: Tags, limit: Limit) -> Whole:
        """Return how much more of each user may count."""
        rows = self.users.rows_of(users)
        known = rows >= 0
        room = np.full(len(users), limit.most, dtype=np.int64)
        room[known] -= self.counts[rows[known]]
        if limit.per_period is not None:
            lately = np.full(len(users), limit.per_period, dtype=np.int64)
            lately[known] -= self.recent[rows[known]]
            room = np.minimum(room, lately)
        return room

    def _after(self, users: Tags, counted: Whole) -> Contributions:
        """Return the record after so much of each of these users was counted."""
        there = np.flatnonzero(counted)
        tags, more = users[there], counted[there]
        rows = self.users.rows_of(tags)
        new = rows < 0
        rows[new] = np.arange(len(self.users), len(self.users) + np.count_nonzero(new))
        room = np.zeros(np.count_nonzero(new), dtype=np.int64)
        counts, recent = np.concatenate([self.counts, room]), np.concatenate([self.recent, room])
        # Users of a round are different, so none is added to twice.
        counts[rows] += more
        recent[rows] += more
        return replace(self, users=self.users.appended(tags[new]), counts=counts, recent=recent)


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs of user and item in a round: the tags of its users, whose each pair is, and the pairs' tags."""

    users: Tags
    who: Whole
    tags: Tags
