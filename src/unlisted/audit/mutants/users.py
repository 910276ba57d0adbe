"""Mutants of bounding users: what is declared about the counts was never enforced on the rows.

Data is a sequence of rows, each a user and an item; neighbours differ by all the rows of one user.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

from unlisted.audit.mutants.mutant import LAPLACE, ONE, Mutant, Noise, Rows, released
from unlisted.audit.subject import OpenBits, Pair, Subject
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram

Row = tuple[str, str]
Count = Callable[[Sequence[Row]], Mapping[str, int]]

RIGHT = ThresholdHistogram(LAPLACE, 9, ONE)
"""Priced for one item of a user, counted once."""

OTHERS = [(f"user{i}", "soup") for i in range(30)]


def unbounded(bits: OpenBits) -> Mutant:
    """Count all items of a user."""
    items = [f"item{i}" for i in range(8)]
    others = [(f"user{i}", items[i % 8]) for i in range(8 * 30)]
    return _counted(
        "unbounded users",
        "A user counts for all their items, and the price is that of one.",
        Pair("a user with eight items", others, [*others, *[("busy", item) for item in items]]),
        lambda rows: Counter(item for _, item in set(rows)),
        bits,
    )


def clipped_after_counting(bits: OpenBits) -> Mutant:
    """Bound the sum of a user's rows instead of each user's part in it."""
    return _counted(
        "clipped after counting",
        "Counts are clipped when all users are already in them, so one user still moves a count by many rows.",
        Pair("a user with ten rows", OTHERS, [*OTHERS, *[("busy", "soup")] * 10]),
        lambda rows: {item: min(count, 100) for item, count in Counter(item for _, item in rows).items()},
        bits,
    )


def most_common_kept(bits: OpenBits) -> Mutant:
    """Keep the item of a user that most others have."""
    both = [(f"user{i}", item) for i in range(30) for item in ("soup", "bread")]

    def counted(rows: Sequence[Row]) -> Mapping[str, int]:
        common = Counter(item for _, item in rows)
        items = defaultdict(list)
        for user, item in rows:
            items[user].append(item)
        return Counter(min(own, key=lambda item: (-common[item], item)) for own in items.values())

    return _counted(
        "most common item kept",
        "Which item of a user counts depends on other users, so one user can change the item of all the others.",
        Pair("a user who likes soup", both, [*both, ("newcomer", "soup")]),
        counted,
        bits,
    )


def several_names(bits: OpenBits) -> Mutant:
    """Count a user once for every spelling of the user's name."""
    return _counted(
        "several names for one user",
        "Users are told apart by a column that one person has many values of, so each value has its own bound.",
        Pair("one person on eight devices", OTHERS, [*OTHERS, *[(f"person/{i}", "soup") for i in range(8)]]),
        lambda rows: _one_item_each(rows, person=lambda user: user),
        bits,
    )


def _one_item_each(rows: Sequence[Row], person: Callable[[str], str]) -> Mapping[str, int]:
    """Count one item of every person, the first by name."""
    kept: dict[str, str] = {}
    for user, item in rows:
        kept[person(user)] = min(item, kept.get(person(user), item))
    return Counter(kept.values())


def _counted(name: str, wrong: str, pair: Pair, count: Count, bits: OpenBits) -> Mutant:
    noise = Noise(RIGHT.law, bits)

    def claiming(said: str, counted: Count) -> Subject:
        def run(rows: Sequence[Row]) -> Rows:
            return released(counted(rows), noise, RIGHT.threshold)

        return Subject(said, RIGHT.guarantee(), lambda: [pair], run)

    right = claiming("repaired", lambda rows: _one_item_each(rows, lambda user: user.partition("/")[0]))
    return Mutant(wrong, claiming(name, count), right)
