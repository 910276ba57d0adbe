"""Partition selection as subjects: labels in rounds, rankings by way of labels, labels by a Bernoulli draw each.

Many runs at once weigh labels as the program does and make all draws of a round together, in floating point; runs
that released the same labels go into the next round together.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from unlisted.audit.laws.histograms import Histogram
from unlisted.audit.laws.labels import (
    Crowd,
    ended,
    in_order,
    label_ranking_law,
    label_selection_law,
    users_of,
    without,
)
from unlisted.audit.laws.output_law import OutputLaw, independent
from unlisted.audit.subject import BOTTOM, Batch, Data, OpenBits, Pair, Subject
from unlisted.audit.subjects.batches import in_parts, race
from unlisted.audit.subjects.neighbours import (
    all_pairs,
    at_the_threshold,
    fresh_labels,
)
from unlisted.counts.bounded_counts import LARGEST_COUNT, BoundedCounts
from unlisted.counts.weight_oracle import ListedWeights
from unlisted.counts.weights import UNIT, Weighing
from unlisted.mechanisms.partition_selection.one_round import LabelRound
from unlisted.mechanisms.partition_selection.optimal import OptimalLabels
from unlisted.mechanisms.partition_selection.rounds import LabelSelection
from unlisted.mechanisms.partition_selection.then_rank import LabelRanking
from unlisted.noise.bits import Bits, fresh_bits
from unlisted.privacy.sensitivity import Sensitivity


def labels_subject(name: str, selection: LabelSelection) -> Subject:
    """Return a selection of labels as a subject: the output is the labels, in their order."""

    def run(crowd: Crowd) -> Hashable:
        return tuple(selection.release(oracle_of(crowd)).labels.to_pylist())

    law, batch = partial(label_selection_law, selection), label_selection_batch(selection)
    return Subject(name, selection.guarantee(), partial(label_pairs, selection), run, law, batch)


def label_ranking_subject(name: str, ranking: LabelRanking) -> Subject:
    """Return a ranking by way of labels as a subject: of the labels found, only those ranked are seen."""

    def run(crowd: Crowd) -> Hashable:
        answer = ranking.release(oracle_of(crowd))
        return (*answer.labels.to_pylist(), *([BOTTOM] if answer.stopped else []))

    law, batch = partial(label_ranking_law, ranking), label_ranking_batch(ranking)
    return Subject(name, ranking.guarantee(), partial(label_pairs, ranking.selection), run, law, batch)


def oracle_of(crowd: Crowd) -> ListedWeights:
    """Return the oracle of a crowd."""
    people = [labels for labels, times in crowd.items() for _ in range(times)]
    return ListedWeights({number: list(labels) for number, labels in enumerate(people)})


def label_pairs(selection: LabelSelection) -> Iterator[Pair]:
    """Yield small crowds with and without one user, and those in which a user has most to tell."""
    weighing = selection.last.weighing
    words = ["".join(word) for n in range(1, 3) for word in itertools.combinations("ab", n) if n <= weighing.items]
    users = [*words, *("xyzw"[:n] for n in range(1, weighing.items + 1))]
    for rest in _crowds(selection, words):
        if weighing.adjacency == "add_remove":
            yield from (_pair(rest, joined(rest, user)) for user in [*users, *_half_new(words, weighing.items)])
        else:
            both = itertools.combinations(users, 2)
            yield from (_pair(joined(rest, one), joined(rest, other)) for one, other in both)


def _crowds(selection: LabelSelection, words: Sequence[str]) -> Iterator[Crowd]:
    """Yield crowds of nobody, of one of each kind, at the threshold of each round, and above."""
    yield {}
    yield dict.fromkeys(words, 1)
    for one in selection.rounds:
        threshold = one.threshold // UNIT
        for word in words:
            yield {word: threshold - 1}
            yield {word: math.isqrt(len(word) * threshold**2) + 1}
        yield {words[0]: 3 * threshold, words[-1]: threshold}
        if one.hint is not None:
            # Some labels at the hint: whether they stay in play is what a newcomer may change.
            yield from ({word: math.isqrt(len(word) * (one.hint // UNIT) ** 2)} for word in words)
        if one.weighing.rerouting:
            # The longest word has just enough, and its first label a little more.
            yield {words[-1]: len(words[-1]) * one.weighing.rerouting.enough // UNIT, words[0]: 1}


def _half_new(words: Iterable[str], items: int) -> Iterator[str]:
    """Yield users of whose labels others have some, and some nobody."""
    yield from (word + "xy"[: items - len(word)] for word in words if len(word) < items)


def joined(crowd: Crowd, user: str) -> Crowd:
    """Return a crowd with one user more."""
    return {**crowd, user: crowd.get(user, 0) + 1}


def _pair(left: Crowd, right: Crowd) -> Pair:
    return Pair(f"{left} and {right}", left, right)


def label_selection_batch(selection: LabelSelection, bits: OpenBits = fresh_bits) -> Batch:
    """Run a selection many times: outputs are the labels released."""

    def some(crowd: Data, runs: int) -> Counter[Hashable]:
        return Counter[Hashable](_of_rounds(selection.rounds, crowd, (), runs, bits()))

    return in_parts(some)


def label_ranking_batch(ranking: LabelRanking, bits: OpenBits = fresh_bits) -> Batch:
    """Run a ranking by way of labels many times: all runs that found the same labels rank them together."""

    def some(crowd: Data, runs: int) -> Counter[Hashable]:
        drawn, tally = bits(), Counter[Hashable]()
        for labels, times in _of_rounds(ranking.selection.rounds, crowd, (), runs, drawn).items():
            scores = np.array([float(ranking.epsilon) * users_of(label, crowd) for label in labels])
            orders, often = np.unique(race(scores, ranking.k, times, drawn), axis=0, return_counts=True)
            for order, n in zip(orders.tolist(), often.tolist(), strict=True):
                tally[ended(tuple(labels[place] for place in order), ranking.k)] += n
        return tally

    return in_parts(some)


def labels_drawn(selection: LabelSelection, crowd: Crowd, runs: int, bits: Bits) -> Counter[tuple[str, ...]]:
    """Return how often each set of labels is released in so many runs."""
    return _of_rounds(selection.rounds, crowd, (), runs, bits)


def _of_rounds(
    rounds: Sequence[LabelRound], crowd: Crowd, released: tuple[str, ...], runs: int, bits: Bits
) -> Counter[tuple[str, ...]]:
    if not rounds or not runs:
        return Counter({released: runs}) if runs else Counter()
    tally: Counter[tuple[str, ...]] = Counter()
    for (shown, left_out), times in _one_round(rounds[0], crowd, runs, bits).items():
        left = without(crowd, (*shown, *left_out))
        tally += _of_rounds(rounds[1:], left, in_order([released, shown]), times, bits)
    return tally


Categories = tuple[tuple[str, ...], tuple[str, ...]]
"""The labels that a round releases, and those that its hint leaves out."""


def _one_round(one: LabelRound, crowd: Crowd, runs: int, bits: Bits) -> Counter[Categories]:
    """Return how often each set of labels passes, and is left out."""
    oracle = oracle_of(crowd)
    oracle.weigh(one.weighing)
    sizes = oracle.buckets(1, LARGEST_COUNT)
    places = [(bucket, rank) for bucket, size in sizes.items() for rank in range(size)]
    buckets, ranks = np.array(places, dtype=np.int64).reshape(-1, 2).T
    named, weights = oracle.named(buckets, ranks)
    labels = named.to_pylist()
    drawn = [weight / UNIT for weight in weights.tolist()]
    passing = np.array([one.chance(weight) for weight in drawn])
    staying = passing + np.array([one.chance_in_play(weight) for weight in drawn])
    uniform = bits.words(runs * len(labels)).reshape(runs, len(labels)) * 2.0**-64
    # What became of each label, as the digits of a number: 0 is released, 1 in play, 2 left out.
    category = (uniform >= passing).astype(np.int64) + (uniform >= staying)
    found, times = np.unique(category @ 3 ** np.arange(len(labels)), return_counts=True)
    tally: Counter[Categories] = Counter()
    for number, often in zip(found.tolist(), times.tolist(), strict=True):
        became = {label: number // 3**place % 3 for place, label in enumerate(labels)}
        shown, left_out = (tuple(label for label in labels if became[label] == kind) for kind in (0, 2))
        tally[shown, left_out] += often
    return tally


def optimal_subject(name: str, mechanism: OptimalLabels) -> Subject:
    """Return labels by a Bernoulli draw each as a subject: the output is the labels, in their order."""

    def run(histogram: Histogram) -> Hashable:
        counts = BoundedCounts.from_dict(histogram, mechanism.sensitivity)
        return tuple(mechanism.release(counts).labels.to_pylist())

    law, pairs = partial(optimal_law, mechanism), partial(_pairs, mechanism)
    return Subject(name, mechanism.guarantee(), pairs, run, law, optimal_batch(mechanism))


def optimal_law(mechanism: OptimalLabels, histogram: Histogram) -> OutputLaw:
    """Return the law of the labels that are released: independent draws."""
    chances = ((label, mechanism.chance(users)) for label, users in histogram.items())
    return independent(
        [OutputLaw.exactly({(label,): chance, (): 1 - chance}) for label, chance in chances], in_order
    )


def optimal_batch(mechanism: OptimalLabels, bits: OpenBits = fresh_bits) -> Batch:
    """Draw many times, in floating point: outputs are the labels released."""

    def some(histogram: Data, runs: int) -> Counter[Hashable]:
        labels = sorted(histogram)
        chances = np.array([float(mechanism.chance(histogram[label])) for label in labels])
        uniform = bits().words(runs * len(labels)).reshape(runs, len(labels)) * 2.0**-64
        found, times = np.unique(uniform < chances, axis=0, return_counts=True)
        return Counter(
            {
                tuple(label for label, out in zip(labels, shown, strict=True) if out): often
                for shown, often in zip(found.tolist(), times.tolist(), strict=True)
            }
        )

    return in_parts(some)


def _pairs(mechanism: OptimalLabels) -> Iterator[Pair]:
    """Yield neighbours at every number of users that has a chance of its own."""
    sensitivity = mechanism.sensitivity
    yield from all_pairs(sensitivity, "ab", largest=2)
    yield from fresh_labels(sensitivity, {})
    yield from fresh_labels(sensitivity, {"a": mechanism.even})
    if sensitivity.sides == 2:
        # Two labels can tell: one that must be hidden comes, and one that must come is hidden.
        left, right = {"v": mechanism.certain}, {"v": mechanism.certain - 1, "u": 1}
        yield Pair("from a label that always comes to a fresh one", left, right)
    for users in range(2, mechanism.certain, 3):
        yield from at_the_threshold(sensitivity, users)


def audited_labels(name: str, *rounds: tuple[Weighing, int, int]) -> Subject:
    """Return labels in rounds of (weighing, variance, threshold)."""
    looks = tuple(LabelRound(one, Fraction(variance), threshold * UNIT) for one, variance, threshold in rounds)
    return labels_subject(name, LabelSelection(looks, at_epsilon=Fraction(1)))


def audited_hinted(name: str, weighing: Weighing) -> Subject:
    """Return labels in two rounds, of which the first gives a hint."""
    first = LabelRound(weighing, Fraction(16), 15 * UNIT, 6 * UNIT)
    second = LabelRound(weighing, Fraction(9), 11 * UNIT)
    return labels_subject(name, LabelSelection((first, second), at_epsilon=Fraction(1)))


def audited_optimal(name: str, sensitivity: Sensitivity) -> Subject:
    """Return optimal partition selection with neighbours at every count that has a chance of its own."""
    return optimal_subject(name, OptimalLabels(Fraction(2), Fraction("0.004"), sensitivity))


def audited_labels_top() -> Subject:
    """Return a ranking by way of labels."""
    selection = LabelSelection((LabelRound(Weighing(2), Fraction(9), 11 * UNIT),))
    return label_ranking_subject("labels-top", LabelRanking(selection, 2, Fraction(1)))
