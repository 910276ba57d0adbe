"""What weighs labels: an engine that holds the rows, or a list in memory.

Labels are not named before they are chosen. They lie in buckets by their weight, and are spoken of as "the label
at rank r of bucket b", ranks being from 0 in the order of labels. So what leaves an engine is how many labels
there are in each bucket, and the names of those that were drawn.

`ListedWeights` says slowly what an engine does at size, in plain whole numbers, one label after the other, so that
tests can compare and the audit can compute laws. Nothing in it is chosen by a secret: a user with more items than
the bound keeps the first in the order of labels. That is a fixed rule of the user's own items, so it bounds them
as well; but it favours the same labels for everybody, so no real table is weighed like this.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts import labels as label_rules
from unlisted.counts.bounded_counts import LARGEST_COUNT, BoundedCounts
from unlisted.counts.bounded_sums import BoundedSums
from unlisted.counts.bounded_total import BoundedTotal
from unlisted.counts.weights import HEAVIEST, SHARES, Rerouting, Weighing, even_weight, full_weight
from unlisted.privacy.sensitivity import Adjacency, Sensitivity


class WeightOracle(Protocol):
    """The labels of one unchanging state of the data, weighed as often as asked."""

    def weigh(self, weighing: Weighing) -> None:
        """Weigh all labels that were not taken out, bounding each user to `weighing.items` of them first."""

    def buckets(self, width: int, last: int) -> Mapping[int, int]:
        """Return how many labels there are in each bucket: b holds weights above b·width up to (b + 1)·width.

        The bucket `last` also holds all that are heavier.
        """

    def named(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> tuple[pa.Array, NDArray[np.int64]]:
        """Return the labels at these places, in this order, and their weights; buckets as last asked for."""

    def take_out(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> None:
        """Leave the labels at these places out of all further weighing: they are released."""

    def weights_at(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what the labels at these places weigh, in this order; no label is named."""

    def keep_in_play(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> None:
        """Leave all labels but those at these places out of all further weighing."""

    def sizes_of_users(self) -> Mapping[int, int]:
        """Return how many users have m of the labels taken out, for every m from 1 that somebody has."""

    def scaled_counts_of_taken(self, weights: NDArray[np.int64]) -> BoundedCounts:
        """Return, of the labels taken out, the sum over all users who have each of what that user counts for.

        A user who has m of these labels counts for weights[m - 1], which is 1 or more, in each of them.
        """

    def counts_of_taken(self) -> BoundedCounts:
        """Return, of the labels taken out, how many users have each; no bound on the items of a user."""

    def scaled_sums_of_taken(self, weights: NDArray[np.int64]) -> BoundedSums:
        """Return, of the labels taken out, the sum over all users of their amount times what they count for."""

    def users(self) -> BoundedTotal:
        """Return how many users have a label, taken out or not."""

    def users_of_others(self) -> BoundedTotal:
        """Return how many users have a label that was not taken out, in play or not."""

    def values_of_users(self, most: int) -> BoundedTotal:
        """Return how many labels all users have together, of each user at most so many."""

    def other_values(self, most: int) -> BoundedTotal:
        """Return how many different labels were not taken out, of each user's at most so many."""


class ListedWeights:
    """Labels and who has them, in memory. Inside, a label is spoken of by its place in the order of labels."""

    def __init__(
        self,
        items_of_users: Mapping[Any, Iterable[Any]],
        adjacency: Adjacency = "add_remove",
        amounts: Mapping[Any, Mapping[Any, int]] | None = None,
        bounds: tuple[int, int] = (0, 1),
    ) -> None:
        listed = {user: {label_rules.encode(item): item for item in of} for user, of in items_of_users.items()}
        found = {encoded: item for of in listed.values() for encoded, item in of.items()}
        array = label_rules.plain(list(found.values()))
        order = label_rules.order(array, np.zeros(len(array), dtype=np.int64))
        names = list(found)
        place = {names[at]: rank for rank, at in enumerate(order.tolist())}
        self._labels = label_rules.take(array, order)
        self._users = [sorted(place[encoded] for encoded in of) for of in listed.values()]
        self._adjacency = adjacency
        self._bounds = bounds
        self._amounts = [
            {place[label_rules.encode(item)]: amount for item, amount in (amounts or {}).get(user, {}).items()}
            for user in listed
        ]
        self._taken: list[int] = []
        self._in_play: set[int] | None = None
        self._weights: dict[int, int] = {}
        self._in_bucket: dict[int, list[int]] = {}

    def weigh(self, weighing: Weighing) -> None:
        """Weigh all labels that were not taken out."""
        taken, in_play = set(self._taken), self._in_play
        left = (
            [item for item in items if item not in taken and (in_play is None or item in in_play)]
            for items in self._users
        )
        users = [items[: weighing.items] for items in left if items]
        rerouting = weighing.rerouting
        weights = _adapted(users, rerouting) if rerouting else _full(users)
        self._weights = {label: min(weight, LARGEST_COUNT) for label, weight in weights.items()}

    def buckets(self, width: int, last: int) -> Mapping[int, int]:
        """Return how many labels there are in each bucket."""
        self._in_bucket = defaultdict(list)
        for label in sorted(self._weights):
            self._in_bucket[min((self._weights[label] - 1) // width, last)].append(label)
        return {bucket: len(labels) for bucket, labels in self._in_bucket.items()}

    def named(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> tuple[pa.Array, NDArray[np.int64]]:
        """Return the labels at these places, in this order, and their weights."""
        places = np.array(self._at(buckets, ranks), dtype=np.int64)
        return label_rules.take(self._labels, places), self.weights_at(buckets, ranks)

    def weights_at(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what the labels at these places weigh, in this order."""
        return np.array([self._weights[place] for place in self._at(buckets, ranks)], dtype=np.int64)

    def take_out(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> None:
        """Leave the labels at these places out of all further weighing."""
        self._taken += self._at(buckets, ranks)

    def keep_in_play(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> None:
        """Leave all labels but those at these places out of all further weighing."""
        self._in_play = set(self._at(buckets, ranks))

    def sizes_of_users(self) -> Mapping[int, int]:
        """Return how many users have m of the labels taken out."""
        return Counter(len(items) for items in self._users_of_taken() if items)

    def scaled_counts_of_taken(self, weights: NDArray[np.int64]) -> BoundedCounts:
        """Return the sum over all users of what each counts for."""
        counts: Counter[int] = Counter()
        for items in self._users_of_taken():
            counts.update(dict.fromkeys(items, int(weights[len(items) - 1]) if items else 0))
        labels = label_rules.take(self._labels, np.array(self._taken, dtype=np.int64))
        heaviest = Sensitivity(items=None, count=int(weights.max(initial=1)), adjacency=self._adjacency)
        return BoundedCounts(labels, [counts[place] for place in self._taken], heaviest)

    def counts_of_taken(self) -> BoundedCounts:
        """Return how many users have each of the labels taken out, whatever the bound was."""
        users = Counter(item for items in self._users for item in items)
        labels = label_rules.take(self._labels, np.array(self._taken, dtype=np.int64))
        sensitivity = Sensitivity(items=None, count=1, adjacency=self._adjacency)
        return BoundedCounts(labels, [users[place] for place in self._taken], sensitivity)

    def scaled_sums_of_taken(self, weights: NDArray[np.int64]) -> BoundedSums:
        """Return the sum over all users of their amount, within the bounds, times what they count for."""
        (low, high), sums = self._bounds, Counter[int]()
        for items, amounts in zip(self._users_of_taken(), self._amounts, strict=True):
            for item in items:
                sums[item] += int(weights[len(items) - 1]) * max(low, min(high, amounts.get(item, 0)))
        labels = label_rules.take(self._labels, np.array(self._taken, dtype=np.int64))
        most = [max(-LARGEST_COUNT, min(LARGEST_COUNT, sums[place])) for place in self._taken]
        return BoundedSums(labels, np.array(most, dtype=np.int64), low, high)

    def users(self) -> BoundedTotal:
        """Return how many users have a label."""
        return BoundedTotal(sum(1 for items in self._users if items), 1)

    def users_of_others(self) -> BoundedTotal:
        """Return how many users have a label that was not taken out."""
        taken = set(self._taken)
        return BoundedTotal(sum(1 for items in self._users if not taken.issuperset(items)), 1)

    def values_of_users(self, most: int) -> BoundedTotal:
        """Return how many labels all users have together, of each user at most so many."""
        return BoundedTotal(sum(min(len(items), most) for items in self._users), most)

    def other_values(self, most: int) -> BoundedTotal:
        """Return how many different labels were not taken out, of each user's the first so many."""
        taken = set(self._taken)
        others = ([item for item in items if item not in taken] for items in self._users)
        return BoundedTotal(len({item for items in others for item in items[:most]}), most)

    def _users_of_taken(self) -> list[list[int]]:
        taken = set(self._taken)
        return [[item for item in items if item in taken] for items in self._users]

    def _at(self, buckets: NDArray[np.int64], ranks: NDArray[np.int64]) -> list[int]:
        return [self._in_bucket[b][rank] for b, rank in zip(buckets.tolist(), ranks.tolist(), strict=True)]


def _full(users: list[list[int]]) -> Mapping[int, int]:
    """Return what labels weigh if nothing is given back."""
    weights: Counter[int] = Counter()
    for items in users:
        weights.update(dict.fromkeys(items, full_weight(len(items))))
    return weights


def _adapted(users: list[list[int]], rerouting: Rerouting) -> Mapping[int, int]:
    """Return what labels weigh if those with enough give back; rounded once, at the end."""
    adaptive = [items for items in users if len(items) <= rerouting.most_items]
    even: Counter[int] = Counter()
    for items in adaptive:
        even.update(dict.fromkeys(items, even_weight(len(items))))
    back = {label: _given_back(weight, rerouting.enough) for label, weight in even.items()}
    gain: Counter[int] = Counter()
    for items in adaptive:
        gets = sum(back[item] for item in items)
        gain.update(dict.fromkeys(items, even_weight(len(items)) * gets))
    spread, weights = rerouting.spread, {}
    for label, full in _full(users).items():
        stays = spread * even[label] * (SHARES - back.get(label, 0)) + gain[label]
        weights[label] = full - even[label] + stays // (SHARES * spread)
    return weights


def _given_back(even: int, enough: int) -> int:
    """Return how many of SHARES parts of its even weight a label gives back; a division in floating point."""
    known = min(even, HEAVIEST)
    return 0 if even <= enough else int((known - enough) / known * SHARES)
