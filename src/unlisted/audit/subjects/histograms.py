"""Algorithms 1 to 3 and the binary mechanism as subjects: small enough for exact laws, with their neighbours."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from typing import Any

from unlisted.audit.laws.histograms import (
    Histogram,
    threshold_histogram_law,
    top_histogram_law,
    top_k_law,
    truncated_histogram_law,
)
from unlisted.audit.laws.streams import running_histogram_law
from unlisted.audit.subject import BOTTOM, OpenBits, Pair, Subject
from unlisted.audit.subjects import batches
from unlisted.audit.subjects.neighbours import (
    all_pairs,
    at_the_threshold,
    fresh_labels,
    stream_pairs,
    tied_at_the_cut,
)
from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.mechanisms.continual.binary.histogram import RunningHistogram
from unlisted.mechanisms.mechanism import Answer
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import TopK
from unlisted.mechanisms.truncated_laplace import TruncatedHistogram
from unlisted.noise.bits import fresh_bits
from unlisted.privacy.sensitivity import Sensitivity

Pairs = Callable[[], Iterable[Pair]]


def histogram_subject(name: str, mechanism: ThresholdHistogram, pairs: Pairs) -> Subject:
    """Return Algorithm 1 as a subject."""

    def run(histogram: Histogram) -> Hashable:
        counts = BoundedCounts.from_dict(histogram, mechanism.sensitivity, minimum_count=mechanism.minimum_count)
        return rows_of(mechanism.release(counts))

    law, batch = partial(threshold_histogram_law, mechanism), batches.threshold_histogram_batch(mechanism)
    return Subject(name, mechanism.guarantee(), pairs, run, law, batch)


def truncated_subject(
    name: str, mechanism: TruncatedHistogram, pairs: Pairs, bits: OpenBits = fresh_bits
) -> Subject:
    """Return a histogram whose noise ends as a subject."""

    def run(histogram: Histogram) -> Hashable:
        counts = BoundedCounts.from_dict(histogram, mechanism.sensitivity, minimum_count=mechanism.minimum_count)
        return rows_of(mechanism.release(counts, bits()))

    law, batch = partial(truncated_histogram_law, mechanism), batches.truncated_histogram_batch(mechanism, bits)
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


def rows_of(answer: Answer) -> tuple[tuple[Any, int], ...]:
    """Return an answer's rows as an output."""
    counts = [] if answer.counts is None else answer.counts.tolist()
    return tuple(zip(answer.labels.to_pylist(), counts, strict=True))


def ranking_of(answer: Answer) -> Hashable:
    """Return a ranking as an output, with the counts of its labels if it has them."""
    ranked = (*answer.labels.to_pylist(), *([BOTTOM] if answer.stopped else []))
    return ranked if answer.counts is None else (ranked, tuple(answer.counts.tolist()))


def audited_histogram(name: str, mechanism: ThresholdHistogram) -> Subject:
    """Return Algorithm 1 with all small neighbours, and those at its threshold."""
    return histogram_subject(name, mechanism, partial(_around_a_threshold, mechanism))


def audited_truncated(name: str, mechanism: TruncatedHistogram) -> Subject:
    """Return a histogram whose noise ends with all small neighbours, and those at its threshold."""
    return truncated_subject(name, mechanism, partial(_around_a_threshold, mechanism))


def _around_a_threshold(mechanism: ThresholdHistogram | TruncatedHistogram) -> Iterable[Pair]:
    sensitivity = mechanism.sensitivity
    yield from all_pairs(sensitivity, "ab", largest=2)
    yield from fresh_labels(sensitivity, {})
    yield from fresh_labels(sensitivity, {"a": mechanism.threshold + 1})
    yield from at_the_threshold(sensitivity, mechanism.threshold)


def audited_top_histogram(name: str, mechanism: TopHistogram) -> Subject:
    """Return Algorithm 2 with the neighbours around its cut."""
    return top_histogram_subject(name, mechanism, partial(_around_a_cut, mechanism.sensitivity, mechanism.fetched))


def audited_top_k(name: str, mechanism: TopK, fetched: int) -> Subject:
    """Return Algorithm 3 with the neighbours around its cut."""
    return ranking_subject(name, mechanism, partial(_around_a_cut, mechanism.ranking.sensitivity, fetched))


def _around_a_cut(sensitivity: Sensitivity, fetched: int) -> Iterable[Pair]:
    yield from all_pairs(sensitivity, "abc", largest=1)
    for level in (1, 3, 12):
        yield from tied_at_the_cut(sensitivity, fetched, level)
    yield from fresh_labels(sensitivity, {})
    yield from at_the_threshold(sensitivity, threshold=8)


def audited_stream(name: str, mechanism: RunningHistogram, *special: Pair) -> Subject:
    """Return the binary mechanism with a unit in every round, beside others who bring little or much."""

    def pairs() -> Iterable[Pair]:
        yield from special
        # In each half of the stream others bring nothing, or enough to be seen.
        half = mechanism.rounds // 2
        for first, second in itertools.product((0, mechanism.thresholds[0]), repeat=2):
            beside = (first,) * half + (second,) * (mechanism.rounds - half)
            yield from stream_pairs(mechanism.sensitivity, mechanism.rounds_per_unit, [beside])

    return stream_subject(name, mechanism, pairs)
