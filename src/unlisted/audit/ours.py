"""Our own mechanisms as subjects: small enough for exact laws, and leaky enough for a black box to have a chance.

Everyday parameters have a δ of 1e-8, which no number of runs would ever meet. Here δ is about a thousandth;
nothing in the code that is audited knows the difference.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any

from unlisted.audit import batches
from unlisted.audit.coin_subjects import coins_subject
from unlisted.audit.find_then_count_laws import find_then_count_subject
from unlisted.audit.histogram_laws import Histogram, threshold_histogram_law, top_histogram_law
from unlisted.audit.interactions import REFUSED, Answers, Ask, Interaction
from unlisted.audit.label_subjects import label_ranking_subject, labels_subject
from unlisted.audit.neighbours import all_pairs, at_the_threshold, fresh_labels, stream_pairs, tied_at_the_cut
from unlisted.audit.ranking_laws import top_k_law
from unlisted.audit.stream_laws import running_histogram_law
from unlisted.audit.subject import BOTTOM, Pair, Subject
from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.weights import UNIT, GivingBack, Weighing
from unlisted.errors import BudgetRefusedError
from unlisted.mechanisms.continual.binary_histogram import RunningHistogram
from unlisted.mechanisms.mechanism import Answer
from unlisted.mechanisms.partition_selection.one_round import LabelRound
from unlisted.mechanisms.partition_selection.optimal import OptimalLabels
from unlisted.mechanisms.partition_selection.rounds import LabelSelection
from unlisted.mechanisms.partition_selection.then_count import FindThenCount
from unlisted.mechanisms.partition_selection.then_rank import LabelRanking
from unlisted.mechanisms.pay_what_you_get import PayWhatYouGet
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.noise.discrete_gaussian import DiscreteGaussian
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.sensitivity import Sensitivity

Pairs = Callable[[], Iterable[Pair]]


def histogram_subject(name: str, mechanism: ThresholdHistogram, pairs: Pairs) -> Subject:
    """Return Algorithm 1 as a subject."""

    def run(histogram: Histogram) -> Hashable:
        counts = BoundedCounts.from_dict(histogram, mechanism.sensitivity, minimum_count=mechanism.minimum_count)
        return rows_of(mechanism.release(counts))

    law, batch = partial(threshold_histogram_law, mechanism), batches.threshold_histogram_batch(mechanism)
    return Subject(name, mechanism.guarantee(), pairs, run, law, batch)


def top_histogram_subject(name: str, mechanism: TopHistogram, pairs: Pairs) -> Subject:
    """Return Algorithm 2 as a subject."""

    def run(histogram: Histogram) -> Hashable:
        answer = mechanism.release(BoundedCounts.from_dict(histogram, mechanism.sensitivity))
        return answer.noisy_threshold, rows_of(answer)

    law, batch = partial(top_histogram_law, mechanism), batches.top_histogram_batch(mechanism)
    return Subject(name, mechanism.guarantee(), pairs, run, law, batch)


def ranking_subject(name: str, mechanism: TopK, pairs: Pairs) -> Subject:
    """Return Algorithm 3 as a subject."""

    def run(histogram: Histogram) -> Hashable:
        counts = BoundedCounts.from_dict(histogram, mechanism.ranking.sensitivity)
        return ranking_of(mechanism.release(counts))

    law, batch = partial(top_k_law, mechanism), batches.top_k_batch(mechanism)
    return Subject(name, mechanism.guarantee(), pairs, run, law, batch)


def stream_subject(name: str, mechanism: RunningHistogram, pairs: Pairs) -> Subject:
    """Return a running histogram as a subject: data is a tuple of rounds."""

    def run(rounds: tuple[Histogram, ...]) -> Hashable:
        counts = [BoundedCounts.from_dict(one, mechanism.sensitivity) for one in rounds]
        return tuple(rows_of(answer) for answer in mechanism.release(counts))

    law, batch = partial(running_histogram_law, mechanism), batches.running_histogram_batch(mechanism)
    return Subject(name, mechanism.guarantee(), pairs, run, law, batch)


def interaction_subject(name: str, total: Guarantee, ask: Ask, pairs: Pairs) -> Subject:
    """Return questions on one pay-what-you-get budget as a subject: the output has all the answers."""

    def run(histogram: Histogram) -> Hashable:
        budget = PayWhatYouGet(total)
        answers: Answers = ()
        while (question := ask(answers)) is not None:
            counts = BoundedCounts.from_dict(histogram, question.ranking.sensitivity)
            try:
                answers = (*answers, ranking_of(budget.release(question, counts)))
            except BudgetRefusedError:
                answers = (*answers, REFUSED)
        return answers

    asked = Interaction(total, ask)
    return Subject(name, total, pairs, run, asked.law, asked.batch)


def rows_of(answer: Answer) -> tuple[tuple[Any, int], ...]:
    """Return an answer's rows as an output."""
    counts = [] if answer.counts is None else answer.counts.tolist()
    return tuple(zip(answer.labels.to_pylist(), counts, strict=True))


