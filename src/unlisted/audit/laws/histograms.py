"""The exact laws of Algorithms 1 to 3 on small histograms, from what they are said to do.

A label with count c and noise Z comes out as c + Z if that is above the threshold, which is one lower if a
Bernoulli draw of the label's own says so. Where noise ends, the draw also says where. In Algorithm 2 the threshold
is T + c_⊥ + Z_⊥ with one Z_⊥ for all labels, which is released too. In Algorithm 3 draws are without replacement
with chances proportional to e^(ε·count/Δ∞), ⊥ having the count c_⊥ + T.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from unlisted.audit.laws.noise import noise_law
from unlisted.audit.laws.output_law import ALL, DOWN, OutputLaw, decimal_down, independent
from unlisted.audit.subject import BOTTOM
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import TopK
from unlisted.mechanisms.truncated_laplace import TruncatedHistogram
from unlisted.noise.truncated_laplace import TruncatedLaplace
from unlisted.privacy.rounding import exp_down, exp_up

Histogram = Mapping[str, int]


def threshold_histogram_law(mechanism: ThresholdHistogram, histogram: Histogram) -> OutputLaw:
    """Return the law of the rows that Algorithm 1 releases: independent labels over one threshold."""
    listed = {label: count for label, count in histogram.items() if count >= mechanism.minimum_count}
    return rows_over(listed, mechanism.threshold, noise_law(mechanism.law), share_law(mechanism.lowered))


def truncated_histogram_law(mechanism: TruncatedHistogram, histogram: Histogram) -> OutputLaw:
    """Return the law of the rows over a threshold that noise alone cannot reach."""
    sides = [noise_law(TruncatedLaplace(mechanism.scale, mechanism.reach - lower)) for lower in (0, 1)]
    listed = {label: count for label, count in histogram.items() if count >= mechanism.minimum_count}

    def row(label: str, count: int) -> OutputLaw:
        return chosen_row(
            share_law(mechanism.narrowed),
            lambda lower: _one_row(label, count, mechanism.threshold - lower, sides[lower]),
        )

    return independent([row(label, count) for label, count in listed.items()], in_order)


def top_histogram_law(mechanism: TopHistogram, histogram: Histogram) -> OutputLaw:
    """Return the law of the noisy threshold and the rows over it."""
    noise = noise_law(mechanism.law)
    top, bottom = cut(histogram, mechanism.fetched)
    threshold = noise.seen_as(lambda z: mechanism.threshold + bottom + z)
    return threshold.then(lambda over: rows_over(top, over, noise, share_law(mechanism.lowered)))


def cut(histogram: Histogram, fetched: int | None) -> tuple[dict[str, int], int]:
    """Return the largest counts, ties by label, and the count after them; all of them and 0 without a cut."""
    ranked = sorted((row for row in histogram.items() if row[1] > 0), key=by_count)
    if fetched is None:
        return dict(ranked), 0
    return dict(ranked[:fetched]), ranked[fetched][1] if len(ranked) > fetched else 0


NO_COIN = OutputLaw({0: ALL})


def share_law(lowered: int) -> OutputLaw:
    """Return the law of by how much a label's threshold is lower: 1 so many of 2^64 times, else 0."""
    share = Fraction(lowered, 1 << 64)
    return OutputLaw.exactly({0: 1 - share, 1: share}) if lowered else NO_COIN


def rows_over(listed: Histogram, threshold: int, noise: OutputLaw, lower: OutputLaw = NO_COIN) -> OutputLaw:
    """Return the law of the rows above a threshold, which `lower` lowers for each label by itself."""

    def row(label: str, count: int) -> OutputLaw:
        return chosen_row(lower, lambda by: _one_row(label, count, threshold - by, noise))

    return independent([row(label, count) for label, count in listed.items()], in_order)


def chosen_row(lower: OutputLaw, row: Callable[[int], OutputLaw]) -> OutputLaw:
    """Return the law of a label's row over its Bernoulli draw, which nobody sees."""
    return lower.then(row).seen_as(lambda pair: pair[1])


def _one_row(label: str, count: int, threshold: int, noise: OutputLaw) -> OutputLaw:
    """Return the law of one label: no row, or a row with a value above the threshold."""
    return noise.seen_as(lambda z: ((label, count + z),) if count + z > threshold else ())


def in_order(rows: tuple[Any, ...]) -> tuple[tuple[str, int], ...]:
    """Put the rows of all labels in the order in which they are released."""
    return tuple(sorted((row for one in rows for row in one), key=by_count))


def by_count(row: tuple[str, int]) -> tuple[int, str]:
    """Order rows by count, largest first, and then by label."""
    return -row[1], row[0]


Ranked = tuple[Any, ...]


def top_k_law(mechanism: TopK, histogram: Histogram) -> OutputLaw:
    """Return the law of a ranking; with counts, that of the ranking and the noisy counts of its labels."""
    ranking = mechanism.ranking
    top, bottom = cut(histogram, ranking.fetched)
    rate = mechanism.epsilon / ranking.sensitivity.count
    scores: dict[Any, Fraction] = {label: rate * count for label, count in top.items()}
    scores[BOTTOM] = rate * (bottom + mechanism.threshold)
    ranked = OutputLaw(dict(draws(scores, ranking.k)))
    if mechanism.counts_law is None:
        return ranked
    noise = noise_law(mechanism.counts_law)

    def noisy(count: int) -> OutputLaw:
        return noise.seen_as(lambda z: count + z)

    return ranked.then(
        lambda labels: independent([noisy(top[label]) for label in labels if label is not BOTTOM], tuple)
    )


def draws(
    scores: dict[Any, Fraction], k: int, so_far: Ranked = (), chance: Decimal = ALL
) -> Iterator[tuple[Ranked, Decimal]]:
    """Yield every ranking with a lower bound of its chance: weights rounded down over their sum rounded up."""
    if len(so_far) == k or (so_far and so_far[-1] is BOTTOM) or not scores:
        yield so_far, chance
        return
    highest = max(scores.values())
    whole = sum(exp_up(score - highest) for score in scores.values())
    for name, score in scores.items():
        share = decimal_down(exp_down(score - highest) / whole)
        left = {other: one for other, one in scores.items() if other != name}
        yield from draws(left, k, (*so_far, name), DOWN.multiply(chance, share))
