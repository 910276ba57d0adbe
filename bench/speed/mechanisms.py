"""The speed of a histogram release and of a top k, against NumPy's plain noise and against OpenDP.

usage: python -m bench.speed.mechanisms

Algorithm 1 on ten million Zipf counts, with whole-number and with text labels, its lazy twin on the profile of the
same counts, and Algorithm 3 on the 100,001 largest. NumPy adds floating-point noise, compares and sorts, which is
the limit and not private. OpenDP does as many labels as it can in a few seconds; its time is taken per label.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from bench.measure import Side, interleaved, print_header, print_table, timed, times, told_by
from bench.peers import OPENDP
from numpy.typing import NDArray

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.count_profile import CountProfile
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.sensitivity import Sensitivity

ITEMS = 10_000_000
LARGEST = ITEMS // 2
FETCHED, K, EPSILON_A_DRAW, DELTA = 100_000, 100, 0.1, 1e-8
PER_USER, ANYTHING = Sensitivity(items=10), Sensitivity(items=None)
OPENDP_ITEMS, OPENDP_CANDIDATES = 20_000, 2_000
ROUNDS = 3
WHOLE, TEXT, TOP = "whole-number labels", "text labels", "top k"


@dataclass(frozen=True)
class Histogram:
    """Counts in no particular order, with labels of two kinds."""

    counts: NDArray[np.int64]
    labels: dict[str, pa.Array]


def zipf_histogram() -> Histogram:
    rng = np.random.default_rng(1)
    counts = np.maximum(LARGEST // np.arange(1, ITEMS + 1), 1)
    rng.shuffle(counts)
    whole = pa.array(rng.permutation(ITEMS))
    text = pc.binary_join_element_wise("item", whole.cast(pa.string()), " ")
    return Histogram(counts, {WHOLE: whole, TEXT: text})


def histogram_mechanism() -> tuple[ThresholdHistogram, DiscreteGaussian]:
    budget = Budget(epsilon=1, delta=DELTA)
    mechanism = ThresholdHistogram.for_budget(budget, PER_USER, noise="gaussian").mechanism
    if not isinstance(mechanism.law, DiscreteGaussian):
        raise TypeError(mechanism.law)
    return mechanism, mechanism.law


def checked_and_released(
    kind: str, check: Callable[[], BoundedCounts], mechanism: ThresholdHistogram | TopK
) -> Side:
    """Time the two steps of a caller one after the other: counts checked and bounded, then released."""

    def once() -> dict[str, float]:
        started = time.perf_counter()
        bounded = check()
        checked = time.perf_counter()
        mechanism.release(bounded)
        return {f"checked, {kind}": checked - started, f"released, {kind}": time.perf_counter() - checked}

    return once


def algorithm_1(histogram: Histogram, kind: str, mechanism: ThresholdHistogram, scale: float) -> list[Side]:
    labels, counts = histogram.labels[kind], histogram.counts
    rng = np.random.default_rng()

    def plain() -> pa.Array:
        noisy = counts + rng.normal(0.0, scale, len(counts))
        passed = np.flatnonzero(noisy > mechanism.threshold)
        return labels.take(pa.array(passed[np.argsort(-noisy[passed])]))

    check = partial(BoundedCounts, labels, counts, PER_USER)
    return [checked_and_released(kind, check, mechanism), timed(f"NumPy, {kind}", plain)]


def lazily(histogram: Histogram, mechanism: ThresholdHistogram) -> Side:
    """Release from a profile as an engine gives it: counts over half the threshold by name, the others by size."""
    labels, counts = np.asarray(histogram.labels[WHOLE]), histogram.counts
    cut = mechanism.threshold // 2
    large, small = np.flatnonzero(counts > cut), np.flatnonzero(counts <= cut)
    in_order = small[np.lexsort((labels[small], counts[small]))]
    sizes, first, how_many = np.unique(counts[in_order], return_index=True, return_counts=True)

    def fetch(wanted: NDArray[np.int64], ranks: NDArray[np.int64]) -> pa.Array:
        return pa.array(labels[in_order[first[np.searchsorted(sizes, wanted)] + ranks]])

    profile = CountProfile(
        BoundedCounts(labels[large], counts[large], PER_USER),
        dict(zip(sizes.tolist(), how_many.tolist(), strict=True)),
        fetch,
    )
    return timed(f"lazy, {WHOLE}", lambda: mechanism.release(profile))


def algorithm_3(histogram: Histogram) -> list[Side]:
    rows = np.argpartition(-histogram.counts, FETCHED + 1)[: FETCHED + 1]
    labels, counts = histogram.labels[TEXT].take(pa.array(rows)), histogram.counts[rows]
    ranking = TopK.at(Ranking(K, FETCHED, ANYTHING), epsilon=EPSILON_A_DRAW, delta=DELTA)
    rng = np.random.default_rng()

    def plain() -> pa.Array:
        scores = EPSILON_A_DRAW * counts + rng.gumbel(size=len(counts))
        best = np.argpartition(-scores, K)[:K]
        return labels.take(pa.array(best[np.argsort(-scores[best])]))

    check = partial(BoundedCounts, labels, counts, ANYTHING, fetched=FETCHED)
    return [checked_and_released(TOP, check, ranking), timed(f"NumPy, {TOP}", plain)]


def rows_of(seconds: dict[str, float], kind: str, size: int, opendp_size: int) -> list[list[str]]:
    """Say each step in seconds, per count, and against the two others."""
    floats, total = seconds[f"NumPy, {kind}"], seconds[f"checked, {kind}"] + seconds[f"released, {kind}"]
    steps = {
        "labels and counts checked": seconds[f"checked, {kind}"],
        "released": seconds[f"released, {kind}"],
        "both": total,
        "released lazily": seconds.get(f"lazy, {kind}"),
        "NumPy's floats": floats,
    }
    theirs = seconds.get(f"OpenDP, {kind}")
    scaled = None if theirs is None else theirs * size / opendp_size
    steps[f"OpenDP, from {opendp_size:,}"] = scaled
    return [
        [
            f"{kind}: {step}",
            f"{took:,.3f}",
            f"{1e9 * took / size:,.1f}",
            times(took / floats),
            "-" if scaled is None else times(scaled / took),
        ]
        for step, took in steps.items()
        if took is not None
    ]


def main() -> None:
    print_header(f"How long does a release of {ITEMS:,} counts take, and a top {K} of {FETCHED:,}?")
    histogram = zipf_histogram()
    mechanism, law = histogram_mechanism()
    print(f"Algorithm 1 at ε = 1, δ = {DELTA}, 10 items a user: {law}, threshold {mechanism.threshold}")
    print(
        f"Algorithm 3 at ε = {EPSILON_A_DRAW} a draw. OpenDP's top k is for known candidates: it has no other.\n"
    )
    sides = [side for kind in (WHOLE, TEXT) for side in algorithm_1(histogram, kind, mechanism, law.stddev)]
    sides += [lazily(histogram, mechanism), *algorithm_3(histogram)]
    if OPENDP.is_there:
        sizes = (OPENDP_ITEMS, OPENDP_CANDIDATES, K)
        parameters = (LARGEST, law.stddev, mechanism.threshold, EPSILON_A_DRAW)
        sides.append(told_by(OPENDP.command("opendp_mechanisms.py", *sizes, *parameters)))
    seconds = interleaved(sides, ROUNDS)
    rows = rows_of(seconds, WHOLE, ITEMS, OPENDP_ITEMS) + rows_of(seconds, TEXT, ITEMS, OPENDP_ITEMS)
    rows += rows_of(seconds, TOP, FETCHED + 1, OPENDP_CANDIDATES)
    print_table(("", "seconds", "ns a count", "time : NumPy", "OpenDP : this"), rows)
    if not OPENDP.is_there:
        print("not measured: OpenDP (run `make bench-peers` first)")


if __name__ == "__main__":
    main()
