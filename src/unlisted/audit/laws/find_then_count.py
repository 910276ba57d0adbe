"""The exact law of labels and their counts on small tables, from what the mechanism is said to do.

An output is (noisy numbers of users by size, rows of label and noisy count). What a user counts for, the sums and
the rounding are written down here again. The classes of sizes, and which D1 is best given their noisy numbers, are
the program's own: they are functions of what is released.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial

from unlisted.audit.laws.histograms import in_order
from unlisted.audit.laws.labels import Crowd, label_selection_law
from unlisted.audit.laws.noise import noise_law
from unlisted.audit.laws.output_law import OutputLaw, independent
from unlisted.mechanisms.partition_selection.then_count import FindThenCount
from unlisted.mechanisms.partition_selection.then_sum import FindThenSum
from unlisted.mechanisms.partition_selection.user_sizes import SizesOfUsers, size_ends
from unlisted.mechanisms.partition_selection.with_totals import FoundWithTotals

Labels = tuple[str, ...]
Sums = dict[str, int]


def find_then_count_law(mechanism: FindThenCount, crowd: Crowd) -> OutputLaw:
    """Return the law of everything that is released."""

    def counted(labels: Labels) -> OutputLaw:
        return counts_law(mechanism, crowd, labels, lambda sizes: best_in_full(mechanism, labels, sizes))

    return label_selection_law(mechanism.selection, crowd).then(counted).seen_as(lambda pair: pair[1])


def with_totals_law(mechanism: FoundWithTotals, crowd: Crowd) -> OutputLaw:
    """Return the law of the labels that are found, and of the totals given these; counts are left out of it."""
    return label_selection_law(mechanism.found.selection, crowd).then(partial(totals_law, mechanism, crowd))


def totals_law(mechanism: FoundWithTotals, crowd: Crowd, labels: Labels) -> OutputLaw:
    """Return the law of the totals where these labels were found."""
    true = true_totals(crowd, labels, mechanism.values)
    noisy = [
        noise_law(mechanism.law(shift)).seen_as(partial(_shown, true[name]))
        for name, shift in mechanism.shifts.items()
    ]
    return independent(noisy, tuple)


def true_totals(crowd: Crowd, labels: Labels, most: int) -> dict[str, int]:
    """Return users with any label and labels of users, and both for labels that are not among these."""
    others = {held: sorted(set(held) - set(labels))[:most] for held in crowd}
    return {
        "users": sum(times for held, times in crowd.items() if held),
        "user_values": sum(times * min(len(set(held)), most) for held, times in crowd.items()),
        "other": sum(times for held, times in crowd.items() if others[held]),
        "other_values": len({label for held, times in crowd.items() if times for label in others[held]}),
    }


def _shown(total: int, noise: int) -> int:
    return max(0, total + noise)


def counts_law(
    mechanism: FindThenCount, crowd: Crowd, labels: Labels, choose: Callable[[tuple[int, ...]], int]
) -> OutputLaw:
    """Return the law of sizes and counts of labels that were found, where `choose` takes D1 from noisy sizes."""
    noise = noise_law(mechanism.sizes_law)
    classes = [noise.seen_as(partial(operator.add, n)) for n in class_sizes(crowd, labels)]

    def rows(sizes: tuple[int, ...]) -> OutputLaw:
        in_full, grain = choose(sizes), mechanism.grain_for(len(labels))
        law = noise_law(mechanism.counts_law(in_full, grain))
        return independent(
            [one_row(label, total, grain, law) for label, total in sums(crowd, labels, in_full, grain).items()],
            in_order,
        )

    return independent(classes, tuple).then(rows)


def then_sum_law(mechanism: FindThenSum, crowd: Crowd, amounts: Mapping[str, int]) -> OutputLaw:
    """Return the law of labels, sizes and sums, counts left out; who has a label has so much of it."""
    found = mechanism.found

    def summed(labels: Labels) -> OutputLaw:
        noise = noise_law(found.sizes_law)
        classes = [noise.seen_as(partial(operator.add, n)) for n in class_sizes(crowd, labels)]

        def rows(sizes: tuple[int, ...]) -> OutputLaw:
            in_full, grain = best_in_full(found, labels, sizes), found.grain_for(len(labels))
            law = noise_law(mechanism.sums_law(in_full, grain))
            users = sums(crowd, labels, in_full, grain)
            totals = {label: bounded(mechanism, amounts[label]) * users[label] for label in sorted(labels)}
            return independent([one_row(label, total, grain, law) for label, total in totals.items()], tuple)

        return independent(classes, tuple).then(rows)

    return label_selection_law(found.selection, crowd).then(summed).seen_as(lambda pair: pair[1])


def bounded(mechanism: FindThenSum, amount: int) -> int:
    """Return what counts of an amount."""
    return max(mechanism.low, min(mechanism.high, amount))


def class_sizes(crowd: Crowd, labels: Labels) -> list[int]:
    """Return how many users are in each class of sizes."""
    ends = size_ends(len(labels))
    users = [0] * len(ends)
    for held, times in crowd.items():
        size = len(set(held) & set(labels))
        if size:
            users[next(place for place, end in enumerate(ends) if size <= end)] += times
    return users


def best_in_full(mechanism: FindThenCount, labels: Labels, sizes: tuple[int, ...]) -> int:
    """Return the D1 that the mechanism takes when these noisy sizes came out."""
    known = SizesOfUsers(tuple(size_ends(len(labels))), sizes, mechanism.sizes_law.stddev)
    return known.best_in_full(math.sqrt(mechanism.counts_variance))


def sums(crowd: Crowd, labels: Labels, in_full: int, grain: int) -> Sums:
    """Return what all users of a label count for, in grains."""
    found = dict.fromkeys(labels, 0)
    for held, times in crowd.items():
        counted = set(held) & set(labels)
        for label in counted:
            part = min(Decimal(1), (Decimal(in_full) / len(counted)).sqrt())
            found[label] += times * int(grain * part)
    return found


def one_row(label: str, total: int, grain: int, law: OutputLaw) -> OutputLaw:
    """Return the law of the row of one label: the noisy sum, rounded to whole users."""
    return law.seen_as(lambda z: ((label, math.floor((total + z) / grain + 0.5)),))
