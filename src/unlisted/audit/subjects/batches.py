"""Our mechanisms run many times at once: the same draws and comparisons, a row for every run.

Each function takes a mechanism and returns a `Batch`. Noise is drawn by the mechanism's own law, and thresholds
and cuts are read from the mechanism itself; only the loop is different, and the tests hold it against `release`.
Two shortcuts are taken that no output can show: Gumbel races are decided in floating point, and a stream's noise
is drawn instead of computed from a key.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unlisted.audit.subject import BOTTOM, Batch, Data, OpenBits
from unlisted.counts import labels as label_rules
from unlisted.counts.bounded_counts import BoundedCounts, Largest
from unlisted.mechanisms.continual.binary.histogram import RunningHistogram
from unlisted.mechanisms.randomized_threshold import bernoulli_each
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import TopK
from unlisted.mechanisms.truncated_laplace import TruncatedHistogram
from unlisted.noise.bits import Bits, fresh_bits
from unlisted.noise.law import Law

Matrix = NDArray[np.int64]
Shown = NDArray[np.bool_]

_AT_ONCE = 1 << 20
_HIDDEN = -1


def threshold_histogram_batch(mechanism: ThresholdHistogram, bits: OpenBits = fresh_bits) -> Batch:
    """Run Algorithm 1 many times: outputs are rows of label and noisy count."""

    def some(histogram: Data, runs: int) -> Counter[Hashable]:
        counts = BoundedCounts.from_dict(histogram, mechanism.sensitivity, minimum_count=mechanism.minimum_count)
        drawn = bits()
        noisy = _noisy(counts.counts, mechanism.law, runs, drawn)
        over = mechanism.threshold - _draws(mechanism.lowered, noisy.shape, drawn)
        rows = _Rows(_names(counts.labels))
        return _tally(runs, [(noisy, noisy > over)], lambda parts: rows.of(*parts[0]))

    return in_parts(some)


def truncated_histogram_batch(mechanism: TruncatedHistogram, bits: OpenBits = fresh_bits) -> Batch:
    """Run a histogram whose noise ends many times: outputs are rows of label and noisy count."""

    def some(histogram: Data, runs: int) -> Counter[Hashable]:
        counts = BoundedCounts.from_dict(histogram, mechanism.sensitivity, minimum_count=mechanism.minimum_count)
        drawn = bits()
        narrow = _draws(mechanism.narrowed, (runs, len(counts)), drawn)
        both = [_noisy(counts.counts, law, runs, drawn) for law in (mechanism.wide, mechanism.narrow)]
        noisy = np.where(narrow, both[1], both[0])
        rows = _Rows(_names(counts.labels))
        return _tally(runs, [(noisy, noisy > mechanism.threshold - narrow)], lambda parts: rows.of(*parts[0]))

    return in_parts(some)


def top_histogram_batch(mechanism: TopHistogram, bits: OpenBits = fresh_bits) -> Batch:
    """Run Algorithm 2 many times: outputs are the noisy threshold and the rows over it."""

    def some(histogram: Data, runs: int) -> Counter[Hashable]:
        top = _largest(histogram, mechanism)
        drawn = bits()
        over = mechanism.threshold + top.bottom + mechanism.law.sample(runs, drawn)[:, None]
        noisy = _noisy(top.counts, mechanism.law, runs, drawn)
        rows = _Rows(_names(top.labels))
        return _tally(
            runs,
            [
                (over, np.ones_like(over, dtype=bool)),
                (noisy, noisy > over - _draws(mechanism.lowered, noisy.shape, drawn)),
            ],
            lambda parts: (int(parts[0][0][0]), rows.of(*parts[1])),
        )

    return in_parts(some)


def top_k_batch(mechanism: TopK, bits: OpenBits = fresh_bits) -> Batch:
    """Run Algorithm 3 many times: outputs are rankings, or a ranking and the counts of its labels."""
    ranking = mechanism.ranking

    def some(histogram: Data, runs: int) -> Counter[Hashable]:
        top, drawn = _largest(histogram, mechanism), bits()
        rate = float(mechanism.epsilon / ranking.sensitivity.count)
        values = np.append(top.counts.astype(np.float64), float(top.bottom + mechanism.threshold))
        order = race(rate * (values - values.max()), ranking.k, runs, drawn)
        bottom = len(top.counts)
        # What comes after ⊥ was never drawn.
        reached = np.cumsum(order == bottom, axis=1) - (order == bottom) == 0
        names = [*_names(top.labels), BOTTOM]
        if mechanism.counts_law is None:
            return _tally(runs, [(order, reached)], lambda parts: _ranked(*parts[0], names))
        noisy = mechanism.counts_law.sample(order.size, drawn).reshape(order.shape)
        noisy += np.append(top.counts, 0)[order]
        return _tally(
            runs,
            [(order, reached), (noisy, reached & (order != bottom))],
            lambda parts: (_ranked(*parts[0], names), tuple(parts[1][0][parts[1][1]].tolist())),
        )

    return in_parts(some)


def running_histogram_batch(mechanism: RunningHistogram, bits: OpenBits = fresh_bits) -> Batch:
    """Run a stream many times: data is a sequence of rounds, outputs have the rows of every release."""

    def some(rounds: Data, runs: int) -> Counter[Hashable]:
        names = _names(label_rules.plain(list({label: 0 for one in rounds for label in one})))
        drawn, nodes = bits(), dict[tuple[int, int], Matrix]()
        totals, known = np.zeros(len(names), dtype=np.int64), np.zeros(len(names), dtype=bool)
        before = np.zeros((runs, len(names)), dtype=bool)
        shown_rounds = []
        for t, one in enumerate(rounds, start=1):
            added = np.array([one.get(name, 0) for name in names], dtype=np.int64)
            totals, known = totals + added, known | (added > 0)
            if t % mechanism.every:
                continue
            noisy = np.tile(totals, (runs, 1))
            for node in _prefix_nodes(t // mechanism.every):
                if node not in nodes:
                    nodes[node] = _noisy(np.zeros_like(totals), mechanism.law, runs, drawn)
                noisy += nodes[node]
            shown = (noisy > mechanism.threshold_after(t)) & known
            if mechanism.display == "sticky":
                shown |= before
                before = shown
            shown_rounds.append((noisy, shown))
        rows = _Rows(names)
        return _tally(runs, shown_rounds, lambda parts: tuple(rows.of(*part) for part in parts))

    return in_parts(some)


def in_parts(some: Callable[[Data, int], Counter[Hashable]]) -> Batch:
    """Make a batch of any size from ones that fit into memory."""

    def batch(data: Data, runs: int) -> Counter[Hashable]:
        total: Counter[Hashable] = Counter()
        for start in range(0, runs, _AT_ONCE):
            total += some(data, min(_AT_ONCE, runs - start))
        return total

    return batch


def _draws(lowered: int, shape: tuple[int, ...], drawn: Bits) -> Shown:
    """Make a Bernoulli draw for every label of every run."""
    return bernoulli_each(lowered, math.prod(shape), drawn).reshape(shape)


def _largest(histogram: Mapping[Any, int], mechanism: TopHistogram | TopK) -> Largest:
    shape = mechanism.ranking if isinstance(mechanism, TopK) else mechanism
    counts = BoundedCounts.from_dict(histogram, shape.sensitivity)
    if shape.fetched is None:
        return Largest(counts.labels, counts.counts, counts.floor)
    return counts.largest(shape.fetched)


def _noisy(counts: Matrix, law: Law, runs: int, bits: Bits) -> Matrix:
    """Return the counts with noise, a row for every run."""
    return counts + law.sample(runs * len(counts), bits).reshape(runs, len(counts))


def race(scores: NDArray[np.float64], first: int, runs: int, bits: Bits) -> Matrix:
    """Return who comes first in every run: log of an exponential draw, minus the score, smallest first."""
    uniform = (bits.words(runs * len(scores)).astype(np.float64) + 0.5) * 2.0**-64
    arrival = np.log(-np.log(np.minimum(uniform, 1 - 2.0**-53))).reshape(runs, len(scores)) - scores
    return np.argsort(arrival, axis=1)[:, :first]


def _prefix_nodes(step: int) -> list[tuple[int, int]]:
    """Return the dyadic blocks that make up the releases 1 … step."""
    return [(level, step >> level) for level in range(step.bit_length()) if step >> level & 1]


def _names(labels: Any) -> list[Any]:
    return labels.to_pylist()  # type: ignore[no-any-return]


class _Rows:
    """Turns values and whether they are shown into rows, in the order of what is released."""

    def __init__(self, names: Sequence[Any]) -> None:
        self._names = names
        alike = np.zeros(len(names), dtype=np.int64)
        self._place = np.argsort(label_rules.order(label_rules.plain(list(names)), alike)) if len(names) else alike

    def of(self, values: Matrix, shown: Shown) -> tuple[tuple[Any, int], ...]:
        """Return the rows of one run: the largest count first, then by label."""
        order = sorted(np.flatnonzero(shown).tolist(), key=lambda i: (-values[i], self._place[i]))
        return tuple((self._names[i], int(values[i])) for i in order)


def _ranked(order: Matrix, reached: Shown, names: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(names[i] for i in order[reached].tolist())


def _tally(
    runs: int, parts: list[tuple[Matrix, Shown]], output: Callable[[list[tuple[Matrix, Shown]]], Hashable]
) -> Counter[Hashable]:
    """Count equal runs first, then write down each different output once."""
    keys = _keys([column for values, shown in parts for column in _columns(values, shown)], runs)
    _, example, times = np.unique(keys, return_index=True, return_counts=True)
    tally: Counter[Hashable] = Counter()
    for run, often in zip(example.tolist(), times.tolist(), strict=True):
        tally[output([(values[run], shown[run]) for values, shown in parts])] += often
    return tally


def _columns(values: Matrix, shown: Shown) -> list[Matrix]:
    """Return the columns with values counted from 1; what is hidden is 0."""
    columns = []
    for value, seen in zip(values.T, shown.T, strict=True):
        lowest = int(value[seen].min()) if seen.any() else 0
        columns.append(np.where(seen, value - lowest, _HIDDEN) + 1)
    return columns


def _keys(columns: list[Matrix], runs: int) -> Matrix:
    """Return one number for every run, equal for equal runs."""
    keys, span = np.zeros(runs, dtype=np.int64), 1
    for column in columns:
        width = int(column.max()) + 1 if len(column) else 1
        if span * width >= 1 << 62:
            # The numbers would not fit: number afresh what has been seen so far.
            _, keys = np.unique(keys, return_inverse=True)
            span = int(keys.max()) + 1
        keys, span = keys * width + column, span * width
    return keys
