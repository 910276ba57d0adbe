"""Labels in rounds, and rankings by way of labels, as subjects: their neighbours, and many runs at once.

Many runs at once weigh labels as the program does and flip all coins of a round together, in floating point; runs
that released the same labels go into the next round together.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial

import numpy as np

from unlisted.audit.batches import in_parts, race
from unlisted.audit.label_laws import (
    Crowd,
    ended,
    in_order,
    label_ranking_law,
    label_selection_law,
    users_of,
    without,
)
from unlisted.audit.subject import BOTTOM, Batch, Data, Pair, Subject
from unlisted.counts.bounded_counts import LARGEST_COUNT
from unlisted.counts.listed_weights import ListedScales
from unlisted.counts.weights import UNIT
from unlisted.mechanisms.partition_selection.one_round import LabelRound
from unlisted.mechanisms.partition_selection.rounds import LabelSelection
from unlisted.mechanisms.partition_selection.then_rank import LabelRanking
from unlisted.noise.bits import Bits, fresh_bits

OpenBits = Callable[[], Bits]
"""Where a batch gets its randomness; the tests bring bits that can be drawn again."""


def labels_subject(name: str, selection: LabelSelection) -> Subject:
    """Return a selection of labels as a subject: the output is the labels, in their order."""

    def run(crowd: Crowd) -> Hashable:
        return tuple(selection.release(scales_of(crowd)).labels.to_pylist())

    law, batch = partial(label_selection_law, selection), label_selection_batch(selection)
    return Subject(name, selection.guarantee(), partial(label_pairs, selection), run, law, batch)


def label_ranking_subject(name: str, ranking: LabelRanking) -> Subject:
    """Return a ranking by way of labels as a subject: of the labels found, only those ranked are seen."""

    def run(crowd: Crowd) -> Hashable:
        answer = ranking.release(scales_of(crowd))
        return (*answer.labels.to_pylist(), *([BOTTOM] if answer.stopped else []))

    law, batch = partial(label_ranking_law, ranking), label_ranking_batch(ranking)
    return Subject(name, ranking.guarantee(), partial(label_pairs, ranking.selection), run, law, batch)


def scales_of(crowd: Crowd) -> ListedScales:
    """Return the scales of a crowd."""
    people = [labels for labels, times in crowd.items() for _ in range(times)]
    return ListedScales({number: list(labels) for number, labels in enumerate(people)})


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
        if one.weighing.giving_back:
            # The longest word has just enough, and its first label a little more.
            yield {words[-1]: len(words[-1]) * one.weighing.giving_back.enough // UNIT, words[0]: 1}


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
    scales = scales_of(crowd)
    scales.weigh(one.weighing)
    sizes = scales.buckets(1, LARGEST_COUNT)
    places = [(bucket, rank) for bucket, size in sizes.items() for rank in range(size)]
    buckets, ranks = np.array(places, dtype=np.int64).reshape(-1, 2).T
    named, weights = scales.named(buckets, ranks)
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
