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
    bounded,
    class_sizes,
    find_then_count_law,
    sums,
    then_sum_law,
    true_totals,
    with_totals_law,
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
from unlisted.counts.weight_oracle import ListedWeights
from unlisted.counts.weights import UNIT, Weighing
from unlisted.mechanisms.partition_selection.one_round import LabelRound
from unlisted.mechanisms.partition_selection.rounds import LabelSelection
from unlisted.mechanisms.partition_selection.then_count import FindThenCount
from unlisted.mechanisms.partition_selection.then_sum import FindThenSum
from unlisted.mechanisms.partition_selection.with_totals import FoundWithTotals
from unlisted.noise.bits import fresh_bits
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.guarantee import Guarantee


def find_then_count_subject(name: str, mechanism: FindThenCount) -> Subject:
    """Return labels and their counts as a subject."""

    def run(crowd: Crowd) -> Hashable:
        answer = mechanism.release(oracle_of(crowd))
        assert answer.counts is not None  # or nothing was counted
        rows = zip(answer.labels.to_pylist(), answer.counts.tolist(), strict=True)
        return tuple(one["users"] for one in answer.extras["user_sizes"]), tuple(rows)

    law, batch = partial(find_then_count_law, mechanism), find_then_count_batch(mechanism)
    return Subject(name, mechanism.guarantee(), partial(pairs_of_two, mechanism), run, law, batch)


def with_totals_subject(name: str, mechanism: FoundWithTotals) -> Subject:
    """Return labels and totals as a subject, at their own price: the counts between them are another subject's."""
    labels = mechanism.found.selection.guarantee()
    claim = Guarantee(labels.rho + mechanism.totals_rho, labels.delta)

    def run(crowd: Crowd) -> Hashable:
        answer = mechanism.release(oracle_of(crowd))
        totals = answer.extras["totals"].values()
        return tuple(sorted(answer.labels.to_pylist())), tuple(one["count"] for one in totals)

    pairs, law = partial(pairs_of_two, mechanism.found), partial(with_totals_law, mechanism)
    return Subject(name, claim, pairs, run, law, with_totals_batch(mechanism))


def with_totals_batch(mechanism: FoundWithTotals, bits: OpenBits = fresh_bits) -> Batch:
    """Run it many times: all runs that found the same labels draw their totals together."""

    def some(crowd: Data, runs: int) -> Counter[Hashable]:
        drawn, tally = bits(), Counter[Hashable]()
        for labels, times in labels_drawn(mechanism.found.selection, crowd, runs, drawn).items():
            true = true_totals(crowd, labels, mechanism.values)
            noisy = [
                np.maximum(true[name] + mechanism.law(shift).sample(times, drawn), 0).tolist()
                for name, shift in mechanism.shifts.items()
            ]
            tally.update((labels, totals) for totals in zip(*noisy, strict=True))
        return tally

    return in_parts(some)


AMOUNTS = {"a": 5, "b": -3}
"""How much whoever has a label has of it, both more than counts."""


def then_sum_subject(name: str, mechanism: FindThenSum) -> Subject:
    """Return labels, sizes and sums as a subject, at their own price: the counts are another subject's."""
    labels = mechanism.found.selection.guarantee()
    claim = Guarantee(labels.rho + mechanism.found.sizes_rho + mechanism.sums_rho, labels.delta)

    def run(crowd: Crowd) -> Hashable:
        people = [held for held, times in crowd.items() for _ in range(times)]
        amounts = {number: {label: AMOUNTS[label] for label in held} for number, held in enumerate(people)}
        listed = {number: list(held) for number, held in enumerate(people)}
        bounds = (mechanism.low, mechanism.high)
        answer = mechanism.release(ListedWeights(listed, amounts=amounts, bounds=bounds))
        rows = zip(answer.labels.to_pylist(), answer.columns["sum"].tolist(), strict=True)
        return tuple(one["users"] for one in answer.extras["user_sizes"]), tuple((row,) for row in sorted(rows))

    def pairs() -> Iterator[Pair]:
        """Yield neighbours who differ in a user with amounts of both signs: with one it is less."""
        yield from (pair for pair in pairs_of_two(mechanism.found) if pair.name.startswith("ab "))

    law = partial(then_sum_law, mechanism, amounts=AMOUNTS)
    return Subject(name, claim, pairs, run, law, then_sum_batch(mechanism))


def then_sum_batch(mechanism: FindThenSum, bits: OpenBits = fresh_bits) -> Batch:
    """Run it many times: all runs that found the same labels, and saw the same sizes, sum up together."""
    found = mechanism.found

    def some(crowd: Data, runs: int) -> Counter[Hashable]:
        drawn, tally = bits(), Counter[Hashable]()
        for labels, times in labels_drawn(found.selection, crowd, runs, drawn).items():
            true = class_sizes(crowd, labels)
            noise = found.sizes_law.sample(times * len(true), drawn).reshape(times, len(true))
            for sizes, often in Counter(map(tuple, (np.array(true, dtype=np.int64) + noise).tolist())).items():
                in_full, grain = best_in_full(found, labels, sizes), found.grain_for(len(labels))
                users, law = sums(crowd, labels, in_full, grain), mechanism.sums_law(in_full, grain)
                columns = [
                    [
                        ((label, math.floor(z / grain + 0.5)),)
                        for z in (bounded(mechanism, AMOUNTS[label]) * users[label] + law.sample(often, drawn))
                    ]
                    for label in sorted(labels)
                ]
                tally.update((sizes, rows) for rows in (zip(*columns, strict=True) if columns else [()] * often))
        return tally

    return in_parts(some)


def audited_then_sum(name: str) -> Subject:
    """Return labels by their users, and sums of amounts of both signs."""
    return then_sum_subject(name, FindThenSum(_small(), Fraction(1, 2), -1, 1))


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
    return find_then_count_subject("find-then-count", _small())


def audited_with_totals(name: str, *, users: bool, other: bool) -> Subject:
    """Return labels with totals of what there is, or of what is not shown."""
    return with_totals_subject(name, FoundWithTotals(_small(), Fraction(1, 2), users, other, values=2))


def _small() -> FindThenCount:
    first = LabelRound(Weighing(2), Fraction(16), 15 * UNIT, 6 * UNIT)
    selection = LabelSelection((first, LabelRound(Weighing(2), Fraction(9), 11 * UNIT)))
    half = Fraction(1, 2)
    return FindThenCount(selection, half, half, grain=1)