def ranking_of(answer: Answer) -> Hashable:
    """Return a ranking as an output, with the counts of its labels if it has them."""
    ranked = (*answer.labels.to_pylist(), *([BOTTOM] if answer.stopped else []))
    return ranked if answer.counts is None else (ranked, tuple(answer.counts.tolist()))


def _histogram(name: str, mechanism: ThresholdHistogram) -> Subject:
    sensitivity = mechanism.sensitivity

    def pairs() -> Iterable[Pair]:
        yield from all_pairs(sensitivity, "ab", largest=2)
        yield from fresh_labels(sensitivity, {})
        yield from fresh_labels(sensitivity, {"a": mechanism.threshold + 1})
        yield from at_the_threshold(sensitivity, mechanism.threshold)

    return histogram_subject(name, mechanism, pairs)


def _top_histogram(name: str, mechanism: TopHistogram) -> Subject:
    return top_histogram_subject(name, mechanism, partial(_around_a_cut, mechanism.sensitivity, mechanism.fetched))


def _top_k(name: str, mechanism: TopK, fetched: int) -> Subject:
    return ranking_subject(name, mechanism, partial(_around_a_cut, mechanism.ranking.sensitivity, fetched))


def _around_a_cut(sensitivity: Sensitivity, fetched: int) -> Iterable[Pair]:
    yield from all_pairs(sensitivity, "abc", largest=1)
    for level in (1, 3, 12):
        yield from tied_at_the_cut(sensitivity, fetched, level)
    yield from fresh_labels(sensitivity, {})
    yield from at_the_threshold(sensitivity, threshold=8)


def _pay_what_you_get() -> Subject:
    """Return three questions: a bolder one after an early end, and a last one that fits only after refunds."""
    ranking = Ranking(k=2, fetched=2, sensitivity=Sensitivity(1))
    careful, bold = (TopK.at(ranking, epsilon=epsilon, delta="0.002") for epsilon in ("0.5", "1"))

    def ask(answers: Answers) -> TopK | None:
        if len(answers) == 3:
            return None
        return bold if answers == ((BOTTOM,),) else careful

    total = PayWhatYouGet.of(results=10, questions=3, epsilon="0.5", delta="0.002").guarantee()

    def pairs() -> Iterable[Pair]:
        yield from fresh_labels(ranking.sensitivity, {})
        yield from tied_at_the_cut(ranking.sensitivity, fetched=2, level=10)
        yield from at_the_threshold(ranking.sensitivity, threshold=int(careful.threshold))

    return interaction_subject("pay-what-you-get", total, ask, pairs)


def _stream(name: str, mechanism: RunningHistogram, *special: Pair) -> Subject:
    def pairs() -> Iterable[Pair]:
        yield from special
        # In each half of the stream others bring nothing, or enough to be seen.
        half = mechanism.rounds // 2
        for first, second in itertools.product((0, mechanism.thresholds[0]), repeat=2):
            beside = (first,) * half + (second,) * (mechanism.rounds - half)
            yield from stream_pairs(mechanism.sensitivity, mechanism.rounds_per_unit, [beside])

    return stream_subject(name, mechanism, pairs)


def _labels(name: str, *rounds: tuple[Weighing, int, int]) -> Subject:
    """Return labels in rounds of (weighing, variance, threshold)."""
    looks = tuple(LabelRound(one, Fraction(variance), threshold * UNIT) for one, variance, threshold in rounds)
    return labels_subject(name, LabelSelection(looks, at_epsilon=Fraction(1)))


def _hinted(name: str, weighing: Weighing) -> Subject:
    """Return labels in two rounds, of which the first gives a hint."""
    first = LabelRound(weighing, Fraction(16), 15 * UNIT, 6 * UNIT)
    second = LabelRound(weighing, Fraction(9), 11 * UNIT)
    return labels_subject(name, LabelSelection((first, second), at_epsilon=Fraction(1)))


def _find_then_count() -> Subject:
    first = LabelRound(Weighing(2), Fraction(16), 15 * UNIT, 6 * UNIT)
    selection = LabelSelection((first, LabelRound(Weighing(2), Fraction(9), 11 * UNIT)))
    half = Fraction(1, 2)
    return find_then_count_subject("find-then-count", FindThenCount(selection, half, half, grain=1))


