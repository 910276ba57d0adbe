"""Labels and their counts as a subject: neighbours, and many runs at once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from unlisted.audit.laws.find_then_count import (
    best_in_full,
    class_sizes,
    find_then_count_law,
    sums,
)
from unlisted.audit.laws.histograms import (
    in_order,
)
from unlisted.audit.laws.labels import Crowd
from unlisted.audit.subject import Batch, Data, OpenBits, Pair, Subject
from unlisted.audit.subjects.batches import in_parts
from unlisted.audit.subjects.labels import (
    joined,
    labels_drawn,
    oracle_of,
)
from unlisted.counts.weights import UNIT, Weighing
from unlisted.mechanisms.partition_selection.one_round import LabelRound
from unlisted.mechanisms.partition_selection.rounds import LabelSelection
from unlisted.mechanisms.partition_selection.then_count import FindThenCount
from unlisted.noise.bits import fresh_bits
from unlisted.noise.discrete_gaussian import DiscreteGaussian


def find_then_count_subject(name: str, mechanism: FindThenCount) -> Subject:
    """Return labels and their counts as a subject."""

    def run(crowd: Crowd) -> Hashable:
        answer = mechanism.release(oracle_of(crowd))
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


def audited_find_then_count() -> Subject:
    """Return labels in two rounds with a hint, and their counts."""
    first = LabelRound(Weighing(2), Fraction(16), 15 * UNIT, 6 * UNIT)
    selection = LabelSelection((first, LabelRound(Weighing(2), Fraction(9), 11 * UNIT)))
    half = Fraction(1, 2)
    return find_then_count_subject("find-then-count", FindThenCount(selection, half, half, grain=1))
