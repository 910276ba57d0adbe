"""OpenDP's threshold measurement on a histogram, and its top k, in its own environment.

usage: opendp_mechanisms.py LABELS CANDIDATES K LARGEST SCALE THRESHOLD EPSILON        prints seconds as JSON

The histogram is a mapping from label to count, which is what `make_gaussian_threshold` takes. The top k is
`make_noisy_top_k`: Gumbel noise like ours, but only over candidates that are known beforehand; OpenDP has none for
unknown ones.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import opendp.prelude as dp


def zipf_counts(items: int, largest: int) -> list[int]:
    return [max(1, largest // rank) for rank in range(1, items + 1)]


def seconds_of(measurement: Any, data: object) -> float:
    started = time.perf_counter()
    measurement(data)
    return time.perf_counter() - started


def threshold_measurement(label_type: str, scale: float, threshold: int) -> Any:
    return dp.m.make_gaussian_threshold(
        dp.map_domain(dp.atom_domain(T=label_type), dp.atom_domain(T="i64")),
        dp.l02inf_distance(dp.absolute_distance(T="f64")),
        scale=scale,
        threshold=threshold,
    )


def ranking_measurement(k: int, epsilon: float) -> Any:
    return dp.m.make_noisy_top_k(
        dp.vector_domain(dp.atom_domain(T="i64")),
        dp.linf_distance(T="i64", monotonic=True),
        dp.zero_concentrated_divergence(),
        k=k,
        scale=1 / epsilon,
    )


def main(sizes: list[int], scale: float, threshold: int, epsilon: float) -> None:
    dp.enable_features("contrib")
    labels, candidates, k, largest = sizes
    counts = zipf_counts(labels, largest)
    whole, text = range(labels), (f"item {place}" for place in range(labels))
    seconds = {
        "OpenDP, whole-number labels": seconds_of(
            threshold_measurement("i64", scale, threshold), dict(zip(whole, counts, strict=True))
        ),
        "OpenDP, text labels": seconds_of(
            threshold_measurement("String", scale, threshold), dict(zip(text, counts, strict=True))
        ),
        "OpenDP, top k": seconds_of(ranking_measurement(k, epsilon), zipf_counts(candidates, largest)),
    }
    print(json.dumps(seconds))


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:5]], float(sys.argv[5]), int(sys.argv[6]), float(sys.argv[7]))
