"""The exact law of labels and their counts on small tables, from what the mechanism is said to do, and many runs.

An output is (noisy numbers of users by size, rows of label and noisy count). What a user counts for, the sums and
the rounding are written down here again. The classes of sizes, and which D1 is best given their noisy numbers, are
the program's own: they are functions of what is released.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from decimal import Decimal
from functools import partial

import numpy as np

from unlisted.audit.batches import in_parts
from unlisted.audit.histogram_laws import in_order
from unlisted.audit.label_laws import Crowd, label_selection_law
from unlisted.audit.label_subjects import OpenBits, joined, labels_drawn, scales_of
from unlisted.audit.noise_masses import noise_law
from unlisted.audit.output_law import OutputLaw, independent
from unlisted.audit.subject import Batch, Data, Pair, Subject
from unlisted.counts.weights import UNIT
from unlisted.mechanisms.partition_selection.then_count import FindThenCount
from unlisted.mechanisms.partition_selection.user_sizes import SizesOfUsers, size_ends
from unlisted.noise.bits import fresh_bits
from unlisted.noise.discrete_gaussian import DiscreteGaussian

Labels = tuple[str, ...]
Sums = dict[str, int]


def find_then_count_law(mechanism: FindThenCount, crowd: Crowd) -> OutputLaw:
    """Return the law of everything that is released."""

    def counted(labels: Labels) -> OutputLaw:
        return counts_law(mechanism, crowd, labels, lambda sizes: best_in_full(mechanism, labels, sizes))

    return label_selection_law(mechanism.selection, crowd).then(counted).seen_as(lambda pair: pair[1])


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


def find_then_count_subject(name: str, mechanism: FindThenCount) -> Subject:
    """Return labels and their counts as a subject."""

    def run(crowd: Crowd) -> Hashable:
        answer = mechanism.release(scales_of(crowd))
        assert answer.counts is not None  # or nothing was counted
        rows = zip(answer.labels.to_pylist(), answer.counts.tolist(), strict=True)
        return tuple(one["users"] for one in answer.extras["user_sizes"]), tuple(rows)

    law, batch = partial(find_then_count_law, mechanism), find_then_count_batch(mechanism)
    return Subject(name, mechanism.guarantee(), partial(pairs_of_two, mechanism), run, law, batch)


def pairs_of_two(mechanism: FindThenCount) -> Iterator[Pair]:
    """Yield neighbours with two labels at most: of more, too much can come out for a law to be listed."""
    last, first = mechanism.selection.last, mechanism.selection.rounds[0]
    threshold, hint = last.threshold // UNIT, (first.hint or first.threshold) // UNIT
    both = math.isqrt(2 * threshold**2) + 1
    crowds: list[tuple[Crowd, str]] = [
        ({}, "a"),
        ({}, "ab"),
        ({"a": hint}, "a"),
        ({"a": threshold}, "a"),
        ({"a": threshold}, "b"),
        ({"a": threshold}, "ab"),
        ({"ab": both}, "a"),
        ({"ab": both}, "ab"),
        ({"a": 2, "ab": both}, "ab"),
    ]
    yield from (Pair(f"{user} joins {dict(crowd)}", crowd, joined(crowd, user)) for crowd, user in crowds)


def find_then_count_batch(mechanism: FindThenCount, bits: OpenBits = fresh_bits) -> Batch:
    """Run it many times: all runs that found the same labels, and saw the same sizes, count together."""

    def some(crowd: Data, runs: int) -> Counter[Hashable]:
        drawn, tally = bits(), Counter[Hashable]()

        def noisy(values: Sequence[int], law: DiscreteGaussian, times: int) -> Counter[tuple[int, ...]]:
            noise = law.sample(times * len(values), drawn).reshape(times, len(values))
            return Counter(map(tuple, (np.array(values, dtype=np.int64) + noise).tolist()))

        for labels, times in labels_drawn(mechanism.selection, crowd, runs, drawn).items():
            for sizes, often in noisy(class_sizes(crowd, labels), mechanism.sizes_law, times).items():
                in_full, grain = best_in_full(mechanism, labels, sizes), mechanism.grain_for(len(labels))
                of = sums(crowd, labels, in_full, grain)
                for totals, n in noisy(list(of.values()), mechanism.counts_law(in_full, grain), often).items():
                    rows = [((one, math.floor(z / grain + 0.5)),) for one, z in zip(of, totals, strict=True)]
                    tally[sizes, in_order(tuple(rows))] += n
        return tally

    return in_parts(some)
