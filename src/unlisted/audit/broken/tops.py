"""Mistakes in Algorithm 2: which labels are looked at, and what the threshold stands on."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from unlisted.audit.batches import top_histogram_batch
from unlisted.audit.broken.mistake import LAPLACE, ONE, Mistake, Noise, OpenBits, Rows, rows_by_count
from unlisted.audit.histogram_laws import by_count
from unlisted.audit.subject import Pair, Run, Subject
from unlisted.mechanisms.top_histogram import TopHistogram

Histogram = Mapping[str, int]
Scan = Callable[[Histogram], list[tuple[str, int]]]


def ties_by_row_order(bits: OpenBits) -> Mistake:
    """Take equal counts in the order in which the engine happens to hold them."""
    mechanism = _mechanism(fetched=16)
    labels = [f"item{i:02}" for i in range(2 * mechanism.fetched)]
    tied = dict.fromkeys(labels, 3)
    # A full hash table grows when one more label comes, and then holds its rows in another order.
    pair = Pair("one more label", tied, {**tied, "one more": 1})

    def as_held(histogram: Histogram) -> list[tuple[str, int]]:
        rows = list(histogram.items())
        return rows[::-1] if len(rows) > len(labels) else rows

    return Mistake(
        "Ties at the cut are broken by row order, so one user can exchange all the labels that are looked at.",
        Subject("ties by row order", mechanism.guarantee(), lambda: [pair], _run(mechanism, as_held, bits)),
        _repaired(mechanism, pair, bits),
        trials=30_000,
    )


def bottom_without_noise(bits: OpenBits) -> Mistake:
    """Set the threshold over the true (k̄+1)-th count."""
    mechanism = _mechanism(fetched=2)
    noise = Noise(mechanism.law, bits)
    high = {"soup": 9, "bread": 9}
    pair = Pair("the (k̄+1)-th count moves", {**high, "salt": 3}, {**high, "salt": 4})

    def run(histogram: Histogram) -> tuple[int, Rows]:
        top, over = _cut(sorted(histogram.items(), key=by_count), mechanism)
        return over, _shown(top, over, noise)

    return Mistake(
        "The threshold stands over the true (k̄+1)-th count, which has no noise of its own.",
        Subject("⊥ without noise", mechanism.guarantee(), lambda: [pair], run),
        _repaired(mechanism, pair, bits),
    )


def _mechanism(fetched: int) -> TopHistogram:
    return TopHistogram(LAPLACE, 6, fetched, ONE)


def _run(mechanism: TopHistogram, scan: Scan, bits: OpenBits) -> Run:
    """Return Algorithm 2 on rows that `scan` puts in order within a count."""
    noise = Noise(mechanism.law, bits)

    def run(histogram: Histogram) -> tuple[int, Rows]:
        top, over = _cut(sorted(scan(histogram), key=lambda row: -row[1]), mechanism)
        over += noise()
        return over, _shown(top, over, noise)

    return run


def _cut(ranked: list[tuple[str, int]], mechanism: TopHistogram) -> tuple[list[tuple[str, int]], int]:
    fetched = mechanism.fetched
    bottom = ranked[fetched][1] if len(ranked) > fetched else 0
    return ranked[:fetched], mechanism.threshold + bottom


def _shown(top: list[tuple[str, int]], over: int, noise: Noise) -> Rows:
    noisy = [(label, count + noise()) for label, count in top]
    return rows_by_count((label, value) for label, value in noisy if value > over)


def _repaired(mechanism: TopHistogram, pair: Pair, bits: OpenBits) -> Subject:
    run = _run(mechanism, lambda histogram: sorted(histogram.items()), bits)
    return Subject(
        "repaired", mechanism.guarantee(), lambda: [pair], run, batch=top_histogram_batch(mechanism, bits)
    )
