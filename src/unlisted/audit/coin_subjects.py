"""Labels by a coin each as a subject: their exact law, their neighbours, and many runs at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from functools import partial

import numpy as np

from unlisted.audit.batches import OpenBits, in_parts
from unlisted.audit.histogram_laws import Histogram
from unlisted.audit.label_laws import in_order
from unlisted.audit.neighbours import all_pairs, at_the_threshold, fresh_labels
from unlisted.audit.output_law import OutputLaw, independent
from unlisted.audit.subject import Batch, Data, Pair, Subject
from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.mechanisms.partition_selection.optimal import OptimalLabels
from unlisted.noise.bits import fresh_bits


def coins_subject(name: str, mechanism: OptimalLabels) -> Subject:
    """Return labels by a coin each as a subject: the output is the labels, in their order."""

    def run(histogram: Histogram) -> Hashable:
        counts = BoundedCounts.from_dict(histogram, mechanism.sensitivity)
        return tuple(mechanism.release(counts).labels.to_pylist())

    law, pairs = partial(coins_law, mechanism), partial(_pairs, mechanism)
    return Subject(name, mechanism.guarantee(), pairs, run, law, coins_batch(mechanism))


def coins_law(mechanism: OptimalLabels, histogram: Histogram) -> OutputLaw:
    """Return the law of the labels that are released: independent coins."""
    chances = ((label, mechanism.chance(users)) for label, users in histogram.items())
    return independent(
        [OutputLaw.exactly({(label,): chance, (): 1 - chance}) for label, chance in chances], in_order
    )


def coins_batch(mechanism: OptimalLabels, bits: OpenBits = fresh_bits) -> Batch:
    """Flip the coins many times, in floating point: outputs are the labels released."""

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