def _coins(name: str, sensitivity: Sensitivity) -> Subject:
    return coins_subject(name, OptimalLabels(Fraction(2), Fraction("0.004"), sensitivity))


def _labels_top() -> Subject:
    selection = LabelSelection((LabelRound(Weighing(2), Fraction(9), 11 * UNIT),))
    return label_ranking_subject("labels-top", LabelRanking(selection, 2, Fraction(1)))


_ONE, _TWO = Sensitivity(1), Sensitivity(2)
_LAPLACE, _GAUSSIAN = DiscreteLaplace(Fraction(1)), DiscreteGaussian(Fraction(1))

OURS: dict[str, Callable[[], Subject]] = {
    "histogram-laplace": lambda: _histogram("histogram-laplace", ThresholdHistogram(_LAPLACE, 7, _TWO)),
    "histogram-gaussian": lambda: _histogram(
        "histogram-gaussian", ThresholdHistogram(DiscreteGaussian(Fraction(4)), 8, Sensitivity(2, count=2))
    ),
    "histogram-exact": lambda: _histogram(
        "histogram-exact",
        ThresholdHistogram(DiscreteGaussian(Fraction(4)), 7, _TWO, at_epsilon=Fraction(1, 2)),
    ),
    "histogram-exact-replace": lambda: _histogram(
        "histogram-exact-replace",
        ThresholdHistogram(_GAUSSIAN, 4, Sensitivity(1, adjacency="replace"), at_epsilon=Fraction(1)),
    ),
    "histogram-replace": lambda: _histogram(
        "histogram-replace", ThresholdHistogram(_GAUSSIAN, 4, Sensitivity(1, adjacency="replace"))
    ),
    "histogram-minimum": lambda: _histogram(
        "histogram-minimum", ThresholdHistogram(_LAPLACE, 8, _ONE, minimum_count=2)
    ),
    "top-histogram-laplace": lambda: _top_histogram("top-histogram-laplace", TopHistogram(_LAPLACE, 8, 1, _ONE)),
    "top-histogram-gaussian": lambda: _top_histogram(
        "top-histogram-gaussian", TopHistogram(_GAUSSIAN, 6, 2, _TWO)
    ),
    "top-k": lambda: _top_k("top-k", TopK.at(Ranking(3, 2, _ONE), epsilon=1, delta="0.002"), fetched=2),
    "top-k-all": lambda: _top_k("top-k-all", TopK.at(Ranking(2, None, _TWO), epsilon=1, delta="0.002"), fetched=2),
    "top-k-counts": lambda: _top_k(
        "top-k-counts",
        TopK.at(Ranking(2, 2, _ONE), epsilon=1, delta="0.002", counts_law=DiscreteGaussian(Fraction(1))),
        fetched=2,
    ),
    "labels-weighted": lambda: _labels("labels-weighted", (Weighing(3), 9, 11)),
    "labels-replace": lambda: _labels("labels-replace", (Weighing(2, adjacency="replace"), 9, 11)),
    "labels-adaptive": lambda: _labels("labels-adaptive", (Weighing(3, GivingBack(8 * UNIT, 3)), 9, 11)),
    "labels-rounds": lambda: _labels("labels-rounds", (Weighing(2), 16, 15), (Weighing(2), 9, 11)),
    "labels-hints": lambda: _hinted("labels-hints", Weighing(2)),
    "labels-hints-replace": lambda: _hinted("labels-hints-replace", Weighing(2, adjacency="replace")),
    "labels-optimal": lambda: _coins("labels-optimal", _TWO),
    "labels-optimal-replace": lambda: _coins("labels-optimal-replace", Sensitivity(1, adjacency="replace")),
    "labels-top": _labels_top,
    "find-then-count": _find_then_count,
    "pay-what-you-get": _pay_what_you_get,
    "stream-live": lambda: _stream("stream-live", RunningHistogram(_GAUSSIAN, (4, 5), 3, _ONE)),
    "stream-sticky": lambda: _stream("stream-sticky", RunningHistogram(_GAUSSIAN, (4, 5), 3, _ONE, "sticky")),
    "stream-units": lambda: _stream(
        "stream-units", RunningHistogram(_GAUSSIAN, (5, 6), 3, _ONE, rounds_per_unit=2)
    ),
    "stream-steps": lambda: _stream(
        "stream-steps",
        RunningHistogram(DiscreteGaussian(Fraction(2)), (6,), 4, _ONE, every=2, rounds_per_unit=2),
        Pair("a unit with two labels of its own", ({}, {}, {}, {}), ({"a": 1}, {"b": 1}, {}, {})),
    ),
}
"""Every mechanism of the package, by the name it has on the command line."""
